//! The report of real runs: what is written where, and what a browser makes of it.

use std::path::Path;

use ipw_reference::{Received, Script};
use ipw_testkit::{Browser, or_skip};
use serde_json::{Value, json};

use crate::common::{Place, all_cores, ipw, said};
use crate::pages::in_the_browser;

/// What would like to be more than text: markup, handlers, ends of elements, turned writing, NUL,
/// formulas.
const TEXTS: [&str; 9] = [
    "</script><script>window.hacked=1;alert(1)</script>",
    "<img src=x onerror=\"window.hacked=1;alert(1)\">",
    "<!--<script> --!> ]]> </style></table></td>",
    "\u{202e}txt.exe\u{2066}\u{2069}\u{200f} turned",
    "a\0b\u{1b}[31m\u{7f}\u{2028}\u{2029}",
    "=HYPERLINK(\"http://example.invalid\",\"x\")",
    "javascript:alert(1) \" ' ` ${alert(1)} {{7*7}}",
    "&lt;b&gt; &#60;script&#62; \\u003cscript\\u003e",
    "لا إله نص عربي טקסט עברי 漢字 😀",
];

fn hostile(received: &Received) -> Script {
    let place = usize::try_from(received.number).unwrap() % TEXTS.len();
    Script {
        tokens: [TEXTS[place].to_owned(), " and more".to_owned()].into(),
        ..Script::default()
    }
}

/// Hostile questions, gradable ones, and one of a megabyte.
fn questions() -> Vec<Value> {
    let hostile = TEXTS
        .iter()
        .map(|text| json!({"problem": text, "answer": text, "subject": text, "scorer": "exact"}));
    let plain = (0..60).map(|n| {
        json!({"problem": format!("question number {n}"), "answer": "=HYPERLINK",
               "subject": format!("subject_{}", n % 3), "scorer": "exact"})
    });
    let long = json!({"problem": "long ".repeat(200_000), "answer": "x"});
    hostile.chain(plain).chain([long]).collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_run_ends_in_a_page_unless_told_otherwise() {
    let place = Place::new(|_| Script::words(3));
    let args = ["--max-queries", "2", "--warmup", "0"];
    let ran = said(&mut place.profile(&args));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let page = place.run().join("report.html");
    assert!(read(&page).contains("ipw-data"));
    let last = ran.out.trim_end().lines().last().unwrap_or_default();
    assert!(last.ends_with("report.html"), "{}", ran.out);
    // Less is printed; no less is written.
    for (flag, is_written) in [("--quiet", true), ("--no-report", false)] {
        let ran = said(&mut place.profile(&[&args[..], &["--overwrite", flag]].concat()));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_eq!(page.exists(), is_written, "{flag}");
        assert!(!ran.out.contains("report.html"), "{}", ran.out);
    }
    // A directory in its place: the run is done all the same, and says what is missing.
    let run = place.run();
    std::fs::create_dir(run.join("report.html")).unwrap();
    let resumed = said(ipw().arg("profile").arg("--resume").arg(&run));
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    assert!(
        resumed.err.contains("warning: no report"),
        "{}",
        resumed.err
    );
}

#[test]
fn a_report_is_written_in_every_format_and_replaced_as_a_whole() {
    let place = Place::new(hostile);
    let dataset = place.jsonl("d", questions());
    let args = [
        "--dataset",
        dataset.to_str().unwrap(),
        "--warmup",
        "0",
        "--no-report",
    ];
    let ran = said(&mut place.profile(&args));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let run = place.run_of("d");
    let report = |more: &[&str]| said(ipw().arg("report").arg(&run).args(more));

    let made = report(&[]);
    assert_eq!(
        (made.code, made.out.as_str()),
        (Some(0), ""),
        "{}",
        made.err
    );
    let page = read(&run.join("report.html"));
    assert!(page.len() < 3_000_000, "{}", page.len());
    assert!(!page.contains("<img") && !page.contains("window.hacked=1;alert(1)</script>"));
    let left = std::fs::read_dir(&run).unwrap().flatten();
    assert!(
        left.map(|entry| entry.file_name())
            .all(|name| name != ".report.html.new")
    );

    let markdown = report(&["--format", "md"]);
    assert!(
        markdown.out.starts_with("# reference on "),
        "{}",
        markdown.out
    );
    let parsed: Value = serde_json::from_str(&report(&["--format", "json"]).out).unwrap();
    assert_eq!(parsed["queries"]["in_all"], json!(70));
    let csv = report(&["--format", "csv"]).out;
    assert!(csv.contains("\"'=HYPERLINK("), "no cell is a formula");

    let elsewhere = place.path().join("there.html");
    let made = report(&["-o", elsewhere.to_str().unwrap(), "--redact"]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let redacted = read(&elsewhere);
    let url = place.service.url();
    let authority = url.trim_start_matches("http://");
    let directory = place.path().display().to_string();
    for secret in ["question number", "and more", authority, &directory] {
        assert!(!redacted.contains(secret), "{secret}");
    }
    if let Ok(host) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
        assert!(!redacted.contains(&format!("<bdi>{}</bdi>", host.trim())));
    }
}

#[test]
fn what_is_no_run_and_one_file_for_two_are_usage_errors() {
    let place = Place::new(|_| Script::words(1));
    let nothing = said(ipw().arg("report").arg(place.path()));
    assert_eq!(nothing.code, Some(2), "{}", nothing.err);
    assert!(nothing.err.contains("ipw profile"), "{}", nothing.err);
    let two = said(ipw().args(["report", "a", "b", "-o", "c.html"]));
    assert_eq!(two.code, Some(2), "{}", two.err);
    assert!(two.err.contains("takes one run"), "{}", two.err);
}

#[test]
fn a_reader_can_sort_search_zoom_and_nothing_from_outside_acts() {
    let _busy = all_cores();
    let Some(browser) = or_skip(Browser::ensure()) else {
        return;
    };
    let place = Place::new(hostile);
    let dataset = place.jsonl("d", questions());
    let args = [
        "--dataset",
        dataset.to_str().unwrap(),
        "--warmup",
        "0",
        "--concurrency",
        "3",
    ];
    let ran = said(&mut place.profile(&args));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let page = place.run_of("d").join("report.html");
    let checks = in_the_browser(&browser, include_str!("../browser/report.mjs"), &page);
    assert!(checks > 50, "{checks}");
}
