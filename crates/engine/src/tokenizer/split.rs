//! Splits a text into words before merging, with the expressions of llama.cpp, by name.

use fancy_regex::{Regex, RegexBuilder};

use super::TokenizerError;

/// The rules of a name in `tokenizer.ggml.pre`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    names: &'static [&'static str],
    /// Each splits what the previous one left; text between matches is a word too.
    patterns: &'static [&'static str],
    /// Whether a word that is a token is taken without merging.
    pub(super) whole_words: bool,
    /// Whether BOS precedes every text, unless the file states otherwise.
    pub(super) adds_bos: bool,
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const LLAMA3: &str = r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+|[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const GPT4O: &str = r"[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?|[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// A rule with neither of the two exceptions.
const fn plain(names: &'static [&'static str], patterns: &'static [&'static str]) -> Rules {
    Rules {
        names,
        patterns,
        whole_words: false,
        adds_bos: false,
    }
}

const RULES: [Rules; 9] = [
    plain(
        &["default"],
        &[r"[\p{P}$+<=>^~|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
    ),
    plain(
        &[
            "smollm",
            "starcoder",
            "refact",
            "command-r",
            "codeshell",
            "exaone",
            "minerva-7b",
        ],
        &[r"\p{N}", GPT2],
    ),
    plain(
        &[
            "gpt-2",
            "phi-2",
            "mpt",
            "olmo",
            "jais",
            "trillion",
            "exaone4",
            "granite-docling",
        ],
        &[GPT2],
    ),
    Rules {
        whole_words: true,
        adds_bos: true,
        ..plain(
            &[
                "llama-bpe",
                "llama3",
                "llama-v3",
                "falcon3",
                "lfm2",
                "pixtral",
            ],
            &[LLAMA3],
        )
    },
    plain(&["dbrx", "smaug-bpe"], &[LLAMA3]),
    plain(
        &[
            "qwen2",
            "deepseek-r1-qwen",
            "stablelm2",
            "hunyuan",
            "megrez",
        ],
        &[QWEN2],
    ),
    plain(&["gpt-4o", "llama4"], &[GPT4O]),
    Rules {
        whole_words: true,
        adds_bos: true,
        ..plain(&["tekken"], &[TEKKEN])
    },
    plain(
        &["falcon"],
        &[r"[\p{P}$+<=>^~|`]+", GPT2, "[0-9][0-9][0-9]"],
    ),
];

/// The rules of this name; a file without a name uses the default, as in llama.cpp.
pub(super) fn rules(name: Option<&str>) -> Result<Rules, TokenizerError> {
    let name = name.unwrap_or("default");
    let found = RULES.iter().find(|rules| rules.names.contains(&name));
    found.copied().ok_or_else(|| {
        let known = RULES.iter().flat_map(|rules| rules.names);
        let known: Vec<_> = known.map(|name| format!("`{name}`")).collect();
        TokenizerError::Pre {
            found: name.to_owned(),
            known: known.join(", "),
        }
    })
}

/// Backtracking limit per word; only very long runs of white space come near it.
const PATIENCE: usize = 1 << 20;

/// Splits texts into words.
#[derive(Debug)]
pub(super) struct Splitter {
    patterns: Vec<Regex>,
}

impl Splitter {
    pub(super) fn new(rules: Rules) -> Self {
        let compile = |pattern: &&str| {
            RegexBuilder::new(pattern)
                .backtrack_limit(PATIENCE)
                .build()
                .expect("the patterns are constants, and a test compiles each")
        };
        Self {
            patterns: rules.patterns.iter().map(compile).collect(),
        }
    }

    /// The words of `text`: none is empty, and together they are the whole text.
    pub(super) fn split<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut words = vec![text];
        for pattern in &self.patterns {
            let mut finer = Vec::with_capacity(words.len() * 4);
            for word in words {
                cut(pattern, word, &mut finer);
            }
            words = finer;
        }
        words
    }
}

fn cut<'t>(pattern: &Regex, text: &'t str, words: &mut Vec<&'t str>) {
    let mut done = 0;
    for found in pattern.find_iter(text) {
        // Backtracking limit reached: the rest becomes one word, which is slower to merge but
        // valid.
        let Ok(found) = found else { break };
        let (start, end) = (found.start(), found.end());
        words.extend(
            [&text[done..start], &text[start..end]]
                .iter()
                .filter(|word| !word.is_empty()),
        );
        done = end;
    }
    if done < text.len() {
        words.push(&text[done..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(name: &str, text: &str) -> String {
        Splitter::new(rules(Some(name)).unwrap())
            .split(text)
            .join("·")
    }

    #[test]
    fn every_rule_compiles_and_loses_nothing() {
        let text =
            "It's  THE 12345 end'LL \t\n\n x\u{a0}y漢字 e\u{301}\u{1f468}\u{200d}\u{1f469} !!\r\n ";
        for rules in RULES {
            assert_eq!(Splitter::new(rules).split(text).concat(), text);
        }
    }

    #[test]
    fn words_are_those_of_the_published_expressions() {
        for (name, text, words) in [
            (
                "smollm",
                "I'm  there at 10:45\n",
                "I·'m· · there· at· ·1·0·:·4·5·\n",
            ),
            ("gpt-2", "a  1234 b\t\tc", "a· · 1234· b·\t·\t·c"),
            (
                "llama-bpe",
                "It'S 12345 a\n\n  b",
                "It·'S· ·123·45· a·\n\n· · b",
            ),
            ("qwen2", "x = 42;\n}\n", "x· =· ·4·2·;\n·}\n"),
            ("gpt-4o", "HelloWorld's", "Hello·World's"),
            ("tekken", "HelloWORLD 12", "Hello·WORLD· ·1·2"),
            ("default", "a+b 12345.", "a·+·b· ·123·45·."),
        ] {
            assert_eq!(split(name, text), words, "{name}");
        }
    }

    #[test]
    fn a_text_that_tires_the_expressions_is_one_word_and_no_panic() {
        let text = " ".repeat(PATIENCE + 9) + "x";
        let splitter = Splitter::new(rules(Some("llama-bpe")).unwrap());
        assert!(splitter.split(&text) == [&*text], "it was split");
    }
}
