//! The built-in workload keeps its promises. That each row is graded right by its own scorer is
//! tested beside the scorers (`ipw-scoring`, `tests/cases.rs`).

use std::collections::{BTreeMap, BTreeSet};

use ipw_core::params::Params;
use ipw_core::query::Query;
use ipw_datasets::{Dataset, open};

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

/// Templates whose answer is one of a few, without letters: no answer may be more frequent.
const FIXED_ANSWERS: [&str; 3] = ["review", "topic", "rules"];

fn starter(pairs: &[(&str, &str)]) -> Box<dyn Dataset> {
    let params: Params = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    open(&ipw_datasets::named("starter", params)).expect("the built-in rows are good")
}

fn queries(pairs: &[(&str, &str)]) -> Vec<Query> {
    starter(pairs)
        .queries()
        .expect("a stream")
        .collect::<Result<_, _>>()
        .expect("queries")
}

fn template(query: &Query) -> &str {
    query.metadata["template"].as_str().expect("a template")
}

fn words(query: &Query) -> usize {
    query.problem.split_whitespace().count()
}

/// How often each key occurs.
fn counts<K: Ord>(keys: impl IntoIterator<Item = K>) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_insert(0) += 1;
    }
    counts
}

/// The difference between the most and the least frequent of `all`.
fn spread<K: Ord>(counts: &BTreeMap<K, usize>, all: impl IntoIterator<Item = K>) -> usize {
    let found: Vec<_> = all
        .into_iter()
        .map(|key| counts.get(&key).copied().unwrap_or(0))
        .collect();
    let most = found.iter().max().expect("something to count");
    let least = found.iter().min().expect("something to count");
    most - least
}

#[test]
fn it_has_as_many_prompts_of_each_subject() {
    let dataset = starter(&[]);
    assert_eq!((dataset.id(), dataset.name()), ("starter", "starter"));
    assert!(dataset.size().unwrap() >= 240);
    let queries = queries(&[]);
    assert_eq!(dataset.size(), Some(queries.len() as u64));
    let subjects = counts(
        queries
            .iter()
            .map(|query| query.subject.as_deref().unwrap()),
    );
    assert_eq!(subjects.len(), SUBJECTS.len());
    for subject in SUBJECTS {
        assert_eq!(subjects[subject] * SUBJECTS.len(), queries.len());
    }
}

#[test]
fn no_id_and_no_prompt_occurs_twice() {
    let mut ids = BTreeSet::new();
    let mut problems = BTreeSet::new();
    for query in queries(&[]) {
        let (subject, number) = query.id.rsplit_once('-').unwrap();
        assert_eq!(Some(subject), query.subject.as_deref(), "{}", query.id);
        assert!(number.len() == 2 && number.parse::<u8>().is_ok());
        assert!(ids.insert(query.id.clone()), "{}", query.id);
        assert!(problems.insert(query.problem), "{}", query.id);
    }
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
        assert!((8..=64).contains(&most), "{id}");
        assert_eq!(query.parameters.len(), 2, "{id}");
    }
}

#[test]
fn no_template_has_more_than_twenty_prompts_and_each_has_one_subject() {
    let queries = queries(&[]);
    let templates = counts(queries.iter().map(template));
    assert!(
        templates.values().all(|count| *count <= 20),
        "{templates:?}"
    );
    let of_subjects: BTreeSet<_> = queries
        .iter()
        .map(|query| (template(query), query.subject.as_deref()))
        .collect();
    assert_eq!(of_subjects.len(), templates.len());
}

#[test]
fn every_beginning_is_as_mixed_as_the_whole() {
    let queries = queries(&[]);
    let templates: BTreeSet<_> = queries.iter().map(template).collect();
    for end in 1..=queries.len() {
        let part = &queries[..end];
        let subjects = counts(part.iter().map(|query| query.subject.as_deref().unwrap()));
        assert!(spread(&subjects, SUBJECTS) <= 1, "the first {end}");
        let used = counts(part.iter().map(template));
        assert!(
            spread(&used, templates.iter().copied()) <= 1,
            "the first {end}: {used:?}"
        );
    }
}

#[test]
fn always_giving_the_same_answer_gains_nothing() {
    let queries = queries(&[]);
    let mut answers: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for query in &queries {
        let is_fixed = FIXED_ANSWERS.contains(&template(query));
        if is_fixed || query.metadata["scorer"] == "choice" {
            let answer = query.answer.as_deref().unwrap();
            answers.entry(template(query)).or_default().push(answer);
        }
    }
    assert_eq!(answers.len(), FIXED_ANSWERS.len() + 2);
    for (template, answers) in answers {
        let counts = counts(answers);
        let all: Vec<_> = counts.keys().copied().collect();
        assert!(all.len() >= 2, "{template}");
        assert_eq!(spread(&counts, all), 0, "{template}: {counts:?}");
    }
    for query in queries.iter().filter(|q| q.metadata["scorer"] == "choice") {
        assert_eq!(query.metadata["choices"].as_array().unwrap().len(), 4);
    }
}

#[test]
fn the_place_of_the_right_one_among_two_says_nothing() {
    let queries = queries(&[]);
    let firsts = |of: &str, cut: fn(&Query) -> (String, String)| {
        let rows: Vec<_> = queries.iter().filter(|q| template(q) == of).collect();
        let first = rows
            .iter()
            .filter(|query| cut(query).0.contains(cut(query).1.as_str()))
            .count();
        assert_eq!(first * 2, rows.len(), "{of}");
    };
    // "…, green or purple? Reply with …" and "… sentences: "…" or "…"".
    firsts("two_answers", |query| {
        let options = query.problem.split_once(" or ").unwrap().0;
        let last = query.answer.as_deref().unwrap().rsplit(' ').next().unwrap();
        (options.to_owned(), format!(", {last}"))
    });
    firsts("review", |query| {
        let options = query.problem.split_once("two sentences: ").unwrap().1;
        let first = options.split_once(" or ").unwrap().0;
        (first.to_owned(), query.answer.clone().unwrap())
    });
}

#[test]
fn there_are_short_prompts_and_long_ones() {
    let mut lengths: Vec<_> = queries(&[]).iter().map(words).collect();
    lengths.sort_unstable();
    assert!(lengths[0] <= 15, "{lengths:?}");
    assert!(lengths[lengths.len() / 2] <= 60, "{lengths:?}");
    assert!(lengths[lengths.len() - 8] >= 200, "{lengths:?}");
    assert!(lengths[lengths.len() - 1] >= 250, "{lengths:?}");
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
