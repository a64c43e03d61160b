//! The checks that a machine must pass before its numbers are worth quoting.
//!
//! Bounds are for an idle machine of ordinary speed. They are wide enough for such a machine to
//! pass, and narrow enough that the remaining error does not show in a run's figures.

use ipw_findings::calibration::{Check, Unit};

use super::bound::{About, at_least, at_most, check, within};
use super::compare::{self, Comparison, Faults};
use super::joules;
use super::pipeline::Measurement;
use super::scenario::{Answers, CEILING, OPEN, SEQUENTIAL, STALL, STREAMS, Scenario};

/// The fastest services send a token every few milliseconds: one stamp in a hundred may be late by
/// a fraction of that.
const STAMP_LATE: f64 = 0.001;
const STAMP_LATE_MEDIAN: f64 = 0.000_5;
/// Many streams share one thread, so simultaneous chunks wait for each other.
const STAMP_LATE_OF_MANY: f64 = 0.005;
/// Times to first token are quoted in milliseconds: half of one does not show.
const LATENCY_BIAS: f64 = 0.000_5;
const LATENCY_BIAS_OF_MANY: f64 = 0.002;
/// Simultaneous requests wait for each other as chunks do, on both sides.
const LATENCY_ERROR: f64 = 0.01;
/// A delay on both sides cancels out: hardly any error may remain between chunks.
const GAP_BIAS: f64 = 0.000_1;
/// Timers of ordinary runtimes tick in milliseconds: a schedule may be late by two ticks.
const SCHEDULE_LATE: f64 = 0.002;
/// On top of that, the request must be written and read, and the service woken.
const ARRIVAL_LATE: f64 = 0.005;
/// Five times the rate of the open-loop scenario. Below it the load generator itself would shape an
/// ordinary load.
const LEAST_RATE: f64 = 1000.0;

const STAMPS_MEDIAN: About = (
    "chunk stamps late, median",
    Unit::Seconds,
    "every timestamp of a run is late by this much",
);
const STAMPS_P99: About = (
    "chunk stamps late, p99",
    Unit::Seconds,
    "the tail of token times comes from this tool",
);
const FIRST_TOKEN_BIAS: About = (
    "time to first token, bias",
    Unit::Seconds,
    "times to first token are off by this much",
);
const FIRST_TOKEN_ERROR: About = (
    "time to first token, error p99",
    Unit::Seconds,
    "the tail of times to first token comes from this tool, not the service",
);
const GAPS_BIAS: About = (
    "time between chunks, bias",
    Unit::Seconds,
    "times between tokens are off by this much",
);
const GAPS_ERROR: About = (
    "time between chunks, error p99",
    Unit::Seconds,
    "the tail of times between tokens comes from this tool, not the service",
);
const TOTAL_BIAS: About = (
    "time of the whole query, bias",
    Unit::Seconds,
    "query times are off by this much",
);
const TOTAL_ERROR: About = (
    "time of the whole query, error p99",
    Unit::Seconds,
    "the tail of query times comes from this tool, not the service",
);
const SCHEDULE: About = (
    "start after it was due, p99",
    Unit::Seconds,
    "an open loop does not follow the requested schedule",
);
const ARRIVAL: About = (
    "arrival at the service after due, p99",
    Unit::Seconds,
    "the service sees another schedule than the requested one",
);
const PLANNED: About = (
    "latency from the planned send, p99",
    Unit::Seconds,
    "latencies leave out the wait for a stalled service",
);
const RATE: About = (
    "requests that go out and come back",
    Unit::PerSecond,
    "the load generator itself slows ordinary loads down",
);

/// The checks of one scenario. Faults are counted over all scenarios instead.
pub(super) fn of(scenario: &Scenario, taken: &Measurement, compared: &Comparison) -> Vec<Check> {
    match scenario.id {
        SEQUENTIAL => {
            let mut checks = sequential(compared);
            checks.extend(joules::of_queries(taken));
            checks
        }
        STREAMS => {
            let mut checks = streams(compared);
            checks.extend(joules::of_run(taken));
            checks
        }
        OPEN => open(compared),
        STALL => vec![stall(scenario, taken)],
        CEILING => {
            let rate = compare::rate(&taken.asked);
            vec![check(CEILING, "rate", RATE, rate, at_least(LEAST_RATE))]
        }
        _ => Vec::new(),
    }
}

fn sequential(compared: &Comparison) -> Vec<Check> {
    let Comparison {
        stamps,
        first_token,
        gaps,
        total,
        ..
    } = compared;
    let bias = within(LATENCY_BIAS);
    [
        (
            "stamp_late_median",
            STAMPS_MEDIAN,
            stamps.median(),
            at_most(STAMP_LATE_MEDIAN),
        ),
        (
            "stamp_late_p99",
            STAMPS_P99,
            stamps.p99(),
            at_most(STAMP_LATE),
        ),
        (
            "first_token_bias",
            FIRST_TOKEN_BIAS,
            first_token.median(),
            bias,
        ),
        ("gap_bias", GAPS_BIAS, gaps.median(), within(GAP_BIAS)),
        (
            "gap_error_p99",
            GAPS_ERROR,
            gaps.worst(),
            at_most(STAMP_LATE),
        ),
        ("total_bias", TOTAL_BIAS, total.median(), bias),
    ]
    .map(|(id, about, value, bound)| check(SEQUENTIAL, id, about, value, bound))
    .to_vec()
}

fn streams(compared: &Comparison) -> Vec<Check> {
    let Comparison {
        stamps,
        first_token,
        gaps,
        total,
        ..
    } = compared;
    let (bias, error) = (within(LATENCY_BIAS_OF_MANY), at_most(LATENCY_ERROR));
    let late = at_most(STAMP_LATE_OF_MANY);
    [
        ("stamp_late_p99", STAMPS_P99, stamps.p99(), late),
        (
            "first_token_bias",
            FIRST_TOKEN_BIAS,
            first_token.median(),
            bias,
        ),
        (
            "first_token_error_p99",
            FIRST_TOKEN_ERROR,
            first_token.worst(),
            error,
        ),
        ("gap_bias", GAPS_BIAS, gaps.median(), within(GAP_BIAS)),
        ("gap_error_p99", GAPS_ERROR, gaps.worst(), late),
        ("total_bias", TOTAL_BIAS, total.median(), bias),
        ("total_error_p99", TOTAL_ERROR, total.worst(), error),
    ]
    .map(|(id, about, value, bound)| check(STREAMS, id, about, value, bound))
    .to_vec()
}

fn open(compared: &Comparison) -> Vec<Check> {
    let Comparison {
        first_token,
        total,
        schedule,
        arrival,
        ..
    } = compared;
    let bias = within(LATENCY_BIAS_OF_MANY);
    [
        (
            "schedule_late_p99",
            SCHEDULE,
            schedule.p99(),
            at_most(SCHEDULE_LATE),
        ),
        (
            "arrival_late_p99",
            ARRIVAL,
            arrival.p99(),
            at_most(ARRIVAL_LATE),
        ),
        (
            "first_token_bias",
            FIRST_TOKEN_BIAS,
            first_token.median(),
            bias,
        ),
        (
            "total_error_p99",
            TOTAL_ERROR,
            total.worst(),
            at_most(LATENCY_ERROR),
        ),
    ]
    .map(|(id, about, value, bound)| check(OPEN, id, about, value, bound))
    .to_vec()
}

fn stall(scenario: &Scenario, taken: &Measurement) -> Check {
    let shown = match scenario.answers {
        Answers::Stalling { at, .. } => compare::stall(&taken.rows, &taken.asked, at),
        _ => None,
    };
    let least = shown.map_or(0.0, |shown| shown.least);
    let planned = shown.map(|shown| shown.planned);
    check(STALL, "planned_p99", PLANNED, planned, at_least(least))
}

/// Faults that must not happen in any scenario.
pub(super) fn faults(faults: Faults) -> Vec<Check> {
    let Faults {
        lost,
        doubled,
        unanswered,
        ragged,
        early,
    } = faults;
    [
        (
            "rows_lost",
            "rows lost",
            "queries are missing from a run",
            lost,
        ),
        (
            "rows_doubled",
            "rows doubled",
            "queries are in a run twice",
            doubled,
        ),
        (
            "rows_unanswered",
            "rows without an answer",
            "queries fail although the service answers them",
            unanswered,
        ),
        (
            "rows_ragged",
            "rows with other chunks than were sent",
            "chunks are lost or made up",
            ragged,
        ),
        (
            "stamps_early",
            "stamps from before the write",
            "timestamps are wrong",
            early,
        ),
    ]
    .map(|(id, what, otherwise, count)| {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let about = (what, Unit::Count, otherwise);
        check("all", id, about, Some(count.into()), at_most(0.0))
    })
    .to_vec()
}
