//! Before a run: its plan, and the model of the service.

use std::sync::Arc;

use anyhow::Context;
use ipw::clients::not_ready;
use ipw_clients::ClientSpec;
use ipw_core::time::Clock;
use ipw_runner::{Plan, SystemClock};

use crate::args::ProfileArgs;
use crate::error::{CliError, Exit};
use crate::settings;

/// The plan of a run. May ask the service for its only model.
pub(crate) fn resolve(args: &mut ProfileArgs) -> Result<Plan, CliError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    settings::resolve(args, |client| {
        runtime()?.block_on(only_model(client, &clock))
    })
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    Ok(runtime.context("cannot start the runtime")?)
}

/// The model of a service that has exactly one.
pub(crate) async fn only_model(
    spec: &ClientSpec,
    clock: &Arc<dyn Clock>,
) -> Result<String, CliError> {
    let client = ipw_clients::connect(spec, Arc::clone(clock))
        .map_err(|error| CliError::new(Exit::Usage, error))?;
    let client = client.as_ref();
    client
        .health()
        .await
        .map_err(|error| not_ready(client, error))?;
    let no_model =
        |why: &str, help: &str| CliError::usage(format!("no model given, and {why}")).help(help);
    match client.models().await {
        Ok(models) => match <[String; 1]>::try_from(models) {
            Ok([model]) => Ok(model),
            Err(models) if models.is_empty() => Err(no_model(
                "the service lists none",
                "name it with `--model NAME`",
            )),
            Err(models) => {
                let shown = models.iter().take(8).map(String::as_str);
                let shown = shown.collect::<Vec<_>>().join("`, `");
                Err(no_model(
                    &format!("the service has {}", models.len()),
                    &format!("add `--model` with one of `{shown}`"),
                ))
            }
        },
        Err(error) => Err(no_model(
            &format!("the service does not list its models: {error}"),
            "name it with `--model NAME`",
        )),
    }
}
