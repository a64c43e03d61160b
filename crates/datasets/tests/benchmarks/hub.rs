//! The hub as it is: its store on another host, its refusals, its bad days.

use std::collections::BTreeMap;
use std::fs;

use ipw_hub::Progress;
use ipw_testkit::mimic_hub::{CONVERTED, Files, Manners, MimicHub, converted};
use ipw_testkit::parquet;
use serde_json::{Value, json};

use crate::published::cases;
use crate::rows::lines;
use crate::{NOWHERE, Place};

const ARC: &str = "allenai/ai2_arc";

fn arc(count: usize) -> Vec<Value> {
    (0..count)
        .map(|n| {
            json!({
                "id": format!("q{n}"), "question": format!("question {n}?"), "answerKey": "B",
                "choices": {"text": ["no", format!("yes {n}")], "label": ["A", "B"]},
            })
        })
        .collect()
}

/// A hub with ARC in several configurations and splits.
fn arc_hub(manners: Manners) -> MimicHub {
    let files: Files = [
        ("ARC-Challenge", "test"),
        ("ARC-Challenge", "train"),
        ("ARC-Easy", "test"),
    ]
    .into_iter()
    .map(|(config, split)| converted(config, split, parquet(&arc(400))))
    .collect();
    MimicHub::start([(ARC.to_owned(), files)], manners)
}

#[test]
fn what_was_fetched_is_found_without_a_question() {
    let hub = arc_hub(Manners::default());
    let place = Place::of(&hub);
    let (opened, told) = place.told("arc", &[]);
    assert_eq!(opened.unwrap().size(), Some(400));
    assert!(
        told.iter()
            .any(|told| matches!(told, Progress::Received { .. }))
    );
    assert!(told.contains(&Progress::Trying {
        source: "127.0.0.1 (allenai/ai2_arc ARC-Challenge/test/0000.parquet)".to_owned(),
    }));
    let asked = hub.asked().len();
    let mut place = place.moved_to(NOWHERE);
    let (opened, told) = place.told("arc", &[]);
    assert_eq!((opened.unwrap().size(), told), (Some(400), vec![]));
    place.hub.is_offline = true;
    assert_eq!(place.all("arc", &[]).len(), 400);
    assert_eq!(hub.asked().len(), asked);
    assert_eq!(
        place.message("arc", &[("config", "ARC-Easy")]),
        "cannot get `arc` from 127.0.0.1 (`allenai/ai2_arc`): `HF_HUB_OFFLINE` is set, and it is not \
         in the cache\nhelp: go online, or give a copy that you have: `dataset_param=path=…`"
    );
}

#[test]
fn offline_is_not_online_with_an_answer() {
    let hub = arc_hub(Manners::default());
    let mut place = Place::of(&hub);
    place.hub.is_offline = true;
    assert!(place.open("arc", &[]).is_err());
    assert_eq!(hub.asked(), []);
}

#[test]
fn a_file_that_went_bad_or_away_is_fetched_again() {
    let hub = arc_hub(Manners::default());
    let place = Place::of(&hub);
    place.open("arc", &[]).unwrap();
    let file = "datasets/hf/allenai/ai2_arc/refs--convert--parquet/ARC-Challenge/test/0000.parquet";
    let file = place.cache().join(file);
    let content = fs::read(&file).unwrap();
    fs::write(&file, &content[..100]).unwrap();
    assert_eq!(place.all("arc", &[]).len(), 400);
    assert_eq!(fs::read(&file).unwrap(), content);
    fs::remove_file(&file).unwrap();
    assert_eq!(place.all("arc", &[]).len(), 400);
    assert_eq!(hub.asked_of_store().len(), 3);
}

#[test]
fn another_configuration_and_split_are_another_set() {
    let hub = arc_hub(Manners::default());
    let place = Place::of(&hub);
    let easy = place.open("arc", &[("config", "ARC-Easy")]).unwrap();
    assert_eq!(easy.name(), "arc-ARC-Easy");
    let train = place.open("arc", &[("split", "train")]).unwrap();
    assert_eq!(train.name(), "arc-train");
    for (pairs, expected) in [
        (
            [("config", "ARC-Chalenge")],
            "`allenai/ai2_arc` has no config `ARC-Chalenge`; did you mean `ARC-Challenge`?; choose \
             with `dataset_param=config=…` (available: ARC-Challenge, ARC-Easy)",
        ),
        (
            [("split", "dev")],
            "`allenai/ai2_arc` has no split `dev`; choose with `dataset_param=split=…` (available: \
             test, train)",
        ),
    ] {
        assert_eq!(place.message("arc", &pairs), expected);
    }
}

#[test]
fn the_token_goes_to_the_hub_and_never_to_the_store() {
    let gpqa = cases().into_iter().find(|case| case.id == "gpqa").unwrap();
    let files = [converted("gpqa_diamond", "train", parquet(&gpqa.rows))].into();
    let manners = Manners {
        token: Some("hf_secret".to_owned()),
        ..Manners::default()
    };
    let hub = MimicHub::start([("Idavidrein/gpqa".to_owned(), files)], manners);
    let page = format!("{}/datasets/Idavidrein/gpqa", hub.url());
    assert_eq!(
        Place::of(&hub).message("gpqa", &[]),
        format!(
            "cannot get `gpqa`: the hub refuses `Idavidrein/gpqa` (401), which is gated\nhelp: ask \
             for access at {page}, then set `HF_TOKEN` to a token that may read it"
        )
    );
    let stranger = Place::of(&hub).with_token("hf_other");
    let message = stranger.message("gpqa", &[]);
    let help = format!("ask for access at {page}; the owner of your `HF_TOKEN` has none yet");
    assert!(message.ends_with(&help), "{message}");
    assert!(!message.contains("hf_other"), "{message}");
    assert_eq!(hub.asked_of_store(), []);

    let friend = Place::of(&hub).with_token("hf_secret");
    let (opened, told) = friend.told("gpqa", &[]);
    assert_eq!(opened.unwrap().size(), Some(1));
    let asked = hub.asked();
    let bearer = Some("Bearer hf_secret");
    let friends = &asked[asked.len() - 2..];
    assert!(
        friends
            .iter()
            .all(|asked| asked.authorization.as_deref() == bearer)
    );
    let [asked] = &hub.asked_of_store()[..] else {
        panic!("the store is asked once");
    };
    assert_eq!(asked.authorization, None);
    assert!(asked.path.ends_with("?signed=1"), "{}", asked.path);
    assert!(!format!("{told:?}").contains("hf_secret"));
    for file in files_below(friend.cache()) {
        let content = fs::read(&file).unwrap();
        let has = content.windows(9).any(|piece| piece == b"hf_secret");
        assert!(!has, "{}", file.display());
    }
}

fn files_below(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory).unwrap().flatten();
    entries
        .flat_map(|entry| {
            let path = entry.path();
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn a_busy_hub_is_asked_again_and_then_left() {
    for first in [vec![503], vec![429], vec![500, 502], vec![503, 429, 504]] {
        let count = first.len();
        let hub = arc_hub(Manners {
            first,
            ..Manners::default()
        });
        let (opened, told) = Place::of(&hub).told("arc", &[]);
        assert_eq!(opened.unwrap().size(), Some(400));
        let again = told
            .iter()
            .filter(|told| matches!(told, Progress::Again { .. }));
        assert_eq!(again.count(), count);
    }
    let hub = arc_hub(Manners {
        first: vec![429; 4],
        ..Manners::default()
    });
    let message = Place::of(&hub).message("arc", &[]);
    let expected =
        "cannot get `arc` from 127.0.0.1 (`allenai/ai2_arc`): the server answers 429\nhelp: ";
    assert!(message.starts_with(expected), "{message}");
    assert_eq!(hub.asked().len(), 4);
}

#[test]
fn refusals_of_other_kinds_say_what_they_are() {
    for (status, expected) in [
        (
            401,
            "the hub refuses `allenai/ai2_arc` (401)\nhelp: look at http://",
        ),
        (403, "the hub refuses `allenai/ai2_arc` (403)"),
        (418, "the server answers 418"),
    ] {
        let hub = arc_hub(Manners {
            first: vec![status],
            ..Manners::default()
        });
        let message = Place::of(&hub).message("arc", &[]);
        assert!(message.contains(expected), "{message}");
    }
    let hub = arc_hub(Manners {
        first: vec![401],
        ..Manners::default()
    });
    let message = Place::of(&hub).with_token("hf_old").message("arc", &[]);
    assert!(message.contains("your `HF_TOKEN` is wrong"), "{message}");
    let empty = MimicHub::start([], Manners::default());
    let message = Place::of(&empty).message("arc", &[]);
    assert!(
        message.contains("the server has no such dataset (404)"),
        "{message}"
    );
    let message = Place::at(NOWHERE).message("arc", &[]);
    assert!(message.contains("cannot reach `127.0.0.1`"), "{message}");
    assert!(
        !Place::at(NOWHERE)
            .open("arc", &[])
            .err()
            .unwrap()
            .is_usage()
    );
}

#[test]
fn a_cut_transfer_goes_on_where_it_was() {
    let length = parquet(&arc(400)).len();
    let hub = arc_hub(Manners {
        cuts: vec![length / 3, length / 3],
        ..Manners::default()
    });
    let (opened, told) = Place::of(&hub).told("arc", &[]);
    assert_eq!(opened.unwrap().size(), Some(400));
    let ranges: Vec<_> = hub
        .asked_of_store()
        .into_iter()
        .map(|asked| asked.range)
        .collect();
    let third = length / 3;
    assert_eq!(
        ranges,
        [
            None,
            Some(format!("bytes={third}-")),
            Some(format!("bytes={}-", 2 * third))
        ]
    );
    assert!(told.contains(&Progress::Started {
        resumed: 2 * third as u64,
        total: Some(length as u64)
    }));
}

#[test]
fn a_transfer_that_died_is_continued_by_the_next_process() {
    let length = parquet(&arc(400)).len();
    let hub = arc_hub(Manners {
        cuts: vec![length / 2, 0],
        ..Manners::default()
    });
    let mut place = Place::of(&hub);
    place.hub.patience.retries = 0;
    let message = place.message("arc", &[]);
    assert!(
        message.contains(&format!("was cut off after {} bytes", length / 2)),
        "{message}"
    );
    assert!(place.open("arc", &[]).is_err());
    assert_eq!(place.all("arc", &[]).len(), 400);
    let ranges: Vec<_> = hub
        .asked_of_store()
        .into_iter()
        .map(|asked| asked.range)
        .collect();
    let half = Some(format!("bytes={}-", length / 2));
    assert_eq!(ranges, [None, half.clone(), half]);
}

#[test]
fn what_is_not_parquet_is_not_taken_for_it() {
    let files: Files = [converted(
        "ARC-Challenge",
        "test",
        b"<html>please pay</html>".to_vec(),
    )]
    .into();
    let manners = Manners {
        hides_checksums: true,
        ..Manners::default()
    };
    let hub = MimicHub::start([(ARC.to_owned(), files)], manners);
    let message = Place::of(&hub).message("arc", &[]);
    assert!(
        message.contains("the downloaded file is not a Parquet file"),
        "{message}"
    );
}

#[test]
fn a_damaged_parquet_file_is_an_error_that_names_it() {
    let mut content = parquet(&arc(400));
    let length = content.len();
    content[length - 8..length - 4].copy_from_slice(&[0xff; 4]);
    let hub = MimicHub::with_split(ARC, "ARC-Challenge", "test", content);
    let message = Place::of(&hub).message("arc", &[]);
    assert!(
        message.starts_with("cannot read the Parquet file `…/datasets/hf/"),
        "{message}"
    );
    assert!(
        message.contains("ARC-Challenge/test/0000.parquet"),
        "{message}"
    );
}

#[test]
fn a_split_of_many_files_is_read_in_the_order_of_their_names() {
    let path = |n: usize| {
        (
            CONVERTED.to_owned(),
            format!("ARC-Challenge/test/{n:04}.parquet"),
        )
    };
    let rows = arc(50);
    let files: Files = (0..5)
        .map(|n| (path(n), parquet(&rows[n * 10..(n + 1) * 10])))
        .collect();
    let manners = Manners {
        page: Some(2),
        ..Manners::default()
    };
    let hub = MimicHub::start([(ARC.to_owned(), files)], manners);
    let found = Place::of(&hub).all("arc", &[]);
    let ids: Vec<_> = found.iter().map(|query| query.id.clone()).collect();
    let expected: Vec<_> = (0..50).map(|n| format!("q{n}")).collect();
    assert_eq!(ids, expected);
    let lists = hub
        .asked()
        .into_iter()
        .filter(|asked| asked.path.starts_with("/api/"));
    assert_eq!(lists.count(), 3);
}

#[test]
fn the_first_part_of_what_is_very_large_will_do() {
    let content = parquet(&[json!({"question": "q", "reference_answer": "a"})]);
    let repository = "facebook/natural_reasoning";
    let hub = MimicHub::with_split(repository, "default", "partial-train", content);
    assert_eq!(Place::of(&hub).all("natural-reasoning", &[]).len(), 1);
}

#[test]
fn another_revision_is_the_repositorys_own_files() {
    let math = cases()
        .into_iter()
        .find(|case| case.id == "math-500")
        .unwrap();
    let gpqa = "Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3\n\
                q,a,b,c,d\n";
    let file = |revision: &str, path: &str, content: &str| {
        (
            (revision.to_owned(), path.to_owned()),
            content.as_bytes().to_vec(),
        )
    };
    let arc_rows = parquet(&arc(3));
    let hub = MimicHub::start(
        BTreeMap::from([
            (
                "HuggingFaceH4/MATH-500".to_owned(),
                Files::from([
                    file("abc123", "test.jsonl", &lines(&math.rows)),
                    file("abc123", "README.md", "x"),
                ]),
            ),
            (
                "Idavidrein/gpqa".to_owned(),
                Files::from([
                    file("v1", "gpqa_diamond.csv", gpqa),
                    file("v1", "gpqa_main.csv", "x\ny\n"),
                ]),
            ),
            (
                ARC.to_owned(),
                Files::from([
                    (
                        (
                            "v1".to_owned(),
                            "ARC-Challenge/test-00000-of-00001.parquet".to_owned(),
                        ),
                        arc_rows.clone(),
                    ),
                    (
                        (
                            "v1".to_owned(),
                            "ARC-Easy/test-00000-of-00001.parquet".to_owned(),
                        ),
                        arc_rows,
                    ),
                ]),
            ),
        ]),
        Manners::default(),
    );
    let place = Place::of(&hub);
    let found = place.all("math-500", &[("revision", "abc123")]);
    assert_eq!(found[0].answer.as_deref(), Some("\\frac56"));
    assert_eq!(place.all("gpqa", &[("revision", "v1")]).len(), 1);
    assert_eq!(place.all("arc", &[("revision", "v1")]).len(), 3);
    assert_eq!(
        place.message("arc", &[("revision", "v1"), ("split", "train")]),
        "`allenai/ai2_arc` has no split `ARC-Challenge/train`; did you mean `ARC-Challenge/test`?; \
         choose with `dataset_param=split=…` (available: ARC-Challenge/test, ARC-Easy/test)"
    );
    let message = place.message("arc", &[("revision", "v9")]);
    assert!(message.contains("it has no revision `v9`"), "{message}");
}

#[test]
fn extra_columns_are_not_kept() {
    let mut rows = arc(2);
    for row in &mut rows {
        row["added later"] = json!({"by": "a maintainer"});
    }
    let hub = MimicHub::with_split(ARC, "ARC-Challenge", "test", parquet(&rows));
    let found = Place::of(&hub).all("arc", &[]);
    let names: Vec<_> = found[0].metadata.keys().collect();
    assert_eq!(names, ["row", "scorer", "choices"]);
}
