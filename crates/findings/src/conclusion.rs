//! Computes what the summary says about a run's rows, in one pass.

use ipw_analysis::metric::Values;
use ipw_core::plan::Load as Planned;
use ipw_store::overview::Counting;
use ipw_store::{Consumer, Overview, Run, StoreError};

use crate::load::{Findings, Loading};
use crate::measured::Measuring;
use crate::survey::Survey;

/// Results over all rows of a run.
pub struct Conclusion {
    /// Counts and totals.
    pub overview: Overview,
    /// The metrics of the run.
    pub values: Values,
    /// Findings about the load; `None` without a plan.
    pub load: Option<Findings>,
}

impl Conclusion {
    /// Reads a run that followed this plan. `more` consumers are fed in the same pass.
    pub fn of(
        run: &Run,
        plan: Option<&Planned>,
        more: &mut [&mut dyn Consumer],
    ) -> Result<Self, StoreError> {
        let survey = Survey::of(run, plan)?;
        let mut counting = Counting::of(run);
        let mut measuring = Measuring::within(&survey.frame);
        let mut loading = plan.map(|plan| Loading::of(&survey, plan));
        let mut consumers: Vec<&mut dyn Consumer> = vec![&mut counting, &mut measuring];
        consumers.extend(loading.as_mut().map(|one| one as &mut dyn Consumer));
        for one in more {
            consumers.push(&mut **one);
        }
        run.feed(&mut consumers)?;
        Ok(Self {
            overview: counting.finish(),
            values: measuring.finish(),
            load: loading.map(Loading::finish),
        })
    }
}
