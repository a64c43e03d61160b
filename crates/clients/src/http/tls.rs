//! Trusted certificates: the system's authorities, and those of a file.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{Error, PemObject as _};
use rustls::{ClientConfig, RootCertStore};

use crate::network::NetworkError;

/// Reads a PEM file: at least one certificate, all usable as authorities.
pub(crate) fn authorities(path: &Path) -> Result<Vec<CertificateDer<'static>>, NetworkError> {
    let wrong = |problem: String| NetworkError::Authority {
        path: path.to_owned(),
        problem,
    };
    let text = std::fs::read(path).map_err(|source| NetworkError::File {
        what: "CA file",
        path: path.to_owned(),
        source,
    })?;
    let found: Result<Vec<_>, Error> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| wrong(format!("is damaged: {error}")))?;
    if found.is_empty() {
        return Err(wrong("holds no certificate".to_owned()));
    }
    let mut roots = RootCertStore::empty();
    for (nth, certificate) in found.iter().enumerate() {
        roots.add(certificate.clone()).map_err(|error| {
            wrong(format!(
                "has an unusable certificate, number {}: {error}",
                nth + 1
            ))
        })?;
    }
    Ok(found)
}

/// A TLS configuration that trusts the system's authorities and `more`, and offers `protocols`
/// (ALPN).
pub(super) fn config(
    more: &[CertificateDer<'static>],
    protocols: &[&[u8]],
) -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    let (added, _) = roots.add_parsable_certificates(more.iter().cloned());
    if usable + added == 0 {
        let causes: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
        return Err(format!(
            "no root certificates on this system{}{}",
            if causes.is_empty() { "" } else { ": " },
            causes.join("; ")
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_authorities_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        for (name, content, says) in [
            ("empty.pem", "", "holds no certificate"),
            ("text.pem", "not a certificate", "holds no certificate"),
            ("cut.pem", "-----BEGIN CERTIFICATE-----\nMIIB", "is damaged"),
            (
                "odd.pem",
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                "unusable certificate",
            ),
        ] {
            let path = directory.path().join(name);
            std::fs::write(&path, content).unwrap();
            let error = authorities(&path).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains(name), "{error}");
        }
        let error = authorities(&directory.path().join("none.pem")).unwrap_err();
        assert!(error.to_string().contains("none.pem"), "{error}");
    }

    #[test]
    fn the_authorities_of_a_file_are_found_among_other_things() {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let pem = made.cert.pem();
        std::fs::write(file.path(), format!("a comment\n{pem}\n{pem}")).unwrap();
        assert_eq!(authorities(file.path()).unwrap().len(), 2);
    }
}
