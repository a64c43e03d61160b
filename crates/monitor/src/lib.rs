//! Telemetry across machines: the monitor that serves readings over gRPC, and what reads it.

pub mod pb;
pub mod remote;
