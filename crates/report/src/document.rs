//! A self-contained HTML document: one file, no network requests, no script except the one given.
//! Its content security policy enforces this in the browser.

use std::fmt::Write as _;

use ipw_analysis::metric::Metric;
use ipw_core::text::printable;

use crate::markup;

const STYLE: &str = include_str!("../assets/document.css");

/// The whole file. `body` is markup, in which texts from outside must have passed through
/// [`escape`].
pub(crate) fn document(title: &str, body: &str, script: Option<&str>) -> String {
    let style = format!("{}\n{STYLE}", ipw_plot::page_variables());
    let may_run = script.map_or_else(|| "'none'".to_owned(), markup::policy_hash);
    let mut out = String::with_capacity(body.len() + style.len() + 2048);
    let _ = write!(
        out,
        "<!doctype html>\n\
         <html lang=\"en\">\n\
         <head>\n\
         <meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; script-src {may_run}; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"ipw {}\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n\
         <style>{style}</style>\n\
         </head>\n\
         <body>\n\
         <main>\n{body}</main>\n\
         <footer><p>Made by ipw {}. This page loads nothing from the network.</p></footer>\n",
        markup::policy_hash(&style),
        env!("CARGO_PKG_VERSION"),
        escape(title),
        env!("CARGO_PKG_VERSION"),
    );
    if let Some(script) = script {
        let _ = writeln!(out, "<script>{script}</script>");
    }
    out.push_str("</body>\n</html>\n");
    out
}

/// A section with the definitions of the metrics on the page.
pub(crate) fn definitions(out: &mut String, metrics: &[Metric]) {
    out.push_str("<section>\n<h2>What the metrics mean</h2>\n<dl class=\"definitions\">\n");
    for metric in metrics {
        let definition = metric.definition();
        let _ = writeln!(
            out,
            "<dt>{} <code>{}</code></dt><dd>{}</dd>",
            escape(definition.label),
            definition.id,
            prose(definition.formula)
        );
    }
    out.push_str("</dl>\n</section>\n");
}

/// Escapes a text from outside, for text and attributes.
pub(crate) fn escape(text: &str) -> String {
    markup::text(&printable(text))
}

/// Escapes a sentence, with text in backticks as code.
pub(crate) fn prose(text: &str) -> String {
    markup::prose(&printable(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stays_a_text() {
        assert_eq!(
            escape("</title><script>alert('1')</script>\u{202e}\"&"),
            "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;"
        );
        let page = document("<b>", "<p>x</p>", None);
        assert!(page.contains("<title>&lt;b&gt;</title>"));
        assert!(page.contains("script-src 'none'") && !page.contains("<script"));
    }
}
