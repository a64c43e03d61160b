//! LM Studio: the OpenAI API, and facts from LM Studio's own list of models.

use serde_json::Value;

use crate::openai::flavour::{
    API, Flavour, INCLUDE_USAGE, Question, RESERVED, ServerInfo, listed, number, text,
};
use crate::{ClientInfo, Entry, openai};

static FLAVOUR: Flavour = Flavour {
    known: KNOWN,
    name: "LM Studio",
    health: None,
    switches: &[],
    questions: &[Question {
        endpoints: &["/api/v0/models"],
        learn: models,
    }],
};

const KNOWN: ClientInfo = ClientInfo {
    id: "lmstudio",
    summary: "LM Studio's OpenAI server, with the model's quantisation and context",
    default_url: "http://127.0.0.1:1234/v1",
    params: &[API, INCLUDE_USAGE],
    reserved: RESERVED,
    required: &[],
};

pub(crate) const CLIENT: Entry =
    Flavour::entry(|spec, clock| openai::make(&FLAVOUR, spec, clock), KNOWN);

fn models(answer: &Value, model: Option<&str>, about: &mut ServerInfo) {
    let Some(model) = listed(answer, model) else {
        return;
    };
    about.model = text(model, "/id");
    about.quantization = text(model, "/quantization");
    let loaded = number(model, "/loaded_context_length");
    about.context_length = loaded.or(number(model, "/max_context_length"));
    let flags = ["arch", "compatibility_type", "max_context_length", "state"];
    about.flags_of(model, &flags);
}
