//! Leaves out texts, names of machines and people, and places.
//!
//! Texts of queries never get into a redacted page. Facts are kept by a list of what is harmless,
//! not dropped by a list of what is not. Whatever sentence is left is scrubbed of names that the
//! run knows, of paths and of addresses.

use ipw_core::warning::{Kind, PageKind};
use ipw_store::Run;
use ipw_store::summary::ClientInfo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Page;

/// What stands for something that was left out.
const GONE: &str = "redacted";

/// Facts whose values are words and harmless; numbers are kept anyway.
const KEPT: [&str; 19] = [
    "label",
    "CPU",
    "system",
    "version",
    "kernel",
    "model",
    "client",
    "architecture",
    "weights",
    "kernels",
    "concurrency",
    "sent",
    "dataset",
    "steady for",
    "queue",
    "SLO",
    "SLO kept by",
    "ipw",
    "sampling cost",
];

/// Texts of a plan that are harmless.
const KEPT_OF_PLAN: [&str; 9] = [
    "dataset.id",
    "client.id",
    "load.arrivals",
    "load.stop",
    "load.slo",
    "failures.max_failed",
    "failures.max_error_rate",
    "telemetry.basis",
    "telemetry.service_host",
];

/// The same page without them.
pub(super) fn page(mut page: Page, run: &Run) -> Page {
    let model = page.about.model.clone();
    let shown = name_of(&model).to_owned();
    let mut secrets = secrets(run, page.plan.as_deref());
    if shown != model {
        secrets.push(model.clone());
        page.lede = page.lede.replace(&model, &shown);
        page.about.model.clone_from(&shown);
    }
    page.about.reason = None;
    page.about.name = None;
    for section in &mut page.manifest {
        for (name, value) in &mut section.facts {
            if name == "model" {
                value.clone_from(&shown);
            }
        }
        section.facts.retain(|(name, value)| {
            KEPT.contains(&name.as_str()) || is_device(name) || is_number(value)
        });
    }
    page.manifest.retain(|section| !section.facts.is_empty());
    page.plan = page.plan.as_deref().and_then(|text| plan(text, &shown));
    for warning in &mut page.warnings {
        if is_of_status(warning.kind) {
            let short = warning.text.split(": ").next().unwrap_or_default();
            warning.text = short.to_owned();
        }
        warning.text = scrub(&warning.text, &secrets);
        warning.advice = warning.advice.as_deref().map(|text| scrub(text, &secrets));
    }
    page.is_redacted = true;
    page.about = scrubbed(&page.about, &secrets);
    page.lede = scrub(&page.lede, &secrets);
    page.headline = scrubbed(&page.headline, &secrets);
    page.tables = scrubbed(&page.tables, &secrets);
    page.manifest = scrubbed(&page.manifest, &secrets);
    page.calibration = scrubbed(&page.calibration, &secrets);
    page
}

/// Whether a warning tells the status of the run; where it failed, the text quotes the reason.
fn is_of_status(kind: Kind) -> bool {
    use PageKind::{Failed, Interrupted, NoSummary, Running};
    matches!(kind, Kind::Page(Running | Interrupted | Failed | NoSummary))
}

/// The last step of a path, or the name as it is: `owner/model` is no path.
fn name_of(model: &str) -> &str {
    if is_path(model) || model.contains("://") {
        let mut steps = model.trim_end_matches(['/', '\\']).rsplit(['/', '\\']);
        steps.next().filter(|name| !name.is_empty()).unwrap_or(GONE)
    } else {
        model
    }
}

fn is_path(text: &str) -> bool {
    let mut characters = text.chars();
    let drive = |text: &str| {
        let mut characters = text.chars();
        characters.next().is_some_and(|c| c.is_ascii_alphabetic())
            && characters.next() == Some(':')
            && characters.next() == Some('\\')
    };
    let is_rooted = characters.next() == Some('/') && text.chars().count() > 2;
    is_rooted
        || ["~/", "./", "../", "\\\\"]
            .iter()
            .any(|lead| text.starts_with(lead))
        || drive(text)
}

/// Devices are named `nvml/0`.
fn is_device(name: &str) -> bool {
    let mut steps = name.split('/');
    let (one, two) = (steps.next(), steps.next());
    one.is_some_and(|one| !one.is_empty()) && two.is_some() && !is_path(name)
}

fn is_number(value: &str) -> bool {
    let is_numeric = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | 'e' | '\u{202f}');
    value.starts_with(|c: char| c.is_ascii_digit() || c == '-') && value.chars().all(is_numeric)
}

/// Names and places that the run knows of itself, the longest first.
fn secrets(run: &Run, plan: Option<&str>) -> Vec<String> {
    let summary = run.summary();
    let system = summary.system_info.as_ref();
    let config = summary.profiler_config.as_ref();
    let info = summary.client_info.as_ref();
    let mut secrets: Vec<String> = [
        system.and_then(|system| system.host_name.as_deref()),
        summary.output_dir.as_deref(),
        config.and_then(|config| config.client_base_url.as_deref()),
        config.and_then(|config| config.output_dir.as_deref()),
        info.and_then(ClientInfo::base_url),
        info.and_then(ClientInfo::file),
        info.and_then(ClientInfo::proxy),
    ]
    .into_iter()
    .flatten()
    .map(str::to_owned)
    .collect();
    secrets.push(run.directory().display().to_string());
    let devices = summary.telemetry.iter().flat_map(|told| &told.devices);
    for device in devices {
        secrets.extend(device.uuid.iter().chain(&device.pci).cloned());
    }
    let table = plan.and_then(|text| text.parse::<toml::Table>().ok());
    texts_of(
        &toml::Value::Table(table.unwrap_or_default()),
        &mut |text| {
            if is_path(text) || text.contains("://") {
                secrets.push(text.to_owned());
            }
        },
    );
    let hosts: Vec<_> = secrets.iter().filter_map(|secret| host(secret)).collect();
    secrets.extend(hosts);
    secrets.retain(|secret| !secret.is_empty());
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.dedup();
    secrets
}

/// The host of an address.
fn host(address: &str) -> Option<String> {
    let (_, rest) = address.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    (!host.is_empty()).then(|| host.to_owned())
}

fn texts_of(value: &toml::Value, each: &mut impl FnMut(&str)) {
    match value {
        toml::Value::String(text) => each(text),
        toml::Value::Array(all) => all.iter().for_each(|value| texts_of(value, each)),
        toml::Value::Table(table) => table.values().for_each(|value| texts_of(value, each)),
        _ => {}
    }
}

/// The plan with numbers and harmless words only.
fn plan(text: &str, model: &str) -> Option<String> {
    let mut table: toml::Table = text.parse().ok()?;
    for (name, value) in &mut table {
        hide(name, value);
    }
    table.insert("model".to_owned(), toml::Value::String(model.to_owned()));
    toml::to_string_pretty(&table).ok()
}

fn hide(path: &str, value: &mut toml::Value) {
    match value {
        toml::Value::String(text) => {
            let is_kept = KEPT_OF_PLAN.iter().any(|kept| path.starts_with(kept));
            if !is_kept || is_path(text) || text.contains(['/', '\\']) {
                GONE.clone_into(text);
            }
        }
        toml::Value::Array(all) => all.iter_mut().for_each(|value| hide(path, value)),
        toml::Value::Table(table) => {
            for (name, value) in table.iter_mut() {
                hide(&format!("{path}.{name}"), value);
            }
        }
        _ => {}
    }
}

/// The same thing with every text in it scrubbed.
fn scrubbed<T: Serialize + DeserializeOwned>(thing: &T, secrets: &[String]) -> T {
    let mut value = serde_json::to_value(thing).expect("a page serializes");
    walk(&mut value, secrets);
    serde_json::from_value(value).expect("a page comes back as it was")
}

fn walk(value: &mut Value, secrets: &[String]) {
    match value {
        Value::String(text) => *text = scrub(text, secrets),
        Value::Array(all) => all.iter_mut().for_each(|value| walk(value, secrets)),
        Value::Object(all) => all.values_mut().for_each(|value| walk(value, secrets)),
        _ => {}
    }
}

/// `text` without what the run knows of itself, and without anything that looks like a path or an
/// address.
fn scrub(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = without(&text, secret);
    }
    let is_between = |c: char| c.is_whitespace() || "`'\"(),;".contains(c);
    let mut scrubbed = String::with_capacity(text.len());
    let mut word = String::new();
    for character in text.chars().chain(['\n']) {
        if is_between(character) {
            if is_path(&word) || word.contains("://") {
                GONE.clone_into(&mut word);
            }
            scrubbed.push_str(&word);
            scrubbed.push(character);
            word.clear();
        } else {
            word.push(character);
        }
    }
    scrubbed.pop();
    scrubbed
}

/// `text` with each whole occurrence of `secret` replaced: `vm` is not a part of `nvml`.
fn without(text: &str, secret: &str) -> String {
    let mut rest = text;
    let mut done = String::new();
    while let Some(place) = rest.find(secret) {
        let (before, after) = (&rest[..place], &rest[place + secret.len()..]);
        let is_inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_whole = !is_inside(before.chars().next_back().or(done.chars().next_back()))
            && !is_inside(after.chars().next());
        done.push_str(before);
        done.push_str(if is_whole { GONE } else { secret });
        rest = after;
    }
    done + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_addresses_and_known_names_go_and_units_stay() {
        let secrets = ["vm".to_owned(), "box.example".to_owned()];
        for (text, left) in [
            ("0.0619 /W, 12 tokens/s", "0.0619 /W, 12 tokens/s"),
            ("nvml on vm", "nvml on redacted"),
            ("cannot read `/home/me/x`", "cannot read `redacted`"),
            ("see https://box.example:8080/v1", "see redacted"),
            ("(~/runs)", "(redacted)"),
            ("C:\\Users\\me", "redacted"),
            ("box.example:80", "redacted:80"),
            ("rapl/package-0", "rapl/package-0"),
            ("owner/model", "owner/model"),
        ] {
            assert_eq!(scrub(text, &secrets), left);
        }
    }

    #[test]
    fn a_model_by_path_is_its_last_step() {
        assert_eq!(name_of("/home/me/models/tiny"), "tiny");
        assert_eq!(name_of("owner/model"), "owner/model");
        assert_eq!(name_of("/"), "/");
    }

    #[test]
    fn a_plan_keeps_its_numbers_and_loses_its_words() {
        let text = "model = \"/home/me/tiny\"\n[dataset]\nid = \"jsonl\"\n[dataset.params]\npath = \"/home/me/q.jsonl\"\n[client]\nid = \"openai\"\nbase_url = \"http://box:1\"\n[generation]\nsystem = \"be kind\"\n[generation.parameters]\ntemperature = 0.5\nstop = \"###\"\n[load]\narrivals = \"sequential\"\n";
        let shown = plan(text, "tiny").unwrap();
        for kept in ["tiny", "jsonl", "openai", "temperature = 0.5", "sequential"] {
            assert!(shown.contains(kept), "{kept}: {shown}");
        }
        for gone in ["/home", "box", "be kind", "###", "q.jsonl"] {
            assert!(!shown.contains(gone), "{gone}: {shown}");
        }
        assert_eq!(plan("= nonsense", "m"), None);
    }
}
