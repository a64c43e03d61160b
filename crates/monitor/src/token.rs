//! The token that whoever asks from another machine has to know.

use std::fmt;
use std::fs;
use std::hint::black_box;
use std::io;
use std::path::{Path, PathBuf};

/// A shorter one is guessed too soon.
const SHORTEST: usize = 16;

/// A token in memory; it cannot be printed.
#[derive(Clone)]
pub struct Token(String);

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the token in `{path}`")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What is in the file is no token.
    #[error(
        "`{path}` has no token in it: one line of {SHORTEST} or more letters, digits or signs \
         (help: `openssl rand -hex 32 > {path}`)"
    )]
    NoToken {
        /// The file.
        path: PathBuf,
    },
}

impl Token {
    /// A token; `None` if `text` has none, or one that is soon guessed.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_one =
            text.len() >= SHORTEST && text.chars().all(|character| character.is_ascii_graphic());
        is_one.then(|| Self(text.to_owned()))
    }

    /// The token in a file.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let text = fs::read_to_string(path).map_err(|source| TokenError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::new(&text).ok_or_else(|| TokenError::NoToken {
            path: path.to_owned(),
        })
    }

    /// Whether the header `Authorization` has it (`Bearer …`). How long that takes says nothing of
    /// how much of it was right.
    pub fn allows(&self, authorization: Option<&str>) -> bool {
        let given = authorization.and_then(|header| {
            let (scheme, token) = header.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let given = given.unwrap_or_default().as_bytes();
        let differs = self.0.bytes().enumerate().fold(0, |differs, (place, own)| {
            black_box(differs | (own ^ given.get(place).copied().unwrap_or_default()))
        });
        given.len() == self.0.len() && differs == 0
    }

    /// As a header has it.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    #[test]
    fn only_the_whole_token_opens() {
        let token = Token::new(&format!("{TOKEN}\n")).unwrap();
        assert!(token.allows(Some(&token.bearer())));
        assert!(token.allows(Some(&format!("bearer  {TOKEN}"))));
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            TOKEN,
            "Bearer 0123456789abcdeF",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdef0",
            "Basic 0123456789abcdef",
        ] {
            assert!(!token.allows(Some(wrong)), "{wrong}");
        }
        assert!(!token.allows(None));
    }

    #[test]
    fn a_token_is_long_and_is_not_printed() {
        assert!(Token::new("short").is_none() && Token::new("two words of some length").is_none());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        assert!(
            Token::read(&path)
                .unwrap_err()
                .to_string()
                .contains("cannot read")
        );
        fs::write(&path, "secret\n").unwrap();
        let error = Token::read(&path).unwrap_err().to_string();
        assert!(
            !error.contains("secret") && error.contains("openssl"),
            "{error}"
        );
        fs::write(&path, TOKEN).unwrap();
        let shown = format!("{:?}", Token::read(&path).unwrap());
        assert!(!shown.contains(TOKEN), "{shown}");
    }
}
