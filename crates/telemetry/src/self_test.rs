//! Checks whether a source can be trusted: whether it moves, only grows, how often and how finely
//! it changes, and whether it agrees with the power of the same device (docs/method.md §6.2).

use std::time::Duration;

use ipw_core::account::Account;
use ipw_core::source::{Quantity, Source};
use ipw_core::telemetry::SelfTest;
use ipw_core::units::Watts;

/// Tests each source on its readings so far.
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

/// The mean power that the same device reports for the same domain, in watts.
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
