//! Operations and memory traffic of a forward pass.

use ipw_core::reply::Compute;

use crate::forward::Sequence;
use crate::model::Model;

impl Model {
    /// Adds a pass of `count` tokens to `so_far`.
    ///
    /// Weights: two operations per weight and token (the output layer only for the last token),
    /// read once per pass. Attention: two operations per score and two per value, for each number
    /// of each head and each visible position; keys and values are read once per token.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub(crate) fn work(&self, sequence: &Sequence, count: usize, so_far: Compute) -> Compute {
        let (first, tokens) = (sequence.len() as f64, count as f64);
        // Token i of the batch sees all earlier positions and itself.
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
