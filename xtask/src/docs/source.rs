//! The comments and string literals of a Rust source.

/// Every comment and literal with its place. Line comments in a row are one text, so that a phrase
/// that goes on in the next line is seen.
pub(super) fn texts(source: &str) -> Vec<(usize, &str)> {
    let mut texts: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    while let Some(next) = source[at..].find(['/', '\'', '"']) {
        let start = at + next;
        let rest = &source[start..];
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with('"') {
            literal(&source[..start], rest)
        } else {
            character(rest)
        };
        at = start + length;
        if length == 1 || rest.starts_with('\'') {
            continue;
        }
        match texts.last_mut() {
            Some((first, text))
                if rest.starts_with("//")
                    && text.starts_with("//")
                    && source[*first + text.len()..start].trim().is_empty() =>
            {
                *text = &source[*first..at];
            }
            _ => texts.push((start, &source[start..at])),
        }
    }
    texts
}

/// The length of a string literal with its quotes, that begins `rest` and follows `before`.
fn literal(before: &str, rest: &str) -> usize {
    let plain = before.trim_end_matches('#');
    if plain.ends_with('r') {
        let end = format!("\"{}", "#".repeat(before.len() - plain.len()));
        return rest[1..]
            .find(&end)
            .map_or(rest.len(), |at| 1 + at + end.len());
    }
    let mut is_escaped = false;
    let ends = |next: char| {
        let is_end = next == '"' && !is_escaped;
        is_escaped = next == '\\' && !is_escaped;
        is_end
    };
    rest[1..].find(ends).map_or(rest.len(), |at| at + 2)
}

/// The length of a literal of one character, or of the quote before a lifetime; 1 for a slash.
fn character(rest: &str) -> usize {
    let mut next = rest.chars().skip(1);
    match (rest.starts_with('\''), next.next(), next.next()) {
        (true, Some('\\'), Some(_)) => 3 + rest[3..].find('\'').map_or(0, |end| end + 1),
        (true, Some(one), Some('\'')) => 2 + one.len_utf8(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_told_from_code() {
        let source = r##"
            //! one
            //! two
            fn of<'a>(text: &'a str) -> [char; 4] { ['"', '\'', '\\', 'é'] } // three
            const A: &str = "four \" // \\"; 1 / 2; /* five */ r#"raw "six" too"#;"##;
        let found: Vec<&str> = texts(source).into_iter().map(|text| text.1).collect();
        assert_eq!(
            found,
            [
                "//! one\n            //! two",
                "// three",
                r#""four \" // \\""#,
                "/* five */",
                "\"raw \"six\" too\"#"
            ]
        );
    }
}
