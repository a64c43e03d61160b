//! Statistical analysis of runs. Pure: rows and numbers in, results out; this crate opens no files.

pub mod accuracy;
pub mod bootstrap;
pub mod compare;
pub mod cost;
pub mod density;
pub mod distribution;
pub mod ecdf;
pub mod efficiency;
pub mod energy;
pub mod gate;
pub mod interval;
pub mod latency;
pub mod line;
pub mod marginal;
pub mod metric;
pub mod occupancy;
pub mod outliers;
pub mod percentile;
pub mod quality;
pub mod regression;
pub mod sample;
pub mod saturation;
pub mod slo;
pub mod steady;
pub mod timeline;
