//! The command line of `ipw ping`.

use std::path::PathBuf;

use clap::Args;

use super::{KeyValue, NetworkArgs, ProfileArgs, Span};

/// Flags of `ipw ping`: how a service is reached, as `ipw profile` has them, and one question.
#[derive(Debug, Args)]
pub(crate) struct PingArgs {
    /// How to reach the service (see `ipw list clients`) [default: embedded, with a URL openai]
    #[arg(long, value_name = "ID", env = "IPW_CLIENT")]
    client: Option<String>,
    /// The model [default: the service's only one]
    #[arg(long, value_name = "NAME", env = "IPW_MODEL")]
    model: Option<String>,
    /// Where the service is, with or without `/v1`; `unix:PATH` for a socket
    #[arg(long, value_name = "URL", env = "IPW_CLIENT_BASE_URL")]
    client_base_url: Option<String>,
    /// Which of OpenAI's APIs the service is asked by: chat, completions or responses [default: chat]
    #[arg(long, value_name = "API", env = "IPW_API")]
    api: Option<String>,
    /// A parameter of the client; repeat for more
    #[arg(long, value_name = "K=V")]
    client_param: Vec<KeyValue>,
    /// Environment variable that holds the API key (the key itself is never a flag)
    #[arg(long, value_name = "NAME", env = "IPW_API_KEY_ENV")]
    api_key_env: Option<String>,
    /// File whose first line is the API key
    #[arg(
        long,
        value_name = "PATH",
        env = "IPW_API_KEY_FILE",
        conflicts_with = "api_key_env"
    )]
    api_key_file: Option<PathBuf>,
    /// Allow the key to travel over plain http beyond this machine
    #[arg(long)]
    insecure_key: bool,
    #[command(flatten)]
    network: NetworkArgs,
    /// How long the query may take [default: 10m]
    #[arg(long, value_name = "D", env = "IPW_REQUEST_TIMEOUT")]
    request_timeout: Option<Span>,
    /// What to ask [default: a short question]
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// A generation parameter, typed as JSON; repeat for more
    #[arg(long, value_name = "K=V")]
    param: Vec<KeyValue>,
    /// A text for the system role; none is sent otherwise
    #[arg(long, value_name = "TEXT", env = "IPW_SYSTEM")]
    system: Option<String>,
    /// Count tokens by this tokenizer, too: a `tokenizer.json`, its directory, a GGUF file or
    /// `hf:owner/name`
    #[arg(long, value_name = "WHERE", env = "IPW_TOKENIZER")]
    tokenizer: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Read defaults from this file instead of the user's own `ipw.toml`
    #[arg(long, value_name = "PATH", env = "IPW_CONFIG")]
    config: Option<PathBuf>,
}

impl PingArgs {
    /// The flags of a run that say the same.
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
