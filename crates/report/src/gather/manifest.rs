//! What it ran on: hardware, service, energy sources, load, and the tool itself.

use ipw_core::text::{excerpt, printable};
use serde_json::Value;

use super::Inputs;
use crate::page::Section;
use crate::words::duration;
use ipw_core::quantity::{Unit, digits, grouped};

/// Facts of one section, and characters of one, that are shown.
const MOST: usize = 40;
const LONGEST: usize = 240;

pub(crate) fn of(known: &Inputs<'_>) -> Vec<Section> {
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

/// Everything below `value`, with names as they are, two steps down.
fn all_of(facts: &mut Facts, value: &Value, depth: usize) {
    for (name, value) in value.as_object().into_iter().flatten() {
        if facts.len() >= MOST {
            return;
        }
        match value {
            Value::Object(_) if depth > 0 => all_of(facts, value, depth - 1),
            value => add(facts, &name.replace('_', " "), value),
        }
    }
}

fn hardware(known: &Inputs<'_>) -> Facts {
    let mut facts = Facts::new();
    for (name, pointer) in [
        ("label", "/hardware_label"),
        ("CPU", "/system_info/cpu_brand"),
        ("CPU threads", "/system_info/cpu_count"),
        ("system", "/system_info/os_name"),
        ("version", "/system_info/os_version"),
        ("kernel", "/system_info/kernel_version"),
        ("host", "/system_info/host_name"),
    ] {
        add(&mut facts, name, known.at(pointer));
    }
    for device in known
        .at("/telemetry/devices")
        .as_array()
        .into_iter()
        .flatten()
    {
        let id = device.get("id").and_then(Value::as_str).unwrap_or("device");
        let mut words = Vec::new();
        for key in ["name", "device_type", "driver_version", "uuid", "pci"] {
            words.extend(device.get(key).and_then(word));
        }
        let number = |key: &str| device.get(key).and_then(Value::as_f64);
        words.extend(number("memory_total_mib").map(|mib| format!("{} MiB", digits(mib))));
        let limit = number("power_limit_watts");
        words.extend(limit.map(|watts| format!("may draw {}", Unit::Watts.show(watts))));
        facts.push((id.to_owned(), words.join(", ")));
    }
    facts
}

fn service(known: &Inputs<'_>) -> Facts {
    let mut facts = Facts::new();
    for (name, pointer) in [
        ("model", "/profiler_config/model"),
        ("client", "/profiler_config/client_id"),
        ("address", "/profiler_config/client_base_url"),
    ] {
        add(&mut facts, name, known.at(pointer));
    }
    all_of(
        &mut facts,
        known.at("/profiler_config/additional_parameters"),
        0,
    );
    let mut told = Facts::new();
    all_of(&mut told, known.at("/client_info"), 2);
    // The client repeats what the plan already said.
    told.retain(|(name, _)| name != "id" && name != "base url");
    facts.extend(told);
    facts
}

fn load(known: &Inputs<'_>) -> Facts {
    let mut facts = Facts::new();
    add(&mut facts, "sent", known.at("/load/load"));
    add(&mut facts, "dataset", known.at("/dataset"));
    all_of(&mut facts, known.at("/profiler_config/dataset_params"), 0);
    add(
        &mut facts,
        "warm-up queries",
        known.at("/profiler_config/warmup_queries"),
    );
    let steady = |key: &str| known.at(&format!("/load/steady/{key}")).as_f64();
    if let Some(seconds) = steady("seconds") {
        facts.push(("steady for".to_owned(), duration(seconds)));
    }
    for (name, key) in [
        ("mean in flight", "mean_in_flight"),
        ("requests/s", "requests_per_second"),
        ("output tokens/s", "output_tokens_per_second"),
    ] {
        facts.extend(steady(key).map(|value| (name.to_owned(), digits(value))));
    }
    add(&mut facts, "queue", known.at("/load/queue/verdict"));
    add(&mut facts, "SLO", known.at("/load/slo/objectives"));
    let kept = known.at("/load/slo/whole/share/value").as_f64();
    facts.extend(kept.map(|share| ("SLO kept by".to_owned(), Unit::Share.show(share))));
    let tokens = known.overview.tokens;
    for (name, count) in [("tokens in", tokens.input), ("tokens out", tokens.output)] {
        let text = count.map_or("n/a (the service did not say)".to_owned(), grouped);
        facts.push((name.to_owned(), text));
    }
    facts
}

fn absent(known: &Inputs<'_>) -> Facts {
    let mut facts = Facts::new();
    for absent in known
        .at("/telemetry/absent")
        .as_array()
        .into_iter()
        .flatten()
    {
        let text = |key: &str| absent.get(key).and_then(word);
        let (Some(name), Some(reason)) = (text("collector"), text("reason")) else {
            continue;
        };
        let fix = text("fix").map_or(String::new(), |fix| format!("; {fix}"));
        facts.push((name, format!("{reason}{fix}")));
    }
    facts
}

fn tool(known: &Inputs<'_>) -> Facts {
    let mut facts = Facts::new();
    add(&mut facts, "ipw", known.at("/versions/ipw"));
    add(&mut facts, "format version", known.at("/format_version"));
    let share = known.at("/telemetry/sampler_cpu_share").as_f64();
    facts.extend(share.map(|share| {
        (
            "sampling cost".to_owned(),
            format!("{} of one CPU", Unit::Share.show(share)),
        )
    }));
    let parts = known.at("/parts").as_array().map_or(0, Vec::len);
    if parts > 1 {
        facts.push(("parts".to_owned(), format!("{parts} (the run was resumed)")));
    }
    facts.push((
        "directory".to_owned(),
        known.run.directory().display().to_string(),
    ));
    facts
}
