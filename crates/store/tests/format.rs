//! The format is a contract: schema, features and `docs/format.md` say the same.

#![expect(clippy::panic, reason = "a test's helper fails loudly")]

use std::fmt::Write as _;

use arrow_schema::{DataType, Field, Fields};
use ipw_core::hardware::SystemInfo;
use ipw_core::shape::Shape;
use ipw_store::column::Entry;
use ipw_store::schema::RunSchema;
use ipw_testkit::docs::check_generated;

fn schema() -> RunSchema {
    let metadata = Shape::Struct(vec![("row".to_owned(), Shape::Int)]);
    RunSchema::new("<model>", &metadata, &SystemInfo::default(), &[])
}

fn generated(entries: &[Entry]) -> String {
    let mut table =
        String::from("| column | type | unit | meaning | null means |\n|---|---|---|---|---|\n");
    for entry in entries {
        let unit = entry.unit.unwrap_or("");
        let _ = writeln!(
            table,
            "| `{}` | {} | {unit} | {} | {} |",
            entry.path, entry.data_type, entry.meaning, entry.null
        );
    }
    table
}

/// Run with `IPW_UPDATE_DOCS=1` to write the tables anew.
#[test]
fn the_documented_columns_are_the_schemas() {
    for (part, entries) in [
        ("columns", schema().entries()),
        ("readings", ipw_store::readings::entries()),
        ("server_metrics", ipw_store::server_metrics::entries()),
    ] {
        check_generated("format.md", part, &generated(&entries));
    }
}

/// The flat table, in `docs/sql.md`.
#[test]
fn the_documented_columns_of_the_flat_table_are_its_own() {
    let mut table =
        String::from("| column | type | unit | meaning | null means |\n|---|---|---|---|---|\n");
    for column in &ipw_store::tidy::COLUMNS {
        let kind = ipw_store::column::type_name(&column.data_type());
        let (name, unit) = (column.name, column.unit.unwrap_or(""));
        let _ = writeln!(
            table,
            "| `{name}` | {kind} | {unit} | {} | {} |",
            column.meaning, column.null
        );
    }
    check_generated("sql.md", "tidy", &table);
}

#[test]
fn every_column_says_what_it_means_and_what_null_means() {
    for entry in schema()
        .entries()
        .into_iter()
        .chain(ipw_store::readings::entries())
        .chain(ipw_store::server_metrics::entries())
    {
        assert!(!entry.meaning.is_empty(), "{} has no meaning", entry.path);
        assert!(
            !entry.null.is_empty(),
            "{} does not say what null means",
            entry.path
        );
    }
}

fn names(fields: &Fields) -> Vec<&str> {
    fields.iter().map(|field| field.name().as_str()).collect()
}

fn inside<'a>(fields: &'a Fields, name: &str) -> &'a Fields {
    let field = fields.iter().find(|field| field.name() == name);
    match field.map(|field| field.data_type()) {
        Some(DataType::Struct(fields)) => fields,
        other => panic!("`{name}` is {other:?}"),
    }
}

#[test]
fn the_columns_stand_in_the_order_that_others_rely_on() {
    let arrow = schema().arrow();
    assert_eq!(
        names(arrow.fields())[..14],
        [
            "problem",
            "answer",
            "dataset_metadata",
            "subject",
            "model_answers",
            "model_metrics",
            "query_index",
            "query_id",
            "part",
            "outcome",
            "error",
            "token_source",
            "timing",
            "energy",
        ]
    );
    assert_eq!(names(inside(arrow.fields(), "dataset_metadata"))[0], "row");
    assert_eq!(
        names(inside(arrow.fields(), "timing")),
        [
            "due_seconds",
            "start_seconds",
            "connected_seconds",
            "sent_seconds",
            "first_byte_seconds",
            "first_token_seconds",
            "first_answer_token_seconds",
            "end_seconds",
            "schedule_lag_seconds",
            "chunk_seconds",
            "own_delay_seconds",
            "stamp_source",
            "shared_reads",
        ]
    );
    let DataType::List(share) = inside(arrow.fields(), "energy")[0].data_type() else {
        panic!("shares are a list")
    };
    let DataType::Struct(share) = share.data_type() else {
        panic!("of structs")
    };
    assert_eq!(
        names(share),
        [
            "name",
            "total_joules",
            "above_idle_joules",
            "sigma_joules",
            "method",
            "coverage",
            "reason"
        ]
    );
}

/// The original's groups and their fields, in its order (its `execution/types`).
const GROUPS: &[(&str, &[&str])] = &[
    (
        "compute_metrics",
        &[
            "flops_per_request",
            "macs_per_request",
            "total_flops",
            "flops_per_token",
        ],
    ),
    (
        "energy_metrics",
        &[
            "per_query_joules",
            "total_joules",
            "cpu_per_query_joules",
            "cpu_total_joules",
            "judge_gpu_joules",
            "judge_cpu_joules",
            "total_task_gpu_joules",
            "total_task_cpu_joules",
            "ane_per_query_joules",
            "ane_total_joules",
            "soc_per_query_joules",
            "soc_total_joules",
            "energy_per_output_token_joules",
            "energy_per_total_token_joules",
            "basis",
        ],
    ),
    (
        "latency_metrics",
        &[
            "per_token_ms",
            "throughput_tokens_per_sec",
            "time_to_first_token_seconds",
            "total_query_seconds",
            "median_itl_ms",
            "p90_itl_ms",
            "p95_itl_ms",
            "p99_itl_ms",
            "itl_std_ms",
        ],
    ),
    ("memory_metrics", &["cpu_mb", "gpu_mb"]),
    ("power_metrics", &["gpu", "cpu", "ane", "soc", "basis"]),
    ("temperature_metrics", &["avg", "max", "median", "min"]),
    ("token_metrics", &["input", "output", "total"]),
    (
        "phase_metrics",
        &[
            "prefill_energy_j",
            "decode_energy_j",
            "prefill_duration_ms",
            "decode_duration_ms",
            "prefill_power_avg_w",
            "decode_power_avg_w",
            "prefill_energy_per_input_token_j",
            "decode_energy_per_output_token_j",
            "prefill_energy_components_j",
            "decode_energy_components_j",
        ],
    ),
    ("hardware_utilization", &["gpu", "derived"]),
    (
        "efficiency",
        &["throughput_per_watt", "flops_per_joule", "flops_per_watt"],
    ),
    (
        "cost",
        &[
            "input_cost_usd",
            "output_cost_usd",
            "tool_cost_usd",
            "total_cost_usd",
        ],
    ),
    (
        "gpu_info",
        &["name", "vendor", "device_id", "device_type", "backend"],
    ),
    (
        "system_info",
        &[
            "os_name",
            "os_version",
            "kernel_version",
            "host_name",
            "cpu_count",
            "cpu_brand",
        ],
    ),
    ("evaluation", &["is_correct", "metadata", "config"]),
];

#[test]
fn the_models_metrics_are_the_originals() {
    let arrow = schema().arrow();
    let model = inside(inside(arrow.fields(), "model_metrics"), "<model>");
    assert_eq!(
        names(model),
        [
            "compute_metrics",
            "energy_metrics",
            "latency_metrics",
            "memory_metrics",
            "power_metrics",
            "temperature_metrics",
            "token_metrics",
            "phase_metrics",
            "hardware_utilization",
            "efficiency",
            "cost",
            "gpu_info",
            "system_info",
            "lm_correctness",
            "lm_response",
            "evaluation",
        ]
    );
    let stats = ["avg", "max", "median", "min"];
    for (group, expected) in GROUPS {
        assert_eq!(names(inside(model, group)), *expected, "{group}");
    }
    for component in ["gpu", "cpu", "ane", "soc"] {
        let component = inside(inside(model, "power_metrics"), component);
        assert_eq!(names(component), ["per_query_watts", "total_watts"]);
        assert_eq!(names(inside(component, "total_watts")), stats);
    }
    assert_eq!(
        names(inside(inside(model, "memory_metrics"), "cpu_mb")),
        stats
    );
}

#[test]
fn no_column_is_of_the_type_null_and_every_leaf_may_be_null() {
    fn check(field: &Field) {
        assert!(field.is_nullable(), "{}", field.name());
        match field.data_type() {
            DataType::Null => panic!("{} has no type", field.name()),
            DataType::Struct(fields) => fields.iter().for_each(|field| check(field)),
            DataType::List(item) => check(item),
            _ => {}
        }
    }
    schema()
        .arrow()
        .fields()
        .iter()
        .for_each(|field| check(field));
}

#[test]
fn units_are_in_the_fields_metadata() {
    let arrow = schema().arrow();
    let model = inside(inside(arrow.fields(), "model_metrics"), "<model>");
    let joules = &inside(model, "energy_metrics")[0];
    assert_eq!(joules.metadata().get("unit").map(String::as_str), Some("J"));
    assert_eq!(
        arrow
            .metadata()
            .get("ipw.format_version")
            .map(String::as_str),
        Some("2")
    );
}
