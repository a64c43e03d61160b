//! The columns behind the original's six.

use std::borrow::Cow;
use std::time::Duration;

use ipw_core::energy::Share;
use ipw_core::reply::{ServiceTiming, Timing, TokenCounts};
use ipw_core::rollup::Basis;
use ipw_core::time::Timestamp;
use ipw_core::units::{Joules, Watts};
use serde::Serialize;
use serde_json::Map;

use super::{Row, count, seconds};
use crate::column::Column;

const SINCE: &str = "s since the part's reference";

pub(super) fn columns() -> Vec<Column<Row>> {
    let mut columns = first_columns();
    columns.extend(asked());
    columns
}

fn first_columns() -> Vec<Column<Row>> {
    vec![
        Column::int("query_index", |row: &Row| {
            count(Some(row.record.query.index))
        })
        .says("place in the run's order, from 0", "never"),
        Column::text("query_id", |row: &Row| Some(&row.record.query.id))
            .says("the row's own id, or its place in the source", "never"),
        Column::small_int("part", |row: &Row| i32::try_from(row.record.part).ok()).says(
            "which process's stretch of the run, from 0; a resumed run has several",
            "never",
        ),
        Column::made_text("outcome", |row: &Row| {
            Some(row.record.reply.outcome.label())
        })
        .says(
            "`complete`, `truncated`, `refused`, `timed_out`, `cancelled`, or `failed:` and a kind",
            "never",
        ),
        Column::text("error", |row: &Row| row.record.reply.error.as_deref())
            .says("what went wrong, in words", "nothing did"),
        Column::made_text("token_source", |row: &Row| {
            row.record
                .reply
                .token_source
                .map(|source| source.label().into())
        })
        .says(
            "who counted the output: `usage`, `timings`, `tokenizer` or `chunks`",
            "nobody did",
        ),
        timing(),
        energy(),
        Column::text("reasoning", |row: &Row| {
            row.record.reply.reasoning.as_deref()
        })
        .says(
            "the reasoning, where the service keeps it apart",
            "there was none",
        ),
        Column::text("finish_reason", |row: &Row| {
            row.record.reply.finish_reason.as_deref()
        })
        .says("why the service stopped, in its own word", "it did not say"),
        tokens(),
        planned_latency(),
        http(),
        headline(),
        service_timing(),
        slo(),
        phases(),
        Column::text("tool_calls", |row: &Row| {
            row.record.reply.tool_calls.as_deref()
        })
        .says(
            "tool calls as a JSON list of `id`, `name` and `arguments`, as far as they came",
            "there were none",
        ),
        token_details(),
        connection(),
    ]
}

/// What was asked, where that is more than a text.
fn asked() -> [Column<Row>; 4] {
    [
        Column::text("conversation_id", |row: &Row| {
            let turn = row.record.query.turn.as_ref();
            turn.map(|turn| turn.conversation.as_str())
        })
        .says(
            "which conversation the query is a turn of",
            "the prompt is one text",
        ),
        Column::int("turn", |row: &Row| {
            let turn = row.record.query.turn.as_ref();
            turn.map(|turn| i64::from(turn.number))
        })
        .says(
            "which question of its conversation, from 1",
            "the prompt is one text",
        ),
        Column::made_text("messages", |row: &Row| {
            json_unless_empty(&row.record.query.messages, Vec::is_empty)
        })
        .says(
            "what was asked, as a JSON list of messages with the replies before it",
            "the prompt is one text",
        ),
        Column::made_text("parameters", |row: &Row| {
            json_unless_empty(&row.record.query.parameters, Map::is_empty)
        })
        .says(
            "what the dataset itself wants in the request, as JSON: tools, a format, a limit",
            "nothing",
        ),
    ]
}

fn json_unless_empty<T: Serialize>(
    value: &T,
    is_empty: impl Fn(&T) -> bool,
) -> Option<Cow<'static, str>> {
    let value = Some(value).filter(|value| !is_empty(value))?;
    serde_json::to_string(value).ok().map(Cow::Owned)
}

/// Those that are made from energy.
pub(super) fn energy_columns() -> Vec<Column<Row>> {
    vec![energy(), headline(), phases()]
}

fn timing() -> Column<Row> {
    let stamp =
        |name: &'static str, get: fn(&Row) -> Option<f64>| Column::float(name, get).unit(SINCE);
    Column::group(
        "timing",
        vec![
            stamp("due_seconds", |row| seconds(Some(row.record.due)))
                .says("planned to be sent", "never"),
            stamp("start_seconds", |row| {
                seconds(Some(row.record.reply.timing.start))
            })
            .says("the attempt began", "never"),
            stamp("connected_seconds", |row| {
                seconds(row.record.reply.timing.connected)
            })
            .says(
                "a new connection was ready, TLS included",
                "reused, or it never was",
            ),
            stamp("sent_seconds", |row| seconds(row.record.reply.timing.sent)).says(
                "first byte of the request on a connected socket",
                "none was sent",
            ),
            stamp("first_byte_seconds", |row| {
                seconds(row.record.reply.timing.first_byte)
            })
            .says("first byte of the reply", "none came"),
            stamp("first_token_seconds", |row| {
                seconds(row.record.reply.timing.first_token)
            })
            .says(
                "first chunk with text, reasoning or tool-call arguments",
                "none came",
            ),
            stamp("first_answer_token_seconds", |row| {
                seconds(row.record.reply.timing.first_answer_token)
            })
            .says("first chunk with text of the answer", "none came"),
            stamp("end_seconds", |row| {
                seconds(Some(row.record.reply.timing.end))
            })
            .says("the reply's last byte, or the fault", "never"),
            Column::float("schedule_lag_seconds", |row: &Row| {
                Some(row.record.schedule_lag().as_secs_f64())
            })
            .unit("s")
            .says("start − due: how late we were", "never"),
            Column::floats("chunk_seconds", |row: &Row, values| {
                let chunks = &row.record.reply.timing.chunks;
                values.extend(chunks.iter().map(|chunk| chunk.seconds()));
            })
            .unit(SINCE)
            .says(
                "every chunk with content, as its bytes left the socket",
                "never; empty without",
            ),
            Column::float("own_delay_seconds", |row: &Row| {
                let delay = row.record.reply.timing.own_delay;
                delay.map(|delay| delay.as_secs_f64())
            })
            .unit("s")
            .says(
                "for how long our own thread was not there meanwhile (busy, stopped, not scheduled): stamps may be late by that",
                "the engine stamps by itself",
            ),
        ],
    )
    .says("when things happened", "never")
}

fn energy() -> Column<Row> {
    let joules = |name: &str, get: fn(&Share) -> Option<Joules>| {
        Column::float(name, move |share: &Share| get(share).map(Joules::joules))
    };
    let share = vec![
        Column::text("name", |share: &Share| Some(&share.source.name)),
        joules("total_joules", |share| share.energy.energy),
        joules("above_idle_joules", |share| share.energy.above_idle),
        joules("sigma_joules", |share| share.energy.sigma),
        Column::made_text("method", |share: &Share| {
            Some(share.source.method.label().into())
        }),
        Column::float("coverage", |share: &Share| Some(share.energy.coverage)),
        Column::made_text("reason", |share: &Share| {
            share.energy.reason.map(|reason| reason.label().into())
        }),
    ];
    Column::group(
        "energy",
        vec![
            Column::list("shares", |row: &Row| &row.record.energy.shares, share).says(
                "energy by source: joules, one standard deviation, `counter`, `integrated` or `estimated`, covered share of the window, and why it is null or partial",
                "never; empty without a source",
            ),
            Column::made_text("basis", |row: &Row| {
                row.record.energy.basis().map(Basis::label)
            })
            .says(
                "what the headline figures are made from: `gpu`, `cpu`, `dram` and `ane` joined by `+`, or `soc`, `module` or `system`, which contain them; `cpu_estimated` is a model",
                "there is no energy source",
            ),
            Column::made_text("reason", |row: &Row| {
                row.record.energy.reason.map(|reason| reason.label().into())
            })
            .says("why there is no energy", "there is"),
        ],
    )
    .says("energy with its provenance", "never")
}

fn tokens() -> Column<Row> {
    Column::group(
        "tokens",
        vec![
            Column::int("reasoning", |row: &Row| {
                count(row.record.reply.tokens.reasoning)
            })
            .unit("tokens")
            .says(
                "tokens of the output that were reasoning",
                "nobody counted them",
            ),
            Column::int("cached", |row: &Row| count(row.record.reply.tokens.cached))
                .unit("tokens")
                .says(
                    "tokens of the input that came from a cache",
                    "the service did not say",
                ),
        ],
    )
    .says("tokens of special kinds", "never")
}

fn token_details() -> Column<Row> {
    let counted = |name: &'static str, get: fn(&TokenCounts) -> Option<u64>| {
        Column::int(name, move |row: &Row| count(get(&row.record.reply.tokens))).unit("tokens")
    };
    let null = "the service did not say";
    Column::group(
        "token_details",
        vec![
            counted("tool_call", |tokens| tokens.tool_call)
                .says("tokens of the output that were tool calls", "nobody counted them"),
            counted("speculative_accepted", |tokens| tokens.speculative_accepted)
                .says("tokens that were guessed ahead and kept", null),
            counted("speculative_rejected", |tokens| tokens.speculative_rejected)
                .says("tokens that were guessed ahead and thrown away", null),
            Column::text("note", |row: &Row| row.record.reply.token_note.as_deref()).says(
                "what another source (the service's timings, a tokenizer) counted, where the two differ by more than 2 %; and what cannot be",
                "they agree, or only one counted",
            ),
            counted("claimed_input", |tokens| tokens.claimed_input).says(
                "input tokens that the service claims and that cannot be: they are in no figure",
                "the service claims nothing of the kind",
            ),
            counted("claimed_output", |tokens| tokens.claimed_output).says(
                "the same of the output",
                "the service claims nothing of the kind",
            ),
        ],
    )
    .says("more tokens of special kinds", "never")
}

fn connection() -> Column<Row> {
    let stamp = |name: &'static str, get: fn(&Timing) -> Option<Timestamp>| {
        Column::float(name, move |row: &Row| {
            seconds(get(&row.record.reply.timing))
        })
        .unit(SINCE)
    };
    let null = "the connection was there already, or it did not happen";
    Column::group(
        "connection",
        vec![
            stamp("dns_seconds", |timing| timing.dns)
                .says("the host's name, or the proxy's, had its addresses", null),
            stamp("tcp_seconds", |timing| timing.tcp).says(
                "the socket was connected, to the service or to the proxy",
                null,
            ),
            stamp("proxy_seconds", |timing| timing.proxy)
                .says("the proxy had opened its tunnel", null),
            stamp("tls_seconds", |timing| timing.tls).says("the TLS handshake was over", null),
        ],
    )
    .says("how a new connection came about", "never")
}

fn planned_latency() -> Column<Row> {
    Column::group(
        "planned_latency",
        vec![
            Column::float("time_to_first_token_seconds", |row: &Row| {
                row.planned.first_token.map(|time| time.as_secs_f64())
            })
            .unit("s")
            .says(
                "from due to the first token",
                "no token came, or the query failed",
            ),
            Column::float("total_query_seconds", |row: &Row| {
                row.planned.total.map(|time| time.as_secs_f64())
            })
            .unit("s")
            .says("from due to the end", "the query failed"),
        ],
    )
    .says("latencies from the planned send", "never")
}

fn headline() -> Column<Row> {
    let null = "see `energy.reason`";
    Column::group(
        "headline",
        vec![
            Column::float("joules", |row: &Row| {
                row.record.energy.headline().map(Joules::joules)
            })
            .unit("J")
            .says("energy of the query on `energy.basis`", null),
            Column::float("sigma_joules", |row: &Row| {
                row.record.energy.headline_sigma().map(Joules::joules)
            })
            .unit("J")
            .says("one standard deviation of it", null),
            Column::float("share_watts", |row: &Row| {
                row.record.headline_power().map(Watts::watts)
            })
            .unit("W")
            .says(
                "its own share of the power: its joules ÷ (end − start); the power of the service is `metrics.watts` in `summary.json`",
                null,
            ),
            Column::float("above_idle_joules", |row: &Row| {
                let energy = &row.record.energy;
                energy.headline_above_idle().map(Joules::joules)
            })
            .unit("J")
            .says(
                "what of it is above what the machine draws with nobody asking",
                "idle was not measured",
            ),
            Column::float("energy_delay_joule_seconds", |row: &Row| {
                row.record.energy_delay()
            })
            .unit("J·s")
            .says(
                "its energy times the time that it took: small for what is both quick and frugal",
                "there is no energy, or no answer",
            ),
        ],
    )
    .says("the energy that reports quote", "never")
}

fn phases() -> Column<Row> {
    let null = "there is no energy, or no first token";
    Column::group(
        "phases",
        vec![
            Column::made_text("kind", |row: &Row| {
                let phases = row.record.energy.phases.as_deref()?;
                Some(phases.kind.label().into())
            })
            .says(
                "what the time before the first token is: `alone` and `service_timing` are prefill; `wait_and_prefill` has waiting in it, and fills no `phase_metrics`",
                null,
            ),
            Column::float("before_first_token_joules", |row: &Row| {
                let phases = row.record.energy.phases.as_deref()?;
                phases.prefill.headline.map(Joules::joules)
            })
            .unit("J")
            .says("energy on the basis of that time", null),
            Column::float("before_first_token_seconds", |row: &Row| {
                let phases = row.record.energy.phases.as_deref()?;
                Some(phases.prefill.time.as_secs_f64())
            })
            .unit("s")
            .says("how long it was", null),
            Column::float("after_first_token_joules", |row: &Row| {
                let phases = row.record.energy.phases.as_deref()?;
                phases.decode.headline.map(Joules::joules)
            })
            .unit("J")
            .says("energy on the basis from the first token on", null),
        ],
    )
    .says("energy before and after the first token", "never")
}

fn slo() -> Column<Row> {
    Column::group(
        "slo",
        vec![
            Column::boolean("is_met", |row: &Row| row.record.kept.as_ref()?.is_met).says(
                "whether the reply kept all limits of the SLO",
                "there are none, or a latency that they need was not measured",
            ),
            Column::made_text("missed", |row: &Row| {
                let kept = row.record.kept.as_ref()?;
                Some(kept.missed.join(",").into())
            })
            .says(
                "the limits that it missed, or `failed`; empty if none",
                "there are no limits",
            ),
        ],
    )
    .says("the limits that a good reply keeps", "never")
}

fn service_timing() -> Column<Row> {
    let span = |name: &'static str, get: fn(&ServiceTiming) -> Option<Duration>| {
        Column::float(name, move |row: &Row| {
            get(&row.record.reply.service_timing).map(|span| span.as_secs_f64())
        })
        .unit("s")
    };
    let null = "the service did not say";
    Column::group(
        "service_timing",
        vec![
            span("load_seconds", |timing| timing.load).says("loading the model", null),
            span("prompt_seconds", |timing| timing.prompt).says("reading the prompt", null),
            span("decode_seconds", |timing| timing.decode).says("generating the reply", null),
            span("total_seconds", |timing| timing.total)
                .says("the whole, as the service counts it", null),
            span("queue_seconds", |timing| timing.queue).says("waiting for its turn", null),
        ],
    )
    .says("durations by the service's own clock", "never")
}

fn http() -> Column<Row> {
    Column::group(
        "http",
        vec![
            Column::small_int("status", |row: &Row| {
                row.record.reply.exchange.status.map(i32::from)
            })
            .says("status of the reply", "no reply came, or no HTTP"),
            Column::boolean("connection_reused", |row: &Row| {
                row.record.reply.exchange.connection_reused
            })
            .says(
                "an earlier query's connection was used again",
                "no connection, or no HTTP",
            ),
            Column::small_int("connections_replaced", |row: &Row| {
                row.record
                    .reply
                    .exchange
                    .connections_replaced
                    .and_then(|n| i32::try_from(n).ok())
            })
            .says(
                "reused connections that had died and were replaced (0 or 1)",
                "no HTTP",
            ),
            Column::small_int("attempts", |row: &Row| {
                let attempts = row.record.reply.exchange.attempts;
                attempts.and_then(|n| i32::try_from(n).ok())
            })
            .says("how often the query was sent; 1 without retries", "never"),
            Column::float("retry_after_seconds", |row: &Row| {
                let wait = row.record.reply.exchange.retry_after;
                wait.map(|wait| wait.as_secs_f64())
            })
            .unit("s")
            .says(
                "how long the service asked to be left alone (`Retry-After`), the last time it did",
                "it did not",
            ),
        ],
    )
    .says("the HTTP exchange", "never")
}
