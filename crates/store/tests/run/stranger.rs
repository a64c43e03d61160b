//! Run directories from strangers: names that lead out of them, links, and what killed writers
//! left in them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use ipw_store::verdicts::score;
use ipw_store::{Run, StoreError, file};
use serde_json::json;

use crate::{finished_run, temporary};

/// Takes the lock of the run and changes nothing.
fn touch(directory: &Path) -> Result<(), StoreError> {
    score(directory, |_| None, |_, _, _| {}).map(|_| ())
}

fn name_data_file(directory: &Path, name: &str) {
    let state = json!({"_data_files": [{"filename": name}], "_fingerprint": "f"});
    fs::write(directory.join("state.json"), state.to_string()).unwrap();
}

#[test]
fn a_state_names_plain_files_in_its_directory_only() {
    let (parent, directory) = temporary();
    finished_run(&directory, 2);
    let outside = parent.path().join("outside.arrow");
    fs::write(&outside, "precious").unwrap();
    for name in [
        outside.to_str().unwrap(),
        "../outside.arrow",
        "..",
        ".",
        "",
        "a/b.arrow",
        "a/",
        "./a.arrow",
        "/",
    ] {
        name_data_file(&directory, name);
        let error = touch(&directory).unwrap_err();
        assert!(
            matches!(error, StoreError::NotARun { .. }),
            "{name}: {error}"
        );
        let said = error.to_string();
        assert!(
            said.contains("state.json") && said.contains(&format!("`{name}`")),
            "{said}"
        );
        assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
    }
}

#[test]
fn links_in_a_run_are_refused_and_their_targets_stay() {
    for name in ["state.json", "summary.json", ".lock"] {
        let (parent, directory) = temporary();
        finished_run(&directory, 2);
        let target = parent.path().join("target");
        let path = directory.join(name);
        if path.exists() {
            fs::rename(&path, &target).unwrap();
        } else {
            fs::write(&target, "precious").unwrap();
        }
        let before = fs::read(&target).unwrap();
        symlink(&target, &path).unwrap();
        let error = touch(&directory).unwrap_err();
        assert!(matches!(error, StoreError::Link { .. }), "{name}: {error}");
        assert!(error.to_string().contains(name), "{error}");
        assert_eq!(fs::read(&target).unwrap(), before, "{name}");
    }
}

#[test]
fn a_data_file_that_is_a_link_is_refused() {
    let (parent, directory) = temporary();
    finished_run(&directory, 2);
    let target = parent.path().join("target.arrow");
    fs::write(&target, "precious").unwrap();
    name_data_file(&directory, "data-part-00000.arrow");
    symlink(&target, directory.join("data-part-00000.arrow")).unwrap();
    let error = Run::open(&directory).err().unwrap();
    assert!(matches!(error, StoreError::Link { .. }), "{error}");
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
}

#[test]
fn replacing_a_file_follows_no_link() {
    let (parent, directory) = temporary();
    fs::create_dir(&directory).unwrap();
    let target = parent.path().join("target");
    fs::write(&target, "precious").unwrap();
    // The name that earlier versions wrote to.
    symlink(&target, directory.join(".report.html.new")).unwrap();
    let page = directory.join("report.html");
    file::replace(&page, b"page", false).unwrap();
    assert_eq!(fs::read_to_string(&page).unwrap(), "page");
    fs::remove_file(&page).unwrap();
    symlink(&target, &page).unwrap();
    let error = file::replace(&page, b"page", false).unwrap_err();
    assert!(matches!(error, StoreError::Link { .. }), "{error}");
    assert!(file::append(&page).is_err() && file::read(&page).is_err());
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
}

#[test]
fn a_pipe_in_a_run_does_not_block() {
    let (_parent, directory) = temporary();
    fs::create_dir(&directory).unwrap();
    let pipe = directory.join("state.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let error = Run::open(&directory).err().unwrap();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
}

#[test]
fn the_next_writer_removes_orphans_of_our_own_names_only() {
    let (_parent, directory) = temporary();
    finished_run(&directory, 2);
    let plots = directory.join("plots");
    fs::create_dir(&plots).unwrap();
    let orphans = [
        directory.join(".summary.json.new-0123456789abcdef"),
        directory.join("data-0123456789abcdef-00000.arrow"),
        directory.join("data-0123456789abcdef-00000-of-00001.arrow"),
        directory.join("data-part-00007-0123abcd.arrow"),
        plots.join(".ttft.svg.new-0123456789abcdef"),
    ];
    let others = [
        directory.join(".notes.new"),
        directory.join(".notes.new-mine"),
        directory.join("data-00000-of-00001.arrow"),
        directory.join("my.arrow"),
        plots.join("data-part-00000.arrow"),
    ];
    for path in orphans.iter().chain(&others) {
        fs::write(path, "x").unwrap();
    }
    // Another process is still writing this one.
    let live = directory.join(".report.html.new-00000000deadbeef");
    let held = fs::File::create(&live).unwrap();
    held.try_lock().unwrap();
    touch(&directory).unwrap();
    for path in &orphans {
        assert!(!path.exists(), "{}", path.display());
    }
    for path in others.iter().chain([&live]) {
        assert!(path.exists(), "{}", path.display());
    }
    assert_eq!(Run::open(&directory).unwrap().rows().unwrap(), 2);
}

#[test]
fn a_new_run_is_private() {
    let (_parent, directory) = temporary();
    finished_run(&directory, 1);
    let mode = fs::metadata(&directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}
