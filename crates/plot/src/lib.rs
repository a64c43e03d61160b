//! Figures: SVG from numbers, and PNG from SVG.
//!
//! This crate only draws. Quotable numbers such as fits, intervals, percentiles and densities come
//! from the caller. No file is opened and no system font is read. The same numbers give the same
//! bytes.
//!
//! Every figure is a struct with its data and `svg(&self, &Style)`. A value that cannot be drawn
//! (not finite, or not positive on a logarithmic axis) is left out and counted in the caption. It
//! is never drawn at zero.

mod axis;
mod bars;
mod colour;
mod compare;
mod correctness;
mod density;
mod ecdf;
mod figure;
mod forest;
mod frame;
mod legend;
mod mark;
mod number;
mod pareto;
#[cfg(feature = "png")]
mod png;
mod scale;
mod scatter;
mod scene;
mod style;
mod sweep;
mod text;
mod timeline;
mod unit;

pub use axis::Axis;
pub use bars::{Bar, Segment, StackedBars};
pub use colour::{contrast, dark_variables, light_variables, page_variables};
pub use compare::{CompareBars, Difference};
pub use correctness::{Correctness, Group};
pub use density::Density;
pub use ecdf::{Ecdf, Mark, Samples};
pub use figure::{Band, Caption, Heading, Interval, Origin, Quantity};
pub use forest::{Forest, Subject};
pub use pareto::{Pareto, Run};
#[cfg(feature = "png")]
pub use png::{PngError, png};
pub use scatter::{Curve, Scatter};
pub use style::{Mode, Style};
pub use sweep::{Panel, SweepCurves, SweepLine};
pub use timeline::{Arrangement, PowerSource, PowerTimeline, QueryOutcome, Slot, Span};
pub use unit::Unit;
