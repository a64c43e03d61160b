//! Detection of secrets in flags.
//!
//! A secret on the command line appears in the process list, the shell's history and the stored
//! plan. Such a flag is rejected with help on how to pass the secret. A secret in the user's own
//! command is masked wherever that command is stored or shown.

mod known;

use std::borrow::Cow;

pub use known::{hide, hide_in, hide_in_value, is_any, remember};

/// Replacement of a secret.
pub const MASK: &str = "[secret]";

/// Whether a parameter with this name and value looks like a secret.
pub fn looks_secret(name: &str, value: &str) -> bool {
    named_like_a_secret(name) || shaped_like_a_secret(value)
}

/// Parameter names that are secrets.
const EXACT: [&str; 6] = [
    "key",
    "token",
    "auth",
    "bearer",
    "authorization",
    "credentials",
];
/// Parts of names that mark a secret; `max_tokens` is not a secret.
const WITHIN: [&str; 9] = [
    "api_key",
    "hf_token",
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

/// Suffixes of names that say where a secret is stored.
const PLACES: [&str; 4] = ["_file", "_env", "_path", "_name"];

/// The arguments of a command with secrets masked. Secrets are the values of `--api-key VALUE`,
/// `--api-key=VALUE` and `API_KEY=VALUE`, texts that look like keys, and credentials in URLs.
pub fn masked_arguments(arguments: &[String]) -> Vec<String> {
    let mut is_secret_next = false;
    let masked = arguments.iter().map(|argument| {
        if std::mem::take(&mut is_secret_next) && !argument.starts_with("--") {
            return MASK.to_owned();
        }
        let (name, value) = match argument.split_once('=') {
            // A `=` in a URL belongs to its query.
            Some((name, value)) if !name.contains("://") => (name, Some(value)),
            _ => (argument.as_str(), None),
        };
        let is_flag = name.starts_with('-');
        let is_place = PLACES
            .iter()
            .any(|ending| name.replace('-', "_").ends_with(ending));
        let is_secret = !is_place
            && (is_flag || value.is_some())
            && named_like_a_secret(name.trim_start_matches('-'));
        match value {
            Some(value) if is_secret || shaped_like_a_secret(value) => format!("{name}={MASK}"),
            None if shaped_like_a_secret(argument) => MASK.to_owned(),
            value => {
                is_secret_next = is_flag && is_secret && value.is_none();
                masked_url(argument).into_owned()
            }
        }
    });
    masked.collect()
}

/// The values that [`masked_arguments`] masks, if they are whole arguments or follow `=`.
pub fn secret_arguments(arguments: &[String]) -> Vec<&str> {
    let masked = masked_arguments(arguments);
    let pairs = arguments.iter().zip(&masked);
    let changed = pairs.filter_map(|(argument, masked)| match masked.strip_suffix(MASK) {
        Some(kept) if argument != masked => argument.strip_prefix(kept),
        _ => None,
    });
    changed.collect()
}

/// The text with secrets in URLs masked: user and password, and query parameters with a secret's
/// name. Other texts stay unchanged.
pub fn masked_url(text: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Cow::Borrowed(text);
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, behind) = rest.split_at(end);
    let (user, host) = match authority.rsplit_once('@') {
        Some((_, host)) => (format!("{MASK}@"), host),
        None => (String::new(), authority),
    };
    let (path, query) = behind.split_once('?').unwrap_or((behind, ""));
    let is_secret = |name: &str, value: &str| {
        looks_secret(name, value) || matches!(name.to_lowercase().as_str(), "sig" | "signature")
    };
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) if is_secret(name, value) => format!("{name}={MASK}"),
        _ => pair.to_owned(),
    });
    let query = pairs.collect::<Vec<_>>().join("&");
    let mark = if behind.contains('?') { "?" } else { "" };
    Cow::Owned(format!("{scheme}://{user}{host}{path}{mark}{query}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_a_command_are_masked_and_nothing_else() {
        for (command, masked) in [
            (
                "vllm serve m --api-key X --port 1",
                "vllm serve m --api-key [secret] --port 1",
            ),
            ("s --api-key=X", "s --api-key=[secret]"),
            (
                "env API_KEY=X HF_TOKEN=Y s",
                "env API_KEY=[secret] HF_TOKEN=[secret] s",
            ),
            (
                "s --api-key-file /k --max-tokens 5",
                "s --api-key-file /k --max-tokens 5",
            ),
            ("s --auth --port 80", "s --auth --port 80"),
            ("s sk-abcdefghijklmnop", "s [secret]"),
            (
                "s --url http://u:p@h/x?api_key=k&a=b",
                "s --url http://[secret]@h/x?api_key=[secret]&a=b",
            ),
            ("llama-server -m a=b.gguf", "llama-server -m a=b.gguf"),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(masked_arguments(&words).join(" "), masked);
        }
        let words = ["s", "--token", "abc", "--api-key=xyz", "--port=1"].map(str::to_owned);
        assert_eq!(secret_arguments(&words), ["abc", "xyz"]);
    }

    #[test]
    fn a_url_shows_no_password_and_no_key() {
        for (url, masked) in [
            ("http://h/a?b=c", "http://h/a?b=c"),
            ("http://me:pass@h:1/a", "http://[secret]@h:1/a"),
            (
                "https://h?token=x&y=1&API-KEY=z",
                "https://h?token=[secret]&y=1&API-KEY=[secret]",
            ),
            ("https://h/?sig=x", "https://h/?sig=[secret]"),
            ("http://a@b@h/", "http://[secret]@h/"),
            ("no url", "no url"),
        ] {
            assert_eq!(masked_url(url), masked);
        }
    }

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
