//! Which hosts and origins are answered.

use ipw_testkit::tiny_model::TinyModel;

use crate::harness::{Answer, Running};

fn ask(server: &Running, headers: &str) -> Answer {
    server.connect().ask("GET", "/v1/models", headers, "")
}

#[test]
fn only_names_and_addresses_of_this_machine_are_answered() {
    let server = Running::start();
    for (host, status) in [
        ("127.0.0.1", 200),
        ("127.0.0.1:1", 200),
        ("127.1.2.3:80", 200),
        ("localhost:8080", 200),
        ("LocalHost", 200),
        ("localhost.", 200),
        ("[::1]", 200),
        ("[::1]:8080", 200),
        ("[::ffff:127.0.0.1]:1", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example:8080", 403),
        ("evil.localhost", 403),
        ("10.0.0.1", 403),
        ("0.0.0.0:8080", 403),
        ("[::2]", 403),
        ("::1", 403),
        ("me@localhost", 403),
        ("localhost:80:80", 403),
        ("localhost:x", 403),
        ("[::1]x", 403),
        ("", 403),
    ] {
        let answer = ask(&server, &format!("Host: {host}\r\n"));
        assert_eq!(answer.status, status, "{host}: {}", answer.body);
        if status == 403 {
            assert_eq!(answer.json()["error"]["code"], "forbidden_host", "{host}");
        }
    }
    let twice = ask(&server, "Host: localhost\r\nHost: evil.example\r\n");
    assert_eq!(twice.status, 400);
    let mut without = server.connect();
    without.write(b"GET /health HTTP/1.0\r\n\r\n");
    assert_eq!(without.answer("GET").status, 400);
    // A whole URL in the request line counts, whatever the header says.
    let path = "http://evil.example/health";
    assert_eq!(
        server
            .connect()
            .ask("GET", path, "Host: localhost\r\n", "")
            .status,
        403
    );
    assert_eq!(
        server
            .connect()
            .ask("GET", "http://localhost/health", "", "")
            .status,
        200
    );
}

#[test]
fn a_host_is_answered_when_it_was_allowed() {
    let server = Running::with(&TinyModel::default(), |server| {
        let hosts = ["Box.lan", "10.0.0.1", "[2001:db8::1]"].map(|host| host.parse().unwrap());
        hosts
            .into_iter()
            .fold(server, ipw_engine::server::Server::allowing)
    });
    for host in [
        "box.lan:8080",
        "BOX.LAN.",
        "10.0.0.1:1",
        "[2001:DB8::1]:1",
        "localhost",
    ] {
        assert_eq!(
            ask(&server, &format!("Host: {host}\r\n")).status,
            200,
            "{host}"
        );
    }
    for host in ["evil.lan", "a.box.lan", "10.0.0.2"] {
        assert_eq!(
            ask(&server, &format!("Host: {host}\r\n")).status,
            403,
            "{host}"
        );
    }
}

#[test]
fn only_pages_of_this_machine_are_answered() {
    let server = Running::start();
    for (origin, status) in [
        ("http://localhost:3000", 200),
        ("http://127.0.0.1", 200),
        ("https://[::1]:8443", 200),
        ("http://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("http://localhost@evil.example", 403),
        ("file://localhost", 403),
        ("chrome-extension://abc", 403),
        ("null", 403),
        ("", 403),
    ] {
        let answer = ask(&server, &format!("Origin: {origin}\r\n"));
        assert_eq!(answer.status, status, "{origin}: {}", answer.body);
        assert!(!answer.head.contains("access-control"), "{}", answer.head);
        if status == 403 {
            assert_eq!(answer.json()["error"]["code"], "forbidden_origin");
        }
    }
}

#[test]
fn the_name_of_a_host_has_no_port_and_no_path() {
    use ipw_engine::server::guard::HostName;
    for (text, name) in [
        ("Box.lan.", "box.lan"),
        ("[::1]", "::1"),
        ("0:0::1", "::1"),
        ("a_b-c", "a_b-c"),
    ] {
        assert_eq!(text.parse::<HostName>().unwrap().as_str(), name);
    }
    for wrong in [
        "",
        ".",
        "box:80",
        "http://box",
        "box/x",
        "a b",
        "*",
        "[box]",
        "ä.de",
    ] {
        let error = wrong.parse::<HostName>().unwrap_err();
        assert!(
            error.to_string().contains("is not a host name or address"),
            "{wrong}"
        );
    }
}
