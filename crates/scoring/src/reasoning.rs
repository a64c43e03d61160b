//! Removes reasoning that a model wrote into its answer, between tags.
//!
//! Services usually deliver reasoning separately; others leave `<think>…</think>` in the text. Some
//! chat templates write the opening tag themselves, so a lone closing tag also ends reasoning:
//! everything before it is removed.

use std::borrow::Cow;

const TAGS: [(&str, Tag); 4] = [
    ("<think>", Tag::Opening),
    ("<thinking>", Tag::Opening),
    ("</think>", Tag::Closing),
    ("</thinking>", Tag::Closing),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Opening,
    Closing,
}

/// The answer without reasoning; `None` if the reasoning never ended, because then there is no
/// answer.
pub fn without_reasoning(answer: &str) -> Option<Cow<'_, str>> {
    let mut tags = tags(answer).peekable();
    if tags.peek().is_none() {
        return Some(Cow::Borrowed(answer));
    }
    let mut kept = String::new();
    let mut from = 0;
    let mut is_reasoning = false;
    for (start, end, tag) in tags {
        match tag {
            Tag::Opening if is_reasoning => {}
            Tag::Opening => {
                kept.push_str(&answer[from..start]);
                // Words on both sides of the reasoning must not be joined.
                kept.push('\n');
                is_reasoning = true;
            }
            Tag::Closing => {
                if !is_reasoning {
                    kept.clear();
                }
                is_reasoning = false;
                from = end;
            }
        }
    }
    kept.push_str(answer.get(from..).unwrap_or_default());
    (!is_reasoning).then_some(Cow::Owned(kept))
}

/// The tags with their ranges, in order.
fn tags(text: &str) -> impl Iterator<Item = (usize, usize, Tag)> {
    text.match_indices('<').filter_map(|(start, _)| {
        TAGS.iter().find_map(|(name, tag)| {
            let end = start + name.len();
            text.get(start..end)?
                .eq_ignore_ascii_case(name)
                .then_some((start, end, *tag))
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
