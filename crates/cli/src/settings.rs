//! Resolves settings into a plan: defaults < file < environment < flags.

mod allowed;
mod layers;
mod naming;
mod overlay;
mod stored;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use anyhow::Context;
use ipw::ping::Ask;
use ipw::secrets::refuse_secret;
use ipw::{clients, grading, prices, sources};
use ipw_analysis::latency::Origin;
use ipw_analysis::slo::{Slo, SloError};
use ipw_clients::{ClientSpec, KeySource, Network};
use ipw_core::params::Params;
use ipw_core::secret::{looks_secret, masked_arguments, masked_url};
use ipw_core::setting::Setting;
use ipw_datasets::DatasetSpec;
use ipw_runner::plan::{Generation, Launch, Load, Output, SourceSpec, Telemetry};
use ipw_runner::{Plan, Stop};
use ipw_store::StoreError;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::args::{KeyValue, NetworkArgs, ProfileArgs, ScoreArgs, Span, json_or_text};
use crate::error::{CliError, Exit};

/// Number of queries in a first run without settings.
const FIRST_RUN: NonZeroU64 = NonZeroU64::new(160).expect("not zero");
/// Variable with which the original project names a monitor.
const MONITOR_TARGET: &str = "IPW_ENERGY_MONITOR_TARGET";

/// `ipw.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ConfigFile {
    profile: ProfileArgs,
}

/// The plan from flags, environment and configuration file.
///
/// `pick` chooses the model if none is named and the client has no default.
pub(crate) fn resolve(
    args: &mut ProfileArgs,
    pick: impl FnOnce(&ClientSpec) -> Result<String, CliError>,
) -> Result<Plan, CliError> {
    if let Some(plan) = stored::plan(args)? {
        return Ok(plan);
    }
    if let Some(file) = config_file(args.config.as_deref())? {
        args.over(file.profile);
    }
    let client = client(args)?;
    let generation = generation(args, &client.id)?;
    clients::check(&client, &generation)?;
    let output = output(args)?;
    grading::check(args.scorer.as_deref())?;
    let model = model(args, &client, pick)?;
    let price = prices::find(args.prices.as_deref(), client.base_url.as_deref(), &model)?;
    let usual = Plan::new(model, client, dataset(args)?);
    let plan = Plan {
        load: Load {
            stop: stop(args, &usual.client.id),
            ..usual.load
        },
        telemetry: Telemetry {
            sources: usual_sources()?,
            ..usual.telemetry
        },
        launch: launch(args)?,
        output,
        price,
        ..usual
    };
    overlay::over(plan, args)
}

fn output(args: &ProfileArgs) -> Result<Output, CliError> {
    let usual = Output::default();
    let directory = args.output_dir.clone().unwrap_or(usual.directory);
    if directory.to_str().is_none() {
        return Err(CliError::usage(format!(
            "`--output-dir {}` is not UTF-8, which the stored plan needs",
            directory.display()
        ))
        .help("choose another directory, or `cd` there and use `--output-dir .`"));
    }
    let rows = args.flush_every.map(|rows| usize::try_from(rows.get()));
    Ok(Output {
        directory,
        flush_every: rows.map_or(usual.flush_every, |rows| rows.unwrap_or(usize::MAX)),
        durable: args.durable,
    })
}

pub(crate) use allowed::resume_flags;
pub(crate) use stored::read as stored;

/// A plan that cannot be read is a wrong argument.
fn read_plan(read: Result<Plan, StoreError>) -> Result<Plan, CliError> {
    read.map_err(|error| CliError::new(Exit::Usage, error))
}

fn config_file(named: Option<&Path>) -> Result<Option<ConfigFile>, CliError> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => match users_own() {
            Some(path) if path.exists() => path,
            _ => return Ok(None),
        },
    };
    let usage = |error: anyhow::Error| CliError::new(Exit::Usage, error);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read the configuration `{}`", path.display()))
        .map_err(usage)?;
    toml::from_str(&text)
        .with_context(|| format!("cannot parse the configuration `{}`", path.display()))
        .map(Some)
        .map_err(usage)
}

/// Path of the user's configuration; `None` without a home directory.
fn users_own() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let directory =
        absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(directory.join("ipw").join("ipw.toml"))
}

/// Default sources: the monitor that [`MONITOR_TARGET`] names, else none.
fn usual_sources() -> Result<Vec<SourceSpec>, CliError> {
    let target = std::env::var(MONITOR_TARGET).unwrap_or_default();
    match target.trim() {
        "" => Ok(Vec::new()),
        target => Ok(vec![sources::monitor(target)?]),
    }
}

fn check_slo(slo: Option<&str>) -> Result<(), CliError> {
    let parsed = slo.map(|text| Slo::parse(text, Origin::Sent)).transpose();
    let wrong = |error: SloError| CliError::usage(format!("cannot parse the SLO: {error}"));
    parsed.map(drop).map_err(wrong)
}

/// Without workload settings, a first run takes about a minute on two cores.
fn stop(args: &ProfileArgs, client: &str) -> Stop {
    let unsaid = args.dataset.is_none() && args.dataset_param.is_empty();
    match args.max_queries {
        Some(most) => Stop::After(most),
        None if client == clients::EMBEDDED && unsaid => Stop::After(FIRST_RUN),
        None => Stop::Exhausted,
    }
}

fn model(
    args: &ProfileArgs,
    client: &ClientSpec,
    pick: impl FnOnce(&ClientSpec) -> Result<String, CliError>,
) -> Result<String, CliError> {
    match args.model.as_deref().map(str::trim) {
        Some("") => {
            Err(CliError::usage("`--model` is empty").help("name a model, or omit the flag"))
        }
        Some(model) => Ok(model.to_owned()),
        None if client.id == clients::EMBEDDED => Ok(clients::DEFAULT_MODEL.to_owned()),
        None => pick(client),
    }
}

fn dataset(args: &ProfileArgs) -> Result<DatasetSpec, CliError> {
    let params = params(Setting::DatasetParam, &args.dataset_param)?;
    Ok(ipw_datasets::named(
        args.dataset.as_deref().unwrap_or("starter"),
        params,
    ))
}

fn client(args: &ProfileArgs) -> Result<ClientSpec, CliError> {
    let id = match (&args.client, &args.client_base_url) {
        (Some(id), _) => id.clone(),
        // A URL implies a service over HTTP.
        (None, Some(_)) => "openai".to_owned(),
        (None, None) => clients::DEFAULT.to_owned(),
    };
    let key = key(
        "--api-key-env",
        args.api_key_env.as_deref(),
        args.api_key_file.as_deref(),
    )?;
    Ok(ClientSpec {
        id,
        base_url: args.client_base_url.clone(),
        params: client_params(args)?,
        key,
        insecure_key: args.insecure_key,
        network: network(&args.network())?,
        ..ClientSpec::new("")
    })
}

/// The tokenizer as given.
fn tokenizer(args: &ProfileArgs) -> Result<Option<String>, CliError> {
    if args.tokenizer.as_deref().map(str::trim) == Some("") {
        return Err(CliError::usage("`--tokenizer` is empty")
            .help("name a `tokenizer.json`, its directory, a GGUF file or `hf:owner/name`"));
    }
    Ok(args.tokenizer.clone())
}

/// Certificates, headers and protocol.
fn network(args: &NetworkArgs) -> Result<Network, CliError> {
    let is_name = |name: &&String| {
        let is_odd = |c: char| c == ':' || c == '=' || c.is_whitespace();
        !name.is_empty() && !name.contains(is_odd) && !looks_secret("", name)
    };
    if args.header_env.iter().filter(is_name).count() < args.header_env.len() {
        return Err(
            CliError::usage("`--header-env` takes the name of a variable, not a header")
                .help("`export MY_HEADER='Name: value'`, then `--header-env MY_HEADER`"),
        );
    }
    Ok(Network {
        ca_file: args.ca_file.clone(),
        header_file: args.header_file.clone(),
        header_env: args.header_env.clone(),
        http2: args.http2,
    })
}

/// Settings of `ipw ping`, from the same flags, variables and file as a run.
pub(crate) fn ask(
    args: &mut ProfileArgs,
    pick: impl FnOnce(&ClientSpec) -> Result<String, CliError>,
) -> Result<Ask, CliError> {
    if let Some(file) = config_file(args.config.as_deref())? {
        args.over(file.profile);
    }
    let client = client(args)?;
    Ok(Ask {
        generation: generation(args, &client.id)?,
        model: model(args, &client, pick)?,
        tokenizer: tokenizer(args)?,
        client,
        timeout: args
            .request_timeout
            .map_or(Load::default().request_timeout, |Span(limit)| limit),
    })
}

/// Parameters of the client, including `--api`.
fn client_params(args: &ProfileArgs) -> Result<Params, CliError> {
    let mut params = params(Setting::ClientParam, &args.client_param)?;
    if let Some(api) = &args.api {
        params.insert("api", api.as_str());
    }
    Ok(params)
}

/// The client of the judge.
pub(crate) fn judge(args: &ScoreArgs) -> Result<ClientSpec, CliError> {
    let id = match (&args.judge_client, &args.judge_base_url) {
        (Some(id), _) => id.clone(),
        (None, Some(_)) => "openai".to_owned(),
        (None, None) => clients::DEFAULT.to_owned(),
    };
    Ok(ClientSpec {
        id,
        base_url: args.judge_base_url.clone(),
        params: Params::default(),
        key: key(
            "--judge-api-key-env",
            args.judge_api_key_env.as_deref(),
            args.judge_api_key_file.as_deref(),
        )?,
        insecure_key: args.judge_insecure_key,
        network: network(&args.network)?,
        ..ClientSpec::new("")
    })
}

/// Generation parameters of a judge.
pub(crate) fn judge_parameters(args: &ScoreArgs) -> Result<Map<String, Value>, CliError> {
    refuse_secrets(Setting::JudgeParam, &args.judge_param)?;
    let pairs = args.judge_param.iter();
    Ok(pairs
        .map(|pair| (pair.key.clone(), json_or_text(&pair.value)))
        .collect())
}

/// The source of an API key.
fn key(flag: &str, env: Option<&str>, file: Option<&Path>) -> Result<KeySource, CliError> {
    match (env, file) {
        (Some(name), _) if looks_secret("", name) => Err(CliError::usage(format!(
            "`{flag}` takes the name of a variable, not a key"
        ))
        .help(format!("`export MY_KEY=…`, then `{flag} MY_KEY`"))),
        (Some(name), _) => Ok(KeySource::Env(name.to_owned())),
        (None, Some(path)) => Ok(KeySource::File(path.to_owned())),
        (None, None) => Ok(KeySource::Default),
    }
}

fn generation(args: &ProfileArgs, client: &str) -> Result<Generation, CliError> {
    refuse_secrets(Setting::Param, &args.param)?;
    let reserved = clients::known()
        .iter()
        .find(|known| known.id == client)
        .map_or(&[] as &[&str], |known| known.reserved);
    let mut parameters = Map::new();
    for KeyValue { key, value } in &args.param {
        if reserved.contains(&key.as_str()) {
            return Err(CliError::usage(format!(
                "`--param {key}=…` is not allowed: the client sets it"
            ))
            .help(other_way(key)));
        }
        let value = json_or_text(value);
        if key == "n" && value != 1 {
            return Err(CliError::usage("`--param n=…`: a row holds one reply")
                .help("omit it, and repeat the dataset with `--repeat N`"));
        }
        parameters.insert(key.clone(), value);
    }
    clients::check_parameters(client, &parameters)?;
    Ok(Generation {
        system: args.system.clone(),
        parameters,
    })
}

fn other_way(reserved: &str) -> &'static str {
    match reserved {
        "model" => "name the model with `--model`",
        "messages" | "prompt" | "input" | "instructions" | "system" => {
            "prompts come from `--dataset`, the system prompt from `--system`"
        }
        "stream_options" => "`--client-param include_usage=false` turns token counts off",
        _ => "replies are always streamed, to measure the time to first token",
    }
}

fn params(setting: Setting, pairs: &[KeyValue]) -> Result<Params, CliError> {
    refuse_secrets(setting, pairs)?;
    Ok(pairs
        .iter()
        .map(|pair| (pair.key.clone(), pair.value.clone()))
        .collect())
}

fn refuse_secrets(setting: Setting, pairs: &[KeyValue]) -> Result<(), CliError> {
    let mut pairs = pairs.iter();
    Ok(pairs.try_for_each(|pair| refuse_secret(setting, &pair.key, &pair.value))?)
}

/// The launched service as the plan stores it: with secrets masked.
fn launch(args: &ProfileArgs) -> Result<Option<Launch>, CliError> {
    let ready_url = without_secret("--ready-url", args.ready_url.as_deref())?;
    let command = || masked_arguments(&args.command);
    Ok(args.launch.then(|| Launch {
        command: command(),
        ready_url,
    }))
}

/// Refuses an address with a secret: plans are stored.
fn without_secret(flag: &str, url: Option<&str>) -> Result<Option<String>, CliError> {
    match url.map(|url| (url, masked_url(url))) {
        Some((url, masked)) if url != masked => Err(CliError::usage(format!(
            "`{flag} {masked}` contains a secret"
        ))
        .help("addresses are stored with the run: use one without a secret")),
        _ => Ok(url.map(str::to_owned)),
    }
}

#[cfg(test)]
mod tests;
