//! The original's energy, power and time by phase.

use ipw_core::energy::{Phase, PhaseKind, Phases};
use ipw_core::units::{Joules, Watts};

use super::Row;
use crate::column::Column;

const NULL: &str = "no energy, no first token, or other queries in flight without prompt timing from the service: see `phases`";

/// One of the two.
type Side = fn(&Phases) -> &Phase;

const PREFILL: Side = |phases| &phases.prefill;
const DECODE: Side = |phases| &phases.decode;

/// The phase, where it is one: what has waiting in it is not called prefill.
fn side(row: &Row, side: Side) -> Option<Phase> {
    let phases = row.record.energy.phases.as_deref()?;
    (phases.kind != PhaseKind::WaitAndPrefill).then(|| *side(phases))
}

fn leaf(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    of: Side,
    get: fn(&Phase, &Row) -> Option<f64>,
) -> Column<Row> {
    Column::float(name, move |row: &Row| get(&side(row, of)?, row))
        .unit(unit)
        .says(meaning, NULL)
}

fn joules(phase: &Phase, _: &Row) -> Option<f64> {
    phase.headline.map(Joules::joules)
}

#[expect(clippy::unnecessary_wraps, reason = "leaves have one shape")]
fn milliseconds(phase: &Phase, _: &Row) -> Option<f64> {
    Some(phase.time.as_secs_f64() * 1e3)
}

fn watts(phase: &Phase, _: &Row) -> Option<f64> {
    phase.power().map(Watts::watts)
}

fn components(name: &str, of: Side) -> Column<Row> {
    let part = |name, get: fn(&Phase, &Row) -> Option<f64>| {
        leaf(name, "J", "energy of this component", of, get)
    };
    let columns = vec![
        part("gpu", |phase, _| phase.gpu.map(Joules::joules)),
        part("cpu", |phase, _| phase.cpu.map(Joules::joules)),
        part("dram", |phase, _| phase.dram.map(Joules::joules)),
        part("ane", |phase, _| phase.ane.map(Joules::joules)),
    ];
    Column::group(name, columns).says("energy of the phase by component", "never")
}

pub(super) fn column() -> Column<Row> {
    let until = "time until the first token";
    let after = "time from the first token on";
    Column::group(
        "phase_metrics",
        vec![
            leaf(
                "prefill_energy_j",
                "J",
                "energy until the first token",
                PREFILL,
                joules,
            ),
            leaf(
                "decode_energy_j",
                "J",
                "energy from the first token on",
                DECODE,
                joules,
            ),
            leaf("prefill_duration_ms", "ms", until, PREFILL, milliseconds),
            leaf("decode_duration_ms", "ms", after, DECODE, milliseconds),
            leaf(
                "prefill_power_avg_w",
                "W",
                "mean power until the first token",
                PREFILL,
                watts,
            ),
            leaf(
                "decode_power_avg_w",
                "W",
                "mean power from the first token on",
                DECODE,
                watts,
            ),
            leaf(
                "prefill_energy_per_input_token_j",
                "J/token",
                "prefill energy per input token",
                PREFILL,
                |phase, row| per_token(phase, row.record.reply.tokens.input),
            ),
            leaf(
                "decode_energy_per_output_token_j",
                "J/token",
                "decode energy per output token",
                DECODE,
                |phase, row| per_token(phase, row.record.reply.tokens.output),
            ),
            components("prefill_energy_components_j", PREFILL),
            components("decode_energy_components_j", DECODE),
        ],
    )
    .says("energy, power and time by phase", "never")
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a reply has fewer than 2^52 tokens"
)]
fn per_token(phase: &Phase, tokens: Option<u64>) -> Option<f64> {
    let tokens = tokens.filter(|tokens| *tokens > 0)?;
    Some(phase.headline?.joules() / tokens as f64)
}
