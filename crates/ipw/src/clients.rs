//! All clients: those that reach a service, and the engine embedded in this binary.

use std::sync::Arc;

use ipw_clients::{Client, ClientInfo, ClientSpec};
use ipw_core::nearest::nearest;
use ipw_core::plan::Generation;
#[cfg(not(feature = "engine"))]
use ipw_core::setting::Setting;
use ipw_core::time::Clock;
use ipw_hub::Progress;
use serde_json::{Map, Value};

pub use crate::error::not_ready;
use crate::error::{Error, Kind};

/// The default client, for a run that names neither a client nor an address.
pub const DEFAULT: &str = if cfg!(feature = "engine") {
    EMBEDDED
} else {
    "openai"
};
/// Id of the engine embedded in this binary.
pub const EMBEDDED: &str = "embedded";
/// Default model of the embedded engine.
#[cfg(feature = "engine")]
pub const DEFAULT_MODEL: &str = ipw_hub::models::catalogue::DEFAULT;
/// Default model of the embedded engine, in builds without it.
#[cfg(not(feature = "engine"))]
pub const DEFAULT_MODEL: &str = "smollm2-135m";

/// All known clients, the default first.
pub fn known() -> Vec<ClientInfo> {
    let mut known = Vec::new();
    #[cfg(feature = "engine")]
    known.push(ipw_engine::client::KNOWN);
    known.extend_from_slice(ipw_clients::known());
    known
}

/// Makes the client that `spec` describes. A model for the embedded engine is downloaded if
/// missing.
pub fn connect(
    spec: &ClientSpec,
    model: &str,
    clock: Arc<dyn Clock>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Box<dyn Client>, Error> {
    if spec.id == EMBEDDED {
        return embedded(spec, model, clock, progress);
    }
    if !known().iter().any(|known| known.id == spec.id) {
        return Err(unknown(&spec.id));
    }
    ipw_clients::connect(spec, clock).map_err(|error| Error::new(Kind::Invalid, error))
}

fn unknown(id: &str) -> Error {
    let known: Vec<_> = known().iter().map(|known| known.id).collect();
    let error = ipw_clients::ClientError::Unknown {
        id: id.to_owned(),
        nearest: nearest(id, known.iter().copied()).map(str::to_owned),
        known: known.join(", "),
    };
    Error::new(Kind::Invalid, error)
}

#[cfg(feature = "engine")]
fn embedded(
    spec: &ClientSpec,
    model: &str,
    clock: Arc<dyn Clock>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Box<dyn Client>, Error> {
    let path = model_file(model, progress)?;
    let client = ipw_engine::client::Embedded::new(spec, path, clock)
        .map_err(|error| Error::new(Kind::Invalid, error))?;
    Ok(Box::new(client))
}

#[cfg(not(feature = "engine"))]
fn embedded(
    _spec: &ClientSpec,
    _model: &str,
    _clock: Arc<dyn Clock>,
    _progress: &mut dyn FnMut(Progress),
) -> Result<Box<dyn Client>, Error> {
    Err(
        Error::invalid("this build of `ipw` has no embedded engine").with_help(format!(
            "build with default features, or name a service with `{}`",
            Setting::Client.to("openai")
        )),
    )
}

/// The file of a model for the embedded engine, downloaded if missing.
#[cfg(feature = "engine")]
pub fn model_file(
    model: &str,
    progress: &mut dyn FnMut(Progress),
) -> Result<std::path::PathBuf, Error> {
    use ipw_hub::models::{Cache, ModelError, ModelRef};
    let failed = |error: ModelError| {
        let kind = if error.is_usage() {
            Kind::Invalid
        } else {
            Kind::Unexpected
        };
        Error::new(kind, error)
    };
    let model = ModelRef::parse(model).map_err(failed)?;
    let cache = match model {
        // A file that the user names needs no cache.
        ModelRef::File(_) => Cache::at(std::path::PathBuf::new()),
        ModelRef::Named(_) | ModelRef::Hub(_) => Cache::locate().map_err(failed)?,
    };
    ipw_hub::models::fetch(&model, &cache, progress).map_err(failed)
}

/// Refuses generation parameters that the client does not support: one error before the run instead
/// of one in every row.
pub fn check_parameters(id: &str, parameters: &Map<String, Value>) -> Result<(), Error> {
    #[cfg(feature = "engine")]
    if id == EMBEDDED {
        ipw_engine::Settings::from_parameters(parameters)
            .map_err(|error| Error::new(Kind::Invalid, error))?;
    }
    let _ = (id, parameters);
    Ok(())
}

/// Refuses settings that the client's API cannot accept, once the whole request is known.
pub fn check(spec: &ClientSpec, generation: &Generation) -> Result<(), Error> {
    // Creating the client reports unknown ids.
    if !ipw_clients::known().iter().any(|known| known.id == spec.id) {
        return Ok(());
    }
    let system = generation.system.as_deref();
    ipw_clients::check(spec, system, &generation.parameters)
        .map_err(|error| Error::new(Kind::Invalid, error))
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
                assert_eq!(refused.kind(), Kind::Invalid);
                refused.to_string()
            });
            assert_eq!(error.is_some(), says.is_some(), "{error:?}");
            let says = says.unwrap_or_default();
            assert!(error.unwrap_or_default().contains(says), "{says}");
        }
    }
}
