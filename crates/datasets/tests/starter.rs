//! The built-in workload keeps its promises.

use std::collections::{BTreeMap, BTreeSet};

use ipw_core::params::Params;
use ipw_core::query::Query;
use ipw_datasets::{Dataset, DatasetSpec, open};

const SUBJECTS: [&str; 8] = [
    "arithmetic",
    "word_problems",
    "multiple_choice",
    "reading",
    "extraction",
    "classification",
    "strings",
    "code",
];

fn starter(pairs: &[(&str, &str)]) -> Box<dyn Dataset> {
    let params: Params = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    open(&DatasetSpec::from_argument("starter", params)).expect("the built-in rows are good")
}

fn queries(pairs: &[(&str, &str)]) -> Vec<Query> {
    starter(pairs)
        .queries()
        .expect("a stream")
        .collect::<Result<_, _>>()
        .expect("queries")
}

#[test]
fn it_has_five_prompts_of_each_subject() {
    let dataset = starter(&[]);
    assert_eq!(
        (dataset.id(), dataset.name(), dataset.size()),
        ("starter", "starter", Some(40))
    );
    let mut counts = BTreeMap::new();
    let mut ids = BTreeSet::new();
    for query in queries(&[]) {
        let subject = query.subject.unwrap();
        assert!(
            query.id.starts_with(&format!("{subject}-0")),
            "{}",
            query.id
        );
        *counts.entry(subject).or_insert(0) += 1;
        assert!(ids.insert(query.id));
    }
    assert_eq!(counts.len(), SUBJECTS.len());
    assert!(SUBJECTS.iter().all(|subject| counts[*subject] == 5));
}

#[test]
fn every_prompt_can_be_scored_and_is_deterministic() {
    for query in queries(&[]) {
        let id = &query.id;
        let answer = query.answer.as_deref().unwrap();
        assert!(!answer.is_empty() && answer.trim() == answer, "{id}");
        match query.metadata["scorer"].as_str().unwrap() {
            "exact" => {}
            "numeric" => assert!(answer.parse::<f64>().is_ok(), "{id}"),
            "choice" => {
                let choices = query.metadata["choices"].as_array().unwrap();
                for (letter, choice) in ('A'..).zip(choices) {
                    let line = format!("\n{letter}) {}\n", choice.as_str().unwrap());
                    assert!(query.problem.contains(&line), "{id}: {line:?}");
                }
                let letters: String = ('A'..).take(choices.len()).collect();
                assert!(answer.len() == 1 && letters.contains(answer), "{id}");
            }
            other => panic!("{id}: unknown scorer `{other}`"),
        }
        assert_eq!(query.parameters["temperature"], 0, "{id}");
        let most = query.parameters["max_tokens"].as_u64().unwrap();
        assert!((16..=96).contains(&most), "{id}");
        assert_eq!(query.parameters.len(), 2, "{id}");
        let words = query.problem.split_whitespace().count();
        assert!((12..=220).contains(&words), "{id}: {words} words");
    }
}

#[test]
fn no_template_is_used_more_than_three_times() {
    let mut beginnings = BTreeMap::new();
    for query in queries(&[]) {
        let words: Vec<_> = query.problem.split_whitespace().take(3).collect();
        *beginnings.entry(words.join(" ")).or_insert(0) += 1;
    }
    assert!(
        beginnings.values().all(|count| *count <= 3),
        "{beginnings:?}"
    );
}

#[test]
fn it_can_be_cut_and_shuffled_like_a_file() {
    let all = queries(&[]);
    let rows = |queries: &[Query]| -> Vec<_> {
        queries
            .iter()
            .map(|query| query.metadata["row"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(rows(&queries(&[("offset", "5"), ("limit", "2")])), [5, 6]);
    let shuffled = queries(&[("shuffle", "true"), ("seed", "7")]);
    assert_ne!(rows(&shuffled), rows(&all));
    for query in shuffled {
        let place = usize::try_from(query.metadata["row"].as_u64().unwrap()).unwrap();
        assert_eq!(query.problem, all[place].problem);
    }
}
