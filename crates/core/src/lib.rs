//! The types of ipw: time, query, reply, record, events, and the interfaces between the crates.
//!
//! Pure: this crate opens no files, reads no clocks and never awaits. External effects enter
//! through the traits [`time::Clock`], [`sink::Sink`] and [`event::Observer`], implemented
//! elsewhere.

pub mod account;
pub mod alignment;
pub mod attribution;
pub mod cache;
pub mod chat;
pub mod claim;
pub mod client;
pub mod collector;
pub mod counter;
pub mod dataset;
pub mod duration;
pub mod energy;
pub mod event;
pub mod hardware;
pub mod nearest;
pub mod params;
pub mod plan;
pub mod price;
pub mod quantity;
pub mod query;
pub mod random;
pub mod reading;
pub mod record;
pub mod reply;
pub mod rollup;
pub mod row;
pub mod seconds;
pub mod secret;
pub mod server_metric;
pub mod setting;
pub mod shape;
pub mod sink;
pub mod size;
pub mod slug;
pub mod source;
pub mod stats;
pub mod telemetry;
pub mod text;
pub mod time;
pub mod units;
pub mod verdict;
pub mod warning;
pub mod witness;
