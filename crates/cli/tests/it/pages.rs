//! Pages in a real browser.

use std::path::Path;

use ipw_testkit::{Browser, or_skip};
use serde_json::{Value, json};

use crate::common::{all_cores, ipw, said};
use crate::compare::{Energy, adding, metered, profiled, sums};

/// What a model may call itself.
const HOSTILE: &str = "</td><img src=x onerror=\"window.hacked=1;alert(1)\">";

/// Opens a page, does what the script says, and gives how many checks held; panics with those that
/// did not.
pub(crate) fn in_the_browser(browser: &Browser, script: &str, page: &Path) -> u64 {
    // Where a person may want to look at them.
    let shots = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    std::fs::create_dir_all(&shots).unwrap();
    let script = format!("{}{script}", include_str!("../browser/common.mjs"));
    let found = browser.run(&script, &[page.as_os_str(), shots.as_os_str()]);
    let found = found.unwrap_or_else(|said| panic!("{said}"));
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["broken"], json!([]));
    found["done"].as_u64().unwrap()
}

#[test]
fn comparisons_and_leaderboards_read_well_and_nothing_from_outside_acts() {
    let _busy = all_cores();
    let Some(browser) = or_skip(Browser::ensure()) else {
        return;
    };
    let place = adding(60, 4);
    let dataset = sums(&place, "sums", 1);
    let a = profiled(&place, &dataset, Energy::Measured, &[]);
    let kept = place.runs().join("first");
    std::fs::rename(a, &kept).unwrap();
    let args = ["--dataset", dataset.to_str().unwrap()];
    let mut command = place.profile_at(&place.service.url(), HOSTILE, &args);
    metered(&place, &mut command, Energy::Measured);
    let b = profiled(&place, &dataset, Energy::Measured, &["--concurrency", "2"]);
    let page = |name: &str| place.path().join(name);
    let compared = page("compare.html");
    let told = said(
        ipw()
            .arg("compare")
            .args([&kept, &b])
            .arg("-o")
            .arg(&compared),
    );
    assert_eq!(told.code, Some(0), "{}", told.err);
    let board = page("leaderboard.html");
    let told = said(
        ipw()
            .arg("leaderboard")
            .arg(place.runs())
            .args(["--min-graded", "1"])
            .arg("-o")
            .arg(&board),
    );
    assert_eq!(told.code, Some(0), "{}", told.err);
    let script = include_str!("../browser/board.mjs");
    let checks = in_the_browser(&browser, script, &compared);
    assert!(checks > 20, "{checks}");
    let checks = in_the_browser(&browser, script, &board);
    assert!(checks > 35, "{checks}");
}
