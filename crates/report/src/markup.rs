//! Escapes texts for markup and for embedded data, and hashes for the content security policy.

use ipw_core::text::printable;

/// Escapes text for the content of an element or a quoted attribute.
pub fn text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            '\n' | '\t' => shown.push(character),
            character if character.is_control() || turns(character) => shown.push('\u{fffd}'),
            character => shown.push(character),
        }
    }
    shown
}

/// Direction marks, which can make a text read differently from what it is.
const fn turns(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes a sentence of this tool, in which backticks mark code.
pub fn prose(sentence: &str) -> String {
    let shown = text(sentence);
    let pieces: Vec<&str> = shown.split('`').collect();
    // An unpaired backtick stays a backtick.
    let pairs = (pieces.len() - 1) / 2 * 2;
    let mut out = String::with_capacity(shown.len());
    for (place, piece) in pieces.iter().enumerate() {
        if place > 0 {
            out.push_str(match (place > pairs, place % 2) {
                (true, _) => "`",
                (false, 1) => "<code>",
                (false, _) => "</code>",
            });
        }
        out.push_str(piece);
    }
    out
}

/// Escapes a text from outside for Markdown.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::new();
    for character in printable(text).chars() {
        if "\\`*_[]<>|~&#$".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Escapes JSON for a script element, so that nothing in it ends the element, opens a comment or
/// breaks a line.
pub(crate) fn json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' => shown.push_str("\\u003c"),
            '>' => shown.push_str("\\u003e"),
            '&' => shown.push_str("\\u0026"),
            '\u{2028}' => shown.push_str("\\u2028"),
            '\u{2029}' => shown.push_str("\\u2029"),
            character => shown.push(character),
        }
    }
    shown
}

/// The hash by which a content security policy allows a script or a style.
pub fn policy_hash(content: &str) -> String {
    use sha2::{Digest, Sha256};
    format!("'sha256-{}'", base64(&Sha256::digest(content.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let at = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            if place > three.len() {
                text.push('=');
            } else {
                let letter = (bits >> (18 - 6 * place)) & 63;
                text.push(char::from(LETTERS[letter as usize]));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_from_outside_is_text() {
        assert_eq!(
            text("<img src=\"x\" onerror='y'>&\0\u{1b}\u{202e}"),
            "&lt;img src=&quot;x&quot; onerror=&#39;y&#39;&gt;&amp;\u{fffd}\u{fffd}\u{fffd}"
        );
        assert_eq!(prose("see `a<b` <c>"), "see <code>a&lt;b</code> &lt;c&gt;");
        assert_eq!(prose("one ` <c>"), "one ` &lt;c&gt;");
        assert_eq!(prose("`a` < `b`"), "<code>a</code> &lt; <code>b</code>");
        assert_eq!(prose("`a` and `"), "<code>a</code> and `");
        assert_eq!(prose("`"), "`");
        assert_eq!(prose("plain"), "plain");
    }

    #[test]
    fn nothing_from_outside_is_markdown() {
        assert_eq!(markdown("a|b_*c*`d`<e>"), "a\\|b\\_\\*c\\*\\`d\\`\\<e\\>");
        assert_eq!(markdown("a\n# b"), "a \\# b");
    }
    #[test]
    fn data_cannot_leave_its_element_and_comes_back_as_it_was() {
        let hostile = "</script><!--<script>&\u{2028}\u{2029}\0";
        let escaped = json(&serde_json::to_string(hostile).unwrap());
        assert!(!escaped.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\0']));
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), hostile);
    }

    /// RFC 4648, section 10, and the digest of an empty input.
    #[test]
    fn hashes_are_as_browsers_spell_them() {
        for (bytes, spelt) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), spelt);
        }
        assert_eq!(
            policy_hash(""),
            "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
        );
    }
}
