//! Saturation of a service: over the steps of a sweep ([`knee`]), and within one run, where a
//! growing queue shows overload ([`queue_trend`], [`drift`]).

use serde::{Deserialize, Serialize};

pub use self::trend::{Allowance, Slope, Trend, TrendVerdict, drift, queue_trend, theil_sen};

mod trend;

/// Smallest relative growth of throughput ÷ relative growth of load that counts as a gain.
pub const LEAST_GAIN: f64 = 0.05;

/// One step of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Queries in flight, or offered queries per second.
    pub load: f64,
    /// Served queries or tokens per second.
    pub throughput: f64,
    /// Queries per second that met the SLO; `None` without one.
    pub goodput: Option<f64>,
    /// Latency of a query in seconds, in the percentile that the caller compares.
    pub latency: Option<f64>,
}

/// The knee: the load beyond which throughput no longer grows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "knee")]
pub enum Knee {
    /// The knee is in the sweep.
    Found {
        /// The last step with a gain, which is the recommended load.
        recommended: Step,
        /// The first step without a gain.
        beyond: Step,
        /// Relative growth of throughput ÷ relative growth of load between the two.
        gain: f64,
    },
    /// Throughput grew up to the last step; a higher load may give more.
    NotReached {
        /// The last step.
        last: Step,
    },
    /// The steps do not determine the knee.
    CannotTell {
        /// The reason.
        reason: NoKnee,
    },
}

/// Why the steps do not determine a knee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NoKnee {
    /// Fewer than two steps.
    #[error("a knee needs at least two steps")]
    TooFew,
    /// Two steps with the same load.
    #[error("two steps have the same load")]
    SameLoad,
    /// A load or a throughput that is not positive.
    #[error("a step has no load or no throughput")]
    Nothing,
}

/// The knee over steps in any order. The recommended step is the first one after which no later
/// step gains `least_gain`, counted from that step. All later steps are tested, so a single poor
/// step is not a knee.
pub fn knee(steps: &[Step], least_gain: f64) -> Knee {
    let mut steps = steps.to_vec();
    steps.sort_by(|left, right| left.load.total_cmp(&right.load));
    let [.., last] = steps[..] else {
        return cannot_tell(NoKnee::TooFew);
    };
    if steps.len() < 2 {
        return cannot_tell(NoKnee::TooFew);
    }
    let is_positive = |value: f64| value.is_finite() && value > 0.0;
    if !steps
        .iter()
        .all(|step| is_positive(step.load) && is_positive(step.throughput))
    {
        return cannot_tell(NoKnee::Nothing);
    }
    if steps.windows(2).any(|pair| pair[0].load >= pair[1].load) {
        return cannot_tell(NoKnee::SameLoad);
    }
    for (place, step) in steps.iter().enumerate() {
        let later = &steps[place + 1..];
        let Some(beyond) = later.first() else { break };
        if later.iter().all(|later| gain(step, later) < least_gain) {
            return Knee::Found {
                recommended: *step,
                beyond: *beyond,
                gain: gain(step, beyond),
            };
        }
    }
    Knee::NotReached { last }
}

/// The step with the highest goodput, the lower load on a tie. `None` without an SLO.
pub fn best_goodput(steps: &[Step]) -> Option<Step> {
    let known = steps
        .iter()
        .filter_map(|step| Some((step.goodput.filter(|goodput| goodput.is_finite())?, step)));
    known
        .max_by(|(left, left_step), (right, right_step)| {
            let by_load = || right_step.load.total_cmp(&left_step.load);
            left.total_cmp(right).then_with(by_load)
        })
        .map(|(_, step)| *step)
}

/// Relative growth of throughput ÷ relative growth of load.
fn gain(from: &Step, to: &Step) -> f64 {
    (to.throughput / from.throughput - 1.0) / (to.load / from.load - 1.0)
}

const fn cannot_tell(reason: NoKnee) -> Knee {
    Knee::CannotTell { reason }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn steps(pairs: &[(f64, f64)]) -> Vec<Step> {
        let step = |(load, throughput): &(f64, f64)| Step {
            load: *load,
            throughput: *throughput,
            goodput: None,
            latency: None,
        };
        pairs.iter().map(step).collect()
    }

    fn recommended(pairs: &[(f64, f64)]) -> Option<f64> {
        match knee(&steps(pairs), LEAST_GAIN) {
            Knee::Found { recommended, .. } => Some(recommended.load),
            _ => None,
        }
    }

    #[test]
    fn the_last_step_that_paid_is_recommended() {
        let sweep = [
            (1.0, 10.0),
            (2.0, 20.0),
            (4.0, 39.0),
            (8.0, 40.0),
            (16.0, 40.5),
        ];
        let Knee::Found {
            recommended,
            beyond,
            gain,
        } = knee(&steps(&sweep), LEAST_GAIN)
        else {
            panic!("it is at four");
        };
        assert!((recommended.load - 4.0).abs() < 1e-12 && (beyond.load - 8.0).abs() < 1e-12);
        assert!((gain - 1.0 / 39.0).abs() < 1e-12);
        let shuffled = [sweep[3], sweep[0], sweep[4], sweep[2], sweep[1]];
        assert!(matches!(
            knee(&steps(&shuffled), LEAST_GAIN),
            Knee::Found { beyond: found, .. } if found == beyond
        ));
    }

    #[test]
    fn throughput_that_falls_is_a_knee() {
        assert_eq!(
            recommended(&[(1.0, 10.0), (2.0, 18.0), (4.0, 12.0)]),
            Some(2.0)
        );
        assert_eq!(recommended(&[(1.0, 10.0), (2.0, 9.0)]), Some(1.0));
    }

    #[test]
    fn one_poor_step_amid_good_ones_is_none() {
        let sweep = [(1.0, 10.0), (2.0, 9.9), (4.0, 40.0), (8.0, 80.0)];
        let Knee::NotReached { last } = knee(&steps(&sweep), LEAST_GAIN) else {
            panic!("it grew to the end");
        };
        assert!((last.load - 8.0).abs() < 1e-12);
    }

    #[test]
    fn steps_that_say_nothing_are_said_to() {
        let reason = |pairs: &[(f64, f64)]| match knee(&steps(pairs), LEAST_GAIN) {
            Knee::CannotTell { reason } => Some(reason),
            _ => None,
        };
        assert_eq!(reason(&[]), Some(NoKnee::TooFew));
        assert_eq!(reason(&[(1.0, 1.0)]), Some(NoKnee::TooFew));
        assert_eq!(reason(&[(1.0, 1.0), (1.0, 2.0)]), Some(NoKnee::SameLoad));
        assert_eq!(reason(&[(1.0, 1.0), (2.0, 0.0)]), Some(NoKnee::Nothing));
        assert_eq!(
            reason(&[(1.0, f64::NAN), (2.0, 1.0)]),
            Some(NoKnee::Nothing)
        );
    }

    #[test]
    fn goodput_peaks_before_throughput_does() {
        let mut sweep = steps(&[(1.0, 10.0), (2.0, 20.0), (4.0, 30.0)]);
        assert_eq!(best_goodput(&sweep), None);
        for (step, goodput) in sweep.iter_mut().zip([10.0, 18.0, 3.0]) {
            step.goodput = Some(goodput);
        }
        assert!((best_goodput(&sweep).unwrap().load - 2.0).abs() < 1e-12);
        sweep[0].goodput = Some(18.0);
        assert!((best_goodput(&sweep).unwrap().load - 1.0).abs() < 1e-12);
    }

    proptest! {
        /// A service that serves up to a fixed capacity.
        #[test]
        fn a_capacity_is_found_wherever_it_is(capacity in 1.5_f64..200.0) {
            let loads = (0..10).map(|power| f64::from(1 << power));
            let sweep: Vec<(f64, f64)> = loads.map(|load| (load, load.min(capacity))).collect();
            let found = recommended(&sweep).unwrap();
            // The step that contains the capacity still gains, unless the capacity is at its start.
            prop_assert!(found >= capacity * 0.95 && found < capacity * 2.0, "{} {}", found, capacity);
        }
    }
}
