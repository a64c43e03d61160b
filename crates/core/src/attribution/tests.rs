//! The two balance identities over random steps, gaps, resets and overlaps, and the rule on small
//! hand-computed cases.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::counter::{LARGEST_POWER, Rollover};
use crate::energy::Reason;
use crate::source::SourceIndex;
use crate::time::Timestamp;
use crate::units::{Joules, Watts};

const MS: u64 = 1_000_000;

fn at(milliseconds: u64) -> Timestamp {
    Timestamp::from_nanos(milliseconds * MS)
}

fn window(start: u64, end: u64) -> Window {
    Window::new(at(start), at(end)).unwrap()
}

fn meter(kind: Kind) -> Meter {
    Meter {
        kind,
        period: Some(Duration::from_millis(100)),
        relative_sigma: None,
        longest_silence: Duration::from_secs(1),
        clock_bound: Duration::ZERO,
        largest: LARGEST_POWER,
        dated_within: None,
    }
}

fn counter() -> Meter {
    meter(Kind::Counter(Rollover::Resets))
}

fn idle(watts: f64) -> Idle {
    Idle {
        power: Watts::from_watts(watts),
        sigma: Watts::ZERO,
    }
}

/// A counter with an edge every 100 ms, polled just before each, so its edges are dated exactly.
fn staircase(joules: impl IntoIterator<Item = f64>) -> Vec<Reading> {
    let mut value = 0.0;
    let edges = joules.into_iter().zip(0_u64..);
    edges
        .map(|(joules, number)| {
            value += joules;
            Reading {
                source: SourceIndex(0),
                at: at(number * 100),
                previous: Some(at(number * 100)),
                value,
            }
        })
        .collect()
}

fn flights(windows: &[Window]) -> Flights {
    let mut flights = Flights::default();
    for window in windows {
        flights.add(*window);
    }
    flights
}

fn of(energy: &WindowEnergy) -> (f64, f64) {
    (
        energy.energy.unwrap().joules(),
        energy.above_idle.unwrap().joules(),
    )
}

fn is_near(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-6 * (1.0 + right.abs())
}

#[test]
fn a_lone_query_gets_its_outer_edges_less_idle_times_slack() {
    // 10 W idle; 100 W above it from 150 to 300 ms.
    let trace = staircase([0.0, 1.0, 6.0, 11.0, 1.0, 1.0]);
    let query = window(150, 300);
    let energy = share(
        &counter(),
        &trace,
        query,
        &Flights::alone(query),
        Some(idle(10.0)),
    );
    let (total, above) = of(&energy);
    assert!(is_near(above, 15.0) && is_near(total, 16.5), "{energy:?}");
    assert_eq!((energy.coverage, energy.reason), (1.0, None));
    // Interpolation would spread the first half step over the whole step.
    let without = counter().energy(&trace, query);
    assert!(is_near(without.energy.unwrap().joules(), 14.0));
    assert_eq!(without.above_idle, None);
}

#[test]
fn a_query_far_shorter_than_a_step_has_a_number_only_where_idle_is_known() {
    let trace = staircase([0.0, 1.0, 3.0, 1.0, 1.0]);
    let query = window(140, 160);
    let alone = Flights::alone(query);
    let known = share(&counter(), &trace, query, &alone, Some(idle(10.0)));
    assert!(is_near(of(&known).1, 2.0), "{known:?}");
    let unknown = share(&counter(), &trace, query, &alone, None);
    assert_eq!(
        (unknown.energy, unknown.reason, unknown.coverage),
        (None, Some(Reason::TooShort), 1.0)
    );
    // With other queries that fill the step, it is a normal share.
    let company = flights(&[query, window(0, 140), window(160, 300)]);
    let shared = share(&counter(), &trace, query, &company, None);
    assert!(is_near(shared.energy.unwrap().joules(), 0.6), "{shared:?}");
}

#[test]
fn two_in_flight_share_what_both_use_and_idle_by_halves() {
    // 10 W idle, 50 W above it for each.
    let trace = staircase([0.0, 1.0, 11.0, 11.0, 6.0, 1.0]);
    let (first, second) = (window(100, 300), window(100, 400));
    let both = flights(&[first, second]);
    let of_first = of(&share(&counter(), &trace, first, &both, Some(idle(10.0))));
    let of_second = of(&share(&counter(), &trace, second, &both, Some(idle(10.0))));
    assert!(
        is_near(of_first.1, 10.0) && is_near(of_first.0, 11.0),
        "{of_first:?}"
    );
    assert!(
        is_near(of_second.1, 15.0) && is_near(of_second.0, 17.0),
        "{of_second:?}"
    );
}

#[test]
fn sigma_grows_with_company_with_doubt_about_idle_and_with_late_polls() {
    let trace = staircase([0.0, 1.0, 6.0, 11.0, 1.0, 1.0]);
    let query = window(150, 300);
    let sigma = |meter: &Meter, trace: &[Reading], company: &[Window], idle| {
        let flights = flights(&[&[query], company].concat());
        let energy = share(meter, trace, query, &flights, Some(idle));
        energy.sigma.unwrap().joules()
    };
    let exact = counter();
    let alone = sigma(&exact, &trace, &[], idle(10.0));
    assert!(alone < 1e-9, "all is known: {alone}");
    let shared = sigma(&exact, &trace, &[window(100, 150)], idle(10.0));
    // Half of the 5 J above idle in the shared step, times three tenths, for both queries.
    assert!(
        (shared - 0.25 * 5.0 * 0.3 * 2.0_f64.sqrt()).abs() < 1e-9,
        "{shared}"
    );
    let unsure = Idle {
        sigma: Watts::from_watts(2.0),
        ..idle(10.0)
    };
    let doubtful = sigma(&exact, &trace, &[], unsure);
    assert!((doubtful - 2.0 * 0.05).abs() < 1e-9, "{doubtful}");
    let mut late = trace.clone();
    for reading in &mut late {
        // Polled every 20 ms: the change was at most 20 ms earlier.
        reading.previous = Some(reading.at.before(Duration::from_millis(20)));
    }
    assert!(sigma(&exact, &late, &[], idle(10.0)) > 0.05);
}

/// Queries of different power end to end, read every 5 ms by a counter with a clock error. The
/// energy moved between neighbours is within sigma for any error up to the bound.
#[test]
fn a_clock_that_is_off_by_no_more_than_its_bound_is_within_sigma() {
    const BOUND: u64 = 40;
    let powers: [f64; 8] = [60.0, 140.0, 80.0, 220.0, 40.0, 180.0, 100.0, 160.0];
    let queries: Vec<Window> = (0..8_u64)
        .map(|number| window(1000 + number * 300, 1300 + number * 300))
        .collect();
    let power_at = |ms: u64| match ms.checked_sub(1000).map(|since| since / 300) {
        Some(number) if number < 8 => 10.0 + powers[usize::try_from(number).unwrap()],
        _ => 10.0,
    };
    let read = |late: i64| -> Vec<Reading> {
        let mut value = 0.0;
        let mut readings = Vec::new();
        for ms in (5..5000_u64).step_by(5) {
            value += (ms - 5..ms).map(|ms| power_at(ms) / 1000.0).sum::<f64>();
            let at = at(ms.checked_add_signed(late).unwrap_or(0) + 100);
            let previous = readings.last().map(|last: &Reading| last.at);
            readings.push(Reading {
                source: SourceIndex(0),
                at,
                previous,
                value,
            });
        }
        readings
    };
    let shifted: Vec<Window> = queries
        .iter()
        .map(|query| {
            Window::new(
                query.start().after(Duration::from_millis(100)),
                query.end().after(Duration::from_millis(100)),
            )
            .unwrap()
        })
        .collect();
    let flights = flights(&shifted);
    let sure = Meter {
        period: Some(Duration::from_millis(1)),
        ..counter()
    };
    let unsure = Meter {
        clock_bound: Duration::from_millis(BOUND),
        ..sure
    };
    let mut squares = 0.0;
    let mut count = 0.0;
    let mut beyond_without = 0;
    for late in -40..=40_i64 {
        let trace = read(late);
        for (query, power) in shifted.iter().zip(powers) {
            let truth = (10.0 + power) * 0.3;
            let said = share(&unsure, &trace, *query, &flights, Some(idle(10.0)));
            let off = said.energy.unwrap().joules() - truth;
            let sigma = said.sigma.unwrap().joules();
            squares += (off / sigma).powi(2);
            count += 1.0;
            assert!(
                off.abs() < 4.5 * sigma,
                "{late} ms: {off} J, sigma {sigma} J"
            );
            let without = share(&sure, &trace, *query, &flights, Some(idle(10.0)));
            beyond_without += u32::from(off.abs() > 4.5 * without.sigma.unwrap().joules());
        }
    }
    let spread: f64 = squares / count;
    eprintln!("errors are {} of sigma", spread.sqrt());
    assert!(spread.sqrt() < 1.6, "errors are {} of sigma", spread.sqrt());
    assert!(
        beyond_without > 100,
        "without the bound {beyond_without} are far beyond sigma"
    );
}

#[test]
fn quiet_steps_that_are_not_idle_are_told_by_sigma() {
    // 30 W rather than 10 W in the first quiet step after each query: clocks were still up.
    let trace = staircase([0.0, 1.0, 11.0, 3.0, 1.0, 6.0, 11.0, 3.0, 1.0]);
    let queries = [window(100, 200), window(450, 600)];
    let meter = counter();
    let mut ledger = Ledger::new(&meter, Some(idle(10.0)), equal);
    let mut sigmas = Vec::new();
    let numbered = queries.into_iter().enumerate();
    ledger.settle(steps(&meter, &trace), numbered, |_, energy| {
        sigmas.push(energy.sigma.unwrap().joules());
    });
    assert!(sigmas[0] < 1e-9, "nothing was known of it yet: {sigmas:?}");
    assert!((sigmas[1] - 20.0 * 0.05).abs() < 1e-9, "{sigmas:?}");
}

#[test]
fn idle_power_is_that_of_steps_without_queries() {
    let trace = staircase([0.0, 1.0, 1.2, 0.8, 9.0, 1.0]);
    let busy = flights(&[window(310, 390)]);
    let idle = Idle::over(&counter(), &trace, window(0, 500), &busy).unwrap();
    assert!(is_near(idle.power.watts(), 10.0), "{idle:?}");
    assert!((0.1..2.0).contains(&idle.sigma.watts()), "{idle:?}");
    assert_eq!(
        Idle::over(&counter(), &trace, window(0, 150), &busy),
        None,
        "one step is no mean"
    );
}

#[test]
fn flights_may_be_told_late_and_corrected() {
    let mut told = Flights::default();
    let late = told.begin(at(50));
    let early = told.begin(at(20));
    told.end(late, at(90));
    told.settle(early, window(25, 70));
    told.settle(late, window(40, 80));
    let known = flights(&[window(25, 70), window(40, 80)]);
    for instant in (0..100).map(at) {
        let (left, right) = (told.at(instant), known.at(instant));
        assert_eq!(left.flight_nanos, right.flight_nanos, "{instant:?}");
        assert_eq!(left.busy_nanos, right.busy_nanos);
        assert!((left.fair_seconds - right.fair_seconds).abs() < 1e-12);
    }
    let before = told.at(at(75)).fair_seconds - told.at(at(60)).fair_seconds;
    told.forget_before(at(60));
    assert_eq!(told.len(), 2);
    assert!((told.at(at(75)).fair_seconds - told.at(at(60)).fair_seconds - before).abs() < 1e-12);
    let excerpt = known.excerpt(at(60), at(75));
    assert_eq!(excerpt.len(), 1);
    assert_eq!(
        excerpt.at(at(75)).flight_nanos - excerpt.at(at(60)).flight_nanos,
        25 * MS
    );
}

#[test]
fn tokens_weigh_where_they_were_processed() {
    let tokens = TokenTimes {
        input: Some((100.0, window(0, 200))),
        output: 10.0,
        chunks: (0..5).map(|chunk| at(200 + chunk * 50)).collect(),
    };
    let within = |start, end| {
        tokens.within(&Step {
            start: at(start),
            end: at(end),
            energy: None,
            lost: None,
            start_width: Duration::ZERO,
            end_width: Duration::ZERO,
        })
    };
    assert!((within(0, 100) - 50.0).abs() < 1e-9);
    assert!(
        (within(200, 300) - 4.0).abs() < 1e-9,
        "chunks at 250 and 300"
    );
    assert!((within(0, 1000) - 110.0).abs() < 1e-9);
    assert!(within(400, 1000) < 1e-9);
}

#[test]
fn a_ledger_yields_in_the_order_of_beginnings_and_shares_by_tokens() {
    // One query reads 300 tokens and one 100 in the same step.
    let trace = staircase([0.0, 8.0, 4.0]);
    let meter = counter();
    let weigh = |tokens: &f64, window: Window, step: &Step| {
        tokens * window.overlap(step.start, step.end).as_secs_f64()
    };
    let mut ledger = Ledger::new(&meter, None, weigh);
    let mut seen = Vec::new();
    let queries = [
        (300.0, window(0, 200)),
        (100.0, window(0, 100)),
        (0.0, window(900, 950)),
    ];
    ledger.settle(steps(&meter, &trace), queries, |tokens, energy| {
        seen.push((tokens, energy.energy.map(Joules::joules), energy.reason));
    });
    assert_eq!(
        seen,
        [
            (300.0, Some(10.0), None),
            (100.0, Some(2.0), None),
            (0.0, None, Some(Reason::NoReading)),
        ]
    );
}

/// A simulated source: energies of steps, and their faults.
#[derive(Debug, Clone)]
struct Scene {
    meter: Meter,
    readings: Vec<Reading>,
    queries: Vec<Window>,
    idle: Option<Idle>,
}

/// The fault of a reading.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Plain,
    Silent,
    Reset,
    Slept,
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        12 => Just(Turn::Plain),
        1 => Just(Turn::Silent),
        1 => Just(Turn::Reset),
        1 => Just(Turn::Slept),
    ]
}

fn scene() -> impl Strategy<Value = Scene> {
    let readings = prop::collection::vec((turn(), 1_u64..300, 0.0..40.0_f64, 0_u64..40), 2..60);
    let queries = prop::collection::vec((0_u64..6000, 0_u64..2500), 0..25);
    let watts = prop::option::of(0.0..60.0_f64);
    (readings, queries, watts, 0_u8..3).prop_map(|(turns, queries, watts, kind)| {
        let kind = match kind {
            0 => Kind::Counter(Rollover::Resets),
            1 => Kind::Counter(Rollover::Wraps(Joules::from_joules(1000.0))),
            _ => Kind::Power(Duration::from_millis(30)),
        };
        let (mut now, mut value, mut readings) = (0, 0.0, Vec::<Reading>::new());
        for (turn, wait, joules, poll) in turns {
            now += wait
                + if matches!(turn, Turn::Silent) {
                    1500
                } else {
                    0
                };
            value = match (turn, kind) {
                (Turn::Reset, Kind::Power(_)) => -1.0,
                (Turn::Reset, _) => 0.0,
                (_, Kind::Power(_)) => joules,
                (_, Kind::Counter(Rollover::Wraps(_))) => (value + joules) % 1000.0,
                _ => value + joules,
            };
            let previous = match (turn, readings.last()) {
                (Turn::Slept, _) | (_, None) => None,
                (Turn::Silent, Some(last)) => Some(last.at),
                (_, Some(last)) => Some(at(now.saturating_sub(poll)).max(last.at)),
            };
            readings.push(Reading {
                source: SourceIndex(0),
                at: at(now),
                previous,
                value,
            });
        }
        let mut queries: Vec<Window> = queries
            .into_iter()
            .map(|(start, length)| window(start, start + length))
            .collect();
        queries.sort_by_key(|query| query.start());
        Scene {
            meter: meter(kind),
            readings,
            queries,
            idle: watts.map(idle),
        }
    })
}

fn near(left: f64, right: f64, what: &str) -> Result<(), TestCaseError> {
    let slack = 1e-9 * (1.0 + left.abs() + right.abs());
    prop_assert!((left - right).abs() < slack, "{what}: {left} and {right}");
    Ok(())
}

proptest! {
    /// Measured = queries + no query + lost; the same above idle. Live shares, query by query,
    /// equal those of one pass over all.
    #[test]
    fn measured_energy_is_queries_plus_no_query_plus_lost(scene in scene()) {
        let Scene { meter, readings, queries, idle } = scene;
        let mut ledger = Ledger::new(&meter, idle, equal);
        let (mut totals, mut above, mut offline) = (0.0, 0.0, Vec::new());
        let numbered = queries.iter().enumerate().map(|(number, query)| (number, *query));
        let balance = ledger.settle(steps(&meter, &readings), numbered, |number, energy| {
            totals += energy.energy.map_or(0.0, Joules::joules);
            above += energy.above_idle.map_or(0.0, Joules::joules);
            offline.push((number, energy));
        });
        let all: f64 = steps(&meter, &readings).filter_map(|step| step.energy).map(Joules::joules).sum();
        near(balance.measured.joules(), all, "measured")?;
        let given = totals + ledger.withheld().joules();
        near(given, balance.queries.joules(), "queries")?;
        near(given + balance.no_query.joules() + balance.gaps.joules(), all, "first identity")?;
        if let (Some(share), Some(idle), Some(unassigned)) = (balance.above_idle, balance.idle, balance.unassigned) {
            near(share.joules() + idle.joules() + unassigned.joules() + balance.gaps.joules(), all, "second identity")?;
            if ledger.withheld() == Joules::ZERO {
                near(above, share.joules(), "above idle")?;
            }
        }
        let together = flights(&queries);
        let numbers: Vec<usize> = offline.iter().map(|(number, _)| *number).collect();
        prop_assert_eq!(numbers, (0..queries.len()).collect::<Vec<_>>());
        for (query, (_, offline)) in queries.iter().zip(&offline) {
            let live = share(&meter, &readings, *query, &together, idle);
            prop_assert_eq!((live.reason, live.energy.is_some()), (offline.reason, offline.energy.is_some()));
            let joules = |energy: &WindowEnergy| energy.energy.map_or(0.0, Joules::joules);
            near(joules(&live), joules(offline), "live and later")?;
            let sigma = |energy: &WindowEnergy| energy.sigma.map_or(0.0, Joules::joules);
            // The ledger's idle power includes the steps seen so far.
            prop_assert!(sigma(&live).is_finite() && sigma(&live) >= 0.0);
            prop_assert!(sigma(offline).is_finite() && sigma(offline) >= sigma(&live) * 0.999);
        }
        let mut books = Totals::default();
        for step in steps(&meter, &readings) {
            books.add(&step, &together);
        }
        near(books.balance(idle).queries.joules(), balance.queries.joules(), "the books")?;
    }

    /// The two sides of a query get the same energy in one pass as separately. They add up to the
    /// whole for any weights.
    #[test]
    fn sides_are_shared_by_the_same_rule(scene in scene(), by_tokens in prop::bool::ANY) {
        let Scene { meter, readings, queries, idle } = scene;
        let sides = |query: Window| {
            let middle = query.start().after(query.length() / 3);
            [Window::new(query.start(), middle).unwrap(), Window::new(middle, query.end()).unwrap()]
        };
        let tokens = |query: &Window| TokenTimes {
            input: Some((30.0, sides(*query)[0])),
            output: 8.0,
            chunks: vec![sides(*query)[1].start(), query.end()],
        };
        let weigh = |query: &Window, window: Window, step: &Step| {
            if by_tokens {
                tokens(query).within_both(step, window)
            } else {
                equal(query, window, step)
            }
        };
        let mut ledger = Ledger::new(&meter, idle, weigh);
        let (mut begun, mut settled) = (queries.iter().peekable(), Vec::new());
        for step in steps(&meter, &readings) {
            while let Some(query) = begun.next_if(|query| query.start() < step.end) {
                ledger.begin(*query, *query, sides(*query).map(Some));
            }
            ledger.take(&step, |one| settled.push(one));
        }
        for query in begun {
            ledger.begin(*query, *query, sides(*query).map(Some));
        }
        ledger.finish(|one| settled.push(one));
        prop_assert_eq!(settled.len(), queries.len());
        let together = flights(&queries);
        let joules = |energy: &WindowEnergy| energy.energy.map(Joules::joules);
        for one in &settled {
            let inside = one.inside.map(Option::unwrap);
            if !by_tokens {
                for (side, found) in sides(one.query).iter().zip(&inside) {
                    let live = share(&meter, &readings, *side, &together, idle);
                    prop_assert_eq!(live.reason, found.reason);
                    near(joules(&live).unwrap_or(0.0), joules(found).unwrap_or(0.0), "a side")?;
                }
            }
            let parts = (joules(&inside[0]), joules(&inside[1]), joules(&one.energy));
            let is_whole = inside.iter().chain([&one.energy]).all(|part| part.reason.is_none());
            if let ((Some(first), Some(second), Some(whole)), true) = (parts, is_whole) {
                near(first + second, whole, "sides and whole")?;
            }
        }
    }

    /// Readings in any order and of any value cause no panic and no NaN or infinity.
    #[test]
    fn whatever_readings_say_there_is_a_number_or_a_reason(
        readings in prop::collection::vec((0_u64..5000, prop::option::of(0_u64..5000), prop::num::f64::ANY), 0..40),
        queries in prop::collection::vec((0_u64..5000, 0_u64..2000), 1..10),
        is_power in prop::bool::ANY,
    ) {
        let readings: Vec<Reading> = readings.into_iter().map(|(now, previous, value)| Reading {
            source: SourceIndex(0),
            at: at(now),
            previous: previous.map(at),
            value,
        }).collect();
        let queries: Vec<Window> = queries.into_iter().map(|(start, length)| window(start, start + length)).collect();
        let meter = if is_power { meter(Kind::Power(Duration::from_millis(100))) } else { counter() };
        let together = flights(&queries);
        let idle = Idle::over(&meter, &readings, window(0, 5000), &together).or(Some(idle(10.0)));
        for idle in [idle, None] {
            let mut ledger = Ledger::new(&meter, idle, equal);
            let numbered = queries.iter().map(|query| ((), *query));
            let mut seen = 0;
            ledger.settle(steps(&meter, &readings), numbered, |(), _| seen += 1);
            prop_assert_eq!(seen, queries.len());
            for query in &queries {
                let energy = share(&meter, &readings, *query, &together, idle);
                prop_assert!(energy.energy.is_some() || energy.reason.is_some());
                prop_assert!(energy.energy.is_none_or(Joules::is_finite), "{:?}", energy);
            }
        }
    }

    /// A reset affects only the queries that were in flight.
    #[test]
    fn a_reset_costs_only_those_who_were_there(scene in scene()) {
        let Scene { meter, readings, queries, idle } = scene;
        let together = flights(&queries);
        for query in &queries {
            let energy = share(&meter, &readings, *query, &together, idle);
            let was_there = steps(&meter, &readings).any(|step| {
                step.lost == Some(Reason::CounterReset) && !query.overlap(step.start, step.end).is_zero()
            });
            prop_assert_eq!(energy.reason == Some(Reason::CounterReset), was_there);
            prop_assert!(!was_there || energy.energy.is_none());
        }
    }

    /// A query's energy is the same from all flights as from those around it.
    #[test]
    fn an_excerpt_of_the_flights_says_what_all_of_them_say(scene in scene()) {
        let Scene { meter, readings, queries, idle } = scene;
        let together = flights(&queries);
        for query in &queries {
            let first = readings.partition_point(|reading| reading.at <= query.start());
            let last = readings.partition_point(|reading| reading.at < query.end());
            let around = &readings[first.saturating_sub(2)..(last + 2).min(readings.len())];
            let mut from = query.start();
            let mut to = query.end();
            for step in steps(&meter, around) {
                from = from.min(step.start);
                to = to.max(step.end);
            }
            let excerpt = together.excerpt(from, to);
            prop_assert!(excerpt.len() <= together.len());
            prop_assert_eq!(
                share(&meter, around, *query, &excerpt, idle),
                share(&meter, around, *query, &together, idle)
            );
        }
    }
}
