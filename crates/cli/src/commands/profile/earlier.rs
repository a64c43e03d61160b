//! What earlier parts of a run left to the one that goes on.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context;
use ipw_core::chat::Message;
use ipw_runner::Recall;
use ipw_store::Run;
use ipw_store::resume::{self, Left};

use crate::args::ProfileArgs;
use crate::error::{CliError, Exit};
use crate::screen;

/// What earlier parts left, and what they heard in conversations that go on; nothing for a new run.
pub(super) fn look(args: &ProfileArgs) -> Result<(Left, Recall), CliError> {
    let Some(directory) = &args.resume else {
        return Ok((Left::default(), recall(HashMap::new())));
    };
    let run = Run::open(directory).map_err(|error| CliError::new(Exit::Usage, error))?;
    let left = resume::look(&run, args.retry_failed).context("looking at the rows")?;
    if left.failed > 0 && !args.retry_failed && !args.quiet {
        screen::talk(&format!(
            "note: {} queries have no answer; `--retry-failed` sends them again",
            left.failed
        ));
    }
    let heard = resume::replies(&run, &left).context("looking at the rows")?;
    Ok((left, recall(heard)))
}

fn recall(heard: HashMap<u64, Option<Message>>) -> Recall {
    Arc::new(move |index| {
        let heard = heard.get(&index).cloned();
        heard.ok_or_else(|| "the run has no row for it".to_owned())
    })
}
