//! Samples through `powermetrics`, which needs root.

use std::io::BufReader;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use ipw_core::time::Clock;
use rustix::process::geteuid;

use super::super::chip::{Feed, INTERVAL, Sample, Survey};
use super::super::powermetrics::{ARGUMENTS, SampleError, next};
use crate::PollError;

const PROGRAM: &str = "/usr/bin/powermetrics";

/// The program takes a moment to start, and is late at times.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Number of samples that may wait for the poll.
const WAITING: usize = 4;

/// The running program; dropping this ends it.
struct Program {
    child: Child,
    samples: Receiver<Result<Sample, SampleError>>,
}

impl Program {
    fn start() -> Result<Self, String> {
        if !geteuid().is_root() {
            return Err("`powermetrics` needs root".to_owned());
        }
        let mut child = Command::new(PROGRAM)
            .args(ARGUMENTS)
            .args(["-i", &INTERVAL.as_millis().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start `{PROGRAM}`: {error}"))?;
        let stream = child.stdout.take().ok_or("`powermetrics` has no output")?;
        let (sender, samples) = sync_channel(WAITING);
        let running = Self { child, samples };
        std::thread::Builder::new()
            .name("ipw-powermetrics".to_owned())
            .spawn(move || pass_on(stream, &sender))
            .map_err(|error| error.to_string())?;
        Ok(running)
    }

    fn next(&self) -> Result<Sample, String> {
        match self.samples.recv_timeout(LONGEST_WAIT) {
            Ok(sample) => sample.map_err(|error| error.to_string()),
            Err(RecvTimeoutError::Timeout) => Err("`powermetrics` writes no sample".to_owned()),
            Err(RecvTimeoutError::Disconnected) => Err("`powermetrics` has ended".to_owned()),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Forwards samples until the stream ends or the receiver is dropped.
fn pass_on(stream: ChildStdout, sender: &SyncSender<Result<Sample, SampleError>>) {
    let mut stream = BufReader::new(stream);
    loop {
        let sample = next(&mut stream);
        let is_over = matches!(sample, Err(SampleError::Ended | SampleError::Stream(_)));
        if sender.send(sample).is_err() || is_over {
            return;
        }
    }
}

/// Inspects the chip over at most `samples` samples. The program is started again for the polls:
/// samples that it wrote in between would delay all later ones.
pub(super) fn look(samples: u32) -> Result<(Survey, Feed), String> {
    let running = Program::start()?;
    let mut look = Survey::new();
    for _ in 0..samples {
        look.see(&running.next()?);
        if look.is_settled() {
            break;
        }
    }
    Ok((look, feed()))
}

fn feed() -> Feed {
    let mut running: Option<Program> = None;
    let next = move |clock: &dyn Clock| {
        let program = match running.take() {
            Some(program) => program,
            None => Program::start().map_err(PollError::Gone)?,
        };
        // After a failure, the next poll starts the program again.
        let sample = program.next().map_err(PollError::Gone)?;
        running = Some(program);
        Ok((clock.now(), sample))
    };
    Feed {
        next: Box::new(next),
        is_paced: true,
    }
}
