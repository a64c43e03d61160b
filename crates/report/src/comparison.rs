//! A comparison of runs: as a page of its own, and as Markdown.

mod html;
mod markdown;

pub use html::page as html;
pub use markdown::text as markdown;
