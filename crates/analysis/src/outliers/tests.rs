use ipw_core::random::Random;
use proptest::prelude::*;

use super::*;

/// Sequential rows: 0.2 s plus 15 ms per output token, with five percent noise.
fn rows(names: &[String]) -> Vec<Line> {
    seeded(names, 3)
}

fn seeded(names: &[String], seed: u64) -> Vec<Line> {
    let mut random = Random::new(seed);
    let mut now = 10.0;
    names
        .iter()
        .map(|_| {
            let output = 20.0 + real(random.up_to(200) as u64);
            let latency = (0.2 + 0.015 * output) * (1.0 + 0.05 * random.normal());
            let start = now;
            now += latency;
            Line {
                start: start.into(),
                end: now.into(),
                is_answered: true,
                input_tokens: 100.0.into(),
                output_tokens: output.into(),
                first_token: (0.2 * (1.0 + 0.05 * random.normal())).into(),
                total: latency.into(),
                joules: (latency * 50.0).into(),
                ..Line::default()
            }
        })
        .collect()
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|place| format!("q{place}")).collect()
}

/// A few percent of runs have outliers by chance.
#[test]
fn ordinary_rows_are_rarely_far_out() {
    let names = names(200);
    let runs = (0..60).map(|seed| outliers(&seeded(&names, seed), 10));
    let with_some = runs.filter(|found| !found.outliers.is_empty()).count();
    assert!(with_some <= 7, "{with_some} of 60");
    let found = outliers(&rows(&names), 10);
    assert_eq!(found.looked.len(), 3);
    assert_eq!(
        (found.cold_rows, found.cold[0].why),
        (1, ColdCause::FirstOfPart)
    );
}

#[test]
fn a_slow_row_is_found_with_its_reason_and_a_long_one_is_not() {
    let names = names(100);
    let mut rows = rows(&names);
    // A long reply with many tokens is typical; a short reply of the same duration is an outlier.
    rows[40].output_tokens = 64.0.into();
    rows[40].total = 4.2.into();
    rows[40].joules = None.into();
    let mut found = outliers(&rows, 10);
    assert!(found.rows().contains(&40));
    found.name(&BTreeMap::from([(40, "q40".to_owned())]));
    let first = found
        .outliers
        .iter()
        .find(|one| one.quantity == Quantity::Latency)
        .unwrap();
    assert_eq!((first.row, first.query.as_str()), (40, "q40"));
    assert_eq!(
        first.reason,
        "latency 4.2 s where 1.2 s is usual for 64 output tokens (15 tokens/s, not 54)"
    );
    assert!(first.score > 10.0 && first.cold.is_none());
    assert!((first.rate.unwrap() - 64.0 / 4.2).abs() < 1e-9);
    assert!(found.outliers.iter().all(|one| one.row == 40));
}

#[test]
fn a_row_may_have_less_than_usual() {
    let names = names(100);
    let mut rows = rows(&names);
    rows[9].joules = rows[9].joules.get().map(|joules| joules / 10.0).into();
    let found = outliers(&rows, 10);
    let one = &found.outliers[0];
    assert_eq!((one.row, one.quantity), (9, Quantity::Joules));
    assert!(one.score < -LEAST_SCORE && one.reason.contains("J/token, not "));
}

#[test]
fn a_cold_row_is_marked() {
    let names = names(60);
    let mut rows = rows(&names);
    for row in &mut rows[30..] {
        row.start = row.start.get().map(|start| start + 20.0).into();
        row.end = row.end.get().map(|end| end + 20.0).into();
    }
    rows[30].first_token = 5.0.into();
    for row in &mut rows[45..] {
        row.part = 1;
    }
    let found = outliers(&rows, 10);
    let why: Vec<(u64, bool)> = found
        .cold
        .iter()
        .map(|one| (one.row, one.why == ColdCause::FirstOfPart))
        .collect();
    assert_eq!(why, [(0, true), (30, false), (45, true)]);
    let slow = &found.outliers[0];
    assert_eq!((slow.row, slow.quantity), (30, Quantity::Ttft));
    assert!(
        slow.reason.ends_with(", after a pause of 20.0 s"),
        "{}",
        slow.reason
    );
}

#[test]
fn pauses_that_are_usual_are_no_pauses() {
    let names = names(40);
    let mut rows = rows(&names);
    for (place, row) in rows.iter_mut().enumerate() {
        let start = real(place as u64) * 10.0;
        (row.start, row.end) = (start.into(), (start + 1.0).into());
    }
    assert_eq!(outliers(&rows, 10).cold_rows, 1);
}

#[test]
fn failed_rows_few_rows_and_rows_all_alike() {
    let names = names(50);
    let mut rows = rows(&names);
    rows[7].total = 500.0.into();
    rows[7].is_answered = false;
    assert!(outliers(&rows, 10).outliers.is_empty());
    assert!(outliers(&rows[..7], 10).looked.is_empty());
    assert!(outliers(&[], 10).cold.is_empty());
    let alike = vec![rows[3]; 20];
    let found = outliers(&alike, 10);
    assert!(found.outliers.is_empty() && found.looked.len() == 3);
    let mut one_off = alike;
    one_off[4].total = one_off[4].total.get().map(|total| total * 1.5).into();
    let found = outliers(&one_off, 10);
    assert_eq!(found.outliers[0].row, 4);
    assert!(found.outliers[0].score.is_finite());
}

#[test]
fn only_so_many_are_listed_and_all_are_counted() {
    let names = names(300);
    let mut rows = rows(&names);
    for row in rows.iter_mut().step_by(30) {
        row.first_token = 9.0.into();
    }
    let found = outliers(&rows, 3);
    assert_eq!(found.outliers.len(), 3);
    let ttft = found
        .looked
        .iter()
        .find(|one| one.quantity == Quantity::Ttft);
    assert_eq!(ttft.unwrap().far_out, 10);
}

proptest! {
    #[test]
    fn no_numbers_break_it(values in prop::collection::vec(any::<[Option<f64>; 7]>(), 0..40)) {
        let rows: Vec<Line> = values.iter().map(|values| Line {
            start: values[0].into(),
            end: values[1].into(),
            is_answered: true,
            input_tokens: values[2].into(),
            output_tokens: values[3].into(),
            first_token: values[4].into(),
            total: values[5].into(),
            joules: values[6].into(),
            ..Line::default()
        }).collect();
        let found = outliers(&rows, 10);
        prop_assert!(found.outliers.iter().all(|one| one.score.is_finite()
            && one.usual.is_finite() && one.value.is_finite()));
    }
}
