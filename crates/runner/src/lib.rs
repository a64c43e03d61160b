//! One run, from the plan to the last row: when queries are due, how they are sent, what becomes of
//! the replies.
//!
//! The runner knows the traits [`Client`](ipw_clients::Client), [`Dataset`](ipw_datasets::Dataset),
//! [`Sink`](ipw_core::sink::Sink) and [`Clock`](ipw_core::time::Clock), never a concrete one: `cli`
//! puts the parts together and owns the stop signal.

pub mod arrivals;
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
pub mod plan;
mod prefix;
mod pulse;
pub mod recorder;
mod retry;
pub mod run;
mod schedule;
mod sending;
pub mod stop;
pub mod tolerance;
mod workload;

pub use arrivals::{Arrivals, Process, Rate};
pub use assemble::{Counter, Grader, Judge};
pub use clock::SystemClock;
pub use conversations::Recall;
pub use done::Done;
pub use interrupt::{Interrupt, Interrupter};
pub use notices::Notices;
pub use plan::Plan;
pub use prefix::as_sent;
pub use recorder::Recorder;
pub use run::{Ended, Parts, RunError, make_ready, run};
pub use stop::Stop;
pub use tolerance::{Failures, Tolerance};
