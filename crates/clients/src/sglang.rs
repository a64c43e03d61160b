//! `SGLang`: the OpenAI API, and the server's launch settings.

use serde_json::Value;

use crate::openai::flavour::{
    API, CONTINUOUS_USAGE, Flavour, INCLUDE_USAGE, Place, Question, RESERVED, ServerInfo, Switch,
    model_name, number, text,
};
use crate::{ClientInfo, Entry, openai};

/// Launch settings that are kept: none that may hold a key or a path.
const FLAGS: [&str; 14] = [
    "attention_backend",
    "chunked_prefill_size",
    "disable_cuda_graph",
    "disable_radix_cache",
    "dp_size",
    "dtype",
    "kv_cache_dtype",
    "max_running_requests",
    "max_total_num_tokens",
    "mem_fraction_static",
    "schedule_policy",
    "speculative_algorithm",
    "speculative_num_draft_tokens",
    "tp_size",
];

static FLAVOUR: Flavour = Flavour {
    known: KNOWN,
    name: "SGLang",
    health: Some("/health"),
    switches: &[Switch {
        name: CONTINUOUS_USAGE.0,
        place: Place::StreamOptions,
    }],
    questions: &[
        Question {
            // The newer name first.
            endpoints: &["/server_info", "/get_server_info"],
            learn: server,
        },
        Question {
            endpoints: &["/get_model_info"],
            learn: model,
        },
    ],
};

const KNOWN: ClientInfo = ClientInfo {
    id: "sglang",
    summary: "SGLang's OpenAI server, with its version, model and flags",
    default_url: "http://127.0.0.1:30000/v1",
    params: &[API, INCLUDE_USAGE, CONTINUOUS_USAGE],
    reserved: RESERVED,
    required: &[],
};

pub(crate) const CLIENT: Entry =
    Flavour::entry(|spec, clock| openai::make(&FLAVOUR, spec, clock), KNOWN);

fn server(answer: &Value, _model: Option<&str>, about: &mut ServerInfo) {
    about.version = text(answer, "/version");
    about.quantization = text(answer, "/quantization");
    about.context_length = number(answer, "/context_length");
    about.model = text(answer, "/model_path").map(|path| model_name(&path));
    about.flags_of(answer, &FLAGS);
}

fn model(answer: &Value, _model: Option<&str>, about: &mut ServerInfo) {
    let name = text(answer, "/model_path").map(|path| model_name(&path));
    about.model = name.or(about.model.take());
}
