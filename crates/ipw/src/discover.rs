//! Finds services on the usual ports of this machine.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use ipw_core::client::ClientSpec;
use ipw_core::time::Clock;

/// Default ports of Ollama, llama.cpp, vLLM and LM Studio.
const PORTS: [u16; 4] = [11434, 8080, 8000, 1234];
/// Connection timeout per port: ample for loopback, and not noticeable to the user.
const PATIENCE: Duration = Duration::from_millis(150);
/// Timeout for the list of models, which takes longer than a handshake.
const LIST: Duration = Duration::from_secs(2);

/// A service that answers on this machine.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundService {
    /// Base URL of the service.
    pub url: String,
    /// Names of the models that it lists.
    pub models: Vec<String>,
}

/// Looks for services on the usual ports of this machine.
pub async fn look(clock: &Arc<dyn Clock>) -> Vec<FoundService> {
    look_at(&PORTS, clock).await
}

async fn look_at(ports: &[u16], clock: &Arc<dyn Clock>) -> Vec<FoundService> {
    let mut found = Vec::new();
    for port in ports {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
        // A closed port on loopback refuses at once.
        if TcpStream::connect_timeout(&address, PATIENCE).is_err() {
            continue;
        }
        let url = format!("http://{address}");
        // The spec has no API key: an unknown program on a port must not receive one.
        let spec = ClientSpec {
            connect_timeout: PATIENCE,
            ..ClientSpec::at("openai", url.clone())
        };
        let Ok(client) = ipw_clients::connect(&spec, Arc::clone(clock)) else {
            continue;
        };
        if let Ok(Ok(models)) = tokio::time::timeout(LIST, client.models()).await {
            found.push(FoundService { url, models });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use ipw_reference::{Script, Service};
    use ipw_runner::SystemClock;

    use super::*;

    #[test]
    fn a_service_that_answers_is_found_and_a_closed_port_is_not() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let service = Service::start(Arc::clone(&clock), |_| Script::words(1)).unwrap();
        let port: u16 = service.url().rsplit(':').next().unwrap().parse().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        // Port 1 is closed on nearly every machine.
        let found = runtime.block_on(look_at(&[1, port], &clock));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].url, format!("http://127.0.0.1:{port}"));
        assert_eq!(found[0].models, ["reference"]);
    }
}
