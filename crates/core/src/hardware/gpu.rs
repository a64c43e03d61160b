//! Short names of GPUs, from the names that drivers, lspci and Metal report.

use super::{spelled, without_parentheses};

/// Words common to all devices of a vendor or class, and form factors.
const NOISE: &str = "nvidia amd ati intel apple advanced micro devices inc corporation corp geforce \
    radeon instinct tesla quadro grid jetson graphics gpu gpus generation edition workstation \
    server developer kit engineering reference series design with oam ac mba pcie sxm hbm data \
    center device blackwell nvgpu integrated tm";

/// The short name, if the name has more than the vendor.
pub(super) fn short(name: &str) -> Option<String> {
    let plain = without_parentheses(name);
    let product = first_alternative(product(&plain));
    let words: Vec<&str> = product
        .split(|character: char| !(character.is_ascii_alphanumeric() || character == '+'))
        .filter(|word| !word.is_empty())
        // A slice of a device is named after the device.
        .take_while(|word| !word.eq_ignore_ascii_case("mig"))
        .collect();
    let is_radeon = lower(product).contains("radeon");
    let mut body = String::new();
    for word in &words {
        let is_branding = is_radeon && matches!(lower(word).as_str(), "pro" | "ai");
        let is_part = is_slice(word) && !body.is_empty();
        if !is_branding && !is_noise(word) && !is_part {
            body.push_str(spelled(word));
        }
    }
    (!body.is_empty()).then(|| format!("{}{body}", prefix(name, &body)))
}

/// lspci puts the product after the chip: `Navi 31 [Radeon RX 7900 XTX]`, with the vendor's short
/// name in brackets too: `[AMD/ATI]`.
fn product(name: &str) -> &str {
    name.split('[')
        .skip(1)
        .filter_map(|rest| rest.split(']').next())
        .filter(|inside| has_digit(inside))
        .last()
        .unwrap_or_else(|| name.rsplit(']').next().unwrap_or(name))
}

/// One chip in several products: `MI250X / MI250`. The first stands for all.
fn first_alternative(product: &str) -> &str {
    match product.split_once('/') {
        Some((first, _)) if has_digit(first) => first,
        _ => product,
    }
}

fn is_noise(word: &str) -> bool {
    let word = lower(word);
    let form = word
        .trim_end_matches('e')
        .trim_end_matches(|c: char| c.is_ascii_digit());
    NOISE.split(' ').any(|noise| noise == word) || matches!(form, "sxm" | "hbm") || is_memory(&word)
}

/// `80gb`, `144g`.
fn is_memory(word: &str) -> bool {
    ["g", "gb", "gib", "mb"].iter().any(|unit| {
        word.strip_suffix(unit)
            .is_some_and(|size| size.chars().all(|c| c.is_ascii_digit()))
    })
}

/// The memory slice of a virtual GPU: the `24Q` of `A10-24Q`.
fn is_slice(word: &str) -> bool {
    word.strip_suffix(['Q', 'C', 'A', 'B'])
        .is_some_and(|size| matches!(size.len(), 1 | 2) && size.parse::<u8>().is_ok())
}

/// The prefix that a bare `780M`, `VII` or `74a1` needs to be recognised.
fn prefix(name: &str, body: &str) -> &'static str {
    let starts_with_digit = body.starts_with(|c: char| c.is_ascii_digit());
    if !starts_with_digit && body != "VII" {
        return "";
    }
    let name = lower(name);
    ["Radeon", "GeForce", "NVIDIA", "AMD", "Intel"]
        .into_iter()
        .find(|prefix| name.contains(&lower(prefix)))
        .unwrap_or("GPU")
}

fn has_digit(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}

fn lower(word: &str) -> String {
    word.to_ascii_lowercase()
}
