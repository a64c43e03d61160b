//! Texts that end a reply.

/// Passes text through until a stop text appears; holds back what may be the start of one.
#[derive(Debug)]
pub(crate) struct Stops {
    stops: Vec<String>,
    held: String,
}

/// The text that may be sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PassedText {
    pub(crate) text: String,
    /// Whether a stop text was found: everything after it is dropped.
    pub(crate) stopped: bool,
}

impl Stops {
    pub(crate) fn new(stops: Vec<String>) -> Self {
        Self {
            stops,
            held: String::new(),
        }
    }

    pub(crate) fn push(&mut self, text: &str) -> PassedText {
        if self.stops.is_empty() {
            return PassedText {
                text: text.to_owned(),
                stopped: false,
            };
        }
        self.held.push_str(text);
        let found = self
            .stops
            .iter()
            .filter_map(|stop| self.held.find(stop.as_str()))
            .min();
        if let Some(at) = found {
            self.held.truncate(at);
            return PassedText {
                text: std::mem::take(&mut self.held),
                stopped: true,
            };
        }
        let keep = self.beginning();
        let rest = self.held.split_off(self.held.len() - keep);
        PassedText {
            text: std::mem::replace(&mut self.held, rest),
            stopped: false,
        }
    }

    /// The held-back text, which turned out not to be a stop.
    pub(crate) fn finish(self) -> String {
        self.held
    }

    /// Number of bytes at the end that may be the start of a stop text.
    fn beginning(&self) -> usize {
        let longest = |stop: &String| {
            let lengths = stop.char_indices().map(|(at, _)| at).rev();
            lengths
                .into_iter()
                .find(|length| self.held.ends_with(&stop[..*length]))
                .unwrap_or(0)
        };
        self.stops.iter().map(longest).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn through(stops: &[&str], texts: &[&str]) -> (String, bool) {
        let mut filter = Stops::new(stops.iter().map(|stop| (*stop).to_owned()).collect());
        let mut out = String::new();
        for text in texts {
            let passed = filter.push(text);
            out.push_str(&passed.text);
            if passed.stopped {
                return (out, true);
            }
        }
        (out + &filter.finish(), false)
    }

    #[test]
    fn a_stop_over_several_tokens_is_seen_and_is_no_part_of_the_reply() {
        assert_eq!(
            through(&["END"], &["abcE", "N", "D def"]),
            ("abc".to_owned(), true)
        );
        assert_eq!(
            through(&["END"], &["abcE", "N", "O"]),
            ("abcENO".to_owned(), false)
        );
        assert_eq!(through(&["b", "ab"], &["xab"]), ("x".to_owned(), true));
        assert_eq!(
            through(&["é!"], &["caf", "é", "?"]),
            ("café?".to_owned(), false)
        );
        assert_eq!(through(&[], &["a", "b"]), ("ab".to_owned(), false));
    }

    proptest! {
        #[test]
        fn however_it_is_cut_the_same_comes_out(
            texts in proptest::collection::vec("[abé]{0,3}", 0..12), stop in "[abé]{1,3}",
        ) {
            let whole = texts.concat();
            let wanted = whole.split_once(&stop).map_or((whole.clone(), false), |(before, _)| (before.to_owned(), true));
            let texts: Vec<_> = texts.iter().map(String::as_str).collect();
            prop_assert_eq!(through(&[&stop], &texts), wanted);
        }
    }
}
