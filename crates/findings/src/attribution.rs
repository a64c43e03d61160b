//! Which version and method made the energy of a run's rows, as `summary.json` says it.

use ipw_core::attribution::Weights;
use ipw_store::Overview;
use ipw_store::attribute::{IdleFrom, IdleUsed, METHOD};
use ipw_store::summary::Versions;
use serde_json::{Value, json};

/// What made the energy of these rows, `at` this many seconds since the Unix epoch.
pub fn of(weights: Weights, idle: &[IdleUsed], overview: &Overview, at: f64) -> Value {
    json!({
        "ipw": Versions::here().ipw,
        "method": METHOD,
        "weights": weights.label(),
        "idle": idle.iter().map(used).collect::<Vec<_>>(),
        "at": at,
        "rows": overview.rows,
        "rows_with_energy": overview.energy.rows,
    })
}

fn used(used: &IdleUsed) -> Value {
    json!({
        "source": used.source,
        "part": used.part,
        "watts": used.idle.map(|idle| idle.power.watts()),
        "sigma_watts": used.idle.map(|idle| idle.sigma.watts()),
        "from": used.from.map(IdleFrom::label),
    })
}
