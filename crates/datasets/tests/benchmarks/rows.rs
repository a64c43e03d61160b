//! What is asked, and what is right, for every benchmark; from the hub and from copies on disk.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ipw_core::query::Query;
use ipw_testkit::mimic_hub::MimicHub;
use ipw_testkit::parquet;
use serde_json::{Value, json};

use crate::published::{Case, cases};
use crate::{NOWHERE, Place, benchmark, queries};

/// A hub that has the case where the table says.
fn hub_of(case: &Case) -> MimicHub {
    let known = benchmark(case.id);
    let repository = known.repository.unwrap();
    MimicHub::with_split(repository, known.config, known.split, parquet(&case.rows))
}

fn check(case: &Case, found: &[Query]) {
    let id = case.id;
    assert_eq!(found.len(), case.rows.len(), "{id}");
    let first = &found[0];
    assert_eq!(first.subject.as_deref(), case.subject, "{id}");
    assert_eq!(first.id, case.query_id, "{id}");
    assert!(first.parameters.is_empty(), "{id}");
    let mut metadata = first.metadata.clone();
    assert_eq!(metadata.shift_remove("row"), Some(json!(0)), "{id}");
    if benchmark(id).mixes_options() {
        check_mixed(first, case);
        metadata["choices"] = json!([]);
    } else {
        assert_eq!(first.problem, case.problem, "{id}");
        assert_eq!(first.answer.as_deref(), case.answer, "{id}");
    }
    assert_eq!(Value::Object(metadata), case.metadata, "{id}");
}

/// Every option is there once, and the letter leads to the right one.
fn check_mixed(query: &Query, case: &Case) {
    let row = &case.rows[0];
    let (question, right, all) = match case.id {
        "gpqa" => (
            "Question",
            "Mercury",
            ["Mercury", "Venus", "Mars", "Earth"].as_slice(),
        ),
        _ => ("question", "No", ["No", "Yes", "Partly"].as_slice()),
    };
    let choices = options(query);
    let sorted: BTreeSet<_> = choices.iter().map(String::as_str).collect();
    assert_eq!(sorted, all.iter().copied().collect());
    assert_eq!(choices.len(), all.len());
    assert_eq!(chosen(query), right);
    let lines: Vec<_> = choices
        .iter()
        .zip('A'..)
        .map(|(choice, letter)| format!("{letter}. {choice}\n"))
        .collect();
    let closing = "Answer with the letter of the correct option.";
    let question = row[question].as_str().unwrap();
    assert_eq!(
        query.problem,
        format!("{question}\n\n{}\n{closing}", lines.concat())
    );
}

fn options(query: &Query) -> Vec<String> {
    let choices = query.metadata["choices"].as_array().unwrap().iter();
    choices
        .map(|choice| choice.as_str().unwrap().to_owned())
        .collect()
}

/// The option that the reference's letter names.
fn chosen(query: &Query) -> String {
    let letter = query.answer.as_ref().unwrap().as_bytes()[0];
    options(query)[usize::from(letter - b'A')].clone()
}

#[test]
fn every_benchmark_but_the_local_one_has_its_published_row_here() {
    let covered: Vec<_> = cases().iter().map(|case| case.id).collect();
    let known: Vec<_> = ipw_datasets::benchmarks()
        .iter()
        .filter(|known| known.repository.is_some())
        .map(|known| known.id)
        .collect();
    assert_eq!(covered, known);
}

#[test]
fn from_the_hub_every_benchmark_gives_its_prompts_and_references() {
    for case in cases() {
        let hub = hub_of(&case);
        let place = Place::of(&hub);
        let dataset = place
            .open(case.id, &[])
            .unwrap_or_else(|error| panic!("{}: {error}", case.id));
        assert_eq!((dataset.id(), dataset.name()), (case.id, case.id));
        assert_eq!(dataset.size(), Some(case.rows.len() as u64));
        check(&case, &queries(dataset.as_ref()));
        let known = benchmark(case.id);
        let [listed, resolved] = &hub.asked()[..] else {
            panic!("{}: {:?}", case.id, hub.asked());
        };
        let (repository, config, split) = (known.repository.unwrap(), known.config, known.split);
        assert_eq!(
            listed.path,
            format!("/api/datasets/{repository}/tree/refs%2Fconvert%2Fparquet/{config}/{split}")
        );
        assert_eq!(
            resolved.path,
            format!(
                "/datasets/{repository}/resolve/refs%2Fconvert%2Fparquet/{config}/{split}/0000.parquet"
            )
        );
    }
}

/// The rows as lines.
pub(crate) fn lines(rows: &[Value]) -> String {
    let lines: Vec<_> = rows.iter().map(Value::to_string).collect();
    lines.join("\n")
}

/// The rows as cells, lists and structs as JSON.
fn cells(rows: &[Value]) -> String {
    let names: Vec<_> = rows[0].as_object().unwrap().keys().collect();
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text = names
        .iter()
        .map(|name| quoted(name))
        .collect::<Vec<_>>()
        .join(",");
    for row in rows {
        let cells = names.iter().map(|name| match &row[name.as_str()] {
            Value::String(text) => quoted(text),
            other => quoted(&other.to_string()),
        });
        text.push('\n');
        text.push_str(&cells.collect::<Vec<_>>().join(","));
    }
    text
}

fn written(directory: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

#[test]
fn from_a_copy_on_disk_they_are_the_same_without_a_request() {
    for case in cases() {
        let place = Place::at(NOWHERE);
        let known = benchmark(case.id);
        let directory = place.cache().join("copies");
        let snapshot = directory.join("snapshot");
        let split = known.split;
        written(
            &snapshot,
            &format!("data/{split}-00000-of-00001.parquet"),
            parquet(&case.rows),
        );
        written(
            &snapshot,
            "data/other-00000-of-00001.parquet",
            parquet(&case.rows[..1]),
        );
        let mixed = directory.join("lines");
        written(&mixed, "README.md", "a card");
        written(&mixed, &format!("{split}.jsonl"), lines(&case.rows));
        for path in [
            written(&directory, "copy.parquet", parquet(&case.rows)),
            written(&directory, "copy.jsonl", lines(&case.rows)),
            snapshot,
            mixed,
        ] {
            let pairs = [("path", path.to_str().unwrap())];
            check(&case, &place.all(case.id, &pairs));
        }
    }
}

#[test]
fn a_copy_of_cells_works_where_cells_can_say_it() {
    for case in cases() {
        // A cell is a text: what is kept as a number, a list or a truth value is not the same.
        if ["ifeval", "wildchat", "math-500", "supergpqa"].contains(&case.id) {
            continue;
        }
        let place = Place::at(NOWHERE);
        let path = written(place.cache(), "copy.csv", cells(&case.rows));
        check(
            &case,
            &place.all(case.id, &[("path", path.to_str().unwrap())]),
        );
    }
}

#[test]
fn the_originals_own_set_is_read_from_disk_only() {
    let place = Place::at(NOWHERE);
    assert_eq!(
        place.message("ipw", &[]),
        "`ipw` needs the parameter `path`: a copy on disk as it was published: Parquet, JSON lines, \
         CSV or a directory"
    );
    let rows = [json!({
        "problem": "Say hello", "answer": "hello", "subject": "chat",
        "dataset_metadata": "{\"config\": {\"dataset_name\": \"allenai/WildChat\"}, \"n\": 1}",
        "model_answers": {"m": "x"}, "model_metrics": {"m": 1}, "anthropic_index_category": "c",
    })];
    let path = written(place.cache(), "ipw.parquet", parquet(&rows));
    let found = place.all("ipw", &[("path", path.to_str().unwrap())]);
    assert_eq!(
        (found[0].problem.as_str(), found[0].answer.as_deref()),
        ("Say hello", Some("hello"))
    );
    assert_eq!(found[0].subject.as_deref(), Some("chat"));
    assert_eq!(
        Value::Object(found[0].metadata.clone()),
        json!({
            "row": 0, "scorer": "judge", "config": {"dataset_name": "allenai/WildChat"},
            "anthropic_index_category": "c",
        })
    );
}

#[test]
fn a_raw_prompt_is_the_question_and_nothing_else() {
    for case in cases() {
        let hub = hub_of(&case);
        let plain = Place::of(&hub).all(case.id, &[]);
        let raw = Place::of(&hub).all(case.id, &[("template", "raw")]);
        for (plain, raw) in plain.iter().zip(&raw) {
            let question = plain.problem.split("\n\nA. ").next().unwrap();
            assert_eq!(raw.problem, question, "{}", case.id);
            assert_eq!(
                (&raw.answer, &raw.metadata),
                (&plain.answer, &plain.metadata)
            );
        }
    }
}

/// Many questions of a benchmark whose right option is always at the same place.
fn many(id: &str) -> Vec<Value> {
    (0..300)
        .map(|n| match id {
            "gpqa" => json!({
                "Question": format!("question {n}"), "Correct Answer": "right",
                "Incorrect Answer 1": "wrong 1", "Incorrect Answer 2": "wrong 2",
                "Incorrect Answer 3": "wrong 3",
            }),
            _ => json!({
                "question": format!("question {n}"),
                "mc1_targets": {"choices": ["right", "wrong 1", "wrong 2", "wrong 3"], "labels": [1, 0, 0, 0]},
            }),
        })
        .collect()
}

#[test]
fn mixed_options_are_fair_and_the_same_for_the_same_seed() {
    for id in ["gpqa", "truthfulqa"] {
        let place = Place::at(NOWHERE);
        let path = written(place.cache(), "copy.jsonl", lines(&many(id)));
        let path = path.to_str().unwrap();
        let asked = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> = [("path", path)].iter().chain(pairs).copied().collect();
            place.all(id, &pairs)
        };
        let first = asked(&[]);
        assert!(first.iter().all(|query| chosen(query) == "right"));
        for letter in ["A", "B", "C", "D"] {
            let count = first
                .iter()
                .filter(|query| query.answer.as_deref() == Some(letter))
                .count();
            assert!(
                (45..105).contains(&count),
                "{id}: {letter} is right {count} times of 300"
            );
        }
        assert_eq!(asked(&[]), first);
        assert_eq!(asked(&[("seed", "0")]), first);
        assert_ne!(asked(&[("seed", "1")]), first);
        // A question has its order wherever it stands.
        let problem = |query: &Query| query.problem.clone();
        let all: BTreeSet<_> = first.iter().map(problem).collect();
        let shuffled = asked(&[("shuffle", "true"), ("limit", "50")]);
        assert_ne!(
            shuffled.iter().map(problem).collect::<Vec<_>>()[..5],
            first[..5].iter().map(problem).collect::<Vec<_>>()[..]
        );
        assert!(
            shuffled
                .iter()
                .map(problem)
                .all(|problem| all.contains(&problem))
        );
    }
}

#[test]
fn a_subject_can_be_asked_for_alone() {
    let case = &cases()[0];
    let hub = hub_of(case);
    let place = Place::of(&hub);
    let dataset = place.open("mmlu", &[("subject", "chemistry")]).unwrap();
    assert_eq!(dataset.name(), "mmlu-chemistry");
    let found = queries(dataset.as_ref());
    assert_eq!(found.len(), 1);
    // The id is the place in the whole set.
    assert_eq!(
        (found[0].id.as_str(), found[0].answer.as_deref()),
        ("1", Some("C"))
    );
    assert_eq!(
        place.message("mmlu", &[("subject", "chemisty")]),
        "`mmlu` has no subject `chemisty`; did you mean `chemistry`? (available: chemistry, \
         elementary_mathematics)"
    );
}

#[test]
fn a_reference_that_was_not_published_is_none() {
    let case = cases()
        .into_iter()
        .find(|case| case.id == "natural-reasoning")
        .unwrap();
    let found = Place::of(&hub_of(&case)).all(case.id, &[]);
    assert_eq!(found[1].answer, None);
}

#[test]
fn blank_first_messages_are_left_out_and_counted() {
    let place = Place::at(NOWHERE);
    let turn = |content: &str| json!([{"role": "user", "content": content}]);
    let rows: Vec<_> = ["first", " ", "third"]
        .iter()
        .map(|text| json!({"conversation": turn(text)}))
        .collect();
    let path = written(place.cache(), "copy.jsonl", lines(&rows));
    let pairs = [("path", path.to_str().unwrap())];
    let dataset = place.open("wildchat", &pairs).unwrap();
    assert_eq!(dataset.size(), Some(2));
    assert!(
        dataset.notes()[0].starts_with("skipped 1 bad row of "),
        "{:?}",
        dataset.notes()
    );
    let strict = [pairs[0], ("on_error", "fail")];
    assert_eq!(
        place.message("wildchat", &strict),
        "`…/copy.jsonl` line 2: expected a question that is not blank in `conversation`, found no \
         message of a `user`"
    );
}

#[test]
fn a_missing_column_names_the_file_and_what_is_there() {
    for (id, row, expected) in [
        (
            "mmlu",
            json!({"question": "q", "options": ["a", "b"], "answer": 0}),
            "expected the column `choices`, as `mmlu` is published, found the columns `question`, \
             `options`, `answer`",
        ),
        (
            "gpqa",
            json!({"Question": "q", "Correct Answer": "a", "Incorrect Answer 1": "b", "Incorrect_Answer_2": "c"}),
            "expected the column `Incorrect Answer 2`, as `gpqa` is published, found the columns \
             `Question`, `Correct Answer`, `Incorrect Answer 1`, `Incorrect_Answer_2`",
        ),
        (
            "wildchat",
            json!({"messages": []}),
            "expected the column `conversation`, as `wildchat` is published, found only the column \
             `messages`",
        ),
    ] {
        let place = Place::at(NOWHERE);
        let path = written(place.cache(), "copy.jsonl", lines(&[row]));
        let path = path.to_str().unwrap();
        for pairs in [
            &[("path", path)][..],
            &[("path", path), ("on_error", "skip")],
        ] {
            let message = place.message(id, pairs);
            let message = message.strip_prefix("`…/copy.jsonl` line 1: ");
            assert_eq!(message, Some(expected), "{id}");
        }
    }
}

#[test]
fn a_row_that_cannot_be_right_is_a_bad_row() {
    for (id, row, expected) in [
        (
            "mmlu",
            json!({"question": "q", "choices": ["a", "b"], "answer": 2}),
            "expected 2 to 26 options and the right one among them, found 2 options and number 2 as \
             the right one",
        ),
        (
            "mmlu",
            json!({"question": "q", "choices": ["a", "b"], "answer": "x"}),
            "expected the number of the right option in `answer`, found a string",
        ),
        (
            "mmlu-pro",
            json!({"question": "q", "options": "none", "answer": "A"}),
            "expected a list of options in `options`, found a string",
        ),
        (
            "supergpqa",
            json!({"question": "q", "options": ["a", "b"], "answer_letter": ""}),
            "expected the letter of the right option in `answer_letter`, found an empty string",
        ),
        (
            "arc",
            json!({"question": "q", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "answerKey": "E"}),
            "expected one of the labels in `answerKey`, found a string",
        ),
        (
            "arc",
            json!({"question": "q", "choices": {"text": ["a", "b"], "label": ["A"]}, "answerKey": "A"}),
            "expected as many of `text` as of `label` in `choices`, found an object",
        ),
        (
            "truthfulqa",
            json!({"question": "q", "mc1_targets": {"choices": ["a", "b"], "labels": [0, 0]}}),
            "expected a right one in `mc1_targets`, found none with the mark 1",
        ),
        (
            "gsm8k",
            json!({"question": "q", "answer": "42"}),
            "expected an answer behind `####` in `answer`, found a text without it",
        ),
        (
            "gsm8k",
            json!({"question": null, "answer": "#### 42"}),
            "expected a question that is not blank in `question`, found null",
        ),
        (
            "hellaswag",
            json!({"ctx": "he", "endings": ["a", "b"], "label": ""}),
            "expected the number of the right option in `label`, found an empty string",
        ),
    ] {
        let place = Place::at(NOWHERE);
        let path = written(place.cache(), "copy.jsonl", lines(&[row]));
        let pairs = [("path", path.to_str().unwrap())];
        assert_eq!(
            place.message(id, &pairs),
            format!("`…/copy.jsonl` line 1: {expected}")
        );
        let skipping = [pairs[0], ("on_error", "skip")];
        assert_eq!(place.open(id, &skipping).unwrap().size(), Some(0), "{id}");
    }
}

#[test]
fn what_says_nothing_is_refused() {
    let place = Place::at(NOWHERE);
    let path = written(place.cache(), "copy.jsonl", lines(&cases()[0].rows));
    let path = ("path", path.to_str().unwrap());
    assert_eq!(
        place.message("mmlu", &[path, ("revision", "v1")]),
        "`mmlu` has a `path` and a `revision`: a copy on disk has no revisions; leave one of them out"
    );
    assert_eq!(
        place.message("mmlu", &[path, ("seed", "1")]),
        "`mmlu` has a `seed` but does not shuffle: add `shuffle=true` or leave `seed` out"
    );
    assert_eq!(
        place.message("mmlu", &[path, ("template", "cot")]),
        "parameter `template` of `mmlu` is `cot`, expected `plain` or `raw`"
    );
    assert_eq!(
        place.message("mmlu", &[("config", "../x")]),
        "parameter `config` of `mmlu` is `../x`, expected a name as the hub has it"
    );
}
