//! Text functions for all scorers: folding case, removing decoration, finding "the answer is".
//!
//! Offsets refer to the given text: cues are searched in an ASCII-lowered copy of the same length.

/// Markdown decoration around words.
pub(crate) const MARKERS: [char; 3] = ['*', '_', '`'];

const PAIRS: [(&str, &str); 13] = [
    ("```", "```"),
    ("**", "**"),
    ("__", "__"),
    ("*", "*"),
    ("_", "_"),
    ("`", "`"),
    ("\"", "\""),
    ("'", "'"),
    ("“", "”"),
    ("„", "“"),
    ("‘", "’"),
    ("«", "»"),
    ("「", "」"),
];
const ARTICLES: [&str; 3] = ["the ", "an ", "a "];
const LINKS: [&str; 6] = ["is", "would be", "must be", "should be", "will be", "was"];
const NEGATIONS: [&str; 14] = [
    "not",
    "never",
    "cannot",
    "neither",
    "nor",
    "except",
    "exclude",
    "excluding",
    "eliminate",
    "eliminated",
    "without",
    "discard",
    "than",
    "unlikely",
];

/// Case folding: lower of upper of lower, so that `ß` equals `SS` and `ς` equals `Σ`.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars()
        .flat_map(char::to_lowercase)
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect()
}

/// Collapses white space to single spaces and trims the ends.
pub(crate) fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Folded and collapsed text without quotes, emphasis, final full stop, "the answer is" and leading
/// article. `keep_bang` keeps a final exclamation mark, for references that end in one.
pub(crate) fn normalise(text: &str, keep_bang: bool) -> String {
    let folded = collapse(&fold(text));
    let mut rest = folded.as_str();
    // Each layer may hide another: `**"The answer is Paris."**`.
    while let Some(inner) = peel(rest, keep_bang) {
        rest = inner;
    }
    rest.to_owned()
}

/// Removes one layer, if text is left beneath.
fn peel(text: &str, keep_bang: bool) -> Option<&str> {
    let inner = unwrapped(text)
        .or_else(|| text.strip_suffix(['.', '。']))
        .or_else(|| text.strip_suffix(['!', '！']).filter(|_| !keep_bang))
        .or_else(|| after_leading_cue(text))
        .or_else(|| {
            ARTICLES
                .iter()
                .find_map(|article| text.strip_prefix(article))
        })?
        .trim();
    (!inner.is_empty()).then_some(inner)
}

fn unwrapped(text: &str) -> Option<&str> {
    PAIRS
        .iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close))
}

fn after_leading_cue(text: &str) -> Option<&str> {
    let bare = text.trim_start_matches(['*', '_', '#', ' ']);
    let bare = ["so ", "so, ", "therefore ", "therefore, "]
        .iter()
        .find_map(|word| bare.strip_prefix(word))
        .unwrap_or(bare);
    let bare = bare.strip_prefix("the ").unwrap_or(bare);
    let bare = ["final ", "correct ", "right ", "my "]
        .iter()
        .find_map(|word| bare.strip_prefix(word))
        .unwrap_or(bare);
    let after = bare.strip_prefix("answer")?;
    Some(linked(after)?.trim_matches(|c: char| MARKERS.contains(&c) || c == ' '))
}

/// Start of the text after each "answer is" or "answer:", in order, without negated ones ("I do not
/// think the answer is …").
pub(crate) fn answer_cues(text: &str) -> Vec<usize> {
    let lower = text.to_ascii_lowercase();
    let mut cues = Vec::new();
    for (start, word) in lower.match_indices("answer") {
        let joined = lower[..start]
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric);
        if joined || is_negated(&lower[..start]) {
            continue;
        }
        if let Some(rest) = linked(&lower[start + word.len()..]) {
            cues.push(lower.len() - rest.len());
        }
    }
    cues
}

/// The text after each cue up to the next one, in reverse order: each byte is read once.
pub(crate) fn after_cues<'a>(text: &'a str, cues: &[usize]) -> impl Iterator<Item = &'a str> {
    cues.iter().rev().scan(text.len(), |end, at| {
        let part = &text[*at..*end];
        *end = *at;
        Some(part)
    })
}

/// The text after ":" or "is" directly after the word "answer", or after "answer to the question".
fn linked(after: &str) -> Option<&str> {
    let decoration = |c: char| MARKERS.contains(&c) || c == ' ';
    let near = after.trim_start_matches(decoration);
    let far = ["to ", "for ", "choice ", "option ", "here "]
        .iter()
        .any(|word| {
            after
                .strip_prefix(' ')
                .is_some_and(|rest| rest.starts_with(word))
        })
        .then(|| {
            let clause = near_start(after);
            let end = clause
                .find(['.', '!', '?', '\n', ',', ';', ':'])
                .unwrap_or(clause.len());
            clause[..end].find(" is ").map(|at| &after[at + 1..])
        })
        .flatten();
    let rest = near
        .strip_prefix([':', '：', '='])
        .or_else(|| near.strip_prefix(['-', '–', '—'])?.strip_prefix(' '))
        .or_else(|| LINKS.iter().find_map(|link| whole_word(near, link)))
        .or_else(|| whole_word(far?, "is"))?;
    Some(rest.trim_start_matches(|c: char| decoration(c) || c == ':' || c == '：'))
}

/// The text after `word`, if the text begins with it as a whole word.
pub(crate) fn whole_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    let goes_on = |c: char| c.is_alphanumeric() || c == '\'' || c == '’';
    (!rest.starts_with(goes_on)).then_some(rest)
}

/// Maximum length of a clause, in bytes: keeps the time linear for long answers without
/// punctuation.
const CLAUSE: usize = 160;

/// The end of a text, up to a clause's length.
pub(crate) fn near_end(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(CLAUSE))..]
}

/// The beginning of a text, up to a clause's length.
pub(crate) fn near_start(text: &str) -> &str {
    &text[..text.floor_char_boundary(CLAUSE)]
}

/// Whether the clause that ends here (ASCII lower case) negates the text after it.
pub(crate) fn is_negated(before: &str) -> bool {
    let before = near_end(before);
    let clause = before
        .rsplit(['.', '!', '?', ';', ',', ':', '\n'])
        .next()
        .unwrap_or(before);
    let words: Vec<_> = clause
        .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| !word.is_empty())
        .rev()
        .take_while(|word| !["but", "so", "hence", "therefore", "thus", "because"].contains(word))
        .take(8)
        .collect();
    words
        .iter()
        .any(|word| NEGATIONS.contains(word) || word.ends_with("n't") || word.ends_with("n’t"))
        || words.windows(2).any(|pair| {
            matches!(
                pair,
                ["out", "rule" | "rules" | "ruled"] | ["of", "instead"]
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoration_comes_off_layer_by_layer() {
        for text in [
            "**\"The answer is Paris.\"**",
            "Paris!",
            "**Answer:** **Paris**",
            "_the PARIS_",
        ] {
            assert_eq!(normalise(text, false), "paris", "{text}");
        }
        assert_eq!(normalise("Hello!", true), "hello!");
        assert_eq!(normalise("a", false), "a");
        assert_eq!(normalise("STRASSE", false), normalise("straße", false));
    }

    #[test]
    fn cues_are_found_where_the_answer_begins() {
        let after = |text: &str| {
            answer_cues(text)
                .into_iter()
                .map(|at| text[at..].to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(after("The answer is B. Answer: C"), ["B. Answer: C", "C"]);
        assert_eq!(after("**Answer**: C"), ["C"]);
        assert_eq!(after("Answer - C"), ["C"]);
        assert_eq!(after("answer -5"), Vec::<String>::new());
        assert_eq!(after("The answer to this question is C"), ["C"]);
        assert_eq!(after("I don't think the answer is C"), Vec::<String>::new());
        assert_eq!(after("The answer isn't C"), Vec::<String>::new());
    }
}
