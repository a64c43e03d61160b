//! Which sources the headline of a run is made from ([`ipw_core::rollup`]), as far as it tells.

use std::collections::BTreeSet;

use ipw_analysis::energy::Share;
use ipw_core::rollup::{Use, uses};
use ipw_core::source::{Method, Role, Source};
use ipw_store::queries::RowShare;
use ipw_store::{Run, readings};
use serde::Deserialize as _;
use serde_json::Value;

/// Names of the sources that the headline is made from.
pub(super) fn headline(run: &Run) -> BTreeSet<String> {
    let telemetry = run.summary().get("telemetry").unwrap_or(&Value::Null);
    let sources = told_of(telemetry).unwrap_or_else(|| recorded(run));
    let used = used(&sources).into_iter();
    used.map(|source| source.name.clone()).collect()
}

/// How the sources that the headline is made from measure, in words; `None` where nobody tells.
pub(crate) fn methods(telemetry: &Value) -> Option<String> {
    let sources = told_of(telemetry)?;
    let used = used(&sources);
    let methods: BTreeSet<&str> = used.iter().map(|source| source.method.label()).collect();
    let methods: Vec<&str> = methods.into_iter().collect();
    (!methods.is_empty()).then(|| methods.join(" and "))
}

/// Those of them that the headline is made from.
fn used(sources: &[(Source, bool)]) -> Vec<&Source> {
    let about: Vec<&Source> = sources.iter().map(|(source, _)| source).collect();
    let uses = uses(&about, |place| sources[place].1);
    let used = about.into_iter().zip(uses);
    used.filter(|(_, used)| *used == Use::Headline)
        .map(|(source, _)| source)
        .collect()
}

/// The sources as the run described them when it began: one that was killed has no summary of them.
fn recorded(run: &Run) -> Vec<(Source, bool)> {
    let recorded = readings::sources(run.directory()).unwrap_or_default();
    let first = recorded.first().map(|source| source.part);
    let own = recorded
        .into_iter()
        .filter(|source| Some(source.part) == first && source.role == Role::Service);
    own.map(|source| (source.about, false)).collect()
}

/// The service's sources in `summary.json`, each with whether it never moved; `None` without any.
fn told_of(telemetry: &Value) -> Option<Vec<(Source, bool)>> {
    let sources = telemetry.get("sources")?.as_array()?;
    let told = sources.iter().filter_map(|source| {
        let about = Source::deserialize(source.get("about")?).ok()?;
        let role = source.get("role").and_then(Value::as_str);
        (role != Some(Role::Client.label())).then_some(())?;
        let is_stuck = source.get("joules").is_none_or(Value::is_null);
        Some((about, is_stuck))
    });
    Some(told.collect()).filter(|told: &Vec<_>| !told.is_empty())
}

/// What one source says of a row; `None` where nobody knows how.
pub(super) fn share<'a>(share: RowShare<'a>, headline: &BTreeSet<String>) -> Option<Share<'a>> {
    Some(Share {
        name: share.name,
        method: method(share.method)?,
        joules: share.joules,
        above_idle: share.above_idle,
        is_headline: headline.contains(share.name),
    })
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
