//! NVIDIA boards that are not there: the real collector, the real wrapper and a scripted library,
//! against a known power. Time is simulated where nothing depends on threads.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helper fails loudly"
)]

mod asleep;
mod bench;
mod boards;
mod joules;
mod threads;
