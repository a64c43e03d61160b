//! `ipw completions SHELL`.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args::Cli;
use crate::error::{CliError, Exit};
use crate::screen;

#[expect(clippy::unnecessary_wraps, reason = "commands have one shape")]
pub(crate) fn run(shell: Shell) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "ipw", &mut script);
    screen::print(&String::from_utf8_lossy(&script));
    Ok(Exit::Done)
}
