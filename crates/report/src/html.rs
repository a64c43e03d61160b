//! Renders a page as one HTML file.
//!
//! All that needs no script is in the markup: headline, notes, tables, drawings, the first queries.
//! The script makes the timeline and the list of queries interactive, from data embedded as JSON.

mod data;
mod drawing;
mod sections;

use std::fmt::Write as _;

use ipw_core::rollup::Choice;

use crate::markup::{policy_hash, text};
use ipw_findings::page::Page;

const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &str = include_str!("../assets/page.js");

/// Whether a page written by [`html()`] is redacted.
pub fn is_redacted(html: &str) -> bool {
    html.contains(sections::REDACTED)
}

/// Marks the basis in a page, so that [`basis`] can read it back.
const BASIS: &str = "<meta name=\"ipw-basis\" content=\"";

/// The basis of a page written by [`html()`].
pub fn basis(html: &str) -> Option<Choice> {
    let (_, rest) = html.split_once(BASIS)?;
    Choice::named(rest.split_once('"')?.0)
}

/// The whole file.
pub fn html(page: &Page) -> String {
    let mut out = String::with_capacity(1 << 16);
    let title = match &page.about.hardware {
        Some(hardware) => format!("{} on {hardware}: ipw report", page.about.model),
        None => format!("{}: ipw report", page.about.model),
    };
    let _ = write!(
        out,
        "<!doctype html>\n\
         <html lang=\"en\" data-theme=\"auto\">\n\
         <head>\n\
         <meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"ipw {}\">\n\
         {BASIS}{}\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n\
         <style>{STYLE}</style>\n\
         </head>\n<body>\n",
        policy_hash(STYLE),
        policy_hash(SCRIPT),
        env!("CARGO_PKG_VERSION"),
        page.basis.label(),
        text(&title)
    );
    sections::all(&mut out, page);
    let _ = write!(
        out,
        "<script type=\"application/json\" id=\"ipw-data\">{}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        data::of(page)
    );
    out
}
