//! The progress bar; without a terminal, a line for what matters.

use std::fmt::Write;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use ipw_core::event::{Event, Notice, Observer};
use ipw_core::text::printable;

use crate::screen;

pub(crate) struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    failed: u64,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self {
            bar: ProgressBar::hidden(),
            is_terminal,
            failed: 0,
        }
    }

    fn start(&mut self, queries: Option<u64>) {
        let (bar, template) = match queries {
            Some(queries) => (
                ProgressBar::new(queries),
                "{msg:12} {wide_bar} {pos}/{len} {rate} ETA {eta}",
            ),
            None => (ProgressBar::no_length(), "{msg:12} {spinner} {pos} {rate}"),
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
            Event::QueryFinished { outcome, .. } => {
                self.bar.inc(1);
                if outcome.starts_with("failed") || outcome == "timed_out" {
                    self.failed += 1;
                    self.bar.set_message(format!("{} failed", self.failed));
                }
            }
            Event::Warning { message } => self.say(&format!("warning: {message}")),
            Event::Stopping { reason } => self.say(reason),
            Event::RunFinished { .. } => self.bar.finish_and_clear(),
        }
    }
}
