//! Telemetry across machines: the monitor that serves readings over gRPC, what reads it, sources
//! behind any URL, and the exporter for Prometheus.

pub mod exporter;
pub mod http;
pub mod pb;
pub mod remote;
pub mod scrape;
pub mod server;
mod token;

pub use token::{Token, TokenError};
