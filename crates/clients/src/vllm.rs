//! vLLM (`vllm serve`): the OpenAI API, and the server's version and maximum context.

use serde_json::Value;

use crate::openai::flavour::{
    API, CONTINUOUS_USAGE, Flavour, INCLUDE_USAGE, MODELS, Place, Question, RESERVED, ServerInfo,
    Switch, listed, model_name, number, text,
};
use crate::{ClientInfo, Entry, openai};

static FLAVOUR: Flavour = Flavour {
    known: KNOWN,
    name: "vLLM",
    health: Some("/health"),
    switches: &[Switch {
        name: CONTINUOUS_USAGE.0,
        place: Place::StreamOptions,
    }],
    questions: &[
        Question {
            endpoints: &["/version"],
            learn: version,
        },
        Question {
            endpoints: &[MODELS],
            learn: models,
        },
    ],
};

const KNOWN: ClientInfo = ClientInfo {
    id: "vllm",
    summary: "vLLM's OpenAI server (`vllm serve`), with its version and context",
    default_url: "http://127.0.0.1:8000/v1",
    params: &[API, INCLUDE_USAGE, CONTINUOUS_USAGE],
    reserved: RESERVED,
    required: &[],
};

pub(crate) const CLIENT: Entry =
    Flavour::entry(|spec, clock| openai::make(&FLAVOUR, spec, clock), KNOWN);

fn version(answer: &Value, _model: Option<&str>, about: &mut ServerInfo) {
    about.version = text(answer, "/version");
}

fn models(answer: &Value, model: Option<&str>, about: &mut ServerInfo) {
    let Some(model) = listed(answer, model) else {
        return;
    };
    // `root` is the loaded model; `id` may be an alias.
    about.model = text(model, "/root").map(|root| model_name(&root));
    about.context_length = number(model, "/max_model_len");
}
