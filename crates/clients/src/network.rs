//! The network path to a service: certificates, gateway headers and proxies.

use std::path::PathBuf;

use ipw_core::setting::Setting;

use crate::http::{BaseUrl, Proxy};

/// Why the network settings cannot be used. Messages contain no header value and no proxy user.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A file cannot be read.
    #[error("cannot read the {what} `{}`", path.display())]
    File {
        /// The kind of file.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// The CA file has no usable certificates.
    #[error(
        "the CA file `{}` {problem}\nhelp: `{}` takes certificates in PEM form (`-----BEGIN CERTIFICATE-----`)",
        path.display(),
        Setting::CaFile
    )]
    Authority {
        /// The CA file.
        path: PathBuf,
        /// The problem, for the message.
        problem: String,
    },
    /// A header cannot be sent.
    #[error("the header {from} {problem}")]
    Header {
        /// The header's source, for messages.
        from: String,
        /// The problem and the help.
        problem: String,
    },
    /// Headers would be sent unencrypted.
    #[error(
        "headers that may hold secrets would go to `{host}` unencrypted\nhelp: use https, a tunnel to loopback, or `{}` if you accept that they can be read in transit",
        Setting::InsecureKey
    )]
    Unencrypted {
        /// The service's host.
        host: String,
    },
    /// HTTP/2 is requested, but the proxy forwards only HTTP/1.1.
    #[error(
        "{proxy} forwards `http://` requests with HTTP/1.1 only\nhelp: remove `{}`, use https, or exempt the service with `NO_PROXY`",
        Setting::Http2
    )]
    Forwarded {
        /// The proxy and the variable that names it.
        proxy: String,
    },
    /// The environment names an unusable proxy.
    #[error("the proxy in `{variable}` {problem}")]
    Proxy {
        /// The environment variable.
        variable: String,
        /// The problem and the help.
        problem: String,
    },
}

/// The proxy (`host:port`) that this process's environment names for a base URL.
pub fn proxy(base_url: &str) -> Option<String> {
    let url = BaseUrl::parse(base_url).ok()?;
    let proxy = Proxy::find(&url, &environment).ok()??;
    Some(proxy.place().to_owned())
}

/// An environment variable of this process.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
