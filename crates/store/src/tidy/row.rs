//! What the flat table says of a row, whatever version wrote it.

use ipw_core::row::Row;

use super::Maker;

/// A row on its way into the table.
pub(super) struct TidyRow<'a> {
    pub(super) row: Row<'a>,
    pub(super) maker: &'a Maker<'a>,
}

/// Where a time counts from.
#[derive(Clone, Copy)]
pub(super) enum From {
    Planned,
    Sent,
}

impl<'a> TidyRow<'a> {
    /// How it ended, and other things that the original does not write.
    fn ours<T>(&self, value: T) -> Option<T> {
        (!self.maker.run.is_original()).then_some(value)
    }

    pub(super) fn outcome(&self) -> Option<&'a str> {
        self.ours(self.row.outcome)
    }

    pub(super) fn part(&self) -> Option<i64> {
        self.ours(i64::from(self.row.part))
    }

    pub(super) fn basis(&self) -> Option<&'a str> {
        self.ours(self.row.energy.basis)?
    }

    /// The kind of a failure.
    pub(super) fn error_kind(&self) -> Option<&'a str> {
        self.outcome()?.strip_prefix("failed:")
    }

    fn span(&self, from: From, to: Option<f64>) -> Option<f64> {
        let from = match from {
            From::Planned => self.row.due,
            From::Sent => self.row.sent,
        };
        length(from?, to.filter(|_| self.row.is_answered)?)
    }

    pub(super) fn ttft(&self, from: From) -> Option<f64> {
        let seconds = self.span(from, self.row.first_token);
        seconds.or(self.row.time_to_first_token)
    }

    pub(super) fn latency(&self, from: From) -> Option<f64> {
        self.span(from, self.row.end).or(self.row.total)
    }

    /// (Last chunk − first chunk) ÷ (output tokens − 1).
    #[expect(
        clippy::cast_precision_loss,
        reason = "a reply has fewer than 2^52 tokens"
    )]
    pub(super) fn tpot(&self) -> Option<f64> {
        let tokens = self.row.output_tokens.filter(|tokens| *tokens >= 2)?;
        match self.row.chunks {
            [first, .., last] if self.row.is_answered => {
                Some(length(*first, *last)? / (tokens - 1) as f64)
            }
            _ => None,
        }
    }

    /// Its own share of the power: its joules ÷ (end − start).
    pub(super) fn watts(&self) -> Option<f64> {
        if !self.maker.run.is_original() {
            return self.row.energy.share_watts;
        }
        let seconds = self.row.total.filter(|seconds| *seconds > 0.0)?;
        Some(self.row.energy.joules? / seconds)
    }

    /// Joules before the first token, where that time is prefill and not also waiting.
    pub(super) fn prefill(&self) -> Option<f64> {
        let is_prefill = self.row.phases.is_prefill()?;
        self.row.phases.before.filter(|_| is_prefill)
    }

    /// The smallest covered share of the window among the sources that count.
    pub(super) fn coverage(&self) -> Option<f64> {
        let shares = self.row.shares.iter();
        let counted = shares.filter(|share| self.maker.counted.contains(share.name));
        counted.filter_map(|share| share.coverage).reduce(f64::min)
    }
}

/// From one instant to a later one.
fn length(from: f64, to: f64) -> Option<f64> {
    Some(to - from).filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
}
