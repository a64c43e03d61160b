//! Applies settings to a plan: to the defaults of a new run, or to a stored plan to find
//! differences.

use ipw::{grading, prices, sources};
use ipw_core::plan::{Arrivals, Load, Plan, Process, ServiceHost, Stop, Telemetry};
use ipw_core::rollup::Choice;
use ipw_core::setting::Setting;

use super::{check_slo, client, dataset, generation, naming, params, tokenizer, without_secret};
use crate::args::{HostChoice, Pause, ProfileArgs, Size, Span};
use crate::error::CliError;

/// The plan with the given settings applied.
pub(super) fn over(mut plan: Plan, args: &ProfileArgs) -> Result<Plan, CliError> {
    plan.name = naming::name(args)?.or(plan.name);
    plan.tags.extend(naming::tags(args)?);
    if let Some(model) = &args.model {
        model.trim().clone_into(&mut plan.model);
    }
    service(&mut plan, args)?;
    workload(&mut plan, args)?;
    load(&mut plan.load, args)?;
    energy(&mut plan.telemetry, args)?;
    let failures = &mut plan.failures;
    failures.max_failed = args.max_failed.unwrap_or(failures.max_failed);
    failures.max_error_rate = args.max_error_rate.or(failures.max_error_rate);
    Ok(plan)
}

fn service(plan: &mut Plan, args: &ProfileArgs) -> Result<(), CliError> {
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
    let metrics = without_secret("--server-metrics", args.server_metrics.as_deref())?;
    plan.server_metrics = metrics.or(plan.server_metrics.take());
    Ok(())
}

fn workload(plan: &mut Plan, args: &ProfileArgs) -> Result<(), CliError> {
    if args.dataset.is_some() {
        let mut given = dataset(args)?;
        let mut params = std::mem::take(&mut plan.dataset.params);
        params.extend(given.params);
        given.params = params;
        plan.dataset = given;
    } else {
        let more = params(Setting::DatasetParam, &args.dataset_param)?;
        plan.dataset.params.extend(more);
    }
    let asked = generation(args, &plan.client.id)?;
    plan.generation.parameters.extend(asked.parameters);
    plan.generation.system = asked.system.or(plan.generation.system.take());
    grading::check(args.scorer.as_deref())?;
    plan.scorer = args.scorer.clone().or(plan.scorer.take());
    plan.tokenizer = tokenizer(args)?.or(plan.tokenizer.take());
    if args.prices.is_some() {
        let (prices, url) = (args.prices.as_deref(), plan.client.base_url.as_deref());
        plan.price = prices::find(prices, url, &plan.model)?;
    }
    Ok(())
}

fn load(own: &mut Load, args: &ProfileArgs) -> Result<(), CliError> {
    let time = |given: Option<Span>| given.map(|Span(time)| time);
    if let Some(most) = args.max_queries {
        own.stop = Stop::After(most);
    }
    if args.concurrency.is_some() || args.rate.is_some() || args.trace.is_some() {
        own.arrivals = arrivals(args);
    }
    check_slo(args.slo.as_deref())?;
    own.slo = args.slo.clone().or(own.slo.take());
    own.repeat = args.repeat.or(own.repeat);
    own.seed = args.seed.unwrap_or(own.seed);
    own.retries = args.retries.unwrap_or(own.retries);
    own.unique_prefix |= args.unique_prefix;
    own.duration = time(args.duration).or(own.duration);
    own.ramp = args.ramp.map_or(own.ramp, |Pause(ramp)| ramp);
    own.warmup = args.warmup.unwrap_or(own.warmup);
    own.request_timeout = time(args.request_timeout).unwrap_or(own.request_timeout);
    own.first_token_timeout = time(args.first_token_timeout).or(own.first_token_timeout);
    own.idle_timeout = time(args.idle_timeout).or(own.idle_timeout);
    own.max_reply = args.max_reply.map_or(own.max_reply, |Size(bytes)| bytes);
    Ok(())
}

/// Sequential without a flag.
fn arrivals(args: &ProfileArgs) -> Arrivals {
    match (&args.trace, args.rate, args.concurrency) {
        (Some(path), _, concurrency) => Arrivals::Trace {
            path: path.clone(),
            concurrency,
        },
        (None, Some(rate), concurrency) => Arrivals::Open {
            rate,
            process: args.arrival.unwrap_or(Process::Poisson),
            concurrency,
        },
        (None, None, Some(concurrency)) if concurrency.get() > 1 => {
            Arrivals::Closed { concurrency }
        }
        (None, None, _) => Arrivals::Sequential,
    }
}

fn energy(own: &mut Telemetry, args: &ProfileArgs) -> Result<(), CliError> {
    if args
        .cpu_tdp
        .is_some_and(|watts| !watts.is_finite() || watts <= 0.0)
    {
        return Err(CliError::usage("`--cpu-tdp` must be above zero watts"));
    }
    if let Some(Span(interval)) = args.sample_interval {
        own.sample_interval = interval;
    }
    own.require_energy |= args.require_energy;
    own.estimate &= !args.no_estimate;
    own.cpu_tdp_watts = args.cpu_tdp.or(own.cpu_tdp_watts);
    if !args.gpu.is_empty() {
        own.gpus.clone_from(&args.gpu);
    }
    if !args.telemetry.is_empty() {
        own.sources = sources::parse(&args.telemetry)?;
    }
    own.idle = args.idle.map_or(own.idle, |Pause(idle)| idle);
    own.basis = args.basis.map_or(own.basis, Choice::from);
    own.service_host = match args.service_host {
        None => own.service_host,
        Some(HostChoice::Auto) => ServiceHost::Auto,
        Some(HostChoice::Local) => ServiceHost::Local,
        Some(HostChoice::Remote) => ServiceHost::Remote,
    };
    if !args.service_pid.is_empty() {
        own.service_pids = args.service_pid.iter().map(|pid| pid.get()).collect();
    }
    Ok(())
}
