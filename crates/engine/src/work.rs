//! How much arithmetic a pass takes, and how many bytes it reads.

use ipw_core::reply::Compute;

use crate::forward::Sequence;
use crate::model::Model;

impl Model {
    /// What a pass of `count` tokens adds to `so_far`.
    ///
    /// Weights: two operations each and token (the output only for the last), read once per pass.
    /// Attention: two operations for a score and two for a value, for each number of each head and
    /// each position seen; keys and values are read once per token.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub(crate) fn work(&self, sequence: &Sequence, count: usize, so_far: Compute) -> Compute {
        let (first, tokens) = (sequence.len() as f64, count as f64);
        // Token i of the batch sees what came before, and itself.
        let seen = tokens * first + tokens * (tokens + 1.0) / 2.0;
        let shape = &self.shape;
        let output = (shape.vocabulary * shape.width) as f64;
        let numbers = (shape.layers * shape.heads * shape.head) as f64;
        let flops =
            2.0 * (self.layer_weights as f64) * tokens + 2.0 * output + 4.0 * numbers * seen;
        let bytes = self.pass_bytes as f64 + shape.cache_bytes() as f64 * seen;
        Compute {
            flops: so_far.flops + flops,
            bytes: so_far.bytes + bytes,
        }
    }
}
