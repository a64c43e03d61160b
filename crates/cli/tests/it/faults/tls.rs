//! A server whose certificate is no good: nothing needs to be behind it.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// What is wrong with a certificate that the system trusts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wrong {
    Name,
    Date,
}

/// Where it listens, and the file with its certificate.
pub(super) struct Front {
    pub(super) url: String,
    pub(super) roots: PathBuf,
}

pub(super) fn front(wrong: Wrong, directory: &Path) -> Front {
    let name = match wrong {
        Wrong::Name => "elsewhere.example",
        Wrong::Date => "localhost",
    };
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    if matches!(wrong, Wrong::Date) {
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
    }
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let roots = directory.join("roots.pem");
    std::fs::write(&roots, certificate.pem()).unwrap();
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = Arc::new(config);
    std::thread::spawn(move || {
        while let Ok((socket, _)) = listener.accept() {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            // The peer hangs up in the middle of the handshake; that is the test.
            let _ = StreamOwned::new(session, socket).write_all(b"never read");
        }
    });
    Front {
        url: format!("https://localhost:{port}"),
        roots,
    }
}
