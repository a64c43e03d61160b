//! Measure how much correct work an LLM inference service does for the time and energy it takes.
//!
//! A [`Profile`] sends a dataset's prompts to a service, samples the hardware all the while, and
//! writes one row per query: latency, tokens, joules, graded answer. The run is a Hugging Face
//! dataset on disk. [`run::open`] reads it back.
//!
//! Each part of a run can be your own type: a [`Client`], a [`Dataset`], a [`Collector`], a
//! [`Scorer`], a [`Sink`] or an [`Observer`]. For short cases, [`own`] makes the first three from
//! closures and lists. The directory `examples/` has a complete program for each.
//!
//! ```no_run
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), ipw::Error> {
//!     let finished = ipw::Profile::new("smollm2")
//!         .service("openai", "http://127.0.0.1:8080")
//!         .dataset_named("starter")
//!         .run()
//!         .await?
//!         .checked()?;
//!     println!("{} rows in {}", finished.overview.rows, finished.directory.display());
//!     Ok(())
//! }
//! ```
//!
//! | task | use |
//! |---|---|
//! | measure a service | [`Profile`], [`sweep`], [`launch`], [`ping`] |
//! | measure this tool's own error | [`calibrate`] |
//! | read a run | [`run::open`], [`export`], [`Finished`] |
//! | grade answers or attribute energy again | [`score`], [`attribute`], [`derived`] |
//! | compare runs | [`parts::findings`]: `comparison::compare_runs`, `leaderboard::Board` |
//! | inspect the machine | [`examination`], [`sources`], [`glance`] |
//!
//! # Requirements
//!
//! - A tokio runtime with timers and I/O. Use a current-thread runtime: its timestamps are the most
//!   accurate.
//! - Some energy counters need privileges to read. [`examination`] lists what is missing.
//! - The feature `engine` (on by default) adds the embedded inference engine.
//!
//! Messages name settings as the plan spells them. A program with its own flags can replace these
//! names with [`parts::core::setting::name_settings`].

pub mod attribute;
pub mod calibrate;
pub mod clients;
pub mod counting;
pub mod derived;
pub mod discover;
mod error;
pub mod examination;
pub mod export;
pub mod glance;
pub mod grading;
pub mod hardware;
pub mod launch;
pub mod naming;
pub mod own;
mod pauses;
pub mod ping;
pub mod prices;
pub mod profile;
pub mod run;
pub mod score;
pub mod secrets;
mod service_metrics;
pub mod sources;
mod summary;
pub mod sweep;
mod tee;

pub use error::{Error, Kind};
pub use ipw_core::client::Client;
pub use ipw_core::dataset::Dataset;
pub use ipw_core::event::Observer;
pub use ipw_core::plan::Plan;
pub use ipw_core::row;
pub use ipw_core::sink::Sink;
pub use ipw_scoring::Scorer;
pub use ipw_store::Run;
pub use ipw_telemetry::Collector;
pub use profile::{Finished, Profile};

/// The underlying crates: the types in the signatures of this one come from here.
pub mod parts {
    pub use ipw_analysis as analysis;
    pub use ipw_clients as clients;
    pub use ipw_core as core;
    pub use ipw_datasets as datasets;
    pub use ipw_findings as findings;
    pub use ipw_hub as hub;
    pub use ipw_report as report;
    pub use ipw_runner as runner;
    pub use ipw_scoring as scoring;
    pub use ipw_store as store;
    pub use ipw_telemetry as telemetry;
    pub use ipw_tokens as tokens;
}
