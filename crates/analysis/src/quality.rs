//! Doubts about a run's numbers: each a finding, and what to do about it.

use serde::{Deserialize, Serialize};

/// Share of its time for which a row should have readings.
pub const WELL_COVERED: f64 = 0.95;
/// °C by which a device may warm up before it is worth a word.
const WARMING: f64 = 15.0;
/// Share by which two figures of the same thing may differ: a counter and the power beside it, idle
/// before and after.
const DISAGREEMENT: f64 = 0.1;
/// Share of the machine's CPU time that others may use.
const OTHERS: f64 = 0.1;
/// Share of a usual query by which another machine's clock may be off before it is worth a word.
const WIDE_CLOCK: f64 = 0.05;
/// Watts by which a limit may seem to change.
const LIMIT: f64 = 0.5;

/// What a person should know before quoting a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// What kind of doubt.
    pub id: Doubt,
    /// The source that it is about; `None` when it is about the run.
    pub source: Option<String>,
    /// What was found.
    pub finding: String,
    /// What to do about it, or what it means.
    pub advice: String,
}

/// Kinds of doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The energy is a model's and not a meter's.
    Estimated,
    /// Rows whose readings cover too little of their time.
    Coverage,
    /// Queries too short for the source to tell them apart from idle.
    ShortWindows,
    /// A source that was silent.
    Gaps,
    /// A counter that started anew.
    Resets,
    /// A counter that never moved.
    NeverMoved,
    /// A reading that failed.
    Fault,
    /// Idle that was not the same before and after.
    IdleDrift,
    /// A device that warmed up.
    Temperature,
    /// A device that was held back.
    Throttled,
    /// A limit that changed.
    PowerLimit,
    /// Others used the device.
    OtherLoad,
    /// A counter and its own power that say different things.
    CounterAgainstPower,
    /// Another machine's clock, which is not known well enough for queries so short.
    WideClock,
    /// Another machine's clock that was set.
    ClockSet,
    /// Too few queries for a percentile that people ask for.
    FewSamples,
    /// Our own thread was not there in time to take stamps.
    OwnDelay,
}

impl std::fmt::Display for Note {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.finding, self.advice)
    }
}

/// What the notes are made from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Rows with energy of which some source covers less than [`WELL_COVERED`] of the window.
    pub rows_thinly_covered: u64,
    /// Rows without energy because their time was too short for the source.
    pub rows_too_short: u64,
    /// Rows during which our own thread was not there for a good part of their time.
    pub rows_delayed: u64,
    /// Whether the energy is estimated.
    pub is_estimated: bool,
    /// How many queries the 99th percentile of latency would need, where there were too few.
    pub p99_needs: Option<u64>,
    /// How many queries were answered.
    pub answered: u64,
    /// How long a usual query took.
    pub median_query_seconds: Option<f64>,
    /// The sources.
    pub telemetry: Telemetry,
}

/// What the sources said, as `summary.json` has it; what is missing is not known.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Telemetry {
    /// Source by source.
    pub sources: Vec<Told>,
    /// Readings that failed.
    pub faults: Vec<String>,
    /// How the estimate came about.
    pub estimate: Option<String>,
    /// Whose work the CPUs did.
    pub cpu: Option<Cpu>,
}

/// CPU time over a run.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Cpu {
    /// Of the process that computes; `None` when the service is another one.
    pub service_seconds: Option<f64>,
    /// Of the whole machine.
    pub machine_seconds: Option<f64>,
}

/// What one source said.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Told {
    about: About,
    joules: Option<f64>,
    gaps: u64,
    resets: u64,
    values: Option<Values>,
    idle: Option<Idle>,
    self_test: Option<SelfTests>,
    clock: Option<Clock>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
struct Clock {
    bound_seconds: f64,
    steps: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct About {
    name: String,
    host: Option<String>,
    quantity: Quantity,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Quantity {
    kind: String,
    gauge: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
struct Values {
    first: f64,
    last: f64,
    max: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Idle {
    before: Option<Drawn>,
    after: Option<Drawn>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
struct Drawn {
    watts: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default)]
struct SelfTests {
    end: Option<SelfTest>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default)]
struct SelfTest {
    against_power: Option<f64>,
}

/// How many, in the number that the words take.
fn counted(count: u64, one: &str, many: &str) -> String {
    let words = if count == 1 { one } else { many };
    format!("{count} {words}")
}

/// All that there is to say, the gravest first.
pub fn notes(facts: &Facts) -> Vec<Note> {
    let run = |id: Doubt, finding: String, advice: &str| Note {
        id,
        source: None,
        finding,
        advice: advice.to_owned(),
    };
    let mut notes = Vec::new();
    if facts.is_estimated {
        notes.push(run(
            Doubt::Estimated,
            "energy is estimated from CPU time, not measured".to_owned(),
            "compare runs of this machine with each other, and with nothing else; `ipw doctor` says what would measure it",
        ));
    }
    if facts.rows_thinly_covered > 0 {
        notes.push(run(
            Doubt::Coverage,
            format!(
                "{} readings for less than {:.0} % of their time",
                counted(facts.rows_thinly_covered, "row has", "rows have"),
                WELL_COVERED * 100.0
            ),
            "their joules are too low; look at `energy.shares`",
        ));
    }
    if facts.rows_too_short > 0 {
        notes.push(run(
            Doubt::ShortWindows,
            format!(
                "{} too short for the source to tell them from idle",
                counted(facts.rows_too_short, "query is", "queries are")
            ),
            "they have no joules; let idle be measured (`--idle 3s`), or ask for longer replies",
        ));
    }
    if facts.rows_delayed > 0 {
        notes.push(run(
            Doubt::OwnDelay,
            format!(
                "`ipw` itself was stopped or kept busy while {} on its way",
                counted(facts.rows_delayed, "query was", "queries were")
            ),
            "their latencies are partly ours (`timing.own_delay_seconds`); leave it a core, or send less",
        ));
    }
    for told in &facts.telemetry.sources {
        notes.extend(told.notes());
    }
    notes.extend(clocks(facts));
    notes.extend(facts.telemetry.cpu.and_then(others));
    for fault in &facts.telemetry.faults {
        notes.push(run(
            Doubt::Fault,
            format!("a reading failed: {fault}"),
            "the rows that it hit say so",
        ));
    }
    if let Some(needs) = facts.p99_needs.filter(|_| facts.answered > 0) {
        notes.push(run(
            Doubt::FewSamples,
            format!(
                "{} answered queries say nothing of the 99th percentile",
                facts.answered
            ),
            &format!("it takes {needs} (`--repeat`, or a larger dataset)"),
        ));
    }
    notes
}

/// What is to be said of the clocks of other machines, once for each machine.
fn clocks(facts: &Facts) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for told in &facts.telemetry.sources {
        let is_energy = matches!(&*told.about.quantity.kind, "energy" | "power");
        let Some(clock) = told.clock.filter(|_| is_energy) else {
            continue;
        };
        let host = told.about.host.as_ref().unwrap_or(&told.about.name);
        let mut say = |id: Doubt, finding: String, advice: &str| {
            let is_new = |note: &Note| note.id != id || note.source.as_ref() != Some(host);
            if notes.iter().all(is_new) {
                notes.push(Note {
                    id,
                    source: Some(host.clone()),
                    finding,
                    advice: advice.to_owned(),
                });
            }
        };
        let usual = facts.median_query_seconds;
        if let Some(usual) = usual.filter(|usual| clock.bound_seconds > WIDE_CLOCK * usual) {
            say(
                Doubt::WideClock,
                format!(
                    "the clock of `{host}` is known to within {:.1} ms, and a usual query takes {:.0} ms",
                    clock.bound_seconds * 1e3,
                    usual * 1e3
                ),
                "joules of single queries are as uncertain as that, totals are not; measure from nearer by, or ask for longer replies",
            );
        }
        if clock.steps > 0 {
            say(
                Doubt::ClockSet,
                format!("the clock of `{host}` was set {} times", clock.steps),
                "readings around those moments may be dated wrongly",
            );
        }
    }
    notes
}

fn others(cpu: Cpu) -> Option<Note> {
    let (own, all) = (cpu.service_seconds?, cpu.machine_seconds?);
    let share = (all - own) / all;
    (share > OTHERS).then(|| Note {
        id: Doubt::OtherLoad,
        source: None,
        finding: format!(
            "{:.0} % of the machine's CPU time was other programs'",
            share * 100.0
        ),
        advice: "their joules are in these, and they made replies slower: stop them".to_owned(),
    })
}

impl Told {
    fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut say = |id: Doubt, finding: String, advice: &str| {
            notes.push(Note {
                id,
                source: Some(self.about.name.clone()),
                finding,
                advice: advice.to_owned(),
            });
        };
        let name = &self.about.name;
        if self.gaps > 0 {
            say(
                Doubt::Gaps,
                format!(
                    "`{name}` was silent {} times for longer than it may",
                    self.gaps
                ),
                "a busy machine, a lost device, or sleep",
            );
        }
        if self.resets > 0 {
            say(
                Doubt::Resets,
                format!("`{name}` started anew {} times", self.resets),
                "the queries that it hit have no energy",
            );
        }
        if self.about.quantity.kind == "energy" && self.joules.is_none() {
            say(
                Doubt::NeverMoved,
                format!("`{name}` never moved and counts as absent"),
                "see `ipw doctor`",
            );
        }
        if let Some((id, finding, advice)) = self.state() {
            say(id, finding, advice);
        }
        if let Some(ratio) = self.against_power() {
            say(
                Doubt::CounterAgainstPower,
                format!(
                    "`{name}` counted {:.0} % of what its own power readings say",
                    ratio * 100.0
                ),
                "one of the two is wrong; see `ipw doctor`",
            );
        }
        if let Some((before, after)) = self.drift() {
            say(
                Doubt::IdleDrift,
                format!(
                    "`{name}` drew {before:.1} W idle before the queries and {after:.1} W after"
                ),
                "joules above idle are as uncertain as that",
            );
        }
        notes
    }

    /// What a gauge tells about the conditions of the run.
    fn state(&self) -> Option<(Doubt, String, &'static str)> {
        let name = &self.about.name;
        let Values { first, last, max } = self.values?;
        match self.about.quantity.gauge.as_deref()? {
            "throttle" if max > 0.0 => Some((
                Doubt::Throttled,
                format!("`{name}`: the board was held back by heat or power"),
                "its speed is not its own; cool it, or lower the load",
            )),
            "power_limit" if (first - last).abs() > LIMIT => Some((
                Doubt::PowerLimit,
                format!("`{name}` changed from {first:.0} W to {last:.0} W during the run"),
                "parts of it are not comparable",
            )),
            "gpu_temperature" | "cpu_temperature" if max - first > WARMING => Some((
                Doubt::Temperature,
                format!("`{name}` rose from {first:.0} °C to {max:.0} °C"),
                "a hotter chip takes more power; warm up longer for steady figures",
            )),
            "processes" if max > 1.0 => Some((
                Doubt::OtherLoad,
                format!("`{name}`: up to {max:.0} processes used the board"),
                "their energy is in these joules",
            )),
            _ => None,
        }
    }

    fn drift(&self) -> Option<(f64, f64)> {
        let idle = self.idle?;
        let (before, after) = (idle.before?.watts, idle.after?.watts);
        ((after - before).abs() > DISAGREEMENT * before).then_some((before, after))
    }

    fn against_power(&self) -> Option<f64> {
        let ratio = self.self_test?.end?.against_power?;
        ((ratio - 1.0).abs() > DISAGREEMENT).then_some(ratio)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(telemetry: Value) -> Vec<Doubt> {
        let facts = Facts {
            telemetry: serde_json::from_value(telemetry).unwrap(),
            ..Facts::default()
        };
        notes(&facts).into_iter().map(|note| note.id).collect()
    }

    fn counter(more: &Value) -> Value {
        let mut source = json!({
            "about": {"name": "rapl/package-0", "quantity": {"kind": "energy"}},
            "joules": 5.0, "gaps": 0, "resets": 0, "values": null,
            "idle": {"before": null, "after": null},
            "self_test": {"start": null, "end": {"against_power": null}},
        });
        for (key, value) in more.as_object().unwrap() {
            source[key] = value.clone();
        }
        json!({ "sources": [source], "faults": [] })
    }

    fn gauge(kind: &str, values: &Value) -> Value {
        json!({"sources": [{
            "about": {"name": "nvml/0", "quantity": {"kind": "gauge", "gauge": kind}},
            "values": values,
        }]})
    }

    #[test]
    fn a_good_run_leaves_nothing_to_say() {
        assert_eq!(of(counter(&json!({}))), []);
        assert_eq!(of(json!({})), []);
        assert_eq!(
            of(gauge(
                "gpu_temperature",
                &json!({"first": 40.0, "last": 50.0, "max": 54.0})
            )),
            []
        );
        assert_eq!(
            of(gauge(
                "throttle",
                &json!({"first": 0.0, "last": 0.0, "max": 0.0})
            )),
            []
        );
        assert_eq!(
            of(json!({"cpu": {"service_seconds": 9.5, "machine_seconds": 10.0}})),
            []
        );
        assert_eq!(
            of(json!({"cpu": {"service_seconds": null, "machine_seconds": 10.0}})),
            []
        );
        let drawn = json!({"idle": {"before": {"watts": 50.0}, "after": {"watts": 54.0}}});
        assert_eq!(of(counter(&drawn)), []);
    }

    #[test]
    fn each_doubt_has_its_note() {
        assert_eq!(of(counter(&json!({"gaps": 2}))), [Doubt::Gaps]);
        assert_eq!(of(counter(&json!({"resets": 1}))), [Doubt::Resets]);
        assert_eq!(of(counter(&json!({"joules": null}))), [Doubt::NeverMoved]);
        let against = json!({"self_test": {"end": {"against_power": 0.8}}});
        assert_eq!(of(counter(&against)), [Doubt::CounterAgainstPower]);
        let drawn = json!({"idle": {"before": {"watts": 50.0}, "after": {"watts": 60.0}}});
        assert_eq!(of(counter(&drawn)), [Doubt::IdleDrift]);
        let values =
            |first: f64, last: f64, max: f64| json!({"first": first, "last": last, "max": max});
        assert_eq!(
            of(gauge("throttle", &values(0.0, 0.0, 4.0))),
            [Doubt::Throttled]
        );
        assert_eq!(
            of(gauge("power_limit", &values(700.0, 500.0, 700.0))),
            [Doubt::PowerLimit]
        );
        assert_eq!(
            of(gauge("cpu_temperature", &values(40.0, 50.0, 80.0))),
            [Doubt::Temperature]
        );
        assert_eq!(
            of(gauge("processes", &values(1.0, 1.0, 3.0))),
            [Doubt::OtherLoad]
        );
        let busy = json!({"cpu": {"service_seconds": 5.0, "machine_seconds": 10.0}});
        assert_eq!(of(busy), [Doubt::OtherLoad]);
        assert_eq!(of(json!({"faults": ["rapl: gone"]})), [Doubt::Fault]);
    }

    #[test]
    fn a_clock_elsewhere_is_a_matter_of_how_long_queries_are() {
        let source = |name: &str, steps: u64| {
            json!({
                "about": {"name": name, "host": "gpu1", "quantity": {"kind": "energy"}},
                "joules": 5.0, "clock": {"bound_seconds": 0.004, "steps": steps},
            })
        };
        let telemetry = json!({"sources": [source("gpu1/nvml/0", 1), source("gpu1/nvml/1", 1)]});
        let said = |median: Option<f64>| -> Vec<Doubt> {
            let facts = Facts {
                median_query_seconds: median,
                telemetry: serde_json::from_value(telemetry.clone()).unwrap(),
                ..Facts::default()
            };
            notes(&facts).iter().map(|note| note.id).collect()
        };
        assert_eq!(said(Some(0.05)), [Doubt::WideClock, Doubt::ClockSet]);
        assert_eq!(said(Some(1.0)), [Doubt::ClockSet]);
        assert_eq!(said(None), [Doubt::ClockSet]);
    }

    #[test]
    fn rows_and_queries_have_theirs() {
        let facts = Facts {
            rows_thinly_covered: 2,
            rows_too_short: 3,
            rows_delayed: 2,
            is_estimated: true,
            p99_needs: Some(368),
            answered: 160,
            ..Facts::default()
        };
        let said: Vec<String> = notes(&facts).iter().map(Note::to_string).collect();
        for (note, words) in
            said.iter()
                .zip(["estimated", "2 rows", "3 queries", "while 2", "takes 368"])
        {
            assert!(note.contains(words), "{words}: {note}");
        }
        assert_eq!(said.len(), 5);
    }
}
