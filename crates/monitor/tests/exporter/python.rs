//! What Python's `prometheus_client` makes of the page, in both formats.

use ipw_core::source::{Gauge, Method, Source};
use ipw_testkit::{Venv, or_skip};
use serde_json::Value;

use super::client::{Asked, get};
use super::{Bench, ENERGY, POWER, gauge, source};

/// Every sample: family, kind, unit, name, labels, value.
const SCRIPT: &str = r"
import json, sys
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics
text = open(sys.argv[2], encoding='utf-8', newline='').read()
read = {'old': parser, 'new': openmetrics}[sys.argv[1]].text_string_to_metric_families
print(json.dumps([
    [family.name, family.type, family.unit, family.documentation, sample.name, sample.labels, float(sample.value)]
    for family in read(text) for sample in family.samples
]))
";

const HOSTILE: &str = "a \"b\" \\ c\nd {e=\"f\"} \u{202e} # EOF";

fn sources() -> Vec<Source> {
    let mut hostile = source(HOSTILE, POWER, Method::Integrated);
    hostile.host = Some("h\\\"\n".to_owned());
    hostile.device = Some("d\"\\n\\".to_owned());
    let mut board = source("nvml/0", ENERGY, Method::Counter);
    board.device = Some("nvml/0".to_owned());
    vec![
        board,
        hostile,
        source("estimate/cpu", ENERGY, Method::Estimated),
        source(
            "nvml/0/temperature",
            gauge(Gauge::GpuTemperature),
            Method::Direct,
        ),
        source("nvml/0/use", gauge(Gauge::GpuUse), Method::Direct),
    ]
}

fn found<'a>(samples: &'a [Value], name: &str, source: &str) -> Option<&'a Value> {
    samples
        .iter()
        .find(|sample| sample[4] == name && sample[5]["source"] == source)
}

#[test]
fn prometheus_reads_both_formats() {
    let wanted = ["prometheus-client==0.23.1"];
    let Some(python) = or_skip(Venv::ensure("prometheus", &wanted)) else {
        return;
    };
    let mut bench = Bench::new(sources());
    bench.say(
        0,
        &[Some(10.0), Some(50.0), Some(1.0), Some(40.0), Some(25.0)],
    );
    bench.say(
        500,
        &[Some(20.5), Some(50.0), Some(1.5), Some(41.0), Some(75.0)],
    );
    let directory = tempfile::tempdir().unwrap();
    for (kind, accept, content) in [
        (
            "new",
            "Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3\r\n",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
        (
            "old",
            "Accept: */*\r\n",
            "text/plain; version=0.0.4; charset=utf-8",
        ),
    ] {
        let asked = Asked {
            headers: accept,
            ..Asked::default()
        };
        let answer = get(bench.exporter.address(), "/metrics", asked);
        assert!(
            answer.head.contains(&format!("Content-Type: {content}")),
            "{}",
            answer.head
        );
        assert_eq!(answer.body.ends_with("# EOF\n"), kind == "new");
        let path = directory.path().join(kind);
        std::fs::write(&path, &answer.body).unwrap();
        let said = python.run(SCRIPT, &[kind, path.to_str().unwrap()]).unwrap();
        let samples: Vec<Value> = serde_json::from_str(&said).unwrap();
        check(&samples, kind);
    }
}

fn check(samples: &[Value], kind: &str) {
    let sample = |name: &str, source: &str| {
        let found = found(samples, name, source);
        assert!(
            found.is_some(),
            "{kind}: {name} of {source:?} in {samples:?}"
        );
        found.cloned().unwrap_or_default()
    };
    let energy = sample("ipw_energy_joules_total", "nvml/0");
    assert_eq!((&energy[1], &energy[6]), (&"counter".into(), &10.5.into()));
    assert_eq!(energy[5]["method"], "counter");
    assert_eq!(energy[5]["domain"], "gpu");
    assert_eq!(energy[5].as_object().unwrap().get("host"), None);
    let power = sample("ipw_power_watts", "nvml/0");
    assert_eq!((&power[1], &power[6]), (&"gauge".into(), &21.0.into()));
    if kind == "new" {
        assert_eq!(
            (&energy[0], &energy[2]),
            (&"ipw_energy_joules".into(), &"joules".into())
        );
        assert_eq!(power[2], "watts");
    }
    assert!(
        !energy[3].as_str().unwrap().is_empty(),
        "it has a HELP line"
    );
    // The name comes back as it was, whatever is in it.
    let hostile = sample("ipw_energy_joules_total", HOSTILE);
    assert_eq!(hostile[5]["host"], "h\\\"\n");
    assert_eq!(hostile[5]["device"], "d\"\\n\\");
    assert_eq!(hostile[6], 25.0);
    let estimate = sample("ipw_energy_joules_total", "estimate/cpu");
    assert_eq!(estimate[5]["method"], "estimated");
    assert_eq!(
        sample("ipw_temperature_celsius", "nvml/0/temperature")[6],
        41.0
    );
    assert_eq!(sample("ipw_utilization_ratio", "nvml/0/use")[6], 0.75);
    assert_eq!(sample("ipw_readings_total", "nvml/0")[6], 2.0);
    assert_eq!(sample("ipw_gaps_total", "nvml/0")[6], 0.0);
    let info = sample("ipw_source_info", "nvml/0/use");
    assert_eq!(
        (&info[5]["quantity"], &info[6]),
        (&"gpu_use".into(), &1.0.into())
    );
    let build = samples.iter().find(|sample| sample[4] == "ipw_build_info");
    assert!(build.is_some_and(|build| build[5]["version"].is_string()));
}
