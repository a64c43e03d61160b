//! The body of a request to the messages API.

use ipw_core::client::Request;
use serde_json::{Map, Value};

use super::{KNOWN, messages};
use crate::ClientError;
use crate::message::apart;

/// The request as JSON, with only the fields that were asked for. Fails without `max_tokens`: the
/// API requires it and `ipw` sets no default.
pub(super) fn body(request: &Request<'_>) -> Result<Vec<u8>, String> {
    let is_reserved = |name: &str| KNOWN.reserved.contains(&name);
    let parameters = request.parameters.iter();
    let mut body: Map<String, Value> = parameters
        .filter(|(name, _)| !is_reserved(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    own_names(&mut body);
    messages::own_tools(&mut body)?;
    for (name, meaning) in KNOWN.required {
        if !body.contains_key(*name) {
            let missing = ClientError::Required {
                client: KNOWN.id,
                name,
                meaning,
            };
            return Err(missing.to_string());
        }
    }
    let (system, asked) = apart(request);
    if let Some(system) = system {
        body.insert("system".to_owned(), system.into());
    }
    body.insert("model".to_owned(), request.model.into());
    body.insert("messages".to_owned(), messages::messages(&asked)?);
    body.insert("stream".to_owned(), true.into());
    Ok(serde_json::to_vec(&body).expect("JSON values serialize"))
}

/// Converts OpenAI's parameter names, unless the API's own name is set too.
fn own_names(body: &mut Map<String, Value>) {
    if let Some(limit) = body.remove("max_completion_tokens") {
        body.entry("max_tokens").or_insert(limit);
    }
    if let Some(stop) = body.remove("stop") {
        let stop = match stop {
            Value::String(text) => vec![text].into(),
            other => other,
        };
        body.entry("stop_sequences").or_insert(stop);
    }
}
