//! llama.cpp's `llama-server`: the OpenAI API with the server's timings, and facts from `/props`
//! and `/slots`.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::openai::flavour::{
    API, Flavour, INCLUDE_USAGE, MODELS, Place, Question, RESERVED, ServerInfo, Switch, listed,
    model_name, number, text,
};
use crate::{ClientInfo, Entry, openai};

static FLAVOUR: Flavour = Flavour {
    known: KNOWN,
    name: "llama.cpp",
    health: Some("/health"),
    switches: &[
        Switch {
            name: "cache_prompt",
            place: Place::Body,
        },
        Switch {
            name: "timings_per_token",
            place: Place::Body,
        },
    ],
    questions: &[
        Question {
            endpoints: &["/props"],
            learn: props,
        },
        Question {
            endpoints: &[MODELS],
            learn: models,
        },
        Question {
            // Off in many builds unless the server was started with `--slots`.
            endpoints: &["/slots"],
            learn: slots,
        },
    ],
};

const KNOWN: ClientInfo = ClientInfo {
    id: "llamacpp",
    summary: "llama.cpp's `llama-server`: OpenAI's API with its own timings, and /props",
    default_url: "http://127.0.0.1:8080/v1",
    params: &[
        API,
        INCLUDE_USAGE,
        (
            "cache_prompt",
            "`false` turns prompt caching off; the server's default is on",
        ),
        (
            "timings_per_token",
            "`true` asks for the server's timings in every chunk, so that incomplete replies have them",
        ),
    ],
    reserved: RESERVED,
    required: &[],
};

pub(crate) const CLIENT: Entry =
    Flavour::entry(|spec, clock| openai::make(&FLAVOUR, spec, clock), KNOWN);

fn props(answer: &Value, _model: Option<&str>, about: &mut ServerInfo) {
    about.version = text(answer, "/build_info");
    about.context_length = number(answer, "/default_generation_settings/n_ctx");
    about.model = text(answer, "/model_path").map(|path| model_name(&path));
    about.quantization = about.model.as_deref().and_then(quantization);
    about.flags_of(answer, &["total_slots"]);
    // The template decides the model's input. It is long, so only its hash is kept.
    if let Some(template) = text(answer, "/chat_template") {
        let digest = format!("{:x}", Sha256::digest(template.as_bytes()));
        let name = "chat_template_sha256".to_owned();
        about.flags.insert(name, digest.into());
    }
}

/// Newer builds report the quantisation.
fn models(answer: &Value, model: Option<&str>, about: &mut ServerInfo) {
    let listed = listed(answer, model);
    let kind = listed.and_then(|model| text(model, "/meta/ftype"));
    about.quantization = kind.or(about.quantization.take());
}

fn slots(answer: &Value, _model: Option<&str>, about: &mut ServerInfo) {
    if let Some(slots) = answer.as_array() {
        about.flags.insert("slots".to_owned(), slots.len().into());
    }
}

/// The quantisation in a GGUF file's name, as llama.cpp's tools write it (`Q4_K_M`, `IQ2_XS`,
/// `BF16`). Older builds do not report it.
fn quantization(file: &str) -> Option<String> {
    let stem = file.strip_suffix(".gguf")?;
    stem.split(['-', '.'])
        .map(str::to_ascii_uppercase)
        .rfind(|part| {
            let rest = ["IQ", "TQ", "MXFP", "BF", "Q", "F"]
                .iter()
                .find_map(|kind| part.strip_prefix(kind));
            rest.is_some_and(|rest| {
                rest.starts_with(|first: char| first.is_ascii_digit())
                    && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantisation_is_read_off_the_files_name() {
        for (file, expected) in [
            ("SmolLM2-135M-Instruct.Q4_1.gguf", Some("Q4_1")),
            ("gemma-3-270m-q4_k_m.gguf", Some("Q4_K_M")),
            ("x-IQ2_XS.gguf", Some("IQ2_XS")),
            ("x-BF16.gguf", Some("BF16")),
            ("gpt-oss-20b-mxfp4.gguf", Some("MXFP4")),
            ("Qwen2.5-Coder-1.5B.gguf", None),
            ("x.safetensors", None),
            ("q.gguf", None),
        ] {
            assert_eq!(quantization(file).as_deref(), expected, "{file}");
        }
    }
}
