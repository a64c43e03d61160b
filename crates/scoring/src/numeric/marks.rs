//! The context of a number's digits: exponent, scale, sign, negation.

use crate::value::Value;

/// The exponent of `1e3`, and its end.
pub(super) fn exponent(text: &[char], at: usize) -> Option<(i32, usize)> {
    matches!(text.get(at)?, 'e' | 'E').then_some(())?;
    let (value, after) = integer(text, at + 1)?;
    (!text.get(after).is_some_and(|c| c.is_alphabetic())).then_some((value, after))
}

/// A signed integer, optionally in braces.
pub(super) fn integer(text: &[char], mut at: usize) -> Option<(i32, usize)> {
    let is_braced = text.get(at).is_some_and(|c| "{(".contains(*c));
    at += usize::from(is_braced);
    let sign = text.get(at).copied().filter(|c| "+-".contains(*c));
    at += usize::from(sign.is_some());
    let digits: String = text[at.min(text.len())..]
        .iter()
        .take_while(|c| c.is_ascii_digit())
        .collect();
    let value: i32 = digits.parse().ok()?;
    at += digits.len() + usize::from(is_braced);
    Some((
        if sign == Some('-') { -value } else { value },
        at.min(text.len()),
    ))
}

/// A factor after the number: `× 10^3` or `million`.
pub(super) fn scale(text: &[char], end: usize) -> Option<(Value, usize)> {
    let skip = |mut at: usize| {
        while text.get(at) == Some(&' ') {
            at += 1;
        }
        at
    };
    let at = skip(end);
    if text.get(at).is_some_and(|c| "×x*·".contains(*c)) {
        let ten = skip(at + 1);
        let raised = match text.get(ten..).unwrap_or_default() {
            ['1', '0', '^', ..] => Some(ten + 3),
            ['1', '0', '*', '*', ..] => Some(ten + 4),
            _ => None,
        };
        if let Some(raised) = raised {
            let (exponent, after) = integer(text, raised)?;
            return Some((Value::whole(10).power(exponent)?, after));
        }
    }
    let word: String = text[at..]
        .iter()
        .take(9)
        .take_while(|c| c.is_alphabetic())
        .collect();
    let power = match word.to_lowercase().as_str() {
        "k" if at == end && word == "k" => 3,
        "hundred" => 2,
        "thousand" => 3,
        "lakh" | "lakhs" => 5,
        "million" | "mn" => 6,
        "crore" | "crores" => 7,
        "billion" | "bn" => 9,
        "trillion" => 12,
        _ => return None,
    };
    Some((Value::whole(10).power(power)?, at + word.chars().count()))
}

/// Whether a minus belongs to the number, and where the number then begins.
pub(super) fn sign(text: &[char], start: usize) -> (bool, usize) {
    let before = |at: usize| at.checked_sub(1).map(|at| text[at]);
    let mut at = start;
    if before(at).is_some_and(|c| "$€£¥₹".contains(c)) {
        at -= 1;
    }
    let word: String = text[at.saturating_sub(6)..at].iter().collect();
    if word.eq_ignore_ascii_case("minus ") {
        // `8 minus 5` subtracts.
        let touching = text[..at - 6].iter().rev().find(|c| **c != ' ');
        return (!touching.is_some_and(char::is_ascii_digit), at - 6);
    }
    let spaced = before(at) == Some(' ') && before(at - 1).is_some_and(|c| c == '-');
    let mark = if spaced { at - 1 } else { at };
    let Some(is_minus) = before(mark).filter(|c| "+-".contains(*c)).map(|c| c == '-') else {
        return (false, at);
    };
    let mut back = mark - 1;
    let touching = before(back);
    while before(back) == Some(' ') {
        back -= 1;
    }
    // `5-3` and `5 - 3` subtract; `- 3` at the beginning of a line is a list item.
    let belongs = if spaced {
        before(back).is_some_and(|c| "=:(".contains(c))
    } else {
        !touching.is_some_and(|c| c.is_alphanumeric() || ")]%".contains(c))
    };
    if belongs {
        (is_minus, mark - 1)
    } else {
        (false, at)
    }
}

/// Whether "not" precedes directly.
pub(super) fn is_denied(text: &[char], start: usize) -> bool {
    let tail: String = text[start.saturating_sub(8)..start].iter().collect();
    let word = tail.trim_end_matches([' ', '*', '_', '$']).to_lowercase();
    word.ends_with(" not") || word == "not" || word.ends_with("n't")
}
