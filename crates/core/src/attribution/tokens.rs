//! Tokens as weights: those that a query processed in a step (docs/method.md §6.3).

use serde::{Deserialize, Serialize};

use super::Step;
use crate::reading::Window;
use crate::time::Timestamp;

/// Weights by which a step is shared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// Time alone.
    #[default]
    Equal,
    /// Tokens processed in the step.
    Tokens,
}

impl Weights {
    /// The name in files and flags.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Tokens => "tokens",
        }
    }
}

/// Times at which a query's tokens were processed, from its reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenTimes {
    /// Tokens of the prompt, and their time: from the request to the first token.
    pub input: Option<(f64, Window)>,
    /// Tokens of the reply.
    pub output: f64,
    /// Arrival of its chunks, in order. Each stands for the same number of tokens.
    pub chunks: Vec<Timestamp>,
}

impl TokenTimes {
    /// Tokens processed in the step: the prompt's in proportion to time, the reply's on arrival.
    pub fn within(&self, step: &Step) -> f64 {
        self.between(step.start, step.end)
    }

    /// Tokens processed in the part of the step that lies in `window`.
    pub fn within_both(&self, step: &Step, window: Window) -> f64 {
        let (start, end) = (step.start.max(window.start()), step.end.min(window.end()));
        if start < end {
            self.between(start, end)
        } else {
            0.0
        }
    }

    fn between(&self, start: Timestamp, end: Timestamp) -> f64 {
        self.read(start, end) + self.written(start, end)
    }

    /// Tokens of the prompt read from `start` to `end`, in proportion to time.
    pub fn read(&self, start: Timestamp, end: Timestamp) -> f64 {
        self.input.map_or(0.0, |(tokens, window)| {
            let overlap = window.overlap(start, end).as_secs_f64();
            let length = window.length().as_secs_f64();
            if length > 0.0 {
                tokens * overlap / length
            } else {
                0.0
            }
        })
    }

    /// Tokens of the reply after `start`, up to `end`, on arrival of their chunks.
    #[expect(clippy::cast_precision_loss, reason = "no reply has 2^52 chunks")]
    pub fn written(&self, start: Timestamp, end: Timestamp) -> f64 {
        let until = |instant| self.chunks.partition_point(|chunk| *chunk <= instant);
        let written = until(end).saturating_sub(until(start));
        let each = self.output / (self.chunks.len().max(1) as f64);
        each * written as f64
    }
}
