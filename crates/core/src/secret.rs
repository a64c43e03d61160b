//! What looks like a secret in a flag (design D16).
//!
//! A secret on the command line is in the process list, the shell's history and the stored plan.
//! It is refused there, with the way in which it may be given.

/// Whether a parameter of this name and text looks like a secret.
pub fn looks_secret(name: &str, value: &str) -> bool {
    named_like_a_secret(name) || shaped_like_a_secret(value)
}

/// Names that are secrets as they stand.
const EXACT: [&str; 6] = [
    "key",
    "token",
    "auth",
    "bearer",
    "authorization",
    "credentials",
];
/// Parts of names that make them secrets: `max_tokens` is none.
const WITHIN: [&str; 8] = [
    "api_key",
    "apikey",
    "access_key",
    "secret",
    "password",
    "passwd",
    "auth_token",
    "access_token",
];

fn named_like_a_secret(name: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    EXACT.contains(&name.as_str()) || WITHIN.iter().any(|word| name.contains(word))
}

fn shaped_like_a_secret(value: &str) -> bool {
    const PREFIXES: [&str; 7] = ["sk-", "hf_", "ghp_", "gsk_", "xai-", "AIza", "Bearer "];
    let value = value.trim().trim_matches('"');
    PREFIXES.iter().any(|prefix| {
        value.strip_prefix(prefix).is_some_and(|rest| {
            rest.len() >= 12
                && rest
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_recognised_and_ordinary_parameters_are_not() {
        for (name, value) in [
            ("api_key", "x"),
            ("OPENAI-API-KEY", "x"),
            ("token", "x"),
            ("password", "x"),
            ("extra", "sk-proj-abcdefghijkl"),
            ("header", "Bearer abcdefghijklmnop"),
        ] {
            assert!(looks_secret(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("max_tokens", "64"),
            ("max_completion_tokens", "64"),
            ("tokenizer", "x"),
            ("path", "hf_data.jsonl"),
            ("stop", "sk-"),
            ("problem", "question"),
        ] {
            assert!(!looks_secret(name, value), "{name}={value}");
        }
    }
}
