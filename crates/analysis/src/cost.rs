//! Energy cost of a run in money and carbon, at rates that the user gives for a report. Rates are
//! not part of the measurement (docs/method.md §7.2).

use serde::Serialize;

const JOULES_PER_KWH: f64 = 3.6e6;

/// Rates that the user gives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rates {
    /// Price of a kilowatt-hour; `None` if it was not given.
    pub per_kwh: Option<f64>,
    /// Grams of CO₂ per kilowatt-hour; `None` if it was not given.
    pub grams_per_kwh: Option<f64>,
    /// Power usage effectiveness: energy of the building ÷ energy of the machine.
    pub pue: f64,
}

/// Running cost of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RunningCost {
    /// The rates used.
    pub rates: Rates,
    /// Energy in kilowatt-hours, including the building's overhead.
    pub kilowatt_hours: f64,
    /// Total cost.
    pub money: Option<f64>,
    /// Cost of a thousand queries.
    pub money_per_1000_queries: Option<f64>,
    /// Cost of a million output tokens; `None` where tokens are unknown.
    pub money_per_million_output_tokens: Option<f64>,
    /// CO₂ emissions in grams.
    pub grams_co2: Option<f64>,
}

impl Rates {
    /// The cost of this energy, spent on these queries and output tokens.
    pub fn of(self, joules: f64, queries: u64, output_tokens: Option<u64>) -> RunningCost {
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let real = |count: u64| count as f64;
        let kilowatt_hours = joules * self.pue / JOULES_PER_KWH;
        let money = self.per_kwh.map(|rate| rate * kilowatt_hours);
        let per = |count: u64, so_many: f64| {
            Some(money? / real(count) * so_many).filter(|money| money.is_finite())
        };
        RunningCost {
            rates: self,
            kilowatt_hours,
            money,
            money_per_1000_queries: per(queries, 1e3),
            money_per_million_output_tokens: output_tokens.and_then(|tokens| per(tokens, 1e6)),
            grams_co2: self.grams_per_kwh.map(|rate| rate * kilowatt_hours),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kilowatt_hour_costs_what_it_is_said_to() {
        let rates = Rates {
            per_kwh: Some(0.30),
            grams_per_kwh: Some(400.0),
            pue: 1.5,
        };
        let found = rates.of(2.4e6, 100, Some(1_000_000));
        let is = |value: Option<f64>, wanted: f64| (value.unwrap() - wanted).abs() < 1e-12;
        assert!(is(Some(found.kilowatt_hours), 1.0));
        assert!(is(found.money, 0.30) && is(found.grams_co2, 400.0));
        assert!(is(found.money_per_1000_queries, 3.0));
        assert!(is(found.money_per_million_output_tokens, 0.30));
    }

    #[test]
    fn costs_without_a_rate_or_tokens_are_none() {
        let rates = Rates {
            per_kwh: Some(0.30),
            grams_per_kwh: None,
            pue: 1.0,
        };
        let found = rates.of(1.0, 0, None);
        assert_eq!(found.money_per_1000_queries, None);
        assert_eq!(found.money_per_million_output_tokens, None);
        assert_eq!(found.grams_co2, None);
    }
}
