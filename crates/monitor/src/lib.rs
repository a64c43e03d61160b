//! Telemetry across machines: a monitor that serves readings over gRPC, a collector that reads it,
//! and the exporter for Prometheus.

pub mod exporter;
pub mod pb;
pub mod remote;
pub mod server;
mod token;

pub use token::{Token, TokenError};
