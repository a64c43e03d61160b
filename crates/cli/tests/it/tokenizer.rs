//! `--tokenizer`: tokens counted where the service does not say, and checked where it does.

use std::path::{Path, PathBuf};

use ipw_reference::{Script, words};
use ipw_testkit::mimic_hub::{Manners, MimicHub};
use serde_json::{Value, json};

use crate::common::{Place, Said, events, ipw, metrics, questions, rows, said, summary};

/// Every word is one token, and `<s>` is one of its own.
const WORDS: &str = r#"{
    "added_tokens": [{"id": 1, "content": "<s>", "single_word": false, "lstrip": false,
                      "rstrip": false, "normalized": false, "special": true}],
    "normalizer": null,
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "post_processor": null,
    "decoder": null,
    "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}
}"#;
/// By Python's `hashlib`.
const WORDS_SHA256: &str = "3caeae44b83881e07e0fb0d3dc5cc7d1af49a6db9ef4ee0efa87cbd1e01e3604";

/// Writes the tokenizer, with a chat template of two words and one token beside the messages.
fn tokenizer(place: &Place) -> PathBuf {
    let directory = place.path().join("tokenizer");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("tokenizer.json"), WORDS).unwrap();
    let config = json!({
        "bos_token": "<s>",
        "chat_template": "{{bos_token}}{% for m in messages %}{{m.role}} {{m.content}} {% endfor %}\
                          {% if add_generation_prompt %}assistant{% endif %}",
    });
    std::fs::write(directory.join("tokenizer_config.json"), config.to_string()).unwrap();
    directory
}

/// A short run with that tokenizer.
fn profiled(place: &Place, tokenizer: &Path, more: &[&str]) -> Said {
    let dataset = place.jsonl("d", questions(3));
    let mut command = place.profile(&["--warmup", "0", "--dataset", dataset.to_str().unwrap()]);
    command.arg("--tokenizer").arg(tokenizer).args(more);
    said(&mut command)
}

fn without_usage() -> Script {
    Script {
        usage: false,
        reasoning: words(3),
        tokens_per_chunk: 4,
        ..Script::words(9)
    }
}

#[test]
fn where_the_service_says_nothing_the_tokenizer_counts_and_the_row_says_so() {
    let place = Place::new(|_| without_usage());
    let tokenizer = tokenizer(&place);
    let said = profiled(&place, &tokenizer, &["--system", "be brief"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out.contains("3 rows counted by the tokenizer"),
        "{}",
        said.out
    );
    let run = place.run_of("d");
    for row in rows(&run) {
        // `<s>`, `system be brief`, `user question number N`, `assistant`.
        let counts = json!({"input": 9, "output": 12, "total": 21});
        assert_eq!(metrics(&row)["token_metrics"], counts);
        assert_eq!(row["token_source"], "tokenizer");
        assert_eq!(row["tokens"]["reasoning"], 3);
        assert_eq!(row["token_details"]["note"], Value::Null);
        assert_eq!(row["timing"]["chunk_seconds"].as_array().unwrap().len(), 4);
    }
    let summary = summary(&run);
    assert_eq!(
        summary["overview"]["tokens"]["rows_counted_by_tokenizer"],
        3
    );
    assert_eq!(summary["overview"]["tokens"]["rows_counted_by_chunks"], 0);
    let about = &summary["client_info"]["tokenizer"];
    assert_eq!(about["from"], tokenizer.to_str().unwrap());
    assert_eq!(
        (&about["kind"], &about["vocabulary"]),
        (&json!("tokenizer.json"), &json!(2))
    );
    assert_eq!(about["chat_template"], "tokenizer_config.json");
    assert_eq!(
        about["files"][0],
        json!({"name": "tokenizer.json", "bytes": WORDS.len(), "sha256": WORDS_SHA256})
    );
}

#[test]
fn where_the_service_counts_the_tokenizer_checks() {
    for (extra, note) in [
        (0, Value::Null),
        // The end of a reply, which servers count and which leaves no text.
        (1, Value::Null),
        (
            4,
            json!("usage says 24 output tokens, the tokenizer counts 20"),
        ),
    ] {
        let place = Place::new(move |_| Script {
            extra_output_tokens: extra,
            ..Script::words(20)
        });
        let tokenizer = tokenizer(&place);
        // Without the template: the reference counts its prompts' words.
        std::fs::remove_file(tokenizer.join("tokenizer_config.json")).unwrap();
        let said = profiled(&place, &tokenizer, &[]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        for row in rows(&place.run_of("d")) {
            assert_eq!(row["token_source"], "usage");
            assert_eq!(metrics(&row)["token_metrics"]["output"], 20 + extra);
            assert_eq!(row["token_details"]["note"], note);
        }
    }
}

#[test]
fn a_prefix_that_is_sent_is_counted() {
    let place = Place::new(|_| without_usage());
    let said = profiled(&place, &tokenizer(&place), &["--unique-prefix"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    for row in rows(&place.run_of("d")) {
        // `<s>`, `user [prefix] question number N`, `assistant`.
        assert_eq!(metrics(&row)["token_metrics"]["input"], 7);
    }
}

#[test]
fn the_plan_keeps_the_tokenizer_and_a_resumed_run_says_when_it_is_another() {
    let place = Place::new(|_| without_usage());
    let tokenizer = tokenizer(&place);
    assert_eq!(profiled(&place, &tokenizer, &[]).code, Some(0));
    let run = place.run_of("d");
    let elsewhere = place.path().join("elsewhere");
    let again = said(
        ipw()
            .args(["profile", "--plan"])
            .arg(run.join("plan.toml"))
            .arg("--output-dir")
            .arg(&elsewhere),
    );
    assert_eq!(again.code, Some(0), "{}", again.err);
    let made = std::fs::read_dir(&elsewhere)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    for row in rows(&made.path()) {
        assert_eq!(row["token_source"], "tokenizer");
    }
    let resume = |more: &[&str]| said(ipw().args(["profile", "--resume"]).arg(&run).args(more));
    let refused = resume(&["--tokenizer", "hf:other/one"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(
        refused.err.contains("tokenizer: the plan has"),
        "{}",
        refused.err
    );
    let warned = |run: &Path| {
        let text = Value::from(events(run)).to_string();
        text.contains("differs from the one that counted the earlier rows")
    };
    assert_eq!(resume(&[]).code, Some(0));
    assert!(!warned(&run), "it is the same");
    let other = WORDS.replace("\"?\": 0", "\"?\": 0, \"word0\": 2");
    std::fs::write(tokenizer.join("tokenizer.json"), other).unwrap();
    assert_eq!(resume(&[]).code, Some(0));
    assert!(warned(&run));
}

#[test]
fn what_is_no_tokenizer_ends_before_the_first_request() {
    let place = Place::new(|_| without_usage());
    let odd = place.path().join("odd.json");
    std::fs::write(&odd, "{}").unwrap();
    let odd = odd.to_str().unwrap();
    for (named, says) in [
        (
            "/nowhere/tokenizer.json",
            "there is no tokenizer at `/nowhere/tokenizer.json`",
        ),
        (odd, "is not a tokenizer"),
        ("hf:owner", "`hf:owner` names no repository of the hub"),
        ("", "`--tokenizer` is empty"),
    ] {
        let profile = said(&mut place.profile(&["--tokenizer", named]));
        let ping = said(
            ipw()
                .args([
                    "ping",
                    "--model",
                    "m",
                    "--client-base-url",
                    &place.service.url(),
                ])
                .args(["--tokenizer", named]),
        );
        for said in [profile, ping] {
            assert_eq!(said.code, Some(2), "{}", said.err);
            assert!(said.err.contains(says), "{}", said.err);
            assert!(said.err.contains("help:"), "{}", said.err);
        }
    }
    assert_eq!(place.service.requests(), 0);
    assert!(!place.runs().exists());
}

#[test]
fn a_tokenizer_of_the_hub_is_fetched_and_a_gated_one_is_told() {
    let place = Place::new(|_| without_usage());
    let file = (
        ("main".to_owned(), "tokenizer.json".to_owned()),
        WORDS.as_bytes().to_vec(),
    );
    let hub = |manners| MimicHub::start([("o/n".to_owned(), [file.clone()].into())], manners);
    let profile = |hub: &MimicHub, cache: &str| {
        let dataset = place.jsonl("d", questions(1));
        let mut command = place.profile(&["--warmup", "0", "--tokenizer", "hf:o/n", "--overwrite"]);
        command
            .args(["--dataset", dataset.to_str().unwrap()])
            .env("HF_ENDPOINT", hub.url())
            .env("IPW_CACHE", place.path().join(cache))
            .env_remove("HF_TOKEN");
        said(&mut command)
    };
    let gated = hub(Manners {
        token: Some("hf_right".to_owned()),
        ..Manners::default()
    });
    let denied = profile(&gated, "one");
    assert_eq!(denied.code, Some(1), "{}", denied.err);
    assert!(
        denied.err.contains("the tokenizer of `o/n`: access denied"),
        "{}",
        denied.err
    );
    assert!(denied.err.contains("set `HF_TOKEN`"), "{}", denied.err);
    let open = hub(Manners::default());
    let fetched = profile(&open, "two");
    assert_eq!(fetched.code, Some(0), "{}", fetched.err);
    let run = place.run_of("d");
    assert_eq!(rows(&run)[0]["token_source"], "tokenizer");
    let about = &summary(&run)["client_info"]["tokenizer"];
    assert_eq!(about["files"][0]["sha256"], WORDS_SHA256);
}

#[test]
fn a_ping_shows_the_tokenizers_count_beside_the_others() {
    let place = Place::new(|_| Script {
        extra_output_tokens: 7,
        ..Script::words(5)
    });
    let tokenizer = tokenizer(&place);
    let ping = |more: &[&str]| {
        let mut command = ipw();
        command
            .args([
                "ping",
                "--model",
                "m",
                "--client-base-url",
                &place.service.url(),
            ])
            .arg("--tokenizer")
            .arg(&tokenizer)
            .args(["--prompt", "hello there"])
            .args(more);
        said(&mut command)
    };
    let told = ping(&[]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    for line in [
        "  tokens       input 2, output 12",
        "  counted by   usage: the service's own count",
        "  tokenizer    input 5, output 5",
        "  note         usage says 2 input tokens, the tokenizer counts 5; usage says 12 output \
         tokens, the tokenizer counts 5",
    ] {
        assert!(told.out.contains(line), "{line}\n{}", told.out);
    }
    let told: Value = serde_json::from_str(&ping(&["--json"]).out).unwrap();
    assert_eq!(
        (
            &told["tokenizer"]["output"],
            &told["row"]["tokens"]["output"]
        ),
        (&json!(5), &json!(12))
    );
    let counted = ping(&["--json", "--client-param", "include_usage=false"]);
    let told: Value = serde_json::from_str(&counted.out).unwrap();
    assert_eq!(told["row"]["token_source"], "tokenizer");
    assert_eq!(told["row"]["tokens"]["output"], 5);
}
