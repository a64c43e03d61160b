//! Reasoning that a model wrote into its answer, between tags.
//!
//! Services usually deliver reasoning apart; those that do not leave `<think>…</think>` in the
//! text. Some chat templates write the opening tag themselves, so a closing tag alone also ends
//! reasoning: then everything before it goes.

use std::borrow::Cow;

const OPENING: [&str; 2] = ["<think>", "<thinking>"];
const CLOSING: [&str; 2] = ["</think>", "</thinking>"];

/// The answer without the reasoning inside it; `None` when the reasoning never ended, for then
/// there is no answer.
pub fn without_reasoning(answer: &str) -> Option<Cow<'_, str>> {
    if find(answer, &OPENING).is_none() && find(answer, &CLOSING).is_none() {
        return Some(Cow::Borrowed(answer));
    }
    let mut kept = String::new();
    let mut rest = answer;
    loop {
        match (find(rest, &OPENING), find(rest, &CLOSING)) {
            (None, None) => {
                kept.push_str(rest);
                return Some(Cow::Owned(kept));
            }
            (Some((open, _)), close) if close.is_none_or(|(close, _)| open < close) => {
                let (_, end) = close?;
                kept.push_str(&rest[..open]);
                // Words on both sides of the reasoning were never one word.
                kept.push('\n');
                rest = &rest[end..];
            }
            (_, Some((_, end))) => {
                kept.clear();
                rest = &rest[end..];
            }
            (Some(_), None) => return None,
        }
    }
}

/// Where the first of these tags begins and ends.
fn find(text: &str, tags: &[&str]) -> Option<(usize, usize)> {
    text.match_indices('<').find_map(|(start, _)| {
        tags.iter().find_map(|tag| {
            let end = start + tag.len();
            text.get(start..end)?
                .eq_ignore_ascii_case(tag)
                .then_some((start, end))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_the_tags_goes_and_the_rest_stays() {
        let table = [
            ("Paris", Some("Paris")),
            ("<think>Rome?</think>Paris", Some("Paris")),
            ("<THINK>Rome?</Think> Paris", Some("Paris")),
            ("Rome? no</think>Paris", Some("Paris")),
            ("<think>a<think>b</think>c</think>d", Some("d")),
            ("<think>a</think>b<thinking>c</thinking>", Some("b")),
            ("<think></think>", Some("")),
            ("<think>Rome", None),
            ("<think>a</think>b<think>c", None),
            ("a < b", Some("a < b")),
        ];
        for (answer, left) in table {
            let got = without_reasoning(answer);
            assert_eq!(got.as_deref().map(str::trim), left, "{answer}");
        }
    }
}
