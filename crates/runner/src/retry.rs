//! Retries: only if the plan allows them, and only for errors that may be temporary.

use std::time::Duration;

use ipw_core::random::Random;
use ipw_core::reply::{Failure, Outcome};

/// Upper bound of the first pause.
const FIRST: Duration = Duration::from_millis(500);
/// Longest pause, unless the service asks for more.
const LONGEST: Duration = Duration::from_secs(30);
/// Longest pause that a service can ask for.
const PATIENCE: Duration = Duration::from_mins(5);

/// Whether a retry may help: a lost connection, or a service that is overloaded or broken. A wrong
/// request stays wrong, and a passed time limit is final.
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

/// Pause before the next attempt: as the service asked, else random between zero and a bound that
/// doubles. This full jitter keeps clients from retrying together.
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
