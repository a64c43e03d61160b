//! The progress bar; without a terminal, a line for what matters.

use std::borrow::Cow;
use std::fmt::Write;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use ipw_core::event::{Event, Notice, Observer};
use ipw_core::text::printable;

use crate::screen;

/// Below this many columns there is no room for a bar: what matters is cut to the line.
const NARROW: usize = 60;

pub(crate) struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    failed: u64,
    joules: f64,
    tokens: u64,
    seconds: f64,
    basis: Option<Cow<'static, str>>,
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
            seconds: 0.0,
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

    /// What is known so far: joules, watts, joules per token, failures. An estimate says so.
    fn message(&self) -> String {
        let mut text = "profiling".to_owned();
        if let Some(basis) = &self.basis {
            let about = if basis.ends_with("estimated") {
                "~"
            } else {
                ""
            };
            let _ = write!(text, " {about}{:.1} J", self.joules);
            if self.seconds > 0.0 {
                let _ = write!(text, " {about}{:.1} W", self.joules / self.seconds);
            }
            #[expect(clippy::cast_precision_loss, reason = "a display of three digits")]
            if self.tokens > 0 {
                let _ = write!(
                    text,
                    " {about}{:.3} J/token",
                    self.joules / self.tokens as f64
                );
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
                total_seconds,
                ..
            } => {
                self.bar.inc(1);
                if outcome.starts_with("failed") || outcome == "timed_out" {
                    self.failed += 1;
                }
                if let Some(joules) = joules {
                    self.joules += joules;
                    self.tokens += output_tokens.unwrap_or(0);
                    self.seconds += total_seconds.unwrap_or(0.0);
                    self.basis.clone_from(basis);
                }
                self.bar.set_message(self.message());
            }
            Event::Warning { message } => self.say(&format!("warning: {message}")),
            Event::Note { message } => self.say(&format!("note: {message}")),
            // Whoever told it to stop was answered at once.
            Event::Idling { seconds } if self.is_terminal => {
                self.bar.set_message(format!("idle for {seconds:.0} s"));
            }
            Event::Idling { .. } | Event::Stopping { .. } => {}
            Event::RunFinished { .. } => self.bar.finish_and_clear(),
        }
    }
}
