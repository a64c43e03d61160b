//! Replies that are made of known tokens count exactly these, however they are cut.

use std::path::Path;

use ipw_core::query::Query;
use ipw_core::reply::{Outcome, TokenCounts, TokenSource};
use ipw_engine::gguf::Gguf;
use ipw_engine::language;
use ipw_engine::tokenizer::{Tokenizer, Utf8Joiner};
use ipw_testkit::fuzz::Random;
use ipw_testkit::{model, or_skip, tokenizers};
use ipw_tokens::{SentQuery, TokenCounter};

use crate::service::{Texts, nothing, reply};

/// Replies that are made for each tokenizer.
const ROUNDS: usize = 40;

/// A text and how many tokens it is made of.
type Known = (String, u64);

fn counter(path: &Path) -> TokenCounter {
    ipw_tokens::load(path.to_str().unwrap(), None, &mut |_| {}).unwrap()
}

/// Puts replies together from known texts, sends them, and counts what came; the question has so
/// many tokens.
fn assert_counts_exactly(
    counter: &TokenCounter,
    input: Option<u64>,
    mut known: impl Iterator<Item = Known>,
) {
    let mut random = Random::new(7);
    let query = Query::asking("a question".to_owned());
    let asked = SentQuery {
        query: &query,
        system: None,
        parameters: nothing(),
        is_raw: false,
    };
    for round in 0..ROUNDS {
        let mut texts = Texts::default();
        let mut expected = TokenCounts {
            input,
            ..TokenCounts::default()
        };
        let mut total = 0;
        let mut take = |sum: &mut Option<u64>| {
            let (text, tokens) = known.next().unwrap();
            *sum = Some(sum.unwrap_or(0) + tokens);
            total += tokens;
            text
        };
        if round % 2 == 1 {
            texts.reasoning = take(&mut expected.reasoning);
        }
        // A reply may be calls and nothing else.
        if round % 5 != 4 {
            texts.answer = take(&mut None);
        }
        for _ in 0..[0, 0, 1, 2, 1][round % 5] {
            let name = take(&mut expected.tool_call);
            texts.calls.push((name, take(&mut expected.tool_call)));
        }
        expected.output = Some(total);
        let mut reply = reply(&texts, &mut random);
        assert_eq!(reply.outcome, Outcome::Complete, "{:?}", reply.error);
        assert_eq!(reply.token_source, Some(TokenSource::Chunks));
        assert_eq!(reply.answer, texts.answer);
        assert_eq!(
            counter.settle(&asked, &mut reply),
            Some(expected),
            "{texts:?}"
        );
        assert_eq!(reply.tokens, expected, "the row has it");
        assert_eq!(reply.token_source, Some(TokenSource::Tokenizer));
        assert_eq!(reply.token_note, None);
    }
}

/// Known texts by Python's own library, for as many parts as all rounds have.
fn by_python(path: &Path) -> Option<impl Iterator<Item = Known> + use<>> {
    let venv = or_skip(tokenizers::python())?;
    let golden = tokenizers::golden(&venv, path, 5, 4 * ROUNDS).unwrap();
    let tokens: usize = golden.iter().map(|(_, tokens)| tokens.len()).sum();
    assert!(tokens > 10 * ROUNDS, "they are not all trivial");
    Some(
        golden
            .into_iter()
            .map(|(text, tokens)| (text, tokens.len() as u64)),
    )
}

#[test]
fn byte_pairs_count_exactly() {
    let Some(path) = or_skip(tokenizers::claude()) else {
        return;
    };
    let Some(known) = by_python(&path) else {
        return;
    };
    assert_counts_exactly(&counter(&path), None, known);
}

#[test]
fn word_pieces_count_exactly_and_beyond_the_length_that_the_file_cuts_at() {
    let Some(path) = or_skip(tokenizers::mini_lm()) else {
        return;
    };
    let Some(known) = by_python(&path) else {
        return;
    };
    let counter = counter(&path);
    assert_counts_exactly(&counter, None, known);
    let long = std::iter::repeat_with(|| ("a b ".repeat(500).trim_end().to_owned(), 1_000));
    assert_counts_exactly(&counter, None, long);
}

/// Tokens at random, until their text is made of the same tokens again.
fn drawn(tokenizer: &Tokenizer, random: &mut Random) -> Known {
    loop {
        let mut tokens: Vec<u32> = (0..=random.below(60))
            .map(|_| u32::try_from(random.below(tokenizer.len())).unwrap())
            .collect();
        for _ in 0..5 {
            let mut joiner = Utf8Joiner::new();
            let text = tokens
                .iter()
                .map(|token| joiner.push(tokenizer.bytes(*token)));
            let text = text.collect::<String>() + &joiner.finish();
            let again = tokenizer.encode(&text, false);
            if again == tokens && !text.is_empty() && !text.contains('\u{fffd}') {
                return (text, tokens.len() as u64);
            }
            tokens = again;
        }
    }
}

#[test]
fn the_tokenizer_of_a_model_file_counts_exactly() {
    let Some(path) = or_skip(model()) else {
        return;
    };
    let tokenizer = language::tokenizer(&mut Gguf::open(&path).unwrap()).unwrap();
    let mut random = Random::new(3);
    let known = std::iter::repeat_with(|| drawn(&tokenizer, &mut random));
    // Its template begins with a system's text of its own.
    assert_counts_exactly(&counter(&path), Some(32), known);
}

#[test]
fn tokens_that_leave_no_text_are_not_counted() {
    let Some(path) = or_skip(model()) else {
        return;
    };
    let tokenizer = language::tokenizer(&mut Gguf::open(&path).unwrap()).unwrap();
    let generated = [
        tokenizer.encode("Paris.", false),
        vec![tokenizer.eos().unwrap()],
    ]
    .concat();
    let text = generated
        .iter()
        .flat_map(|token| tokenizer.bytes(*token))
        .copied();
    let text = String::from_utf8(text.collect()).unwrap();
    assert_eq!(text, "Paris.", "the end leaves no text");
    let texts = Texts {
        answer: text,
        ..Texts::default()
    };
    let query = Query::asking(String::new());
    let asked = SentQuery {
        query: &query,
        system: None,
        parameters: nothing(),
        is_raw: false,
    };
    let mut reply = reply(&texts, &mut Random::new(1));
    let counted = counter(&path).settle(&asked, &mut reply).unwrap();
    assert_eq!(counted.output, Some(generated.len() as u64 - 1));
    // A server that counts the end agrees.
    reply.token_source = Some(TokenSource::Usage);
    reply.tokens.output = Some(generated.len() as u64);
    reply.tokens.input = None;
    counter(&path).settle(&asked, &mut reply);
    assert_eq!(reply.token_note, None);
}
