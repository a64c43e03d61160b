//! A known benchmark, from a hub on loopback through the real binary.

use std::process::Command;

use ipw_reference::Script;
use ipw_testkit::mimic_hub::{Manners, MimicHub, converted};
use ipw_testkit::parquet;
use serde_json::{Value, json};

use crate::common::{Place, ipw, metrics, rows, said};

fn arc() -> Vec<Value> {
    (0..6)
        .map(|n| {
            let key = if n % 2 == 0 { "B" } else { "A" };
            json!({
                "id": format!("q{n}"), "question": format!("Which is number {n}?"), "answerKey": key,
                "choices": {"text": ["this", "that"], "label": ["A", "B"]},
            })
        })
        .collect()
}

/// `command` with that hub and with a cache of its own.
fn at<'a>(command: &'a mut Command, place: &Place, endpoint: &str) -> &'a mut Command {
    for name in [
        "HF_TOKEN",
        "HF_TOKEN_PATH",
        "HF_HOME",
        "HF_HUB_OFFLINE",
        "XDG_CACHE_HOME",
    ] {
        command.env_remove(name);
    }
    command
        .env("HF_ENDPOINT", endpoint)
        .env("IPW_CACHE", place.path().join("cache"))
}

#[test]
fn a_benchmark_is_fetched_asked_and_graded_and_the_next_time_it_is_here() {
    let place = Place::new(|_| Script {
        tokens: vec!["The answer is B.".to_owned()].into(),
        ..Script::default()
    });
    let hub = MimicHub::with_split("allenai/ai2_arc", "ARC-Challenge", "test", parquet(&arc()));
    let mut command = place.profile(&["--dataset", "arc", "--warmup", "0"]);
    let first = said(at(&mut command, &place, &hub.url()).env("HF_TOKEN", "hf_secret"));
    assert_eq!(first.code, Some(0), "{}", first.err);
    assert!(
        first
            .err
            .contains("downloading from 127.0.0.1 (allenai/ai2_arc "),
        "{}",
        first.err
    );
    let run = place.run_of("arc");
    let rows = rows(&run);
    assert_eq!(rows.len(), 6);
    assert_eq!(
        rows[0]["problem"],
        "Which is number 0?\n\nA. this\nB. that\n\nAnswer with the letter of the correct option."
    );
    for (n, row) in rows.iter().enumerate() {
        let is_right = n % 2 == 0;
        assert_eq!(row["answer"], if is_right { "B" } else { "A" });
        assert_eq!(row["query_id"], format!("q{n}"));
        assert_eq!(row["dataset_metadata"]["scorer"], "choice");
        assert_eq!(row["dataset_metadata"]["choices"], json!(["this", "that"]));
        assert_eq!(metrics(row)["lm_correctness"], is_right);
    }
    assert!(first.out.contains("3 of 6 right: 50.0 %"), "{}", first.out);
    assert!(
        hub.asked_of_store()
            .iter()
            .all(|asked| asked.authorization.is_none())
    );
    for file in ["plan.toml", "summary.json", "events.jsonl"] {
        let text = std::fs::read_to_string(run.join(file)).unwrap();
        assert!(!text.contains("hf_secret"), "{file}");
    }

    let asked = hub.asked().len();
    let mut command = place.profile(&["--dataset", "arc", "--warmup", "0", "--overwrite"]);
    let again = said(at(&mut command, &place, "http://127.0.0.1:1").env("HF_HUB_OFFLINE", "1"));
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(!again.err.contains("fetching"), "{}", again.err);
    assert_eq!(hub.asked().len(), asked);
}

#[test]
fn a_gated_benchmark_says_where_to_ask_and_what_to_set() {
    let place = Place::new(|_| Script::words(2));
    let files = [converted("gpqa_diamond", "train", b"PAR1".to_vec())].into();
    let manners = Manners {
        token: Some("hf_friend".to_owned()),
        ..Manners::default()
    };
    let hub = MimicHub::start([("Idavidrein/gpqa".to_owned(), files)], manners);
    let mut command = place.profile(&["--dataset", "gpqa"]);
    let refused = said(at(&mut command, &place, &hub.url()));
    assert_eq!(refused.code, Some(1), "{}", refused.err);
    let expected = format!(
        "error: cannot get `gpqa`: the hub refuses `Idavidrein/gpqa` (401), which is gated\nhelp: ask \
         for access at {}/datasets/Idavidrein/gpqa, then set `HF_TOKEN` to a token that may read it\n",
        hub.url()
    );
    assert!(refused.err.ends_with(&expected), "{}", refused.err);
}

#[test]
fn benchmarks_are_listed_and_a_slip_gets_the_name_that_was_meant() {
    let listed = said(ipw().args(["list", "datasets"]));
    assert_eq!(listed.code, Some(0));
    let line = |id: &str| {
        let start = format!("  {id} ");
        let found = listed.out.lines().find(|line| line.starts_with(&start));
        found
            .unwrap_or_else(|| panic!("no `{id}` in {}", listed.out))
            .to_owned()
    };
    assert!(line("gpqa").contains("(gated)") && line("gpqa").contains("198"));
    assert!(line("ifeval").contains("instructions") && line("ifeval").contains("Apache-2.0"));
    assert!(line("natural-reasoning").contains("1,145,824"));
    let slip = said(ipw().args([
        "profile",
        "--model",
        "m",
        "--client",
        "openai",
        "--dataset",
        "gsm8",
    ]));
    assert_eq!(slip.code, Some(2), "{}", slip.err);
    assert!(slip.err.contains("did you mean `gsm8k`?"), "{}", slip.err);
}
