//! Guards secrets that a stored plan sends: a plan may come from a stranger.

use std::fmt::Write as _;
use std::path::Path;

use ipw::clients;
use ipw_clients::KeySource;
use ipw_clients::key::is_usual;
use ipw_core::secret::{MASK, masked_url};
use ipw_core::text::printable;
use ipw_runner::Plan;

use crate::args::ProfileArgs;
use crate::error::CliError;

/// A secret that a plan sends to an address.
struct Disclosure {
    /// Its source in words, for the error.
    from: String,
    to: String,
    /// Whether the command line names both source and address.
    is_named: bool,
}

/// Refuses a plan that sends a secret, unless the command line names or allows it.
pub(super) fn check(plan: &Plan, path: &Path, args: &ProfileArgs) -> Result<(), CliError> {
    let mut refused = disclosures(plan, args);
    refused.retain(|sent| !sent.is_named);
    if args.allow_key || refused.is_empty() {
        return Ok(());
    }
    let mut text = format!("the plan `{}` sends", path.display());
    for (number, one) in refused.iter().enumerate() {
        let and = if number > 0 { ", and" } else { "" };
        let (from, to) = (printable(&one.from), printable(&masked_url(&one.to)));
        let _ = write!(text, "{and} {from} to {to}");
    }
    text.push_str(", which needs your permission");
    Err(CliError::usage(text)
        .help("add `--allow-key`, or repeat the flags that name the key and the address"))
}

/// The flags that `--resume` needs for this plan, each after a space.
pub(crate) fn resume_flags(plan: &Plan) -> String {
    let is_sent = !disclosures(plan, &ProfileArgs::default()).is_empty();
    let key = if is_sent { " --allow-key" } else { "" };
    let launch = match &plan.launch {
        None => "",
        Some(launch) if launch.command.iter().any(|word| word.contains(MASK)) => {
            " --launch -- COMMAND"
        }
        Some(_) => " --allow-launch",
    };
    format!("{key}{launch}")
}

fn disclosures(plan: &Plan, args: &ProfileArgs) -> Vec<Disclosure> {
    let client = &plan.client;
    let known = clients::known();
    let usual = known.iter().find(|known| known.id == client.id);
    let to = client.base_url.as_deref();
    let to = to.or(usual.map(|known| known.default_url));
    let to = to.unwrap_or_default().to_owned();
    // Flags that contradict the plan have been refused already.
    let is_there = args.client_base_url.is_some() == client.base_url.is_some();
    let variable = |name: &str| format!("the environment variable `{name}`");
    let file = |path: &Path| format!("the file `{}`", path.display());
    let mut all = Vec::new();
    let mut add = |from: String, is_named: bool| {
        all.push(Disclosure {
            from,
            to: to.clone(),
            is_named: is_named && is_there,
        });
    };
    match &client.key {
        key if is_usual(key, &to) => {}
        KeySource::Default => {}
        KeySource::Env(name) => add(variable(name), args.api_key_env.is_some()),
        KeySource::File(path) => add(file(path), args.api_key_file.is_some()),
    }
    if let Some(path) = &client.network.header_file {
        add(file(path), args.header_file.is_some());
    }
    for name in &client.network.header_env {
        add(variable(name), !args.header_env.is_empty());
    }
    for source in &plan.telemetry.sources {
        let files = source.params.iter();
        let files = files.filter(|(name, _)| name.ends_with("-file") && *name != "ca-file");
        all.extend(files.map(|(_, path)| Disclosure {
            from: file(Path::new(path)),
            to: source.place.clone(),
            is_named: !args.telemetry.is_empty(),
        }));
    }
    all
}
