//! All clients: those that reach a service, and the engine inside this binary.

use std::sync::Arc;

use ipw_clients::{Client, ClientInfo, ClientSpec};
use ipw_core::nearest::nearest;
use ipw_core::time::Clock;
use ipw_runner::plan::Generation;
use serde_json::{Map, Value};

use crate::error::{CliError, Exit};

/// The client that runs when nobody names one or says where a service is.
pub(crate) const DEFAULT: &str = if cfg!(feature = "engine") {
    EMBEDDED
} else {
    "openai"
};
/// The engine inside this binary.
pub(crate) const EMBEDDED: &str = "embedded";
/// What it runs when nobody names a model.
#[cfg(feature = "engine")]
pub(crate) const DEFAULT_MODEL: &str = ipw_hub::models::catalogue::DEFAULT;
/// What it would run.
#[cfg(not(feature = "engine"))]
pub(crate) const DEFAULT_MODEL: &str = "smollm2-135m";

/// All clients, the default first.
pub(crate) fn known() -> Vec<ClientInfo> {
    let mut known = Vec::new();
    #[cfg(feature = "engine")]
    known.push(ipw_engine::client::KNOWN);
    known.extend_from_slice(ipw_clients::known());
    known
}

/// Makes the client that `spec` asks for. The engine's model is fetched if it is not here yet.
pub(crate) fn connect(
    spec: &ClientSpec,
    model: &str,
    clock: Arc<dyn Clock>,
    quiet: bool,
) -> Result<Box<dyn Client>, CliError> {
    if spec.id == EMBEDDED {
        return embedded(spec, model, clock, quiet);
    }
    if !known().iter().any(|known| known.id == spec.id) {
        return Err(unknown(&spec.id));
    }
    ipw_clients::connect(spec, clock).map_err(|error| CliError::new(Exit::Usage, error))
}

fn unknown(id: &str) -> CliError {
    let known: Vec<_> = known().iter().map(|known| known.id).collect();
    let error = ipw_clients::ClientError::Unknown {
        id: id.to_owned(),
        nearest: nearest(id, known.iter().copied()).map(str::to_owned),
        known: known.join(", "),
    };
    CliError::new(Exit::Usage, error)
}

#[cfg(feature = "engine")]
fn embedded(
    spec: &ClientSpec,
    model: &str,
    clock: Arc<dyn Clock>,
    quiet: bool,
) -> Result<Box<dyn Client>, CliError> {
    let path = model_file(model, quiet)?;
    let client = ipw_engine::client::Embedded::new(spec, path, clock)
        .map_err(|error| CliError::new(Exit::Usage, error))?;
    Ok(Box::new(client))
}

#[cfg(not(feature = "engine"))]
fn embedded(
    _spec: &ClientSpec,
    _model: &str,
    _clock: Arc<dyn Clock>,
    _quiet: bool,
) -> Result<Box<dyn Client>, CliError> {
    Err(CliError::usage("this `ipw` was built without its engine")
        .help("build it with default features, or name a service: `--client openai`"))
}

/// The file of a model that runs in process, fetched if it is not here.
#[cfg(feature = "engine")]
pub(crate) fn model_file(model: &str, quiet: bool) -> Result<std::path::PathBuf, CliError> {
    let model = ipw_hub::models::ModelRef::parse(model)
        .map_err(|error| CliError::new(Exit::Usage, error))?;
    crate::commands::models::fetch_with_progress(&model, quiet)
}

/// Refuses generation parameters that the client is known not to have: better now than in every
/// row.
pub(crate) fn check_parameters(id: &str, parameters: &Map<String, Value>) -> Result<(), CliError> {
    #[cfg(feature = "engine")]
    if id == EMBEDDED {
        ipw_engine::Settings::from_parameters(parameters)
            .map_err(|error| CliError::new(Exit::Usage, error))?;
    }
    let _ = (id, parameters);
    Ok(())
}

/// Refuses what a client's API takes in no case, once all that goes with the queries is known.
pub(crate) fn check(spec: &ClientSpec, generation: &Generation) -> Result<(), CliError> {
    // One that nobody knows is told when it is made.
    if !ipw_clients::known().iter().any(|known| known.id == spec.id) {
        return Ok(());
    }
    let system = generation.system.as_deref();
    ipw_clients::check(spec, system, &generation.parameters)
        .map_err(|error| CliError::new(Exit::Usage, error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(id: &str, params: &[(&str, &str)]) -> ClientSpec {
        let pairs = params.iter();
        ClientSpec {
            id: id.to_owned(),
            base_url: None,
            params: pairs
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            key: ipw_clients::KeySource::Default,
            insecure_key: false,
            network: ipw_clients::Network::default(),
            connect_timeout: std::time::Duration::from_secs(5),
        }
    }

    #[test]
    fn what_a_client_cannot_send_is_refused_before_the_run() {
        let completions = spec("openai", &[("api", "completions")]);
        let limited = Map::from_iter([("max_tokens".to_owned(), json!(9))]);
        for (spec, system, parameters, says) in [
            (
                spec("anthropic", &[]),
                None,
                Map::new(),
                Some("`max_tokens`"),
            ),
            (spec("anthropic", &[]), Some("x"), limited, None),
            (completions.clone(), Some("x"), Map::new(), Some("system")),
            (completions, None, Map::new(), None),
            (spec("openai", &[]), Some("x"), Map::new(), None),
            (spec("no-such", &[]), None, Map::new(), None),
        ] {
            let generation = Generation {
                system: system.map(str::to_owned),
                parameters,
            };
            let checked = check(&spec, &generation);
            let error = checked.err().map(|refused| {
                assert_eq!(refused.exit, Exit::Usage);
                refused.error.to_string()
            });
            assert_eq!(error.is_some(), says.is_some(), "{error:?}");
            let says = says.unwrap_or_default();
            assert!(error.unwrap_or_default().contains(says), "{says}");
        }
    }
}
