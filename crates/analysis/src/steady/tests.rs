use proptest::prelude::*;

use super::*;

fn query(part: u32, start: f64, end: f64) -> Row<'static> {
    Row {
        part,
        due: Some(start),
        start: Some(start),
        sent: Some(start),
        end: Some(end),
        output_tokens: Some(10),
        is_answered: true,
        ..Row::default()
    }
}

fn flights(spans: &[(f64, f64)]) -> Flights {
    let mut flights = Flights::default();
    for (start, end) in spans {
        flights.push(&query(0, *start, *end));
    }
    flights
}

fn found(spans: &[(f64, f64)], load: Load) -> Result<Window, NotSteady> {
    let windows = flights(spans).windows(load);
    *windows.get(&0).unwrap()
}

fn closed(concurrency: u64, tolerance: f64) -> Load {
    Load::Closed {
        concurrency,
        tolerance,
    }
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-9
}

/// Two in flight from 1 on; the last query that another follows ends at 7.
const PAIR: [(f64, f64); 5] = [(0.0, 3.0), (1.0, 5.0), (3.0, 6.0), (5.0, 7.0), (6.0, 9.0)];

#[test]
fn a_closed_loop_is_full_from_the_last_worker_in_to_the_first_worker_out() {
    let window = found(&PAIR, closed(2, 0.0)).unwrap();
    assert!(
        near(window.from, 1.0) && near(window.until, 7.0),
        "{window:?}"
    );
    assert!(near(window.mean_in_flight, 2.0));
    assert_eq!(
        (window.dips, window.longest_dip, window.other_stretches),
        (0, None, 0)
    );
}

#[test]
fn a_dip_shorter_than_the_tolerance_does_not_end_it() {
    let spans = [(0.0, 1.0), (1.1, 2.0), (2.2, 3.0), (5.0, 5.5)];
    let window = found(&spans, closed(1, 0.25)).unwrap();
    assert!(near(window.from, 0.0) && near(window.until, 3.0));
    assert_eq!(window.dips, 2);
    assert!(near(window.longest_dip.unwrap(), 0.2));
    assert!(near(window.mean_in_flight, 2.7 / 3.0));
    assert_eq!(window.other_stretches, 1, "the one after the long pause");
}

#[test]
fn of_several_stretches_the_longest_is_taken() {
    let spans = [(0.0, 1.0), (10.0, 14.0), (20.0, 22.0)];
    let window = found(&spans, closed(1, 0.5)).unwrap();
    assert!(near(window.from, 10.0) && near(window.until, 14.0));
    assert_eq!(window.other_stretches, 2);
}

#[test]
fn a_concurrency_that_was_never_reached_is_said() {
    assert_eq!(
        found(&PAIR, closed(3, 0.0)),
        Err(NotSteady::NeverFull { most: 2, wanted: 3 })
    );
    // One ends at the instant at which the next starts: they do not overlap.
    let relay = [(0.0, 1.0), (1.0, 2.0)];
    assert_eq!(
        found(&relay, closed(2, 0.1)).unwrap_err().to_string(),
        "at most 1 of 2 queries were in flight"
    );
}

#[test]
fn an_open_loop_is_steady_from_the_end_of_the_ramp_to_the_last_arrival() {
    let load = Load::Open { ramp: 2.0 };
    let window = found(&PAIR, load).unwrap();
    assert!(near(window.from, 2.0) && near(window.until, 6.0));
    assert_eq!(
        found(&PAIR, Load::Open { ramp: 6.0 }),
        Err(NotSteady::StillRamping)
    );
    assert_eq!(
        found(&[(1.0, 2.0), (1.0, 3.0)], load),
        Err(NotSteady::NoTime)
    );
}

#[test]
fn queries_without_a_length_or_with_nonsense_do_no_harm() {
    let spans = [(1.0, 1.0), (5.0, 4.0), (f64::NAN, 3.0)];
    assert_eq!(found(&spans, closed(1, 0.0)), Err(NotSteady::NoQueries));
    assert!(Flights::default().windows(closed(1, 0.0)).is_empty());
    let mut halves = Flights::default();
    halves.push(&Row::default());
    assert!(halves.windows(closed(1, 0.0)).is_empty());
}

#[test]
fn parts_have_windows_of_their_own() {
    let mut flights = Flights::default();
    for part in [0, 1] {
        for (start, end) in PAIR {
            // The second part's clock starts far away.
            let shift = 1e4 * f64::from(part);
            flights.push(&query(part, start + shift, end + shift));
        }
    }
    let windows: BTreeMap<u32, Window> = flights
        .windows(closed(2, 0.0))
        .into_iter()
        .filter_map(|(part, window)| Some((part, window.ok()?)))
        .collect();
    assert!(near(windows[&1].from, 10_001.0));
    let mut served = SteadyTally::within(windows);
    for part in [0, 1] {
        for (start, end) in PAIR {
            let shift = 1e4 * f64::from(part);
            served.push(&query(part, start + shift, end + shift));
        }
    }
    let steady = served.finish().unwrap();
    assert!(near(steady.seconds, 12.0) && near(steady.mean_in_flight, 2.0));
    assert_eq!(steady.completed, 8);
    assert!(near(steady.requests_per_second, 8.0 / 12.0));
}

fn serve(rows: &[Row], window: Window) -> Steady {
    let mut served = SteadyTally::within(BTreeMap::from([(0, window)]));
    for row in rows {
        served.push(row);
    }
    served.finish().unwrap()
}

#[test]
fn one_at_a_time_gives_the_rate_of_the_service_exactly() {
    let spans: Vec<(f64, f64)> = (0..10)
        .map(|number| (f64::from(number) * 0.5, f64::from(number) * 0.5 + 0.5))
        .collect();
    let window = found(&spans, closed(1, 0.0)).unwrap();
    let rows: Vec<Row> = spans.iter().map(|span| query(0, span.0, span.1)).collect();
    let steady = serve(&rows, window);
    assert!(near(steady.requests_per_second, 2.0));
    assert!(near(steady.output_tokens_per_second.unwrap(), 20.0));
    assert_eq!(steady.total_seconds.sent.unwrap().count, 10);
}

#[test]
fn tokens_count_where_their_chunks_came() {
    let chunks = [1.0, 2.0, 3.0, 4.0];
    let row = Row {
        chunks: &chunks,
        ..query(0, 0.0, 5.0)
    };
    let steady = serve(&[row], Window::new(2.5, 4.5));
    assert!(near(
        steady.output_tokens_per_second.unwrap(),
        10.0 * 0.5 / 2.0
    ));
    assert_eq!((steady.completed, steady.total_seconds.sent), (0, None));
}

#[test]
fn a_query_that_does_not_know_its_tokens_makes_their_rate_unknown() {
    let unknown = Row {
        output_tokens: None,
        ..query(0, 1.0, 2.0)
    };
    let window = Window::new(0.0, 3.0);
    assert_eq!(serve(&[unknown], window).output_tokens_per_second, None);
    let long_over = Row {
        output_tokens: None,
        ..query(0, -2.0, -1.0)
    };
    assert!(
        serve(&[long_over], window)
            .output_tokens_per_second
            .is_some()
    );
}

#[test]
fn latencies_are_those_of_queries_that_lie_wholly_inside() {
    let rows =
        [(0.5, 1.5), (1.0, 3.0), (2.0, 4.0), (3.5, 4.5)].map(|span| query(0, span.0, span.1));
    let steady = serve(&rows, Window::new(1.0, 4.0));
    assert_eq!(
        steady.completed, 3,
        "the one that was under way at first ended inside"
    );
    let total = steady.total_seconds.sent.unwrap();
    assert_eq!(total.count, 2);
    assert!(near(total.mean, 2.0));
}

#[test]
fn failed_queries_are_in_flight_and_serve_nothing() {
    let failed = Row {
        is_answered: false,
        output_tokens: None,
        ..query(0, 1.0, 2.0)
    };
    let steady = serve(&[failed, query(0, 0.5, 2.5)], Window::new(0.0, 4.0));
    assert_eq!((steady.completed, steady.failed), (1, 1));
    assert!(near(steady.output_tokens_per_second.unwrap(), 2.5));
    assert_eq!(SteadyTally::within(BTreeMap::new()).finish(), None);
}

proptest! {
    /// The number in flight from the levels equals a direct count.
    #[test]
    fn levels_are_what_counting_gives(
        spans in prop::collection::vec((0_i32..50, 1_i32..20), 1..40),
    ) {
        let spans: Vec<(f64, f64)> = spans
            .into_iter()
            .map(|(start, length)| (f64::from(start), f64::from(start + length)))
            .collect();
        for level in flights(&spans).events(0).levels() {
            let middle = f64::midpoint(level.from, level.until);
            let counted = spans.iter().filter(|(start, end)| *start <= middle && middle < *end);
            prop_assert_eq!(level.in_flight, counted.count() as u64);
        }
    }

    /// Workers without pauses, each with queries of any lengths: the window is from the last
    /// worker's first start to the first worker's last end.
    #[test]
    fn workers_without_pauses_are_full_until_the_first_has_nothing_left(
        workers in prop::collection::vec(
            (0_i32..5, prop::collection::vec(1_i32..10, 3..8)), 1..6,
        ),
    ) {
        let mut spans = Vec::new();
        let (mut last_in, mut first_out) = (0, i32::MAX);
        for (start, lengths) in &workers {
            let mut now = *start;
            for length in lengths {
                spans.push((f64::from(now), f64::from(now + length)));
                now += length;
            }
            last_in = last_in.max(*start);
            first_out = first_out.min(now);
        }
        let result = found(&spans, closed(workers.len() as u64, 0.0));
        if first_out > last_in {
            let window = result.unwrap();
            prop_assert!(near(window.from, f64::from(last_in)));
            prop_assert!(near(window.until, f64::from(first_out)));
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let all = workers.len() as f64;
            prop_assert!(near(window.mean_in_flight, all));
        } else {
            prop_assert!(result.is_err());
        }
    }

    #[test]
    fn blocks_average_to_the_mean_over_the_window(
        spans in prop::collection::vec((0.0..100.0, 0.01..30.0), 1..60),
        count in 1_u32..20,
    ) {
        let spans: Vec<(f64, f64)> = spans.into_iter().map(|(start, length)| (start, start + length)).collect();
        let blocks = block_means(&spans, 10.0, 90.0, count);
        let whole = mean_in_flight(&flights(&spans).events(0), 10.0, 90.0);
        let mean = blocks.iter().sum::<f64>() / f64::from(count);
        prop_assert!((mean - whole).abs() < 1e-9, "{} {}", mean, whole);
    }
}
