//! What must be known of all rows before they are gone through: when queries were in flight, and
//! with that which time counts. A pass over three narrow columns.

use ipw_analysis::metric::Frame;
use ipw_analysis::steady::Flights;
use ipw_core::plan::Load as Planned;
use ipw_core::row::Fields;
use ipw_store::{Run, StoreError, plan};

use crate::load;

/// When the queries of a run were in flight.
pub struct Survey {
    /// Chunks of all replies.
    pub chunks: u64,
    /// Starts and ends.
    pub flights: Flights,
    /// Which time counts for the metrics.
    pub frame: Frame,
}

impl Survey {
    /// Looks at a run that was sent by this plan; without a plan, the whole run counts.
    pub fn of(run: &Run, plan: Option<&Planned>) -> Result<Self, StoreError> {
        let mut flights = Flights::default();
        run.for_each(Fields::SPAN, |row| flights.push(row))?;
        Ok(Self {
            chunks: run.chunks()?,
            frame: Frame::of(&flights, plan.map(load::kind)),
            flights,
        })
    }

    /// Looks at a run with the plan that is stored beside it.
    pub fn of_run(run: &Run) -> Result<Self, StoreError> {
        let plan = plan::of_run(run.directory()).ok();
        Self::of(run, plan.as_ref().map(|plan| &plan.load))
    }
}
