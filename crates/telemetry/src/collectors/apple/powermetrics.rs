//! Parses the output of `powermetrics -f plist`: property lists, each followed by a NUL byte.

use std::io::{self, BufRead, Read as _};
use std::time::Duration;

use plist::{Dictionary, Value};

use super::chip::Sample;

/// The arguments, except the interval in milliseconds.
pub const ARGUMENTS: [&str; 4] = ["--samplers", "cpu_power,gpu_power,ane_power", "-f", "plist"];

/// Maximum size of a sample; those of the largest chips have some tens of kilobytes.
const LONGEST: u64 = 1 << 22;

/// Why a sample cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// The stream broke.
    #[error("cannot read the output of `powermetrics`: {0}")]
    Stream(#[from] io::Error),
    /// The program has ended.
    #[error("`powermetrics` has ended")]
    Ended,
    /// The sample is longer than the limit.
    #[error("`powermetrics` wrote something that is not a sample")]
    Endless,
    /// The sample is not a property list.
    #[error("cannot parse the output of `powermetrics`: {0}")]
    Plist(#[from] plist::Error),
    /// The length of the interval is missing.
    #[error("`powermetrics` wrote a sample without its length")]
    Timeless,
}

/// Reads the next sample of a stream.
pub fn next(stream: &mut impl BufRead) -> Result<Sample, SampleError> {
    loop {
        let mut document = Vec::new();
        let length = stream.take(LONGEST).read_until(0, &mut document)?;
        if length == 0 {
            return Err(SampleError::Ended);
        }
        let is_whole = document.pop_if(|last| *last == 0).is_some();
        if !is_whole && document.len() as u64 >= LONGEST {
            return Err(SampleError::Endless);
        }
        // A line end follows the last NUL byte.
        let text = document.trim_ascii();
        if !text.is_empty() {
            return sample(text);
        }
    }
}

/// Parses one sample.
pub fn sample(document: &[u8]) -> Result<Sample, SampleError> {
    let document = Value::from_reader_xml(document)?;
    let document = document.as_dictionary().ok_or(SampleError::Timeless)?;
    let nanos = document
        .get("elapsed_ns")
        .and_then(Value::as_unsigned_integer);
    let elapsed = nanos.filter(|nanos| *nanos > 0).map(Duration::from_nanos);
    let elapsed = elapsed.ok_or(SampleError::Timeless)?;
    let part = |name: &str| document.get(name).and_then(Value::as_dictionary);
    let processor = part("processor");
    let watts = |name: &str| processor.and_then(|processor| watts(processor, name, elapsed));
    let gpu = part("gpu");
    let of_gpu = |name: &str| gpu.and_then(|gpu| number(gpu, name));
    Ok(Sample {
        elapsed,
        cpu: watts("cpu"),
        gpu: watts("gpu"),
        ane: watts("ane"),
        dram: watts("dram"),
        gpu_use: of_gpu("idle_ratio").map(|idle| (1.0 - idle) * 100.0),
        gpu_clock: of_gpu("freq_hz").map(megahertz),
        ..Sample::default()
    })
}

/// Power of a part: `cpu_power` in milliwatts, else `cpu_energy` in millijoules over the sample.
fn watts(processor: &Dictionary, part: &str, elapsed: Duration) -> Option<f64> {
    let milliwatts = number(processor, &format!("{part}_power")).or_else(|| {
        let millijoules = number(processor, &format!("{part}_energy"))?;
        Some(millijoules / elapsed.as_secs_f64())
    });
    milliwatts.map(|milliwatts| milliwatts / 1000.0)
}

/// The GPU's `freq_hz` is in megahertz despite its name, unlike that of the CPU clusters.
fn megahertz(frequency: f64) -> f64 {
    if frequency > 1e6 {
        frequency / 1e6
    } else {
        frequency
    }
}

fn number(dictionary: &Dictionary, key: &str) -> Option<f64> {
    let value = dictionary.get(key)?;
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliwatts and millijoules of a sample are far below 2⁵³"
    )]
    let integer = || value.as_signed_integer().map(|integer| integer as f64);
    value
        .as_real()
        .or_else(integer)
        .filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests;
