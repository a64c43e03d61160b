//! The command line of `ipw ping`.

use std::path::PathBuf;

use clap::Args;

use super::{KeyValue, NetworkArgs, ProfileArgs, Span};

/// Flags of `ipw ping`: how to reach the service, as in `ipw profile`, and one question.
#[derive(Debug, Args)]
pub(crate) struct PingArgs {
    /// Client that talks to the service (see `ipw list clients`) [default: embedded; openai if a
    /// URL is given]
    #[arg(long, value_name = "ID", env = "IPW_CLIENT")]
    client: Option<String>,
    /// Model to ask [default: the only model of the service]
    #[arg(long, value_name = "NAME", env = "IPW_MODEL")]
    model: Option<String>,
    /// Base URL of the service, with or without `/v1`; `unix:PATH` for a socket
    #[arg(long, value_name = "URL", env = "IPW_CLIENT_BASE_URL", aliases = ["base-url", "url", "endpoint"])]
    client_base_url: Option<String>,
    /// API of an OpenAI-compatible service: chat, completions or responses [default: chat]
    #[arg(long, value_name = "API", env = "IPW_API", hide_short_help = true)]
    api: Option<String>,
    /// Parameter of the client; repeatable (see `ipw list clients --long`)
    #[arg(long, value_name = "KEY=VALUE", hide_short_help = true)]
    client_param: Vec<KeyValue>,
    /// Environment variable that holds the API key (the key itself is never a flag)
    #[arg(long, value_name = "NAME", env = "IPW_API_KEY_ENV")]
    api_key_env: Option<String>,
    /// File whose first line is the API key
    #[arg(
        long,
        value_name = "PATH",
        env = "IPW_API_KEY_FILE",
        conflicts_with = "api_key_env",
        hide_short_help = true
    )]
    api_key_file: Option<PathBuf>,
    /// Allow sending the API key over plain http to another machine
    #[arg(long, hide_short_help = true)]
    insecure_key: bool,
    #[command(flatten)]
    network: NetworkArgs,
    /// Time limit for the query [default: 10m]
    #[arg(long, value_name = "DURATION", env = "IPW_REQUEST_TIMEOUT")]
    request_timeout: Option<Span>,
    /// Prompt to send [default: a short question]
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Generation parameter, such as `max_tokens=128`; typed as JSON; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    param: Vec<KeyValue>,
    /// System prompt [default: none is sent]
    #[arg(long, value_name = "TEXT", env = "IPW_SYSTEM", hide_short_help = true)]
    system: Option<String>,
    /// Also count tokens with this tokenizer: a `tokenizer.json`, its directory, a GGUF file or
    /// `hf:owner/name`
    #[arg(
        long,
        value_name = "TOKENIZER",
        env = "IPW_TOKENIZER",
        hide_short_help = true
    )]
    tokenizer: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Configuration file to read instead of the user's `ipw.toml`
    #[arg(long, value_name = "PATH", env = "IPW_CONFIG", hide_short_help = true)]
    config: Option<PathBuf>,
}

impl PingArgs {
    /// The same settings as flags of `ipw profile`.
    pub(crate) fn as_profile(&self) -> ProfileArgs {
        ProfileArgs {
            client: self.client.clone(),
            model: self.model.clone(),
            client_base_url: self.client_base_url.clone(),
            api: self.api.clone(),
            client_param: self.client_param.clone(),
            api_key_env: self.api_key_env.clone(),
            api_key_file: self.api_key_file.clone(),
            insecure_key: self.insecure_key,
            ca_file: self.network.ca_file.clone(),
            header_file: self.network.header_file.clone(),
            header_env: self.network.header_env.clone(),
            http2: self.network.http2,
            request_timeout: self.request_timeout,
            param: self.param.clone(),
            system: self.system.clone(),
            tokenizer: self.tokenizer.clone(),
            config: self.config.clone(),
            ..ProfileArgs::default()
        }
    }
}
