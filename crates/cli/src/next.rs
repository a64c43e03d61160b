//! What to try after the first run: if a service answers on a usual port, the command for it.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use ipw_clients::{ClientSpec, KeySource, Network};
use ipw_core::params::Params;
use ipw_core::text::printable;
use ipw_core::time::Clock;

/// Where people's services listen: Ollama, llama.cpp, vLLM, LM Studio.
const PORTS: [u16; 4] = [11434, 8080, 8000, 1234];
/// Long for loopback, short for a person.
const PATIENCE: Duration = Duration::from_millis(150);
/// A service that lists its models takes longer than a handshake.
const LIST: Duration = Duration::from_secs(2);

/// A service that was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) url: String,
    pub(crate) models: Vec<String>,
}

/// Looks for services on this machine.
pub(crate) async fn look(clock: &Arc<dyn Clock>) -> Vec<Found> {
    look_at(&PORTS, clock).await
}

async fn look_at(ports: &[u16], clock: &Arc<dyn Clock>) -> Vec<Found> {
    let mut found = Vec::new();
    for port in ports {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
        // A closed port of this machine says so at once.
        if TcpStream::connect_timeout(&address, PATIENCE).is_err() {
            continue;
        }
        let url = format!("http://{address}");
        let spec = ClientSpec {
            id: "openai".to_owned(),
            base_url: Some(url.clone()),
            params: Params::default(),
            // Something that listens on a port is not to be trusted with a key.
            key: KeySource::Default,
            insecure_key: false,
            network: Network::default(),
            connect_timeout: PATIENCE,
        };
        let Ok(client) = ipw_clients::connect(&spec, Arc::clone(clock)) else {
            continue;
        };
        if let Ok(Ok(models)) = tokio::time::timeout(LIST, client.models()).await {
            found.push(Found { url, models });
        }
    }
    found
}

/// What to say at the end of a run on the engine.
pub(crate) fn advice(found: &[Found], run: &str) -> String {
    let mut lines = vec!["\nWhat next?".to_owned()];
    for Found { url, models } in found {
        // With one model there is no need to name it.
        let model = match models.as_slice() {
            [] => " --model NAME".to_owned(),
            [_] => String::new(),
            [first, ..] => format!(" --model {}", quoted(&printable(first))),
        };
        lines.push(format!("  a service answers at {url}; measure it:"));
        lines.push(format!(
            "    ipw profile --client openai --client-base-url {url}{model}"
        ));
    }
    if found.is_empty() {
        lines.push("  your own server, wherever it listens:".to_owned());
        lines.push(
            "    ipw profile --client openai --client-base-url http://127.0.0.1:8080".to_owned(),
        );
        lines.push("  this model behind an OpenAI-compatible API:".to_owned());
        lines.push("    ipw serve".to_owned());
    }
    lines.push("  your own questions, one JSON object in a line:".to_owned());
    lines.push("    ipw profile --dataset questions.jsonl".to_owned());
    lines.push("  this run again, and how its energy was found:".to_owned());
    lines.push(format!("    ipw show {}", quoted(&printable(run))));
    lines.push("    ipw doctor\n".to_owned());
    lines.join("\n")
}

/// A word for a shell.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipw_reference::{Script, Service};
    use ipw_runner::SystemClock;

    #[test]
    fn a_service_that_answers_is_found_and_a_closed_port_is_not() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let service = Service::start(Arc::clone(&clock), |_| Script::words(1)).unwrap();
        let port: u16 = service.url().rsplit(':').next().unwrap().parse().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        // Nobody listens on port 1 of a sane machine.
        let found = runtime.block_on(look_at(&[1, port], &clock));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].url, format!("http://127.0.0.1:{port}"));
        assert_eq!(found[0].models, ["reference"]);
    }

    #[test]
    fn a_found_service_gets_its_command() {
        let found = |models: &[&str]| Found {
            url: "http://127.0.0.1:8080".to_owned(),
            models: models.iter().map(|model| (*model).to_owned()).collect(),
        };
        let one = advice(&[found(&["a"])], "runs/x");
        assert!(
            one.contains("--client-base-url http://127.0.0.1:8080\n"),
            "{one}"
        );
        let two = advice(&[found(&["it's", "b"])], "runs/x");
        assert!(two.contains(r"--model 'it'\''s'"), "{two}");
        assert!(!two.contains("ipw serve"), "{two}");
        assert!(advice(&[], "runs/x").contains("ipw serve"));
    }
}
