//! One run, from the plan to the last row: scheduling queries, sending them, and making rows.
//!
//! The runner knows only the traits [`Client`](ipw_core::client::Client),
//! [`Dataset`](ipw_core::dataset::Dataset), [`Sink`](ipw_core::sink::Sink) and
//! [`Clock`](ipw_core::time::Clock). The library `ipw` chooses their implementations.

mod assemble;
pub mod clock;
mod conversations;
mod dispatch;
pub mod done;
pub mod idle;
pub mod interrupt;
pub mod notices;
mod pacer;
pub mod pauses;
mod prefix;
mod pulse;
pub mod recorder;
mod retry;
pub mod run;
mod schedule;
mod sending;
mod workload;

pub use assemble::{Grader, TokenCounter};
pub use clock::SystemClock;
pub use conversations::Recall;
pub use done::FinishedSet;
pub use interrupt::{Interrupt, Interrupter};
pub use ipw_core::plan::{self, Arrivals, Failures, Plan, Process, Rate, Stop, Tolerance};
pub use notices::Notices;
pub use prefix::as_sent;
pub use recorder::Recorder;
pub use run::{Parts, RunEnd, RunError, make_ready, run};
