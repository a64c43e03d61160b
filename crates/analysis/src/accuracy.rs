//! Accuracy over repeated questions, with intervals for clustered answers (docs/method.md §7).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::efficiency::Accuracy;
use crate::interval::{Z, real, wilson};

/// Agreement of repeated answers to the same questions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Repeats {
    /// Questions with a verdict.
    pub questions: u64,
    /// Verdicts on these questions.
    pub verdicts: u64,
    /// Fewest verdicts on one question.
    pub fewest: u64,
    /// Most verdicts on one question.
    pub most: u64,
    /// Correct ÷ all verdicts. The interval accounts for the correlation of answers to one
    /// question.
    pub accuracy: Option<Accuracy>,
    /// Questions with a correct majority ÷ questions with a majority.
    pub majority: Option<Accuracy>,
    /// Questions with as many correct as wrong answers.
    pub undecided: u64,
    /// Pairs of answers to one question with equal verdicts ÷ all such pairs; `None` without a
    /// pair.
    pub agreement: Option<f64>,
}

/// Verdicts on one question.
#[derive(Debug, Clone, Copy, Default)]
struct Votes {
    right: u64,
    all: u64,
}

/// Groups verdicts by question; `None` if no question was asked twice.
pub fn repeats<'a>(rows: impl Iterator<Item = (&'a str, bool)>) -> Option<Repeats> {
    let mut questions: BTreeMap<&str, Votes> = BTreeMap::new();
    for (query, is_correct) in rows {
        let votes = questions.entry(query).or_default();
        votes.right += u64::from(is_correct);
        votes.all += 1;
    }
    let votes: Vec<Votes> = questions.into_values().collect();
    let most = votes.iter().map(|votes| votes.all).max()?;
    if most < 2 {
        return None;
    }
    let decided = votes.iter().filter(|votes| votes.right * 2 != votes.all);
    let won = decided.clone().filter(|votes| votes.right * 2 > votes.all);
    let (won, decided) = (won.count() as u64, decided.count() as u64);
    let pairs = |count: u64| count * count.saturating_sub(1) / 2;
    let all_pairs: u64 = votes.iter().map(|votes| pairs(votes.all)).sum();
    let same = |votes: &Votes| pairs(votes.right) + pairs(votes.all - votes.right);
    let same: u64 = votes.iter().map(same).sum();
    Some(Repeats {
        questions: votes.len() as u64,
        verdicts: votes.iter().map(|votes| votes.all).sum(),
        fewest: votes.iter().map(|votes| votes.all).min()?,
        most,
        accuracy: clustered(&votes),
        majority: share(won, decided),
        undecided: votes.len() as u64 - decided,
        agreement: (all_pairs > 0).then(|| real(same) / real(all_pairs)),
    })
}

fn share(some: u64, of: u64) -> Option<Accuracy> {
    let share = wilson(some, of)?;
    Some(Accuracy {
        value: share.value,
        low: share.low,
        high: share.high,
    })
}

/// The share of correct answers with Wilson's interval at the effective sample size: answers ÷
/// design effect. The design effect is the variance of a ratio over clusters ÷ that of single
/// draws.
fn clustered(votes: &[Votes]) -> Option<Accuracy> {
    let (right, all) = votes.iter().fold((0, 0), |(right, all), votes| {
        (right + votes.right, all + votes.all)
    });
    let plain = share(right, all)?;
    let clusters = real(votes.len() as u64);
    let value = plain.value;
    let single = value * (1.0 - value) / real(all);
    if clusters < 2.0 || single <= 0.0 {
        // All verdicts are equal: the number of questions is the sample size.
        let questions = votes.len() as u64;
        let all_right = if right > 0 { questions } else { 0 };
        return share(all_right, questions);
    }
    let residual = |votes: &Votes| (real(votes.right) - value * real(votes.all)).powi(2);
    let spread: f64 = votes.iter().map(residual).sum();
    let robust = spread / real(all).powi(2) * clusters / (clusters - 1.0);
    // The effective size is at least the number of questions and at most that of answers.
    let worth = (value * (1.0 - value) / robust).clamp(1.0, real(all));
    Some(wilson_of(value, worth))
}

/// Wilson's interval for a share of this many draws, which need not be an integer.
fn wilson_of(value: f64, draws: f64) -> Accuracy {
    let square = Z * Z;
    let middle = (value + square / (2.0 * draws)) / (1.0 + square / draws);
    let half = Z / (1.0 + square / draws)
        * (value * (1.0 - value) / draws + square / (4.0 * draws * draws)).sqrt();
    Accuracy {
        value,
        low: (middle - half).max(0.0),
        high: (middle + half).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use ipw_core::random::Random;

    use super::*;

    fn is(value: f64, wanted: f64) -> bool {
        (value - wanted).abs() < 1e-12
    }

    fn of(rows: &[(&str, bool)]) -> Option<Repeats> {
        repeats(rows.iter().copied())
    }

    #[test]
    fn questions_that_were_asked_once_have_no_repeats() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("a", true), ("b", false)]), None);
    }

    #[test]
    fn majority_and_agreement_count_by_question() {
        let rows = [
            ("a", true),
            ("a", true),
            ("a", false),
            ("b", false),
            ("b", false),
            ("c", true),
            ("c", false),
        ];
        let found = of(&rows).unwrap();
        assert_eq!((found.questions, found.verdicts), (3, 7));
        assert_eq!((found.fewest, found.most, found.undecided), (2, 3, 1));
        assert!(is(found.majority.unwrap().value, 0.5));
        // One of three pairs, one of one, none of one.
        assert_eq!(found.agreement, Some(2.0 / 5.0));
        assert!(is(found.accuracy.unwrap().value, 3.0 / 7.0));
    }

    #[test]
    fn answers_that_repeat_themselves_are_worth_one() {
        let names: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let same = |times: usize| {
            let rows = names.iter().enumerate().flat_map(|(place, name)| {
                std::iter::repeat_n((name.as_str(), place % 4 == 0), times)
            });
            repeats(rows)
        };
        let ten = same(10).unwrap().accuracy.unwrap();
        let once = wilson(25, 100).unwrap();
        // Only the clusters' own correction, k ÷ (k − 1), differs.
        assert!((ten.low - once.low).abs() < 0.002, "{ten:?} {once:?}");
        assert!((ten.high - once.high).abs() < 0.002, "{ten:?} {once:?}");
        let all_right = repeats((0..20).map(|n| (["a", "b"][n % 2], true))).unwrap();
        let two = wilson(2, 2).unwrap();
        assert!(is(all_right.accuracy.unwrap().low, two.low));
        assert_eq!(all_right.agreement, Some(1.0));
    }

    #[test]
    fn the_interval_holds_the_truth_as_often_as_it_says() {
        // Questions differ in how hard they are; each is asked five times.
        let mut random = Random::new(11);
        let names: Vec<String> = (0..60).map(|n| n.to_string()).collect();
        let (mut held, mut held_plain) = (0, 0);
        let trials = 2000;
        for _ in 0..trials {
            let mut rows = Vec::new();
            for name in &names {
                // Half of them are nearly always right, half nearly never: 0.5 in the mean.
                let hard = random.up_to(1) == 0;
                for _ in 0..5 {
                    let is_common = random.up_to(9) > 0;
                    rows.push((name.as_str(), hard != is_common));
                }
            }
            let found = repeats(rows.iter().copied()).unwrap();
            let right = rows.iter().filter(|(_, right)| *right).count() as u64;
            let (sure, plain) = (found.accuracy.unwrap(), wilson(right, 300).unwrap());
            held += u64::from(sure.low <= 0.5 && 0.5 <= sure.high);
            held_plain += u64::from(plain.low <= 0.5 && 0.5 <= plain.high);
        }
        let share = |held: u64| real(held) / real(trials);
        assert!((0.935..0.97).contains(&share(held)), "{}", share(held));
        assert!(share(held_plain) < 0.85, "{}", share(held_plain));
    }
}
