//! The secret that clients on other machines send.

use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq as _;

/// Minimum length: shorter tokens can be guessed.
const SHORTEST: usize = 16;
/// Maximum size of a token file.
const LONGEST: u64 = 4096;

/// A token, never printed.
#[derive(Clone)]
pub struct Token(Box<str>);

/// Why a token cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file is unreadable.
    #[error("cannot read the token file `{path}`")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The first line is not a token.
    #[error("the first line of `{path}` is not a token: {reason}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it; never the line itself.
        reason: &'static str,
    },
}

impl Token {
    /// Reads the first line of a file.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let unreadable = |source| TokenError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let unusable = |reason| TokenError::Unusable {
            path: path.to_owned(),
            reason,
        };
        let length = std::fs::metadata(path).map_err(unreadable)?.len();
        if length > LONGEST {
            return Err(unusable("the file is longer than any token"));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let token = text.lines().next().unwrap_or_default().trim();
        if token.len() < SHORTEST {
            return Err(unusable("it has fewer than 16 characters"));
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(unusable(
                "a header takes only visible ASCII characters without spaces",
            ));
        }
        Ok(Self(token.into()))
    }

    /// The value of the `authorization` header.
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Whether users other than the owner may read or change the file.
    pub fn is_open_to_others(path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o077 != 0)
    }

    /// Whether this `authorization` header carries the token.
    pub fn allows(&self, header: &[u8]) -> bool {
        let Some((scheme, shown)) = header.split_at_checked("Bearer ".len()) else {
            return false;
        };
        scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(shown.ct_eq(self.0.as_bytes()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Token, TokenError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Token::read(file.path())
    }

    #[test]
    fn only_the_token_itself_is_let_in() {
        let token = read("0123456789abcdef\nsomething else\n").unwrap();
        for (header, is_allowed) in [
            ("Bearer 0123456789abcdef", true),
            ("bearer 0123456789abcdef", true),
            ("Bearer 0123456789abcdeg", false),
            ("Bearer 0123456789abcdef ", false),
            ("Bearer 0123456789abcde", false),
            ("Bearer  0123456789abcdef", false),
            ("Basic 0123456789abcdef", false),
            ("0123456789abcdef", false),
            ("Bearer ", false),
            ("", false),
        ] {
            assert_eq!(token.allows(header.as_bytes()), is_allowed, "{header}");
        }
    }

    #[test]
    fn what_is_no_token_is_refused_without_being_shown() {
        for text in ["", "\n0123456789abcdef", "tooshort", "0123456789 abcdef"] {
            let error = read(text).unwrap_err().to_string();
            let shown = text.lines().next().unwrap_or_default();
            assert!(shown.is_empty() || !error.contains(shown), "{error}");
        }
        assert!(read(&"x".repeat(5000)).is_err());
        let error = Token::read(Path::new("/no/such/file")).unwrap_err();
        assert!(error.to_string().contains("/no/such/file"), "{error}");
    }

    #[test]
    fn a_token_is_never_printed() {
        let token = read("0123456789abcdef").unwrap();
        assert_eq!(format!("{token:?}"), "Token");
    }
}
