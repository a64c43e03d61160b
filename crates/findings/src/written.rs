//! Numbers and texts as people read them: units, signs, lines that fit.

use ipw_analysis::compare::{Comparison, Verdict};
use ipw_analysis::interval::Estimate;
use ipw_analysis::metric::Unit;
pub use ipw_core::quantity::UNKNOWN;
use ipw_core::text::printable;

/// A change as a comparison decides it: the change, and the ends of its interval.
pub struct Change {
    /// `−18 %`
    pub value: String,
    /// `−22 to −14 %`
    pub interval: String,
}

/// The change of a comparison; `None` where it could not be made.
pub fn change(comparison: &Comparison) -> Option<Change> {
    let Estimate { value, low, high } = comparison.difference()?;
    let unit = if comparison.unit == Unit::Share {
        "pp"
    } else {
        "%"
    };
    Some(Change {
        value: format!("{} {unit}", signed(100.0 * value)),
        interval: format!("{} to {} {unit}", signed(100.0 * low), signed(100.0 * high)),
    })
}

/// Two digits or so, with a sign.
fn signed(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 9.95 => 0,
        size if size >= 0.995 => 1,
        _ => 2,
    };
    let text = format!("{:.decimals$}", value.abs());
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    match text {
        "0" => "0".to_owned(),
        text if value < 0.0 => format!("−{text}"),
        text => format!("+{text}"),
    }
}

/// What to make of a comparison, in a word or two.
pub fn verdict(comparison: &Comparison) -> &'static str {
    match (comparison.is_better(), comparison.verdict) {
        (Some(true), _) => "better",
        (Some(false), _) => "worse",
        (None, Verdict::Unchanged) => "unchanged",
        (None, _) => "cannot tell",
    }
}

/// The name of the run at this place: A, B, …, Z, AA.
pub fn letter(place: usize) -> String {
    let last = u32::try_from(place % 26).unwrap_or(0);
    let last = char::from_u32(u32::from('A') + last).unwrap_or('?');
    match place / 26 {
        0 => last.to_string(),
        more => format!("{}{last}", letter(more - 1)),
    }
}

/// The text in lines of at most `width` characters; all but the first begin with `indent`.
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used == 0 {
            out.push_str(word);
            used = length;
        } else if used + 1 + length <= width {
            out.push(' ');
            out.push_str(word);
            used += 1 + length;
        } else {
            out.push('\n');
            out.push_str(indent);
            out.push_str(word);
            used = indent.chars().count() + length;
        }
    }
    out
}

/// A text from outside in Markdown: nothing in it is markup.
pub fn markdown(text: &str) -> String {
    let mut out = String::new();
    for character in printable(text).chars() {
        if "\\`*_[]<>|~&#$".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign_unless_they_are_none() {
        for (number, wanted) in [
            (-18.04, "−18"),
            (5.83, "+5.8"),
            (0.004, "0"),
            (-0.3, "−0.3"),
            (1234.0, "+1234"),
        ] {
            assert_eq!(signed(number), wanted);
        }
    }

    #[test]
    fn runs_are_lettered_for_ever() {
        let letters: Vec<_> = [0, 1, 25, 26, 51, 52, 702].map(letter).into();
        assert_eq!(letters, ["A", "B", "Z", "AA", "AZ", "BA", "AAA"]);
    }

    #[test]
    fn lines_fit_and_nothing_is_lost() {
        let text = "one two three four five";
        assert_eq!(wrapped(text, 9, "  "), "one two\n  three\n  four\n  five");
        assert_eq!(wrapped("", 9, ""), "");
        assert_eq!(
            wrapped("incomprehensibilities", 5, ""),
            "incomprehensibilities"
        );
    }

    #[test]
    fn nothing_from_outside_is_markdown() {
        assert_eq!(markdown("a|b_*c*`d`<e>"), "a\\|b\\_\\*c\\*\\`d\\`\\<e\\>");
        assert_eq!(markdown("a\n# b"), "a \\# b");
    }
}
