//! Flags for the network path to a service.

use std::path::PathBuf;

use clap::Args;

/// Certificates, headers and protocol. `ProfileArgs` repeats these fields: they are also keys of
/// `ipw.toml`, and an error in a flattened field would not name its place in the file.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct NetworkArgs {
    /// PEM file of CA certificates to trust in addition to the system's
    #[arg(long, value_name = "PATH", env = "IPW_CA_FILE", hide_short_help = true)]
    pub(crate) ca_file: Option<PathBuf>,
    /// File of `Name: value` lines to send as headers with every request; never stored or shown
    #[arg(
        long,
        value_name = "PATH",
        env = "IPW_HEADER_FILE",
        hide_short_help = true
    )]
    pub(crate) header_file: Option<PathBuf>,
    /// Environment variable that holds one such header line; repeatable
    #[arg(
        long,
        value_name = "NAME",
        env = "IPW_HEADER_ENV",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub(crate) header_env: Vec<String>,
    /// Use HTTP/2 only: many queries share one connection [default: HTTP/1.1]
    #[arg(long, hide_short_help = true)]
    pub(crate) http2: bool,
}
