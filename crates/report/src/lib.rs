//! Renders findings: the report of a run, comparisons, leaderboards, and their figures.
//!
//! `ipw-findings` yields the content of a report as plain data, a [`Page`]; [`run::page`] adds the
//! drawings. [`html`], [`markdown()`], [`json`] and [`csv()`] render it. They open no file, read no
//! clock and compute no statistic.
//!
//! An HTML page is one file that requests nothing: style, script and data are embedded. Its content
//! security policy allows exactly that style and script, by their hashes. Text from outside is
//! data, never markup.

pub mod comparison;
mod csv;
mod document;
pub mod figures;
mod html;
pub mod leaderboard;
mod markdown;
pub mod markup;
pub mod run;

pub use csv::csv;
pub use html::{basis, html, is_redacted};
pub use ipw_findings::page::{
    About, Calibration, Cell, Column, Figure, Headline, How, LineShare, Options, Page, Queries,
    QueryLine, Section, Table, Text,
};
pub use ipw_findings::timeline::{Segment, Series, Timeline};
pub use markdown::markdown;

/// The page as JSON, for programs.
pub fn json(page: &Page) -> String {
    let mut text = serde_json::to_string_pretty(page).expect("a page serializes");
    text.push('\n');
    text
}
