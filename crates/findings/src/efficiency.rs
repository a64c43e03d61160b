//! What a run's joules bought.

use ipw_analysis::efficiency::{Answers, Efficiency};
use ipw_analysis::metric::Values;
use ipw_store::Overview;

/// What the run's joules bought.
pub fn of(overview: &Overview, values: &Values) -> Efficiency {
    let verdicts = overview.verdicts;
    let answers = Answers {
        correct: verdicts.correct,
        wrong: verdicts.wrong,
        unscored: verdicts.unscored,
    };
    Efficiency::of(answers, values)
}
