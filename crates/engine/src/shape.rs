//! The shape of a model, from a file's metadata, checked before use.

use std::io::{Read, Seek};

use crate::error::LoadError;
use crate::gguf::{Gguf, GgufError, TensorInfo};
use crate::quant::BLOCK;

const MOST_LAYERS: u64 = 1024;
const MOST_WIDTH: u64 = 1 << 17;
const MOST_HEADS: u64 = 1024;
const MOST_CONTEXT: u64 = 1 << 22;

/// The supported architectures.
const KNOWN: [(&str, Pairs); 2] = [("llama", Pairs::Neighbours), ("qwen2", Pairs::Halves)];

/// Which numbers of a head are rotated together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pairs {
    /// 0 with 1, 2 with 3, …
    Neighbours,
    /// The first half with the second.
    Halves,
}

/// The dimensions of a model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    pub(crate) architecture: String,
    pub(crate) layers: usize,
    pub(crate) width: usize,
    pub(crate) feed_forward: usize,
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) head: usize,
    pub(crate) vocabulary: usize,
    pub(crate) context: usize,
    pub(crate) epsilon: f32,
    pub(crate) pairs: Pairs,
    pub(crate) rotated: usize,
    pub(crate) rotation_base: f32,
    pub(crate) rotation_scale: f32,
}

impl Shape {
    pub(crate) fn read<R: Read + Seek>(file: &Gguf<R>) -> Result<Self, LoadError> {
        let key = "general.architecture";
        let architecture = file.text(key)?.ok_or_else(|| missing(key))?.to_owned();
        let Some((_, pairs)) = KNOWN.iter().find(|(name, _)| *name == architecture) else {
            return Err(LoadError::Architecture {
                found: ipw_core::text::excerpt(&architecture, 60),
                known: KNOWN.map(|(name, _)| name).join(", "),
            });
        };
        let keys = Keys {
            file,
            architecture: &architecture,
        };
        keys.refuse_the_unusual()?;
        let width = keys.within("embedding_length", MOST_WIDTH)?;
        let heads = keys.within("attention.head_count", MOST_HEADS)?;
        let kv_heads = keys
            .optional("attention.head_count_kv", MOST_HEADS)?
            .unwrap_or(heads);
        let head = match keys.optional("attention.key_length", MOST_WIDTH)? {
            Some(head) => head,
            None if width % heads == 0 => width / heads,
            None => {
                return Err(odd(format!(
                    "{width} numbers cannot be shared by {heads} heads"
                )));
            }
        };
        if keys
            .optional("attention.value_length", MOST_WIDTH)?
            .is_some_and(|value| value != head)
        {
            return Err(odd("keys and values differ in length".to_owned()));
        }
        let rotated = keys
            .optional("rope.dimension_count", MOST_WIDTH)?
            .unwrap_or(head);
        let embedding = file
            .tensor("token_embd.weight")
            .ok_or_else(|| missing("token_embd.weight"))?;
        let shape = Self {
            layers: keys.within("block_count", MOST_LAYERS)?,
            width,
            feed_forward: keys.within("feed_forward_length", MOST_WIDTH * 8)?,
            heads,
            kv_heads,
            head,
            vocabulary: usize::try_from(embedding.rows).unwrap_or(usize::MAX),
            context: keys.context()?,
            epsilon: keys.number("attention.layer_norm_rms_epsilon", 1e-5, 0.0..=1.0)?,
            pairs: *pairs,
            rotated,
            rotation_base: keys.number("rope.freq_base", 10_000.0, 1.0..=1e12)?,
            rotation_scale: keys.rotation_scale()?,
            architecture: architecture.clone(),
        };
        shape.check()?;
        Ok(shape)
    }

    /// Checks that the dimensions fit together.
    fn check(&self) -> Result<(), LoadError> {
        if !self.heads.is_multiple_of(self.kv_heads) {
            return Err(odd(format!(
                "{} heads cannot share {} key heads evenly",
                self.heads, self.kv_heads
            )));
        }
        if self.rotated > self.head || !self.rotated.is_multiple_of(2) {
            return Err(odd(format!(
                "{} of {} numbers of a head cannot be rotated in pairs",
                self.rotated, self.head
            )));
        }
        let widths = [
            ("embedding_length", self.width),
            ("feed_forward_length", self.feed_forward),
            ("all heads together", self.heads * self.head),
        ];
        for (what, width) in widths {
            if width % BLOCK != 0 {
                return Err(odd(format!("{what} is {width}, not a multiple of {BLOCK}")));
            }
        }
        Ok(())
    }

    /// Bytes of keys and values per position.
    pub(crate) fn cache_bytes(&self) -> u64 {
        (2 * self.layers * self.kv_heads * self.head * size_of::<f32>()) as u64
    }

    /// Checks the size of a tensor.
    pub(crate) fn expect(
        tensor: &TensorInfo,
        rows: usize,
        columns: usize,
    ) -> Result<(), LoadError> {
        if (tensor.rows, tensor.columns) == (rows as u64, columns as u64) {
            return Ok(());
        }
        Err(odd(format!(
            "tensor `{}` is {} × {}, not {rows} × {columns}",
            ipw_core::text::excerpt(&tensor.name, 60),
            tensor.rows,
            tensor.columns
        )))
    }
}

/// The metadata keys of one architecture.
struct Keys<'a, R> {
    file: &'a Gguf<R>,
    architecture: &'a str,
}

impl<R: Read + Seek> Keys<'_, R> {
    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.architecture)
    }

    fn optional(&self, name: &str, most: u64) -> Result<Option<usize>, LoadError> {
        let key = self.key(name);
        let Some(found) = self.file.whole(&key)? else {
            return Ok(None);
        };
        if found == 0 || found > most {
            return Err(LoadError::File(GgufError::Unusable {
                key,
                found: found.to_string(),
                wanted: format!("between 1 and {most}"),
            }));
        }
        Ok(usize::try_from(found).ok())
    }

    fn within(&self, name: &str, most: u64) -> Result<usize, LoadError> {
        self.optional(name, most)?
            .ok_or_else(|| missing(&self.key(name)))
    }

    #[expect(clippy::cast_possible_truncation, reason = "files hold 32-bit floats")]
    fn number(
        &self,
        name: &str,
        default: f32,
        within: std::ops::RangeInclusive<f64>,
    ) -> Result<f32, LoadError> {
        let key = self.key(name);
        match self.file.number(&key)? {
            None => Ok(default),
            Some(found) if within.contains(&found) => Ok(found as f32),
            Some(found) => Err(LoadError::File(GgufError::Unusable {
                key,
                found: found.to_string(),
                wanted: format!("between {} and {}", within.start(), within.end()),
            })),
        }
    }

    fn context(&self) -> Result<usize, LoadError> {
        let context = self.within("context_length", MOST_CONTEXT)?;
        // Beyond its window such a model would need a mask that is not implemented.
        let window = self.optional("attention.sliding_window", MOST_CONTEXT)?;
        Ok(window.map_or(context, |window| window.min(context)))
    }

    fn rotation_scale(&self) -> Result<f32, LoadError> {
        let factor = self.number("rope.scaling.factor", 1.0, 1e-3..=1e6)?;
        match self.file.text(&self.key("rope.scaling.type"))? {
            None | Some("none") => Ok(1.0),
            Some("linear") => Ok(1.0 / factor),
            Some(other) => Err(LoadError::Unsupported(format!(
                "positions scaled by `{}`",
                ipw_core::text::excerpt(other, 40)
            ))),
        }
    }

    fn refuse_the_unusual(&self) -> Result<(), LoadError> {
        if self
            .file
            .whole(&self.key("expert_count"))?
            .is_some_and(|count| count > 0)
        {
            return Err(LoadError::Unsupported("a mixture of experts".to_owned()));
        }
        Ok(())
    }
}

fn missing(key: &str) -> LoadError {
    LoadError::File(GgufError::Missing(key.to_owned()))
}

fn odd(text: String) -> LoadError {
    LoadError::File(GgufError::Broken(text))
}
