//! Generation parameters, by their names in OpenAI's API and llama.cpp.

use ipw_core::nearest::{did_you_mean, nearest};
use serde_json::{Map, Value};

use crate::sampler::Sampling;

/// Default limit of a reply in tokens: a small model may never end by itself.
pub const MAX_TOKENS: usize = 1024;
const MOST_STOPS: usize = 16;

/// How to generate a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How to sample tokens.
    pub sampling: Sampling,
    /// Maximum number of tokens.
    pub max_tokens: usize,
    /// Texts that end the reply; they are not part of it.
    pub stop: Vec<String>,
    /// Whether to continue after the model's end token.
    pub ignore_end: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sampling: Sampling::default(),
            max_tokens: MAX_TOKENS,
            stop: Vec::new(),
            ignore_end: false,
        }
    }
}

/// A parameter or value that the engine does not support.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadParameter(pub String);

/// All parameters and their meaning.
pub const PARAMETERS: &[(&str, &str)] = &[
    (
        "temperature",
        "0 (the default) takes the likeliest token; at most 5",
    ),
    ("top_k", "consider only the K likeliest tokens; 0: all"),
    (
        "top_p",
        "consider the fewest tokens with this probability together",
    ),
    (
        "min_p",
        "consider tokens with at least this share of the likeliest one's probability",
    ),
    ("seed", "the same seed draws the same tokens (default 0)"),
    (
        "max_tokens",
        "the longest reply (default 1024); `max_completion_tokens` is the same",
    ),
    ("stop", "a text, or a list of up to 16, that ends the reply"),
    (
        "ignore_eos",
        "`true` goes on after the model's own end: for measuring speed",
    ),
];

/// Accepted with these values only, which change nothing: SDKs send them by default.
const NEUTRAL: &[(&str, &[&str])] = &[
    ("n", &["1"]),
    ("frequency_penalty", &["0", "0.0"]),
    ("presence_penalty", &["0", "0.0"]),
    ("logprobs", &["false"]),
    ("top_logprobs", &["0"]),
    ("logit_bias", &["{}"]),
    ("repeat_penalty", &["1", "1.0"]),
    ("cache_prompt", &["false"]),
    ("tools", &["[]"]),
    ("tool_choice", &["\"none\""]),
    ("response_format", &[r#"{"type":"text"}"#]),
];

impl Settings {
    /// Parses parameters. The error names the one that is unknown or out of range.
    pub fn from_parameters(parameters: &Map<String, Value>) -> Result<Self, BadParameter> {
        let mut settings = Self::default();
        for (name, value) in parameters {
            // SDKs send `null` for parameters that were not set.
            if !value.is_null() {
                settings.set(name, value)?;
            }
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), BadParameter> {
        let sampling = &mut self.sampling;
        match name {
            "temperature" => sampling.temperature = number(name, value, 0.0, 5.0)?,
            "top_p" => {
                sampling.top_p = number(name, value, 0.0, 1.0)?;
            }
            "min_p" => sampling.min_p = number(name, value, 0.0, 1.0)?,
            "top_k" => sampling.top_k = Some(whole(name, value, 0)?).filter(|most| *most > 0),
            "seed" => {
                sampling.seed = seed(value).ok_or_else(|| wrong(name, value, "a whole number"))?;
            }
            "max_tokens" | "max_completion_tokens" => self.max_tokens = whole(name, value, 1)?,
            "stop" => self.stop = stop(value).ok_or_else(|| wrong(name, value, STOP))?,
            "ignore_eos" => {
                self.ignore_end = value
                    .as_bool()
                    .ok_or_else(|| wrong(name, value, "`true` or `false`"))?;
            }
            _ => neutral(name, value)?,
        }
        Ok(())
    }
}

const STOP: &str = "a text that is not empty, or a list of up to 16 of them";

fn stop(value: &Value) -> Option<Vec<String>> {
    let texts: Vec<String> = match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list
            .iter()
            .map(|text| text.as_str().map(str::to_owned))
            .collect::<Option<_>>()?,
        _ => return None,
    };
    (texts.len() <= MOST_STOPS && texts.iter().all(|text| !text.is_empty())).then_some(texts)
}

fn seed(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_i64().map(i64::cast_unsigned))
}

#[expect(clippy::cast_possible_truncation, reason = "within a small range")]
fn number(name: &str, value: &Value, least: f64, most: f64) -> Result<f32, BadParameter> {
    match value.as_f64() {
        Some(number) if (least..=most).contains(&number) => Ok(number as f32),
        _ => Err(wrong(
            name,
            value,
            &format!("a number from {least} to {most}"),
        )),
    }
}

fn whole(name: &str, value: &Value, least: u64) -> Result<usize, BadParameter> {
    // Some clients send 32.0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole and in range"
    )]
    let whole = value.as_u64().or_else(|| {
        value
            .as_f64()
            .filter(|x| x.fract() == 0.0 && (0.0..1e15).contains(x))
            .map(|x| x as u64)
    });
    match whole {
        Some(number) if number >= least => Ok(usize::try_from(number).unwrap_or(usize::MAX)),
        _ => Err(wrong(
            name,
            value,
            &format!("a whole number from {least} on"),
        )),
    }
}

fn neutral(name: &str, value: &Value) -> Result<(), BadParameter> {
    let Some((_, values)) = NEUTRAL.iter().find(|(known, _)| *known == name) else {
        let known: Vec<_> = PARAMETERS.iter().map(|(known, _)| *known).collect();
        let near = did_you_mean(nearest(name, known.iter().copied()));
        return Err(BadParameter(format!(
            "the embedded engine has no parameter `{}`{near} (known: {})",
            ipw_core::text::excerpt(name, 60),
            known.join(", ")
        )));
    };
    if values.contains(&value.to_string().as_str()) {
        return Ok(());
    }
    Err(wrong(
        name,
        value,
        &format!("left out: the embedded engine supports only {}", values[0]),
    ))
}

fn wrong(name: &str, value: &Value, wanted: &str) -> BadParameter {
    let value = ipw_core::text::excerpt(&value.to_string(), 60);
    BadParameter(format!("`{name}` is {value}; it must be {wanted}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<Settings, BadParameter> {
        let Value::Object(map) = value else {
            unreachable!()
        };
        Settings::from_parameters(&map)
    }

    #[test]
    fn what_is_given_is_taken() {
        let settings = read(json!({
            "temperature": 0.7, "top_k": 40, "top_p": 0.9, "min_p": 0.05, "seed": -1,
            "max_completion_tokens": 12.0, "stop": ["\n", "END"], "ignore_eos": true,
            "n": 1, "frequency_penalty": 0, "logit_bias": null,
        }))
        .unwrap();
        assert_eq!(settings.sampling.top_k, Some(40));
        assert_eq!(settings.sampling.seed, u64::MAX);
        assert_eq!(
            (
                settings.max_tokens,
                settings.stop.len(),
                settings.ignore_end
            ),
            (12, 2, true)
        );
        assert_eq!(read(json!({})).unwrap(), Settings::default());
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        for (wrong, says) in [
            (json!({ "max_tokens": 0 }), "`max_tokens` is 0"),
            (json!({ "max_tokens": -3 }), "whole number from 1"),
            (json!({ "temperature": "hot" }), "`temperature` is \"hot\""),
            (json!({ "top_p": 1.5 }), "from 0 to 1"),
            (json!({ "stop": "" }), "not empty"),
            (json!({ "stop": [1] }), "`stop`"),
            (json!({ "temprature": 1 }), "did you mean `temperature`?"),
            (json!({ "frequency_penalty": 0.5 }), "left out"),
            (json!({ "n": 2 }), "`n` is 2"),
        ] {
            let error = read(wrong.clone()).unwrap_err().to_string();
            assert!(error.contains(says), "{wrong}: {error}");
        }
    }
}
