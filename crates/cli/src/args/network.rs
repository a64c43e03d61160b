//! What lies between us and a service: the same flags wherever one is asked.

use std::path::PathBuf;

use clap::Args;

/// Certificates, headers and protocol. `ProfileArgs` has them as fields of its own: they are keys of
/// `ipw.toml` as well, and flattened there a wrong one would be told without its place in the file.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct NetworkArgs {
    /// PEM file of authorities to trust beside the system's
    #[arg(long, value_name = "PATH", env = "IPW_CA_FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// File of `Name: value` lines that go with every request; they are neither stored nor shown
    #[arg(long, value_name = "PATH", env = "IPW_HEADER_FILE")]
    pub(crate) header_file: Option<PathBuf>,
    /// Environment variable that holds one such line; repeat for more
    #[arg(
        long,
        value_name = "NAME",
        env = "IPW_HEADER_ENV",
        value_delimiter = ','
    )]
    pub(crate) header_env: Vec<String>,
    /// Speak HTTP/2, and nothing else: many queries share one connection [default: HTTP/1.1]
    #[arg(long)]
    pub(crate) http2: bool,
}
