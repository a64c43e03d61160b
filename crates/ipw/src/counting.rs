//! Counts tokens with a tokenizer that the user names.

use std::path::Path;
use std::sync::Arc;

use ipw_core::query::Query;
use ipw_core::reply::Reply;
use ipw_hub::Progress;
use ipw_runner::Plan;
use ipw_store::Run;
use ipw_tokens::{SentQuery, TokenCounter};
use serde_json::json;

use crate::error::{Error, Kind};

/// Loads the tokenizer of this name, downloading it if missing.
pub fn load(named: &str, progress: &mut dyn FnMut(Progress)) -> Result<Arc<TokenCounter>, Error> {
    let loaded = ipw_tokens::load(named, None, progress);
    let counter = loaded.map_err(|error| {
        let kind = if error.is_usage() {
            Kind::Invalid
        } else {
            Kind::Unexpected
        };
        Error::new(kind, error)
    })?;
    Ok(Arc::new(counter))
}

/// A function that counts the tokens of every reply of this plan.
pub fn every_reply(counter: Arc<TokenCounter>, plan: &Plan) -> ipw_runner::TokenCounter {
    let plan = plan.clone();
    let is_raw = ipw_clients::is_raw(&plan.client);
    Arc::new(move |query: &Query, reply: &mut Reply| {
        let asked = SentQuery {
            query: &ipw_runner::as_sent(&plan.load, query),
            system: plan.generation.system.as_deref(),
            parameters: &plan.parameters_over(&query.parameters),
            is_raw,
        };
        counter.settle(&asked, reply);
    })
}

/// Warnings to show before the first query. `resumed` is the directory of a resumed run.
pub fn warnings(counter: Option<&TokenCounter>, resumed: Option<&Path>) -> Vec<String> {
    let Some(counter) = counter else {
        return Vec::new();
    };
    let mut warnings: Vec<_> = counter.note().into_iter().collect();
    let resumed = resumed.and_then(|directory| Run::open(directory).ok());
    let before = resumed.as_ref().map(Run::summary);
    let before = before.and_then(|summary| summary.client_info.as_ref()?.tokenizer_files());
    if before.is_some_and(|before| *before != json!(counter.about().files)) {
        warnings.push(format!(
            "the tokenizer `{}` differs from the one that counted the earlier rows",
            counter.about().from
        ));
    }
    warnings
}
