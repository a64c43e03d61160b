//! What it ran on: hardware, service, energy sources, load, and the tool itself.

use ipw_core::text::{excerpt, printable};
use ipw_store::summary::GivenParameters;
use serde_json::{Map, Value};

use super::Inputs;
use super::Section;
use crate::written::duration;
use ipw_core::quantity::{Unit, digits, grouped};

/// Facts of one section, and characters of one, that are shown.
const MOST: usize = 40;
const LONGEST: usize = 240;

pub(super) fn of(known: &Inputs<'_>) -> Vec<Section> {
    let sections = [
        ("Hardware", hardware(known)),
        ("Service", service(known)),
        ("Load", load(known)),
        ("What could measure energy and does not", absent(known)),
        ("Measured with", tool(known)),
    ];
    let sections = sections.into_iter().filter(|(_, facts)| !facts.is_empty());
    sections
        .map(|(title, facts)| Section {
            title: title.to_owned(),
            facts,
        })
        .collect()
}

type Facts = Vec<(String, String)>;

/// A value in words; null is left out.
fn word(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null | Value::Object(_) => return None,
        Value::String(text) if text.is_empty() => return None,
        Value::String(text) => printable(text),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => grouped(whole),
            None => digits(number.as_f64()?),
        },
        Value::Array(all) if all.is_empty() => return None,
        Value::Array(all) => {
            let shown: Vec<_> = all.iter().take(8).filter_map(word).collect();
            shown.join(", ")
        }
    };
    Some(excerpt(&text, LONGEST))
}

fn add(facts: &mut Facts, name: &str, value: &Value) {
    facts.extend(word(value).map(|value| (name.to_owned(), value)));
}

/// Everything in `values`, with names as they are, two steps down.
fn all_of(facts: &mut Facts, values: Option<&Map<String, Value>>, depth: usize) {
    for (name, value) in values.into_iter().flatten() {
        if facts.len() >= MOST {
            return;
        }
        match value {
            Value::Object(deeper) if depth > 0 => all_of(facts, Some(deeper), depth - 1),
            value => add(facts, &name.replace('_', " "), value),
        }
    }
}

/// A text; one that is empty is left out.
fn say(facts: &mut Facts, name: &str, text: Option<&str>) {
    add(facts, name, &text.map_or(Value::Null, Value::from));
}

/// A count.
fn count(facts: &mut Facts, name: &str, count: Option<u64>) {
    facts.extend(count.map(|count| (name.to_owned(), grouped(count))));
}

fn hardware(known: &Inputs<'_>) -> Facts {
    let mut facts = Facts::new();
    let summary = known.summary();
    say(&mut facts, "label", summary.hardware_label.as_deref());
    if let Some(system) = &summary.system_info {
        say(&mut facts, "CPU", system.cpu_brand.as_deref());
        count(&mut facts, "CPU threads", system.cpu_count.map(u64::from));
        say(&mut facts, "system", system.os_name.as_deref());
        say(&mut facts, "version", system.os_version.as_deref());
        say(&mut facts, "kernel", system.kernel_version.as_deref());
        say(&mut facts, "host", system.host_name.as_deref());
    }
    let telemetry = summary.telemetry.as_ref();
    for device in telemetry.into_iter().flat_map(|told| &told.devices) {
        let texts = [
            &device.name,
            &device.device_type,
            &device.driver_version,
            &device.uuid,
            &device.pci,
        ];
        let texts = texts.into_iter().flatten();
        let mut words: Vec<_> = texts
            .filter_map(|text| word(&Value::from(text.as_str())))
            .collect();
        let memory = device.memory_total_mib;
        words.extend(memory.map(|mib| format!("{} MiB", digits(mib))));
        let limit = device.power_limit_watts;
        words.extend(limit.map(|watts| format!("may draw {}", Unit::Watts.show(watts))));
        facts.push((device.id.clone(), words.join(", ")));
    }
    facts
}

fn service(known: &Inputs<'_>) -> Facts {
    let mut facts = Facts::new();
    if let Some(config) = &known.summary().profiler_config {
        say(&mut facts, "model", config.model.as_deref());
        say(&mut facts, "client", config.client_id.as_deref());
        say(&mut facts, "address", config.client_base_url.as_deref());
        let parameters = config.additional_parameters.as_ref();
        all_of(&mut facts, parameters.map(GivenParameters::entries), 0);
    }
    let mut told = Facts::new();
    let said = known.summary().client_info.as_ref();
    all_of(&mut told, said.and_then(|info| info.said().as_object()), 2);
    // The client repeats what the plan already said.
    told.retain(|(name, _)| name != "id" && name != "base url");
    facts.extend(told);
    facts
}

fn load(known: &Inputs<'_>) -> Facts {
    let mut facts = Facts::new();
    let (summary, load) = (known.summary(), known.summary().load.as_ref());
    let config = summary.profiler_config.as_ref();
    say(&mut facts, "sent", load.map(|load| &*load.load));
    say(&mut facts, "dataset", summary.dataset.as_deref());
    let params = config.and_then(|config| config.dataset_params.as_ref());
    all_of(&mut facts, params.map(GivenParameters::entries), 0);
    let warmup = config.and_then(|config| config.warmup_queries);
    count(&mut facts, "warm-up queries", warmup);
    let mut add = |name: &str, text: String| facts.push((name.to_owned(), text));
    if let Some(steady) = load.and_then(|load| load.steady.as_ref()) {
        add("steady for", duration(steady.seconds));
        add("mean in flight", digits(steady.mean_in_flight));
        add("requests/s", digits(steady.requests_per_second));
        if let Some(tokens) = steady.output_tokens_per_second {
            add("output tokens/s", digits(tokens));
        }
    }
    let queue = load.and_then(|load| load.queue);
    say(
        &mut facts,
        "queue",
        queue.map(|queue| queue.verdict.label()),
    );
    if let Some(slo) = load.and_then(|load| load.slo.as_ref()) {
        say(&mut facts, "SLO", Some(&*slo.objectives));
        let kept = slo.whole.share.map(|share| Unit::Share.show(share.value));
        facts.extend(kept.map(|kept| ("SLO kept by".to_owned(), kept)));
    }
    let tokens = known.overview.tokens;
    for (name, count) in [("tokens in", tokens.input), ("tokens out", tokens.output)] {
        let text = count.map_or("n/a (the service did not say)".to_owned(), grouped);
        facts.push((name.to_owned(), text));
    }
    facts
}

fn absent(known: &Inputs<'_>) -> Facts {
    let mut facts = Facts::new();
    let telemetry = known.summary().telemetry.as_ref();
    for absent in telemetry.into_iter().flat_map(|told| &told.absent) {
        let text = |text: &str| word(&Value::from(text));
        let (Some(name), Some(reason)) = (text(&absent.collector), text(&absent.reason)) else {
            continue;
        };
        let fix = absent.fix.as_deref().and_then(text);
        let fix = fix.map_or(String::new(), |fix| format!("; {fix}"));
        facts.push((name, format!("{reason}{fix}")));
    }
    facts
}

fn tool(known: &Inputs<'_>) -> Facts {
    let mut facts = Facts::new();
    let summary = known.summary();
    let versions = summary.versions.as_ref();
    let ipw = versions.and_then(|versions| versions.ipw.as_deref());
    say(&mut facts, "ipw", ipw);
    let version = summary.format_version.map(u64::from);
    count(&mut facts, "format version", version);
    let telemetry = summary.telemetry.as_ref();
    let share = telemetry.and_then(|told| told.sampler_cpu_share);
    facts.extend(share.map(|share| {
        (
            "sampling cost".to_owned(),
            format!("{} of one CPU", Unit::Share.show(share)),
        )
    }));
    let parts = summary.parts.len();
    if parts > 1 {
        facts.push(("parts".to_owned(), format!("{parts} (the run was resumed)")));
    }
    facts.push((
        "directory".to_owned(),
        known.run.directory().display().to_string(),
    ));
    facts
}
