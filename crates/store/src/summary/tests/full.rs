//! A summary in which every key is set.

#![expect(
    clippy::unnecessary_wraps,
    clippy::too_many_lines,
    reason = "a long literal whose fields are options"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use ipw_analysis::efficiency::{Accuracy, Derived, Efficiency};
use ipw_analysis::interval::Estimate;
use ipw_analysis::latency::{Latencies, Origin};
use ipw_analysis::marginal::Marginal;
use ipw_analysis::saturation::{Slope, Trend, TrendVerdict};
use ipw_analysis::slo::Goodput;
use ipw_analysis::steady::{NotSteady, Steady};
use ipw_core::account::Account;
use ipw_core::alignment::{AlignmentMethod, ClockOffset};
use ipw_core::attribution::{Balance, Idle, Weights};
use ipw_core::counter::Rollover;
use ipw_core::hardware::Device;
use ipw_core::row::Row;
use ipw_core::server_metric::Span;
use ipw_core::source::{Domain, Gauge, Method, Quantity, Role, Source};
use ipw_core::telemetry::{
    Absent, CpuTime, IdlePower, OtherRuns, Pause, SelfTest, SelfTests, SourceReport,
};
use ipw_core::units::{Joules, Watts};
use ipw_core::warning::RunKind;

use super::super::*;
use crate::attribute::{IdleFrom, IdleUsed, METHOD};
use crate::overview::{
    BasisTotals, Distribution, EnergyTotals, FailureKind, TokenTotals, Verdicts,
};

pub(super) fn anchor() -> Anchor {
    Anchor {
        unix_nanos: 1_760_000_000_123_456_789,
        monotonic_nanos: 42,
    }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

pub(super) fn full() -> Summary {
    Summary {
        model: text("m"),
        profiler_config: Some(profiler_config()),
        dataset: text("starter"),
        dataset_name: text("Starter"),
        hardware_label: text("H100x2"),
        generated_at: Some(1_760_000_100.25),
        total_queries: Some(12),
        system_info: Some(SystemInfo {
            os_name: text("Ubuntu"),
            os_version: text("24.04"),
            kernel_version: text("6.8"),
            host_name: text("box"),
            cpu_count: Some(64),
            cpu_brand: text("EPYC"),
        }),
        gpu_info: Some(GpuInfo::from(&device())),
        client_info: ClientInfo::of(serde_json::json!({
            "id": "openai", "base_url": "http://localhost/v1",
            "tokenizer": {"from": "t", "files": {"tokenizer.json": "abc"}},
        })),
        status: Some(Status::Complete),
        reason: text("because"),
        metrics: Some(Values::default()),
        telemetry: Some(telemetry()),
        efficiency: Some(EfficiencySummary {
            bought: Efficiency {
                accuracy: Some(Accuracy {
                    value: 0.5,
                    low: 0.25,
                    high: 0.75,
                }),
                intelligence_per_watt: Some(0.01),
                intelligence_per_joule: Some(0.02),
                joules_per_correct_answer: Some(50.0),
            },
            derived: Some(DerivedMetrics {
                whole: derived(),
                steady: Some(derived()),
            }),
        }),
        overview: Some(overview()),
        load: Some(load()),
        calibration: Some(calibration()),
        quality: Some(vec![
            Warning::new(RunKind::Gaps, "silent")
                .advise("look")
                .of_source("nvml/0"),
        ]),
        attribution: Some(Attribution {
            ipw: Versions::IPW.into(),
            method: METHOD.into(),
            weights: Weights::Equal,
            idle: vec![IdleUsed::new(
                "nvml/0",
                0,
                Some(idle()),
                Some(IdleFrom::Recorded),
            )],
            at: 1_760_000_100.5,
            rows: 12,
            rows_with_energy: 11,
        }),
        marginal: Some(marginal()),
        name: text("night"),
        tags: BTreeMap::from([("k".to_owned(), "v".to_owned())]),
        server_metrics: Some(ServerMetrics {
            url: "http://localhost/metrics".to_owned(),
            pages: 3,
            failed: 1,
            fault: text("closed"),
            is_complete: true,
            dropped_series: Some(0),
            metrics: BTreeMap::from([(
                "output_tokens".into(),
                Span {
                    first: 0.0,
                    last: 10.0,
                    min: 0.0,
                    max: 10.0,
                    samples: 3,
                    grown: Some(10.0),
                },
            )]),
        }),
        scoring: Some(scoring()),
        ..Summary::begun(Path::new("run"), anchor())
    }
}

fn profiler_config() -> ProfilerConfig {
    let map = |key: &str| serde_json::Map::from_iter([(key.to_owned(), 1.into())]).into();
    ProfilerConfig {
        dataset_id: text("starter"),
        client_id: text("openai"),
        client_base_url: text("http://localhost/v1"),
        dataset_params: Some(map("limit")),
        client_params: Some(map("timeout")),
        model: text("m"),
        output_dir: text("runs"),
        max_concurrency: Some(4),
        max_queries: Some(12),
        phased_profiling: Some(false),
        run_hardware_benchmarks: Some(false),
        additional_parameters: Some(map("max_tokens")),
        warmup_queries: Some(2),
        telemetry_buffer_seconds: Some(30.0),
        telemetry_max_samples: Some(10_000),
    }
}

fn device() -> Device {
    Device {
        id: "nvml/0".to_owned(),
        name: text("H100"),
        vendor: text("NVIDIA"),
        index: Some(0),
        device_type: text("GPU"),
        backend: text("nvml"),
        uuid: text("GPU-1"),
        pci: text("0000:3b:00.0"),
        driver_version: text("550"),
        memory_total_mib: Some(81_559.0),
        power_limit_watts: Some(700.0),
        mig_enabled: Some(false),
        ecc_enabled: Some(true),
        notes: vec!["note".to_owned()],
    }
}

fn source(name: &str, quantity: Quantity) -> Source {
    Source {
        name: name.to_owned(),
        collector: "nvml".into(),
        host: text("gpu1"),
        device: text("nvml/0"),
        quantity,
        method: Method::Counter,
        period: Some(Duration::from_millis(20)),
        privilege: "none".into(),
        relative_sigma: Some(0.05),
    }
}

fn idle() -> Idle {
    Idle {
        power: Watts::from_watts(70.5),
        sigma: Watts::from_watts(0.5),
    }
}

fn telemetry() -> Telemetry {
    let test = SelfTest {
        readings: 9,
        moves: true,
        monotone: Some(true),
        change_interval_seconds: Some(0.02),
        resolution: Some(0.001),
        watts: Some(300.5),
        against_power: Some(1.01),
        last: Some(123.5),
    };
    let joules = Joules::from_joules;
    let counter = SourceReport {
        role: Some(Role::Service),
        clock: Some(ClockOffset {
            how: AlignmentMethod::Exchange,
            shift_nanos: -5,
            bound: Duration::from_micros(250),
            drift_ppm: Some(0.5),
            drift_bound_ppm: Some(0.25),
            looks: 7,
            steps: 0,
        }),
        readings: Some(99),
        joules: Some(1234.5),
        covered_seconds: Some(10.25),
        resets: Some(0),
        implausible: Some(0),
        still_seconds: Some(0.02),
        change_interval_seconds: Some(0.02),
        gaps: Some(1),
        idle: IdlePower {
            before: Some(idle()),
            after: Some(idle()),
        },
        balance: Some(Balance {
            measured: joules(10.0),
            queries: joules(8.0),
            no_query: joules(1.5),
            gaps: joules(0.5),
            above_idle: Some(joules(6.0)),
            idle: Some(joules(3.0)),
            unassigned: Some(joules(0.25)),
        }),
        self_test: SelfTests {
            start: Some(test),
            end: Some(test),
        },
        ..SourceReport::of(source(
            "gpu1/nvml/0",
            Quantity::Energy {
                domain: Domain::Gpu,
                rollover: Rollover::Wraps(joules(1e6)),
            },
        ))
    };
    let power = SourceReport::of(source(
        "gpu1/nvml/0/power",
        Quantity::Power {
            domain: Domain::Gpu,
            averaging: Duration::from_millis(25),
        },
    ));
    let mut seen = Account::default();
    seen.saw(40.0);
    seen.saw(51.5);
    let gauge = SourceReport {
        values: seen.values.map(|values| {
            // How many they were is not in the file.
            serde_json::from_value(serde_json::json!(values)).unwrap()
        }),
        ..SourceReport::of(source(
            "gpu1/nvml/0/temperature",
            Quantity::Gauge {
                gauge: Gauge::GpuTemperature,
            },
        ))
    };
    Telemetry {
        devices: vec![device()],
        sources: vec![counter, power, gauge],
        absent: vec![Absent {
            collector: "rapl".into(),
            is_here: true,
            reason: "closed".to_owned(),
            fix: text("sudo chmod"),
            risk: text("side channel"),
        }],
        estimate: text("CPU time"),
        faults: vec!["nvml: lost".to_owned()],
        cpu: Some(CpuTime {
            service_seconds: Some(9.5),
            service_processes: Some(2),
            service_unknown: text("remote"),
            own_seconds: Some(0.5),
            machine_seconds: Some(11.0),
            capacity_seconds: Some(640.0),
        }),
        other_runs: Some(OtherRuns {
            most: 1,
            seconds: 0.5,
        }),
        sampler_cpu_seconds: Some(0.125),
        sampler_cpu_share: Some(0.0125),
        pauses: vec![Pause {
            start_seconds: 1.5,
            seconds: 2.5,
            queries: 1,
        }],
    }
}

fn derived() -> Derived {
    Derived {
        queries: 12,
        joules_per_query: Some(10.5),
        joules_per_output_token: Some(0.5),
        output_tokens_per_joule: Some(2.0),
        energy_delay_joule_seconds: Some(5.5),
        flops_per_joule: Some(1e9),
    }
}

fn overview() -> Overview {
    let spread = Distribution::of((1..30).map(f64::from).collect());
    let verdicts = Verdicts {
        correct: 6,
        wrong: 5,
        unscored: 1,
    };
    Overview {
        rows: 12,
        outcomes: BTreeMap::from([("complete".to_owned(), 11), ("timed_out".to_owned(), 1)]),
        tokens: TokenTotals {
            input: Some(100),
            output: Some(200),
            rows_counted_by_chunks: 1,
            rows_counted_by_tokenizer: Some(2),
            rows_with_impossible_claims: 0,
        },
        elapsed_seconds: Some(10.5),
        time_to_first_token_seconds: spread,
        total_query_seconds: spread,
        throughput_tokens_per_sec: spread,
        rows_delayed: 0,
        energy: EnergyTotals {
            basis: vec!["gpu".to_owned()],
            rows: 11,
            joules: Some(1000.5),
            sigma_joules: Some(5.5),
            above_idle_joules: Some(600.5),
            joules_per_output_token: Some(5.0),
            joules_per_query: spread,
            reasons: BTreeMap::from([("gap".to_owned(), 1)]),
            rows_thinly_covered: 1,
            by_basis: vec![BasisTotals {
                basis: "gpu".to_owned(),
                sources: vec!["gpu1/nvml/0".to_owned()],
                rows: 11,
                joules: 1000.5,
                sigma_joules: Some(5.5),
                above_idle_joules: Some(600.5),
            }],
        },
        cost_usd: Some(0.001),
        verdicts,
        subjects: Some(BTreeMap::from([("physics".to_owned(), verdicts)])),
        failures: vec![FailureKind {
            outcome: "timed_out".to_owned(),
            rows: 1,
            query_id: "q7".to_owned(),
            error: None,
        }],
    }
}

fn load() -> LoadSummary {
    let mut latencies = Latencies::default();
    // Enough for a median and for no 99th percentile.
    for n in 0..40 {
        let start = f64::from(n);
        latencies.push(&Row {
            part: 0,
            due: Some(start),
            start: Some(start + 0.01),
            sent: Some(start + 0.02),
            first_token: Some(start + 0.25 + start * 1e-3),
            first_answer_token: Some(start + 0.3),
            end: Some(start + 1.5 + start * 1e-3),
            chunks: &[start + 0.25, start + 0.5, start + 1.25],
            output_tokens: Some(3),
            is_answered: true,
            ..Row::default()
        });
    }
    let latency = latencies.finish();
    let goodput = Goodput {
        rows: 12,
        met: 10,
        missed: vec![1, 2],
        unknown: 1,
        failed: 1,
        share: Some(Estimate {
            value: 0.8,
            low: 0.5,
            high: 0.9,
        }),
        requests_per_second: Some(1.25),
    };
    LoadSummary {
        load: "4 at a time".to_owned(),
        latency,
        gaps_of_every: 1,
        steady: Some(Steady {
            seconds: 8.5,
            mean_in_flight: 3.9,
            completed: 10,
            failed: 1,
            requests_per_second: 1.2,
            output_tokens_per_second: Some(20.5),
            time_to_first_token_seconds: latency.time_to_first_token_seconds,
            total_seconds: latency.total_seconds,
        }),
        not_steady: BTreeMap::from([
            (1, NotSteady::NeverFull { most: 2, wanted: 4 }),
            (2, NotSteady::NoTime),
        ]),
        queue: Some(Trend {
            verdict: TrendVerdict::Stable,
            per_second: Some(Slope {
                slope: 0.01,
                low: -0.01,
                high: 0.03,
            }),
            level: Some(1.5),
            blocks: 16,
            is_wandering: false,
        }),
        slo: Some(SloKept {
            objectives: "ttft=500ms".to_owned(),
            counted_from: Origin::Sent,
            whole: goodput.clone(),
            steady: goodput,
        }),
    }
}

fn calibration() -> Calibration {
    Calibration {
        format_version: 1,
        calibrated_at: 1_759_000_000.0,
        ipw: "0.1.0".to_owned(),
        hardware_label: "H100x2".to_owned(),
        quick: false,
        passed: true,
        checks: vec![Check {
            id: "sequential.stamp_late_p99".into(),
            what: "stamps".into(),
            unit: Unit::Seconds,
            value: Some(0.0002),
            at_least: Some(0.0),
            at_most: Some(0.001),
            passed: true,
            otherwise: "latencies are too long".into(),
        }],
    }
}

fn marginal() -> MarginalCosts {
    let cost = Estimate {
        value: 0.075,
        low: 0.07,
        high: 0.08,
    };
    MarginalCosts {
        joules_per_input_token: Some(cost),
        joules_per_output_token: Some(cost),
        idle_watts: Some(cost),
        reason: Some(Untold::Collinear),
        sources: vec![SourceCost {
            source: "gpu1/nvml/0".to_owned(),
            fit: Some(Marginal {
                joules_per_input_token: cost,
                joules_per_output_token: cost,
                idle_watts: cost,
                residual_joules: 0.5,
                condition: 12.5,
                observations: 40,
            }),
            reason: Some(Untold::TooFew),
        }],
    }
}

fn scoring() -> Scoring {
    Scoring::Graded {
        ipw: Versions::IPW.into(),
        at: 1_760_000_200.5,
        scorer: text("judge"),
        again: true,
        graded: 12,
        changed: 1,
        kept: 0,
        judge: Some(Box::new(Judging {
            client: "openai".to_owned(),
            place: "http://localhost".to_owned(),
            model: "j".to_owned(),
            prompt: "p1".into(),
            parameters: serde_json::Map::from_iter([("seed".to_owned(), 1.into())]).into(),
            asked: 12,
            asked_before: 1,
            attempts: 13,
            without_verdict: 1,
            input_tokens: Some(100),
            output_tokens: Some(10),
            seconds: 1.5,
            cost_usd: Some(0.01),
            joules: Some(1.5),
        })),
    }
}
