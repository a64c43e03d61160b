//! The messages of `proto/energy.proto`, generated (`tests/generated.rs`).

#![allow(
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    reason = "generated"
)]

include!("pb/energy.rs");
