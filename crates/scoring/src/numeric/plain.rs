//! Converts notations of numbers to one: ASCII digits, `-`, `.`, `,`, `a/b`, `^`.

/// First code points of Unicode's runs of ten decimal digits, without ASCII.
const ZEROS: [u32; 65] = [
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66,
    0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90,
    0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
    0x104A0, 0x10D30, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650,
    0x116C0, 0x11730, 0x118E0, 0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x16A60, 0x16AC0, 0x16B50,
    0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E950, 0x1FBF0,
];
const SUPERSCRIPTS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const FRACTIONS: [(char, &str); 19] = [
    ('¼', "1/4"),
    ('½', "1/2"),
    ('¾', "3/4"),
    ('⅐', "1/7"),
    ('⅑', "1/9"),
    ('⅒', "1/10"),
    ('⅓', "1/3"),
    ('⅔', "2/3"),
    ('⅕', "1/5"),
    ('⅖', "2/5"),
    ('⅗', "3/5"),
    ('⅘', "4/5"),
    ('⅙', "1/6"),
    ('⅚', "5/6"),
    ('⅛', "1/8"),
    ('⅜', "3/8"),
    ('⅝', "5/8"),
    ('⅞', "7/8"),
    ('↉', "0/3"),
];
const LATEX: [(&str, &str); 11] = [
    (r"\dfrac", r"\frac"),
    (r"\tfrac", r"\frac"),
    (r"\times", "×"),
    (r"\cdot", "×"),
    (r"\%", "%"),
    (r"\$", "$"),
    (r"\,", "\u{202f}"),
    (r"{,}", ","),
    (r",\!", ","),
    // A box marks the answer.
    (r"\boxed{", " answer: "),
    (r"\fbox{", " answer: "),
];

/// The text with all numbers in this notation.
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
    if c.is_ascii() {
        out.push(c);
        return;
    }
    if let Some((_, fraction)) = FRACTIONS.iter().find(|(sign, _)| *sign == c) {
        if out.ends_with(|last: char| last.is_ascii_digit()) {
            out.push(' ');
        }
        out.push_str(fraction);
    } else if !is_mark(c) {
        out.push(ascii(c));
    }
}

/// Whether this character only sets the text's direction, or joins or separates letters.
pub(crate) fn is_mark(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{61c}' | '\u{feff}' | '\u{ad}')
}

/// The ASCII equivalent of a sign or digit of another script, or the character itself.
pub(crate) fn ascii(c: char) -> char {
    match c {
        '−' | '–' | '‐' | '‑' | '‒' | '﹣' | '－' | '➖' => '-',
        '＋' | '﹢' | '➕' => '+',
        '٫' | '．' => '.',
        '٬' | '，' | '﹐' => ',',
        '％' | '٪' | '﹪' => '%',
        '＝' | '≈' | '﹦' => '=',
        '⁄' | '∕' | '／' => '/',
        '’' => '\'',
        '（' => '(',
        '）' => ')',
        '\u{3000}' => ' ',
        _ => digit(c).unwrap_or(c),
    }
}

fn digit(c: char) -> Option<char> {
    let code = u32::from(c);
    let below = ZEROS.partition_point(|zero| *zero <= code);
    let zero = ZEROS[below.checked_sub(1)?];
    char::from_digit(code - zero, 10)
}

fn superscript(c: char) -> Option<char> {
    if c == '⁻' {
        return Some('-');
    }
    let value = SUPERSCRIPTS.chars().position(|sign| sign == c)?;
    char::from_digit(u32::try_from(value).ok()?, 10)
}

/// Converts `\frac{a}{b}` and `\frac12` to ` a/b`.
fn without_frac(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(r"\frac") {
        let after = &rest[at + r"\frac".len()..];
        out.push_str(&rest[..at]);
        rest = after;
        let parts = argument(after).and_then(|(top, tail)| {
            let (bottom, tail) = argument(tail)?;
            Some((top, bottom, tail))
        });
        if let Some((top, bottom, tail)) = parts {
            if out.ends_with(|last: char| last.is_ascii_digit()) {
                out.push(' ');
            }
            out.push_str(top);
            out.push('/');
            out.push_str(bottom);
            rest = tail;
        }
    }
    out.push_str(rest);
    out
}

/// Maximum length of an argument: keeps the time linear with unclosed braces.
const ARGUMENT: usize = 64;

/// A command's argument, in braces or one digit, and the rest.
fn argument(text: &str) -> Option<(&str, &str)> {
    if let Some(inner) = text.strip_prefix('{') {
        let near = &inner[..inner.floor_char_boundary(ARGUMENT)];
        let end = near.find(['{', '}'])?;
        return inner[end..]
            .strip_prefix('}')
            .map(|rest| (&inner[..end], rest));
    }
    text.starts_with(|c: char| c.is_ascii_digit())
        .then(|| text.split_at(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_and_sign_comes_down_to_ascii() {
        assert_eq!(plain("−٤٢"), "-42");
        assert_eq!(plain("४२ ４２"), "42 42");
        assert_eq!(plain("1½"), "1 1/2");
        assert_eq!(plain("᠑𝟗 \u{200f}5\u{200e}"), "19 5");
        assert_eq!(plain(r"\frac12 \frac{1}{x}"), "1/2 1/x");
        assert_eq!(plain("10⁻³"), "10^-3");
        assert_eq!(plain(r"-\frac{3}{4}"), "-3/4");
        assert_eq!(plain(r"\boxed{7}"), " answer: 7}");
    }
}
