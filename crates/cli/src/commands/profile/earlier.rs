//! What earlier parts of a run left to the one that goes on.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context;
use ipw_core::chat::Message;
use ipw_runner::Recall;
use ipw_store::Run;
use ipw_store::resume::{self, Again, Left};

use crate::args::ProfileArgs;
use crate::error::{CliError, Exit};
use crate::screen;

/// What earlier parts left, and what they heard in conversations that go on; nothing for a new run.
pub(super) fn look(args: &ProfileArgs) -> Result<(Left, Recall), CliError> {
    let Some(directory) = &args.resume else {
        return Ok((Left::default(), recall(HashMap::new())));
    };
    let run = Run::open(directory).map_err(|error| CliError::new(Exit::Usage, error))?;
    let left = resume::look(&run, again(args)).context("looking at the rows")?;
    if left.again > 0 && !args.quiet {
        let what = match again(args) {
            Again::Cancelled => "were cut off by the interrupt",
            Again::Unanswered => "have no answer",
        };
        screen::talk(&format!(
            "note: {} queries {what}; they are sent again",
            left.again
        ));
    }
    if left.failed > 0 && !args.retry_failed && !args.quiet {
        screen::talk(&format!(
            "note: {} queries have no answer; `--retry-failed` sends them again",
            left.failed
        ));
    }
    let heard = resume::replies(&run, &left).context("looking at the rows")?;
    Ok((left, recall(heard)))
}

/// Which queries that have a row are sent again.
pub(super) fn again(args: &ProfileArgs) -> Again {
    if args.retry_failed {
        Again::Unanswered
    } else {
        Again::Cancelled
    }
}

fn recall(heard: HashMap<u64, Option<Message>>) -> Recall {
    Arc::new(move |index| {
        let heard = heard.get(&index).cloned();
        heard.ok_or_else(|| "the run has no row for it".to_owned())
    })
}
