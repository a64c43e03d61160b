//! The user's token for the hub, and where it is found.

use std::fmt;
use std::fs;
use std::path::PathBuf;

/// A token in memory; it cannot be printed.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A token; `None` if `text` is blank.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_one = !text.is_empty() && text.chars().all(|character| character.is_ascii_graphic());
        is_one.then(|| Self(text.to_owned()))
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// `HF_TOKEN`, else the token that `huggingface_hub`'s login stored, unless
    /// `HF_HUB_DISABLE_IMPLICIT_TOKEN` forbids it. `variable` reads the environment.
    pub(crate) fn find(variable: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        if let Some(text) = variable("HF_TOKEN") {
            return Self::new(&text);
        }
        if variable("HF_HUB_DISABLE_IMPLICIT_TOKEN").is_some_and(|value| is_yes(&value)) {
            return None;
        }
        Self::new(&fs::read_to_string(file(variable)?).ok()?)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

/// The file in which `huggingface_hub` stores it.
fn file(variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let path = |name| variable(name).map(PathBuf::from);
    path("HF_TOKEN_PATH")
        .or_else(|| path("HF_HOME").map(|home| home.join("token")))
        .or_else(|| path("XDG_CACHE_HOME").map(|caches| caches.join("huggingface/token")))
        .or_else(|| path("HOME").map(|home| home.join(".cache/huggingface/token")))
}

/// The values that `huggingface_hub` takes for true.
pub(crate) fn is_yes(value: &str) -> bool {
    ["1", "ON", "YES", "TRUE"].contains(&value.to_uppercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Token::find(&variable).map(|token| token.bearer())
    }

    #[test]
    fn the_environment_wins_over_what_the_hubs_tools_wrote() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("home");
        fs::create_dir_all(home.join(".cache/huggingface")).unwrap();
        fs::write(home.join(".cache/huggingface/token"), "in-home\n").unwrap();
        let other = directory.path().join("other");
        fs::write(&other, "at-path").unwrap();
        let home = ("HOME", home.to_str().unwrap());
        let other = ("HF_TOKEN_PATH", other.to_str().unwrap());
        let bearer = |text: &str| Some(format!("Bearer {text}"));
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[home]), bearer("in-home"));
        assert_eq!(found(&[home, other]), bearer("at-path"));
        assert_eq!(found(&[home, other, ("HF_TOKEN", "own")]), bearer("own"));
        let forbidden = ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "true");
        assert_eq!(found(&[home, forbidden]), None);
        assert_eq!(found(&[forbidden, ("HF_TOKEN", "own")]), bearer("own"));
        assert_eq!(found(&[("HF_HOME", "/nonexistent")]), None);
    }

    #[test]
    fn a_token_is_one_word_and_is_not_printed() {
        assert!(Token::new(" \n").is_none() && Token::new("two words").is_none());
        let token = Token::new("hf_secret\n").unwrap();
        assert_eq!(token.bearer(), "Bearer hf_secret");
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
