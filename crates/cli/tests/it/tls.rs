//! https, with the system's roots: here a file that stands for them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use crate::common::{Place, Said, rows, said};
use ipw_reference::Script;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A TLS front before the reference service, and the file with its certificate.
pub(crate) struct Front {
    pub(crate) port: u16,
    pub(crate) roots: PathBuf,
}

pub(crate) fn front(place: &Place, names: &[&str]) -> Front {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let roots = place.path().join("roots.pem");
    std::fs::write(&roots, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (acceptor, behind) = (TlsAcceptor::from(Arc::new(config)), place.service.address());
    std::thread::spawn(move || runtime.block_on(serve(listener, acceptor, behind)));
    Front { port, roots }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, behind: SocketAddr) {
    while let Ok((socket, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let mut service = TcpStream::connect(behind).await?;
            let mut socket = acceptor.accept(socket).await?;
            copy_bidirectional(&mut socket, &mut service).await
        });
    }
}

fn profile(place: &Place, url: &str, roots: &PathBuf) -> Said {
    let mut command = place.profile_at(url, "reference", &["--max-queries", "3"]);
    command
        .env("SSL_CERT_FILE", roots)
        .env_remove("SSL_CERT_DIR");
    said(&mut command)
}

#[test]
fn a_service_behind_tls_is_profiled() {
    let place = Place::new(|_| Script::words(6));
    let front = front(&place, &["localhost"]);
    let said = profile(
        &place,
        &format!("https://localhost:{}/v1", front.port),
        &front.roots,
    );
    assert_eq!(said.code, Some(0), "{}", said.err);
    let rows = rows(&place.run());
    assert!(rows.iter().all(|row| row["outcome"] == "complete"));
    let reused = |row: &serde_json::Value| row["http"]["connection_reused"] == true;
    assert!(
        rows.iter().all(reused),
        "the connection of the warm-up serves them all"
    );
    for row in &rows {
        let timing = &row["timing"];
        assert!(timing["sent_seconds"].as_f64() < timing["first_byte_seconds"].as_f64());
    }
}

#[test]
fn a_certificate_without_a_trusted_authority_is_refused() {
    let place = Place::new(|_| Script::words(6));
    let front = front(&place, &["localhost"]);
    let other = rcgen::generate_simple_self_signed(vec!["elsewhere".to_owned()]).unwrap();
    std::fs::write(&front.roots, other.cert.pem()).unwrap();
    let said = profile(
        &place,
        &format!("https://localhost:{}", front.port),
        &front.roots,
    );
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert!(said.err.contains("TLS"), "{}", said.err);
    assert!(!place.runs().exists());
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let place = Place::new(|_| Script::words(6));
    let front = front(&place, &["elsewhere.example"]);
    let said = profile(
        &place,
        &format!("https://localhost:{}", front.port),
        &front.roots,
    );
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert!(
        said.err.contains("TLS") && said.err.contains("not valid for name"),
        "{}",
        said.err
    );
}
