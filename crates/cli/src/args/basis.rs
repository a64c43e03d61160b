//! `--basis`: the sources that count in headline figures.

use clap::{Args, ValueEnum};
use ipw_core::rollup::Choice;
use serde::Deserialize;

/// A basis as the command line spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BasisChoice {
    /// All sources, without double counting
    All,
    /// GPUs only
    Gpu,
    /// CPU packages only
    Cpu,
    /// The whole chip (system on chip) only
    Soc,
}

impl From<BasisChoice> for Choice {
    fn from(choice: BasisChoice) -> Self {
        match choice {
            BasisChoice::All => Self::All,
            BasisChoice::Gpu => Self::Gpu,
            BasisChoice::Cpu => Self::Cpu,
            BasisChoice::Soc => Self::Soc,
        }
    }
}

/// The flag `--basis` of commands that read runs.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct BasisArgs {
    /// Count only the energy of these sources [default: the basis of the run]
    #[arg(long, value_name = "BASIS")]
    pub(crate) basis: Option<BasisChoice>,
}

impl BasisArgs {
    /// `None` keeps the basis of the run.
    pub(crate) fn choice(self) -> Option<Choice> {
        self.basis.map(Choice::from)
    }
}
