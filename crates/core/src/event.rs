//! Notices for observers: progress, logs, screens. They may be dropped; a row may not.
//!
//! No event carries a prompt, a reply or a service's error text: `events.jsonl` can be sent to a
//! stranger.

use std::borrow::Cow;

use serde::Serialize;

use crate::time::Timestamp;

/// Something that happened, and when.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Notice {
    /// Nanoseconds since the reference of the part.
    #[serde(rename = "nanos")]
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Idle power is being measured.
    Idling {
        /// For how long.
        seconds: f64,
    },
    /// The output is prepared and the first request is about to go out.
    RunStarted {
        /// Where the rows go.
        directory: String,
        /// The model's label.
        model: String,
        /// Id of the client.
        client: String,
        /// Name of the dataset.
        dataset: String,
        /// How many queries there will be, if that is known.
        queries: Option<u64>,
    },
    /// A warm-up query came back.
    WarmedUp {
        /// Which one, from 1.
        number: u32,
        /// Of how many.
        of: u32,
        /// How it ended.
        outcome: String,
    },
    /// A query came back.
    QueryFinished {
        /// Its place in the run's order.
        query_index: u64,
        /// How it ended.
        outcome: String,
        /// From the request's first byte to the end.
        total_seconds: Option<f64>,
        /// From the request's first byte to the first token.
        time_to_first_token_seconds: Option<f64>,
        /// When the attempt began, in seconds since the reference of the part.
        start_seconds: f64,
        /// When it was over, on the same clock.
        end_seconds: f64,
        /// Tokens of the prompt.
        input_tokens: Option<u64>,
        /// Tokens generated.
        output_tokens: Option<u64>,
        /// Energy on the basis.
        joules: Option<f64>,
        /// What the energy was made from.
        basis: Option<Cow<'static, str>>,
        /// Whether the answer is right, if it was graded.
        is_correct: Option<bool>,
    },
    /// Something that the user should know and that stops nothing.
    Warning {
        /// What it is.
        message: String,
    },
    /// Something worth knowing about the numbers.
    Note {
        /// What it is.
        message: String,
    },
    /// No further queries go out.
    Stopping {
        /// Why.
        reason: String,
    },
    /// All rows are on disk.
    RunFinished {
        /// How the run ended.
        status: String,
        /// How many rows it has.
        rows: u64,
        /// Notices that no observer got to see.
        notices_dropped: u64,
    },
}

/// Receives the notices of a run.
pub trait Observer: Send {
    /// Takes note of one notice. It must not block for long, and nothing depends on it.
    fn notice(&mut self, notice: &Notice);
}
