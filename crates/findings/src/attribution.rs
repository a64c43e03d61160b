//! Records in the summary which version and method attributed the energy of a run's rows.

use ipw_core::attribution::Weights;
use ipw_store::Overview;
use ipw_store::attribute::{IdleUsed, METHOD};
use ipw_store::summary::{Attribution, Versions};

/// The attribution of these rows, done `at` this many seconds since the Unix epoch.
pub fn of(weights: Weights, idle: &[IdleUsed], overview: &Overview, at: f64) -> Attribution {
    Attribution {
        ipw: Versions::IPW.into(),
        method: METHOD.into(),
        weights,
        idle: idle.to_vec(),
        at,
        rows: overview.rows,
        rows_with_energy: overview.energy.rows,
    }
}
