//! The file both ways: what was written comes back, what was read is written as it was, and nothing
//! that a file says is a panic.

mod full;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::*;
use full::full;

/// The original's file: its keys, its order, its way to write numbers and texts.
const ORIGINAL: &str = r#"{
  "model": "llama3.2:1b",
  "profiler_config": {
    "dataset_id": "ipw",
    "client_id": "ollama",
    "client_base_url": "http://localhost:11434",
    "dataset_params": {"limit": 3},
    "client_params": {},
    "model": "llama3.2:1b",
    "output_dir": "runs",
    "max_queries": 3,
    "additional_parameters": {"temperature": 1e-05},
    "phased_profiling": false
  },
  "dataset": "ipw",
  "dataset_name": "Intelligence Per Watt \u00fc",
  "hardware_label": "M2",
  "generated_at": 1760000000.25,
  "total_queries": 3,
  "system_info": {"os_name": "macOS", "cpu_count": 8, "cpu_brand": "Apple M2"},
  "gpu_info": {"name": "Apple GPU", "vendor": "Apple", "device_id": 0, "device_type": "Integrated GPU", "backend": "powermetrics"},
  "output_dir": "runs/profile_M2",
  "versions": {
    "ipw": "0.1.0",
    "python": "3.12.1"
  },
  "client_info": null
}"#;

/// A file of ours from before metrics, bases, marginal costs and names.
const OLDER: &str = r#"{
  "model": "m",
  "profiler_config": {"client_id": "openai", "warmup_queries": 3},
  "generated_at": 1.5,
  "total_queries": 2,
  "versions": {"ipw": "0.1.0", "python": null},
  "format_version": 1,
  "status": "complete",
  "reason": null,
  "parts": [{"part": 0, "unix_nanos": 1760000000000000000, "monotonic_nanos": 12}],
  "telemetry": {"devices": [], "sources": [], "absent": [], "estimate": null, "faults": []},
  "overview": {"rows": 2, "outcomes": {"complete": 2}, "tokens": {"input": 4, "output": null, "rows_counted_by_chunks": 0}, "elapsed_seconds": 1.0, "time_to_first_token_seconds": null, "total_query_seconds": null, "throughput_tokens_per_sec": null},
  "efficiency": {"accuracy": null, "intelligence_per_watt": 0.25, "intelligence_per_joule": null, "joules_per_correct_answer": null},
  "later": {"than": ["us"]}
}
"#;

fn read(text: &str) -> (Summary, Stored) {
    Stored::parse(text.as_bytes()).unwrap()
}

fn unread(stored: &Stored) -> Vec<&str> {
    let keys = stored.unread().iter().map(|unread| unread.key.as_str());
    keys.collect()
}

fn new_text(summary: &Summary) -> String {
    Stored::default().text(summary)
}

#[test]
fn what_was_written_comes_back() {
    let summary = full();
    let text = new_text(&summary);
    let plain = serde_json::to_string_pretty(&summary).unwrap() + "\n";
    assert_eq!(text, plain);
    let (back, stored) = read(&text);
    assert_eq!(stored.unread(), []);
    assert_eq!(back, summary);
    let begun = Summary::begun(Path::new("run"), full::anchor());
    assert_eq!(read(&new_text(&begun)).0, begun);
}

#[test]
fn every_key_that_is_written_is_read() {
    let Value::Object(keys) = json!(full()) else {
        panic!("an object");
    };
    for (key, value) in keys {
        let (summary, _) = read(&json!({ &key: value }).to_string());
        assert_ne!(summary, Summary::default(), "{key}");
    }
}

#[test]
fn what_was_read_is_written_as_it_was() {
    let long = new_text(&full());
    let compact = json!(full()).to_string();
    for text in [ORIGINAL, OLDER, &long, &compact, "{}", "{ }\n"] {
        let (summary, stored) = read(text);
        assert_eq!(stored.unread(), [], "{text}");
        assert_eq!(stored.text(&summary), text);
    }
}

#[test]
fn a_change_touches_its_own_key_alone() {
    for text in [ORIGINAL, OLDER] {
        let (mut summary, stored) = read(text);
        summary.total_queries = Some(7);
        summary.scoring = full().scoring;
        let again = stored.text(&summary);
        let (back, _) = read(&again);
        assert_eq!(back, summary);
        let keys = |text: &str| {
            let value: Value = serde_json::from_str(text).unwrap();
            value.as_object().unwrap().clone()
        };
        let (before, after) = (keys(text), keys(&again));
        let mut names: Vec<&String> = before.keys().collect();
        let scoring = "scoring".to_owned();
        names.push(&scoring);
        assert_eq!(
            after.keys().collect::<Vec<_>>(),
            names,
            "order, and no key more"
        );
        for (key, value) in &before {
            if key != "total_queries" {
                assert_eq!(&after[key], value, "{key}");
            }
        }
    }
    let (mut summary, stored) = read(ORIGINAL);
    summary.total_queries = Some(7);
    let again = stored.text(&summary);
    assert_eq!(
        again.trim_end(),
        ORIGINAL.replace("\"total_queries\": 3", "\"total_queries\": 7")
    );
}

#[test]
fn an_older_file_has_what_it_has() {
    let (original, _) = read(ORIGINAL);
    assert_eq!(original.versions.unwrap().python.as_deref(), Some("3.12.1"));
    assert_eq!(
        original.dataset_name.as_deref(),
        Some("Intelligence Per Watt ü")
    );
    assert_eq!(original.gpu_info.unwrap().device_id, Some(0));
    assert_eq!((original.status, original.overview), (None, None));
    let (older, _) = read(OLDER);
    assert_eq!(older.parts.len(), 1);
    let overview = older.overview.unwrap();
    assert_eq!(overview.tokens.rows_counted_by_tokenizer, None);
    let efficiency = older.efficiency.unwrap();
    assert_eq!(efficiency.bought.intelligence_per_watt, Some(0.25));
    assert_eq!(
        (older.metrics, older.basis, efficiency.derived),
        (None, None, None)
    );
}

#[test]
fn a_key_of_the_wrong_type_costs_that_key_alone() {
    let text = OLDER
        .replace("\"complete\",", "\"sleeping\",")
        .replace("\"total_queries\": 2", "\"total_queries\": 1e999");
    let (summary, stored) = read(&text);
    assert_eq!(unread(&stored), ["total_queries", "status"]);
    assert_eq!((summary.status, summary.total_queries), (None, None));
    assert_eq!(summary.model.as_deref(), Some("m"));
    assert_eq!(stored.text(&summary), text);
    let said = stored.unread()[1].to_string();
    assert!(said.contains("`status` of `summary.json`"), "{said}");
    assert!(said.contains("sleeping"), "{said}");
    // What is learned again takes its place.
    let changed = Summary {
        status: Some(Status::Complete),
        ..summary
    };
    let (again, stored) = read(&stored.text(&changed));
    assert_eq!(again.status, Some(Status::Complete));
    assert_eq!(unread(&stored), ["total_queries"]);
}

#[test]
fn what_is_no_object_is_an_error() {
    for text in [
        "",
        "{",
        "[]",
        "3",
        "null",
        "{\"a\": 1,}",
        "\u{0}",
        "{\"a\": 1} x",
    ] {
        assert!(Stored::parse(text.as_bytes()).is_err(), "{text}");
    }
    assert!(Stored::parse(b"{\"a\": \"\xff\"}").is_err());
}

#[test]
fn of_a_key_that_stands_there_twice_the_last_counts() {
    let text = "{\"model\": \"a\", \"x\\n\\\"\": [\"}\", {\"\\\\\": \"]\"}], \"model\":\"b\"}";
    let (mut summary, stored) = read(text);
    assert_eq!(summary.model.as_deref(), Some("b"));
    assert_eq!(stored.text(&summary), text);
    summary.model = Some("c".to_owned());
    let again: Value = serde_json::from_str(&stored.text(&summary)).unwrap();
    assert_eq!(again, json!({"model": "c", "x\n\"": ["}", {"\\": "]"}]}));
}

/// Calls `each` with the path of every value below `value`.
fn walk(value: &Value, path: &str, each: &mut impl FnMut(&str)) {
    each(path);
    match value {
        Value::Object(keys) => {
            for (key, value) in keys {
                let key = key.replace('~', "~0").replace('/', "~1");
                walk(value, &format!("{path}/{key}"), each);
            }
        }
        Value::Array(all) => {
            for (place, value) in all.iter().enumerate() {
                walk(value, &format!("{path}/{place}"), each);
            }
        }
        _ => {}
    }
}

/// The file that new runs have, key by key: a key that is renamed or lost is noticed here. After a
/// change that is meant: `IPW_UPDATE_SNAPSHOTS=1 cargo test -p ipw-store --lib summary`.
#[test]
fn keys_of_a_new_file_are_those_that_are_pinned() {
    let mut paths = BTreeSet::new();
    walk(&json!(full()), "", &mut |path| {
        let steps = path.split('/').skip(1);
        let steps = steps.map(|step| match step.parse::<u32>() {
            Ok(_) => "[]",
            Err(_) => step,
        });
        paths.insert(steps.collect::<Vec<_>>().join("."));
    });
    let mut found: String = paths.into_iter().collect::<Vec<_>>().join("\n");
    found.push('\n');
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/summary/tests/keys.txt");
    if std::env::var_os("IPW_UPDATE_SNAPSHOTS").is_some() {
        crate::file::replace(&file, found.as_bytes(), false).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(&file).unwrap());
}

/// Every value in turn is something else, or gone: the key that holds it is understood or not, the
/// keys beside it are as they were, and what is written is what was read.
#[test]
fn nothing_that_a_file_says_is_a_panic() {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let others = [
        "null",
        "true",
        "-1",
        "1e999",
        "123456789012345678901234567890",
        "\"\"",
        "\"\\ud800\"",
        "[]",
        "{}",
        &deep,
    ];
    let Value::Object(whole) = json!(full()) else {
        panic!("an object");
    };
    for (key, part) in &whole {
        let mut paths = Vec::new();
        walk(part, "", &mut |path| paths.push(path.to_owned()));
        for path in &paths {
            let mut marked = part.clone();
            *marked.pointer_mut(path).unwrap() = json!("@here@");
            let marked = marked.to_string();
            for other in &others {
                check(key, &marked.replace("\"@here@\"", other));
            }
            if let Some(without) = without(part, path) {
                check(key, &without.to_string());
            }
        }
    }
}

/// What is known where nothing is.
static EMPTY: OnceLock<Value> = OnceLock::new();

/// Reads a file in which `key` holds `part`.
fn check(key: &str, part: &str) {
    let text = format!("{{\"first\": [1], \"{key}\": {part}, \"later\": {{\"than\": \"us\"}}}}");
    let (summary, stored) = read(&text);
    let unread = unread(&stored);
    assert!(unread.is_empty() || unread == [key], "{text}");
    assert_eq!(stored.text(&summary), text);
    let Value::Object(known) = json!(summary) else {
        panic!("an object");
    };
    let empty = EMPTY.get_or_init(|| json!(Summary::default()));
    for (other, value) in known.iter().filter(|(other, _)| *other != key) {
        assert_eq!(empty.get(other), Some(value), "{text}");
    }
    if !unread.is_empty() {
        assert_eq!(known.get(key), empty.get(key), "{text}");
    }
    let _ = stored.value();
}

/// The value without what is at `path`; `None` for the whole.
fn without(value: &Value, path: &str) -> Option<Value> {
    let (parent, last) = path.rsplit_once('/')?;
    let last = last.replace("~1", "/").replace("~0", "~");
    let mut without = value.clone();
    match without.pointer_mut(parent)? {
        Value::Object(keys) => drop(keys.shift_remove(&last)),
        Value::Array(all) => drop(all.remove(last.parse().ok()?)),
        _ => return None,
    }
    Some(without)
}
