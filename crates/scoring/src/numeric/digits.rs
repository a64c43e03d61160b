//! The digits of one number: groups, fractions, decimals.

use super::marks::exponent;
use crate::value::Value;

/// Maximum number of groups: keeps the time linear for long lists.
const GROUPS: usize = 20;

pub(super) fn digit(text: &[char], at: usize) -> bool {
    text.get(at).is_some_and(char::is_ascii_digit)
}

/// The digits before the decimal sign, without separators, and their end.
pub(super) fn whole_part(text: &[char], start: usize) -> (String, usize) {
    let run = |from: usize| (from..text.len()).take_while(|at| digit(text, *at)).count();
    let first = run(start);
    let mut digits: String = text[start..start + first].iter().collect();
    let mut end = start + first;
    if first == 0 || first > 3 || digits.starts_with('0') {
        return (digits, end);
    }
    let Some(separator) = text
        .get(end)
        .copied()
        .filter(|c| is_separator(text, end, *c))
    else {
        return (digits, end);
    };
    let mut groups = Vec::new();
    let mut at = end;
    while text.get(at) == Some(&separator)
        && groups.len() < GROUPS
        && (2..=3).contains(&run(at + 1))
    {
        groups.push(run(at + 1));
        at += 1 + run(at + 1);
    }
    let is_list = text.get(at) == Some(&separator) && digit(text, at + 1);
    let indian =
        separator == ',' && first <= 2 && groups.iter().rev().skip(1).all(|size| *size == 2);
    let western = groups.iter().all(|size| *size == 3);
    if !is_list && groups.last() == Some(&3) && (western || indian) {
        digits.extend(text[end..at].iter().filter(|c| c.is_ascii_digit()));
        end = at;
    }
    (digits, end)
}

/// A point separates groups only if there are two of them or a decimal comma follows.
fn is_separator(text: &[char], at: usize, c: char) -> bool {
    match c {
        ',' | '\'' | '_' | '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{2007}' | '\u{2008}' => true,
        '.' => {
            (1..=3).all(|ahead| digit(text, at + ahead))
                && (text.get(at + 4) == Some(&'.') || text.get(at + 4) == Some(&','))
                && digit(text, at + 5)
        }
        _ => false,
    }
}

/// `a/b` or `a / b`, or `n a/b` with a proper fraction after one space.
pub(super) fn fraction_after(text: &[char], whole: &str, end: usize) -> Option<(Value, usize)> {
    let whole: i128 = whole.parse().ok()?;
    if let Some(below) = denominator(text, end) {
        let (below, after) = below;
        return Some((Value::ratio(whole, below)?, after));
    }
    let (above, slash) = (text.get(end) == Some(&' ')).then(|| integer(text, end + 1))??;
    let (below, after) = (text.get(slash) == Some(&'/')).then(|| integer(text, slash + 1))??;
    let part = (above < below).then(|| Value::ratio(above, below))??;
    Some((Value::whole(whole).plus(&part)?, after))
}

/// The denominator after a fraction bar, and its end; `1/2.5` has none.
fn denominator(text: &[char], end: usize) -> Option<(i128, usize)> {
    let at = match text.get(end..)? {
        ['/', ..] => end + 1,
        [' ', '/', ' ', ..] => end + 3,
        _ => return None,
    };
    let (below, after) = integer(text, at)?;
    let goes_on = matches!(text.get(after..), Some(['.', next, ..]) if next.is_ascii_digit());
    (!goes_on).then_some((below, after))
}

fn integer(text: &[char], from: usize) -> Option<(i128, usize)> {
    let rest = text.get(from..)?;
    let digits: String = rest.iter().take_while(|c| c.is_ascii_digit()).collect();
    let after = from + digits.len();
    digits.parse().ok().map(|value| (value, after))
}

/// The digits after the decimal sign, and the exponent of `1e3`.
pub(super) fn decimal(text: &[char], whole: &str, end: &mut usize) -> Value {
    let run = |from: usize| (from..text.len()).take_while(|at| digit(text, *at)).count();
    let mut fraction = String::new();
    let length = run(*end + 1);
    let after = *end + 1 + length;
    let goes_on = text.get(after) == Some(&',') && digit(text, after + 1);
    let listed = end
        .checked_sub(whole.len() + 1)
        .is_some_and(|at| text[at] == ',');
    let is_decimal = match text.get(*end) {
        Some('.') => true,
        Some(',') => !goes_on && !listed,
        _ => false,
    };
    if is_decimal && length > 0 {
        fraction = text[*end + 1..after].iter().collect();
        *end = after;
    }
    let exponent = exponent(text, *end);
    if let Some((_, after)) = exponent {
        *end = after;
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    Value::decimal(whole, &fraction, exponent.map_or(0, |(value, _)| value))
}
