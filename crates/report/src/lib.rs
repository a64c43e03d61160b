//! What runs say, as pages: the report of a run, comparisons, leaderboards and their figures.
//!
//! [`Page::of`] gathers what a run says into plain data; [`html`], [`markdown()`], [`json`] and
//! [`csv()`] write that down. Writing opens no file and asks no clock. No statistic is invented
//! here: counts come from the store, intervals from the analysis.
//!
//! The page is one file that asks for nothing: style, script and data are in it, and its content
//! policy names exactly those two by their hashes. Whatever came from outside is data, never markup.

pub mod comparison;
mod csv;
mod document;
pub mod figures;
mod gather;
mod html;
pub mod leaderboard;
mod markdown;
pub mod markup;
mod page;
mod redact;
pub mod run;
mod words;

pub use csv::csv;
pub use gather::Options;
pub use html::{basis, html, is_redacted};
pub use ipw_findings::timeline::{Segment, Series, Timeline};
pub use markdown::markdown;
pub use page::{
    About, Calibration, Cell, Column, Figure, Headline, How, LineShare, Page, Queries, QueryLine,
    Section, Table, Text,
};

/// The page as JSON, for programs.
pub fn json(page: &Page) -> String {
    let mut text = serde_json::to_string_pretty(page).expect("a page serializes");
    text.push('\n');
    text
}
