//! Whether a source behaves: does it move, does it only grow, how often and how finely does it
//! change, and does it agree with the power of the same device (docs/method.md §6.2).

use std::time::Duration;

use ipw_core::account::Account;
use ipw_core::source::{Quantity, Source};
use ipw_core::units::Watts;
use serde::Serialize;

/// What a look at a source showed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SelfTest {
    /// Readings in that time.
    pub readings: u64,
    /// Whether its value changed at all: a counter that never moves is absent.
    pub moves: bool,
    /// Whether it never went back, but for wraps; `None` for what is no counter.
    pub monotone: Option<bool>,
    /// The usual time between two changes, as polled; `None` with fewer than two.
    pub change_interval_seconds: Option<f64>,
    /// Its smallest change.
    pub resolution: Option<f64>,
    /// Mean power, for energy sources that moved.
    pub watts: Option<f64>,
    /// Its mean power ÷ that of the power source of the same device, over what each covers; 1 is
    /// agreement.
    pub against_power: Option<f64>,
    /// The last value.
    pub last: Option<f64>,
}

/// Looks at what each source has said so far.
pub(crate) fn self_tests(accounts: &[(Source, Account)]) -> Vec<SelfTest> {
    accounts
        .iter()
        .map(|(source, account)| {
            let is_counter = matches!(source.quantity, Quantity::Energy { .. });
            let moves = account.resolution.is_some();
            let is_power = matches!(source.quantity, Quantity::Power { .. });
            let watts = account
                .power()
                .map(Watts::watts)
                .filter(|watts| is_power || (is_counter && moves && *watts > 0.0));
            SelfTest {
                readings: account.readings,
                moves,
                monotone: is_counter.then_some(account.resets == 0),
                change_interval_seconds: account
                    .change_interval
                    .as_ref()
                    .map(Duration::as_secs_f64),
                resolution: account.resolution,
                watts,
                against_power: watts
                    .filter(|_| is_counter)
                    .and_then(|watts| Some(watts / power_beside(source, accounts)?)),
                last: account.values.map(|values| values.last),
            }
        })
        .collect()
}

/// The mean power that the same device reports for the same domain.
fn power_beside(counter: &Source, accounts: &[(Source, Account)]) -> Option<f64> {
    let is_beside = |source: &Source| {
        matches!(source.quantity, Quantity::Power { .. })
            && source.device.is_some()
            && source.device == counter.device
            && source.domain() == counter.domain()
    };
    let (_, account) = accounts.iter().find(|(source, _)| is_beside(source))?;
    let watts = account.power()?.watts();
    (watts > 0.0).then_some(watts)
}
