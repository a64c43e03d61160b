//! HTTP as it is in the field: proxies, private authorities, gateways' headers, sockets.

use std::os::unix::net::UnixListener;
use std::path::Path;

use ipw_reference::Script;
use ipw_testkit::proxy::{Manner, Proxy};

use crate::common::{Place, rows, said, summary, without_proxies};
use crate::tls::front;

const SECRET: &str = "very-secret";

/// Every file of a run, as text.
fn files(directory: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        if entry.path().is_dir() {
            text.push_str(&files(&entry.path()));
        } else {
            text.push_str(&String::from_utf8_lossy(
                &std::fs::read(entry.path()).unwrap(),
            ));
        }
    }
    text
}

#[test]
fn a_service_behind_proxy_authority_and_gateway_is_profiled_without_a_trace_of_secrets() {
    let place = Place::new(|_| Script::words(4));
    let front = front(&place, &["service.example"]);
    let proxy = Proxy::start(Manner::PassesTo(([127, 0, 0, 1], front.port).into()));
    let headers = place.path().join("headers");
    std::fs::write(&headers, format!("X-Gateway: {SECRET}\n")).unwrap();
    let mut command = place.profile_at(
        "https://service.example/v1",
        "reference",
        &["--max-queries", "3", "--header-env", "TEAM_HEADER"],
    );
    command
        .arg("--ca-file")
        .arg(&front.roots)
        .arg("--header-file")
        .arg(&headers);
    without_proxies(&mut command)
        .env("TEAM_HEADER", format!("X-Team: {SECRET}"))
        .env(
            "HTTPS_PROXY",
            format!("http://user:{SECRET}@{}", proxy.place()),
        );
    let said = said(&mut command);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let run = place.run();
    assert!(rows(&run).iter().all(|row| row["outcome"] == "complete"));
    assert_eq!(summary(&run)["client_info"]["proxy"], proxy.place());
    assert!(
        proxy
            .heads()
            .iter()
            .all(|head| head.starts_with("CONNECT service.example:443 "))
    );
    let log = place.service.log();
    assert!(
        log.iter()
            .all(|one| one.received.header("x-gateway") == Some(SECRET))
    );
    assert!(
        log.iter()
            .all(|one| one.received.header("x-team") == Some(SECRET))
    );
    assert!(
        log.iter()
            .all(|one| one.received.header("proxy-authorization").is_none())
    );
    let plan = std::fs::read_to_string(run.join("plan.toml")).unwrap();
    assert!(
        plan.contains("TEAM_HEADER") && plan.contains("ca_file"),
        "{plan}"
    );
    for text in [&files(&run), &said.out, &said.err] {
        assert!(!text.contains(SECRET) && !text.contains("dXNlcj"));
    }
}

#[test]
fn a_proxy_that_refuses_is_named_and_ends_with_3() {
    let place = Place::new(|_| Script::words(4));
    let answer = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
    let proxy = Proxy::start(Manner::Says(answer.to_owned()));
    for (scheme, variable) in [("https", "HTTPS_PROXY"), ("http", "HTTP_PROXY")] {
        let url = format!("{scheme}://service.example");
        let mut command = place.profile_at(&url, "reference", &[]);
        without_proxies(&mut command)
            .env(variable, format!("http://user:{SECRET}@{}", proxy.place()));
        let said = said(&mut command);
        assert_eq!(said.code, Some(3), "{}", said.err);
        assert!(
            said.err.contains("407") && said.err.contains(&proxy.place()),
            "{}",
            said.err
        );
        assert!(!said.err.contains(SECRET), "{}", said.err);
    }
    assert!(!place.runs().exists());
}

#[test]
fn what_cannot_be_used_ends_with_2_before_anything_is_sent() {
    let place = Place::new(|_| Script::words(4));
    let bad = place.path().join("bad");
    std::fs::write(&bad, format!("X-Gateway {SECRET}\n")).unwrap();
    let bad = bad.to_str().unwrap();
    for (more, says) in [
        (&["--ca-file", "/nowhere/ca.pem"][..], "/nowhere/ca.pem"),
        (&["--ca-file", bad], "holds no certificate"),
        (&["--header-file", "/nowhere/headers"], "/nowhere/headers"),
        (&["--header-file", bad], "line 1"),
        (&["--header-env", "IPW_TEST_NOT_SET"], "not set"),
        (
            &["--header-env", "X-Team: very-secret"],
            "name of a variable",
        ),
    ] {
        let said = said(&mut place.profile(more));
        assert_eq!(said.code, Some(2), "{more:?}: {}", said.err);
        assert!(said.err.contains(says), "{more:?}: {}", said.err);
        assert!(!said.err.contains(SECRET), "{}", said.err);
    }
    let mut command = place.profile_at("https://service.example", "m", &[]);
    let odd = format!("socks5://user:{SECRET}@127.0.0.1:1");
    let said = said(without_proxies(&mut command).env("ALL_PROXY", odd));
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(
        said.err.contains("`ALL_PROXY`") && !said.err.contains(SECRET),
        "{}",
        said.err
    );
    assert_eq!(place.service.requests(), 0);
}

#[test]
fn a_service_on_a_socket_runs_here() {
    let place = Place::new(|_| Script::words(4));
    let path = place.path().join("service.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let behind = place.service.address();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = std::net::TcpStream::connect(behind).unwrap();
            let (mut to, mut from) = (far.try_clone().unwrap(), near.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            let (mut to, mut from) = (near, far);
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
        }
    });
    let url = format!("unix:{}", path.display());
    let key = place.path().join("key");
    std::fs::write(&key, SECRET).unwrap();
    let mut command = place.profile_at(&url, "reference", &["--max-queries", "2"]);
    // A key may go there, and no proxy is asked.
    command.arg("--api-key-file").arg(&key);
    let said = said(without_proxies(&mut command).env("ALL_PROXY", "127.0.0.1:1"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let run = place.run();
    assert_eq!(summary(&run)["client_info"]["base_url"], url);
    let rows = rows(&run);
    assert!(rows.iter().all(|row| row["outcome"] == "complete"));
    assert!(
        rows.iter()
            .all(|row| row["energy"]["reason"] != "remote_service"),
        "{rows:?}"
    );
    let asked = &place.service.log()[0].received;
    assert_eq!(asked.header("host"), Some("localhost"));
    assert_eq!(asked.header("authorization"), Some("Bearer very-secret"));
}
