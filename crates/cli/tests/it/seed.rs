//! The seed page, behaviour by behaviour: what the original's profiler runner does, ours does, and
//! where it goes wrong, ours does not.

use std::time::Duration;

use crate::common::{Place, events, ipw, metrics, questions, rows, said, summary, wait_until};
use ipw_reference::{Fault, Script};
use serde_json::{Value, json};

fn quick() -> Place {
    Place::new(|_| Script::words(4))
}

#[test]
fn an_unknown_dataset_is_named_with_the_known_and_the_nearest() {
    let place = quick();
    let said = said(&mut place.profile(&["--dataset", "startr"]));
    assert_eq!(said.code, Some(2));
    for word in ["`startr`", "`starter`", "jsonl"] {
        assert!(said.err.contains(word), "{word}: {}", said.err);
    }
    assert_eq!(place.service.requests(), 0);
}

#[test]
fn an_unknown_client_is_named_with_the_known_and_the_nearest() {
    let said = said(ipw().args(["profile", "--client", "opneai", "--model", "m"]));
    assert_eq!(said.code, Some(2));
    assert!(
        said.err
            .contains("unknown client `opneai`; did you mean `openai`?"),
        "{}",
        said.err
    );
}

#[test]
fn a_bad_parameter_is_named() {
    let place = quick();
    for (flag, value, says) in [
        ("--dataset-param", "limt=3", ["`limt`", "`limit`"]),
        ("--dataset-param", "limit=many", ["`limit`", "`many`"]),
        (
            "--client-param",
            "usage=false",
            ["`usage`", "include_usage"],
        ),
        (
            "--client-param",
            "include_usage=maybe",
            ["`include_usage`", "`maybe`"],
        ),
        ("--param", "stream=false", ["stream", "always streamed"]),
        ("--param", "n=2", ["`--param n=…`", "one reply"]),
    ] {
        let said = said(&mut place.profile(&[flag, value]));
        assert_eq!(said.code, Some(2), "{flag} {value}: {}", said.err);
        for word in says {
            assert!(said.err.contains(word), "{flag} {value}: {}", said.err);
        }
    }
    assert_eq!(place.service.requests(), 0);
}

#[test]
fn an_unhealthy_service_ends_it_before_anything_is_written_or_moved() {
    let place = quick();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    std::fs::create_dir_all(place.run()).unwrap();
    std::fs::write(place.run().join("precious"), "x").unwrap();
    let said = said(&mut place.profile_at(&url, "reference", &["--overwrite"]));
    assert_eq!(said.code, Some(3));
    for word in ["`openai`", &url, "cannot connect", "help:"] {
        assert!(said.err.contains(word), "{word}: {}", said.err);
    }
    assert!(place.run().join("precious").exists());
    assert_eq!(std::fs::read_dir(place.runs()).unwrap().count(), 1);
}

#[test]
fn the_service_is_asked_for_its_models_before_the_first_query() {
    let asked = std::sync::Arc::new(std::sync::Mutex::new(None));
    let seen = std::sync::Arc::clone(&asked);
    let place = Place::new(move |received| {
        seen.lock()
            .unwrap()
            .get_or_insert_with(|| received.body["messages"][0]["content"].clone());
        Script::words(1)
    });
    let said = said(&mut place.profile(&["--max-queries", "1"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        place
            .service
            .others()
            .contains(&"GET /v1/models".to_owned())
    );
    let first = asked.lock().unwrap().clone().unwrap();
    let dataset: Vec<_> = rows(&place.run())
        .iter()
        .map(|row| row["problem"].clone())
        .collect();
    assert!(
        !dataset.contains(&first),
        "the first query is a warm-up of our own: {first}"
    );
}

#[test]
fn a_model_that_the_service_lacks_is_a_warning() {
    let place = quick();
    let url = place.service.url();
    let said = said(&mut place.profile_at(&url, "referense", &["--max-queries", "1"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.err
            .contains("does not list a model `referense`; it has `reference`"),
        "{}",
        said.err
    );
}

#[test]
fn an_existing_output_is_kept_without_a_terminal() {
    let place = quick();
    assert_eq!(
        said(&mut place.profile(&["--max-queries", "2"])).code,
        Some(0)
    );
    let refused = said(&mut place.profile(&["--max-queries", "1"]));
    assert_eq!(refused.code, Some(6));
    assert!(
        refused.err.contains("exists") && refused.err.contains("--overwrite"),
        "{}",
        refused.err
    );
    assert_eq!(rows(&place.run()).len(), 2);
    for flag in ["--overwrite", "--yes"] {
        assert_eq!(
            said(&mut place.profile(&["--max-queries", "1", flag])).code,
            Some(0)
        );
        assert_eq!(rows(&place.run()).len(), 1, "{flag}");
    }
    assert_eq!(
        std::fs::read_dir(place.runs()).unwrap().count(),
        1,
        "the old run is gone"
    );
}

#[test]
fn progress_goes_over_the_smaller_of_wish_and_dataset() {
    let place = quick();
    for (wish, expected) in [("3", 3), ("1", 1), ("1000", 40)] {
        let said = said(&mut place.profile(&[
            "--max-queries",
            wish,
            "--dataset-param",
            "limit=40",
            "--overwrite",
        ]));
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert_eq!(rows(&place.run()).len(), expected);
        assert_eq!(events(&place.run())[0]["queries"], json!(expected));
        assert_eq!(summary(&place.run())["total_queries"], json!(expected));
    }
}

#[test]
fn zero_queries_is_a_usage_error() {
    let place = quick();
    let said = said(&mut place.profile(&["--max-queries", "0"]));
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("--max-queries"), "{}", said.err);
}

#[test]
fn no_completion_tokens_no_rates_and_no_first_token() {
    let place = Place::new(|_| Script::words(0));
    assert_eq!(
        said(&mut place.profile(&["--max-queries", "1"])).code,
        Some(0)
    );
    let row = &rows(&place.run())[0];
    assert_eq!(row["outcome"], "complete");
    assert_eq!(metrics(row)["token_metrics"]["output"], 0);
    let latency = &metrics(row)["latency_metrics"];
    for null in [
        "per_token_ms",
        "throughput_tokens_per_sec",
        "time_to_first_token_seconds",
    ] {
        assert_eq!(latency[null], Value::Null, "{null}");
    }
    assert!(latency["total_query_seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(row["timing"]["first_token_seconds"], Value::Null);
    assert_eq!(row["timing"]["chunk_seconds"], json!([]));
}

#[test]
fn token_counts_are_the_services() {
    let place = Place::new(|_| Script {
        extra_output_tokens: 1,
        ..Script::words(9)
    });
    assert_eq!(
        said(&mut place.profile(&["--max-queries", "2"])).code,
        Some(0)
    );
    for row in rows(&place.run()) {
        let input = row["problem"].as_str().unwrap().split_whitespace().count();
        let counts = json!({"input": input, "output": 10, "total": input + 10});
        assert_eq!(metrics(&row)["token_metrics"], counts);
        assert_eq!(row["token_source"], "usage");
    }
}

#[test]
fn without_usage_the_output_is_counted_and_the_row_says_how() {
    let place = Place::new(|_| Script {
        usage: false,
        ..Script::words(9)
    });
    let said = said(&mut place.profile(&["--max-queries", "1"]));
    assert_eq!(said.code, Some(0));
    let row = &rows(&place.run())[0];
    let counts = json!({"input": null, "output": 9, "total": null});
    assert_eq!(metrics(row)["token_metrics"], counts);
    assert_eq!(row["token_source"], "chunks");
    assert!(said.out.contains("counted by chunks"), "{}", said.out);
}

#[test]
fn rows_are_readable_while_the_run_goes_on() {
    let place = Place::new(|_| Script {
        first_token: Duration::from_millis(150),
        ..Script::words(2)
    });
    let mut child = crate::common::spawn(&mut place.profile(&["--warmup", "0"]));
    wait_until("the first row is there", || {
        place.run().join("state.json").exists() && !rows(&place.run()).is_empty()
    });
    assert!(child.try_wait().unwrap().is_none(), "it is still running");
    let so_far = rows(&place.run()).len();
    assert!(so_far < 40);
    assert_eq!(summary(&place.run())["status"], "running");
    let shown = said(ipw().arg("show").arg(place.run()));
    assert_eq!(shown.code, Some(0));
    assert!(shown.out.contains("running, or killed"), "{}", shown.out);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(rows(&place.run()).len() >= so_far);
}

#[test]
fn the_summary_names_the_dataset_and_the_plan_in_the_originals_words() {
    let place = quick();
    let path = place.jsonl("My Questions", questions(2));
    let argument = path.to_str().unwrap();
    let said = said(&mut place.profile(&["--dataset", argument, "--param", "temperature=0.5"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let run = place.run_of("My_Questions");
    let summary = summary(&run);
    assert_eq!(
        (&summary["dataset"], &summary["dataset_name"]),
        (&json!("jsonl"), &json!("My Questions"))
    );
    assert_eq!(summary["model"], "reference");
    let label = summary["hardware_label"].as_str().unwrap();
    assert!(
        run.to_string_lossy()
            .contains(&format!("profile_{label}_reference_")),
        "{label}"
    );
    assert!(summary["system_info"]["cpu_count"].as_u64().unwrap() > 0);
    let config = &summary["profiler_config"];
    assert_eq!(config["dataset_id"], "jsonl");
    assert_eq!(config["dataset_params"]["path"], argument);
    assert_eq!(config["additional_parameters"], json!({"temperature": 0.5}));
    assert_eq!(config["warmup_queries"], 3);
    assert_eq!(summary["client_info"]["models"], json!(["reference"]));
    assert_eq!(summary["output_dir"], run.to_str().unwrap());
}

#[test]
fn a_run_without_rows_loads_and_says_why() {
    let place = quick();
    let path = place.jsonl("empty", []);
    let said = said(&mut place.profile(&["--dataset", path.to_str().unwrap()]));
    assert_eq!(said.code, Some(1));
    assert!(
        said.err.contains("no rows") && said.err.contains("help:"),
        "{}",
        said.err
    );
    assert_eq!(rows(&place.run_of("empty")).len(), 0);
    assert_eq!(
        summary(&place.run_of("empty"))["reason"],
        "the dataset has no rows"
    );
}

#[test]
fn warm_up_queries_are_not_rows_and_not_from_the_dataset() {
    let place = quick();
    let mut command = place.profile(&["--warmup", "5", "--max-queries", "40"]);
    assert_eq!(said(&mut command).code, Some(0));
    let rows = rows(&place.run());
    assert_eq!((rows.len(), place.service.requests()), (40, 45));
    let problems: Vec<_> = rows
        .iter()
        .map(|row| row["problem"].as_str().unwrap())
        .collect();
    for exchange in place.service.log().iter().take(5) {
        let prompt = exchange.received.body["messages"][0]["content"]
            .as_str()
            .unwrap();
        assert!(!problems.contains(&prompt), "{prompt}");
    }
    let indices: Vec<_> = rows
        .iter()
        .map(|row| row["query_index"].as_u64().unwrap())
        .collect();
    assert_eq!(indices, (0..40).collect::<Vec<_>>());
}

#[test]
fn only_requested_fields_are_sent() {
    let place = quick();
    let path = place.jsonl("plain", questions(1));
    let said = said(&mut place.profile(&["--dataset", path.to_str().unwrap()]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    for exchange in place.service.log() {
        let Value::Object(body) = &exchange.received.body else {
            panic!()
        };
        let keys: Vec<_> = body.keys().map(String::as_str).collect();
        assert_eq!(keys, ["model", "messages", "stream", "stream_options"]);
        assert_eq!(body["messages"].as_array().unwrap().len(), 1);
        assert_eq!(exchange.received.header("authorization"), None);
    }
    let sent = &place.service.log()[3].received.body["messages"][0];
    assert_eq!(
        *sent,
        json!({"role": "user", "content": "question number 0"})
    );
}

#[test]
fn parameters_and_the_system_text_go_with_each_request() {
    let place = quick();
    let more = [
        "--param",
        "temperature=0.7",
        "--param",
        "stop=[\"a\"]",
        "--param",
        "user=me",
    ];
    let said = said(place.profile(&more).args([
        "--system",
        "Be brief.",
        "--max-queries",
        "1",
        "--warmup",
        "0",
    ]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let body = place.service.log()[0].received.body.clone();
    assert_eq!(
        body["temperature"], 0.7,
        "the user's goes over the dataset's 0"
    );
    assert_eq!(
        (&body["stop"], &body["user"]),
        (&json!(["a"]), &json!("me"))
    );
    assert!(body["max_tokens"].is_u64(), "the dataset's own stays");
    assert_eq!(
        body["messages"][0],
        json!({"role": "system", "content": "Be brief."})
    );
}

#[test]
fn a_failed_query_is_a_row_and_the_run_goes_on() {
    let place = Place::new(|received| Script {
        fault: (received.number == 5).then(|| Fault::Status(500, "out of cheese".to_owned())),
        ..Script::words(3)
    });
    let said = said(&mut place.profile(&["--max-queries", "40"]));
    assert_eq!(
        said.code,
        Some(0),
        "one of forty is not too many: {}",
        said.err
    );
    let rows = rows(&place.run());
    assert_eq!(rows.len(), 40);
    let failed: Vec<_> = rows
        .iter()
        .filter(|row| row["outcome"] != "complete")
        .collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["outcome"], "failed:http_500");
    assert!(
        failed[0]["error"]
            .as_str()
            .unwrap()
            .contains("out of cheese")
    );
    assert_eq!(
        metrics(failed[0])["latency_metrics"]["total_query_seconds"],
        Value::Null
    );
    assert_eq!(failed[0]["http"]["status"], 500);
}

#[test]
fn too_many_failed_queries_are_exit_4_and_still_rows() {
    let place = Place::new(|received| Script {
        fault: (received.number % 4 == 0).then_some(Fault::CloseAfter(1)),
        ..Script::words(3)
    });
    let said = said(&mut place.profile(&["--max-queries", "40"]));
    assert_eq!(said.code, Some(4), "{}", said.err);
    assert!(said.err.contains("queries failed"), "{}", said.err);
    assert_eq!(rows(&place.run()).len(), 40);
    assert_eq!(summary(&place.run())["status"], "complete");
}

#[test]
fn events_hold_no_prompt_and_no_reply() {
    let place = Place::new(|received| Script {
        fault: (received.number % 2 == 0).then(|| Fault::Status(400, "SECRETREPLY".to_owned())),
        ..Script {
            tokens: vec!["SECRETREPLY".to_owned()].into(),
            ..Script::default()
        }
    });
    let path = place.jsonl(
        "d",
        [
            json!({"problem": "SECRETPROMPT"}),
            json!({"problem": "SECRETPROMPT 2"}),
        ],
    );
    let said = said(&mut place.profile(&["--dataset", path.to_str().unwrap(), "--json"]));
    let log = std::fs::read_to_string(place.run_of("d").join("events.jsonl")).unwrap();
    for text in [&log, &said.out] {
        assert!(text.contains("query_finished"));
        assert!(!text.contains("SECRET"), "{text}");
    }
}
