//! What the hub sends, and what is believed.

use std::time::Duration;

use ipw_hub::models::{ModelError, State, list};
use ipw_hub::{Check, Progress, Token};

use crate::common::{FILE, ON_HUB, Place, content, hub_file, named, sha256, sources};
use ipw_testkit::web::{Reply, Served, Server, redirect};

#[test]
fn a_file_is_fetched_once_and_then_found() {
    let place = Place::new();
    let content = content(700_000);
    let server = Server::of(Served::of(&content));
    let model = named(&content, &[ON_HUB]);
    let (path, told) = place.fetch(&sources(&server.url()), &model);
    assert_eq!(std::fs::read(path.unwrap()).unwrap(), content);
    assert!(told.contains(&Progress::Received {
        done: 700_000,
        total: Some(700_000)
    }));
    assert_eq!(place.files(), [FILE, &format!("{FILE}.checked")]);
    assert_eq!(
        server.asked()[0].path,
        "/owner/repo/resolve/abc123/small.gguf"
    );

    let (path, told) = place.fetch(&sources("http://127.0.0.1:1"), &model);
    assert_eq!(path.unwrap(), place.model(""));
    assert_eq!(told, []);
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_wrong_body_is_removed_and_the_error_says_what_came() {
    let place = Place::new();
    let right = content(5_000);
    let mut wrong = right.clone();
    wrong[4_000] ^= 1;
    let server = Server::of(Served::of(&wrong));
    let (fetched, _) = place.fetch(&sources(&server.url()), &named(&right, &[ON_HUB]));
    let text = fetched.unwrap_err().to_string();
    assert!(
        text.contains(&format!("expected SHA-256 {}", sha256(&right))),
        "{text}"
    );
    assert!(
        text.contains(&format!("found {}", sha256(&wrong))),
        "{text}"
    );
    assert!(text.contains("model=/path/to/file.gguf"), "{text}");
    assert_eq!(place.files(), [""; 0]);
}

#[test]
fn a_file_of_another_length_is_not_even_begun() {
    let place = Place::new();
    let server = Server::of(Served::of(&content(6_000)));
    let (fetched, told) = place.fetch(&sources(&server.url()), &named(&content(5_000), &[ON_HUB]));
    let text = fetched.unwrap_err().to_string();
    assert!(
        text.contains("expected 5000 bytes, the server has 6000"),
        "{text}"
    );
    assert!(
        !told
            .iter()
            .any(|told| matches!(told, Progress::Received { .. }))
    );
}

#[test]
fn a_server_that_does_not_stop_is_stopped() {
    let place = Place::new();
    let served = Served {
        hides_length: true,
        ..Served::of(&content(3_000_000))
    };
    let server = Server::of(served);
    let (fetched, _) = place.fetch(&sources(&server.url()), &named(&content(5_000), &[ON_HUB]));
    let text = fetched.unwrap_err().to_string();
    assert!(text.contains("more than it announced"), "{text}");
}

#[test]
fn refusals_say_what_to_do() {
    for (status, expected) in [
        (404, "no such file (404)"),
        (401, "set `HF_TOKEN`"),
        (403, "set `HF_TOKEN`"),
        (500, "answers 500"),
    ] {
        let place = Place::new();
        let server = Server::start(move |_, _| Reply::Status(status, vec![]));
        let (fetched, told) = place.fetch(&sources(&server.url()), &hub_file());
        let text = fetched.unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("tried 127.0.0.1 (owner/repo): "), "{text}");
        assert!(matches!(told.last(), Some(Progress::Failed { .. })));
    }
}

#[test]
fn a_busy_server_is_asked_again() {
    let place = Place::new();
    let content = content(5_000);
    let served = Served::of(&content);
    let server = Server::start(move |_, nth| match nth {
        0 => Reply::Status(503, vec!["Retry-After: 0".to_owned()]),
        1 => Reply::Status(429, vec![]),
        _ => Reply::File(served.clone()),
    });
    let mut sources = sources(&server.url());
    sources.hub.patience.retries = 2;
    let (fetched, told) = place.fetch(&sources, &named(&content, &[ON_HUB]));
    fetched.unwrap();
    let again = told
        .iter()
        .filter(|told| matches!(told, Progress::Again { .. }));
    assert_eq!((again.count(), server.asked().len()), (2, 3));
}

#[test]
fn offline_no_request_is_sent() {
    let server = Server::of(Served::of(&content(5_000)));
    let mut sources = sources(&server.url());
    sources.hub.is_offline = true;
    let (fetched, _) = Place::new().fetch(&sources, &hub_file());
    let text = fetched.unwrap_err().to_string();
    assert!(text.contains("`HF_HUB_OFFLINE` is set"), "{text}");
    assert_eq!(server.asked(), []);
}

#[test]
fn a_silent_server_is_left() {
    let place = Place::new();
    let server = Server::start(|_, _| Reply::Hang);
    let mut sources = sources(&server.url());
    sources.hub.patience.idle = Duration::from_millis(100);
    let (fetched, _) = place.fetch(&sources, &hub_file());
    let text = fetched.unwrap_err().to_string();
    assert!(
        text.contains("`127.0.0.1` sent nothing for 0.1 s"),
        "{text}"
    );
}

#[test]
fn an_address_that_is_none_is_a_source_that_failed() {
    for (endpoint, expected) in [
        ("hub", "`HF_ENDPOINT` is not a URL"),
        ("ftp://hub.example", "not an http or https URL"),
        ("https://me:secret@hub.example", "use `HF_TOKEN`"),
    ] {
        let (fetched, _) = Place::new().fetch(&sources(endpoint), &hub_file());
        let text = fetched.unwrap_err().to_string();
        assert!(
            text.contains(expected) && !text.contains("secret"),
            "{text}"
        );
    }
}

#[test]
fn the_token_goes_to_the_hub_and_not_to_where_the_hub_points() {
    let place = Place::new();
    let content = content(5_000);
    let store = Server::of(Served::of(&content).header("ETag: \"of-the-store\""));
    let target = format!("{}/bucket?signature=1", store.url());
    let hub = Server::start(move |asked, _| {
        if asked.path.starts_with("/moved/") {
            redirect(&target)
        } else {
            redirect("/moved/here")
        }
    });
    let mut sources = sources(&hub.url());
    sources.hub.token = Token::new("hf_secret\n");
    let (fetched, told) = place.fetch(&sources, &named(&content, &[ON_HUB]));
    fetched.unwrap();
    let sent: Vec<_> = hub
        .asked()
        .into_iter()
        .map(|asked| asked.authorization)
        .collect();
    let bearer = Some("Bearer hf_secret".to_owned());
    assert_eq!(sent, [bearer.clone(), bearer]);
    let [asked] = &store.asked()[..] else {
        panic!("the store is asked once");
    };
    assert_eq!(asked.authorization, None);
    assert_eq!(asked.path, "/bucket?signature=1");
    assert!(!format!("{told:?} {sources:?}").contains("hf_secret"));
}

#[test]
fn redirects_end() {
    let server = Server::start(|_, _| redirect("/again"));
    let (fetched, _) = Place::new().fetch(&sources(&server.url()), &hub_file());
    assert!(
        fetched
            .unwrap_err()
            .to_string()
            .contains("more than 10 redirects")
    );
    assert_eq!(server.asked().len(), 11);
}

/// How the one file of the hub in the cache was checked.
fn check_of(place: &Place) -> Option<Check> {
    let listed = list(&place.cache()).unwrap();
    listed.iter().find_map(|listed| match listed.state {
        State::Cached { check, .. } => Some(check),
        _ => None,
    })
}

#[test]
fn the_hubs_own_checksum_decides_where_the_catalogue_has_none() {
    let content = content(5_000);
    let store = Server::of(Served::of(&content).header("ETag: \"of-the-store\""));
    let target = store.url();
    for (linked, is_right) in [(sha256(&content), true), (sha256(b"other"), false)] {
        let place = Place::new();
        let target = target.clone();
        let hub = Server::start(move |_, _| {
            let linked = format!("X-Linked-Etag: \"{linked}\"");
            Reply::Status(302, vec![format!("Location: {target}/x"), linked])
        });
        let (fetched, _) = place.fetch(&sources(&hub.url()), &hub_file());
        assert_eq!(fetched.is_ok(), is_right);
        assert_eq!(check_of(&place), is_right.then_some(Check::Hub));
    }
}

#[test]
fn a_checksum_of_the_store_is_not_taken_for_the_hubs() {
    // Stores have tags of 64 digits that are other hashes of the same file.
    let place = Place::new();
    let content = content(5_000);
    let tag = format!("ETag: \"{}\"", sha256(b"another kind of hash"));
    let store = Server::of(Served::of(&content).header(tag));
    let target = store.url();
    let hub = Server::start(move |_, _| redirect(&target));
    let (fetched, _) = place.fetch(&sources(&hub.url()), &hub_file());
    fetched.unwrap();
    assert_eq!(check_of(&place), Some(Check::Length));
}

#[test]
fn a_log_in_page_is_not_a_model() {
    let place = Place::new();
    let server = Server::of(Served::of(b"<html>please pay for the wireless</html>"));
    let (fetched, _) = place.fetch(&sources(&server.url()), &hub_file());
    let error = fetched.unwrap_err();
    assert!(matches!(error, ModelError::Failed { .. }));
    assert!(error.to_string().contains("not a GGUF file"), "{error}");
    assert_eq!(check_of(&place), None);
}
