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
        .says("position in the run, from 0", "never"),
        Column::text("query_id", |row: &Row| Some(&row.record.query.id))
            .says("the row's own id, or its position in the source", "never"),
        Column::small_int("part", |row: &Row| i32::try_from(row.record.part).ok()).says(
            "part of the run that produced the row, from 0; each resume adds a part",
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
            .says("error message", "no error"),
        Column::made_text("token_source", |row: &Row| {
            row.record
                .reply
                .token_source
                .map(|source| source.label().into())
        })
        .says(
            "source of the output token count: `usage`, `timings`, `tokenizer` or `chunks`",
            "not counted",
        ),
        timing(),
        energy(),
        Column::text("reasoning", |row: &Row| {
            row.record.reply.reasoning.as_deref()
        })
        .says(
            "the reasoning, where the service reports it separately",
            "none",
        ),
        Column::text("finish_reason", |row: &Row| {
            row.record.reply.finish_reason.as_deref()
        })
        .says(
            "the service's reason for the end of the reply, as sent",
            "not reported",
        ),
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
            "tool calls as a JSON list of `id`, `name` and `arguments`, as far as they arrived",
            "none",
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
            "conversation that the query belongs to",
            "the prompt is a single text",
        ),
        Column::int("turn", |row: &Row| {
            let turn = row.record.query.turn.as_ref();
            turn.map(|turn| i64::from(turn.number))
        })
        .says(
            "turn within the conversation, from 1",
            "the prompt is a single text",
        ),
        Column::made_text("messages", |row: &Row| {
            json_unless_empty(&row.record.query.messages, Vec::is_empty)
        })
        .says(
            "the messages sent, as a JSON list, including earlier replies",
            "the prompt is a single text",
        ),
        Column::made_text("parameters", |row: &Row| {
            json_unless_empty(&row.record.query.parameters, Map::is_empty)
        })
        .says(
            "request parameters from the dataset, as JSON: tools, a format, a limit",
            "none",
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
                .says("when the query was planned to be sent", "never"),
            stamp("start_seconds", |row| {
                seconds(Some(row.record.reply.timing.start))
            })
            .says("when the first attempt began", "never"),
            stamp("connected_seconds", |row| {
                seconds(row.record.reply.timing.connected)
            })
            .says(
                "when a new connection was ready, TLS included",
                "the connection was reused, or never ready",
            ),
            stamp("sent_seconds", |row| seconds(row.record.reply.timing.sent)).says(
                "first byte of the request on a connected socket",
                "nothing was sent",
            ),
            stamp("first_byte_seconds", |row| {
                seconds(row.record.reply.timing.first_byte)
            })
            .says("first byte of the reply", "it did not arrive"),
            stamp("first_token_seconds", |row| {
                seconds(row.record.reply.timing.first_token)
            })
            .says(
                "first chunk with text, reasoning or tool-call arguments",
                "it did not arrive",
            ),
            stamp("first_answer_token_seconds", |row| {
                seconds(row.record.reply.timing.first_answer_token)
            })
            .says("first chunk with text of the answer", "it did not arrive"),
            stamp("end_seconds", |row| {
                seconds(Some(row.record.reply.timing.end))
            })
            .says("last byte of the reply, or the failure", "never"),
            Column::float("schedule_lag_seconds", |row: &Row| {
                Some(row.record.schedule_lag().as_secs_f64())
            })
            .unit("s")
            .says("start − due: how late the query began", "never"),
            Column::floats("chunk_seconds", |row: &Row, values| {
                let chunks = &row.record.reply.timing.chunks;
                values.extend(chunks.iter().map(|chunk| chunk.seconds()));
            })
            .unit(SINCE)
            .says(
                "each chunk with content, when its bytes were read from the socket",
                "never; empty without chunks",
            ),
            Column::float("own_delay_seconds", |row: &Row| {
                let delay = row.record.reply.timing.own_delay;
                delay.map(|delay| delay.as_secs_f64())
            })
            .unit("s")
            .says(
                "delay of `ipw`'s own thread during the query (busy, stopped, not scheduled); timestamps may be late by this much",
                "the embedded engine takes its own timestamps",
            ),
            stamp_source(),
            shared_reads(),
        ],
    )
    .says("instants of the query", "never")
}

fn stamp_source() -> Column<Row> {
    Column::made_text("stamp_source", |row: &Row| {
        let source = row.record.reply.timing.stamp_source;
        source.map(|source| source.label().into())
    })
    .says(
        "what dated the bytes of the reply: `kernel` (when packets arrived), `read` (after each read) or `mixed`",
        "no socket was read",
    )
}

fn shared_reads() -> Column<Row> {
    Column::int("shared_reads", |row: &Row| {
        let shared = row.record.reply.timing.shared_reads();
        shared.and_then(|reads| i64::try_from(reads).ok())
    })
    .says(
        "reads that brought several chunks; all have the stamp of the last packet, so the others may have arrived earlier",
        "no socket was read",
    )
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
                "energy by source: joules, one standard deviation, method (`counter`, `integrated` or `estimated`), covered share of the window, and the reason if null or partial",
                "never; empty without a source",
            ),
            Column::made_text("basis", |row: &Row| {
                row.record.energy.basis().map(Basis::label)
            })
            .says(
                "sources of the headline figures: `gpu`, `cpu`, `dram` and `ane` joined by `+`, or `soc`, `module` or `system`, which contain them; `cpu_estimated` is a model",
                "no energy source",
            ),
            Column::made_text("reason", |row: &Row| {
                row.record.energy.reason.map(|reason| reason.label().into())
            })
            .says("reason why there is no energy", "energy is known"),
        ],
    )
    .says("energy and how it was obtained", "never")
}

fn tokens() -> Column<Row> {
    Column::group(
        "tokens",
        vec![
            Column::int("reasoning", |row: &Row| {
                count(row.record.reply.tokens.reasoning)
            })
            .unit("tokens")
            .says("tokens of the output that were reasoning", "not counted"),
            Column::int("cached", |row: &Row| count(row.record.reply.tokens.cached))
                .unit("tokens")
                .says(
                    "tokens of the input that came from a cache",
                    "not reported by the service",
                ),
        ],
    )
    .says("token counts by kind", "never")
}

fn token_details() -> Column<Row> {
    let counted = |name: &'static str, get: fn(&TokenCounts) -> Option<u64>| {
        Column::int(name, move |row: &Row| count(get(&row.record.reply.tokens))).unit("tokens")
    };
    let null = "not reported by the service";
    Column::group(
        "token_details",
        vec![
            counted("tool_call", |tokens| tokens.tool_call)
                .says("tokens of the output that were tool calls", "not counted"),
            counted("speculative_accepted", |tokens| tokens.speculative_accepted)
                .says("speculative tokens that were accepted", null),
            counted("speculative_rejected", |tokens| tokens.speculative_rejected)
                .says("speculative tokens that were rejected", null),
            Column::text("note", |row: &Row| row.record.reply.token_note.as_deref()).says(
                "a second count (the service's timings, a tokenizer) that differs by more than 2 %, and rejected counts",
                "the counts agree, or there is only one",
            ),
            counted("claimed_input", |tokens| tokens.claimed_input).says(
                "implausible input tokens that the service reported; no figure uses them",
                "the count was accepted, or not reported",
            ),
            counted("claimed_output", |tokens| tokens.claimed_output).says(
                "implausible output tokens that the service reported; no figure uses them",
                "the count was accepted, or not reported",
            ),
        ],
    )
    .says("further token counts by kind, and claims", "never")
}

fn connection() -> Column<Row> {
    let stamp = |name: &'static str, get: fn(&Timing) -> Option<Timestamp>| {
        Column::float(name, move |row: &Row| {
            seconds(get(&row.record.reply.timing))
        })
        .unit(SINCE)
    };
    let null = "the connection was open already, or this step did not happen";
    Column::group(
        "connection",
        vec![
            stamp("dns_seconds", |timing| timing.dns)
                .says("when the name of the host or proxy was resolved", null),
            stamp("tcp_seconds", |timing| timing.tcp).says(
                "when the socket to the service or proxy was connected",
                null,
            ),
            stamp("proxy_seconds", |timing| timing.proxy)
                .says("when the proxy had opened its tunnel", null),
            stamp("tls_seconds", |timing| timing.tls)
                .says("when the TLS handshake was complete", null),
        ],
    )
    .says("instants of opening a new connection", "never")
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
                "no token arrived, or the query failed",
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
                "the query's own share of the power: joules ÷ (end − start). The power of the service is `metrics.watts` in `summary.json`",
                null,
            ),
            Column::float("above_idle_joules", |row: &Row| {
                let energy = &row.record.energy;
                energy.headline_above_idle().map(Joules::joules)
            })
            .unit("J")
            .says(
                "part of the joules above idle energy",
                "idle power was not measured",
            ),
            Column::float("energy_delay_joule_seconds", |row: &Row| {
                row.record.energy_delay()
            })
            .unit("J·s")
            .says(
                "energy × (end − start): small for a query that is both fast and efficient",
                "no energy, or no answer",
            ),
        ],
    )
    .says("the energy in reports", "never")
}

fn phases() -> Column<Row> {
    let null = "no energy, or no first token";
    Column::group(
        "phases",
        vec![
            Column::made_text("kind", |row: &Row| {
                let phases = row.record.energy.phases.as_deref()?;
                Some(phases.kind.label().into())
            })
            .says(
                "meaning of the time before the first token: `alone` and `service_timing` are prefill; `wait_and_prefill` contains waiting, and leaves `phase_metrics` null",
                null,
            ),
            Column::float("before_first_token_joules", |row: &Row| {
                let phases = row.record.energy.phases.as_deref()?;
                phases.prefill.headline.map(Joules::joules)
            })
            .unit("J")
            .says("energy on the basis before the first token", null),
            Column::float("before_first_token_seconds", |row: &Row| {
                let phases = row.record.energy.phases.as_deref()?;
                Some(phases.prefill.time.as_secs_f64())
            })
            .unit("s")
            .says("time before the first token", null),
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
                "no SLO, or a required latency was not measured",
            ),
            Column::made_text("missed", |row: &Row| {
                let kept = row.record.kept.as_ref()?;
                Some(kept.missed.join(",").into())
            })
            .says(
                "limits that the reply missed, or `failed`; empty if none",
                "no SLO",
            ),
        ],
    )
    .says("the SLO of the run", "never")
}

fn service_timing() -> Column<Row> {
    let span = |name: &'static str, get: fn(&ServiceTiming) -> Option<Duration>| {
        Column::float(name, move |row: &Row| {
            get(&row.record.reply.service_timing).map(|span| span.as_secs_f64())
        })
        .unit("s")
    };
    let null = "not reported by the service";
    Column::group(
        "service_timing",
        vec![
            span("load_seconds", |timing| timing.load).says("loading the model", null),
            span("prompt_seconds", |timing| timing.prompt).says("reading the prompt", null),
            span("decode_seconds", |timing| timing.decode).says("generating the reply", null),
            span("total_seconds", |timing| timing.total).says("the whole request", null),
            span("queue_seconds", |timing| timing.queue)
                .says("waiting in the service's queue", null),
        ],
    )
    .says("durations reported by the service", "never")
}

fn http() -> Column<Row> {
    Column::group(
        "http",
        vec![
            Column::small_int("status", |row: &Row| {
                row.record.reply.exchange.status.map(i32::from)
            })
            .says("HTTP status of the reply", "no reply arrived, or no HTTP"),
            Column::boolean("connection_reused", |row: &Row| {
                row.record.reply.exchange.connection_reused
            })
            .says(
                "whether the connection of an earlier query was reused",
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
            .says("number of attempts; 1 without retries", "never"),
            Column::float("retry_after_seconds", |row: &Row| {
                let wait = row.record.reply.exchange.retry_after;
                wait.map(|wait| wait.as_secs_f64())
            })
            .unit("s")
            .says("last `Retry-After` that the service sent", "not sent"),
        ],
    )
    .says("the HTTP exchange", "never")
}
