//! Well-known servers: where they listen, and which URL shows that they are ready.

use std::path::Path;

/// A server, recognised by its command.
struct KnownServer {
    program: &'static str,
    /// Its subcommand, for programs with several.
    verb: Option<&'static str>,
    client: &'static str,
    port: u16,
    health: &'static str,
}

const KNOWN: [KnownServer; 4] = [
    KnownServer {
        program: "llama-server",
        verb: None,
        client: "llamacpp",
        port: 8080,
        health: "/health",
    },
    KnownServer {
        program: "vllm",
        verb: Some("serve"),
        client: "vllm",
        port: 8000,
        health: "/health",
    },
    KnownServer {
        program: "ollama",
        verb: Some("serve"),
        client: "ollama",
        port: 11434,
        health: "/api/version",
    },
    KnownServer {
        program: "ipw",
        verb: Some("serve"),
        client: "openai",
        port: 8080,
        health: "/health",
    },
];

fn of(command: &[String]) -> Option<(&'static KnownServer, String)> {
    let program = Path::new(command.first()?).file_name()?.to_str()?;
    let verb = command.get(1).map(String::as_str);
    let preset = KNOWN.iter().find(|preset| {
        preset.program == program && (preset.verb.is_none() || preset.verb == verb)
    })?;
    let port = option(command, "--port").unwrap_or_else(|| preset.port.to_string());
    let host = option(command, "--host").filter(|host| host != "0.0.0.0" && host != "::");
    let host = host.unwrap_or_else(|| "127.0.0.1".to_owned());
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host
    };
    Some((preset, format!("http://{host}:{port}")))
}

/// The value of `--name VALUE` or `--name=VALUE`.
fn option(command: &[String], name: &str) -> Option<String> {
    let mut words = command.iter();
    while let Some(word) = words.next() {
        if word == name {
            return words.next().cloned();
        }
        if let Some(value) = word
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('='))
        {
            return Some(value.to_owned());
        }
    }
    None
}

/// What a command reveals about the service that it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    /// Id of the client for this service.
    pub client: &'static str,
    /// Base URL of the service.
    pub base_url: String,
    /// URL that answers once the service is ready.
    pub ready_url: String,
}

/// The service that a command starts; `None` for an unknown command.
pub fn preset(command: &[String]) -> Option<Preset> {
    let (known, url) = of(command)?;
    Some(Preset {
        client: known.client,
        ready_url: format!("{url}{}", known.health),
        base_url: url,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(command: &str) -> Option<String> {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        Some(preset(&words)?.ready_url)
    }

    #[test]
    fn a_command_says_where_its_service_will_be() {
        for (command, url) in [
            (
                "llama-server -m x.gguf",
                Some("http://127.0.0.1:8080/health"),
            ),
            (
                "/opt/bin/llama-server --port 9",
                Some("http://127.0.0.1:9/health"),
            ),
            (
                "llama-server --port=7 --host 0.0.0.0",
                Some("http://127.0.0.1:7/health"),
            ),
            ("vllm serve m --host ::1", Some("http://[::1]:8000/health")),
            ("ollama serve", Some("http://127.0.0.1:11434/api/version")),
            ("ipw serve --port 5", Some("http://127.0.0.1:5/health")),
            ("vllm bench", None),
            ("python3 -m server", None),
        ] {
            assert_eq!(ready(command).as_deref(), url, "{command}");
        }
    }
}
