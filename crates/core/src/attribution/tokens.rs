//! Tokens as weights: what a query processed in a step (docs/method.md §6.3).

use super::Step;
use crate::reading::Window;
use crate::time::Timestamp;

/// When a query's tokens were processed, as far as its reply tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenTimes {
    /// Tokens of the prompt, and from when to when it was read: sent to first token.
    pub input: Option<(f64, Window)>,
    /// Tokens of the reply.
    pub output: f64,
    /// When its chunks arrived, in order; each stands for the same number of tokens.
    pub chunks: Vec<Timestamp>,
}

impl TokenTimes {
    /// Tokens processed in the step: the prompt's by time, the reply's as they arrived.
    #[expect(clippy::cast_precision_loss, reason = "no reply has 2^52 chunks")]
    pub fn within(&self, step: &Step) -> f64 {
        let read = self.input.map_or(0.0, |(tokens, window)| {
            let overlap = window.overlap(step.start, step.end).as_secs_f64();
            let length = window.length().as_secs_f64();
            if length > 0.0 {
                tokens * overlap / length
            } else {
                0.0
            }
        });
        let until = |instant| self.chunks.partition_point(|chunk| *chunk <= instant);
        let written = until(step.end).saturating_sub(until(step.start));
        let each = self.output / (self.chunks.len().max(1) as f64);
        read + each * written as f64
    }
}
