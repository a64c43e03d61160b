//! Telemetry across machines: the monitor that serves readings over gRPC, what reads it, and the
//! exporter for Prometheus.

pub mod exporter;
pub mod pb;
pub mod remote;
pub mod server;
mod token;

pub use token::{Token, TokenError};
