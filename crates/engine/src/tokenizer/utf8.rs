//! Joins the bytes of tokens to text: a character may span several tokens.

/// Joins the bytes of tokens to text in whole characters.
///
/// Invalid bytes become U+FFFD, as in [`String::from_utf8_lossy`].
#[derive(Debug, Clone, Default)]
pub struct Utf8Joiner {
    /// The start of an incomplete character, at most three bytes.
    begun: Vec<u8>,
}

impl Utf8Joiner {
    /// An empty joiner.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes and returns the characters completed by them.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.begun.extend(bytes);
        let incomplete = incomplete(&self.begun);
        let rest = self.begun.split_off(self.begun.len() - incomplete);
        let whole = std::mem::replace(&mut self.begun, rest);
        String::from_utf8(whole)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// The rest at the end of the input: empty, or U+FFFD for an incomplete character.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.begun).into_owned()
    }
}

/// Number of bytes at the end that start a character which more bytes could complete.
fn incomplete(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    let starts = tail..bytes.len();
    let starts_one = |start: &usize| {
        let cut = std::str::from_utf8(&bytes[*start..]);
        cut.is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    // Continuation bytes alone are errors of a known length, so only a leading byte is found.
    starts
        .rev()
        .find(starts_one)
        .map_or(0, |start| bytes.len() - start)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_character_over_three_tokens_comes_out_once_and_whole() {
        let mut joiner = Utf8Joiner::new();
        let [one, two, three] = "€".as_bytes() else {
            panic!("three bytes")
        };
        assert_eq!(joiner.push(&[b'a', *one]), "a");
        assert_eq!(joiner.push(&[*two]), "");
        assert_eq!(joiner.push(&[]), "");
        assert_eq!(joiner.push(&[*three, b'b']), "€b");
        assert_eq!(joiner.finish(), "");
    }

    #[test]
    fn what_cannot_be_a_character_is_replaced_and_the_rest_goes_on() {
        let mut joiner = Utf8Joiner::new();
        assert_eq!(joiner.push(b"a\xffb\xe2\x82"), "a\u{fffd}b");
        assert_eq!(joiner.push(b"c"), "\u{fffd}c");
        assert_eq!(joiner.push(b"\xf0\x9f"), "");
        assert_eq!(joiner.finish(), "\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_split_of_any_text_gives_the_text_back(
            text in any::<String>(),
            sizes in prop::collection::vec(0_usize..4, 1..40),
        ) {
            let mut joiner = Utf8Joiner::new();
            let mut joined = String::new();
            let mut rest = text.as_bytes();
            for size in sizes.iter().cycle().chain([&1]) {
                if rest.is_empty() || sizes.iter().all(|size| *size == 0) {
                    break;
                }
                let (now, later) = rest.split_at((*size).min(rest.len()));
                joined += &joiner.push(now);
                prop_assert!(text.starts_with(&joined), "half a character");
                rest = later;
            }
            joined += &joiner.push(rest);
            prop_assert_eq!(joiner.finish(), "");
            prop_assert_eq!(joined, text);
        }

        #[test]
        fn any_bytes_come_out_as_they_would_all_at_once(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..12),
        ) {
            let mut joiner = Utf8Joiner::new();
            let mut joined: String = chunks.iter().map(|chunk| joiner.push(chunk)).collect();
            joined += &joiner.finish();
            let bytes = chunks.concat();
            prop_assert_eq!(joined, String::from_utf8_lossy(&bytes));
        }
    }
}
