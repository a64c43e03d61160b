//! Chat templates: how the messages of a chat become the model's input.

use ipw_core::query::Query;
use ipw_core::text::with_causes;
use ipw_engine::template::{ChatTemplate, conversation};
use serde_json::Value;

/// A chat template.
pub(crate) struct Template(ChatTemplate);

impl Template {
    /// The template of a model file.
    pub(crate) fn of_file(template: ChatTemplate) -> Self {
        Self(template)
    }

    /// The template in `chat_template.jinja`, else in `tokenizer_config.json`; `None` if neither
    /// has one. The error says why it cannot be used.
    pub(crate) fn beside(
        config: Option<&[u8]>,
        jinja: Option<&[u8]>,
    ) -> Result<Option<Self>, String> {
        let config: Value = match config {
            Some(content) => serde_json::from_slice(content)
                .map_err(|error| format!("`tokenizer_config.json` is not JSON: {error}"))?,
            None => Value::Null,
        };
        let jinja = match jinja {
            Some(content) => Some(
                str::from_utf8(content)
                    .map_err(|error| format!("`chat_template.jinja` is not text: {error}"))?,
            ),
            None => of_config(&config["chat_template"]),
        };
        let Some(source) = jinja else {
            return Ok(None);
        };
        let (bos, eos) = (token(&config["bos_token"]), token(&config["eos_token"]));
        ChatTemplate::new(source, bos, eos)
            .map(|template| Some(Self(template)))
            .map_err(|error| with_causes(&error))
    }

    /// The model's input for this query; `None` if the template does not support it.
    pub(crate) fn render(&self, system: Option<&str>, query: &Query) -> Option<String> {
        self.0.render(&conversation(system, query).ok()?, true).ok()
    }
}

/// A text, or a list of named ones, of which the plain one is `default`.
fn of_config(value: &Value) -> Option<&str> {
    let named = || {
        let list = value.as_array()?.iter();
        let mut default = list.filter(|entry| entry["name"] == "default");
        default.next()?["template"].as_str()
    };
    value.as_str().or_else(named)
}

/// The text of a token: a plain text, or an object with it.
fn token(value: &Value) -> &str {
    let text = value.as_str().or_else(|| value["content"].as_str());
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(config: &str, jinja: Option<&str>) -> Option<String> {
        let template = Template::beside(Some(config.as_bytes()), jinja.map(str::as_bytes));
        let query = Query::asking("hello".to_owned());
        template.unwrap()?.render(Some("be brief"), &query)
    }

    #[test]
    fn a_template_is_found_wherever_its_makers_put_it() {
        const EACH: &str = "{{bos_token}}{% for m in messages %}{{m.role}}: {{m.content}}{{eos_token}}{% endfor %}";
        let expected = "<s>system: be brief</s>user: hello</s>";
        let tokens = r#""bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}"#;
        for config in [
            format!(r#"{{{tokens}, "chat_template": "{EACH}"}}"#),
            format!(
                r#"{{{tokens}, "chat_template": [{{"name": "tool_use", "template": "no"}},
                     {{"name": "default", "template": "{EACH}"}}]}}"#
            ),
        ] {
            assert_eq!(rendered(&config, None).as_deref(), Some(expected));
        }
        let both = format!(r#"{{{tokens}, "chat_template": "no"}}"#);
        assert_eq!(rendered(&both, Some(EACH)).as_deref(), Some(expected));
    }

    #[test]
    fn without_a_template_or_with_one_that_refuses_there_is_no_text() {
        for config in [
            "{}",
            r#"{"chat_template": null}"#,
            r#"{"chat_template": []}"#,
            r#"{"chat_template": "{{ raise_exception('no system role') }}"}"#,
        ] {
            assert_eq!(rendered(config, None), None, "{config}");
        }
        for (config, jinja) in [
            ("{", None),
            ("{}", Some(&b"{% if"[..])),
            ("{}", Some(b"\xff")),
        ] {
            let error = Template::beside(Some(config.as_bytes()), jinja).map(drop);
            assert!(error.is_err(), "{config}");
        }
    }
}
