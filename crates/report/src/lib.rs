//! The report of a run: what was measured, how sure, what to do next.
//!
//! [`Page::of`] gathers what a run says into plain data; [`html`], [`markdown()`], [`json`] and
//! [`csv()`] write that down. Writing opens no file and asks no clock. No statistic is invented
//! here: counts come from the store, intervals from the analysis.
//!
//! The page is one file that asks for nothing: style, script and data are in it, and its content
//! policy names exactly those two by their hashes. Whatever came from outside is data, never markup.

mod csv;
mod gather;
mod html;
mod markdown;
pub mod markup;
mod page;
mod redact;
mod words;

pub use csv::csv;
pub use gather::Options;
pub use html::{basis, html, is_redacted};
pub use markdown::markdown;
pub use page::{
    About, Calibration, Cell, Column, Figure, Headline, How, Level, LineShare, Note, Page, Queries,
    QueryLine, Section, Segment, Series, Table, Text, Timeline,
};

/// The page as JSON, for programs.
pub fn json(page: &Page) -> String {
    let mut text = serde_json::to_string_pretty(page).expect("a page serializes");
    text.push('\n');
    text
}
