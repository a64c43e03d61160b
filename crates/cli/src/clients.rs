//! All clients: those that reach a service, and the engine inside this binary.

use std::sync::Arc;

use ipw_clients::{Client, ClientSpec, Known};
use ipw_core::nearest::nearest;
use ipw_core::time::Clock;
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
pub(crate) const DEFAULT_MODEL: &str = ipw_models::catalogue::DEFAULT;
/// What it would run.
#[cfg(not(feature = "engine"))]
pub(crate) const DEFAULT_MODEL: &str = "smollm2-135m";

/// All clients, the default first.
pub(crate) fn known() -> Vec<Known> {
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
    let model =
        ipw_models::ModelRef::parse(model).map_err(|error| CliError::new(Exit::Usage, error))?;
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
