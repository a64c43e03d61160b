//! `ipw serve`: an OpenAI-compatible API over the embedded engine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use ipw::clients;
use ipw_core::slug::model_label;
use ipw_core::text::printable;
use ipw_core::time::Clock;
use ipw_engine::server::Server;
use ipw_engine::{Engine, Options};
use ipw_runner::SystemClock;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::args::ServeArgs;
use crate::error::{CliError, Exit};
use crate::listen::{Place, Signals};
use crate::observe::Transfer;
use crate::screen;

const PORT: u16 = 8080;
const HOST: &str = "127.0.0.1";
/// Connections that the system holds until they are accepted.
const BACKLOG: u32 = 256;

pub(crate) fn run(args: &ServeArgs) -> Result<Exit, CliError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let host = args.host.as_ref().map_or(HOST, |host| host.as_str());
    let place = Place::find("--host", host, args.port.unwrap_or(PORT))?;
    // Bind now, so that a taken port fails before a download. The socket does not listen yet:
    // clients are refused instead of waiting for the model.
    let socket = place.bind()?;
    let model = args.model.as_deref().unwrap_or(clients::DEFAULT_MODEL);
    let path = Transfer::during(false, |progress| clients::model_file(model, progress))?;
    let engine = load(&path, args, &clock)?;
    let mut server = Server::new(engine, model_label(model), clock);
    for host in args.host.iter().chain(&args.allow_host) {
        server = server.allowing(host.clone());
    }
    runtime.block_on(async {
        let signals = Signals::new().context("cannot listen for signals")?;
        let listener = socket
            .listen(BACKLOG)
            .map_err(|error| place.refused(error))?;
        let address = listener.local_addr().context("cannot listen")?;
        screen::print(&format!(
            "listening on http://{address}/v1 (model {})\n",
            printable(&model_label(model))
        ));
        screen::talk(&hints(address));
        serve(Arc::new(server), listener, signals).await;
        Ok(Exit::Done)
    })
}

fn load(path: &Path, args: &ServeArgs, clock: &Arc<dyn Clock>) -> Result<Engine, CliError> {
    let mut options = Options::default();
    if let Some(threads) = args.threads {
        options.threads = threads.get();
    }
    options.context = args.context.map(std::num::NonZeroUsize::get);
    Engine::load(path, options, Arc::clone(clock)).map_err(|error| {
        let message = format!("cannot load `{}`", path.display());
        CliError::new(Exit::Service, anyhow::Error::from(error).context(message))
            .help("use a GGUF file of the llama family, or a name from `ipw models list`")
    })
}

/// Serves until a signal arrives. A second signal does not wait for replies in flight.
async fn serve(server: Arc<Server>, listener: TcpListener, mut signals: Signals) {
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = server.run(listener, async {
        let _ = stopped.await;
    });
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => return,
        () = signals.next() => {}
    }
    let _ = stop.send(());
    screen::talk("stopping after the replies in flight; interrupt again to stop at once");
    tokio::select! {
        () = &mut serving => {}
        () = signals.next() => screen::talk("stopping at once"),
    }
}

/// The command to measure this server, and a warning beyond loopback.
fn hints(address: SocketAddr) -> String {
    let mut near = address;
    if address.ip().is_unspecified() {
        near.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    let measure =
        format!("measure it: ipw profile --client openai --client-base-url http://{near}");
    if address.ip().to_canonical().is_loopback() {
        return measure;
    }
    format!(
        "warning: no authentication: any client that reaches {address} can send queries\n{measure}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints_at(address: &str) -> String {
        hints(address.parse().unwrap())
    }

    #[test]
    fn the_hint_is_a_command_that_works_from_here() {
        let url = "--client openai --client-base-url http://";
        assert!(hints_at("127.0.0.1:8080").ends_with(&format!("{url}127.0.0.1:8080")));
        assert!(hints_at("0.0.0.0:80").ends_with(&format!("{url}127.0.0.1:80")));
        assert!(hints_at("[::]:80").ends_with(&format!("{url}[::1]:80")));
    }

    #[test]
    fn only_loopback_comes_without_a_warning() {
        for (address, warns) in [
            ("127.0.0.1:1", false),
            ("127.9.9.9:1", false),
            ("[::1]:1", false),
            ("0.0.0.0:1", true),
            ("[::]:1", true),
            ("192.168.1.5:1", true),
        ] {
            let hints = hints_at(address);
            assert_eq!(hints.contains("no authentication"), warns, "{hints}");
        }
    }
}
