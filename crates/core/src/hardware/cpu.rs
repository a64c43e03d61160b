//! Short names of CPUs, from `/proc/cpuinfo` and `machdep.cpu.brand_string`.
//!
//! A tier that the number implies is dropped: `Xeon8480+` for a Platinum, `Ryzen7950X` for a Ryzen
//! 9. Otherwise it stays, with a hyphen: `i9-13900K`, `Ultra7-155H`.

use super::{is_safe, spelled, without_parentheses};

/// Placeholder names of hypervisors.
const INVENTED: [&str; 6] = ["qemu", "kvm", "virtual", "unknown", "bochs", "vmware"];

const NOISE: &str = "intel amd apple arm aws ibm ampere genuine cpu processor soc apu gen dual quad \
    six eight platinum gold silver bronze hx model generation family";

/// The model name ends here: clock, graphics, feature lists, revisions follow.
const ENDS: [&str; 7] = ["@", " with ", " w/", ",", " rev ", " Rev ", " - "];

/// The short name, if the name identifies a model.
pub(super) fn short(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    if INVENTED.iter().any(|invented| lower.contains(invented)) {
        return None;
    }
    let words = words(name);
    let is_ryzen = words.iter().any(|word| is(word, "ryzen"));
    let is_threadripper = words.iter().any(|word| is(word, "threadripper"));
    let mut label = String::new();
    for (place, word) in words.iter().enumerate() {
        let next = words.get(place + 1);
        if is_noise(word)
            || (is_ryzen && (is_tier(word) || is(word, "pro")))
            || (is_threadripper && is(word, "ryzen"))
            || (is(word, "core") && !next.is_some_and(|next| is_tier(next)))
        {
            continue;
        }
        label.push_str(spelled(word));
        let is_family = is_tier(word) || matches!(word.as_str(), "i3" | "i5" | "i7" | "i9");
        if is_family && next.is_some() {
            label.push('-');
        }
    }
    if is(&label, "xeon") {
        label.push_str(&generation(name).unwrap_or_default());
    }
    let is_name = label.contains(|c: char| c.is_ascii_alphabetic());
    is_name.then_some(label)
}

/// The words of the model name, without characters that a label cannot contain.
fn words(name: &str) -> Vec<String> {
    let plain = without_parentheses(name);
    let end = ENDS
        .iter()
        .filter_map(|end| plain.find(end))
        .min()
        .unwrap_or(plain.len());
    plain[..end]
        .split_whitespace()
        .map(|word| word.chars().filter(|c| is_safe(*c)).collect::<String>())
        .filter(|word| !word.is_empty())
        .collect()
}

fn is(word: &str, other: &str) -> bool {
    word.eq_ignore_ascii_case(other)
}

/// The 9 of `Ryzen 9`, the 7 of `Ultra 7`.
fn is_tier(word: &str) -> bool {
    word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_noise(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    NOISE.split(' ').any(|noise| noise == word)
        || word.ends_with("-core")
        || word.ends_with("-cores")
        // `13th Gen Intel(R) Core(TM) …`
        || word
            .strip_suffix("th")
            .is_some_and(|number| number.parse::<u8>().is_ok())
}

/// The generation that QEMU's models name in brackets: `Intel Xeon Processor (Skylake, IBRS)`.
fn generation(name: &str) -> Option<String> {
    let inside = name
        .split('(')
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    inside
        .filter_map(|inside| inside.split(',').next())
        .find(|word| word.len() > 4 && word.bytes().all(|byte| byte.is_ascii_alphabetic()))
        .map(str::to_owned)
}
