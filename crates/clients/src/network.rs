//! What lies between us and a service: certificates, headers of gateways, proxies.

use std::path::PathBuf;

use ipw_core::setting::Setting;

use crate::http::{BaseUrl, Proxy};

/// A way that cannot be used. No text of a header and no user of a proxy is in the message.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A file cannot be read.
    #[error("cannot read the {what} `{}`", path.display())]
    File {
        /// What it is for.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file of authorities has none.
    #[error(
        "the CA file `{}` {problem}\nhelp: `{}` takes certificates in PEM form (`-----BEGIN CERTIFICATE-----`)",
        path.display(),
        Setting::CaFile
    )]
    Authority {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A header cannot be sent.
    #[error("the header {from} {problem}")]
    Header {
        /// Where it comes from.
        from: String,
        /// What is wrong, and how to mend it.
        problem: String,
    },
    /// Headers would travel unencrypted.
    #[error(
        "headers that may hold secrets would go to `{host}` unencrypted\nhelp: use https, a tunnel to loopback, or `{}` if you accept that anybody on the way can read them",
        Setting::InsecureKey
    )]
    Unencrypted {
        /// Where to.
        host: String,
    },
    /// HTTP/2 would have to go through a proxy that forwards HTTP/1.1.
    #[error(
        "{proxy} asks `http://` services in our place, and that in HTTP/1.1 only\nhelp: leave `{}` out, use https, or exempt the service with `NO_PROXY`",
        Setting::Http2
    )]
    Forwarded {
        /// The proxy, and the variable that names it.
        proxy: String,
    },
    /// The proxy of the environment cannot be used.
    #[error("the proxy in `{variable}` {problem}")]
    Proxy {
        /// The variable that names it.
        variable: String,
        /// What is wrong, and how to mend it.
        problem: String,
    },
}

/// Host and port of the proxy that requests to this base URL go through, by this process's
/// environment.
pub fn proxy(base_url: &str) -> Option<String> {
    let url = BaseUrl::parse(base_url).ok()?;
    let proxy = Proxy::find(&url, &environment).ok()??;
    Some(proxy.place().to_owned())
}

/// A variable of this process.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
