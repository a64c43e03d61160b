//! Services that people start: where they listen, and what says that they are ready.

use std::path::Path;

use ipw_runner::plan::Launch;

use crate::args::ProfileArgs;
use crate::clients;

/// A service by its command.
struct Preset {
    program: &'static str,
    /// Its first argument, where that says what it does.
    verb: Option<&'static str>,
    client: &'static str,
    port: u16,
    health: &'static str,
}

const PRESETS: [Preset; 4] = [
    Preset {
        program: "llama-server",
        verb: None,
        client: "llamacpp",
        port: 8080,
        health: "/health",
    },
    Preset {
        program: "vllm",
        verb: Some("serve"),
        client: "vllm",
        port: 8000,
        health: "/health",
    },
    Preset {
        program: "ollama",
        verb: Some("serve"),
        client: "ollama",
        port: 11434,
        health: "/api/version",
    },
    Preset {
        program: "ipw",
        verb: Some("serve"),
        client: "openai",
        port: 8080,
        health: "/health",
    },
];

fn of(command: &[String]) -> Option<(&'static Preset, String)> {
    let program = Path::new(command.first()?).file_name()?.to_str()?;
    let verb = command.get(1).map(String::as_str);
    let preset = PRESETS.iter().find(|preset| {
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

/// What `--name VALUE` or `--name=VALUE` says.
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

/// What answers when the service is ready.
pub(super) fn ready_url(command: &[String]) -> Option<String> {
    let (preset, url) = of(command)?;
    Some(format!("{url}{}", preset.health))
}

/// Which client and where, unless somebody said.
pub(super) fn fill(args: &mut ProfileArgs, launch: &Launch) {
    let is_stored = args.plan.is_some() || args.resume.is_some();
    let Some((preset, url)) = of(&launch.command).filter(|_| !is_stored) else {
        return;
    };
    if args.client.is_none() && args.client_base_url.is_none() {
        let is_known = clients::known()
            .iter()
            .any(|known| known.id == preset.client);
        args.client = Some(if is_known { preset.client } else { "openai" }.to_owned());
    }
    args.client_base_url.get_or_insert(url);
    args.ready_url.clone_from(&launch.ready_url);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(command: &str) -> Option<String> {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        ready_url(&words)
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
