//! API keys: their sources, and the hosts that may receive them.

use std::fmt;
use std::path::PathBuf;

use ipw_core::client::KeySource;
use ipw_core::secret;
use ipw_core::setting::Setting;

use crate::http::BaseUrl;

/// Hosts that get a key by default, with the environment variable that holds it.
const USUAL: [(&str, &str); 2] = [
    ("api.openai.com", "OPENAI_API_KEY"),
    ("api.anthropic.com", "ANTHROPIC_API_KEY"),
];

/// Whether `source` is the variable that the service's own documentation names, and `url` is that
/// service.
pub fn is_usual(source: &KeySource, url: &str) -> bool {
    let (KeySource::Env(name), Ok(url)) = (source, BaseUrl::parse(url)) else {
        return *source == KeySource::Default;
    };
    url.is_encrypted() && USUAL.contains(&(url.host(), name))
}

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The environment variable is unset or empty.
    #[error("the environment variable `{0}` holds no key\nhelp: `export {0}=…` before the run")]
    Unset(String),
    /// The key file cannot be read.
    #[error("cannot read the key file `{}`", path.display())]
    File {
        /// The key file.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// The key is empty or contains characters that headers do not allow.
    #[error("the key {from} is empty or contains characters that a key cannot have")]
    Malformed {
        /// The source, for messages.
        from: String,
    },
    /// The key would be sent unencrypted.
    #[error(
        "a key would go to `{host}` unencrypted\nhelp: use https, a tunnel to loopback, or `{}` if you accept that it can be read in transit",
        Setting::InsecureKey
    )]
    Unencrypted {
        /// The service's host.
        host: String,
    },
}

/// A key in memory. `Debug` does not print it.
#[derive(Clone)]
pub(crate) struct Key(String);

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key(…)")
    }
}

impl Key {
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// The key itself, for request headers only.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// The key for `url`, if there is one and it may be sent there.
pub(crate) fn resolve(
    source: &KeySource,
    url: &BaseUrl,
    insecure: bool,
) -> Result<Option<Key>, KeyError> {
    resolve_in(|name| std::env::var(name).ok(), source, url, insecure)
}

/// The same, with a given environment.
fn resolve_in(
    variable: impl Fn(&str) -> Option<String>,
    source: &KeySource,
    url: &BaseUrl,
    insecure: bool,
) -> Result<Option<Key>, KeyError> {
    let (text, from) = match source {
        KeySource::Default => {
            let usual = USUAL.iter().find(|(host, _)| *host == url.host());
            match usual.and_then(|(_, name)| Some((variable(name)?, name))) {
                Some((text, name)) => (text, format!("in `{name}`")),
                None => return Ok(None),
            }
        }
        KeySource::Env(name) => {
            let text = variable(name).ok_or_else(|| KeyError::Unset(name.clone()))?;
            if text.trim().is_empty() {
                return Err(KeyError::Unset(name.clone()));
            }
            (text, format!("in `{name}`"))
        }
        KeySource::File(path) => {
            let text = std::fs::read_to_string(path).map_err(|source| KeyError::File {
                path: path.clone(),
                source,
            })?;
            (text, format!("in `{}`", path.display()))
        }
    };
    let text = text.lines().next().unwrap_or_default().trim();
    if text.is_empty() || !text.chars().all(|character| character.is_ascii_graphic()) {
        return Err(KeyError::Malformed { from });
    }
    if !url.is_encrypted() && !url.is_loopback() && !insecure {
        return Err(KeyError::Unencrypted {
            host: url.host().to_owned(),
        });
    }
    secret::remember(text);
    Ok(Some(Key(text.to_owned())))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn url(text: &str) -> BaseUrl {
        BaseUrl::parse(text).unwrap()
    }

    fn file(content: &str) -> (tempfile::NamedTempFile, KeySource) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content.as_bytes()).unwrap();
        let source = KeySource::File(file.path().to_owned());
        (file, source)
    }

    #[test]
    fn no_key_goes_anywhere_unasked() {
        for host in [
            "http://127.0.0.1:8080",
            "https://example.com",
            "https://api.openai.com.evil.example",
        ] {
            assert!(
                resolve(&KeySource::Default, &url(host), true)
                    .unwrap()
                    .is_none(),
                "{host}"
            );
        }
    }

    #[test]
    fn each_usual_key_goes_to_its_own_host_alone() {
        let variable = |name: &str| Some(format!("from-{name}"));
        for (host, expected) in [
            ("https://api.openai.com/v1", Some("from-OPENAI_API_KEY")),
            ("https://api.anthropic.com", Some("from-ANTHROPIC_API_KEY")),
            ("https://anthropic.com", None),
            ("https://api.anthropic.com.evil.example", None),
            ("http://127.0.0.1:8080", None),
        ] {
            let key = resolve_in(variable, &KeySource::Default, &url(host), false).unwrap();
            assert_eq!(key.as_ref().map(Key::text), expected, "{host}");
        }
    }

    #[test]
    fn a_key_does_not_travel_in_the_clear() {
        let (_file, source) = file("abc\n");
        let far = url("http://example.com/v1");
        assert!(matches!(
            resolve(&source, &far, false),
            Err(KeyError::Unencrypted { .. })
        ));
        assert!(resolve(&source, &far, true).unwrap().is_some());
        assert!(
            resolve(&source, &url("http://localhost:1"), false)
                .unwrap()
                .is_some()
        );
        assert!(
            resolve(&source, &url("https://example.com"), false)
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn a_key_is_never_printed() {
        let (_file, source) = file("very-secret\n");
        let key = resolve(&source, &url("https://example.com"), false)
            .unwrap()
            .unwrap();
        assert_eq!(format!("{key:?}"), "Key(…)");
        assert_eq!(key.bearer(), "Bearer very-secret");
    }

    #[test]
    fn odd_keys_are_refused() {
        for content in ["", "\n", "a b", "ключ", "a\u{7}"] {
            let (_file, source) = file(content);
            let resolved = resolve(&source, &url("https://example.com"), false);
            assert!(
                matches!(resolved, Err(KeyError::Malformed { .. })),
                "{content:?}"
            );
        }
        let unset = KeySource::Env("IPW_TEST_NO_SUCH_VARIABLE".to_owned());
        assert!(matches!(
            resolve(&unset, &url("https://example.com"), false),
            Err(KeyError::Unset(_))
        ));
    }
}
