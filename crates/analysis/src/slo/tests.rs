use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Result<Slo, SloError> {
    Slo::parse(text, Origin::Sent)
}

fn message(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-12
}

/// Due at 0, sent at 1, first token at 1.4, then every 0.1 s, ended at 2.
fn row(chunks: &[f64]) -> Row<'_> {
    Row {
        due: Some(0.0),
        start: Some(1.0),
        sent: Some(1.0),
        first_token: Some(1.4),
        first_answer_token: Some(1.6),
        end: Some(2.0),
        chunks,
        output_tokens: Some(5),
        is_answered: true,
        ..Row::default()
    }
}

const CHUNKS: [f64; 5] = [1.4, 1.5, 1.6, 1.7, 1.8];

#[test]
fn limits_are_read_as_people_write_them() {
    let slo = parse("TTFT=500ms, tpot=50ms ,e2e=5s,first_answer@planned=2s,itl=1.5s").unwrap();
    let limits: Vec<f64> = slo.objectives.iter().map(|one| one.limit_seconds).collect();
    for (found, wanted) in limits.iter().zip([0.5, 0.05, 5.0, 2.0, 1.5]) {
        assert!(near(*found, wanted), "{limits:?}");
    }
    let origins: Vec<Option<Origin>> = slo.objectives.iter().map(|one| one.origin).collect();
    let sent = Some(Origin::Sent);
    assert_eq!(origins, [sent, None, sent, Some(Origin::Planned), None]);
}

#[test]
fn where_a_limit_counts_from_is_the_callers_choice_unless_it_is_written() {
    let slo = Slo::parse("ttft=1s,e2e=1m@Sent", Origin::Planned).unwrap();
    let origins: Vec<Option<Origin>> = slo.objectives.iter().map(|one| one.origin).collect();
    assert_eq!(origins, [Some(Origin::Planned), Some(Origin::Sent)]);
    assert!(near(slo.objectives[1].limit_seconds, 60.0));
}

#[test]
fn mistakes_are_named_with_what_is_known() {
    let unknown = message("tftt=1s");
    assert!(
        unknown.contains("`tftt`") && unknown.contains("did you mean `ttft`"),
        "{unknown}"
    );
    assert!(message("speed=1s").contains("`first_answer`"));
    assert_eq!(parse(" "), Err(SloError::Empty));
    for item in ["ttft", "=5s", "ttft=1s,", "ttft@sent=1s@planned"] {
        assert!(
            matches!(parse(item), Err(SloError::NoLimit { .. })),
            "{item}"
        );
    }
    for time in [
        "", "fast", "-1s", "0", "nan", "inf", "500", "1e300s", "ms", "5 5s",
    ] {
        let text = format!("ttft={time}");
        assert!(
            matches!(parse(&text), Err(SloError::BadTime { .. })),
            "{time}"
        );
    }
    assert_eq!(
        message("ttft=500"),
        "the limit of `ttft`: `500` has no unit; write 500ms or 500s"
    );
    assert!(message("ttft=1s@plan").contains("`@planned`"));
    assert!(message("tpot=50ms@planned").contains("leave `@planned` out"));
    assert_eq!(
        parse("e2e=1s,E2E=2s"),
        Err(SloError::Twice {
            name: "e2e".to_owned()
        })
    );
}

#[test]
fn a_query_meets_all_or_says_what_it_missed() {
    let row = row(&CHUNKS);
    let verdict = |text: &str| parse(text).unwrap().verdict(&row);
    assert_eq!(
        verdict("ttft=0.5s,tpot=0.11s,itl=0.11s,first_answer=0.7s,e2e=1s"),
        SloOutcome::Met
    );
    assert_eq!(
        verdict("ttft=500ms@planned,tpot=50ms,e2e=1s"),
        SloOutcome::Missed {
            missed: vec![Quantity::FirstToken, Quantity::PerOutputToken]
        }
    );
}

#[test]
fn a_failed_query_never_meets_it() {
    let failed = Row {
        is_answered: false,
        ..row(&CHUNKS)
    };
    assert_eq!(
        parse("e2e=1000s").unwrap().verdict(&failed),
        SloOutcome::Failed
    );
}

#[test]
fn what_was_not_measured_is_not_good_and_what_cannot_be_is_not_bad() {
    let slo = parse("tpot=50ms,itl=50ms").unwrap();
    let one_token = Row {
        output_tokens: Some(1),
        ..row(&[1.4])
    };
    assert_eq!(slo.verdict(&one_token), SloOutcome::Met);
    // Many tokens in one chunk: their rate is unknown.
    let unknown = vec![Quantity::PerOutputToken, Quantity::MeanGap];
    assert_eq!(slo.verdict(&row(&[1.4])), SloOutcome::Unknown { unknown });
    let uncounted = Row {
        output_tokens: None,
        ..row(&CHUNKS)
    };
    let unknown = vec![Quantity::PerOutputToken];
    assert_eq!(
        parse("tpot=1s").unwrap().verdict(&uncounted),
        SloOutcome::Unknown { unknown }
    );
    let silent = Row {
        first_token: None,
        ..row(&[])
    };
    assert_ne!(
        parse("ttft=1000s").unwrap().verdict(&silent),
        SloOutcome::Met
    );
}

#[test]
fn goodput_is_what_was_good_over_the_window() {
    let mut tally = Tally::new(parse("ttft=500ms,e2e=1500ms@planned").unwrap());
    let good = Row {
        due: Some(0.9),
        ..row(&CHUNKS)
    };
    assert_eq!(tally.push(&good), SloOutcome::Met);
    tally.push(&good);
    tally.push(&row(&CHUNKS));
    tally.push(&Row {
        is_answered: false,
        ..row(&CHUNKS)
    });
    tally.push(&Row {
        first_token: None,
        ..good
    });
    let goodput = tally.finish(Some(4.0));
    assert_eq!((goodput.rows, goodput.met), (5, 2));
    assert_eq!((goodput.failed, goodput.unknown), (1, 1));
    assert_eq!(goodput.missed, [0, 1]);
    assert!(near(goodput.requests_per_second.unwrap(), 0.5));
    assert!(near(goodput.share.unwrap().value, 0.4));
}

#[test]
fn without_a_window_or_a_query_there_is_no_rate() {
    let tally = Tally::new(parse("e2e=1s").unwrap());
    assert_eq!(tally.clone().finish(Some(0.0)).requests_per_second, None);
    assert_eq!(tally.finish(None).share, None);
}

proptest! {
    #[test]
    fn no_text_breaks_the_parser(text in ".{0,40}") {
        let _ = parse(&text);
    }

    #[test]
    fn an_slo_reads_what_it_writes(limits in prop::collection::vec(1e-6..1e6, 1..=5)) {
        let objectives = Quantity::ALL.iter().zip(&limits).map(|(quantity, limit)| Objective {
            quantity: *quantity,
            limit_seconds: *limit,
            origin: (!quantity.lies_between_chunks()).then_some(Origin::Planned),
        });
        let slo = Slo { objectives: objectives.collect() };
        prop_assert_eq!(parse(&slo.to_string()).unwrap(), slo);
    }

    #[test]
    fn every_query_is_counted_once(
        rows in prop::collection::vec((any::<bool>(), prop::option::of(1.0..3.0)), 0..50),
    ) {
        let mut tally = Tally::new(parse("e2e=1s").unwrap());
        for (is_answered, end) in &rows {
            tally.push(&Row { is_answered: *is_answered, end: *end, ..row(&[]) });
        }
        let goodput = tally.finish(None);
        let counted = goodput.met + goodput.missed[0] + goodput.unknown + goodput.failed;
        prop_assert_eq!(counted, goodput.rows);
        prop_assert_eq!(goodput.rows, rows.len() as u64);
    }
}
