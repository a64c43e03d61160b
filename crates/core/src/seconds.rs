//! Serializes a [`Duration`] as seconds; invalid values are rejected when read.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longer times are mistakes: about thirty years.
const LONGEST: f64 = 1e9;

fn duration<E: serde::de::Error>(seconds: f64) -> Result<Duration, E> {
    Some(seconds)
        .filter(|seconds| (0.0..=LONGEST).contains(seconds))
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| E::custom(format!("`{seconds}` is not a time in seconds")))
}

/// Writes a duration as seconds.
pub fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

/// Reads a duration from seconds.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    duration(f64::deserialize(deserializer)?)
}

/// Serializes an optional [`Duration`] as seconds or null.
pub mod optional {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, duration};

    /// Writes seconds, or null.
    pub fn serialize<S: Serializer>(
        time: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|time| time.as_secs_f64()).serialize(serializer)
    }

    /// Reads seconds, or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let seconds = Option::<f64>::deserialize(deserializer)?;
        seconds.map(duration).transpose()
    }
}
