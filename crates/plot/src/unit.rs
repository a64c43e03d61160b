//! Units with prefixes that suit the numbers.

use crate::number::significant;

/// Unit of an axis. Values are passed in the base unit that the variant names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unit {
    /// Seconds: ns, µs, ms, s, min, h.
    Seconds,
    /// Joules.
    Joules,
    /// Watts.
    Watts,
    /// Joules per token.
    JoulesPerToken,
    /// Joules per query.
    JoulesPerQuery,
    /// Tokens.
    Tokens,
    /// Queries.
    Queries,
    /// Tokens per second.
    TokensPerSecond,
    /// Queries per second.
    QueriesPerSecond,
    /// A fraction of one, shown in percent.
    Percent,
    /// Any other unit, shown verbatim.
    Other(String),
}

const METRIC: [(f64, &str); 7] = [
    (1e-9, "n"),
    (1e-6, "µ"),
    (1e-3, "m"),
    (1.0, ""),
    (1e3, "k"),
    (1e6, "M"),
    (1e9, "G"),
];
const TIME: [(f64, &str); 6] = [
    (1e-9, "ns"),
    (1e-6, "µs"),
    (1e-3, "ms"),
    (1.0, "s"),
    (60.0, "min"),
    (3600.0, "h"),
];

/// A unit with its prefix: shown = value / `factor`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScaledUnit {
    pub(crate) factor: f64,
    pub(crate) symbol: String,
}

impl Unit {
    /// The unit with the prefix that suits `typical`.
    pub(crate) fn scaled(&self, typical: f64) -> ScaledUnit {
        let typical = typical.abs();
        match self {
            Self::Seconds => time(typical),
            Self::Joules => metric(typical, "J"),
            Self::Watts => metric(typical, "W"),
            Self::JoulesPerToken => metric(typical, "J/token"),
            Self::JoulesPerQuery => metric(typical, "J/query"),
            Self::Tokens => plain("tokens"),
            Self::Queries => plain("queries"),
            Self::TokensPerSecond => plain("tokens/s"),
            Self::QueriesPerSecond => plain("queries/s"),
            Self::Percent => ScaledUnit {
                factor: 0.01,
                symbol: "%".to_owned(),
            },
            Self::Other(symbol) => plain(symbol),
        }
    }

    /// A value with its unit, to three digits.
    pub(crate) fn value(&self, value: f64) -> String {
        let scaled = self.scaled(value);
        format!(
            "{} {}",
            significant(value / scaled.factor, 3),
            scaled.symbol
        )
    }
}

fn plain(symbol: &str) -> ScaledUnit {
    ScaledUnit {
        factor: 1.0,
        symbol: symbol.to_owned(),
    }
}

fn metric(typical: f64, base: &str) -> ScaledUnit {
    let (factor, prefix) = largest_within(&METRIC, typical, 1.0);
    ScaledUnit {
        factor,
        symbol: format!("{prefix}{base}"),
    }
}

fn time(typical: f64) -> ScaledUnit {
    // Seconds are kept up to ten minutes, for comparison with timeouts.
    let known = if typical < 600.0 {
        &TIME[..4]
    } else {
        &TIME[..]
    };
    let (factor, symbol) = largest_within(known, typical, if typical < 600.0 { 1.0 } else { 2.0 });
    ScaledUnit {
        factor,
        symbol: symbol.to_owned(),
    }
}

fn largest_within<'a>(known: &[(f64, &'a str)], typical: f64, times: f64) -> (f64, &'a str) {
    if typical == 0.0 || !typical.is_finite() {
        return known
            .iter()
            .find(|(factor, _)| *factor >= 1.0)
            .copied()
            .unwrap_or(known[0]);
    }
    let fits = |factor: f64| typical >= factor * times * (1.0 - 1e-9);
    known
        .iter()
        .rev()
        .find(|(factor, _)| fits(*factor))
        .copied()
        .unwrap_or(known[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_suits_the_number() {
        let table = [
            (Unit::Seconds, 0.25, "250 ms"),
            (Unit::Seconds, 90.0, "90 s"),
            (Unit::Seconds, 1200.0, "20 min"),
            (Unit::Seconds, 7200.0, "2 h"),
            (Unit::Joules, 0.004, "4 mJ"),
            (Unit::Joules, 12_500.0, "12.5 kJ"),
            (Unit::Watts, 0.0, "0 W"),
            (Unit::JoulesPerToken, 0.0123, "12.3 mJ/token"),
            (Unit::Percent, 0.5, "50 %"),
            (Unit::Other("requests".into()), 3.0, "3 requests"),
        ];
        for (unit, value, text) in table {
            assert_eq!(unit.value(value), text);
        }
    }
}
