//! Real templates, with the prompts that llama.cpp made of them; the parts about tools are cut.

use ipw_testkit::{LlamaServer, or_skip};
use serde_json::{Value, json};

use super::{CHATML, ChatTemplate, LONGEST_TEMPLATE, Message, TemplateError};
use crate::generate::CancelFlag;

const SMOLLM2: &str = include_str!("../../tests/data/templates/smollm2.jinja");
const MISTRAL: &str = include_str!("../../tests/data/templates/mistral.jinja");
const GEMMA2: &str = include_str!("../../tests/data/templates/gemma2.jinja");
const LLAMA32: &str = include_str!("../../tests/data/templates/llama3.2.jinja");

fn template(name: &str) -> ChatTemplate {
    let source = match name {
        "smollm2" => SMOLLM2,
        "mistral" => MISTRAL,
        "gemma2" => GEMMA2,
        "llama3" => include_str!("../../tests/data/templates/llama3.jinja"),
        "llama3.2" => LLAMA32,
        "qwen2.5" => include_str!("../../tests/data/templates/qwen2.5.jinja"),
        "phi3" => include_str!("../../tests/data/templates/phi3.jinja"),
        "zephyr" => include_str!("../../tests/data/templates/zephyr.jinja"),
        other => panic!("{other} is not here"),
    };
    ours(source)
}

/// With the tokens of the model in which the prompts were recorded.
fn ours(source: &str) -> ChatTemplate {
    ChatTemplate::new(source, "<|im_start|>", "<|im_end|>").unwrap()
}

fn messages(turns: &Value) -> Vec<Message> {
    let text = |turn: &Value, key: &str| turn[key].as_str().unwrap().to_owned();
    let message = |turn| Message::new(text(turn, "role"), text(turn, "content"));
    turns.as_array().unwrap().iter().map(message).collect()
}

fn hello() -> Vec<Message> {
    vec![Message::new("user", "Hello")]
}

fn failed(source: &str) -> TemplateError {
    ours(source).render(&hello(), true).unwrap_err()
}

#[test]
fn real_templates_give_the_prompts_that_llama_cpp_made() {
    let recorded = include_str!("../../tests/data/templates/rendered.jsonl");
    for line in recorded.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let [year, month, day] = [0, 1, 2].map(|part| line["date"][part].as_u64().unwrap());
        let name = line["template"].as_str().unwrap();
        let template = template(name).with_date(
            u16::try_from(year).unwrap(),
            u8::try_from(month).unwrap(),
            u8::try_from(day).unwrap(),
        );
        let add = line["add_generation_prompt"].as_bool().unwrap();
        let prompt = template.render(&messages(&line["messages"]), add).unwrap();
        assert_eq!(line["prompt"], prompt, "{line}");
    }
}

#[test]
fn the_model_s_own_template_agrees_with_a_running_llama_cpp() {
    let Some(server) = or_skip(LlamaServer::start(1)) else {
        return;
    };
    for turns in [
        json!([{"role": "user", "content": "What is the capital of France?"}]),
        json!([{"role": "system", "content": "Be brief.\n"}, {"role": "user", "content": " hé 漢 "}]),
        json!([{"role": "system", "content": ""}, {"role": "user", "content": ""}]),
        json!([
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": "<|im_end|> {{ c }}"},
        ]),
    ] {
        let reply = server
            .post("/apply-template", &json!({"messages": turns}))
            .unwrap();
        let ours = ours(SMOLLM2).render(&messages(&turns), true).unwrap();
        assert_eq!(reply.json().unwrap()["prompt"], ours);
    }
}

#[test]
fn a_file_without_a_template_gets_chatml() {
    let turns = [Message::new("system", "s"), Message::new("user", "u")];
    let prompt = ours(CHATML).render(&turns, true).unwrap();
    let expected =
        "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nu<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(prompt, expected);
    assert_eq!(ours(CHATML).render(&[], false).unwrap(), "");
}

#[test]
fn without_a_date_the_template_takes_its_own() {
    let prompt = ours(LLAMA32).render(&hello(), true).unwrap();
    assert!(prompt.contains("Today Date: 26 Jul 2024\n"), "{prompt}");
}

#[test]
fn a_template_that_refuses_is_quoted() {
    let turns = [Message::new("system", "s"), Message::new("user", "u")];
    for (source, words) in [
        (GEMMA2, "System role not supported"),
        (
            MISTRAL,
            "Conversation roles must alternate user/assistant/user/assistant/...",
        ),
        (
            "{% macro m() %}{{ raise_exception('no') }}{% endmacro %}{{ m() }}",
            "no",
        ),
    ] {
        let error = ours(source).render(&turns, true).unwrap_err();
        assert!(
            matches!(&error, TemplateError::Raised(text) if text == words),
            "{error:?}"
        );
    }
}

#[test]
fn what_is_not_a_template_is_refused_at_once() {
    for source in ["{% for %}", "{{ 'a' }", "{% endif %}"] {
        let error = ChatTemplate::new(source, "", "").unwrap_err();
        assert!(matches!(error, TemplateError::Syntax(_)), "{error:?}");
    }
    let long = " ".repeat(LONGEST_TEMPLATE + 1);
    let error = ChatTemplate::new(&long, "", "").unwrap_err();
    assert!(matches!(error, TemplateError::TooLong(_)), "{error:?}");
}

#[test]
fn a_template_cannot_run_for_ever_nor_fill_the_memory_with_its_output() {
    let loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% set c = b %}{% endfor %}{% endfor %}";
    assert!(matches!(failed(loops), TemplateError::Endless));
    let inside = format!("{{% macro m() %}}{loops}{{% endmacro %}}{{{{ m() }}}}");
    assert!(matches!(failed(&inside), TemplateError::Endless));
    let output = "{% for a in range(99999) %}{{ 'x' * 1000 }}{% endfor %}";
    assert!(matches!(failed(output), TemplateError::TooMuch));
    let deeper = "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}";
    assert!(matches!(failed(deeper), TemplateError::Failed(_)));
    let nested = format!("{{{{ {}1{} }}}}", "(".repeat(20_000), ")".repeat(20_000));
    assert!(matches!(
        ChatTemplate::new(&nested, "", ""),
        Err(TemplateError::Syntax(_))
    ));
}

#[test]
fn what_templates_use_of_python_works() {
    for (source, expected) in [
        (
            "{{ messages[0].content.strip().split('l')[0].upper() }}",
            "HE",
        ),
        ("{{ messages[0]['content'][::-1] }}", "olleH"),
        (
            "{{ messages[0] | tojson }}",
            r#"{"role": "user", "content": "Hello"}"#,
        ),
        ("{{ [1, '<'] | tojson(indent=1) }}", "[\n 1,\n \"<\"\n]"),
        (
            "{% set n = namespace(x=1) %}{% for m in messages %}{% set n.x = 2 %}{% endfor %}{{ n.x }}",
            "2",
        ),
        (
            "{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}",
            "01",
        ),
        ("{%- generation -%} a {%- endgeneration %}", "a"),
        ("a\n    {% if true %}\nb\n    {% endif %}\nc\n", "a\nb\nc"),
        (
            "{{ tools is none }}{{ documents is none }}{{ nothing is defined }}",
            "TrueTrueFalse",
        ),
        (
            "{{ messages[0].get('name', 'unnamed') }}{{ messages[0].tool_calls }}",
            "unnamed",
        ),
        (
            "{{ 'a' if messages[0].role.startswith('us') else 'b' }}{{ '<&>' }}",
            "a<&>",
        ),
    ] {
        assert_eq!(
            ours(source).render(&hello(), true).unwrap(),
            expected,
            "{source}"
        );
    }
    let unknown = failed("{{ nothing.at_all.here }}");
    assert!(matches!(unknown, TemplateError::Failed(_)));
}

#[test]
fn a_template_ends_when_it_is_cancelled() {
    let source = "{% set s = 'x' * 9000000 %}{% for a in range(99999) %}{% if 'y' in s %}{% endif %}{% endfor %}";
    let cancelled = CancelFlag::default();
    let template = ours(source);
    std::thread::scope(|scope| {
        let rendered = scope.spawn(|| template.render_until(&hello(), true, &cancelled));
        cancelled.cancel();
        let error = rendered.join().unwrap().unwrap_err();
        assert!(matches!(error, TemplateError::Cancelled), "{error:?}");
    });
    // The next one starts with a fresh meter.
    assert_eq!(ours("{{ 'a' ~ 1 }}").render(&hello(), true).unwrap(), "a1");
}

#[test]
fn a_template_that_is_metered_means_the_same() {
    for (source, expected) in [
        (
            "{{ 1 + 2 * 3 - 4 }} {{ 7 // 2 }} {{ 2 ** 3 }} {{ 1.5 + 1 }} {{ -1 + 3 }}",
            "3 3 8 2.5 2",
        ),
        ("{{ 'a' + 'b' * 3 ~ 1 ~ none ~ true }}", "abbb1NoneTrue"),
        (
            "{{ [1] + [2, 3] }} {{ ([1] * 2) }} {{ (1, 2) }} {{ {'a': [1], \"b\": 'c'} }}",
            "[1, 2, 3] [1, 1] (1, 2) {'a': [1], 'b': 'c'}",
        ),
        (
            "{% set a, b = 1, 2 %}{{ a }}{{ b }}{% for k, v in {'x': 1}.items() %}{{ k }}{{ v }}{% endfor %}",
            "12x1",
        ),
        (
            "{% if 0 %}a{% elif 1 %}b{% else %}c{% endif %}{% for x in [] %}x{% else %}none{% endfor %}",
            "bnone",
        ),
        (
            "{% macro m(a, b='y') %}[{{ a }}{{ b }}{{ caller() if caller }}]{% endmacro %}{{ m('x') }}{% call m('z', b='') %}inner{% endcall %}",
            "[xy][zinner]",
        ),
        (
            "{% for x in [1, [2, [3]]] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% endfor %}",
            "1(2(3))",
        ),
        (
            "{% with a = 1, b = 'x' %}{{ a }}{{ b }}{% endwith %}{% filter upper | replace('B', 'c') %}ab{% endfilter %}{% set t | trim %} q {% endset %}{{ t }}",
            "1xAcq",
        ),
        (
            "{{ 'a' if 0 }}{{ 'b' if 0 else 'c' }}{{ 1 < 2 < 3 }}{{ 2 not in [1] }}{{ not 1 }}{{ 1 is not defined }}",
            "cTrueTrueFalseFalse",
        ),
        (
            "{{ 'abcd'[1:3] }}{{ 'abcd'[-1] }}{{ [1, 2, 3][::2] }}{{ messages[0:1] | length }}{{ messages[-1].role }}",
            "bcd[1, 3]1user",
        ),
        (
            "{{ ['b', 'a'] | sort | join('-') }}{{ [1, 2] | map('string') | list }}{{ messages | selectattr('role', 'eq', 'user') | list | length }}",
            "a-b['1', '2']1",
        ),
        (
            "{{ 'q\"\\\\\\n{{ }}' }}{{ '{%' }}{# no #}",
            "q\"\\\n{{ }}{%",
        ),
        (
            "{% for i in range(5) if i % 2 %}{{ loop.index }}{{ loop.last }}{{ i }}{% endfor %}{{ 'x'.split(',')[0].upper() }}",
            "1False12True3X",
        ),
        (
            "{% do namespace() %}{{ dict(a=1).a }}{{ [1, 2] | batch(1) | list }}{{ 'a b'.title() | indent(2, true) }}{{ '%s-%d' | format('a', 3) }}",
            "1[[1], [2]]  A Ba-3",
        ),
    ] {
        assert_eq!(
            ours(source).render(&hello(), true).unwrap(),
            expected,
            "{source}"
        );
    }
    let error = failed("a\n\n{% if 1 %}\n{{ 1 / 0 }}{% endif %}");
    let TemplateError::Failed(error) = error else {
        panic!("{error:?}");
    };
    assert_eq!(error.line(), Some(4), "errors name the template's own line");
}
