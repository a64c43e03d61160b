//! Tests that cannot run here say so in a banner that is hard to overlook, and fail in CI.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::place::is_offline;

/// Something of the outside world that could not be had.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what} is missing: {why}\nhelp: {how}")]
pub struct Missing {
    /// The thing.
    pub what: String,
    /// Why it could not be had, often another program's own words.
    pub why: String,
    /// How a person gets it.
    pub how: String,
}

impl Missing {
    pub(crate) fn new(what: impl Into<String>, why: impl Into<String>, how: &str) -> Self {
        Self {
            what: what.into(),
            why: why.into(),
            how: how.to_owned(),
        }
    }
}

/// The value, or a loud banner and `None`, upon which the test returns; in CI it panics.
pub fn or_skip<T>(result: Result<T, Missing>) -> Option<T> {
    result.map_err(|what| missing(&what)).ok()
}

/// Says on standard error what is missing and how to get it; in CI it panics. In the fast lane a
/// missing part is expected, so one line is enough.
pub fn missing(what: &Missing) {
    if is_offline() {
        let _ = writeln!(std::io::stderr(), "skipped: {} ({})", what.what, what.why);
        return;
    }
    // Not `eprintln!`: the test harness swallows that when the test passes.
    let _ = std::io::stderr().write_all(banner(what).as_bytes());
    refuse_in_ci(what, std::env::var("CI").is_ok_and(|value| value == "true"));
}

fn refuse_in_ci(what: &Missing, in_ci: bool) {
    assert!(!in_ci, "{} is missing, and CI skips nothing", what.what);
}

fn banner(what: &Missing) -> String {
    let rule = "!".repeat(78);
    let mut text = format!("\n{rule}\n!! SKIPPED: {} is missing\n", what.what);
    for (lead, content) in [("because", &what.why), ("to get it", &what.how)] {
        for (number, line) in content.lines().enumerate() {
            let lead = if number == 0 { lead } else { "" };
            let _ = writeln!(text, "!! {lead:>9}  {line}");
        }
    }
    text + &rule + "\n\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_server() -> Missing {
        Missing::new("the server", "it broke\nin two", "install it")
    }

    #[test]
    fn the_banner_names_the_thing_the_cause_and_the_cure() {
        let text = banner(&a_server());
        assert!(text.contains("SKIPPED: the server is missing"), "{text}");
        assert!(text.contains("because  it broke\n"), "{text}");
        assert!(text.contains("to get it  install it\n"), "{text}");
    }

    #[test]
    fn outside_ci_the_test_may_return() {
        refuse_in_ci(&a_server(), false);
    }

    #[test]
    #[should_panic(expected = "CI skips nothing")]
    fn in_ci_nothing_is_skipped() {
        refuse_in_ci(&a_server(), true);
    }
}
