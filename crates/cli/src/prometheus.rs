//! The page for Prometheus, beside what a command does.

use std::sync::Arc;

use ipw_core::time::Clock;
use ipw_monitor::Token;
use ipw_monitor::exporter::Exporter;
use ipw_telemetry::Session;

use crate::args::ListenAddress;
use crate::error::{CliError, Exit};
use crate::screen;

/// Serves the page, if that is wanted, and says where.
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
