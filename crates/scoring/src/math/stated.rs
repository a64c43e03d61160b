//! Finds the part of a text that is the answer.

use super::token::{Token, tokens};
use crate::numeric::written;
use crate::text::{after_cues, answer_cues, near_start};

/// How much of a statement is read, in bytes.
const REACH: usize = 2000;
/// Maximum length of a formula within a line.
const FORMULA: usize = 400;
/// Joints between formulas that together are one answer.
const JOINTS: [&str; 7] = [",", "and", "or", ", and", ", or", ";", "&"];

/// The stated answer, and where it was found.
pub(super) fn stated(answer: &str) -> Option<(String, &'static str)> {
    if let Some(boxed) = boxed(answer) {
        return Some((boxed.trim().to_owned(), "what is boxed"));
    }
    let cues = answer_cues(answer);
    let after_cue = after_cues(answer, &cues).find_map(after_cue);
    after_cue
        .map(|text| (text, "what follows `answer`"))
        .or_else(|| elsewhere(answer))
}

/// The content of the last closed `\boxed{}` or `\fbox{}`.
pub(super) fn boxed(text: &str) -> Option<&str> {
    let last = text
        .rfind("\\boxed")
        .into_iter()
        .chain(text.rfind("\\fbox"))
        .max()?;
    let mut open = Vec::new();
    let mut found = None;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '{' if !is_escaped => {
                let name = text[..at].trim_end();
                open.push((at, name.ends_with("\\boxed") || name.ends_with("\\fbox")));
            }
            '}' if !is_escaped => {
                if let Some((start, true)) = open.pop() {
                    found = Some(&text[start + 1..at]);
                }
            }
            _ => {}
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    // `\boxed 5` without braces.
    let bare = text[last..]
        .trim_start_matches("\\boxed")
        .trim_start_matches("\\fbox");
    let is_bare = bare.starts_with(|c: char| c == ' ' || c.is_ascii_digit())
        && bare
            .trim_start()
            .starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
    if is_bare {
        let bare = near_start(bare.trim_start());
        let end = bare.find([' ', '\n', '$', '\\']).unwrap_or(bare.len());
        return Some(bare[..end].trim_end_matches(['.', ',']));
    }
    found.filter(|found| !found.trim().is_empty())
}

/// The text after "answer is", to the end of its sentence.
fn after_cue(text: &str) -> Option<String> {
    let text = text.trim_start();
    let text = &text[..text.floor_char_boundary(REACH)];
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    // A displayed formula may begin on the next line.
    let displayed = ["\\[", "$$"]
        .iter()
        .any(|mark| line.trim().starts_with(mark));
    let formulas = formulas(if displayed { text } else { line });
    if let Some(first) = formulas.first() {
        let is_near = text[..first.start].split_whitespace().count() <= 6;
        if is_near {
            return Some(joined(if displayed { text } else { line }, &formulas, 0));
        }
    }
    let sentence = sentence(line);
    (!sentence.is_empty()).then(|| sentence.to_owned())
}

fn elsewhere(answer: &str) -> Option<(String, &'static str)> {
    let all = formulas(answer);
    let line = answer.lines().rfind(|line| !line.trim().is_empty())?;
    let line = line.trim();
    let line = &line[..line.floor_char_boundary(REACH)];
    let in_line = formulas(line);
    if !in_line.is_empty() {
        let text = joined(line, &in_line, run_start(line, &in_line));
        return Some((text, "the last formula"));
    }
    let ends_formula = ["$$", "\\]"].iter().any(|mark| line.ends_with(mark));
    let says_something = line.contains(|c: char| c.is_ascii_digit() || c == '=');
    if !all.is_empty() && (ends_formula || !says_something) {
        let text = joined(answer, &all, run_start(answer, &all));
        return Some((text, "the last formula"));
    }
    let tail = tail(line);
    let first = tokens(tail).and_then(|tokens| tokens.into_iter().next());
    let is_prose = matches!(first, Some(Token::Word(_)));
    let number = is_prose.then(|| written(line)).flatten();
    Some(number.map_or_else(
        || (tail.to_owned(), "the last line"),
        |number| (number, "the number on the last line"),
    ))
}

/// A formula: the range of its content, and its delimiters.
struct Formula {
    start: usize,
    end: usize,
    after: usize,
}

/// All formulas between `$`, `$$`, `\(` and `\[`, in order.
fn formulas(text: &str) -> Vec<Formula> {
    const PAIRS: [(&str, &str); 4] = [("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$")];
    let mut found = Vec::new();
    let mut never_closed = [false; 4];
    let mut at = 0;
    while let Some(ahead) = text[at..].find(['$', '\\']) {
        at += ahead;
        let rest = &text[at..];
        let pair = PAIRS.iter().position(|(open, _)| rest.starts_with(open));
        let Some(kind) = pair.filter(|kind| !never_closed[*kind]) else {
            at += 1 + usize::from(rest.starts_with("\\$"));
            continue;
        };
        let (open, close) = PAIRS[kind];
        let start = at + open.len();
        let end = if kind == 3 {
            inline_end(&text[start..])
        } else {
            let end = text[start..].find(close);
            never_closed[kind] = end.is_none();
            end
        };
        match end {
            Some(length) => {
                let end = start + length;
                at = end + close.len();
                if length > 0 {
                    found.push(Formula {
                        start,
                        end,
                        after: at,
                    });
                }
            }
            None => at = start,
        }
    }
    found
}

/// The end of a formula after one `$`. The closing sign has no space before it and no digit after
/// it; otherwise the sign means money.
fn inline_end(text: &str) -> Option<usize> {
    if text.starts_with(|c: char| c.is_whitespace()) {
        return None;
    }
    let near = &text[..text.floor_char_boundary(FORMULA)];
    let closes = |at: usize| {
        let (before, after) = (&near[..at], &text[at + 1..]);
        !before.ends_with(|c: char| c.is_whitespace() || c == '\\')
            && !after.starts_with(|c: char| c.is_ascii_digit())
    };
    near.match_indices('$')
        .map(|(at, _)| at)
        .find(|at| closes(*at))
}

/// The first formula of the last joined group.
fn run_start(text: &str, formulas: &[Formula]) -> usize {
    let mut first = formulas.len() - 1;
    while first > 0 && hang_together(text, &formulas[first - 1], &formulas[first]) {
        first -= 1;
    }
    first
}

fn hang_together(text: &str, left: &Formula, right: &Formula) -> bool {
    let between = &text[left.after..right.start];
    JOINTS.contains(&between.trim_matches(|c: char| c.is_whitespace() || "$\\([".contains(c)))
}

/// The joined formulas from `first` on, as a list.
fn joined(text: &str, formulas: &[Formula], first: usize) -> String {
    let mut last = first;
    while last + 1 < formulas.len() && hang_together(text, &formulas[last], &formulas[last + 1]) {
        last += 1;
    }
    let contents: Vec<&str> = formulas[first..=last]
        .iter()
        .map(|formula| text[formula.start..formula.end].trim())
        .collect();
    contents.join(", ")
}

/// The text up to the first full stop that ends a sentence.
fn sentence(line: &str) -> &str {
    let end = line
        .match_indices(['.', '。'])
        .find(|(at, mark)| {
            let after = &line[at + mark.len()..];
            after.is_empty()
                || after.starts_with(|c: char| c.is_whitespace() || "*_`\"”)".contains(c))
        })
        .map_or(line.len(), |(at, _)| at);
    line[..end].trim_matches(|c: char| c.is_whitespace() || "*_`\"".contains(c))
}

/// The end of a line of prose: the text after its last "is" or colon, or the whole line.
fn tail(line: &str) -> &str {
    let line = line.trim_matches(|c: char| c.is_whitespace() || "*_`\"#".contains(c));
    let line = line.strip_suffix(['.', '。']).unwrap_or(line);
    let after = [" is ", " are ", ": ", " equals ", " be ", " get "]
        .iter()
        .filter_map(|word| line.rfind(word).map(|at| at + word.len()))
        .max()
        .unwrap_or(0);
    line[after..].trim_matches(|c: char| c.is_whitespace() || "*_`\"".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_box_that_is_closed_counts() {
        assert_eq!(
            boxed(r"\boxed{1} \boxed{\frac{1}{2}}"),
            Some(r"\frac{1}{2}")
        );
        assert_eq!(boxed(r"\boxed{1} then \boxed{2"), Some("1"));
        assert_eq!(boxed(r"\fbox{ 3 }"), Some(" 3 "));
        assert_eq!(boxed(r"\boxed 7 and so on"), Some("7"));
        assert_eq!(boxed(r"\boxed{\{1,2\}}"), Some(r"\{1,2\}"));
        assert_eq!(boxed("no box"), None);
    }

    #[test]
    fn without_a_box_it_is_what_was_said_last() {
        let said = |text: &str| stated(text).map(|(text, _)| text);
        assert_eq!(said("The answer is $x=5$.").as_deref(), Some("x=5"));
        assert_eq!(said("Answer: 2.5 m. Done").as_deref(), Some("2.5 m"));
        assert_eq!(
            said("So $a=1$.\nHence $x=1$ or $x=2$.").as_deref(),
            Some("x=1, x=2")
        );
        assert_eq!(
            said("It costs $5 and then $6.\nThat is 11").as_deref(),
            Some("11")
        );
        assert_eq!(said("The answer is:\n\\[\n7\n\\]").as_deref(), Some("7"));
        assert_eq!(said("$$1$$\nI hope that helps!").as_deref(), Some("1"));
    }
}
