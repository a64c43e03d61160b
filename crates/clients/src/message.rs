//! What is asked, as every chat API wants it.

use serde::Serialize;

use crate::client::Request;

/// One message of a chat.
#[derive(Serialize)]
pub(crate) struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

/// The system's text, if there is one, and the prompt.
pub(crate) fn messages<'a>(request: &Request<'a>) -> Vec<Message<'a>> {
    let mut messages = Vec::with_capacity(2);
    messages.extend(request.system.map(|content| Message {
        role: "system",
        content,
    }));
    messages.push(Message {
        role: "user",
        content: &request.query.problem,
    });
    messages
}
