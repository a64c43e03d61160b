//! Shares of a row as the energy analysis takes them.

use std::collections::BTreeSet;

use ipw_analysis::energy::Share;
use ipw_core::source::Method;
use ipw_store::queries::RowShare;

/// What one source says of a row; `None` where nobody knows how.
pub fn share<'a>(share: RowShare<'a>, headline: &BTreeSet<String>) -> Option<Share<'a>> {
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
