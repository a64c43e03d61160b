//! `ipw`: measures the correct work of an inference service per unit of time and energy.

mod args;
mod commands;
mod error;
mod grid;
mod launch;
mod listen;
mod next;
mod observe;
mod output;
mod prometheus;
mod screen;
mod settings;
mod signals;

use std::process::ExitCode;

use ipw_core::setting::name_settings;

use args::{Cli, Command};

fn main() -> ExitCode {
    name_settings(args::flag);
    let done = match Cli::read().command {
        Command::Profile(profile) => match profile.sweep() {
            Some(sweep) => launch::around(*profile, |args| commands::sweep::run(args, &sweep)),
            None => launch::around(*profile, commands::profile::run),
        },
        Command::Ping(ping) => commands::ping::run(&ping),
        Command::List { kind, long } => commands::list::run(kind, long),
        Command::Runs(runs) => commands::runs::run(&runs),
        Command::Show(show) => commands::show::run(&show),
        Command::Analyze(analyze) => commands::analyze::run(&analyze),
        Command::Plot(plot) => commands::plot::run(&plot),
        Command::Attribute(attribute) => commands::attribute::run(&attribute),
        Command::Score(score) => commands::score::run(&score),
        Command::Report(report) => commands::report::run(&report),
        Command::Export(export) => commands::export::run(&export),
        Command::Compare(compare) => commands::compare::run(&compare),
        Command::Leaderboard(leaderboard) => commands::leaderboard::run(&leaderboard),
        Command::Watch(watch) => commands::watch::run(&watch),
        Command::Monitor(monitor) => commands::monitor::run(&monitor),
        Command::Doctor(doctor) => commands::doctor::run(&doctor),
        Command::Calibrate(calibrate) => commands::calibrate::run(&calibrate),
        #[cfg(feature = "engine")]
        Command::Models(models) => commands::models::run(&models),
        #[cfg(feature = "engine")]
        Command::Serve(serve) => commands::serve::run(&serve),
        Command::Launched { command } => Err(ipw::launch::enter(&command).into()),
        Command::Completions { shell } => commands::completions::run(shell),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(error) => {
            screen::error(&error);
            error.exit.into()
        }
    }
}
