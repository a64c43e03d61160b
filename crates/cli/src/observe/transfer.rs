//! Progress of downloads: a bar on a terminal; without one, single lines.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressStyle};
use ipw_core::text::printable;
use ipw_hub::{Progress, bytes_in_words};

use crate::error::CliError;
use crate::screen;

const MEASURED: &str =
    "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} ETA {eta}";
const UNMEASURED: &str = "{msg} {spinner} {decimal_bytes} {decimal_bytes_per_sec}";

pub(crate) struct Transfer {
    bar: ProgressBar,
    is_quiet: bool,
    is_terminal: bool,
    /// A failure that is not printed yet: the last one becomes the error.
    failure: Option<String>,
}

impl Transfer {
    /// Shows the downloads of `work`.
    pub(crate) fn during<T>(
        quiet: bool,
        work: impl FnOnce(&mut dyn FnMut(Progress)) -> Result<T, ipw::Error>,
    ) -> Result<T, CliError> {
        let mut transfer = Self::new(quiet);
        let done = work(&mut |progress| transfer.show(progress));
        transfer.end();
        Ok(done?)
    }

    fn new(quiet: bool) -> Self {
        Self {
            bar: ProgressBar::hidden(),
            is_quiet: quiet,
            is_terminal: std::io::stderr().is_terminal(),
            failure: None,
        }
    }

    fn show(&mut self, progress: Progress) {
        if self.is_quiet {
            return;
        }
        match progress {
            Progress::Waiting { .. } => {
                self.say("another process is downloading this file; waiting for it");
            }
            Progress::Trying { source } => {
                if let Some(failure) = self.failure.take() {
                    self.say(&format!("note: {failure}"));
                }
                self.say(&format!("downloading from {source}"));
            }
            Progress::Checking { done, total } => {
                if self.bar.length() != Some(total) {
                    self.start(Some(total), "verifying");
                }
                self.bar.set_position(done);
            }
            Progress::Started { resumed, total } => {
                if resumed > 0 {
                    self.say(&format!("{} already downloaded", bytes_in_words(resumed)));
                }
                self.start(total, "downloading");
                self.bar.set_position(resumed);
                // Bytes of an earlier download say nothing about the current speed.
                self.bar.reset_eta();
            }
            Progress::Received { done, .. } => self.bar.set_position(done),
            Progress::Again { reason } => self.say(&format!("note: {reason}; retrying")),
            Progress::Failed { source, reason } => {
                self.failure = Some(format!("{source}: {reason}"));
            }
            _ => {}
        }
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn start(&mut self, total: Option<u64>, what: &'static str) {
        self.bar.finish_and_clear();
        if !self.is_terminal {
            return;
        }
        let (bar, template) = match total {
            Some(total) => (ProgressBar::new(total), MEASURED),
            None => (ProgressBar::no_length(), UNMEASURED),
        };
        bar.set_style(ProgressStyle::with_template(template).expect("the template is fixed"));
        bar.set_message(what);
        self.bar = bar;
    }

    fn say(&self, text: &str) {
        self.bar.suspend(|| screen::talk(&printable(text)));
    }
}
