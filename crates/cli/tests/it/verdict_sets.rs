//! Sets of verdicts: no verdict is lost, and earlier ones can be had back.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ipw_reference::{Fault, Received, Script};
use ipw_testkit::hugging_face::{self, Rows};
use ipw_testkit::or_skip;
use serde_json::{Value, json};

use crate::common::{Place, ipw, metrics, rows, said, summary};
use crate::score::{answered, prompt, saying, score, scored, verdicts};

/// The sets that `--list` shows, without their times.
fn sets(run: &Path) -> Vec<(u64, String, [u64; 3], bool)> {
    let told = score(run, &["--list", "--json"]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    let told: Value = serde_json::from_str(&told.out).unwrap();
    let one = |set: &Value| {
        assert!(set["at"].as_f64().unwrap() > 1.7e9, "{set}");
        let scorers = set["scorers"].as_array().unwrap().iter();
        let names = scorers.map(|one| match one["judge"].as_str() {
            Some(judge) => format!("{}:{judge}", one["scorer"].as_str().unwrap()),
            None => one["scorer"].as_str().unwrap().to_owned(),
        });
        let counts = ["correct", "wrong", "unscored"].map(|key| set[key].as_u64().unwrap());
        (
            set["id"].as_u64().unwrap(),
            names.collect::<Vec<_>>().join("+"),
            counts,
            set["in_use"].as_bool().unwrap(),
        )
    };
    told["sets"].as_array().unwrap().iter().map(one).collect()
}

/// A judge that calls odd numbers wrong, and says no verdict on even ones.
fn judge_of_odd_numbers(received: &Received) -> Script {
    let prompt = prompt(received);
    let (_, number) = prompt.rsplit_once("I say ").unwrap();
    let number: u32 = number.split_whitespace().next().unwrap().parse().unwrap();
    let said = if number % 2 == 1 {
        r#"{"verdict": "wrong"}"#
    } else {
        "Hm."
    };
    Script {
        tokens: [said.to_owned()].into(),
        ..Script::default()
    }
}

#[test]
fn a_judge_that_fails_takes_no_verdict_away() {
    let place = saying();
    let run = answered(&place, "numeric");
    let before = rows(&run);
    // Without a judge the rows wait, and keep what they have.
    let waiting = scored(&run, &["--scorer", "judge"]);
    assert_eq!(
        (&waiting["kept"], &waiting["waiting_for_a_judge"]),
        (&json!(12), &json!(12))
    );
    assert_eq!(rows(&run), before);
    assert_eq!(sets(&run), [(1, "numeric".to_owned(), [8, 4, 0], true)]);

    // A judge that gives no verdict at all, now and when it is asked about nothing new.
    let mute = Place::new(|_| Script::words(3));
    let url = mute.service.url();
    let args = [
        "--scorer",
        "judge",
        "--judge-model",
        "mute",
        "--judge-base-url",
        &url,
        "--judge-retries",
        "0",
        "--judge-concurrency",
        "12",
    ];
    for _ in 0..2 {
        let told = score(&run, &args);
        assert_eq!(told.code, Some(3), "{}", told.err);
        assert!(told.err.contains("no verdict on any of"), "{}", told.err);
        assert_eq!(rows(&run), before);
    }

    // One that judges some of them.
    let court = Place::new(judge_of_odd_numbers);
    let url = court.service.url();
    let args = [
        "--scorer",
        "judge",
        "--judge-model",
        "odd",
        "--judge-base-url",
        &url,
        "--judge-retries",
        "0",
    ];
    let told = score(&run, &args);
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(
        told.out
            .contains("6 answers got no new verdict and keep the old one"),
        "{}",
        told.out
    );
    assert!(told.out.contains("`--use 1` switches back"), "{}", told.out);
    assert_eq!(summary(&run)["scoring"]["kept"], 6);
    let now = rows(&run);
    for (place, (now, before)) in now.iter().zip(&before).enumerate() {
        let (now, before) = (metrics(now), metrics(before));
        if place % 2 == 1 {
            assert_eq!(now["lm_correctness"], false, "{place}");
        } else {
            assert_eq!(now["evaluation"], before["evaluation"], "{place}");
        }
    }
    assert_eq!(
        sets(&run),
        [
            (1, "numeric".to_owned(), [8, 4, 0], false),
            (2, "judge:odd+numeric".to_owned(), [4, 8, 0], true),
        ]
    );

    // A scorer that cannot grade takes nothing away either.
    let told = scored(&run, &["--scorer", "instructions"]);
    assert_eq!(told["kept"], 12);
    assert_eq!(rows(&run), now);
    assert_eq!(summary(&run)["scoring"]["scorer"], "judge");
}

#[test]
fn earlier_verdicts_can_be_had_back() {
    let place = saying();
    let run = answered(&place, "numeric");
    let first = rows(&run);
    scored(&run, &["--scorer", "exact"]);
    let second = rows(&run);
    assert_ne!(first, second);
    scored(&run, &["--scorer", "contains"]);
    let names = |run: &Path| -> Vec<(u64, String, bool)> {
        let sets = sets(run).into_iter();
        sets.map(|(id, name, _, in_use)| (id, name, in_use))
            .collect()
    };
    let named = |id, name: &str, in_use| (id, name.to_owned(), in_use);
    assert_eq!(
        names(&run),
        [
            named(1, "numeric", false),
            named(2, "exact", false),
            named(3, "contains", true)
        ]
    );
    for (id, rows_then) in [("1", &first), ("2", &second), ("1", &first)] {
        let told = scored(&run, &["--use", id]);
        assert_eq!(told["not_in_the_set"], 0);
        assert_eq!(&rows(&run), rows_then, "set {id}");
    }
    assert_eq!(summary(&run)["overview"]["verdicts"]["correct"], 8);
    assert_eq!(summary(&run)["scoring"]["used_set"], 1);
    // No set was lost on the way, and none was made twice.
    assert_eq!(
        names(&run),
        [
            named(1, "numeric", true),
            named(2, "exact", false),
            named(3, "contains", false)
        ]
    );
    let shown = score(&run, &["--list"]);
    assert!(shown.out.contains("8 right, 4 wrong"), "{}", shown.out);
    assert!(shown.out.starts_with("* 1 "), "{}", shown.out);
    let again = score(&run, &["--use", "1"]);
    assert!(again.out.contains("nothing changed"), "{}", again.out);
    assert_eq!(rows(&run), first);
    if let Some(venv) = or_skip(hugging_face::newest()) {
        hugging_face::load(&venv, &run, Rows::Included).unwrap();
    }

    for (more, words) in [
        (&["--use", "9"][..], "known sets: 1, 2, 3"),
        (&["--use", "x"], "--use <ID>"),
        (&["--use", "1", "--list"], "cannot be used with"),
        (&["--list", "--scorer", "exact"], "cannot be used with"),
        (&["--use", "1", "--again"], "cannot be used with"),
    ] {
        let told = score(&run, more);
        assert_eq!(told.code, Some(2), "{more:?}: {}", told.err);
        assert!(told.err.contains(words), "{more:?}: {}", told.err);
    }

    // A file that is cut off changes nothing; one that is no set is left out of the list.
    let file = run.join("verdict_sets/2.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let cut: Vec<&str> = text.lines().take(5).collect();
    std::fs::write(&file, cut.join("\n")).unwrap();
    let told = score(&run, &["--use", "2"]);
    assert_eq!(told.code, Some(1), "{}", told.err);
    assert!(told.err.contains("4 of 12 verdicts"), "{}", told.err);
    assert_eq!(rows(&run), first);
    std::fs::write(&file, "{").unwrap();
    let told = score(&run, &["--list"]);
    assert!(told.err.contains("is damaged"), "{}", told.err);
    assert_eq!(names(&run).len(), 2);
}

#[test]
fn rows_answered_after_a_set_keep_their_own_verdicts() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    let place = Place::new(move |received| {
        let number: u32 = prompt(received).replace("Say ", "").parse().unwrap();
        let fails = number >= 3 && is_broken.load(Ordering::Relaxed);
        Script {
            tokens: [format!("I say {number}")].into(),
            fault: fails.then(|| Fault::Status(400, "no".to_owned())),
            ..Script::default()
        }
    });
    let question = |n: u32| json!({"problem": format!("Say {n}"), "answer": n.to_string(), "scorer": "numeric"});
    let dataset = place.jsonl("d", (0..6).map(question));
    let args = ["--warmup", "0", "--dataset", dataset.to_str().unwrap()];
    said(&mut place.profile(&args));
    let run = place.run_of("d");
    scored(&run, &["--scorer", "exact"]);
    broken.store(false, Ordering::Relaxed);
    let ran = said(
        ipw()
            .args(["profile", "--retry-failed", "--resume"])
            .arg(&run),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = scored(&run, &["--use", "1"]);
    assert_eq!(told["not_in_the_set"], 3, "{told}");
    assert_eq!(verdicts(&run), vec![json!(true); 6]);
}
