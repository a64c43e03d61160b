//! Renders a comparison of runs as an HTML page and as Markdown.

mod html;
mod markdown;

pub use html::page as html;
pub use markdown::text as markdown;
