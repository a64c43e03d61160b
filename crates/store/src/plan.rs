//! The plan of a run, `plan.toml` in its directory.

use std::path::Path;

use ipw_core::plan::Plan;

use crate::{StoreError, file};

/// Its name in a run's directory.
pub const FILE: &str = "plan.toml";

/// The plan as it is stored.
pub fn text(plan: &Plan) -> Result<String, StoreError> {
    toml::to_string_pretty(plan).map_err(StoreError::PlanText)
}

/// The plan that the run in this directory was made by.
pub fn of_run(run: &Path) -> Result<Plan, StoreError> {
    let path = run.join(FILE);
    file::refuse_link(&path)?;
    read(&path)
}

/// The plan in this file.
pub fn read(path: &Path) -> Result<Plan, StoreError> {
    let text = std::fs::read_to_string(path).map_err(|source| StoreError::Io {
        action: "read the plan",
        path: path.to_owned(),
        source,
    })?;
    toml::from_str(&text).map_err(|source| StoreError::NotAPlan {
        path: path.to_owned(),
        source: Box::new(source),
    })
}
