//! Tokens and passwords: sent where they belong, shown nowhere.

use std::fs;

use ipw_testkit::web::{Reply, Server, redirect};

use super::{Options, at_once, body, poll, spec};

const SECRET: &str = "hunter22:correct horse";

#[test]
fn a_secret_is_sent_and_shown_nowhere() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    fs::write(&file, format!("{SECRET}\nsecond line\n")).unwrap();
    let file = file.to_str().unwrap();
    for (option, sent) in [
        ("token-file", format!("Bearer {SECRET}")),
        (
            "basic-file",
            "Basic aHVudGVyMjI6Y29ycmVjdCBob3JzZQ==".to_owned(),
        ),
    ] {
        let server = Server::start(|_, nth| match nth {
            0..3 => body(r#"{"a": 1}"#),
            _ => Reply::Status(401, Vec::new()),
        });
        let options = [("field", "a"), ("unit", "W"), (option, file)];
        let mut collector = at_once(&server.url(), &options).unwrap();
        assert!(poll(&mut *collector).1.is_ok());
        let error = poll(&mut *collector).1.unwrap_err().to_string();
        let asked = server.asked();
        assert!(
            asked
                .iter()
                .all(|asked| asked.authorization.as_ref() == Some(&sent))
        );
        let shown = format!(
            "{error} {:?} {:?}",
            spec(&server.url(), &options).unwrap(),
            collector.sources()
        );
        for secret in [SECRET, "hunter22", "aHVudGVy"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(collector.sources()[0].privilege.starts_with("network, a "));
    }
}

#[test]
fn a_secret_does_not_follow_to_another_host() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    fs::write(&file, SECRET).unwrap();
    let other = Server::start(|_, _| body(r#"{"a": 1}"#));
    // The same machine by another name.
    let to = other.url().replace("127.0.0.1", "localhost");
    let server = Server::start(move |_, _| redirect(&to));
    let options = [
        ("field", "a"),
        ("unit", "W"),
        ("token-file", file.to_str().unwrap()),
    ];
    let error = at_once(&server.url(), &options).err().unwrap();
    assert!(
        error.contains("localhost") && other.asked().is_empty(),
        "{error}"
    );
}

#[test]
fn a_secret_does_not_travel_in_the_clear() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    fs::write(&file, SECRET).unwrap();
    for option in ["token-file", "basic-file"] {
        let options = [
            ("field", "a"),
            ("unit", "W"),
            (option, file.to_str().unwrap()),
        ];
        let error = at_once("http://192.0.2.1/", &options).err().unwrap();
        assert!(
            error.contains("in the clear") && error.contains(option),
            "{error}"
        );
    }
}

#[test]
fn a_file_without_a_secret_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let cases = [
        ("token-file", at("empty", "\n"), "first line"),
        ("basic-file", at("word", "hunter22"), "user:password"),
        (
            "token-file",
            "/nonexistent/token".to_owned(),
            "/nonexistent/token",
        ),
    ];
    for (option, path, words) in cases {
        let options: Options<'_> = &[("field", "a"), ("unit", "W"), (option, &path)];
        let error = at_once("http://127.0.0.1:9/", options).err().unwrap();
        assert!(error.contains(words) && error.contains(option), "{error}");
        assert!(!error.contains("hunter22"), "{error}");
    }
}
