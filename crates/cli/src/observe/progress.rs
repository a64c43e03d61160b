//! The progress bar; without a terminal, single lines for important events.

use std::borrow::Cow;
use std::fmt::Write;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use ipw_core::event::{Event, Notice, Observer};
use ipw_core::quantity::Unit;
use ipw_core::text::printable;

use crate::screen;

/// A terminal with fewer columns shows no bar, only the message.
const NARROW: usize = 60;

pub(crate) struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    failed: u64,
    joules: f64,
    tokens: u64,
    busy: Busy,
    basis: Option<Cow<'static, str>>,
}

/// Time during which at least one query was in flight.
#[derive(Default)]
struct Busy {
    /// Disjoint intervals in order, which may still grow.
    open: Vec<(f64, f64)>,
    /// Total length in seconds of the intervals before them.
    closed: f64,
}

/// Queries finish nearly in order, so intervals beyond this number no longer grow.
const MOST_OPEN: usize = 1024;

impl Busy {
    fn add(&mut self, start: f64, end: f64) {
        let before = self.open.partition_point(|(_, until)| *until < start);
        let after = self.open.partition_point(|(from, _)| *from <= end);
        let merged = self.open[before..after].iter().fold(
            (start, end),
            |(from, until), (other_from, other_until)| {
                (from.min(*other_from), until.max(*other_until))
            },
        );
        self.open.splice(before..after, [merged]);
        if self.open.len() > MOST_OPEN {
            let (from, until) = self.open.remove(0);
            self.closed += until - from;
        }
    }

    fn seconds(&self) -> f64 {
        let open: f64 = self.open.iter().map(|(from, until)| until - from).sum();
        self.closed + open
    }
}

impl Progress {
    pub(crate) fn new() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self {
            bar: ProgressBar::hidden(),
            is_terminal,
            failed: 0,
            joules: 0.0,
            tokens: 0,
            busy: Busy::default(),
            basis: None,
        }
    }

    fn start(&mut self, queries: Option<u64>) {
        let is_narrow = screen::width() < NARROW;
        let bar = queries.map_or_else(ProgressBar::no_length, ProgressBar::new);
        let template = match queries {
            Some(_) if is_narrow => "{pos}/{len} {wide_msg}",
            Some(_) => "{msg} {wide_bar} {pos}/{len} {rate} ETA {eta}",
            None if is_narrow => "{pos} {wide_msg}",
            None => "{msg} {spinner} {pos} {rate}",
        };
        let style = ProgressStyle::with_template(template)
            .expect("the template is fixed")
            .with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
                let _ = write!(out, "{:.1}/s", state.per_sec());
            });
        bar.set_style(style);
        bar.set_message("warm-up");
        self.bar = bar;
    }

    /// Joules, watts, joules per token and failures so far; an estimate is marked.
    fn message(&self) -> String {
        let mut text = "profiling".to_owned();
        if let Some(basis) = &self.basis {
            let about = if basis.ends_with("estimated") {
                "~"
            } else {
                ""
            };
            let _ = write!(text, " {about}{}", Unit::Joules.show(self.joules));
            let busy = self.busy.seconds();
            if busy > 0.0 {
                let _ = write!(text, " {about}{}", Unit::Watts.show(self.joules / busy));
            }
            #[expect(clippy::cast_precision_loss, reason = "a display of three digits")]
            if self.tokens > 0 {
                let per_token = Unit::Joules.show(self.joules / self.tokens as f64);
                let _ = write!(text, " {about}{per_token}/output token");
            }
            if !about.is_empty() {
                text.push_str(" (estimated)");
            }
        }
        if self.failed > 0 {
            let _ = write!(text, " {} failed", self.failed);
        }
        text
    }

    fn say(&self, text: &str) {
        let text = printable(text);
        if self.is_terminal {
            self.bar.println(text);
        } else {
            screen::talk(&text);
        }
    }
}

impl Observer for Progress {
    fn notice(&mut self, notice: &Notice) {
        match &notice.event {
            Event::RunStarted { queries, .. } if self.is_terminal => self.start(*queries),
            Event::RunStarted {
                queries, directory, ..
            } => {
                let queries = queries.map_or(String::new(), |queries| format!("{queries} "));
                self.say(&format!("sending {queries}queries; rows go to {directory}"));
            }
            Event::WarmedUp {
                number,
                of,
                outcome,
            } => {
                self.bar.set_message(format!("warm-up {number}/{of}"));
                self.bar.tick();
                if number == of {
                    self.bar.reset_eta();
                    self.bar.set_message("profiling");
                }
                if outcome.starts_with("failed") || outcome == "timed_out" {
                    self.say(&format!(
                        "warning: warm-up query {number} ended as {outcome}"
                    ));
                }
            }
            Event::QueryFinished {
                outcome,
                joules,
                basis,
                output_tokens,
                start_seconds,
                end_seconds,
                ..
            } => {
                self.bar.inc(1);
                if outcome.starts_with("failed") || outcome == "timed_out" {
                    self.failed += 1;
                }
                if let Some(joules) = joules {
                    self.joules += joules;
                    self.tokens += output_tokens.unwrap_or(0);
                    self.busy.add(*start_seconds, *end_seconds);
                    self.basis.clone_from(basis);
                }
                self.bar.set_message(self.message());
            }
            Event::Warning { message } => self.say(&format!("warning: {message}")),
            Event::Note { message } => self.say(&format!("note: {message}")),
            // The signal handler has already answered.
            Event::Idling { seconds } if self.is_terminal => {
                self.bar.set_message(format!("idle for {seconds:.0} s"));
            }
            Event::Idling { .. } | Event::Stopping { .. } => {}
            Event::RunFinished { .. } => self.bar.finish_and_clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_is_the_union_of_the_queries() {
        let mut busy = Busy::default();
        for (start, end) in [(0.0, 2.0), (1.0, 3.0), (5.0, 6.0), (2.5, 5.5), (8.0, 9.0)] {
            busy.add(start, end);
        }
        assert!((busy.seconds() - 7.0).abs() < 1e-12);
        for number in 0..3000 {
            let start = 10.0 + f64::from(number);
            busy.add(start, start + 0.5);
        }
        assert!((busy.seconds() - 1507.0).abs() < 1e-6);
        assert!(busy.open.len() <= MOST_OPEN);
    }
}
