use std::collections::BTreeMap;

use ipw_store::overview::{TokenTotals, Verdicts};
use serde_json::json;

use super::*;

#[test]
fn a_table_fits_the_terminal_or_shows_less() {
    let total_query_seconds = Distribution::of((1..=400).map(|n| f64::from(n) / 4.0).collect());
    let overview = Overview {
        rows: 100,
        outcomes: BTreeMap::new(),
        tokens: TokenTotals::default(),
        elapsed_seconds: None,
        time_to_first_token_seconds: None,
        total_query_seconds,
        throughput_tokens_per_sec: None,
        rows_delayed: 0,
        energy: EnergyTotals::default(),
        verdicts: Verdicts::default(),
        subjects: None,
        cost_usd: None,
        failures: Vec::new(),
    };
    for (width, columns) in [(80, 6), (40, 2), (20, 1)] {
        let table = latencies(&overview, width).unwrap();
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(
            lines[1].split_whitespace().count(),
            2 + 2 * columns,
            "{table}"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= width));
    }
}

/// A run of 400 queries, and what each costs in joules and seconds.
fn run_of(basis: &str, joules: f64, seconds: f64, sigma: f64) -> Overview {
    let spread = |value: f64| Distribution::of(vec![value; 400].into_iter().collect());
    Overview {
        rows: 400,
        outcomes: BTreeMap::from([("complete".to_owned(), 398), ("truncated".to_owned(), 2)]),
        tokens: TokenTotals {
            input: Some(61_204),
            output: Some(20_480),
            ..TokenTotals::default()
        },
        elapsed_seconds: Some(seconds * 400.0),
        time_to_first_token_seconds: spread(seconds / 10.0),
        total_query_seconds: spread(seconds),
        throughput_tokens_per_sec: spread(51.2 / seconds),
        rows_delayed: 0,
        energy: EnergyTotals {
            basis: vec![basis.to_owned()],
            rows: 400,
            joules: Some(joules * 400.0),
            sigma_joules: Some(sigma * 400.0),
            joules_per_query: spread(joules),
            ..EnergyTotals::default()
        },
        verdicts: Verdicts {
            correct: 128,
            wrong: 272,
            unscored: 0,
        },
        subjects: None,
        cost_usd: None,
        failures: Vec::new(),
    }
}

fn shown(overview: &Overview, joules: f64, watts: f64) -> String {
    let values = json!({
        "joules_per_query": joules,
        "joules_per_output_token": joules / 51.2,
        "joules_per_correct": joules / 0.32,
        "watts": watts,
        "accuracy": 0.32,
        "ipw": 0.32 / watts,
        "ipj": 0.32 / joules,
    });
    let values = serde_json::from_value(values).unwrap();
    let results = Results {
        values: &values,
        basis: Choice::All,
        summary: &Summary::default(),
    };
    let head = [("model", "m".to_owned()), ("status", "complete".to_owned())];
    super::overview(&head, overview, results, &[], &[], Path::new("runs/m"))
}

#[test]
fn a_board_of_700_w_is_shown_with_digits_that_count() {
    let text = shown(&run_of("gpu+cpu", 1_470.0, 2.1, 14.0), 1_470.0, 700.0);
    assert_eq!(text, GOLDEN_BOARD, "{text}");
}

#[test]
fn a_laptop_of_5_w_is_shown_with_digits_that_count() {
    let text = shown(&run_of("cpu_estimated", 1.53, 0.34, 0.8), 1.53, 4.5);
    assert_eq!(text, GOLDEN_LAPTOP, "{text}");
}

const GOLDEN_BOARD: &str = "\
model     m\n\
status    complete\n\
queries   400 (398 complete, 2 truncated)\n\
tokens    61,204 in, 20,480 out\n\
elapsed   14.0 min\n\
energy    588 ± 5.60 kJ, measured (gpu+cpu)\n\
\x20         1.47 kJ per query, 28.7 J per output token, 700 W while in flight\n\
answers   128 of 400 right: 32.0 % (95 %: 27.6–36.7 %)\n\
\x20         IPW 0.457 /kW, IPJ 0.218 /kJ, 4.59 kJ per correct answer\n\
\n\
per query          mean        min        p50        p90        p99        max\n\
first token      210 ms     210 ms     210 ms     210 ms     210 ms     210 ms\n\
whole query      2.10 s     2.10 s     2.10 s     2.10 s     2.10 s     2.10 s\n\
tokens/s           24.4       24.4       24.4       24.4       24.4       24.4\n\
\n\
runs/m\n\
";

const GOLDEN_LAPTOP: &str = "\
model     m\n\
status    complete\n\
queries   400 (398 complete, 2 truncated)\n\
tokens    61,204 in, 20,480 out\n\
elapsed   2.27 min\n\
energy    612 ± 320 J, estimated, not measured (cpu_estimated)\n\
\x20         1.53 J per query, 29.9 mJ per output token, 4.50 W while in flight (estimated)\n\
answers   128 of 400 right: 32.0 % (95 %: 27.6–36.7 %)\n\
\x20         IPW 0.0711 /W, IPJ 0.209 /J, 4.78 J per correct answer (estimated)\n\
\n\
per query          mean        min        p50        p90        p99        max\n\
first token     34.0 ms    34.0 ms    34.0 ms    34.0 ms    34.0 ms    34.0 ms\n\
whole query      340 ms     340 ms     340 ms     340 ms     340 ms     340 ms\n\
tokens/s            151        151        151        151        151        151\n\
\n\
runs/m\n\
";
