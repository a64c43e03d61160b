//! The cache: what is in it, who may write to it, and what goes.

use std::fs;
use std::sync::mpsc;
use std::thread;

use ipw_hub::Progress;
use ipw_hub::models::{Cache, ModelError, ModelRef, State, list, path, remove};

use crate::common::{FILE, ON_HUB, Place, content, hub_file, named, sources};
use ipw_testkit::web::{Served, Server};

const NOWHERE: &str = "http://127.0.0.1:1";

#[test]
fn two_fetchers_at_once_make_one_download() {
    let place = Place::new();
    let content = content(600_000);
    let server = Server::of(Served::of(&content));
    let model = named(&content, &[ON_HUB]);
    let sources = sources(&server.url());
    let (arriving, has_begun) = mpsc::channel();
    let (waiting, is_waiting) = mpsc::channel();
    let (sources, model, cache) = (&sources, &model, &place.cache());
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(move || {
            let mut began = false;
            sources.fetch(model, cache, &mut |progress| {
                if matches!(progress, Progress::Received { .. }) && !began {
                    began = true;
                    arriving.send(()).unwrap();
                    // Does not end before the other has come.
                    is_waiting.recv().unwrap();
                }
            })
        });
        has_begun.recv().unwrap();
        let second = sources.fetch(model, cache, &mut |progress| {
            assert!(matches!(progress, Progress::Waiting { .. }), "{progress:?}");
            let busy = remove(model, cache);
            assert!(matches!(busy, Err(ModelError::Busy { .. })), "{busy:?}");
            waiting.send(()).unwrap();
        });
        (first.join().unwrap(), second)
    });
    assert_eq!(first.unwrap(), second.unwrap());
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_file_from_elsewhere_is_checked_and_kept() {
    let place = Place::new();
    let content = content(5_000);
    let model = named(&content, &[ON_HUB]);
    fs::create_dir_all(place.path("cache/models")).unwrap();
    fs::write(place.model(""), &content).unwrap();
    let (fetched, told) = place.fetch(&sources(NOWHERE), &model);
    fetched.unwrap();
    assert!(matches!(told[..], [Progress::Checking { .. }]));
    let (fetched, told) = place.fetch(&sources(NOWHERE), &model);
    fetched.unwrap();
    assert_eq!(told, []);
}

#[test]
fn a_file_that_changed_is_fetched_again() {
    let place = Place::new();
    let content = content(5_000);
    let model = named(&content, &[ON_HUB]);
    let server = Server::of(Served::of(&content));
    place.fetch(&sources(&server.url()), &model).0.unwrap();
    for other in [vec![1; 5_000], vec![1; 10], vec![]] {
        fs::write(place.model(""), other).unwrap();
        let (fetched, _) = place.fetch(&sources(&server.url()), &model);
        assert_eq!(fs::read(fetched.unwrap()).unwrap(), content);
    }
    assert_eq!(server.asked().len(), 4);
}

#[test]
fn a_cache_that_cannot_be_written_to_says_so_and_what_to_set() {
    // Below a regular file no user can write, not even root.
    let place = Place::new();
    fs::write(place.path("file"), "").unwrap();
    let cache = Cache::at(place.path("file/cache"));
    let fetched = sources(NOWHERE).fetch(&hub_file(), &cache, &mut |_| {});
    let error = fetched.unwrap_err();
    assert!(!error.is_usage());
    let text = error.to_string();
    assert!(
        text.contains("file/cache`") && text.contains("set `IPW_CACHE`"),
        "{text}"
    );
}

#[test]
fn a_file_of_the_users_own_stays_where_it_is() {
    let place = Place::new();
    let own = place.path("own.gguf");
    fs::write(&own, "x").unwrap();
    let model = ModelRef::File(own.clone());
    assert_eq!(place.fetch(&sources(NOWHERE), &model).0.unwrap(), own);
    assert_eq!(path(&model, &place.cache()).unwrap(), Some(own.clone()));
    let refused = remove(&model, &place.cache()).unwrap_err();
    assert!(matches!(refused, ModelError::NotOurs { .. }) && refused.is_usage());
    assert!(own.exists());
    for (missing, what) in [("no.gguf", "does not exist"), ("", "is a directory")] {
        let model = ModelRef::File(place.path(missing));
        let error = place.fetch(&sources(NOWHERE), &model).0.unwrap_err();
        assert!(
            error.is_usage() && error.to_string().contains(what),
            "{error}"
        );
    }
    assert!(!place.path("cache").exists());
}

#[test]
fn what_is_listed_can_be_removed_and_leaves_nothing() {
    let place = Place::new();
    let cache = place.cache();
    let content = content(5_000);
    let server = Server::of(Served::of(&content));
    let small = named(&content, &[ON_HUB]);
    assert_eq!(remove(&small, &cache).unwrap(), None);
    assert_eq!(path(&small, &cache).unwrap(), None);
    for model in [&small, &hub_file()] {
        let (fetched, _) = place.fetch(&sources(&server.url()), model);
        assert_eq!(path(model, &cache).unwrap(), Some(fetched.unwrap()));
    }
    let listed = list(&cache).unwrap();
    assert!(listed[0].entry().is_some() && listed[0].state == State::Absent);
    assert_eq!(listed[1].model, hub_file());
    assert!(matches!(
        listed[1].state,
        State::Cached { bytes: 5_000, .. }
    ));
    assert_eq!(listed.len(), 2);

    fs::write(place.model(".part"), [0; 100]).unwrap();
    fs::create_dir(place.model(".pip")).unwrap();
    fs::write(place.model(".pip").join("wheel"), [0; 1_000]).unwrap();
    let freed = remove(&small, &cache).unwrap().unwrap();
    assert!((6_100..6_500).contains(&freed), "{freed}");
    assert!(remove(&hub_file(), &cache).unwrap().is_some());
    assert!(!place.model("").exists());
    assert_eq!(place.files(), [""; 0]);
    assert_eq!(path(&small, &cache).unwrap(), None);
}

#[test]
fn strangers_in_the_cache_do_not_disturb() {
    let place = Place::new();
    let directory = place.path("cache/models/hf/owner/repo/main");
    fs::create_dir_all(directory.join("empty")).unwrap();
    for name in [
        "README.md",
        "x.gguf.checked",
        "x.gguf.part.origin",
        "lost.gguf",
    ] {
        fs::write(directory.join(name), "x").unwrap();
    }
    fs::write(place.path("cache/models").join(format!("{FILE}.old")), "x").unwrap();
    let listed = list(&place.cache()).unwrap();
    let [_, lost] = &listed[..] else {
        panic!("{listed:?}");
    };
    assert_eq!(lost.model.to_string(), "hf:owner/repo/lost.gguf");
    assert_eq!(lost.state, State::Unchecked { bytes: 1 });
}
