//! Where the joules went: by source, method and phase (docs/method.md §9.9).
//!
//! Sources lie within each other (a core in its package), so they are never added up here: what is
//! summed over sources is only what the headline is made from. A row that does not know its joules
//! is counted, not taken for nothing.

use std::collections::BTreeMap;

use ipw_core::source::Method;
use serde::Serialize;

use crate::interval::known;

/// The energy of one row as one source saw it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share<'a> {
    /// The source.
    pub name: &'a str,
    /// How its numbers come about.
    pub method: Method,
    /// Energy, idle included.
    pub joules: Option<f64>,
    /// What of it lies above idle.
    pub above_idle: Option<f64>,
    /// Whether it goes into the headline.
    pub is_headline: bool,
}

/// Energy on the basis before and after the first token.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Phases {
    /// Whether what came before is prefill and nothing else; waiting is in it where not.
    pub is_prefill: bool,
    /// Before.
    pub before: Option<f64>,
    /// After.
    pub after: Option<f64>,
}

/// One row.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Row<'a> {
    /// Source by source.
    pub shares: &'a [Share<'a>],
    /// Before and after the first token; `None` without one.
    pub phases: Option<Phases>,
    /// Tokens of the prompt.
    pub input_tokens: Option<f64>,
    /// Tokens of the reply.
    pub output_tokens: Option<f64>,
}

/// Joules of some rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Spent {
    /// Rows that know them.
    pub rows: u64,
    /// Rows that do not.
    pub unknown: u64,
    /// Their sum; `None` without a row.
    pub joules: Option<f64>,
    /// What lies above idle, of rows that know both; `None` without one.
    pub above_idle_joules: Option<f64>,
    /// The share of idle in the joules of these rows.
    pub idle_share: Option<f64>,
    /// Joules of the rows that know what lies above idle.
    #[serde(skip)]
    with_idle: f64,
}

/// Joules of one source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceEnergy {
    /// The source.
    pub name: String,
    /// How its numbers come about.
    pub method: Method,
    /// What it saw.
    #[serde(flatten)]
    pub spent: Spent,
}

/// Joules on the basis by one method.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MethodEnergy {
    /// How the numbers come about.
    pub method: Method,
    /// What was spent.
    #[serde(flatten)]
    pub spent: Spent,
}

/// Joules on the basis by phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct PhaseEnergy {
    /// Before the first token, where that is prefill.
    pub prefill: Spent,
    /// Before the first token, where waiting is in it.
    pub wait_and_prefill: Spent,
    /// From the first token on.
    pub decode: Spent,
}

/// Joules per token, sum ÷ sum over the rows that know both.
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

/// Where the joules went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Breakdown {
    /// Rows in all.
    pub rows: u64,
    /// On the basis; a row counts if all of its sources on the basis know theirs.
    pub headline: Spent,
    /// By source, by name; sources lie within each other and do not add up.
    pub sources: Vec<SourceEnergy>,
    /// On the basis by method.
    pub methods: Vec<MethodEnergy>,
    /// On the basis by phase.
    pub phases: PhaseEnergy,
    /// Per token.
    pub per_token: PerToken,
}

/// A sum ÷ a sum, on its way.
#[derive(Debug, Clone, Copy, Default)]
struct Quotient {
    above: f64,
    below: f64,
}

/// Joules on their way to a [`Breakdown`].
#[derive(Debug, Clone, Default)]
pub struct Energies {
    rows: u64,
    headline: Spent,
    sources: BTreeMap<(String, Method), Spent>,
    methods: BTreeMap<Method, Spent>,
    phases: PhaseEnergy,
    per_token: Quotient,
    per_input_token: Quotient,
    decode_per_output_token: Quotient,
    per_output_token: Quotient,
}

impl Spent {
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

/// All of them or nothing, and nothing of none.
fn sum(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let mut all = None;
    for value in values {
        all = Some(all.unwrap_or(0.0) + value?);
    }
    all
}

impl Energies {
    /// Takes one row in.
    pub fn push(&mut self, row: &Row) {
        self.rows += 1;
        for share in row.shares {
            let key = (share.name.to_owned(), share.method);
            let spent = self.sources.entry(key).or_default();
            spent.push(share.joules, share.above_idle);
        }
        let headline = || row.shares.iter().filter(|share| share.is_headline);
        let joules = sum(headline().map(|share| share.joules));
        let above_idle = sum(headline().map(|share| share.above_idle));
        self.headline.push(joules, above_idle);
        let mut methods: Vec<Method> = headline().map(|share| share.method).collect();
        methods.sort_unstable();
        methods.dedup();
        for method in methods {
            let own = || headline().filter(|share| share.method == method);
            let spent = self.methods.entry(method).or_default();
            spent.push(
                sum(own().map(|share| share.joules)),
                sum(own().map(|share| share.above_idle)),
            );
        }
        self.push_phases(row);
        let tokens = row
            .input_tokens
            .zip(row.output_tokens)
            .map(|(input, output)| input + output);
        self.per_token.push(joules, tokens);
        self.per_output_token.push(joules, row.output_tokens);
    }

    fn push_phases(&mut self, row: &Row) {
        let Some(phases) = row.phases else { return };
        if phases.is_prefill {
            self.phases.prefill.push(phases.before, None);
            self.per_input_token.push(phases.before, row.input_tokens);
        } else {
            self.phases.wait_and_prefill.push(phases.before, None);
        }
        self.phases.decode.push(phases.after, None);
        self.decode_per_output_token
            .push(phases.after, row.output_tokens);
    }

    /// What came together.
    pub fn finish(self) -> Breakdown {
        let source = |((name, method), spent): ((String, Method), Spent)| SourceEnergy {
            name,
            method,
            spent: spent.finish(),
        };
        let method = |(method, spent): (Method, Spent)| MethodEnergy {
            method,
            spent: spent.finish(),
        };
        Breakdown {
            rows: self.rows,
            headline: self.headline.finish(),
            sources: self.sources.into_iter().map(source).collect(),
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
            method: Method::Counter,
            joules,
            above_idle,
            is_headline: name != "core",
        }
    }

    fn broken_down(rows: &[Row]) -> Breakdown {
        let mut energies = Energies::default();
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
            method: Method::Estimated,
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
            phases: Some(Phases {
                is_prefill,
                before: Some(4.0),
                after: Some(6.0),
            }),
            input_tokens: Some(100.0),
            output_tokens: Some(20.0),
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
            output_tokens: Some(0.0),
            ..Row::default()
        };
        for found in [broken_down(&[]), broken_down(&[broken])] {
            assert_eq!(found.headline.joules, None);
            assert_eq!(found.headline.idle_share, None);
            assert_eq!(found.per_token, PerToken::default());
        }
    }
}
