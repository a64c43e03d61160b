//! Notices for observers such as progress bars, logs and screens. Notices may be dropped; rows may
//! not.
//!
//! No event contains a prompt, a reply or a service's error text, so `events.jsonl` can be shared.

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
        /// Length of the measurement.
        seconds: f64,
    },
    /// The output is prepared and the first request is about to go out.
    RunStarted {
        /// The run directory.
        directory: String,
        /// The model's label.
        model: String,
        /// Id of the client.
        client: String,
        /// Name of the dataset.
        dataset: String,
        /// Number of queries, if known.
        queries: Option<u64>,
    },
    /// A warm-up query came back.
    WarmedUp {
        /// Number of the query, from 1.
        number: u32,
        /// Number of warm-up queries.
        of: u32,
        /// Outcome of the query.
        outcome: String,
    },
    /// A query ended.
    QueryFinished {
        /// Its place in the run's order.
        query_index: u64,
        /// Outcome of the query.
        outcome: String,
        /// From the request's first byte to the end.
        total_seconds: Option<f64>,
        /// From the request's first byte to the first token.
        time_to_first_token_seconds: Option<f64>,
        /// When the attempt began, in seconds since the reference of the part.
        start_seconds: f64,
        /// When it ended, on the same clock.
        end_seconds: f64,
        /// Tokens of the prompt.
        input_tokens: Option<u64>,
        /// Tokens generated.
        output_tokens: Option<u64>,
        /// Energy on the basis.
        joules: Option<f64>,
        /// Basis of the energy.
        basis: Option<Cow<'static, str>>,
        /// Whether the answer is right, if it was graded.
        is_correct: Option<bool>,
    },
    /// A condition that the user should know and that does not stop the run.
    Warning {
        /// The text of the warning.
        message: String,
    },
    /// A remark about the numbers.
    Note {
        /// The text of the remark.
        message: String,
    },
    /// No further queries go out.
    Stopping {
        /// Why.
        reason: String,
    },
    /// All rows are on disk.
    RunFinished {
        /// Status of the run.
        status: String,
        /// Number of rows.
        rows: u64,
        /// Notices that were dropped before an observer got them.
        notices_dropped: u64,
    },
}

/// Receives the notices of a run.
pub trait Observer: Send {
    /// Receives one notice. It must not block for long, and no result depends on it.
    fn notice(&mut self, notice: &Notice);
}
