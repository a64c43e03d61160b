//! The row: one query, its reply, and the values derived from them.

use std::sync::Arc;
use std::time::Duration;

use crate::energy::QueryEnergy;
use crate::query::Query;
use crate::reply::{Reply, TokenCounts};
use crate::stats::{quantile, standard_deviation};
use crate::time::Timestamp;
use crate::units::Watts;
use crate::verdict::Grade;

/// One row of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The query.
    pub query: Query,
    /// The part of the run that it belongs to, from 0. Each process that works on a run writes one
    /// part.
    pub part: u32,
    /// When the query was scheduled.
    pub due: Timestamp,
    /// The reply.
    pub reply: Reply,
    /// Energy of the query.
    pub energy: QueryEnergy,
    /// Grade of the answer.
    pub grade: Grade,
    /// Result of the SLO check; `None` without an SLO.
    pub kept: Option<SloMark>,
}

/// Result of the SLO check of one reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SloMark {
    /// Whether it met all limits; `None` when a latency is unknown.
    pub is_met: Option<bool>,
    /// Metrics that missed their limit, or `failed`.
    pub missed: Vec<&'static str>,
}

/// Checks a row against the SLO.
pub type SloCheck = Arc<dyn Fn(&Record) -> SloMark + Send + Sync>;

impl Record {
    /// Mean power on the basis while the query was in flight.
    pub fn headline_power(&self) -> Option<Watts> {
        let time = self.reply.timing.end.since(self.reply.timing.start);
        let energy = self.energy.headline()?;
        (!time.is_zero()).then(|| energy / time)
    }

    /// Energy on the basis per output token, in joules.
    pub fn joules_per_output_token(&self) -> Option<f64> {
        per(self.energy.headline()?.joules(), self.reply.tokens.output)
    }

    /// Energy on the basis per token, in joules.
    pub fn joules_per_token(&self) -> Option<f64> {
        per(self.energy.headline()?.joules(), self.total_tokens())
    }

    /// Energy-delay product: energy on the basis × time from start to end, in joule-seconds. Lower
    /// is better.
    pub fn energy_delay(&self) -> Option<f64> {
        let time = self.reply.timing.end.since(self.reply.timing.start);
        let is_answered = self.reply.outcome.is_answered();
        let energy = self.energy.headline().filter(|_| is_answered)?;
        Some(energy.joules() * time.as_secs_f64())
    }

    /// Floating-point operations per token, over prompt and reply.
    pub fn flops_per_token(&self) -> Option<f64> {
        per(self.reply.compute?.flops, self.total_tokens())
    }

    /// Floating-point operations per joule on the basis.
    pub fn flops_per_joule(&self) -> Option<f64> {
        let joules = self.energy.headline()?.joules();
        Some(self.reply.compute?.flops / joules).filter(|ratio| ratio.is_finite())
    }

    /// Latencies from the moment the request was sent.
    pub fn latency(&self) -> Latency {
        match self.reply.timing.sent {
            Some(sent) => Latency::of(&self.reply, sent),
            None => Latency::default(),
        }
    }

    /// Latencies from the moment the request was due: they include the wait before sending.
    pub fn planned_latency(&self) -> Latency {
        Latency::of(&self.reply, self.due)
    }

    /// Input and output tokens; `None` unless both are known.
    pub fn total_tokens(&self) -> Option<u64> {
        let TokenCounts { input, output, .. } = self.reply.tokens;
        input?.checked_add(output?)
    }

    /// Delay of the attempt's start.
    pub fn schedule_lag(&self) -> Duration {
        self.reply.timing.start.since(self.due)
    }
}

/// `value` per `count`; `None` for a count of zero.
fn per(value: f64, count: Option<u64>) -> Option<f64> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a reply has fewer than 2^52 tokens"
    )]
    let count = count.filter(|count| *count > 0)? as f64;
    Some(value / count)
}

/// Latencies of one reply; `None` for missing values, and throughout for an unanswered query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Latency {
    /// From the origin to the first token.
    pub first_token: Option<Duration>,
    /// From the origin to the end.
    pub total: Option<Duration>,
    /// Milliseconds from the origin to the end, per output token.
    pub per_token_ms: Option<f64>,
    /// Output tokens per second from the origin to the end.
    pub tokens_per_second: Option<f64>,
    /// Gaps between chunks with content.
    pub gaps: Option<Gaps>,
}

/// Gaps between successive chunks with content, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gaps {
    /// The median gap.
    pub median_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Sample standard deviation; `None` for a single gap.
    pub deviation_ms: Option<f64>,
}

impl Latency {
    fn of(reply: &Reply, origin: Timestamp) -> Self {
        if !reply.outcome.is_answered() {
            return Self::default();
        }
        let total = reply.timing.end.since(origin);
        let output = reply
            .tokens
            .output
            .filter(|output| *output > 0 && !total.is_zero());
        #[expect(
            clippy::cast_precision_loss,
            reason = "a reply has fewer than 2^52 tokens"
        )]
        let output = output.map(|output| output as f64);
        Self {
            first_token: reply.timing.first_token.map(|first| first.since(origin)),
            total: Some(total),
            per_token_ms: output.map(|output| total.as_secs_f64() * 1e3 / output),
            tokens_per_second: output.map(|output| output / total.as_secs_f64()),
            gaps: Gaps::between(&reply.timing.chunks),
        }
    }
}

impl Gaps {
    fn between(chunks: &[Timestamp]) -> Option<Self> {
        let mut gaps: Vec<f64> = chunks
            .windows(2)
            .map(|pair| pair[1].since(pair[0]).as_secs_f64() * 1e3)
            .collect();
        let deviation_ms = standard_deviation(&gaps);
        gaps.sort_by(f64::total_cmp);
        Some(Self {
            median_ms: quantile(&gaps, 0.5)?,
            p90_ms: quantile(&gaps, 0.9)?,
            p95_ms: quantile(&gaps, 0.95)?,
            p99_ms: quantile(&gaps, 0.99)?,
            deviation_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::reply::{Exchange, Failure, Outcome, ServiceTiming, Timing};

    const MS: u64 = 1_000_000;

    fn at(milliseconds: u64) -> Timestamp {
        Timestamp::from_nanos(milliseconds * MS)
    }

    fn record(outcome: Outcome, output: Option<u64>, chunks: &[u64]) -> Record {
        let chunks: Vec<_> = chunks.iter().map(|chunk| at(*chunk)).collect();
        let timing = Timing {
            sent: Some(at(1000)),
            first_token: chunks.first().copied(),
            chunks,
            end: at(2000),
            ..Timing::begun(at(999))
        };
        Record {
            query: Query {
                index: 0,
                id: "0".into(),
                problem: String::new(),
                messages: Vec::new(),
                turn: None,
                answer: None,
                subject: None,
                metadata: Map::new(),
                parameters: Map::new(),
            },
            part: 0,
            due: at(900),
            reply: Reply {
                outcome,
                error: None,
                answer: String::new(),
                reasoning: None,
                tool_calls: None,
                finish_reason: None,
                tokens: TokenCounts {
                    input: Some(5),
                    output,
                    ..TokenCounts::default()
                },
                token_source: None,
                token_note: None,
                timing,
                exchange: Exchange::default(),
                service_timing: ServiceTiming::default(),
                compute: None,
            },
            energy: QueryEnergy::default(),
            grade: Grade::unscored(None, "no scorer"),
            kept: None,
        }
    }

    #[test]
    fn ten_tokens_in_a_second() {
        let record = record(Outcome::Complete, Some(10), &[1100, 1200, 1400]);
        let latency = record.latency();
        assert_eq!(latency.per_token_ms, Some(100.0));
        assert_eq!(latency.tokens_per_second, Some(10.0));
        assert_eq!(latency.first_token, Some(Duration::from_millis(100)));
        assert_eq!(latency.gaps.map(|gaps| gaps.median_ms), Some(150.0));
        assert_eq!(record.total_tokens(), Some(15));
    }

    #[test]
    fn planned_latency_counts_from_due() {
        let record = record(Outcome::Complete, Some(10), &[1100]);
        assert_eq!(
            record.planned_latency().total,
            Some(Duration::from_millis(1100))
        );
        assert_eq!(
            record.planned_latency().first_token,
            Some(Duration::from_millis(200))
        );
        assert_eq!(record.schedule_lag(), Duration::from_millis(99));
    }

    #[test]
    fn no_tokens_no_rate_and_no_first_token() {
        let latency = record(Outcome::Complete, Some(0), &[]).latency();
        assert_eq!(latency.per_token_ms, None);
        assert_eq!(latency.tokens_per_second, None);
        assert_eq!(latency.first_token, None);
        assert_eq!(latency.total, Some(Duration::from_secs(1)));
        assert_eq!(latency.gaps, None);
    }

    #[test]
    fn one_chunk_has_no_gap_and_two_have_no_deviation() {
        assert_eq!(
            record(Outcome::Complete, Some(1), &[1100]).latency().gaps,
            None
        );
        let gaps = record(Outcome::Complete, Some(2), &[1100, 1300])
            .latency()
            .gaps
            .unwrap();
        assert_eq!((gaps.median_ms, gaps.deviation_ms), (200.0, None));
    }

    #[test]
    fn a_failed_query_has_no_latency() {
        let failed = record(Outcome::Failed(Failure::Closed), Some(3), &[1100, 1200]);
        assert_eq!(failed.latency(), Latency::default());
        assert_eq!(failed.total_tokens(), Some(8));
    }

    #[test]
    fn unknown_tokens_stay_unknown() {
        let record = record(Outcome::Complete, None, &[1100]);
        assert_eq!(record.total_tokens(), None);
        assert_eq!(record.latency().tokens_per_second, None);
    }
}
