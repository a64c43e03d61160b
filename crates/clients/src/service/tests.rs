//! A service behind proxies, TLS, sockets and gateways, with real sockets and a given environment.

use std::net::SocketAddr;
use std::path::Path;

use ipw_core::client::Network;
use ipw_core::params::Params;
use ipw_reference::Script;
use ipw_runner::SystemClock;
use ipw_testkit::proxy::{self, Manner};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio_rustls::TlsAcceptor;

use super::*;

mod http2;

/// Environment variables of a test.
type Variables<'a> = &'a [(&'a str, &'a str)];

fn spec(network: Network) -> ClientSpec {
    ClientSpec {
        id: "test".to_owned(),
        base_url: None,
        params: Params::default(),
        key: KeySource::Default,
        insecure_key: true,
        network,
        connect_timeout: Duration::from_secs(20),
    }
}

fn service(url: &str, spec: &ClientSpec, variables: Variables<'_>) -> Result<Service, ClientError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    Service::within(spec, BaseUrl::parse(url)?, clock, &|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn reference() -> ipw_reference::Service {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    ipw_reference::Service::start(clock, |_| Script::words(3)).unwrap()
}

/// Lists the models twice: on a new connection, and on the kept one.
async fn ask(service: &Service) -> Result<(Timing, Timing), HttpError> {
    let mut timings = Vec::new();
    for _ in 0..2 {
        let mut timing = Timing::begun(service.clock.now());
        let mut exchange = Exchange::default();
        let request = service.head("GET", "/v1/models") + "\r\n";
        let sent = service
            .pool
            .send(request.as_bytes(), &mut timing, &mut exchange, None);
        let mut answered = sent.await?;
        assert_eq!(answered.head.status.code, 200);
        let body = answered.body.collect(1 << 20).await?;
        assert!(String::from_utf8_lossy(&body).contains("reference"));
        service.pool.give_back(answered.body);
        timings.push(timing);
    }
    let second = timings.remove(1);
    Ok((timings.remove(0), second))
}

fn asked(
    url: &str,
    spec: &ClientSpec,
    variables: Variables<'_>,
) -> Result<(Timing, Timing), HttpError> {
    let service = service(url, spec, variables).unwrap();
    runtime().block_on(ask(&service))
}

/// TLS settings of a server for `service.example`; writes its authority to the given file.
fn server_config(ca_file: &Path) -> rustls::ServerConfig {
    let made = rcgen::generate_simple_self_signed(vec!["service.example".to_owned()]).unwrap();
    std::fs::write(ca_file, made.cert.pem()).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap()
}

/// A TLS front for `service.example` before `behind`, and the file with its authority.
fn front(behind: SocketAddr, ca_file: &Path) -> SocketAddr {
    let acceptor = TlsAcceptor::from(Arc::new(server_config(ca_file)));
    let runtime = runtime();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        runtime.block_on(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let mut far = TcpStream::connect(behind).await?;
                    let mut near = acceptor.accept(socket).await?;
                    copy_bidirectional(&mut near, &mut far).await
                });
            }
        });
    });
    address
}

#[test]
fn https_goes_through_a_tunnel_and_every_phase_has_its_stamp() {
    let (reference, directory) = (reference(), tempfile::tempdir().unwrap());
    let ca_file = directory.path().join("ca.pem");
    let front = front(reference.address(), &ca_file);
    let proxy = proxy::Proxy::start(Manner::PassesTo(front));
    let network = Network {
        ca_file: Some(ca_file),
        ..Network::default()
    };
    let named = format!("http://user:very-secret@{}", proxy.place());
    let variables = [("HTTPS_PROXY", named.as_str())];
    let (first, second) = asked("https://service.example", &spec(network), &variables).unwrap();
    assert_eq!(first.dns, None, "an address needs no name");
    let phases = [
        Some(first.start),
        first.tcp,
        first.proxy,
        first.tls,
        first.connected,
        first.sent,
    ];
    assert!(phases.iter().all(Option::is_some), "{phases:?}");
    assert!(phases.is_sorted(), "{phases:?}");
    assert_eq!((second.tcp, second.proxy, second.tls), (None, None, None));
    assert_eq!(second.connected, None);
    let heads = proxy.heads();
    assert_eq!(heads.len(), 1, "one tunnel for both: {heads:?}");
    assert!(
        heads[0]
            .starts_with("CONNECT service.example:443 HTTP/1.1\r\nhost: service.example:443\r\n")
    );
    // `user:very-secret`, for the proxy only.
    assert!(heads[0].contains("\r\nproxy-authorization: Basic dXNlcjp2ZXJ5LXNlY3JldA==\r\n"));
}

#[test]
fn plain_http_is_asked_of_the_proxy_itself() {
    let reference = reference();
    let proxy = proxy::Proxy::start(Manner::PassesTo(reference.address()));
    let named = format!("http://user:very-secret@{}", proxy.place());
    let variables = [("http_proxy", named.as_str())];
    let url = "http://service.example:8080";
    let (first, second) = asked(url, &spec(Network::default()), &variables).unwrap();
    assert!(first.tcp.is_some() && first.proxy.is_none() && first.tls.is_none());
    assert_eq!(second.tcp, None);
    let heads = proxy.heads();
    assert!(
        heads[0].starts_with(
            "GET http://service.example:8080/v1/models HTTP/1.1\r\nhost: service.example:8080\r\n"
        ),
        "{heads:?}"
    );
    assert!(heads[0].contains("\r\nproxy-authorization: Basic "));
}

#[test]
fn a_proxy_that_refuses_is_named_and_its_password_is_not() {
    for (status, says) in [
        (
            "407 Proxy Authentication Required",
            "does not accept the user",
        ),
        ("403 Forbidden", "403 Forbidden"),
        ("502 Bad Gateway", "502 Bad Gateway"),
    ] {
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\nno");
        let proxy = proxy::Proxy::start(Manner::Says(answer));
        let named = format!("http://user:very-secret@{}", proxy.place());
        let variables = [("HTTPS_PROXY", named.as_str())];
        let spec = spec(Network::default());
        let error = asked("https://service.example", &spec, &variables).unwrap_err();
        assert_eq!(error.failure, Failure::Connect, "{status}");
        assert!(error.text.contains(says), "{}", error.text);
        assert!(error.text.contains(&proxy.place()) && error.text.contains("`HTTPS_PROXY`"));
        assert!(!error.text.contains("very-secret"), "{}", error.text);
    }
}

#[test]
fn a_proxy_with_bad_manners_is_no_connection() {
    let established = "HTTP/1.1 200 OK\r\n\r\n";
    for (answer, says) in [
        ("", "closed the connection"),
        ("SSH-2.0-OpenSSH_9.2\r\n", "not HTTP"),
        (&format!("{established}hello"), "sent data before"),
        (
            &format!("HTTP/1.1 200 OK\r\na: {}", "b".repeat(80 << 10)),
            "does not end",
        ),
    ] {
        let proxy = proxy::Proxy::start(Manner::Says(answer.to_owned()));
        let place = proxy.place();
        let variables = [("ALL_PROXY", place.as_str())];
        let spec = spec(Network::default());
        let error = asked("https://service.example", &spec, &variables).unwrap_err();
        assert_eq!(error.failure, Failure::Connect, "{says}");
        assert!(
            error.text.contains(says) && error.text.contains(&place),
            "{}",
            error.text
        );
    }
}

#[test]
fn a_proxy_that_hangs_or_is_not_there_is_named() {
    let proxy = proxy::Proxy::start(Manner::Hangs);
    let place = proxy.place();
    let mut hurried = spec(Network::default());
    hurried.connect_timeout = Duration::from_millis(300);
    let variables = [("HTTPS_PROXY", place.as_str())];
    let error = asked("https://service.example", &hurried, &variables).unwrap_err();
    assert_eq!(error.failure, Failure::Connect);
    assert!(
        error.text.contains("within 300ms") && error.text.contains(&place),
        "{}",
        error.text
    );
    let free_port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = free_port.local_addr().unwrap().to_string();
    drop(free_port);
    let variables = [("HTTPS_PROXY", place.as_str())];
    let error = asked("https://service.example", &hurried, &variables).unwrap_err();
    assert!(
        error.text.contains(&format!("the proxy `{place}`")),
        "{}",
        error.text
    );
}

#[test]
fn a_status_from_behind_a_forwarding_proxy_names_it() {
    let answer = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
    let proxy = proxy::Proxy::start(Manner::Says(answer.to_owned()));
    let place = proxy.place();
    let variables = [("HTTP_PROXY", place.as_str())];
    let spec = spec(Network::default());
    let service = service("http://service.example", &spec, &variables).unwrap();
    let error = runtime().block_on(service.check("/models")).unwrap_err();
    assert!(
        error.cause.contains("407") && error.cause.contains(&place),
        "{error:?}"
    );
    assert!(error.help.unwrap().contains("user and password"));
}

#[test]
fn an_exempted_service_is_asked_directly() {
    let proxy = proxy::Proxy::start(Manner::Hangs);
    let place = proxy.place();
    let variables = [
        ("HTTP_PROXY", place.as_str()),
        ("NO_PROXY", "nowhere.invalid"),
    ];
    let error = asked(
        "http://nowhere.invalid",
        &spec(Network::default()),
        &variables,
    )
    .unwrap_err();
    assert_eq!(error.failure, Failure::Dns);
    assert!(proxy.heads().is_empty());
}

/// A socket at `path` that forwards to `behind`.
fn relay(path: &Path, behind: SocketAddr) {
    let runtime = runtime();
    let listener = {
        let _inside = runtime.enter();
        UnixListener::bind(path).unwrap()
    };
    std::thread::spawn(move || {
        runtime.block_on(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut far = TcpStream::connect(behind).await?;
                    copy_bidirectional(&mut near, &mut far).await
                });
            }
        });
    });
}

#[test]
fn a_service_on_a_socket_of_this_machine_is_asked() {
    let (reference, directory) = (reference(), tempfile::tempdir().unwrap());
    let path = directory.path().join("a b.sock");
    relay(&path, reference.address());
    let encoded = percent_encoding::percent_encode(
        path.to_str().unwrap().as_bytes(),
        percent_encoding::NON_ALPHANUMERIC,
    );
    let spec = spec(Network::default());
    for url in [
        format!("unix:{}", path.display()),
        format!("http+unix://{encoded}"),
    ] {
        let (first, second) = asked(&url, &spec, &[("ALL_PROXY", "p:1")]).unwrap();
        assert_eq!((first.dns, first.proxy, first.tls), (None, None, None));
        assert!(first.tcp.is_some() && first.tcp <= first.connected);
        assert_eq!(second.tcp, None);
    }
    std::fs::remove_file(&path).unwrap();
    let error = asked(&format!("unix:{}", path.display()), &spec, &[]).unwrap_err();
    assert_eq!(error.failure, Failure::Connect);
    assert!(error.text.contains("a b.sock"), "{}", error.text);
}

#[test]
fn a_name_is_stamped_apart_from_its_socket() {
    let reference = reference();
    let url = format!("http://localhost:{}", reference.address().port());
    let (first, second) = asked(&url, &spec(Network::default()), &[]).unwrap();
    let phases = [
        Some(first.start),
        first.dns,
        first.tcp,
        first.connected,
        first.sent,
    ];
    assert!(
        phases.iter().all(Option::is_some) && phases.is_sorted(),
        "{phases:?}"
    );
    assert_eq!((second.dns, second.tcp), (None, None));
}

#[test]
fn a_warm_connection_s_phases_are_no_query_s() {
    let reference = reference();
    let service = service(&reference.url(), &spec(Network::default()), &[]).unwrap();
    let (first, _) = runtime().block_on(async {
        service.pool.warm(1).await.unwrap();
        ask(&service).await.unwrap()
    });
    assert_eq!((first.dns, first.tcp, first.connected), (None, None, None));
}

#[test]
fn headers_of_gateways_go_with_every_request() {
    let mut spec = spec(Network {
        header_env: vec!["GATEWAY".to_owned(), "AGENT".to_owned()],
        ..Network::default()
    });
    let variables = [
        ("GATEWAY", "Authorization: Basic very-secret"),
        ("AGENT", "User-Agent: mine"),
    ];
    let made = service("https://service.example", &spec, &variables).unwrap();
    let head = made.head("GET", "/models");
    assert!(
        head.ends_with("\r\nauthorization: Basic very-secret\r\nuser-agent: mine\r\n"),
        "{head}"
    );
    assert_eq!(head.matches("user-agent").count(), 1);
    // A key conflicts with the user's own `authorization` header.
    spec.key = KeySource::Env("PATH".to_owned());
    let error = service("https://service.example", &spec, &variables)
        .err()
        .unwrap();
    assert!(error.to_string().contains("`authorization`"), "{error}");
}

#[test]
fn an_authority_that_is_not_there_is_named_before_anything_is_sent() {
    let spec = spec(Network {
        ca_file: Some("/nowhere/ca.pem".into()),
        ..Network::default()
    });
    let error = service("https://service.example", &spec, &[])
        .err()
        .unwrap();
    assert!(error.to_string().contains("`/nowhere/ca.pem`"), "{error}");
}
