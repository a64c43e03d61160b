//! A page that stands alone: one file, no request to anywhere, nothing in it that runs but what is
//! written here. A policy in its head says so to the browser.

use std::fmt::Write as _;

use ipw_core::text::printable;
use sha2::{Digest as _, Sha256};

const STYLE: &str = include_str!("../assets/page.css");

/// The whole file. `body` is markup: texts from outside have gone through [`escape`].
pub(crate) fn document(title: &str, body: &str, script: Option<&str>) -> String {
    let style = format!("{}\n{STYLE}", ipw_plot::page_variables());
    let may_run = script.map_or_else(|| "'none'".to_owned(), hash);
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
         <footer><p>Made by ipw {}. Nothing on this page comes from elsewhere.</p></footer>\n",
        hash(&style),
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

/// A text from outside, as text and in attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in printable(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// A sentence, with what stands in backticks as code.
pub(crate) fn prose(text: &str) -> String {
    let text = escape(text);
    let parts: Vec<&str> = text.split('`').collect();
    // An odd backtick is only a backtick.
    let pairs = (parts.len() - 1) / 2 * 2;
    let mut out = String::with_capacity(text.len());
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            out.push_str(match (place > pairs, place % 2) {
                (true, _) => "`",
                (false, 1) => "<code>",
                (false, _) => "</code>",
            });
        }
        out.push_str(part);
    }
    out
}

/// The source of a policy that lets exactly this text run or style.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", base64(&Sha256::digest(text)))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let byte = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            if place > group.len() {
                out.push('=');
            } else {
                let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
                out.push(char::from(letter));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_everybody() {
        for (text, wanted) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), wanted);
        }
        assert_eq!(
            hash(""),
            "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
        );
    }

    #[test]
    fn backticks_come_in_pairs_or_stay() {
        assert_eq!(prose("`a` < `b`"), "<code>a</code> &lt; <code>b</code>");
        assert_eq!(prose("`a` and `"), "<code>a</code> and `");
        assert_eq!(prose("`"), "`");
        assert_eq!(prose("plain"), "plain");
    }

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
