//! The right flag for one that other benchmark tools have.
//!
//! Clap suggests flags that are spelled alike. This adds those that mean the same and are not.

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Cli;

/// A flag that is not ours, and what to use instead: the first that the command has.
const SUGGESTIONS: [(&str, &[&str]); 16] = [
    ("--api-key", &["--api-key-env", "--judge-api-key-env"]),
    ("--base-url", &["--judge-base-url"]),
    ("--client", &["--judge-client"]),
    ("--client-base-url", &["--judge-base-url"]),
    ("--input-file", &["--dataset"]),
    ("--max-concurrency", &["--concurrency"]),
    ("--max-tokens", &["--param max_tokens=N"]),
    ("--model", &["--judge-model"]),
    ("--num-requests", &["--max-queries"]),
    ("--out", &["--output", "--output-dir"]),
    ("--output", &["--output-dir", "--output"]),
    ("--qps", &["--rate"]),
    ("--request-rate", &["--rate"]),
    ("--tasks", &["--dataset"]),
    ("--temperature", &["--param temperature=T"]),
    ("--timeout", &["--request-timeout"]),
];

/// Adds the flag that was meant, if `error` is about an unknown one.
pub(super) fn add(mut error: clap::Error, words: impl Iterator<Item = String>) -> clap::Error {
    let given = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(given)) if error.kind() == ErrorKind::UnknownArgument => given,
        _ => return error,
    };
    if let Some(meant) = meant(given, words) {
        let meant = ContextValue::String(meant.to_owned());
        error.insert(ContextKind::SuggestedArg, meant);
        // Clap's usage line has the flag that is spelled most alike.
        error.remove(ContextKind::Usage);
    }
    error
}

fn meant(given: &str, mut words: impl Iterator<Item = String>) -> Option<&'static str> {
    let root = Cli::command();
    let command = words.find_map(|word| root.find_subcommand(word))?;
    let has_flag = |text: &str| {
        let long = text.trim_start_matches('-').split(' ').next();
        command.get_arguments().any(|flag| flag.get_long() == long)
    };
    let (_, own) = SUGGESTIONS.iter().find(|(foreign, _)| *foreign == given)?;
    own.iter().copied().find(|text| has_flag(text))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn answer(words: &[&str]) -> String {
        let words = std::iter::once("ipw").chain(words.iter().copied());
        let error = Cli::try_parse_from(words.clone()).expect_err("the flag is unknown");
        add(error, words.map(str::to_owned)).to_string()
    }

    #[test]
    fn a_foreign_or_mistyped_flag_is_answered_with_ours() {
        for (words, flag) in [
            (&["profile", "--request-rate", "3"][..], "'--rate'"),
            (&["profile", "--max-tokens=3"], "'--param max_tokens=N'"),
            (&["profile", "--output", "x"], "'--output-dir'"),
            (
                &["profile", "--client-base-ulr", "x"],
                "'--client-base-url'",
            ),
            (&["profile", "--concurency", "3"], "'--concurrency'"),
            (&["score", "run", "--base-url", "x"], "'--judge-base-url'"),
            (&["compare", "a", "b", "--out", "x"], "'--output'"),
        ] {
            let answer = answer(words);
            assert!(answer.contains("a similar argument exists"), "{answer}");
            assert!(answer.contains(flag), "{words:?}: {answer}");
        }
    }

    #[test]
    fn no_suggestion_names_a_flag_that_exists_as_given() {
        let root = Cli::command();
        let profile = root.find_subcommand("profile").expect("it is a command");
        for (foreign, own) in SUGGESTIONS {
            let long = foreign.trim_start_matches('-');
            let is_own = profile.get_arguments().any(|flag| {
                flag.get_long() == Some(long)
                    || flag
                        .get_all_aliases()
                        .is_some_and(|all| all.contains(&long))
            });
            let is_for_others = own.iter().all(|text| text.starts_with("--judge"));
            assert!(!is_own || is_for_others, "{foreign}");
        }
    }
}
