//! Which sources the headline of a run is made from, as far as its summary tells.

use std::collections::BTreeMap;

use ipw_analysis::energy::Share;
use ipw_core::source::Method;
use ipw_store::queries::RowShare;
use serde_json::Value;

/// The energy sources of a run by name.
pub(crate) struct Sources(BTreeMap<String, Told>);

struct Told {
    /// What a basis calls it.
    component: Option<&'static str>,
    device: Option<String>,
}

impl Sources {
    pub(crate) fn of(summary: &Value) -> Self {
        let sources = summary.pointer("/telemetry/sources");
        let sources = sources.and_then(Value::as_array).into_iter().flatten();
        Self(
            sources
                .filter_map(|source| {
                    let about = source.get("about")?;
                    let domain = about.pointer("/quantity/domain")?.as_str()?;
                    let device = about.get("device").and_then(Value::as_str);
                    let told = Told {
                        component: component(domain),
                        device: device.map(str::to_owned),
                    };
                    Some((about.get("name")?.as_str()?.to_owned(), told))
                })
                .collect(),
        )
    }

    /// The shares of a row. A board's counter stands for it where it says something, its power
    /// otherwise.
    pub(crate) fn shares<'a>(
        &self,
        shares: &[RowShare<'a>],
        basis: Option<&str>,
    ) -> Vec<Share<'a>> {
        let basis = basis.unwrap_or_default();
        let is_estimated = basis.ends_with("_estimated");
        let parts: Vec<&str> = basis.trim_end_matches("_estimated").split('+').collect();
        let counts = |share: &RowShare<'_>| {
            let told = self.0.get(share.name);
            let is_meant = told
                .and_then(|told| told.component)
                .is_some_and(|component| parts.contains(&component));
            is_meant && (share.method == "estimated") == is_estimated && share.joules.is_some()
        };
        let device = |share: &RowShare<'_>| self.0.get(share.name)?.device.as_deref();
        shares
            .iter()
            .filter_map(|share| {
                let has_counter = share.method != "counter"
                    && device(share).is_some()
                    && shares.iter().any(|other| {
                        other.method == "counter" && device(other) == device(share) && counts(other)
                    });
                Some(Share {
                    name: share.name,
                    method: method(share.method)?,
                    joules: share.joules,
                    above_idle: share.above_idle,
                    is_headline: counts(share) && !has_counter,
                })
            })
            .collect()
    }
}

fn method(label: &str) -> Option<Method> {
    let all = [
        Method::Counter,
        Method::Integrated,
        Method::Estimated,
        Method::Direct,
    ];
    all.into_iter().find(|method| method.label() == label)
}

fn component(domain: &str) -> Option<&'static str> {
    Some(match domain {
        "cpu_package" => "cpu",
        "dram" => "dram",
        "gpu" => "gpu",
        "ane" => "ane",
        "soc" => "soc",
        "module" => "module",
        "platform" => "system",
        _ => return None,
    })
}
