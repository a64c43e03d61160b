//! Answers graded as they come, where the row says how.

use std::time::Duration;

use ipw_reference::{Fault, Script};
use serde_json::{Value, json};

use crate::common::{Place, ipw, metrics, rows, said, summary};

fn answering(text: &'static str) -> Place {
    Place::new(move |received| Script {
        tokens: vec![text.to_owned()].into(),
        fault: received.body["messages"][0]["content"]
            .as_str()
            .is_some_and(|prompt| prompt.contains("break"))
            .then_some(Fault::CloseAfter(0)),
        ..Script::default()
    })
}

#[test]
fn a_row_that_says_how_is_graded_and_the_rest_is_not_called_wrong() {
    let place = answering("The answer is 4.");
    let dataset = place.jsonl(
        "graded",
        [
            json!({"problem": "2+2?", "answer": "4", "scorer": "numeric"}),
            json!({"problem": "2+3?", "answer": "5", "scorer": "numeric"}),
            json!({"problem": "anything", "answer": "4"}),
            json!({"problem": "anything", "answer": "4", "scorer": "vibes"}),
            json!({"problem": "no reference", "scorer": "numeric"}),
            json!({"problem": "please break", "answer": "4", "scorer": "numeric"}),
        ],
    );
    let said = said(&mut place.profile(&["--dataset", dataset.to_str().unwrap(), "--warmup", "0"]));
    assert_eq!(said.code, Some(4), "one of six failed: {}", said.err);
    let rows = rows(&place.run_of("graded"));
    let verdicts: Vec<&Value> = rows
        .iter()
        .map(|row| &metrics(row)["lm_correctness"])
        .collect();
    assert_eq!(
        verdicts,
        [
            &json!(true),
            &json!(false),
            &Value::Null,
            &Value::Null,
            &Value::Null,
            &Value::Null
        ]
    );
    let why = |row: usize| {
        let evaluation = &metrics(&rows[row])["evaluation"];
        assert_eq!(
            evaluation["is_correct"],
            metrics(&rows[row])["lm_correctness"]
        );
        evaluation["metadata"].as_str().unwrap().to_owned()
    };
    assert!(why(0).contains("\"extracted\":\"4"), "{}", why(0));
    assert!(why(2).contains("names no scorer"), "{}", why(2));
    assert!(
        why(3).contains("vibes") && why(3).contains("numeric"),
        "{}",
        why(3)
    );
    assert!(why(5).contains("not answered"), "{}", why(5));
    assert_eq!(
        metrics(&rows[0])["evaluation"]["config"],
        json!("{\"scorer\":\"numeric\"}")
    );
    let summary = summary(&place.run_of("graded"));
    assert_eq!(
        summary["overview"]["verdicts"],
        json!({"correct": 1, "wrong": 1, "unscored": 4})
    );
    assert_eq!(summary["efficiency"]["accuracy"]["value"], 0.5);
    assert!(said.out.contains("1 of 2 right: 50.0 %"), "{}", said.out);
}

#[test]
fn constraints_come_from_the_row_in_both_forms() {
    let place = answering("No comma here, they said.");
    let own = |id: &str| json!([{"id": id, "kwargs": {}}]);
    let dataset = place.jsonl(
        "ruled",
        [
            json!({"problem": "a", "scorer": "instructions", "instructions": own("punctuation:no_comma")}),
            json!({"problem": "b", "scorer": "instructions", "instructions": own("no:such_thing")}),
            json!({
                "problem": "c", "scorer": "instructions",
                "instruction_id_list": ["keywords:existence", "length_constraints:number_words"],
                "kwargs": [{"keywords": ["comma"]}, {"num_words": 5, "relation": "at least"}],
            }),
            json!({"problem": "d", "scorer": "instructions"}),
        ],
    );
    let said = said(&mut place.profile(&["--dataset", dataset.to_str().unwrap(), "--warmup", "0"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let rows = rows(&place.run_of("ruled"));
    let found: Vec<(Value, String)> = rows
        .iter()
        .map(|row| {
            let why = metrics(row)["evaluation"]["metadata"].as_str().unwrap();
            (metrics(row)["lm_correctness"].clone(), why.to_owned())
        })
        .collect();
    for ((verdict, why), (wanted, says)) in found.iter().zip([
        (json!(false), "`punctuation:no_comma` is not kept"),
        (Value::Null, "`no:such_thing` is not a known instruction"),
        (json!(true), "2 of 2 kept"),
        (Value::Null, "the row has no `instructions`"),
    ]) {
        assert_eq!(*verdict, wanted, "{why}");
        assert!(why.contains(says), "{why}");
    }
}

#[test]
fn accuracy_per_watt_and_joule_are_shown_and_called_estimated() {
    // Long enough for the estimate, which is read every 50 ms.
    let place = Place::new(|_| Script {
        first_token: Duration::from_millis(150),
        tokens: ["4".to_owned()].into(),
        ..Script::default()
    });
    let dataset = place.jsonl(
        "all",
        vec![json!({"problem": "2+2?", "answer": 4, "scorer": "exact"}); 5],
    );
    let mut command = place.profile(&["--dataset", dataset.to_str().unwrap(), "--cpu-tdp", "100"]);
    let said = said(command.env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let summary = summary(&place.run_of("all"));
    let efficiency = &summary["efficiency"];
    let energy = &summary["overview"]["energy"];
    let expected = 1.0 / summary["metrics"]["watts"].as_f64().unwrap();
    assert!((efficiency["intelligence_per_watt"].as_f64().unwrap() - expected).abs() < 1e-9);
    let expected = 1.0 / energy["joules_per_query"]["mean"].as_f64().unwrap();
    assert!((efficiency["intelligence_per_joule"].as_f64().unwrap() - expected).abs() < 1e-9);
    for text in [
        said.out,
        crate::common::said(ipw().arg("show").arg(place.run_of("all"))).out,
    ] {
        let line = text
            .lines()
            .find(|line| line.contains("IPW"))
            .unwrap_or_default();
        assert!(
            line.contains("IPJ") && line.contains("(estimated)"),
            "{text}"
        );
    }
}

#[test]
fn tokens_have_the_price_that_the_user_names_and_none_otherwise() {
    let place = Place::new(|_| Script {
        first_token: Duration::from_millis(120),
        ..Script::words(4)
    });
    let dataset = place.jsonl("priced", [json!({"problem": "a"}), json!({"problem": "b"})]);
    let prices = place.path().join("prices.toml");
    std::fs::write(
        &prices,
        "[[model]]\nmodel = \"reference\"\ninput = 2.0\noutput = 10.0\n\
         date = \"2026-11-16\"\nsource = \"a contract\"\n",
    )
    .unwrap();
    let args = ["--dataset", dataset.to_str().unwrap(), "--cpu-tdp", "100"];
    let told = said(&mut place.profile(&args));
    assert_eq!(told.code, Some(0), "{}", told.err);
    let run = place.run_of("priced");
    let free = rows(&run);
    assert_eq!(metrics(&free[0])["cost"]["total_cost_usd"], Value::Null);
    assert_eq!(summary(&run)["overview"]["cost_usd"], Value::Null);

    let with = ["--prices", prices.to_str().unwrap(), "--overwrite"];
    let told = said(&mut place.profile(&[&args[..], &with].concat()));
    assert_eq!(told.code, Some(0), "{}", told.err);
    let mut total = 0.0;
    for row in rows(&run) {
        let (cost, tokens) = (&metrics(&row)["cost"], &metrics(&row)["token_metrics"]);
        let count = |name: &str| tokens[name].as_f64().unwrap();
        let is = |name: &str, wanted: f64| {
            let cost = cost[name].as_f64().unwrap();
            assert!((cost - wanted).abs() < 1e-12, "{name}: {cost} {wanted}");
        };
        is("input_cost_usd", count("input") * 2e-6);
        is("output_cost_usd", count("output") * 1e-5);
        is(
            "total_cost_usd",
            count("input") * 2e-6 + count("output") * 1e-5,
        );
        assert_eq!(cost["tool_cost_usd"], Value::Null);
        total += cost["total_cost_usd"].as_f64().unwrap();
    }
    let sum = summary(&run)["overview"]["cost_usd"].as_f64().unwrap();
    assert!((sum - total).abs() < 1e-12, "{sum} {total}");
    let plan = std::fs::read_to_string(run.join("plan.toml")).unwrap();
    assert!(plan.contains("a contract"), "{plan}");

    // The cost of energy is shown on request, and is in no file.
    let before = std::fs::read(run.join("summary.json")).unwrap();
    let rates = [
        "--price-per-kwh",
        "0.36",
        "--carbon-per-kwh",
        "400",
        "--pue",
        "2",
    ];
    let shown = said(ipw().arg("show").arg(&run).args(rates));
    assert!(shown.out.contains("at these rates"), "{}", shown.out);
    let shown = said(ipw().arg("show").arg(&run).args(rates).arg("--json"));
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    let joules = shown["overview"]["energy"]["joules"].as_f64().unwrap();
    let money = shown["running_cost"]["money"].as_f64().unwrap();
    assert!(
        (money / (joules * 2.0 / 3.6e6 * 0.36) - 1.0).abs() < 1e-9,
        "{money}"
    );
    assert_eq!(std::fs::read(run.join("summary.json")).unwrap(), before);
    let odd = said(ipw().arg("show").arg(&run).args(["--pue", "0.5"]));
    assert_eq!(odd.code, Some(2), "{}", odd.err);
}
