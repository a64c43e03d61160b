//! The language of an answer, judged by its letters.
//!
//! `IFEval` uses a language detector. Here only scripts and letters specific to a language decide.
//! Another script than the language's own is a certain failure. Latin letters, and letters shared
//! by several languages, decide nothing.

use super::rule::{Arguments, CheckResult, Compliance};
use super::shape::is_upper;

/// A script, as ranges of letters.
type Script = &'static [(char, char)];

const ARABIC: Script = &[
    ('\u{600}', '\u{6ff}'),
    ('\u{750}', '\u{77f}'),
    ('\u{fb50}', '\u{fdff}'),
];
const CYRILLIC: Script = &[('\u{400}', '\u{52f}')];
const DEVANAGARI: Script = &[('\u{900}', '\u{97f}')];
const KANA: Script = &[('\u{3040}', '\u{30ff}')];
const HAN: Script = &[('\u{3400}', '\u{9fff}')];
const LATIN: Script = &[
    ('A', 'Z'),
    ('a', 'z'),
    ('\u{c0}', '\u{24f}'),
    ('\u{1e00}', '\u{1eff}'),
];

/// Languages with a script of their own, among those that rows ask for.
const ALONE: [(&str, Script); 11] = [
    ("bn", &[('\u{980}', '\u{9ff}')]),
    ("el", &[('\u{370}', '\u{3ff}')]),
    ("gu", &[('\u{a80}', '\u{aff}')]),
    ("he", &[('\u{590}', '\u{5ff}')]),
    ("kn", &[('\u{c80}', '\u{cff}')]),
    ("ko", &[('\u{ac00}', '\u{d7af}'), ('\u{1100}', '\u{11ff}')]),
    ("ml", &[('\u{d00}', '\u{d7f}')]),
    ("pa", &[('\u{a00}', '\u{a7f}')]),
    ("ta", &[('\u{b80}', '\u{bff}')]),
    ("te", &[('\u{c00}', '\u{c7f}')]),
    ("th", &[('\u{e00}', '\u{e7f}')]),
];

/// Languages with a shared script: letters that identify the language, and letters that exclude it.
const SHARED: [(&str, Script, &str, &str); 9] = [
    ("ar", ARABIC, "ةىؤإ", "پچژگٹڈڑںے"),
    ("fa", ARABIC, "پچژگ", "ٹڈڑںےة"),
    ("ur", ARABIC, "ٹڈڑںے", "ة"),
    ("ru", CYRILLIC, "ыэё", "іїєґ"),
    ("uk", CYRILLIC, "іїєґ", "ыэёъ"),
    ("bg", CYRILLIC, "ъ", "ыэёіїєґ"),
    ("hi", DEVANAGARI, "", "ळ"),
    ("mr", DEVANAGARI, "ळ", ""),
    ("ne", DEVANAGARI, "", "ळ"),
];

/// Languages in Latin letters, which are not told apart.
const IN_LATIN: [&str; 10] = ["en", "es", "pt", "fr", "de", "it", "pl", "vi", "sw", "fi"];

/// The whole answer is in one language.
pub(super) fn response_language(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let language = arguments.text("language")?;
    let letters: Vec<char> = answer.chars().filter(|c| c.is_alphabetic()).collect();
    let Some(main) = Some(letters.as_slice()).filter(|letters| !letters.is_empty()) else {
        return Err("it has no letters".to_owned());
    };
    let other = || {
        Ok(Compliance::No(format!(
            "its letters are not those of `{language}`"
        )))
    };
    if let Some((_, script)) = ALONE.iter().find(|(code, _)| *code == language) {
        return if is_mostly(main, script) {
            Ok(Compliance::Yes)
        } else {
            other()
        };
    }
    if let Some((_, script, own, others)) = SHARED.iter().find(|(code, ..)| *code == language) {
        let has = |all: &str| letters.iter().any(|c| all.contains(*c));
        return match (is_mostly(main, script), has(own), has(others)) {
            (false, ..) | (_, false, true) => other(),
            (_, true, false) => Ok(Compliance::Yes),
            _ => Err(format!(
                "`{language}` shares its letters with other languages"
            )),
        };
    }
    match language {
        "ja" if is_mostly(main, &[KANA[0], HAN[0]]) && is_any(main, KANA) => Ok(Compliance::Yes),
        "zh" | "zh-cn" | "zh-tw" if is_mostly(main, HAN) && !is_any(main, KANA) => {
            Ok(Compliance::Yes)
        }
        "ja" | "zh" | "zh-cn" | "zh-tw" => other(),
        _ if !IN_LATIN.contains(&language) => Err(format!("`{language}` is not supported")),
        _ if is_mostly(main, LATIN) => Err("Latin letters do not identify the language".to_owned()),
        _ => other(),
    }
}

/// All in capitals. English is checked only by its Latin letters.
pub(super) fn capital(answer: &str) -> Compliance {
    in_latin_and(answer, is_upper(answer), "it is not all in capitals")
}

/// All in lower case. English is checked only by its Latin letters.
pub(super) fn lowercase(answer: &str) -> Compliance {
    let is_lower =
        answer.chars().any(char::is_lowercase) && !answer.chars().any(char::is_uppercase);
    in_latin_and(answer, is_lower, "it is not all in small letters")
}

fn in_latin_and(answer: &str, is_so: bool, otherwise: &str) -> Compliance {
    let letters: Vec<char> = answer.chars().filter(|c| c.is_alphabetic()).collect();
    if !is_so {
        return Compliance::No(otherwise.to_owned());
    }
    Compliance::when(is_mostly(&letters, LATIN), "it is not in English")
}

fn is_of(c: char, script: &[(char, char)]) -> bool {
    script
        .iter()
        .any(|(first, last)| (*first..=*last).contains(&c))
}

fn is_any(letters: &[char], script: Script) -> bool {
    letters.iter().any(|c| is_of(*c, script))
}

/// Whether more than half of the letters are of this script; names and terms may use another.
fn is_mostly(letters: &[char], script: &[(char, char)]) -> bool {
    letters.iter().filter(|c| is_of(**c, script)).count() * 2 > letters.len()
}
