//! A tiny language model with random weights as a GGUF file, in milliseconds, without a download.
//!
//! llama.cpp loads it and generates nonsense with it: it is laid out as a real `SmolLM2` file is.

mod gguf;
mod quantise;
mod words;

use std::io;
use std::path::Path;

pub use gguf::{GgufBuilder, GgufTensor, GgufValue};
pub use quantise::TensorType;

/// What the model is to be like; the default is a model of about a hundred thousand weights.
#[derive(Debug, Clone, PartialEq)]
pub struct TinyModel {
    /// `general.architecture`, and the first part of the keys of the dimensions.
    pub architecture: String,
    /// Blocks.
    pub layers: u32,
    /// The width of the model: a multiple of `heads`, and of 32 if anything is quantised.
    pub embedding: u32,
    /// The width inside the feed-forward part.
    pub feed_forward: u32,
    /// Query heads.
    pub heads: u32,
    /// Key and value heads.
    pub kv_heads: u32,
    /// The longest context that the file promises.
    pub context: u32,
    /// Tokens: three special ones, 256 bytes, words, and unused ones to fill up.
    pub vocabulary: u32,
    /// The base of the rotary position frequencies.
    pub rope_base: f32,
    /// What the norms add under the root.
    pub epsilon: f32,
    /// Another seed gives other weights.
    pub seed: u64,
    /// How `token_embd` is stored.
    pub embedding_type: TensorType,
    /// How the four matrices of the attention are stored.
    pub attention_type: TensorType,
    /// How the three matrices of the feed-forward part are stored.
    pub feed_forward_type: TensorType,
    /// How `output` is stored; `None` ties it to `token_embd` by leaving it out.
    pub output_type: Option<TensorType>,
    /// Tensors begin at multiples of it.
    pub alignment: u32,
}

impl Default for TinyModel {
    fn default() -> Self {
        Self {
            architecture: "llama".to_owned(),
            layers: 2,
            embedding: 64,
            feed_forward: 128,
            heads: 4,
            kv_heads: 2,
            context: 256,
            vocabulary: 320,
            rope_base: 10_000.0,
            epsilon: 1e-5,
            seed: 1,
            embedding_type: TensorType::F32,
            attention_type: TensorType::F32,
            feed_forward_type: TensorType::F32,
            output_type: None,
            alignment: 32,
        }
    }
}

impl TinyModel {
    /// The same with every matrix stored as `kind`; an output of its own, if there is one, too.
    #[must_use]
    pub fn stored_as(mut self, kind: TensorType) -> Self {
        self.embedding_type = kind;
        self.attention_type = kind;
        self.feed_forward_type = kind;
        self.output_type = self.output_type.map(|_| kind);
        self
    }

    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        self.builder().bytes()
    }

    /// Writes the file.
    pub fn write(&self, path: impl AsRef<Path>) -> io::Result<()> {
        std::fs::write(path, self.bytes())
    }

    /// The file in parts, for tests that break one.
    pub fn builder(&self) -> GgufBuilder {
        let mut file = GgufBuilder {
            alignment: self.alignment as usize,
            ..GgufBuilder::default()
        };
        self.describe(&mut file);
        words::describe(self.vocabulary as usize, &mut file);
        self.fill(&mut file);
        file
    }

    fn describe(&self, file: &mut GgufBuilder) {
        use GgufValue::{F32, U32};
        file.set("general.architecture", GgufValue::text(&*self.architecture));
        file.set("general.type", GgufValue::text("model"));
        file.set("general.name", GgufValue::text("Tiny random model"));
        file.set("general.file_type", U32(self.feed_forward_type.file_type()));
        file.set("general.quantization_version", U32(2));
        // Real files leave the default out.
        if self.alignment != 32 {
            file.set("general.alignment", U32(self.alignment));
        }
        for (key, value) in [
            ("block_count", U32(self.layers)),
            ("context_length", U32(self.context)),
            ("embedding_length", U32(self.embedding)),
            ("feed_forward_length", U32(self.feed_forward)),
            ("attention.head_count", U32(self.heads)),
            ("attention.head_count_kv", U32(self.kv_heads)),
            ("attention.layer_norm_rms_epsilon", F32(self.epsilon)),
            ("rope.freq_base", F32(self.rope_base)),
            ("rope.dimension_count", U32(self.head())),
            ("vocab_size", U32(self.vocabulary)),
        ] {
            file.set(format!("{}.{key}", self.architecture), value);
        }
    }

    fn head(&self) -> u32 {
        self.embedding / self.heads.max(1)
    }

    fn fill(&self, file: &mut GgufBuilder) {
        let mut random = Random::new(self.seed);
        let (wide, inner) = (self.embedding, self.feed_forward);
        let kv = self.head() * self.kv_heads;
        let mut matrix = |name: &str, from: u32, to: u32, kind: TensorType| {
            let data = kind.encode(&random.matrix(from, to));
            file.tensor(name, &[from.into(), to.into()], kind.number(), data);
        };
        matrix(
            "token_embd.weight",
            wide,
            self.vocabulary,
            self.embedding_type,
        );
        if let Some(kind) = self.output_type {
            matrix("output.weight", wide, self.vocabulary, kind);
        }
        for layer in 0..self.layers {
            for (part, from, to, kind) in [
                ("attn_q", wide, wide, self.attention_type),
                ("attn_k", wide, kv, self.attention_type),
                ("attn_v", wide, kv, self.attention_type),
                ("attn_output", wide, wide, self.attention_type),
                ("ffn_gate", wide, inner, self.feed_forward_type),
                ("ffn_up", wide, inner, self.feed_forward_type),
                ("ffn_down", inner, wide, self.feed_forward_type),
            ] {
                matrix(&format!("blk.{layer}.{part}.weight"), from, to, kind);
            }
        }
        let norms = (0..self.layers).flat_map(|layer| {
            ["attn_norm", "ffn_norm"].map(|part| format!("blk.{layer}.{part}.weight"))
        });
        for name in norms.chain(["output_norm.weight".to_owned()]) {
            let data = TensorType::F32.encode(&random.norm(wide));
            file.tensor(name, &[wide.into()], TensorType::F32.number(), data);
        }
    }
}

/// xorshift64*: the same weights on every machine, without a dependency.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        // Zero would stay zero; the multiplication spreads small seeds.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Evenly in 0..1, on a grid of 2^-16.
    fn even(&mut self) -> f32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let [.., low, high] = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes();
        f32::from(u16::from_le_bytes([low, high])) / 65536.0
    }

    /// About normal, of variance 1: three even ones have a quarter of it.
    fn normal(&mut self) -> f32 {
        2.0 * (self.even() + self.even() + self.even() - 1.5)
    }

    /// `to` rows of `from` numbers that keep the size of what they are multiplied with.
    #[expect(
        clippy::cast_precision_loss,
        reason = "dimensions are far below 2^24 here"
    )]
    fn matrix(&mut self, from: u32, to: u32) -> Vec<f32> {
        let scale = 1.0 / (from.max(1) as f32).sqrt();
        let count = from as usize * to as usize;
        (0..count).map(|_| self.normal() * scale).collect()
    }

    fn norm(&mut self, width: u32) -> Vec<f32> {
        (0..width).map(|_| 1.0 + 0.05 * self.normal()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_file_and_another_another() {
        let one = TinyModel::default();
        let other = TinyModel {
            seed: 2,
            ..one.clone()
        };
        assert_eq!(one.bytes(), one.bytes());
        assert_ne!(one.bytes(), other.bytes());
    }

    #[test]
    fn every_type_fills_the_dimensions_that_the_header_gives() {
        for kind in TensorType::ALL {
            let model = TinyModel {
                output_type: Some(kind),
                ..TinyModel::default()
            };
            let file = model.stored_as(kind).builder();
            assert_eq!(file.tensors.len(), 2 + 2 * 9 + 1);
            for tensor in file.tensors {
                let count: u64 = tensor.dimensions.iter().product();
                let per_block = match tensor.kind {
                    0 => 128,
                    1 => 64,
                    2 => 18,
                    3 => 20,
                    _ => 34,
                };
                assert_eq!(tensor.data.len() as u64, count / 32 * per_block);
            }
        }
    }

    #[test]
    fn the_weights_are_about_as_large_as_they_should_be() {
        let weights = Random::new(7).matrix(64, 64);
        let squares: f32 = weights.iter().map(|weight| weight * weight).sum();
        assert!((squares - 64.0).abs() < 4.0, "{squares}");
    }

    #[test]
    fn an_alignment_of_its_own_is_said_and_kept() {
        let model = TinyModel {
            alignment: 128,
            ..TinyModel::default()
        };
        let said = ("general.alignment".to_owned(), GgufValue::U32(128));
        assert!(model.builder().metadata.contains(&said));
        assert_eq!(model.bytes().len() % 128, 0);
    }
}
