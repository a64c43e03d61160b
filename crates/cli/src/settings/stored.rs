//! A stored plan, and flags beside it: what they say must be what the plan says.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use ipw::{grading, naming, prices};
use ipw_runner::plan::Telemetry;
use ipw_runner::{Plan, Stop};
use ipw_store::plan;
use toml::Value;

use super::{allowed, check_slo, client, energy, generation, naming as given, params, read_plan};
use crate::args::{Pause, ProfileArgs, Size, Span};
use crate::error::{CliError, Exit};

/// Most differences that are shown.
const MOST: usize = 8;

/// The stored plan that `--resume` or `--plan` names; `None` without them.
pub(super) fn plan(args: &mut ProfileArgs) -> Result<Option<Plan>, CliError> {
    let Some((path, mut plan)) = read(args)? else {
        return Ok(None);
    };
    let is_resumed = args.resume.is_some();
    if is_resumed && plan.dataset.id == "stdin" {
        return Err(CliError::usage(
            "this run's questions came through a pipe, which cannot be read again",
        )
        .help("put them into a file, and run that"));
    }
    check_slo(plan.load.slo.as_deref())?;
    if !is_resumed {
        // A name says nothing about what is done: the same plan may run under another one.
        plan.name = given::name(args)?.or(plan.name);
        plan.tags.extend(given::tags(args)?);
    }
    naming::check(&plan)?;
    refuse_changes(&plan, args)?;
    allowed::check(&plan, &path, args)?;
    if let Some(directory) = args.output_dir.take_if(|_| !is_resumed) {
        plan.output.directory = directory;
    }
    Ok(Some(plan))
}

/// The plan that `--resume` or `--plan` names, and its file; `None` without them.
pub(crate) fn read(args: &ProfileArgs) -> Result<Option<(PathBuf, Plan)>, CliError> {
    Ok(match (&args.resume, &args.plan) {
        (Some(run), _) => Some((run.join(plan::FILE), read_plan(plan::of_run(run))?)),
        (None, Some(path)) => Some((path.clone(), read_plan(plan::read(path))?)),
        (None, None) => None,
    })
}

/// Refuses flags and variables that would change the plan, and shows how they differ.
fn refuse_changes(plan: &Plan, args: &ProfileArgs) -> Result<(), CliError> {
    let wanted = with_flags(plan, args)?;
    if wanted == *plan {
        return Ok(());
    }
    let (stored, wanted) = (flat(plan)?, flat(&wanted)?);
    let names: Vec<&String> = wanted
        .keys()
        .chain(stored.keys().filter(|name| !wanted.contains_key(*name)))
        .filter(|name| stored.get(*name) != wanted.get(*name))
        .collect();
    let show = |side: &BTreeMap<String, Value>, name: &str| {
        side.get(name)
            .map_or("nothing".to_owned(), |value| format!("`{value}`"))
    };
    let mut text = "the flags or `IPW_*` variables differ from the stored plan".to_owned();
    for name in names.iter().take(MOST) {
        let (was, is) = (show(&stored, name), show(&wanted, name));
        let _ = write!(text, "\n  {name}: the plan has {was}, now {is}");
    }
    Err(CliError::usage(text).help("leave them out; for another plan, start another run"))
}

/// The plan as it would be with what was given over it.
fn with_flags(plan: &Plan, args: &ProfileArgs) -> Result<Plan, CliError> {
    let mut plan = plan.clone();
    plan.name = given::name(args)?.or(plan.name);
    plan.tags.extend(given::tags(args)?);
    if let Some(model) = &args.model {
        plan.model.clone_from(model);
    }
    with_client(&mut plan, args)?;
    if args.dataset.is_some() {
        let mut over = super::dataset(args)?;
        let mut params = plan.dataset.params;
        params.extend(over.params);
        over.params = params;
        plan.dataset = over;
    } else {
        let more = params("--dataset-param", &args.dataset_param)?;
        plan.dataset.params.extend(more);
    }
    if let Some(most) = args.max_queries {
        plan.load.stop = Stop::After(most);
    }
    if args.concurrency.is_some() || args.rate.is_some() || args.trace.is_some() {
        plan.load.arrivals = super::arrivals(args);
    }
    plan.load.repeat = args.repeat.or(plan.load.repeat);
    plan.load.seed = args.seed.unwrap_or(plan.load.seed);
    plan.load.retries = args.retries.unwrap_or(plan.load.retries);
    plan.load.unique_prefix |= args.unique_prefix;
    plan.load.slo = super::slo(args)?.or(plan.load.slo);
    plan.load.duration = args.duration.map(|Span(time)| time).or(plan.load.duration);
    plan.load.ramp = args.ramp.map_or(plan.load.ramp, |Pause(ramp)| ramp);
    let asked = generation(args, &plan.client.id)?;
    plan.generation.parameters.extend(asked.parameters);
    plan.generation.system = asked.system.or(plan.generation.system);
    grading::check(args.scorer.as_deref())?;
    plan.scorer = args.scorer.clone().or(plan.scorer);
    plan.tokenizer = super::tokenizer(args)?.or(plan.tokenizer);
    if args.prices.is_some() {
        let (prices, url) = (args.prices.as_deref(), plan.client.base_url.as_deref());
        plan.price = prices::find(prices, url, &plan.model)?;
    }
    let load = &mut plan.load;
    load.warmup = args.warmup.unwrap_or(load.warmup);
    if let Some(Span(limit)) = args.request_timeout {
        load.request_timeout = limit;
    }
    let limit = |given: Option<Span>| given.map(|Span(limit)| limit);
    load.first_token_timeout = limit(args.first_token_timeout).or(load.first_token_timeout);
    load.idle_timeout = limit(args.idle_timeout).or(load.idle_timeout);
    load.max_reply = args.max_reply.map_or(load.max_reply, |Size(bytes)| bytes);
    let failures = &mut plan.failures;
    failures.max_failed = args.max_failed.unwrap_or(failures.max_failed);
    failures.max_error_rate = args.max_error_rate.or(failures.max_error_rate);
    plan.server_metrics = args.server_metrics.clone().or(plan.server_metrics);
    energy_over(&mut plan.telemetry, args)?;
    Ok(plan)
}

/// What is said of energy goes over what the plan has.
fn energy_over(own: &mut Telemetry, args: &ProfileArgs) -> Result<(), CliError> {
    let given = energy(args)?;
    if args.sample_interval.is_some() {
        own.sample_interval = given.sample_interval;
    }
    own.require_energy |= args.require_energy;
    own.estimate &= !args.no_estimate;
    own.cpu_tdp_watts = args.cpu_tdp.or(own.cpu_tdp_watts);
    if !args.gpu.is_empty() {
        own.gpus = given.gpus;
    }
    if !args.telemetry.is_empty() {
        own.sources = given.sources;
    }
    if args.idle.is_some() {
        own.idle = given.idle;
    }
    if args.basis.is_some() {
        own.basis = given.basis;
    }
    if args.service_host.is_some() {
        own.service_host = given.service_host;
    }
    if !args.service_pid.is_empty() {
        own.service_pids = given.service_pids;
    }
    Ok(())
}

/// The client as it would be.
fn with_client(plan: &mut Plan, args: &ProfileArgs) -> Result<(), CliError> {
    let (own, given) = (&mut plan.client, client(args)?);
    if args.client.is_some() {
        own.id = given.id;
    }
    if args.client_base_url.is_some() {
        own.base_url = given.base_url;
    }
    if args.api_key_env.is_some() || args.api_key_file.is_some() {
        own.key = given.key;
    }
    own.insecure_key |= args.insecure_key;
    own.params.extend(given.params);
    let (network, given) = (&mut own.network, given.network);
    network.ca_file = given.ca_file.or(network.ca_file.take());
    network.header_file = given.header_file.or(network.header_file.take());
    if !given.header_env.is_empty() {
        network.header_env = given.header_env;
    }
    network.http2 |= given.http2;
    Ok(())
}

/// Every value of the plan under its dotted name.
fn flat(plan: &Plan) -> Result<BTreeMap<String, Value>, CliError> {
    fn walk(name: &str, value: Value, all: &mut BTreeMap<String, Value>) {
        match value {
            Value::Table(table) => {
                for (key, value) in table {
                    let dot = if name.is_empty() { "" } else { "." };
                    walk(&format!("{name}{dot}{key}"), value, all);
                }
            }
            value => drop(all.insert(name.to_owned(), value)),
        }
    }
    let mut all = BTreeMap::new();
    let value =
        toml::from_str(&plan::text(plan).map_err(|error| CliError::new(Exit::Usage, error))?)
            .map_err(|error| CliError::usage(format!("the plan cannot be read again: {error}")))?;
    walk("", value, &mut all);
    Ok(all)
}
