//! The forward pass: tokens in, scores of the next token out.

use rayon::prelude::*;

use crate::kernels::{HeadCache, Quantised};
use crate::matrix::{GROUP, Matrix};
use crate::model::{Layer, Linear, Model};
use crate::shape::Pairs;

/// Below this many multiplications, waking a thread costs more than it saves.
const WORTH_SHARING: usize = 50_000;

/// The keys and values of the positions so far (KV cache).
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    /// Number of filled positions.
    length: usize,
    capacity: usize,
    /// Per layer and key head, in groups of eight positions, number by number.
    keys: Vec<Vec<f32>>,
    /// Per layer and key head, position by position.
    values: Vec<Vec<f32>>,
}

/// Allocates `count` numbers for each of `slots`; `None` if memory is short.
fn room(slots: usize, count: usize) -> Option<Vec<Vec<f32>>> {
    let slot = |_| {
        let mut slot = Vec::new();
        slot.try_reserve_exact(count).ok().map(|()| slot)
    };
    (0..slots).map(slot).collect()
}

impl Sequence {
    /// Clears the sequence and allocates `positions`. An error gives the bytes that are missing.
    pub(crate) fn start(&mut self, model: &Model, positions: usize) -> Result<(), u64> {
        let shape = &model.shape;
        self.length = 0;
        let capacity = positions.next_multiple_of(GROUP);
        let slots = shape.layers * shape.kv_heads;
        // A much larger cache of an earlier sequence is freed.
        if self.keys.len() == slots && (capacity..=capacity * 4).contains(&self.capacity) {
            return Ok(());
        }
        self.keys = Vec::new();
        self.values = Vec::new();
        self.capacity = 0;
        let count = capacity * shape.head;
        // Allocate everything before touching any of it.
        let rooms = room(slots, count).zip(room(slots, count));
        let Some((mut keys, mut values)) = rooms else {
            return Err((2 * slots * count * size_of::<f32>()) as u64);
        };
        for slot in keys.iter_mut().chain(&mut values) {
            slot.resize(count, 0.0);
        }
        self.keys = keys;
        self.values = values;
        self.capacity = capacity;
        Ok(())
    }

    /// Number of filled positions.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    fn store(&mut self, slot: usize, position: usize, key: &[f32], value: &[f32]) {
        let size = key.len();
        let group = &mut self.keys[slot][position / GROUP * GROUP * size..][..GROUP * size];
        for (lanes, key) in group.as_chunks_mut::<GROUP>().0.iter_mut().zip(key) {
            lanes[position % GROUP] = *key;
        }
        self.values[slot][position * size..][..size].copy_from_slice(value);
    }
}

/// Buffers for intermediate results.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    stream: Vec<f32>,
    normed: Vec<f32>,
    input: Quantised,
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
    attended: Vec<f32>,
    gate: Vec<f32>,
    up: Vec<f32>,
    branch: Vec<f32>,
    grouped: Vec<f32>,
    turns: Vec<(f32, f32)>,
    logits: Vec<f32>,
}

impl Model {
    /// Adds `tokens` to the sequence and returns the scores of the next token. The sequence must
    /// have room for them.
    pub(crate) fn forward<'s>(
        &self,
        tokens: &[u32],
        sequence: &mut Sequence,
        scratch: &'s mut Scratch,
    ) -> &'s mut [f32] {
        let count = tokens.len();
        self.embed(tokens, scratch);
        self.turns(sequence.length, count, scratch);
        for (index, layer) in self.layers.iter().enumerate() {
            self.attention(index, layer, count, sequence, scratch);
            self.feed_forward(layer, count, scratch);
        }
        sequence.length += count;
        // Only the last token's scores are needed.
        let width = self.shape.width;
        let last = &scratch.stream[(count - 1) * width..];
        scratch.normed.resize(width, 0.0);
        let normed = &mut scratch.normed[..width];
        self.kernels
            .rms_norm(last, &self.norm, self.shape.epsilon, normed);
        scratch.input.fill(self.kernels, normed, 1);
        let output = self.output.as_ref().unwrap_or(&self.embedding);
        let products = &mut [(output, &mut scratch.logits)];
        self.products(products, &scratch.input, 1, &mut scratch.grouped);
        &mut scratch.logits
    }

    fn embed(&self, tokens: &[u32], scratch: &mut Scratch) {
        let width = self.shape.width;
        scratch.stream.resize(tokens.len() * width, 0.0);
        for (token, out) in tokens.iter().zip(scratch.stream.chunks_exact_mut(width)) {
            self.embedding.row(*token as usize, out);
        }
    }

    /// Cosine and sine of the rotation of each pair, for each position.
    #[expect(clippy::cast_precision_loss, reason = "positions stay below 2^24")]
    fn turns(&self, first: usize, count: usize, scratch: &mut Scratch) {
        scratch.turns.clear();
        for position in first..first + count {
            let turns = self.frequencies.iter().map(|frequency| {
                let (sine, cosine) = (position as f32 * frequency).sin_cos();
                (cosine, sine)
            });
            scratch.turns.extend(turns);
        }
    }

    fn attention(
        &self,
        index: usize,
        layer: &Layer,
        count: usize,
        sequence: &mut Sequence,
        scratch: &mut Scratch,
    ) {
        self.norm(&layer.attention_norm, count, scratch);
        let Scratch {
            input,
            query,
            key,
            value,
            grouped,
            turns,
            ..
        } = scratch;
        let mut products = [
            (&layer.query, query),
            (&layer.key, key),
            (&layer.value, value),
        ];
        self.linear(&mut products, input, count, grouped);
        let Scratch {
            query, key, value, ..
        } = scratch;
        for (numbers, heads) in [
            (&mut *query, self.shape.heads),
            (&mut *key, self.shape.kv_heads),
        ] {
            self.rotate(numbers, heads, turns);
        }
        let size = self.shape.head;
        let kv = self.shape.kv_heads;
        for (token, (key, value)) in key
            .chunks_exact(kv * size)
            .zip(value.chunks_exact(kv * size))
            .enumerate()
        {
            for (head, (key, value)) in key
                .chunks_exact(size)
                .zip(value.chunks_exact(size))
                .enumerate()
            {
                sequence.store(index * kv + head, sequence.length + token, key, value);
            }
        }
        self.attend(index, count, sequence, scratch);
        self.fill(count, scratch, |scratch| &scratch.attended);
        self.join(&layer.output, count, scratch);
    }

    fn feed_forward(&self, layer: &Layer, count: usize, scratch: &mut Scratch) {
        self.norm(&layer.feed_norm, count, scratch);
        let Scratch {
            input,
            gate,
            up,
            grouped,
            ..
        } = scratch;
        self.linear(
            &mut [(&layer.gate, &mut *gate), (&layer.up, &mut *up)],
            input,
            count,
            grouped,
        );
        self.kernels.swiglu(gate, up);
        self.fill(count, scratch, |scratch| &scratch.gate);
        self.join(&layer.down, count, scratch);
    }

    /// Multiplies the input and adds the product to the residual stream.
    fn join(&self, weights: &Linear, count: usize, scratch: &mut Scratch) {
        let Scratch {
            input,
            branch,
            grouped,
            stream,
            ..
        } = scratch;
        self.linear(&mut [(weights, &mut *branch)], input, count, grouped);
        self.kernels.add(stream, branch);
    }

    /// Normalises the residual stream into the input of the next products.
    fn norm(&self, weights: &[f32], count: usize, scratch: &mut Scratch) {
        scratch.normed.resize(scratch.stream.len(), 0.0);
        let (stream, normed) = (&scratch.stream, &mut scratch.normed);
        self.kernels
            .rms_norm(stream, weights, self.shape.epsilon, normed);
        self.fill(count, scratch, |scratch| &scratch.normed);
    }

    fn fill(&self, count: usize, scratch: &mut Scratch, from: impl Fn(&Scratch) -> &Vec<f32>) {
        let mut input = std::mem::take(&mut scratch.input);
        input.fill(self.kernels, from(scratch), count);
        scratch.input = input;
    }

    fn rotate(&self, numbers: &mut [f32], heads: usize, turns: &[(f32, f32)]) {
        let size = self.shape.head;
        let pairs = self.frequencies.len();
        for (token, turns) in numbers
            .chunks_exact_mut(heads * size)
            .zip(turns.chunks_exact(pairs))
        {
            for head in token.chunks_exact_mut(size) {
                for (pair, (cosine, sine)) in turns.iter().enumerate() {
                    let (a, b) = match self.shape.pairs {
                        Pairs::Neighbours => (2 * pair, 2 * pair + 1),
                        Pairs::Halves => (pair, pair + pairs),
                    };
                    let (x, y) = (head[a], head[b]);
                    head[a] = x * cosine - y * sine;
                    head[b] = x * sine + y * cosine;
                }
            }
        }
    }

    fn attend(&self, index: usize, count: usize, sequence: &Sequence, scratch: &mut Scratch) {
        let shape = &self.shape;
        let size = shape.head;
        let group = shape.heads / shape.kv_heads;
        #[expect(clippy::cast_precision_loss, reason = "a head has few numbers")]
        let scale = 1.0 / (size as f32).sqrt();
        scratch.attended.resize(scratch.query.len(), 0.0);
        let one = |(at, (query, out)): (usize, (&[f32], &mut [f32])), scores: &mut Vec<f32>| {
            let (token, head) = (at / shape.heads, at % shape.heads);
            let slot = index * shape.kv_heads + head / group;
            let seen = HeadCache {
                keys: &sequence.keys[slot],
                values: &sequence.values[slot],
                count: sequence.length + token + 1,
                scale,
            };
            self.kernels.attend(query, seen, scores, out);
        };
        let work = count * shape.heads * size * 2 * (sequence.length + count);
        let queries = scratch.query.chunks_exact(size);
        let out = scratch.attended.chunks_exact_mut(size);
        if work < WORTH_SHARING || rayon::current_num_threads() == 1 {
            let mut scores = Vec::new();
            for item in queries.zip(out).enumerate() {
                one(item, &mut scores);
            }
        } else {
            scratch
                .query
                .par_chunks_exact(size)
                .zip(scratch.attended.par_chunks_exact_mut(size))
                .enumerate()
                .for_each_init(Vec::new, |scores, item| one(item, scores));
        }
    }

    /// Products with their biases.
    fn linear(
        &self,
        products: &mut [(&Linear, &mut Vec<f32>)],
        input: &Quantised,
        count: usize,
        grouped: &mut Vec<f32>,
    ) {
        let mut plain: Vec<_> = products
            .iter_mut()
            .map(|(linear, out)| (&linear.weights, &mut **out))
            .collect();
        self.products(&mut plain, input, count, grouped);
        for (linear, out) in products {
            let Some(bias) = &linear.bias else { continue };
            for out in out.chunks_exact_mut(bias.len()) {
                self.kernels.add(out, bias);
            }
        }
    }

    /// Multiplies several matrices with the same input, split among the threads.
    fn products(
        &self,
        products: &mut [(&Matrix, &mut Vec<f32>)],
        input: &Quantised,
        count: usize,
        grouped: &mut Vec<f32>,
    ) {
        let per_group = count * GROUP;
        let groups: usize = products.iter().map(|(matrix, _)| matrix.groups()).sum();
        grouped.resize(groups * per_group, 0.0);
        let threads = rayon::current_num_threads();
        // Several pieces per thread, so that one interrupted thread does not delay the rest.
        let pieces = if count == 1 { threads } else { threads * 4 };
        let piece = groups.div_ceil(pieces);
        let mut tasks = Vec::with_capacity(pieces + products.len());
        let mut rest = grouped.as_mut_slice();
        for (matrix, _) in products.iter() {
            let (mine, others) = rest.split_at_mut(matrix.groups() * per_group);
            rest = others;
            let parts = mine.chunks_mut(piece * per_group).enumerate();
            tasks.extend(parts.map(|(part, out)| (*matrix, part * piece, out)));
        }
        let kernels = self.kernels;
        tasks
            .into_par_iter()
            .with_max_len(1)
            .for_each(|(matrix, first, out)| kernels.product(matrix, first, input, out));
        let mut rest = grouped.as_slice();
        for (matrix, out) in products {
            let (mine, others) = rest.split_at(matrix.groups() * per_group);
            rest = others;
            untangle(mine, matrix.rows, count, out);
        }
    }
}

/// Transposes from eight rows of each token to all rows of each token.
fn untangle(grouped: &[f32], rows: usize, count: usize, out: &mut Vec<f32>) {
    out.resize(rows * count, 0.0);
    for (token, out) in out.chunks_exact_mut(rows).enumerate() {
        for (group, out) in out.chunks_mut(GROUP).enumerate() {
            let from = (group * count + token) * GROUP;
            out.copy_from_slice(&grouped[from..from + out.len()]);
        }
    }
}
