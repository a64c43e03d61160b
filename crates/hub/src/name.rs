//! Checks names from the user that become URLs and paths: none may lead elsewhere.

/// Whether a name is one safe step of a URL and of a path on every system, as for owners,
/// repositories and revisions.
pub fn is_name(text: &str) -> bool {
    is_step(text)
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Whether a text is one step of a path that does not lead out of its directory.
pub fn is_step(text: &str) -> bool {
    !matches!(text, "" | "." | "..")
        && !text
            .chars()
            .any(|character| character.is_control() || matches!(character, '/' | '\\' | ':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_stays_where_it_is_and_a_name_is_plain() {
        for odd in ["", ".", "..", "a/b", "a\\b", "c:", "a\u{1b}"] {
            assert!(!is_step(odd) && !is_name(odd), "{odd:?}");
        }
        assert!(is_step("a b é") && !is_name("a b é"));
        assert!(is_name("SmolLM2-135M_x.1"));
    }
}
