//! Next steps after a first run. If a service answers on a usual port, the command for it.

use ipw::discover::FoundService;
use ipw_core::text::printable;

/// Text at the end of a run on the embedded engine.
pub(crate) fn advice(found: &[FoundService], run: &str) -> String {
    let mut lines = vec!["\nWhat next?".to_owned()];
    for FoundService { url, models } in found {
        // A service with one model needs no `--model`.
        let model = match models.as_slice() {
            [] => " --model NAME".to_owned(),
            [_] => String::new(),
            [first, ..] => format!(" --model {}", quoted(&printable(first))),
        };
        lines.push(format!("  measure the service at {url}:"));
        lines.push(format!(
            "    ipw profile --client openai --client-base-url {url}{model}"
        ));
    }
    if found.is_empty() {
        lines.push("  measure your own server:".to_owned());
        lines.push(
            "    ipw profile --client openai --client-base-url http://127.0.0.1:8080".to_owned(),
        );
        lines.push("  serve this model over an OpenAI-compatible API:".to_owned());
        lines.push("    ipw serve".to_owned());
    }
    lines.push("  use your own questions, one JSON object per line:".to_owned());
    lines.push("    ipw profile --dataset questions.jsonl".to_owned());
    lines.push("  show this run again, and the energy sources of this machine:".to_owned());
    lines.push(format!("    ipw show {}", quoted(&printable(run))));
    lines.push("    ipw doctor\n".to_owned());
    lines.join("\n")
}

/// Quotes a word for a shell.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_found_service_gets_its_command() {
        let found = |models: &[&str]| FoundService {
            url: "http://127.0.0.1:8080".to_owned(),
            models: models.iter().map(|model| (*model).to_owned()).collect(),
        };
        let one = advice(&[found(&["a"])], "runs/x");
        assert!(
            one.contains("--client-base-url http://127.0.0.1:8080\n"),
            "{one}"
        );
        let two = advice(&[found(&["it's", "b"])], "runs/x");
        assert!(two.contains(r"--model 'it'\''s'"), "{two}");
        assert!(!two.contains("ipw serve"), "{two}");
        assert!(advice(&[], "runs/x").contains("ipw serve"));
    }
}
