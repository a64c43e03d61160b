//! The original's struct of metrics, field by field in its order.
//!
//! A field that nothing fills yet is typed and null, so that the schema is the same in every run.

use arrow_schema::DataType;
use ipw_core::energy::{GpuState, Spread};
use ipw_core::hardware::{Device, SystemInfo};
use ipw_core::price::{Cost, Price};
use ipw_core::record::Gaps;
use ipw_core::rollup::Basis;
use ipw_core::source::Domain;
use ipw_core::units::Joules;
use ipw_core::verdict::{Grade, JudgeReply};
use serde::Serialize;
use serde_json::json;

use super::{Row, count, phases};
use crate::column::Column;
use crate::verdicts::KeptVerdict;

const NOT_YET: &str = "not measured";

pub(super) fn column(
    model: &str,
    system: &SystemInfo,
    gpus: &[Device],
    price: Option<&Price>,
) -> Column<Row> {
    Column::group(
        model,
        vec![
            compute(),
            energy(),
            latency(),
            Column::group(
                "memory_metrics",
                vec![
                    spread("cpu_mb", "MiB", |row| row.record.energy.memory),
                    spread("gpu_mb", "MiB", |row| row.record.energy.gpu.memory),
                ],
            )
            .says("memory in use over the window", "never"),
            power(),
            spread("temperature_metrics", "°C", |row| {
                let energy = &row.record.energy;
                energy.gpu.temperature.or(energy.temperature)
            }),
            tokens(),
            phases::column(),
            utilization(gpus),
            efficiency(),
            cost(price),
            gpu_info(gpus),
            system_info(system),
            correctness().within(|row: &Row| &row.record.grade),
            Column::text("lm_response", |row: &Row| Some(&row.record.reply.answer)).says(
                "the answer without the reasoning, as far as it arrived",
                "never",
            ),
            evaluation().within(|row: &Row| &row.record.grade),
        ],
    )
    .says("metrics of this model's reply", "never")
}

/// Those that are made from energy.
pub(super) fn energy_columns() -> Vec<Column<Row>> {
    vec![energy(), power(), phases::column(), efficiency()]
}

/// Those that are made from the verdict.
pub(super) fn verdict_columns() -> Vec<Column<Grade>> {
    vec![correctness(), evaluation()]
}

/// The same, from a verdict that a run had before.
pub(super) fn kept_verdict_columns() -> Vec<Column<KeptVerdict>> {
    let correct = |name| Column::boolean(name, |kept: &KeptVerdict| kept.is_correct);
    let why = Column::text("metadata", |kept: &KeptVerdict| kept.metadata.as_deref());
    let who = Column::text("config", |kept: &KeptVerdict| kept.config.as_deref());
    let evaluation = vec![correct("is_correct"), why, who];
    vec![
        correct("lm_correctness"),
        Column::group("evaluation", evaluation),
    ]
}

fn correctness() -> Column<Grade> {
    Column::boolean("lm_correctness", |grade: &Grade| grade.verdict.is_correct())
        .says("whether the answer is correct", "not graded")
}

/// The metadata of a verdict.
#[derive(Serialize)]
struct Why<'a> {
    extracted: Option<&'a str>,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_judge_output: Option<&'a str>,
}

fn evaluation() -> Column<Grade> {
    Column::group(
        "evaluation",
        vec![
            Column::boolean("is_correct", |grade: &Grade| grade.verdict.is_correct())
                .says("whether the answer is correct", "not graded"),
            Column::made_text("metadata", |grade: &Grade| {
                let why = Why {
                    extracted: grade.extracted.as_deref(),
                    reason: &grade.reason,
                    raw_judge_output: grade.judge.as_ref().map(|judge| judge.output.as_str()),
                };
                Some(serde_json::to_string(&why).ok()?.into())
            })
            .says(
                "the extracted answer and the reason for the verdict, as JSON; with a judge, also its reply",
                "never",
            ),
            Column::made_text("config", |grade: &Grade| {
                let scorer = grade.scorer?;
                let config = match grade.judge.as_deref() {
                    None => json!({ "scorer": scorer }),
                    Some(JudgeReply { model, prompt, .. }) => {
                        json!({ "scorer": scorer, "judge": { "model": model, "prompt": prompt } })
                    }
                };
                Some(config.to_string().into())
            })
            .says("the scorer, and the judge if there is one, as JSON", "none"),
        ],
    )
    .says("the verdict", "never")
}

fn compute() -> Column<Row> {
    const UNKNOWN: &str = "the model's shape is unknown (only the embedded engine knows it)";
    let flops = |row: &Row| Some(row.record.reply.compute?.flops);
    Column::group(
        "compute_metrics",
        vec![
            Column::float("flops_per_request", flops)
                .unit("FLOP")
                .says("work of the whole request, prompt included", UNKNOWN),
            Column::float("macs_per_request", move |row: &Row| Some(flops(row)? / 2.0))
                .unit("MAC")
                .says("multiply-adds of the request", UNKNOWN),
            #[expect(clippy::cast_possible_truncation, reason = "far below 2^63")]
            Column::int("total_flops", move |row: &Row| Some(flops(row)? as i64))
                .unit("FLOP")
                .says("work of the whole request, as an integer", UNKNOWN),
            Column::float("flops_per_token", |row: &Row| row.record.flops_per_token())
                .unit("FLOP")
                .says("work per token, of prompt and reply together", UNKNOWN),
        ],
    )
    .says("arithmetic work of the request", "never")
}

fn flops_per_joule(row: &Row) -> Option<f64> {
    row.record.flops_per_joule()
}

fn efficiency() -> Column<Row> {
    Column::group(
        "efficiency",
        vec![
            Column::float("throughput_per_watt", |row: &Row| {
                let watts = row.record.headline_power()?.watts();
                Some(row.latency.tokens_per_second? / watts).filter(|ratio| ratio.is_finite())
            })
            .unit("tokens/s/W")
            .says(
                "output tokens per second and watt on the basis",
                "one of the two is unknown",
            ),
            Column::float("flops_per_joule", flops_per_joule)
                .unit("FLOP/J")
                .says("work per joule on the basis", "one of the two is unknown"),
            // Per second and per watt is per joule: the original has both names.
            Column::float("flops_per_watt", flops_per_joule)
                .unit("FLOP/s/W")
                .says(
                    "rate of work per watt on the basis",
                    "one of the two is unknown",
                ),
        ],
    )
    .says("work per watt and per joule", "never")
}

fn cost(price: Option<&Price>) -> Column<Row> {
    const UNKNOWN: &str =
        "no price is known for this model at this service, or the tokens are unknown";
    let part = |name: &str, meaning, of: fn(Cost) -> Option<f64>| {
        let price = price.cloned();
        let get = move |row: &Row| of(price.as_ref()?.of(&row.record.reply.tokens));
        Column::float(name, get).unit("USD").says(meaning, UNKNOWN)
    };
    Column::group(
        "cost",
        vec![
            part("input_cost_usd", "price of the input tokens", |cost| {
                cost.input
            }),
            part("output_cost_usd", "price of the output tokens", |cost| {
                cost.output
            }),
            unfilled("tool_cost_usd", "USD").says("price of the tool calls", NOT_YET),
            part("total_cost_usd", "price of the query", Cost::total),
        ],
    )
    .says("price of the query", "never")
}

fn unfilled(name: &str, unit: &'static str) -> Column<Row> {
    Column::unfilled(name, DataType::Float64).unit(unit)
}

fn spread(name: &str, unit: &'static str, get: fn(&Row) -> Option<Spread>) -> Column<Row> {
    let column = |name: &'static str, meaning, part: fn(Spread) -> f64| {
        Column::float(name, move |row: &Row| get(row).map(part))
            .unit(unit)
            .says(meaning, NOT_YET)
    };
    Column::group(
        name,
        vec![
            column("avg", "time-weighted mean over the window", |spread| {
                spread.mean
            }),
            column("max", "largest in the window", |spread| spread.max),
            column("median", "time-weighted median over the window", |spread| {
                spread.median
            }),
            column("min", "smallest in the window", |spread| spread.min),
        ],
    )
    .says("distribution over the query's window", "never")
}

fn energy() -> Column<Row> {
    let unfilled = |name, meaning| unfilled(name, "J").says(meaning, NOT_YET);
    let filled = |name, meaning, get: fn(&Row) -> Option<f64>| {
        Column::float(name, get)
            .unit("J")
            .says(meaning, "see `energy.reason`")
    };
    let cpu = |row: &Row| joules_of(row, Domain::CpuPackage);
    let gpu = |row: &Row| joules_of(row, Domain::Gpu);
    let ane = |row: &Row| joules_of(row, Domain::Ane);
    let soc = |row: &Row| row.record.energy.soc().map(Joules::joules);
    let again = "the same value, under the original's second name";
    Column::group(
        "energy_metrics",
        vec![
            filled("per_query_joules", "energy of the query on all GPUs", gpu),
            filled("total_joules", again, gpu),
            filled(
                "cpu_per_query_joules",
                "energy of the query on all CPU packages",
                cpu,
            ),
            filled("cpu_total_joules", again, cpu),
            unfilled("judge_gpu_joules", "GPU energy of the judge"),
            unfilled("judge_cpu_joules", "CPU energy of the judge"),
            unfilled("total_task_gpu_joules", "GPU energy of query and judge"),
            unfilled("total_task_cpu_joules", "CPU energy of query and judge"),
            filled(
                "ane_per_query_joules",
                "energy of the query on the neural engine",
                ane,
            ),
            filled("ane_total_joules", again, ane),
            filled(
                "soc_per_query_joules",
                "energy of the query on the whole chip",
                soc,
            ),
            filled("soc_total_joules", again, soc),
            filled(
                "energy_per_output_token_joules",
                "energy on the basis per output token",
                |row| row.record.joules_per_output_token(),
            ),
            filled(
                "energy_per_total_token_joules",
                "energy on the basis per token",
                |row| row.record.joules_per_token(),
            ),
            basis(),
        ],
    )
    .says("energy of the query", "never")
}

fn joules_of(row: &Row, domain: Domain) -> Option<f64> {
    row.record.energy.of(domain).map(Joules::joules)
}

fn basis() -> Column<Row> {
    Column::made_text("basis", |row: &Row| {
        row.record.energy.basis().map(Basis::label)
    })
    .says(
        "the sources in these figures; see `energy.basis`",
        "no energy source",
    )
}

fn latency() -> Column<Row> {
    let gap = |name: &'static str, meaning, get: fn(&Gaps) -> Option<f64>| {
        Column::float(name, move |row: &Row| {
            row.latency.gaps.as_ref().and_then(get)
        })
        .unit("ms")
        .says(meaning, "fewer than two chunks, or the query failed")
    };
    Column::group(
        "latency_metrics",
        vec![
            Column::float("per_token_ms", |row: &Row| row.latency.per_token_ms)
                .unit("ms")
                .says(
                    "total time ÷ output tokens",
                    "output tokens are zero or unknown, or the query failed",
                ),
            Column::float("throughput_tokens_per_sec", |row: &Row| {
                row.latency.tokens_per_second
            })
            .unit("tokens/s")
            .says(
                "output tokens per second",
                "output tokens are zero or unknown, or the query failed",
            ),
            Column::float("time_to_first_token_seconds", |row: &Row| {
                row.latency.first_token.map(|time| time.as_secs_f64())
            })
            .unit("s")
            .says(
                "from sent to the first chunk with content",
                "no token arrived, or the query failed",
            ),
            Column::float("total_query_seconds", |row: &Row| {
                row.latency.total.map(|time| time.as_secs_f64())
            })
            .unit("s")
            .says("from sent to the end", "the query failed"),
            gap("median_itl_ms", "median gap between chunks", |gaps| {
                Some(gaps.median_ms)
            }),
            gap("p90_itl_ms", "90th percentile of the gaps", |gaps| {
                Some(gaps.p90_ms)
            }),
            gap("p95_itl_ms", "95th percentile of the gaps", |gaps| {
                Some(gaps.p95_ms)
            }),
            gap("p99_itl_ms", "99th percentile of the gaps", |gaps| {
                Some(gaps.p99_ms)
            }),
            gap(
                "itl_std_ms",
                "sample standard deviation of the gaps",
                |gaps| gaps.deviation_ms,
            )
            .says(
                "sample standard deviation of the gaps",
                "fewer than three chunks, or the query failed",
            ),
        ],
    )
    .says("latencies from the actual send", "never")
}

fn power() -> Column<Row> {
    let component = |name: &str, get: fn(&Row) -> Option<Spread>| {
        let columns = vec![
            spread("per_query_watts", "W", get),
            spread("total_watts", "W", get),
        ];
        Column::group(name, columns).says("power of this component", "never")
    };
    Column::group(
        "power_metrics",
        vec![
            component("gpu", |row| row.record.energy.power_of(Domain::Gpu)),
            component("cpu", |row| row.record.energy.power_of(Domain::CpuPackage)),
            component("ane", |row| row.record.energy.power_of(Domain::Ane)),
            component("soc", |row| row.record.energy.soc_power()),
            basis(),
        ],
    )
    .says("power over the query's window", "never")
}

fn tokens() -> Column<Row> {
    Column::group(
        "token_metrics",
        vec![
            Column::int("input", |row: &Row| count(row.record.reply.tokens.input))
                .unit("tokens")
                .says("tokens of the prompt", "not counted"),
            Column::int("output", |row: &Row| count(row.record.reply.tokens.output))
                .unit("tokens")
                .says(
                    "tokens generated; `token_source` says how they were counted",
                    "unknown",
                ),
            Column::int("total", |row: &Row| count(row.record.total_tokens()))
                .unit("tokens")
                .says("input + output", "one of them is unknown"),
        ],
    )
    .says("token counts", "never")
}

fn utilization(gpus: &[Device]) -> Column<Row> {
    const NO_GPU: &str = "no GPU reports it";
    let column = |name, unit, meaning| unfilled(name, unit).says(meaning, NOT_YET);
    let mean = |name, meaning, get: fn(&GpuState) -> Option<Spread>| {
        Column::float(name, move |row: &Row| {
            get(&row.record.energy.gpu).map(|spread| spread.mean)
        })
        .unit("%")
        .says(meaning, NO_GPU)
    };
    let memory: Option<Vec<f64>> = gpus.iter().map(|gpu| gpu.memory_total_mib).collect();
    let total = memory
        .map(|boards| boards.iter().sum::<f64>() / 1024.0)
        .filter(|total| *total > 0.0);
    Column::group(
        "hardware_utilization",
        vec![
            Column::group(
                "gpu",
                vec![
                    mean(
                        "compute_utilization_pct",
                        "mean utilization of the compute units",
                        |gpu| gpu.compute,
                    ),
                    mean(
                        "memory_bandwidth_utilization_pct",
                        "mean utilization of the memory bus",
                        |gpu| gpu.memory_bus,
                    ),
                    mean(
                        "tensor_core_utilization_pct",
                        "mean utilization of the tensor cores",
                        |gpu| gpu.tensor,
                    ),
                    Column::float("memory_used_gb", |row: &Row| {
                        let memory = row.record.energy.gpu.memory?;
                        Some(memory.max / 1024.0)
                    })
                    .unit("GiB")
                    .says("largest memory in use, over all boards", NO_GPU),
                    Column::float("memory_total_gb", move |_: &Row| total)
                        .unit("GiB")
                        .says("memory of all boards", NO_GPU),
                ],
            )
            .says("utilization of the GPU over the window", "never"),
            Column::group(
                "derived",
                vec![
                    column(
                        "mfu",
                        "1",
                        "model FLOPs utilization: share of the device's peak arithmetic",
                    ),
                    column(
                        "mbu",
                        "1",
                        "model bandwidth utilization: share of the device's peak bandwidth",
                    ),
                    Column::float("arithmetic_intensity", |row: &Row| {
                        row.record.reply.compute?.intensity()
                    })
                    .unit("FLOP/byte")
                    .says(
                        "work per byte of weights, keys and values read",
                        "the model's shape is unknown",
                    ),
                ],
            )
            .says("utilization derived from the work", "never"),
        ],
    )
    .says("utilization of the hardware", "never")
}

fn gpu_info(gpus: &[Device]) -> Column<Row> {
    const NO_GPU: &str = "no GPU reports it";
    let first = gpus.first().cloned().unwrap_or_default();
    let text = |name, value, meaning| Column::constant_text(name, value).says(meaning, NO_GPU);
    let index = first.index.map(i64::from);
    Column::group(
        "gpu_info",
        vec![
            text("name", first.name, "name that the device reports"),
            text("vendor", first.vendor, "manufacturer"),
            Column::int("device_id", move |_: &Row| index).says("index of the device", NO_GPU),
            text("device_type", first.device_type, "kind of device"),
            text("backend", first.backend, "collector that reported it"),
        ],
    )
    .says("the first GPU; all of them are in `summary.json`", "never")
}

fn system_info(system: &SystemInfo) -> Column<Row> {
    let text = |name, value: &Option<String>, meaning| {
        Column::constant_text(name, value.clone()).says(meaning, "unknown")
    };
    let cpus = system.cpu_count.map(i64::from);
    Column::group(
        "system_info",
        vec![
            text("os_name", &system.os_name, "operating system"),
            text(
                "os_version",
                &system.os_version,
                "version of the operating system",
            ),
            text("kernel_version", &system.kernel_version, "kernel version"),
            text("host_name", &system.host_name, "the machine's name"),
            Column::int("cpu_count", move |_: &Row| cpus).says("logical CPUs", "unknown"),
            text("cpu_brand", &system.cpu_brand, "name that the CPU reports"),
        ],
    )
    .says("the machine that ran ipw", "never")
}
