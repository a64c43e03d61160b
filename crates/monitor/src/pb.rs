//! The messages of `proto/energy.proto`, as tools make them (`tests/generated.rs`).

#![allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    reason = "generated"
)]

include!("pb/energy.rs");
