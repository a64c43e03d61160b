//! The flat table of `ipw export --tidy`: its numbers are those of the dictionary of metrics.

use std::path::{Path, PathBuf};

use ipw_core::stats::{mean, quantile};
use serde_json::Value;

use crate::common::{Said, all_cores, ipw, rows, said};
use crate::export::{export, graded, lines, name, packed};

/// How the table begins.
const BEGIN: [&str; 13] = [
    "query_id",
    "subject",
    "outcome",
    "correct",
    "ttft_s",
    "latency_s",
    "tpot_s",
    "input_tokens",
    "output_tokens",
    "joules",
    "joules_sigma",
    "watts",
    "basis",
];

fn head(said: &Said) -> &str {
    said.out.lines().next().unwrap_or_default()
}

fn tidy(run: &PathBuf) -> Vec<Value> {
    let runs = std::slice::from_ref(run);
    let printed = export(runs, &["--tidy", "--format", "jsonl", "-o", "-"]);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    lines(&printed.out)
}

fn names(row: &Value) -> Vec<&str> {
    row.as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn the_flat_table_has_the_numbers_of_the_run_and_no_empty_column() {
    let _busy = all_cores();
    let (place, runs) = graded();
    let table = tidy(&runs[0]);
    let names = names(&table[0]);
    let begin: Vec<&str> = BEGIN.into_iter().filter(|it| names.contains(it)).collect();
    assert!(begin.len() > 10, "{names:?}");
    assert_eq!(names[..begin.len()], begin);
    for name in &names {
        assert!(
            table.iter().any(|row| !row[*name].is_null()),
            "`{name}` is empty"
        );
    }
    for name in ["run", "cost_usd", "slo_met", "error_kind", "queue_s"] {
        assert!(!names.contains(&name), "`{name}` is there");
    }
    let nested = rows(&runs[0]);
    assert_eq!(table.len(), nested.len());
    for (row, nested) in table.iter().zip(&nested) {
        let latency = &nested["model_metrics"]["large"]["latency_metrics"];
        assert_eq!(row["query_id"], nested["query_id"]);
        assert_eq!(row["joules"], nested["headline"]["joules"]);
        assert_eq!(row["watts"], nested["headline"]["share_watts"]);
        let sent = row["sent_latency_s"].as_f64().unwrap();
        let stored = latency["total_query_seconds"].as_f64().unwrap();
        assert!((sent - stored).abs() < 1e-9, "{row}");
        assert_eq!(row["model"], "large");
    }
    the_same_in_every_format(&runs[0], &place.path().join("tidy"), &table);
}

/// In the other formats, and by the library.
fn the_same_in_every_format(run: &PathBuf, out: &Path, table: &[Value]) {
    let names = names(&table[0]);
    for format in ["csv", "parquet"] {
        let more = ["--tidy", "--format", format, "-o", out.to_str().unwrap()];
        let exported = export(std::slice::from_ref(run), &more);
        assert_eq!(exported.code, Some(0), "{}", exported.err);
        assert_eq!(
            exported.out.lines().count(),
            1,
            "no readings: {}",
            exported.out
        );
    }
    let file = |format: &str| out.join(format!("{}.tidy.{format}", name(run)));
    assert_eq!(packed(&file("parquet")), table);
    let text = std::fs::read_to_string(file("csv")).unwrap();
    assert_eq!(text.lines().next().unwrap(), names.join(","));
    assert_eq!(text.lines().count(), 1 + table.len());
    let run = ipw_store::Run::open(run).unwrap();
    let made = run.tidy().unwrap();
    let own: Vec<&str> = made.columns().iter().map(|column| column.name).collect();
    assert_eq!(own, names);
    let counts = made.batches().map(|batch| batch.unwrap().num_rows());
    assert_eq!(counts.sum::<usize>(), table.len());
}

#[test]
fn one_name_is_one_number_in_the_flat_table_too() {
    let _busy = all_cores();
    let (_place, runs) = graded();
    let table = tidy(&runs[1]);
    let shown = said(ipw().arg("show").arg(&runs[1]).arg("--json"));
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    let numbers = |name: &str| -> Vec<f64> {
        let mut all: Vec<f64> = table.iter().filter_map(|row| row[name].as_f64()).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let median = |name: &str| quantile(&numbers(name), 0.5).unwrap();
    let grades: Vec<f64> = table
        .iter()
        .filter_map(|row| row["correct"].as_bool())
        .map(|is_right| f64::from(u8::from(is_right)))
        .collect();
    for (found, id) in [
        (mean(&numbers("joules")).unwrap(), "joules_per_query"),
        (mean(&grades).unwrap(), "accuracy"),
        (median("ttft_s"), "ttft_p50"),
        (median("latency_s"), "latency_p50"),
        (median("sent_ttft_s"), "sent_ttft_p50"),
        (median("sent_latency_s"), "sent_latency_p50"),
        (median("tpot_s"), "tpot_p50"),
    ] {
        let metric = shown["metrics"][id].as_f64().unwrap();
        assert!(
            (found - metric).abs() <= 1e-9 * metric.abs(),
            "{id}: {found}, {metric}"
        );
    }
}

#[test]
fn the_flat_table_keeps_the_order_asked_for() {
    let (_place, runs) = graded();
    let columns = |columns: &str, more: &[&str]| {
        let asked = ["--tidy", "--format", "csv", "-o", "-", "--columns", columns];
        export(&runs, &[&asked[..], &["--together"], more].concat())
    };
    let together = columns("latency_s,run,query_id", &[]);
    assert_eq!(together.code, Some(0), "{}", together.err);
    assert_eq!(head(&together), "latency_s,run,query_id");
    assert_eq!(together.out.lines().count(), 1 + 24);
    // What is named in full stays, also if it is empty.
    let named = columns("cost_usd,query_id", &[]);
    assert_eq!(head(&named), "cost_usd,query_id");
    let first = named.out.lines().nth(1).unwrap();
    assert!(first.starts_with(",q"), "{first}");
    let matched = columns("*_usd,sent_*,query_id", &[]);
    assert_eq!(head(&matched), "sent_ttft_s,sent_latency_s,query_id");
    let all = export(
        &runs,
        &["--tidy", "--together", "--format", "csv", "-o", "-"],
    );
    assert!(
        head(&all).starts_with("run,model,query_id,subject,"),
        "{}",
        head(&all)
    );
    for (wanted, words) in [
        ("latency", "`latency_s`"),
        ("headline.joules", "there is no column `headline.joules`"),
    ] {
        let unknown = columns(wanted, &[]);
        assert_eq!(unknown.code, Some(2), "{}", unknown.err);
        assert!(unknown.err.contains(words), "{}", unknown.err);
        assert_eq!(unknown.out, "");
    }
    let asked = ["--tidy", "--columns", "run", "--format", "csv", "-o", "-"];
    let apart = export(&runs[..1], &asked);
    assert_eq!(apart.code, Some(2), "one run needs no name: {}", apart.err);
    let refused = columns("joules", &["--basis", "soc"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
}
