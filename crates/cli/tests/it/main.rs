//! The product: the real binary against the reference service, a real server and Python.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helper fails loudly"
)]

mod attribute;
mod benchmarks;
mod calibrate;
mod common;
mod compare;
mod conversations;
mod datasets;
mod derived;
mod doubts;
mod durations;
#[cfg(target_os = "linux")]
mod elsewhere;
#[cfg(feature = "engine")]
mod embedded;
mod energy;
mod export;
mod failing;
mod faults;
mod field;
mod gpu;
mod grading;
mod help;
mod hostile;
mod http2;
mod keys;
mod kill;
#[cfg(target_os = "linux")]
mod launch;
mod leaderboard;
mod little_memory;
mod llama;
mod load;
mod look;
#[cfg(feature = "engine")]
mod models;
mod monitor;
mod night;
mod one_number;
mod original;
mod pages;
mod peers;
mod ping;
mod report;
mod restart;
mod resume;
mod runs;
mod score;
mod seed;
#[cfg(feature = "engine")]
mod serve;
mod settings;
mod stop;
mod summaries;
mod surroundings;
mod tidy;
mod tls;
mod tokenizer;
mod verdict_sets;
mod versions;
mod voice;
mod watch;
mod wire;
