//! Sending again: only where the plan says so, and only what may go better.

use std::time::Duration;

use ipw_core::random::Random;
use ipw_core::reply::{Failure, Outcome};

/// The first pause, at the most.
const FIRST: Duration = Duration::from_millis(500);
/// No pause is longer, unless the service asks for it.
const LONGEST: Duration = Duration::from_secs(30);
/// What a service may ask for.
const PATIENCE: Duration = Duration::from_mins(5);

/// Whether another attempt may go better: a lost connection, or a service that is overloaded or
/// breaks. A request that is wrong stays wrong, and a time limit that has passed has passed.
pub(crate) fn is_worth_it(outcome: &Outcome) -> bool {
    let Outcome::Failed(failure) = outcome else {
        return false;
    };
    match failure {
        Failure::Connect | Failure::Reset | Failure::Closed | Failure::Service => true,
        Failure::Http(status) => matches!(status, 408 | 425 | 429 | 500 | 502..=504),
        _ => false,
    }
}

/// How long to wait before the next attempt: as the service asked, else somewhere between nothing
/// and a bound that doubles (full jitter), so that many do not come back at once.
pub(crate) fn pause(attempts: u32, asked: Option<Duration>, seed: u64) -> Duration {
    if let Some(asked) = asked {
        return asked.min(PATIENCE);
    }
    let doubled = FIRST.saturating_mul(1 << (attempts - 1).min(16));
    let mut random = Random::new(seed ^ u64::from(attempts).rotate_left(32));
    doubled.min(LONGEST).mul_f64(random.unit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_go_better_is_sent_again_and_nothing_else() {
        for (failure, expected) in [
            (Failure::Http(429), true),
            (Failure::Http(503), true),
            (Failure::Reset, true),
            (Failure::Http(400), false),
            (Failure::Http(401), false),
            (Failure::TooLarge, false),
            (Failure::Dns, false),
        ] {
            assert_eq!(
                is_worth_it(&Outcome::Failed(failure)),
                expected,
                "{failure}"
            );
        }
        assert!(!is_worth_it(&Outcome::Complete) && !is_worth_it(&Outcome::TimedOut));
    }

    #[test]
    fn pauses_grow_are_spread_and_follow_the_service() {
        for attempts in 1..40 {
            let bound = FIRST
                .saturating_mul(1 << (attempts - 1).min(16))
                .min(LONGEST);
            assert!(pause(attempts, None, 1) < bound);
        }
        assert_ne!(pause(1, None, 1), pause(1, None, 2));
        let asked = Duration::from_secs(7);
        assert_eq!(pause(3, Some(asked), 1), asked);
        assert_eq!(pause(3, Some(Duration::from_secs(9999)), 1), PATIENCE);
    }
}
