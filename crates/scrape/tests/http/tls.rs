//! https with an authority of one's own, as the controllers of servers have it.

use std::io::{BufReader, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use ipw_testkit::peer::Peer;
use ipw_testkit::web::Asked;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use super::{Options, at_once, poll};

/// An authority's certificate in a file.
struct Authority {
    _directory: TempDir,
    file: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    std::fs::write(&file, certificate.pem()).unwrap();
    Authority {
        _directory: directory,
        file,
        issuer: Issuer::new(params, key),
    }
}

/// A controller whose certificate the authority has signed.
fn controller(authority: &Authority) -> String {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority.issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    let config = Arc::new(config);
    let peer = Peer::listen(move |stream| {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = BufReader::new(StreamOwned::new(connection, stream));
        while Asked::read(&mut stream).is_ok() {
            let reply = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":3}";
            stream.get_mut().write_all(reply.as_bytes())?;
            stream.get_mut().flush()?;
        }
        Ok(())
    });
    peer.unwrap()
        .url()
        .replace("http://127.0.0.1", "https://localhost")
}

#[test]
fn only_a_certificate_of_the_given_authority_is_taken() {
    let (own, other) = (authority(), authority());
    let url = controller(&own);
    let with = |more: Options<'_>| {
        let mut options = vec![("field", "a"), ("unit", "W")];
        options.extend(more);
        at_once(&url, &options)
    };
    let own = own.file.to_str().unwrap();
    let mut collector = with(&[("ca-file", own)]).unwrap();
    assert!((poll(&mut *collector).0[0].1 - 3.0).abs() < 1e-9);
    assert_eq!(collector.sources()[0].privilege, "network");
    for (options, words) in [
        (&[][..], ""),
        (&[("ca-file", other.file.to_str().unwrap())], ""),
        (&[("ca-file", "/nonexistent.pem")], "/nonexistent.pem"),
    ] {
        let error = with(options).err().unwrap();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn an_unchecked_certificate_is_reported() {
    let url = controller(&authority());
    let options = [("field", "a"), ("unit", "W"), ("tls", "unverified")];
    let mut collector = at_once(&url, &options).unwrap();
    assert!(poll(&mut *collector).1.is_ok());
    let privilege = &collector.sources()[0].privilege;
    assert!(privilege.contains("not verified"), "{privilege}");
}

#[test]
fn a_file_without_a_certificate_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("empty.pem");
    std::fs::write(&file, "nothing").unwrap();
    let options = [
        ("field", "a"),
        ("unit", "W"),
        ("ca-file", file.to_str().unwrap()),
    ];
    let error = at_once("https://localhost:9/", &options).err().unwrap();
    assert!(error.contains("no certificate"), "{error}");
}
