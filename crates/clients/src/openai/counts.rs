//! Token counts and durations from the end of a stream, and their source.
//!
//! Order of preference: usage, the server's own timings, the number of chunks. (A tokenizer ranks
//! before chunks and runs after the reply, elsewhere.) Usage may be in the last chunk, in a chunk
//! without choices, or in every chunk; the last one that counts the output is used.

use std::time::Duration;

use ipw_core::reply::{ServiceTiming, TokenCounts, TokenSource, agree};

use super::wire::{Chunk, Seconds, Stats, Timings, Usage};

/// Counts and durations seen so far.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counts {
    usage: Option<Usage>,
    timings: Option<Timings>,
    seconds: Option<Seconds>,
    stats: Option<Stats>,
}

impl Counts {
    /// Takes the counts of a chunk.
    pub(super) fn take(&mut self, chunk: &Chunk<'_>) {
        let usage = chunk.usage.or(chunk.x_groq.and_then(|groq| groq.usage));
        if let Some(usage) = usage.filter(|usage| counts(usage) || self.usage.is_none()) {
            self.usage = Some(usage);
        }
        self.timings = chunk.timings.or(self.timings);
        self.seconds = chunk.time_info.or(self.seconds);
        self.stats = chunk.stats.or(self.stats);
    }

    /// Takes the final counts of another API.
    pub(super) fn end(&mut self, usage: Option<Usage>, timings: Option<Timings>) {
        self.usage = usage.or(self.usage);
        self.timings = timings.or(self.timings);
    }

    /// The tokens from the best source; `None` if the stream reported none.
    pub(super) fn tokens(&self) -> Option<(TokenCounts, TokenSource)> {
        let (counts, source) = match (self.by_usage(), self.by_timings()) {
            (Some(counts), _) => (counts, TokenSource::Usage),
            (None, Some(counts)) => (counts, TokenSource::Timings),
            (None, None) => return None,
        };
        let (accepted, rejected) = self.drafted();
        let counts = TokenCounts {
            speculative_accepted: counts.speculative_accepted.or(accepted),
            speculative_rejected: counts.speculative_rejected.or(rejected),
            ..counts
        };
        Some((counts, source))
    }

    /// A note if timings and usage count differently.
    pub(super) fn note(&self) -> Option<String> {
        let (usage, timings) = (self.by_usage()?, self.by_timings()?);
        let notes: Vec<_> = [
            ("input", usage.input, timings.input),
            ("output", usage.output, timings.output),
        ]
        .into_iter()
        .filter_map(|(what, usage, timings)| {
            let (usage, timings) = (usage?, timings?);
            (!agree(usage, timings))
                .then(|| format!("usage says {usage} {what} tokens, timings say {timings}"))
        })
        .collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// The durations that the service reports.
    pub(super) fn durations(&self) -> ServiceTiming {
        let seconds = self
            .seconds
            .or(self.usage.map(|usage| usage.seconds()))
            .unwrap_or_default();
        let timings = self.timings;
        let milliseconds = |of: fn(&Timings) -> Option<f64>| {
            timings.as_ref().and_then(of).and_then(|ms| span(ms / 1e3))
        };
        let generation = self.stats.and_then(|stats| stats.generation_time);
        ServiceTiming {
            queue: seconds.queue_time.and_then(span),
            load: None,
            prompt: milliseconds(|timings| timings.prompt_ms)
                .or(seconds.prompt_time.and_then(span)),
            decode: milliseconds(|timings| timings.predicted_ms)
                .or(seconds.completion_time.and_then(span))
                .or(generation.and_then(span)),
            total: seconds.total_time.and_then(span),
        }
    }

    fn by_usage(&self) -> Option<TokenCounts> {
        let usage = self.usage.filter(counts)?;
        let details = usage.completion_tokens_details;
        Some(TokenCounts {
            input: usage.prompt_tokens,
            output: usage.completion_tokens,
            reasoning: details
                .and_then(|of| of.reasoning_tokens)
                .or(usage.reasoning_tokens),
            cached: usage.prompt_tokens_details.and_then(|of| of.cached_tokens),
            tool_call: None,
            speculative_accepted: details.and_then(|of| of.accepted_prediction_tokens),
            speculative_rejected: details.and_then(|of| of.rejected_prediction_tokens),
            ..TokenCounts::default()
        })
    }

    fn by_timings(&self) -> Option<TokenCounts> {
        let timings = self.timings?;
        let cached = timings.cache_n;
        Some(TokenCounts {
            // `prompt_n` excludes tokens from the cache.
            input: timings
                .prompt_n
                .map(|fresh| fresh.saturating_add(cached.unwrap_or(0))),
            output: Some(timings.predicted_n?),
            cached,
            ..TokenCounts::default()
        })
    }

    /// Tokens of speculative decoding: accepted and rejected.
    fn drafted(&self) -> (Option<u64>, Option<u64>) {
        let accepted = self.timings.and_then(|timings| timings.draft_n_accepted);
        let drafted = self.timings.and_then(|timings| timings.draft_n);
        let rejected = drafted.zip(accepted);
        let rejected = rejected.and_then(|(drafted, accepted)| drafted.checked_sub(accepted));
        (accepted, rejected)
    }
}

fn counts(usage: &Usage) -> bool {
    usage.completion_tokens.is_some()
}

fn span(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(chunks: &[&str]) -> Counts {
        let mut counts = Counts::default();
        for chunk in chunks {
            counts.take(&serde_json::from_str(chunk).unwrap());
        }
        counts
    }

    #[test]
    fn the_last_usage_that_counts_the_output_is_it() {
        for (chunks, input, output) in [
            (
                vec![
                    r#"{"usage":{"prompt_tokens":9,"completion_tokens":1}}"#,
                    r#"{"usage":{"prompt_tokens":9,"completion_tokens":2}}"#,
                    r#"{"usage":null}"#,
                ],
                Some(9),
                2,
            ),
            (
                vec![
                    r#"{"usage":{"prompt_tokens":9}}"#,
                    r#"{"usage":{"prompt_tokens":9,"completion_tokens":2}}"#,
                    r#"{"usage":{}}"#,
                ],
                Some(9),
                2,
            ),
            (
                vec![r#"{"x_groq":{"id":"r","usage":{"prompt_tokens":9,"completion_tokens":2}}}"#],
                Some(9),
                2,
            ),
        ] {
            let (tokens, source) = after(&chunks).tokens().unwrap();
            assert_eq!(
                (tokens.input, tokens.output),
                (input, Some(output)),
                "{chunks:?}"
            );
            assert_eq!(source, TokenSource::Usage);
        }
        assert_eq!(after(&[r#"{"usage":{"prompt_tokens":9}}"#]).tokens(), None);
    }

    #[test]
    fn counts_that_differ_by_more_than_two_percent_leave_a_note() {
        let said = |prompt: u64, fresh: u64, cached: u64, output: u64, predicted: u64| {
            after(&[&format!(
                r#"{{"usage":{{"prompt_tokens":{prompt},"completion_tokens":{output}}},
                    "timings":{{"cache_n":{cached},"prompt_n":{fresh},"predicted_n":{predicted}}}}}"#
            )])
        };
        assert_eq!(said(100, 90, 10, 100, 98).note(), None, "2 % is agreement");
        assert_eq!(
            said(100, 90, 10, 100, 97).note().as_deref(),
            Some("usage says 100 output tokens, timings say 97")
        );
        let both = said(100, 1, 10, 1, 0);
        let note = both.note().unwrap();
        assert!(
            note.contains("100 input") && note.contains("say 11"),
            "{note}"
        );
        assert!(note.contains("1 output"), "{note}");
        assert_eq!(both.tokens().unwrap().0.input, Some(100), "usage is kept");
        assert_eq!(said(0, 0, 0, 0, 0).note(), None);
    }

    #[test]
    fn drafted_tokens_are_counted_from_every_source() {
        let kinds = |counts: Counts| {
            let (tokens, _) = counts.tokens().unwrap();
            (tokens.speculative_accepted, tokens.speculative_rejected)
        };
        let predicted = r#"{"usage":{"completion_tokens":9,"completion_tokens_details":{"accepted_prediction_tokens":4,"rejected_prediction_tokens":2}}}"#;
        assert_eq!(kinds(after(&[predicted])), (Some(4), Some(2)));
        let drafted = r#"{"usage":{"completion_tokens":9},"timings":{"predicted_n":9,"draft_n":6,"draft_n_accepted":5}}"#;
        assert_eq!(kinds(after(&[drafted])), (Some(5), Some(1)));
        let odd = r#"{"timings":{"predicted_n":9,"draft_n":5,"draft_n_accepted":6}}"#;
        assert_eq!(
            kinds(after(&[odd])),
            (Some(6), None),
            "no number below zero"
        );
        let none = r#"{"usage":{"completion_tokens":9}}"#;
        assert_eq!(kinds(after(&[none])), (None, None));
    }

    #[test]
    fn other_things_by_the_same_names_do_no_harm() {
        let odd = r#"{"stats":"fine","time_info":[1],"x_groq":7,"usage":{"completion_tokens":3}}"#;
        let counts = after(&[odd]);
        assert_eq!(counts.tokens().unwrap().0.output, Some(3));
        assert_eq!(counts.durations(), ServiceTiming::default());
    }

    #[test]
    fn each_services_own_times_are_understood() {
        let ms = |ms: u64| Some(Duration::from_millis(ms));
        for (chunk, queue, prompt, decode, total) in [
            (
                r#"{"timings":{"prompt_ms":12,"predicted_ms":34}}"#,
                None,
                ms(12),
                ms(34),
                None,
            ),
            (
                r#"{"time_info":{"queue_time":0.001,"prompt_time":0.012,"completion_time":0.034,"total_time":0.05,"created":1}}"#,
                ms(1),
                ms(12),
                ms(34),
                ms(50),
            ),
            (
                r#"{"x_groq":{"usage":{"completion_tokens":1,"queue_time":0.001,"prompt_time":0.012,"completion_time":0.034,"total_time":0.046}}}"#,
                ms(1),
                ms(12),
                ms(34),
                ms(46),
            ),
            (
                r#"{"stats":{"tokens_per_second":51.4,"time_to_first_token":0.111,"generation_time":0.954,"stop_reason":"eosFound"}}"#,
                None,
                None,
                ms(954),
                None,
            ),
            (
                r#"{"timings":{"prompt_ms":-1,"predicted_ms":1e300}}"#,
                None,
                None,
                None,
                None,
            ),
        ] {
            let expected = ServiceTiming {
                queue,
                load: None,
                prompt,
                decode,
                total,
            };
            assert_eq!(after(&[chunk]).durations(), expected, "{chunk}");
        }
    }
}
