//! The ways to write a number, brought down to one: ASCII digits, `-`, `.`, `,`, `a/b`, `^`.

/// First code points of runs of ten decimal digits: Arabic-Indic, its eastern form, Devanagari,
/// Bengali, Gurmukhi, Gujarati, Tamil, Telugu, Kannada, Thai, full-width.
const ZEROS: [u32; 11] = [
    0x0660, 0x06F0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0BE6, 0x0C66, 0x0CE6, 0x0E50, 0xFF10,
];
const SUPERSCRIPTS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const FRACTIONS: [(char, &str); 9] = [
    ('½', "1/2"),
    ('⅓', "1/3"),
    ('⅔', "2/3"),
    ('¼', "1/4"),
    ('¾', "3/4"),
    ('⅕', "1/5"),
    ('⅙', "1/6"),
    ('⅛', "1/8"),
    ('⅜', "3/8"),
];
const LATEX: [(&str, &str); 9] = [
    (r"\dfrac", r"\frac"),
    (r"\tfrac", r"\frac"),
    (r"\times", "×"),
    (r"\cdot", "×"),
    (r"\%", "%"),
    (r"\$", "$"),
    (r"\,", "\u{202f}"),
    (r"{,}", ","),
    // As a cue: what is boxed is the answer.
    (r"\boxed{", " answer: "),
];

/// The text with every number in the one form.
pub(super) fn plain(text: &str) -> String {
    let mut latex = text.to_owned();
    if text.contains('\\') {
        for (from, to) in LATEX {
            latex = latex.replace(from, to);
        }
        latex = without_frac(&latex);
    }
    let mut out = String::with_capacity(latex.len());
    let mut is_raised = false;
    for c in latex.chars() {
        if let Some(digit) = superscript(c) {
            if !is_raised {
                out.push('^');
            }
            out.push(digit);
            is_raised = true;
            continue;
        }
        is_raised = false;
        push(&mut out, c);
    }
    out
}

fn push(out: &mut String, c: char) {
    if let Some((_, fraction)) = FRACTIONS.iter().find(|(sign, _)| *sign == c) {
        if out.ends_with(|last: char| last.is_ascii_digit()) {
            out.push(' ');
        }
        out.push_str(fraction);
        return;
    }
    out.push(match c {
        '−' | '–' | '‐' | '‑' | '﹣' | '－' => '-',
        '＋' => '+',
        '٫' | '．' => '.',
        '٬' | '，' => ',',
        '％' | '٪' => '%',
        '＝' | '≈' => '=',
        '⁄' | '∕' | '／' => '/',
        '’' => '\'',
        _ => digit(c).unwrap_or(c),
    });
}

fn digit(c: char) -> Option<char> {
    let code = u32::from(c);
    let zero = ZEROS
        .iter()
        .find(|zero| (**zero..**zero + 10).contains(&code))?;
    char::from_digit(code - zero, 10)
}

fn superscript(c: char) -> Option<char> {
    if c == '⁻' {
        return Some('-');
    }
    let value = SUPERSCRIPTS.chars().position(|sign| sign == c)?;
    char::from_digit(u32::try_from(value).ok()?, 10)
}

/// `\frac{a}{b}` as ` a/b`.
fn without_frac(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(r"\frac{") {
        let after = &rest[at + r"\frac{".len()..];
        out.push_str(&rest[..at]);
        let parts = after.split_once("}{").and_then(|(top, tail)| {
            let (bottom, tail) = tail.split_once('}')?;
            Some((top, bottom, tail))
        });
        let Some((top, bottom, tail)) = parts else {
            rest = after;
            continue;
        };
        if out.ends_with(|last: char| last.is_ascii_digit()) {
            out.push(' ');
        }
        out.push_str(top);
        out.push('/');
        out.push_str(bottom);
        rest = tail;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_and_sign_comes_down_to_ascii() {
        assert_eq!(plain("−٤٢"), "-42");
        assert_eq!(plain("४२ ４２"), "42 42");
        assert_eq!(plain("1½"), "1 1/2");
        assert_eq!(plain("10⁻³"), "10^-3");
        assert_eq!(plain(r"-\frac{3}{4}"), "-3/4");
        assert_eq!(plain(r"\boxed{7}"), " answer: 7}");
    }
}
