//! Breakdown of energy by source, method and phase (docs/method.md §9.9).
//!
//! Sources contain each other (a core its package), so they are never added here. Only the sources
//! of the headline are summed. A row with unknown joules is counted as unknown, not as zero.

use std::collections::{BTreeMap, BTreeSet};

use ipw_core::row::{OTHER_BASIS, Phases, Row, Share};
use ipw_core::source::Method;
use serde::Serialize;

use crate::interval::{known, real};

/// Energy of a set of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct EnergySum {
    /// Number of rows with known energy.
    pub rows: u64,
    /// Number of rows with unknown energy.
    pub unknown: u64,
    /// Total energy; `None` without a row.
    pub joules: Option<f64>,
    /// Energy above idle, over rows that know both; `None` without one.
    pub above_idle_joules: Option<f64>,
    /// The share of idle energy in these rows.
    pub idle_share: Option<f64>,
    /// Energy of the rows that know their energy above idle.
    #[serde(skip)]
    with_idle: f64,
}

/// Energy of one source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceEnergy {
    /// The source.
    pub name: String,
    /// How its values are obtained.
    pub method: Method,
    /// Its energy.
    #[serde(flatten)]
    pub spent: EnergySum,
}

/// Energy on the basis by one method.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MethodEnergy {
    /// How the values are obtained.
    pub method: Method,
    /// The energy.
    #[serde(flatten)]
    pub spent: EnergySum,
}

/// Energy on the basis by phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct PhaseEnergy {
    /// Before the first token, where that time is prefill only.
    pub prefill: EnergySum,
    /// Before the first token, where that time includes waiting.
    pub wait_and_prefill: EnergySum,
    /// From the first token on.
    pub decode: EnergySum,
}

/// Joules per token: sum ÷ sum over the rows that know both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct PerToken {
    /// All joules ÷ tokens of prompt and reply.
    pub joules_per_token: Option<f64>,
    /// Joules of prefill ÷ tokens of the prompt.
    pub prefill_joules_per_input_token: Option<f64>,
    /// Joules of decode ÷ tokens of the reply.
    pub decode_joules_per_output_token: Option<f64>,
    /// All joules ÷ tokens of the reply.
    pub joules_per_output_token: Option<f64>,
}

/// Breakdown of the energy of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Breakdown {
    /// Number of rows.
    pub rows: u64,
    /// Energy on the basis. A row counts if all of its sources on the basis know their energy.
    pub headline: EnergySum,
    /// By source, sorted by name. Sources contain each other and do not add up.
    pub sources: Vec<SourceEnergy>,
    /// On the basis by method.
    pub methods: Vec<MethodEnergy>,
    /// On the basis by phase.
    pub phases: PhaseEnergy,
    /// Per token.
    pub per_token: PerToken,
}

/// Running numerator and denominator of a ratio.
#[derive(Debug, Clone, Copy, Default)]
struct Quotient {
    above: f64,
    below: f64,
}

/// Running sums of a [`Breakdown`].
#[derive(Debug, Clone, Default)]
pub struct Energies {
    /// Names of the sources of the headline.
    basis: BTreeSet<String>,
    rows: u64,
    headline: EnergySum,
    sources: Vec<KnownSource>,
    methods: BTreeMap<Method, EnergySum>,
    phases: PhaseEnergy,
    per_token: Quotient,
    per_input_token: Quotient,
    decode_per_output_token: Quotient,
    per_output_token: Quotient,
}

/// A source that occurs in a row.
#[derive(Debug, Clone)]
struct KnownSource {
    name: String,
    method: Method,
    is_headline: bool,
    spent: EnergySum,
}

impl EnergySum {
    fn push(&mut self, joules: Option<f64>, above_idle: Option<f64>) {
        let Some(joules) = joules.and_then(known) else {
            self.unknown += 1;
            return;
        };
        self.rows += 1;
        *self.joules.get_or_insert(0.0) += joules;
        if let Some(above) = above_idle.and_then(known) {
            let sum = self.above_idle_joules.get_or_insert(0.0);
            *sum += above;
            self.with_idle += joules;
        }
    }

    fn finish(mut self) -> Self {
        self.joules = self.joules.and_then(known);
        self.above_idle_joules = self.above_idle_joules.and_then(known);
        self.idle_share = self
            .above_idle_joules
            .filter(|_| self.with_idle > 0.0)
            .and_then(|above| known(1.0 - above / self.with_idle));
        self
    }
}

impl Quotient {
    fn push(&mut self, above: Option<f64>, below: Option<f64>) {
        let below = below.and_then(known).filter(|below| *below > 0.0);
        if let (Some(above), Some(below)) = (above.and_then(known), below) {
            self.above += above;
            self.below += below;
        }
    }

    fn value(self) -> Option<f64> {
        known(self.above / self.below)
    }
}

/// All methods.
const METHODS: [Method; 4] = [
    Method::Counter,
    Method::Integrated,
    Method::Estimated,
    Method::Direct,
];

/// The headline of one row.
#[derive(Default)]
struct Headline {
    all: EnergyPair,
    /// In the order of [`METHODS`].
    methods: [Option<(Method, EnergyPair)>; METHODS.len()],
}

impl Headline {
    fn push(&mut self, method: Method, share: &Share<'_>) {
        self.all.push(share);
        let place = METHODS.iter().position(|known| *known == method);
        let own = &mut self.methods[place.unwrap_or(0)];
        own.get_or_insert((method, EnergyPair::default()))
            .1
            .push(share);
    }
}

/// Energy of several sources, in total and above idle.
#[derive(Clone, Copy, Default)]
struct EnergyPair {
    joules: CompleteSum,
    above_idle: CompleteSum,
}

impl EnergyPair {
    fn push(&mut self, share: &Share<'_>) {
        self.joules.push(share.joules);
        self.above_idle.push(share.above_idle);
    }

    fn joules(&self) -> Option<f64> {
        self.joules.sum()
    }

    fn above_idle(&self) -> Option<f64> {
        self.above_idle.sum()
    }
}

/// A sum that is known only if all of its terms are, with at least one.
#[derive(Clone, Copy, Default)]
struct CompleteSum {
    sum: f64,
    values: u64,
    is_spoilt: bool,
}

impl CompleteSum {
    fn push(&mut self, value: Option<f64>) {
        self.values += 1;
        match value {
            Some(value) => self.sum += value,
            None => self.is_spoilt = true,
        }
    }

    fn sum(self) -> Option<f64> {
        (self.values > 0 && !self.is_spoilt).then_some(self.sum)
    }
}

impl Energies {
    /// An empty breakdown whose headline has these sources.
    pub fn on(basis: BTreeSet<String>) -> Self {
        Self {
            basis,
            ..Self::default()
        }
    }

    /// Adds one row. Sources with an unknown method are left out.
    pub fn push(&mut self, row: &Row<'_>) {
        self.rows += 1;
        // Energy on another basis does not enter the headline.
        let is_apart = row.energy.reason == Some(OTHER_BASIS);
        let mut headline = Headline::default();
        for share in row.shares {
            let Some(place) = self.place(share) else {
                continue;
            };
            let source = &mut self.sources[place];
            source.spent.push(share.joules, share.above_idle);
            if source.is_headline && !is_apart {
                headline.push(source.method, share);
            }
        }
        let Headline { all, methods } = headline;
        self.headline.push(all.joules(), all.above_idle());
        for (method, sums) in methods.into_iter().flatten() {
            let spent = self.methods.entry(method).or_default();
            spent.push(sums.joules(), sums.above_idle());
        }
        self.push_phases(row);
        let output = row.output_tokens.map(real);
        self.per_token
            .push(all.joules(), row.all_tokens().map(real));
        self.per_output_token.push(all.joules(), output);
    }

    /// The index of a source, which is added if it is new.
    fn place(&mut self, share: &Share<'_>) -> Option<usize> {
        let is_it =
            |known: &KnownSource| known.name == share.name && known.method.label() == share.method;
        if let Some(place) = self.sources.iter().position(is_it) {
            return Some(place);
        }
        let is_named = |method: &Method| method.label() == share.method;
        self.sources.push(KnownSource {
            name: share.name.to_owned(),
            method: METHODS.into_iter().find(is_named)?,
            is_headline: self.basis.contains(share.name),
            spent: EnergySum::default(),
        });
        Some(self.sources.len() - 1)
    }

    fn push_phases(&mut self, row: &Row<'_>) {
        let Some(is_prefill) = row.phases.is_prefill() else {
            return;
        };
        let Phases { before, after, .. } = row.phases;
        if is_prefill {
            self.phases.prefill.push(before, None);
            self.per_input_token
                .push(before, row.input_tokens.map(real));
        } else {
            self.phases.wait_and_prefill.push(before, None);
        }
        self.phases.decode.push(after, None);
        self.decode_per_output_token
            .push(after, row.output_tokens.map(real));
    }

    /// The breakdown of all added rows.
    pub fn finish(self) -> Breakdown {
        let mut sources = self.sources;
        sources.sort_by(|left, right| (&left.name, left.method).cmp(&(&right.name, right.method)));
        let source = |known: KnownSource| SourceEnergy {
            name: known.name,
            method: known.method,
            spent: known.spent.finish(),
        };
        let method = |(method, spent): (Method, EnergySum)| MethodEnergy {
            method,
            spent: spent.finish(),
        };
        Breakdown {
            rows: self.rows,
            headline: self.headline.finish(),
            sources: sources.into_iter().map(source).collect(),
            methods: self.methods.into_iter().map(method).collect(),
            phases: PhaseEnergy {
                prefill: self.phases.prefill.finish(),
                wait_and_prefill: self.phases.wait_and_prefill.finish(),
                decode: self.phases.decode.finish(),
            },
            per_token: PerToken {
                joules_per_token: self.per_token.value(),
                prefill_joules_per_input_token: self.per_input_token.value(),
                decode_joules_per_output_token: self.decode_per_output_token.value(),
                joules_per_output_token: self.per_output_token.value(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<f64>, wanted: f64) -> bool {
        found.is_some_and(|found| (found - wanted).abs() < 1e-12)
    }

    fn share(name: &str, joules: Option<f64>, above_idle: Option<f64>) -> Share<'_> {
        Share {
            name,
            method: Method::Counter.label(),
            joules,
            above_idle,
            ..Share::default()
        }
    }

    fn broken_down(rows: &[Row<'_>]) -> Breakdown {
        let basis = ["package", "dram", "gpu", "gpu0", "gpu1", "estimate"];
        let mut energies = Energies::on(basis.map(str::to_owned).into());
        for row in rows {
            energies.push(row);
        }
        energies.finish()
    }

    #[test]
    fn what_lies_within_another_source_is_shown_and_not_added() {
        let shares = [
            share("package", Some(10.0), Some(6.0)),
            share("core", Some(7.0), Some(6.0)),
            share("dram", Some(2.0), Some(1.0)),
        ];
        let found = broken_down(&[Row {
            shares: &shares,
            ..Row::default()
        }]);
        assert!(close(found.headline.joules, 12.0));
        assert!(close(found.headline.idle_share, 5.0 / 12.0));
        let names: Vec<&str> = found.sources.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["core", "dram", "package"]);
        assert_eq!(found.methods.len(), 1);
        assert!(close(found.methods[0].spent.joules, 12.0));
    }

    #[test]
    fn a_row_that_does_not_know_is_counted_and_not_nothing() {
        let whole = [
            share("gpu0", Some(4.0), Some(1.0)),
            share("gpu1", Some(6.0), None),
        ];
        let half = [
            share("gpu0", Some(5.0), Some(2.0)),
            share("gpu1", None, None),
        ];
        let rows = [&whole[..], &half].map(|shares| Row {
            shares,
            ..Row::default()
        });
        let found = broken_down(&rows);
        assert_eq!((found.headline.rows, found.headline.unknown), (1, 1));
        assert!(close(found.headline.joules, 10.0));
        assert_eq!(found.headline.above_idle_joules, None);
        let first = found.sources[0].spent;
        assert!(close(first.joules, 9.0) && close(first.idle_share, 1.0 - 3.0 / 9.0));
    }

    #[test]
    fn an_estimate_stays_apart_from_a_measurement() {
        let measured = [share("package", Some(10.0), None)];
        let estimated = [Share {
            method: Method::Estimated.label(),
            ..share("estimate", Some(3.0), None)
        }];
        let rows = [&measured[..], &estimated].map(|shares| Row {
            shares,
            ..Row::default()
        });
        let found = broken_down(&rows);
        let methods: Vec<Method> = found.methods.iter().map(|one| one.method).collect();
        assert_eq!(methods, [Method::Counter, Method::Estimated]);
        assert!(close(found.methods[0].spent.joules, 10.0));
    }

    #[test]
    fn phases_pay_for_their_own_tokens() {
        let shares = [share("gpu", Some(10.0), None)];
        let row = |is_prefill: bool| Row {
            shares: &shares,
            phases: Phases {
                kind: Some(if is_prefill {
                    "prefill"
                } else {
                    "wait_and_prefill"
                }),
                before: Some(4.0),
                after: Some(6.0),
            },
            input_tokens: Some(100),
            output_tokens: Some(20),
            ..Row::default()
        };
        let found = broken_down(&[row(true), row(false)]);
        assert!(close(found.phases.prefill.joules, 4.0));
        assert!(close(found.phases.wait_and_prefill.joules, 4.0));
        assert!(close(found.phases.decode.joules, 12.0));
        let per = found.per_token;
        assert!(close(per.prefill_joules_per_input_token, 0.04));
        assert!(close(per.decode_joules_per_output_token, 0.3));
        assert!(close(per.joules_per_token, 20.0 / 240.0));
        assert!(close(per.joules_per_output_token, 0.5));
    }

    #[test]
    fn without_rows_or_numbers_there_is_nothing() {
        let shares = [share("gpu", Some(f64::NAN), Some(f64::INFINITY))];
        let broken = Row {
            shares: &shares,
            output_tokens: Some(0),
            ..Row::default()
        };
        for found in [broken_down(&[]), broken_down(&[broken])] {
            assert_eq!(found.headline.joules, None);
            assert_eq!(found.headline.idle_share, None);
            assert_eq!(found.per_token, PerToken::default());
        }
    }
}
