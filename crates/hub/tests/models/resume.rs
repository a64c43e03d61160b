//! Transfers that break, and go on.

use std::fs;

use ipw_hub::models::{ModelError, State, list};
use ipw_hub::{CacheError, Progress};

use crate::common::{FILE, ON_HUB, Place, content, hub_file, named, sha256, sources};
use ipw_testkit::web::{Reply, Served, Server};

const TAG: &str = "ETag: \"version-1\"";

#[test]
fn the_next_fetch_goes_on_where_the_last_one_broke() {
    let place = Place::new();
    let content = content(900_000);
    let model = named(&content, &[ON_HUB]);
    let served = Served::of(&content);
    let server = Server::start(move |_, nth| {
        Reply::File(match nth {
            0 => served.clone().cut_after(400_000),
            _ => served.clone(),
        })
    });
    let (fetched, _) = place.fetch(&sources(&server.url()), &model);
    let text = fetched.unwrap_err().to_string();
    assert!(text.contains("cut off after 400000 bytes"), "{text}");
    assert_eq!(fs::metadata(place.model(".part")).unwrap().len(), 400_000);

    let (fetched, told) = place.fetch(&sources(&server.url()), &model);
    assert_eq!(fs::read(fetched.unwrap()).unwrap(), content);
    assert_eq!(server.ranges(), [None, Some("bytes=400000-".to_owned())]);
    assert!(told.contains(&Progress::Started {
        resumed: 400_000,
        total: Some(900_000)
    }));
    assert_eq!(place.files(), [FILE, &format!("{FILE}.checked")]);
}

#[test]
fn a_line_that_breaks_again_and_again_still_brings_the_file() {
    let place = Place::new();
    let content = content(900_000);
    let served = Served::of(&content).cut_after(200_000);
    let server = Server::of(served);
    let mut sources = sources(&server.url());
    sources.hub.patience.retries = 1;
    let (fetched, told) = place.fetch(&sources, &named(&content, &[ON_HUB]));
    assert_eq!(fs::read(fetched.unwrap()).unwrap(), content);
    assert_eq!(server.asked().len(), 5);
    let again = told
        .iter()
        .filter(|told| matches!(told, Progress::Again { .. }));
    assert_eq!(again.count(), 4);
}

#[test]
fn a_line_that_brings_nothing_is_given_up() {
    let place = Place::new();
    let content = content(9_000);
    let served = Served::of(&content);
    let server = Server::start(move |_, nth| {
        Reply::File(served.clone().cut_after(if nth == 0 { 1_000 } else { 0 }))
    });
    let mut sources = sources(&server.url());
    sources.hub.patience.retries = 2;
    let (fetched, _) = place.fetch(&sources, &named(&content, &[ON_HUB]));
    assert!(fetched.is_err());
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn a_server_without_ranges_starts_again_cleanly() {
    let place = Place::new();
    let content = content(9_000);
    let model = named(&content, &[ON_HUB]);
    let served = Served {
        ignores_range: true,
        ..Served::of(&content)
    };
    let server = Server::start(move |_, nth| {
        Reply::File(match nth {
            0 => served.clone().cut_after(4_000),
            _ => served.clone(),
        })
    });
    assert!(place.fetch(&sources(&server.url()), &model).0.is_err());
    let (fetched, _) = place.fetch(&sources(&server.url()), &model);
    assert_eq!(fs::read(fetched.unwrap()).unwrap(), content);
    assert_eq!(server.ranges(), [None, Some("bytes=4000-".to_owned())]);
}

#[test]
fn half_of_one_version_and_half_of_another_never_meet() {
    let place = Place::new();
    let (old, new) = (content(9_000), [content(8_000), vec![7; 1_000]].concat());
    let expected = new.clone();
    let server = Server::start(move |_, nth| {
        Reply::File(match nth {
            0 => Served::of(&old).header(TAG).cut_after(4_000),
            _ => Served::of(&new).header("ETag: \"version-2\""),
        })
    });
    assert!(place.fetch(&sources(&server.url()), &hub_file()).0.is_err());
    let (fetched, _) = place.fetch(&sources(&server.url()), &hub_file());
    assert_eq!(fs::read(fetched.unwrap()).unwrap(), expected);
    let range = Some("bytes=4000-".to_owned());
    assert_eq!(server.ranges(), [None, range, None]);
}

#[test]
fn a_part_of_the_same_version_goes_on_without_a_checksum() {
    let place = Place::new();
    let content = content(9_000);
    let served = Served::of(&content).header(TAG);
    let server = Server::start(move |_, nth| {
        Reply::File(match nth {
            0 => served.clone().cut_after(4_000),
            _ => served.clone(),
        })
    });
    assert!(place.fetch(&sources(&server.url()), &hub_file()).0.is_err());
    let listed = list(&place.cache()).unwrap();
    let left = listed.iter().find(|listed| listed.model == hub_file());
    assert_eq!(left.unwrap().state, State::Partial { bytes: 4_000 });
    let (fetched, _) = place.fetch(&sources(&server.url()), &hub_file());
    assert_eq!(fs::read(fetched.unwrap()).unwrap(), content);
    assert_eq!(server.ranges()[1], Some("bytes=4000-".to_owned()));
}

#[test]
fn a_transfer_goes_on_behind_a_redirect() {
    let place = Place::new();
    let content = content(9_000);
    let served = Served::of(&content);
    let store = Server::start(move |_, nth| {
        Reply::File(match nth {
            0 => served.clone().cut_after(4_000),
            _ => served.clone(),
        })
    });
    let target = format!("Location: {}/bucket", store.url());
    let linked = format!("X-Linked-Etag: \"{}\"", sha256(&content));
    let hub = Server::start(move |_, _| Reply::Status(302, vec![target.clone(), linked.clone()]));
    assert!(place.fetch(&sources(&hub.url()), &hub_file()).0.is_err());
    let (fetched, _) = place.fetch(&sources(&hub.url()), &hub_file());
    assert_eq!(fs::read(fetched.unwrap()).unwrap(), content);
    assert_eq!(store.ranges(), [None, Some("bytes=4000-".to_owned())]);
}

#[test]
fn a_part_that_nothing_vouches_for_is_not_continued() {
    let place = Place::new();
    let content = content(9_000);
    let served = Served::of(&content);
    let server = Server::start(move |_, nth| {
        Reply::File(match nth {
            0 => served.clone().cut_after(4_000),
            _ => served.clone(),
        })
    });
    assert!(place.fetch(&sources(&server.url()), &hub_file()).0.is_err());
    place.fetch(&sources(&server.url()), &hub_file()).0.unwrap();
    assert_eq!(server.ranges(), [None, None]);
}

#[test]
fn a_part_from_another_address_is_not_continued() {
    let place = Place::new();
    let content = content(9_000);
    let model = named(&content, &[ON_HUB]);
    let broken = Server::of(Served::of(&content).cut_after(4_000));
    let whole = Server::of(Served::of(&content));
    assert!(place.fetch(&sources(&broken.url()), &model).0.is_err());
    place.fetch(&sources(&whole.url()), &model).0.unwrap();
    assert_eq!(whole.ranges(), [None]);
}

/// Leaves a part as a fetch from `url` would.
fn leave_part(place: &Place, url: &str, part: &[u8]) {
    fs::create_dir_all(place.path("cache/models")).unwrap();
    fs::write(place.model(".part"), part).unwrap();
    let origin = format!("{url}/owner/repo/resolve/abc123/{FILE}\n");
    fs::write(place.model(".part.origin"), origin).unwrap();
}

#[test]
fn a_part_that_rotted_is_fetched_again() {
    let place = Place::new();
    let content = content(9_000);
    let server = Server::of(Served::of(&content));
    leave_part(&place, &server.url(), &[0; 5_000]);
    let (fetched, _) = place.fetch(&sources(&server.url()), &named(&content, &[ON_HUB]));
    assert_eq!(fs::read(fetched.unwrap()).unwrap(), content);
    assert_eq!(server.ranges(), [Some("bytes=5000-".to_owned()), None]);
}

#[test]
fn a_part_that_was_complete_needs_no_network() {
    let place = Place::new();
    let content = content(9_000);
    let nowhere = "http://127.0.0.1:1";
    leave_part(&place, nowhere, &content);
    let (fetched, told) = place.fetch(&sources(nowhere), &named(&content, &[ON_HUB]));
    assert_eq!(fs::read(fetched.unwrap()).unwrap(), content);
    assert!(
        told.iter()
            .any(|told| matches!(told, Progress::Checking { .. }))
    );
}

#[test]
fn a_part_beyond_the_end_is_dropped() {
    let place = Place::new();
    let content = content(9_000);
    let server = Server::of(Served::of(&content));
    leave_part(&place, &server.url(), &[0; 10_000]);
    let (fetched, _) = place.fetch(&sources(&server.url()), &named(&content, &[ON_HUB]));
    assert_eq!(fs::read(fetched.unwrap()).unwrap(), content);
    assert_eq!(server.ranges(), [None]);
}

#[test]
fn nothing_more_to_send_is_the_end_or_a_fresh_start() {
    let content = content(9_000);
    for (length, asked) in [(9_000, 1), (12_000, 2)] {
        let place = Place::new();
        let server = Server::of(Served::of(&content).header(TAG));
        let directory = place.path("cache/models/hf/owner/repo/main/sub");
        fs::create_dir_all(&directory).unwrap();
        let mut part = content.clone();
        part.resize(length, 0);
        fs::write(directory.join("small.gguf.part"), part).unwrap();
        let url = format!("{}/owner/repo/resolve/main/sub/small.gguf", server.url());
        let origin = format!("{url}\nversion-1\n");
        fs::write(directory.join("small.gguf.part.origin"), origin).unwrap();
        let (fetched, _) = place.fetch(&sources(&server.url()), &hub_file());
        assert_eq!(fs::read(fetched.unwrap()).unwrap(), content);
        assert_eq!(server.asked().len(), asked);
        assert_eq!(server.ranges()[0], Some(format!("bytes={length}-")));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_with_where_and_how_much() {
    // Every write to this device fails as on a full disk.
    let place = Place::new();
    let content = content(9_000);
    let server = Server::of(Served::of(&content));
    fs::create_dir_all(place.path("cache/models")).unwrap();
    std::os::unix::fs::symlink("/dev/full", place.model(".part")).unwrap();
    let (fetched, _) = place.fetch(&sources(&server.url()), &named(&content, &[ON_HUB]));
    let error = fetched.unwrap_err();
    let ModelError::Cache(CacheError::DiskFull {
        directory, needed, ..
    }) = &error
    else {
        panic!("{error}");
    };
    assert_eq!(directory, &place.path("cache/models"));
    assert_eq!(*needed, 9_000);
    assert!(error.to_string().contains("9.0 kB needed"), "{error}");
}
