//! The Prometheus endpoint of `ipw watch` and `ipw monitor`.

use std::sync::Arc;

use ipw_core::time::Clock;
use ipw_monitor::Token;
use ipw_monitor::exporter::Exporter;
use ipw_telemetry::Session;

use crate::args::ListenAddress;
use crate::error::{CliError, Exit};
use crate::screen;

/// Serves the endpoint if an address is given, and prints its URL.
pub(crate) fn serve(
    address: Option<ListenAddress>,
    token: Option<Token>,
    session: &Arc<Session>,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Exporter>, CliError> {
    let Some(ListenAddress(address)) = address else {
        return Ok(None);
    };
    let exporter = Exporter::start(Arc::clone(session), Arc::clone(clock), address, token)
        .map_err(|error| CliError::new(Exit::Usage, error))?;
    screen::talk(&format!("serving http://{}/metrics", exporter.address()));
    Ok(Some(exporter))
}
