//! The reference service alone, for profilers and experiments:
//! `cargo run --release -p ipw-reference --example serve -- WORDS`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool for people at work on ipw"
)]

use std::sync::Arc;

use ipw_core::time::Clock;
use ipw_reference::{Script, Service};
use ipw_runner::SystemClock;

fn main() {
    let words = std::env::args()
        .nth(1)
        .map_or(16, |words| words.parse().unwrap());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let service = Service::start(clock, move |_| Script::words(words)).unwrap();
    println!("{}", service.url());
    loop {
        std::thread::park();
    }
}
