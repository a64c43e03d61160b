//! A model in memory.

use std::io::{Read, Seek};

use crate::error::LoadError;
use crate::gguf::{Gguf, GgufError, Kind, TensorInfo};
use crate::kernels::Kernels;
use crate::matrix::{Matrix, held_bytes};
use crate::quant;
use crate::shape::Shape;

/// The weights of one layer.
pub(crate) struct Layer {
    pub(crate) attention_norm: Vec<f32>,
    pub(crate) query: Linear,
    pub(crate) key: Linear,
    pub(crate) value: Linear,
    pub(crate) output: Linear,
    pub(crate) feed_norm: Vec<f32>,
    pub(crate) gate: Linear,
    pub(crate) up: Linear,
    pub(crate) down: Linear,
}

/// A matrix with an optional bias.
pub(crate) struct Linear {
    pub(crate) weights: Matrix,
    pub(crate) bias: Option<Vec<f32>>,
}

/// All weights of a model.
pub(crate) struct Model {
    pub(crate) shape: Shape,
    pub(crate) kernels: Kernels,
    pub(crate) embedding: Matrix,
    pub(crate) layers: Vec<Layer>,
    pub(crate) norm: Vec<f32>,
    /// `None` if the embedding is also the output matrix.
    pub(crate) output: Option<Matrix>,
    /// Rotation per position of each pair of a head (`RoPE`).
    pub(crate) frequencies: Vec<f32>,
    /// Number of weights in the layers, as used by one token.
    pub(crate) layer_weights: u64,
    /// Bytes of weights that a pass reads.
    pub(crate) pass_bytes: u64,
}

impl Model {
    pub(crate) fn load<R: Read + Seek>(file: &mut Gguf<R>) -> Result<Self, LoadError> {
        let shape = Shape::read(file)?;
        check_memory(needed(file), available())?;
        let frequencies = frequencies(&shape, file)?;
        let mut load = Loader {
            file,
            shape: &shape,
        };
        let (width, all_heads) = (shape.width, shape.heads * shape.head);
        let kv = shape.kv_heads * shape.head;
        let embedding = load.matrix("token_embd.weight", shape.vocabulary, width)?;
        let mut layers = Vec::with_capacity(shape.layers);
        for index in 0..shape.layers {
            let name = |part: &str| format!("blk.{index}.{part}");
            layers.push(Layer {
                attention_norm: load.vector(&name("attn_norm.weight"), width)?,
                query: load.linear(&name("attn_q"), all_heads, width)?,
                key: load.linear(&name("attn_k"), kv, width)?,
                value: load.linear(&name("attn_v"), kv, width)?,
                output: load.linear(&name("attn_output"), width, all_heads)?,
                feed_norm: load.vector(&name("ffn_norm.weight"), width)?,
                gate: load.linear(&name("ffn_gate"), shape.feed_forward, width)?,
                up: load.linear(&name("ffn_up"), shape.feed_forward, width)?,
                down: load.linear(&name("ffn_down"), width, shape.feed_forward)?,
            });
        }
        let norm = load.vector("output_norm.weight", width)?;
        let output = match load.file.tensor("output.weight") {
            Some(_) => Some(load.matrix("output.weight", shape.vocabulary, width)?),
            None => None,
        };
        let mut model = Self {
            kernels: Kernels::detect(),
            embedding,
            layers,
            norm,
            output,
            frequencies,
            shape,
            layer_weights: 0,
            pass_bytes: 0,
        };
        let weights: usize = model
            .matrices()
            .map(|matrix| matrix.rows * matrix.columns)
            .sum();
        model.layer_weights = (weights - model.shape.vocabulary * model.shape.width) as u64;
        model.pass_bytes = model.matrices().map(|matrix| matrix.bytes() as u64).sum();
        Ok(model)
    }

    /// Memory of all matrices, in bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        let embedding = self.output.is_some().then(|| self.embedding.bytes() as u64);
        self.pass_bytes + embedding.unwrap_or(0)
    }

    /// Number of weights.
    pub(crate) fn parameters(&self) -> u64 {
        let table = (self.shape.vocabulary * self.shape.width) as u64;
        let norms = (self.shape.width * (2 * self.shape.layers + 1)) as u64;
        self.layer_weights
            + norms
            + if self.output.is_some() {
                2 * table
            } else {
                table
            }
    }

    /// All matrices that a token passes through, including the output.
    fn matrices(&self) -> impl Iterator<Item = &Matrix> {
        let layers = self.layers.iter().flat_map(|layer| {
            [
                &layer.query,
                &layer.key,
                &layer.value,
                &layer.output,
                &layer.gate,
                &layer.up,
                &layer.down,
            ]
        });
        layers
            .map(|linear| &linear.weights)
            .chain([self.output.as_ref().unwrap_or(&self.embedding)])
    }
}

struct Loader<'a, R> {
    file: &'a mut Gguf<R>,
    shape: &'a Shape,
}

impl<R: Read + Seek> Loader<'_, R> {
    fn tensor(&self, name: &str, rows: usize, columns: usize) -> Result<TensorInfo, LoadError> {
        let found = self.file.tensor(name);
        let tensor = found.ok_or_else(|| GgufError::Missing(name.to_owned()))?;
        Shape::expect(tensor, rows, columns)?;
        Ok(tensor.clone())
    }

    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Matrix, LoadError> {
        let tensor = self.tensor(name, rows, columns)?;
        let bytes = self.file.bytes(&tensor)?;
        Matrix::new(tensor.kind, rows, columns, &bytes)
            .map_err(|_| LoadError::NotFinite(tensor.name))
    }

    fn vector(&mut self, name: &str, length: usize) -> Result<Vec<f32>, LoadError> {
        let tensor = self.tensor(name, 1, length)?;
        let numbers = quant::numbers(tensor.kind, &self.file.bytes(&tensor)?);
        if numbers.iter().all(|number| number.is_finite()) {
            Ok(numbers)
        } else {
            Err(LoadError::NotFinite(tensor.name))
        }
    }

    fn linear(&mut self, name: &str, rows: usize, columns: usize) -> Result<Linear, LoadError> {
        let bias = format!("{name}.bias");
        let has_bias = self.file.tensor(&bias).is_some();
        if has_bias && self.shape.architecture == "llama" {
            return Err(LoadError::Unsupported(format!("the bias `{bias}`")));
        }
        Ok(Linear {
            weights: self.matrix(&format!("{name}.weight"), rows, columns)?,
            bias: has_bias.then(|| self.vector(&bias, rows)).transpose()?,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a head has few numbers")]
fn frequencies<R: Read + Seek>(shape: &Shape, file: &mut Gguf<R>) -> Result<Vec<f32>, LoadError> {
    let pairs = shape.rotated / 2;
    let factors = match file.tensor("rope_freqs.weight").cloned() {
        Some(tensor) => {
            Shape::expect(&tensor, 1, pairs)?;
            quant::numbers(tensor.kind, &file.bytes(&tensor)?)
        }
        None => vec![1.0; pairs],
    };
    Ok(factors
        .iter()
        .enumerate()
        .map(|(pair, factor)| {
            let turn = -2.0 * pair as f32 / shape.rotated as f32;
            shape.rotation_base.powf(turn) * shape.rotation_scale / factor
        })
        .collect())
}

/// Describes the weight formats in memory, which may differ from the file.
pub(crate) fn describe_weights<R: Read + Seek>(file: &Gguf<R>) -> String {
    let mut bytes: Vec<(Kind, u64)> = Vec::new();
    for tensor in file.tensors().filter(|tensor| tensor.rows > 1) {
        match bytes.iter_mut().find(|(kind, _)| *kind == tensor.kind) {
            Some((_, sum)) => *sum += tensor.bytes,
            None => bytes.push((tensor.kind, tensor.bytes)),
        }
    }
    bytes.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
    let words: Vec<_> = bytes
        .iter()
        .map(|(kind, _)| {
            if quant::keeps_codes(*kind) {
                kind.to_string()
            } else {
                format!("Q8_0 from {kind}")
            }
        })
        .collect();
    words.join(", ")
}

/// Memory of the weights, plus the largest tensor while it is rearranged.
fn needed<R: Read + Seek>(file: &Gguf<R>) -> u64 {
    let held: u64 = file
        .tensors()
        .map(|tensor| held_bytes(tensor.kind, tensor.rows, tensor.columns))
        .fold(0, u64::saturating_add);
    let largest = file.tensors().map(|tensor| tensor.bytes).max().unwrap_or(0);
    held.saturating_add(largest)
}

fn check_memory(needed: u64, available: Option<u64>) -> Result<(), LoadError> {
    match available {
        Some(available) if needed > available => Err(LoadError::Memory { needed, available }),
        _ => Ok(()),
    }
}

/// Memory that can still be allocated: the minimum over the machine, the control group and
/// `ulimit -v`.
fn available() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let meminfo = read("/proc/meminfo")?;
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024;
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max")
        .zip(number("/sys/fs/cgroup/memory.current"))
        .map(|(most, now)| most.saturating_sub(now));
    let own = address_space_left(&read("/proc/self/limits")?, &read("/proc/self/status")?);
    let least = [group, own].into_iter().flatten().min();
    Some(least.map_or(machine, |least| least.min(machine)))
}

/// Half of what `ulimit -v` leaves to this process: threads and their heaps reserve address space
/// that they do not use.
fn address_space_left(limits: &str, status: &str) -> Option<u64> {
    let find = |text: &str, name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let most = find(limits, "Max address space")?;
    let taken = find(status, "VmSize:")? * 1024;
    Some(most.saturating_sub(taken) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_on_address_space_counts_as_memory() {
        let status = "Name:\tipw\nVmPeak:\t 9 kB\nVmSize:\t  1024 kB\n";
        let limited = "Limit  Soft Limit  Hard Limit  Units\n\
                       Max address space         3145728              unlimited            bytes     \n";
        assert_eq!(address_space_left(limited, status), Some(1 << 20));
        let unlimited = limited.replace("3145728", "unlimited");
        assert_eq!(address_space_left(&unlimited, status), None);
    }

    #[test]
    fn a_model_larger_than_memory_is_refused_with_both_figures() {
        let error = check_memory(3 << 30, Some(1 << 30))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("3072 MiB") && error.contains("1024 MiB"),
            "{error}"
        );
        assert!(check_memory(1 << 30, Some(3 << 30)).is_ok());
        assert!(check_memory(1 << 30, None).is_ok());
    }

    #[test]
    fn memory_is_known_on_linux() {
        if cfg!(target_os = "linux") {
            assert!(available().unwrap() > 0);
        }
    }
}
