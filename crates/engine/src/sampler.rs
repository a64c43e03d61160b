//! Chooses the next token.

/// How to sample tokens.
///
/// The order is llama.cpp's: the `top_k` most likely tokens; of those the fewest whose
/// probabilities add up to `top_p`; of those all with at least `min_p` times the highest
/// probability; then the temperature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// 0 always takes the most likely token.
    pub temperature: f32,
    /// Number of most likely tokens to consider; `None` for all.
    pub top_k: Option<usize>,
    /// Total probability of the tokens to consider.
    pub top_p: f32,
    /// Minimum probability relative to the most likely token.
    pub min_p: f32,
    /// The same seed yields the same tokens.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: None,
            top_p: 1.0,
            min_p: 0.0,
            seed: 0,
        }
    }
}

/// Samples tokens.
pub(crate) struct Sampler {
    sampling: Sampling,
    state: u64,
    candidates: Vec<(f32, u32)>,
}

impl Sampler {
    pub(crate) fn new(sampling: Sampling) -> Self {
        Self {
            sampling,
            state: sampling.seed,
            candidates: Vec::new(),
        }
    }

    /// The next token; `None` if a score is not a finite number.
    pub(crate) fn pick(&mut self, scores: &[f32]) -> Option<u32> {
        let (best, top) = likeliest(scores)?;
        if self.sampling.temperature <= 0.0 {
            return Some(best);
        }
        self.consider(scores, top);
        let temperature = self.sampling.temperature;
        let mut total = 0.0;
        for (score, _) in &mut self.candidates {
            *score = ((*score - top) / temperature).exp();
            total += f64::from(*score);
        }
        let mut left = self.unit() * total;
        for (weight, token) in &self.candidates {
            left -= f64::from(*weight);
            if left < 0.0 {
                return Some(*token);
            }
        }
        // Rounding: the draw fell behind the last candidate.
        self.candidates.last().map(|(_, token)| *token)
    }

    /// The candidates, most likely first.
    fn consider(&mut self, scores: &[f32], top: f32) {
        let Sampling {
            top_k,
            top_p,
            min_p,
            ..
        } = self.sampling;
        let candidates = &mut self.candidates;
        candidates.clear();
        let tokens = (0..).zip(scores).filter(|(_, score)| score.is_finite());
        // A score this far below the best has a negligible probability.
        let least = top - if min_p > 0.0 { -min_p.ln() } else { 80.0 };
        candidates.extend(
            tokens
                .filter(|(_, score)| **score >= least)
                .map(|(token, score)| (*score, token)),
        );
        let likelier = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        candidates.sort_unstable_by(likelier);
        if let Some(most) = top_k {
            candidates.truncate(most.max(1));
        }
        if top_p < 1.0 {
            let weight = |score: f32| f64::from(score - top).exp();
            let total: f64 = candidates.iter().map(|(score, _)| weight(*score)).sum();
            let mut sum = 0.0;
            let enough = candidates.iter().position(|(score, _)| {
                sum += weight(*score);
                sum >= f64::from(top_p) * total
            });
            candidates.truncate(enough.map_or(candidates.len(), |last| last + 1));
        }
    }

    /// A random number from 0 to 1 (`SplitMix64`).
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn unit(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The most likely token (the first of equals) and its score.
fn likeliest(scores: &[f32]) -> Option<(u32, f32)> {
    let mut best: Option<(u32, f32)> = None;
    for (token, score) in (0..).zip(scores) {
        if best.is_none_or(|(_, most)| *score > most) && !score.is_nan() {
            best = Some((token, *score));
        }
    }
    best.filter(|(_, score)| score.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCORES: [f32; 5] = [1.0, 3.0, 2.0, 3.0, -4.0];

    fn drawn(sampling: Sampling) -> [usize; 5] {
        let mut sampler = Sampler::new(sampling);
        let mut counts = [0; 5];
        for _ in 0..4000 {
            counts[sampler.pick(&SCORES).unwrap() as usize] += 1;
        }
        counts
    }

    #[test]
    fn without_temperature_the_first_of_the_likeliest_is_taken() {
        assert_eq!(drawn(Sampling::default()), [0, 4000, 0, 0, 0]);
    }

    #[test]
    fn with_temperature_tokens_come_by_their_probability() {
        let counts = drawn(Sampling {
            temperature: 1.0,
            seed: 7,
            ..Sampling::default()
        });
        let total: f64 = SCORES.iter().map(|score| f64::from(*score).exp()).sum();
        for (score, count) in SCORES.iter().zip(counts) {
            let wanted = f64::from(*score).exp() / total * 4000.0;
            // Five standard deviations of the count.
            let most = 5.0 * wanted.sqrt() + 3.0;
            assert!(
                (f64::from(u32::try_from(count).unwrap()) - wanted).abs() < most,
                "{counts:?}"
            );
        }
    }

    #[test]
    fn each_limit_leaves_the_likelier_ones() {
        let warm = Sampling {
            temperature: 5.0,
            seed: 3,
            ..Sampling::default()
        };
        let two = drawn(Sampling {
            top_k: Some(2),
            ..warm
        });
        assert!(
            two[1] > 0 && two[3] > 0 && two[0] + two[2] + two[4] == 0,
            "{two:?}"
        );
        let most = drawn(Sampling { top_p: 0.7, ..warm });
        assert!(
            most[1] > 0 && most[3] > 0 && most[2] == 0 && most[0] == 0,
            "{most:?}"
        );
        let near = drawn(Sampling { min_p: 0.3, ..warm });
        assert!(near[2] > 0 && near[0] == 0 && near[4] == 0, "{near:?}");
        assert_eq!(
            drawn(Sampling {
                top_k: Some(0),
                ..warm
            })[1],
            4000
        );
    }

    #[test]
    fn a_seed_draws_the_same_again_and_another_does_not() {
        let draws = |seed| {
            let mut sampler = Sampler::new(Sampling {
                temperature: 1.0,
                seed,
                ..Sampling::default()
            });
            (0..50).map(|_| sampler.pick(&SCORES)).collect::<Vec<_>>()
        };
        assert_eq!(draws(1), draws(1));
        assert_ne!(draws(1), draws(2));
    }

    #[test]
    fn scores_that_are_not_numbers_give_nothing() {
        let mut sampler = Sampler::new(Sampling {
            temperature: 1.0,
            ..Sampling::default()
        });
        assert_eq!(sampler.pick(&[f32::NAN, f32::NAN]), None);
        assert_eq!(sampler.pick(&[f32::INFINITY, 1.0]), None);
        assert_eq!(sampler.pick(&[]), None);
        assert_eq!(sampler.pick(&[f32::NAN, 1.0]), Some(1));
    }
}
