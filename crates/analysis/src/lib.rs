//! What runs say. Pure: numbers go in, findings come out; no file is opened here.

pub mod efficiency;
pub mod interval;
pub mod latency;
pub mod marginal;
pub mod percentile;
pub mod quality;
pub mod saturation;
pub mod slo;
pub mod steady;
