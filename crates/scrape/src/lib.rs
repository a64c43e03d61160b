//! Values and pages over HTTP: any number behind a URL as a telemetry source ([`http`]), and the
//! Prometheus page of a service under measurement ([`page`]).
//!
//! Separate from `monitor`: both modules share one HTTP client and one parser of Prometheus text,
//! and need no gRPC. Separate from `telemetry`, which stays free of ureq and rustls. The exporter
//! for Prometheus stays in `monitor`, because it serves the session.

pub mod http;
pub mod page;
