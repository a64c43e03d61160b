//! The vocabulary of the tiny model: byte-level, with the commonest English merges.

use super::{GgufBuilder, GgufValue};

const SPECIAL: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];

/// As `SmolLM2` has it.
const TEMPLATE: &str = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

const MERGES: [&str; 52] = [
    "Ġ t", "Ġ a", "i n", "h e", "Ġ Ġ", "r e", "o n", "e r", "Ġt he", "a t", "Ġ s", "Ġ o", "e n",
    "Ġ c", "e s", "Ġ w", "n d", "i t", "o r", "i s", "a l", "Ġ p", "in g", "Ġ f", "a n", "e d",
    "Ġ b", "o u", "Ġa nd", "Ġ m", "Ġo f", "Ġ d", "Ġt o", "Ġ h", "Ġ in", "l l", "Ġ l", "o m", "a s",
    "Ġ re", "i c", "Ġ n", "l e", "v e", "Ġ e", "a r", "Ġ is", "Ġ y", "r o", "s t", "Ġy ou", "Ċ Ċ",
];

const NORMAL: i32 = 1;
const CONTROL: i32 = 3;
const UNUSED: i32 = 5;

/// Writes the keys `tokenizer.*` for a vocabulary of exactly `size`; at least the bytes fit.
pub(super) fn describe(size: usize, file: &mut GgufBuilder) {
    let least = SPECIAL.len() + 256;
    assert!(size >= least, "{size} tokens are fewer than {least}");
    let merges = &MERGES[..MERGES.len().min(size - least)];
    let mut tokens: Vec<String> = SPECIAL.map(str::to_owned).into();
    tokens.extend(byte_characters().map(String::from));
    tokens.extend(merges.iter().map(|merge| merge.replacen(' ', "", 1)));
    let mut kinds = vec![NORMAL; tokens.len()];
    kinds[..SPECIAL.len()].fill(CONTROL);
    tokens.extend((tokens.len()..size).map(|number| format!("<unused_{number}>")));
    kinds.resize(size, UNUSED);

    let kinds = kinds.into_iter().map(GgufValue::I32).collect();
    for (key, value) in [
        ("ggml.model", GgufValue::text("gpt2")),
        ("ggml.pre", GgufValue::text("smollm")),
        ("ggml.tokens", GgufValue::texts(tokens)),
        ("ggml.token_type", GgufValue::Array(kinds)),
        ("ggml.merges", GgufValue::texts(merges.iter().copied())),
        ("ggml.bos_token_id", GgufValue::U32(1)),
        ("ggml.eos_token_id", GgufValue::U32(2)),
        ("ggml.unknown_token_id", GgufValue::U32(0)),
        ("ggml.padding_token_id", GgufValue::U32(2)),
        ("ggml.add_bos_token", GgufValue::Bool(false)),
        ("ggml.add_space_prefix", GgufValue::Bool(false)),
        ("chat_template", GgufValue::text(TEMPLATE)),
    ] {
        file.set(format!("tokenizer.{key}"), value);
    }
}

/// GPT-2's character for each byte: itself where that prints, else one from U+0100 on.
fn byte_characters() -> impl Iterator<Item = char> {
    let mut next = '\u{100}'..;
    let prints = |byte: &u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..);
    let printing = (0..=u8::MAX).filter(prints).map(char::from);
    let others = (0..=u8::MAX).filter(move |byte| !prints(byte));
    printing.chain(others.filter_map(move |_| next.next()))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn texts<'a>(file: &'a GgufBuilder, key: &str) -> Vec<&'a str> {
        let (_, value) = file
            .metadata
            .iter()
            .find(|(known, _)| known == key)
            .unwrap();
        let GgufValue::Array(items) = value else {
            panic!("{key} is no array");
        };
        let text = |item: &'a GgufValue| match item {
            GgufValue::Text(text) => text.as_str(),
            other => panic!("{other:?} is no text"),
        };
        items.iter().map(text).collect()
    }

    #[test]
    fn tokens_are_unique_and_both_halves_of_every_merge_are_tokens() {
        for size in [259, 300, 311, 400] {
            let mut file = GgufBuilder::default();
            describe(size, &mut file);
            let tokens = texts(&file, "tokenizer.ggml.tokens");
            let known: HashSet<&str> = tokens.iter().copied().collect();
            assert_eq!((tokens.len(), known.len()), (size, size));
            for merge in texts(&file, "tokenizer.ggml.merges") {
                let (left, right) = merge.split_once(' ').unwrap();
                assert!(known.contains(left) && known.contains(right), "{merge}");
                assert!(known.contains(&*format!("{left}{right}")), "{merge}");
            }
        }
    }

    #[test]
    fn space_and_newline_have_the_characters_of_gpt2() {
        let characters: Vec<char> = byte_characters().collect();
        assert_eq!((characters.len(), characters[0]), (256, '!'));
        assert_eq!((characters[188 + 32], characters[188 + 10]), ('Ġ', 'Ċ'));
    }
}
