//! Hugging Face's text-generation-inference: the OpenAI API, and facts from `/info`.
//!
//! Its times (`x-queue-time` and the like) are headers of unstreamed replies only, so streams have
//! none.

use serde_json::Value;

use crate::openai::flavour::{
    API, Flavour, INCLUDE_USAGE, Question, RESERVED, ServerInfo, model_name, number, text,
};
use crate::{ClientInfo, Entry, openai};

static FLAVOUR: Flavour = Flavour {
    known: KNOWN,
    name: "text-generation-inference",
    health: Some("/health"),
    switches: &[],
    questions: &[Question {
        endpoints: &["/info"],
        learn: info,
    }],
};

const KNOWN: ClientInfo = ClientInfo {
    id: "tgi",
    summary: "text-generation-inference: its OpenAI API, with its version, model and limits",
    default_url: "http://127.0.0.1:3000/v1",
    params: &[API, INCLUDE_USAGE],
    reserved: RESERVED,
    required: &[],
};

pub(crate) const CLIENT: Entry =
    Flavour::entry(|spec, clock| openai::make(&FLAVOUR, spec, clock), KNOWN);

fn info(answer: &Value, _model: Option<&str>, about: &mut ServerInfo) {
    about.version = text(answer, "/version");
    about.model = text(answer, "/model_id").map(|id| model_name(&id));
    about.context_length = number(answer, "/max_total_tokens");
    about.quantization = text(answer, "/quantize");
    let flags = [
        "docker_label",
        "max_batch_total_tokens",
        "max_concurrent_requests",
        "max_input_length",
        "max_input_tokens",
        "max_waiting_tokens",
        "model_device_type",
        "model_dtype",
        "model_sha",
        "sha",
        "validation_workers",
        "waiting_served_ratio",
    ];
    about.flags_of(answer, &flags);
}
