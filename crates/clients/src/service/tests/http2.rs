//! HTTP/2 over tunnels, TLS and sockets.

use std::path::PathBuf;

use super::*;
use crate::served::{Act, Options, Served, chat};

fn network(ca_file: Option<PathBuf>) -> Network {
    Network {
        ca_file,
        http2: true,
        ..Network::default()
    }
}

/// An HTTP/2 service that lists the model `reference`; with TLS if a file for its authority is
/// given.
fn listing(ca_file: Option<&Path>, protocols: &[&[u8]]) -> Served {
    let tls = ca_file.map(|ca_file| {
        let mut config = server_config(ca_file);
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    });
    let options = Options { streams: None, tls };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    Served::start(options, clock, |_| Act::Says(chat(&["reference"])))
}

#[test]
fn http_2_goes_through_a_tunnel_and_every_phase_has_its_stamp() {
    let directory = tempfile::tempdir().unwrap();
    let ca_file = directory.path().join("ca.pem");
    let served = listing(Some(&ca_file), &[b"h2"]);
    let proxy = proxy::Proxy::start(Manner::PassesTo(served.address));
    let (spec, place) = (spec(network(Some(ca_file))), proxy.place());
    let variables = [("HTTPS_PROXY", place.as_str())];
    let (first, second) = asked("https://service.example", &spec, &variables).unwrap();
    let phases = [
        Some(first.start),
        first.tcp,
        first.proxy,
        first.tls,
        first.connected,
        first.sent,
        first.first_byte,
    ];
    assert!(phases.iter().all(Option::is_some), "{phases:?}");
    assert!(phases.is_sorted(), "{phases:?}");
    assert_eq!((second.tcp, second.proxy, second.tls), (None, None, None));
    assert_eq!(proxy.heads().len(), 1);
    let asked = served.asked();
    assert_eq!((asked.len(), served.connections()), (2, 1));
    assert_eq!(asked[0].path, "/v1/models");
}

#[test]
fn a_forwarding_proxy_is_refused_by_name_before_anything_is_sent() {
    let variables = [("HTTP_PROXY", "http://user:very-secret@proxy.example:3128")];
    let error = service("http://service.example", &spec(network(None)), &variables);
    let error = error.err().unwrap().to_string();
    for says in ["proxy.example:3128", "`HTTP_PROXY`", "remove `http2`"] {
        assert!(error.contains(says), "{error}");
    }
    assert!(!error.contains("very-secret"), "{error}");
}

#[test]
fn a_handshake_that_agrees_on_something_else_is_no_http_2() {
    for (protocols, says) in [
        (&[][..], "does not select `h2`"),
        (&[&b"http/1.1"[..]], "refuses `h2`"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let ca_file = directory.path().join("ca.pem");
        let served = listing(Some(&ca_file), protocols);
        let proxy = proxy::Proxy::start(Manner::PassesTo(served.address));
        let (spec, place) = (spec(network(Some(ca_file))), proxy.place());
        let variables = [("HTTPS_PROXY", place.as_str())];
        let error = asked("https://service.example", &spec, &variables).unwrap_err();
        assert_eq!(error.failure, Failure::Protocol, "{}", error.text);
        assert!(error.text.contains(says), "{}", error.text);
    }
}

#[test]
fn a_certificate_is_looked_at_as_ever() {
    let directory = tempfile::tempdir().unwrap();
    let served = listing(Some(&directory.path().join("ca.pem")), &[b"h2"]);
    let other = directory.path().join("other.pem");
    let made = rcgen::generate_simple_self_signed(vec!["other.example".to_owned()]).unwrap();
    std::fs::write(&other, made.cert.pem()).unwrap();
    let proxy = proxy::Proxy::start(Manner::PassesTo(served.address));
    let (spec, place) = (spec(network(Some(other))), proxy.place());
    let variables = [("HTTPS_PROXY", place.as_str())];
    let error = asked("https://service.example", &spec, &variables).unwrap_err();
    assert_eq!(error.failure, Failure::Tls, "{}", error.text);
}

#[test]
fn a_socket_of_this_machine_is_asked_by_prior_knowledge() {
    let (served, directory) = (listing(None, &[]), tempfile::tempdir().unwrap());
    let path = directory.path().join("service.sock");
    relay(&path, served.address);
    let url = format!("unix:{}", path.display());
    let (first, second) = asked(&url, &spec(network(None)), &[]).unwrap();
    assert!(first.tcp.is_some() && first.tcp <= first.connected);
    assert_eq!(second.tcp, None);
    assert_eq!(served.connections(), 1);
}
