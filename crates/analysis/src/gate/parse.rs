//! Parsing of gates.

use ipw_core::nearest::{known_are, nearest};

use super::{Clause, Gate, LimitKind, Sign};
use crate::metric::{Metric, Unit};

/// Why a text is not a gate, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{clause}` at character {position} of the gate {trouble}")]
pub struct GateError {
    /// The condition as written.
    pub clause: String,
    /// Start of the condition, in characters from 1.
    pub position: usize,
    /// The fault in the condition.
    pub trouble: ClauseFault,
}

/// A fault in a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClauseFault {
    /// The condition is empty.
    #[error("is empty\nhelp: write e.g. `joules_per_token<=+3%,accuracy>=-1pp`")]
    Empty,
    /// There is no comparison operator.
    #[error(
        "has no comparison\nhelp: write a metric, one of `<=`, `>=`, `<`, `>`, and a limit, e.g. `accuracy>=-1pp`"
    )]
    NoSign,
    /// The metric is unknown.
    #[error("names an unknown metric\nhelp: {}", known(.nearest.as_deref()))]
    UnknownMetric {
        /// The nearest known metric.
        nearest: Option<String>,
    },
    /// The limit is not a number.
    #[error("has no numeric limit\nhelp: write e.g. `+3%`, `-1pp` or `{example}`")]
    BadLimit {
        /// A valid limit.
        example: &'static str,
    },
    /// The metric does not have this unit.
    #[error("has a limit in `{unit}`\nhelp: write {allowed}")]
    WrongUnit {
        /// As written.
        unit: String,
        /// Valid units.
        allowed: &'static str,
    },
    /// A change has no sign.
    #[error("has a change without a sign\nhelp: a change has a sign: `+{limit}` or `-{limit}`")]
    NoDirection {
        /// The limit as written.
        limit: String,
    },
}

fn known(nearest: Option<&str>) -> String {
    known_are(nearest, Metric::ALL.map(Metric::name))
}

impl Gate {
    /// Parses `joules_per_token<=+3%,accuracy>=-1pp`. Names may be in any case.
    pub fn parse(text: &str) -> Result<Self, GateError> {
        let mut position = 1;
        let mut clauses = Vec::new();
        for item in text.split(',') {
            let clause = item.trim();
            let blanks = item.chars().take_while(|c| c.is_whitespace()).count();
            let parsed = Clause::parse(clause).map_err(|trouble| GateError {
                clause: clause.to_owned(),
                position: position + if clause.is_empty() { 0 } else { blanks },
                trouble,
            })?;
            clauses.push(parsed);
            position += item.chars().count() + 1;
        }
        Ok(Self { clauses })
    }
}

impl Clause {
    fn parse(text: &str) -> Result<Self, ClauseFault> {
        if text.is_empty() {
            return Err(ClauseFault::Empty);
        }
        let place = text.find(['<', '>']).ok_or(ClauseFault::NoSign)?;
        let (name, rest) = text.split_at(place);
        let signs = [
            ("<=", Sign::AtMost),
            (">=", Sign::AtLeast),
            ("<", Sign::Below),
            (">", Sign::Above),
        ];
        let (limit, sign) = signs
            .into_iter()
            .find_map(|(text, sign)| Some((rest.strip_prefix(text)?, sign)))
            .ok_or(ClauseFault::NoSign)?;
        let metric = metric(name.trim())?;
        let (limit, of) = limit_of(metric.unit(), limit.trim())?;
        Ok(Self {
            text: text.to_owned(),
            metric,
            sign,
            limit,
            of,
        })
    }
}

fn metric(name: &str) -> Result<Metric, ClauseFault> {
    let is_meant = |metric: &Metric| metric.name().eq_ignore_ascii_case(name);
    Metric::ALL
        .into_iter()
        .find(is_meant)
        .ok_or_else(|| ClauseFault::UnknownMetric {
            nearest: nearest(name, Metric::ALL.map(Metric::name)).map(str::to_owned),
        })
}

/// The units of a metric besides `%` with their factors, and a list of them for messages.
const fn units(unit: Unit) -> (&'static [(&'static str, f64)], &'static str) {
    match unit {
        Unit::Joules => (
            &[("mJ", 1e-3), ("kJ", 1e3), ("J", 1.0), ("", 1.0)],
            "`%`, `mJ`, `J` or `kJ`",
        ),
        Unit::Watts => (
            &[("mW", 1e-3), ("kW", 1e3), ("W", 1.0), ("", 1.0)],
            "`%`, `mW`, `W` or `kW`",
        ),
        Unit::Seconds => (
            &[("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)],
            "`%`, `us`, `ms` or `s`",
        ),
        Unit::PerSecond => (&[("/s", 1.0), ("", 1.0)], "`%` or `/s`"),
        Unit::PerWatt => (
            &[("/kW", 1e-3), ("/W", 1.0), ("", 1.0)],
            "`%`, `/W` or `/kW`",
        ),
        Unit::PerJoule => (
            &[("/kJ", 1e-3), ("/J", 1.0), ("", 1.0)],
            "`%`, `/J` or `/kJ`",
        ),
        Unit::Plain => (&[("", 1.0)], "`%`"),
        Unit::Share => (
            &[("pp", 1e-2)],
            "`pp` with a sign for a change in percentage points, or `%`",
        ),
    }
}

const fn example(unit: Unit) -> &'static str {
    match unit {
        Unit::Joules => "0.5J",
        Unit::Watts => "200W",
        Unit::Seconds => "500ms",
        Unit::PerSecond => "30/s",
        Unit::PerWatt => "0.01/W",
        Unit::PerJoule => "0.01/J",
        Unit::Share => "80%",
        Unit::Plain => "2",
    }
}

/// The limit as a number, and what it applies to.
fn limit_of(unit: Unit, text: &str) -> Result<(f64, LimitKind), ClauseFault> {
    let text = text.replace('−', "-");
    let end = number_length(&text);
    let (number, suffix) = (&text[..end], text[end..].trim());
    let bad = || ClauseFault::BadLimit {
        example: example(unit),
    };
    let value: f64 = number.parse().map_err(|_| bad())?;
    if !value.is_finite() {
        return Err(bad());
    }
    let is_change = number.starts_with(['+', '-']);
    let no_direction = || ClauseFault::NoDirection {
        limit: text.trim().to_owned(),
    };
    if suffix == "%" {
        return match (unit, is_change) {
            (_, true) => Ok((value / 100.0, LimitKind::Relative)),
            (Unit::Share, false) => Ok((value / 100.0, LimitKind::Value)),
            (_, false) => Err(no_direction()),
        };
    }
    let (units, allowed) = units(unit);
    // Case matters: a milliwatt is not a megawatt.
    let found = units.iter().find(|(known, _)| *known == suffix);
    let Some((_, factor)) = found else {
        return Err(ClauseFault::WrongUnit {
            unit: suffix.to_owned(),
            allowed,
        });
    };
    match (unit, is_change) {
        (_, true) => Ok((value * factor, LimitKind::Absolute)),
        (Unit::Share, false) => Err(no_direction()),
        (_, false) => Ok((value * factor, LimitKind::Value)),
    }
}

/// Length of the number at the start of a text: sign, digits, point, exponent.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_part = |place: usize| match bytes[place] {
        b'0'..=b'9' | b'.' => true,
        b'+' | b'-' => place == 0 || matches!(bytes[place - 1], b'e' | b'E'),
        b'e' | b'E' => {
            let next = bytes.get(place + 1);
            next.is_some_and(|next| next.is_ascii_digit() || matches!(next, b'+' | b'-'))
        }
        _ => false,
    };
    (0..bytes.len())
        .find(|place| !is_part(*place))
        .unwrap_or(bytes.len())
}
