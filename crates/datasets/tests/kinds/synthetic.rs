//! Prompts that are made up.

use std::collections::BTreeSet;

use ipw_core::query::Query;
use ipw_datasets::open;
use serde_json::Value;

use crate::{Pairs, queries, spec};

fn made(pairs: Pairs<'_>) -> Vec<Query> {
    queries(open(&spec("synthetic", pairs)).expect("a dataset").as_ref())
}

fn words(query: &Query) -> Vec<&str> {
    query.problem.split(' ').collect()
}

/// FNV-1a over everything that is sent.
fn checksum(queries: &[Query]) -> u64 {
    let mut text = String::new();
    for query in queries {
        let parameters = Value::Object(query.parameters.clone()).to_string();
        text.extend([query.problem.as_str(), " ", &parameters, "\n"]);
    }
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn lengths_and_limits_are_as_asked() {
    let usual = made(&[]);
    assert_eq!(usual.len(), 100);
    for query in &usual {
        assert_eq!(words(query).len(), 128);
        assert_eq!(query.parameters["max_tokens"], 128);
        assert_eq!(query.parameters.len(), 1);
        assert_eq!(query.metadata["input_words"], 128);
    }
    let varied = made(&[
        ("count", "1000"),
        ("input", "uniform:10:20"),
        ("output", "normal:50:5"),
        ("force_output", "true"),
    ]);
    let lengths: BTreeSet<_> = varied.iter().map(|query| words(query).len()).collect();
    assert_eq!(lengths, (10..=20).collect());
    assert!(
        varied
            .iter()
            .all(|query| query.parameters["ignore_eos"] == true)
    );
}

#[test]
fn no_two_prompts_begin_alike_unless_asked() {
    for (count, head) in [("256", 1), ("3000", 2)] {
        let rows = made(&[("count", count), ("input", "constant:1")]);
        let heads: BTreeSet<_> = rows
            .iter()
            .map(|query| words(query)[..head].to_vec())
            .collect();
        assert_eq!(heads.len(), rows.len());
    }
    let shared = made(&[("shared_prefix", "50"), ("input", "constant:10")]);
    let prefixes: BTreeSet<_> = shared
        .iter()
        .map(|query| words(query)[..50].to_vec())
        .collect();
    let next: BTreeSet<_> = shared.iter().map(|query| words(query)[50]).collect();
    assert_eq!((prefixes.len(), next.len()), (1, 100));
    assert_eq!(words(&shared[0]).len(), 60);
}

#[test]
fn a_seed_means_the_same_rows_for_ever() {
    let golden: [(Pairs<'_>, u64); 3] = [
        (&[], 13_012_454_405_673_465_061),
        (
            &[
                ("seed", "1"),
                ("input", "lognormal:100:0.8"),
                ("output", "normal:64:16"),
            ],
            2_667_850_721_374_679_663,
        ),
        (
            &[
                ("count", "300"),
                ("shared_prefix", "9"),
                ("input", "uniform:1:9"),
            ],
            1_877_858_377_883_345_182,
        ),
    ];
    let found: Vec<_> = golden
        .iter()
        .map(|(pairs, _)| checksum(&made(pairs)))
        .collect();
    let expected: Vec<_> = golden.iter().map(|(_, checksum)| *checksum).collect();
    assert_eq!(found, expected);
    assert_ne!(
        made(&[("seed", "1")])[0].problem,
        made(&[("seed", "2")])[0].problem
    );
    // More rows are the same rows and more, as long as their numbers have as many digits.
    assert_eq!(
        made(&[("count", "50")])[..],
        made(&[("count", "200")])[..50]
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    let error = open(&spec("synthetic", &[("input", "gauss:3")]))
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "parameter `input` of `synthetic` is `gauss:3`, expected `constant:N`, `uniform:FROM:TO`, \
         `normal:MEAN:DEVIATION` or `lognormal:MEDIAN:SIGMA`, with numbers from 1 up"
    );
    assert!(open(&spec("synthetic", &[("count", "0")])).is_err());
    assert!(open(&spec("synthetic", &[("shuffle", "true")])).is_err());
}
