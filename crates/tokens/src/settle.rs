//! Which count a row carries, and whether the counts agree.

use ipw_core::reply::{Reply, TokenCounts, TokenSource, agree};

/// The token that ends a reply or a turn: servers count it, but it has no text. A start token that
/// a server may add is one, too.
const ENDS: u64 = 1;
/// The two tokens around reasoning: where a server separates it, they have no text.
const MARKS: u64 = 2;

/// Sets the tokenizer's counts where the only other source is the number of chunks, and notes where
/// they differ from the service's.
pub(crate) fn settle(reply: &mut Reply, counted: &TokenCounts) {
    let who = match reply.token_source {
        Some(TokenSource::Usage) => "usage says",
        Some(TokenSource::Timings) => "timings say",
        Some(TokenSource::Tokenizer | TokenSource::Chunks) | None => {
            reply.tokens = TokenCounts {
                input: counted.input,
                output: counted.output,
                reasoning: counted.reasoning,
                tool_call: counted.tool_call,
                ..reply.tokens
            };
            reply.token_source = Some(TokenSource::Tokenizer);
            return;
        }
    };
    // For an interrupted reply, the service's last report may not cover all of it.
    if !reply.outcome.is_answered() {
        return;
    }
    let more = [input(reply, counted), output(reply, counted)];
    let more = more.into_iter().flatten().map(|(what, said, counts)| {
        format!("{who} {said} {what} tokens, the tokenizer counts {counts}")
    });
    let notes: Vec<_> = reply.token_note.take().into_iter().chain(more).collect();
    reply.token_note = (!notes.is_empty()).then(|| notes.join("; "));
}

type Difference = (&'static str, u64, u64);

fn input(reply: &Reply, counted: &TokenCounts) -> Option<Difference> {
    let (said, counts) = (reply.tokens.input?, counted.input?);
    let agrees = agree(said, counts) || said.abs_diff(counts) <= ENDS;
    (!agrees).then_some(("input", said, counts))
}

fn output(reply: &Reply, counted: &TokenCounts) -> Option<Difference> {
    let (said, counts) = (reply.tokens.output?, counted.output?);
    // Reasoning that was not sent cannot be counted.
    let (hidden, marks) = match reply.reasoning {
        None => (reply.tokens.reasoning.unwrap_or(0), 0),
        Some(_) => (0, MARKS),
    };
    let shown = said.saturating_sub(hidden);
    // The syntax around calls has no text, and its length differs between models.
    let is_more = reply.tool_calls.is_some() && shown >= counts;
    let agrees = is_more || agree(shown, counts) || shown.abs_diff(counts) <= ENDS + marks;
    (!agrees).then_some((
        if hidden > 0 { "shown output" } else { "output" },
        shown,
        counts,
    ))
}

#[cfg(test)]
mod tests {
    use ipw_core::reply::{Failure, Outcome};
    use ipw_core::time::Timestamp;

    use super::*;

    fn counts(input: Option<u64>, output: u64) -> TokenCounts {
        TokenCounts {
            input,
            output: Some(output),
            ..TokenCounts::default()
        }
    }

    fn reply(source: Option<TokenSource>, tokens: TokenCounts) -> Reply {
        Reply {
            outcome: Outcome::Complete,
            error: None,
            answer: "an answer".to_owned(),
            tokens,
            token_source: source,
            ..Reply::unsent(Timestamp::ZERO, Failure::Empty, String::new())
        }
    }

    #[test]
    fn a_tokenizer_goes_before_chunks_and_behind_what_the_service_says() {
        use TokenSource::{Chunks, Timings, Tokenizer, Usage};
        for (source, kept, output) in [
            (Some(Usage), Some(Usage), 10),
            (Some(Timings), Some(Timings), 10),
            (Some(Chunks), Some(Tokenizer), 12),
            (None, Some(Tokenizer), 12),
        ] {
            let mut reply = reply(source, counts(None, 10));
            settle(&mut reply, &counts(Some(7), 12));
            assert_eq!(reply.token_source, kept);
            assert_eq!(reply.tokens.output, Some(output));
            let input = (kept == Some(Tokenizer)).then_some(7);
            assert_eq!(reply.tokens.input, input, "no row mixes two counts");
        }
    }

    #[test]
    fn more_than_two_percent_and_more_than_the_end_leaves_a_note() {
        let noted = |said: TokenCounts, counted: TokenCounts| {
            let mut reply = reply(Some(TokenSource::Usage), said);
            settle(&mut reply, &counted);
            reply.token_note
        };
        assert_eq!(noted(counts(None, 10), counts(Some(1), 9)), None, "the end");
        assert_eq!(noted(counts(None, 100), counts(None, 98)), None, "2 %");
        assert_eq!(
            noted(counts(None, 100), counts(None, 97)).as_deref(),
            Some("usage says 100 output tokens, the tokenizer counts 97")
        );
        assert_eq!(noted(counts(Some(9), 10), counts(Some(10), 10)), None);
        let both = noted(counts(Some(9), 10), counts(Some(12), 20)).unwrap();
        assert_eq!(
            both,
            "usage says 9 input tokens, the tokenizer counts 12; usage says 10 output tokens, the \
             tokenizer counts 20"
        );
    }

    #[test]
    fn notes_are_joined() {
        let mut reply = reply(Some(TokenSource::Timings), counts(None, 100));
        reply.token_note = Some("usage says 1 output tokens, timings say 100".to_owned());
        settle(&mut reply, &counts(None, 50));
        assert_eq!(
            reply.token_note.as_deref(),
            Some(
                "usage says 1 output tokens, timings say 100; timings say 100 output tokens, the \
                 tokenizer counts 50"
            )
        );
    }

    #[test]
    fn what_leaves_no_text_is_no_disagreement() {
        let noted = |change: fn(&mut Reply), counted: u64| {
            let mut reply = reply(Some(TokenSource::Usage), counts(None, 20));
            change(&mut reply);
            settle(&mut reply, &counts(None, counted));
            reply.token_note
        };
        let hidden = |reply: &mut Reply| reply.tokens.reasoning = Some(12);
        assert_eq!(noted(hidden, 7), None, "reasoning that is not shown");
        assert_eq!(
            noted(hidden, 20).as_deref(),
            Some("usage says 8 shown output tokens, the tokenizer counts 20")
        );
        let apart = |reply: &mut Reply| reply.reasoning = Some("hm".to_owned());
        assert_eq!(noted(apart, 17), None, "the marks of a reasoning");
        assert!(noted(apart, 16).is_some());
        let calls = |reply: &mut Reply| reply.tool_calls = Some("[]".to_owned());
        assert_eq!(noted(calls, 5), None, "what stands around calls");
        assert!(noted(calls, 30).is_some(), "never more than there were");
        let broken = |reply: &mut Reply| reply.outcome = Outcome::Failed(Failure::Closed);
        assert_eq!(noted(broken, 5), None, "a reply that broke off");
    }
}
