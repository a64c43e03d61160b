//! Reads the service's own Prometheus metrics during a run.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use ipw_clients::Client;
use ipw_core::event::Event;
use ipw_core::secret::{self, hide, masked_url};
use ipw_core::server_metric::Sample;
use ipw_core::setting::Setting;
use ipw_core::time::Clock;
use ipw_runner::Notices;
use ipw_scrape::page::{Page, Scraper};
use ipw_store::ServerMetricWriter;
use ipw_store::summary::ServerMetrics;
use url::Url;

use crate::error::{Error, Kind};

/// Setting that disables reading the metrics.
pub(crate) const OFF: &str = "off";
/// Interval between two reads.
const EVERY: Duration = Duration::from_secs(1);

/// A running scraper of the service's metrics.
pub(crate) struct MetricsWatch {
    scraper: Scraper,
    url: String,
    /// Whether a sample could not be stored.
    is_lost: Arc<AtomicBool>,
}

/// The metrics page to read. By default it is that of a service on this machine. Other services get
/// no extra requests unless the user names a page.
pub(crate) fn find(
    asked: Option<&str>,
    client: &dyn Client,
    clock: &dyn Clock,
) -> Result<Option<Page>, Error> {
    if asked == Some(OFF) || client.in_process() {
        return Ok(None);
    }
    let Some(url) = asked else {
        let own = own_page(client.base_url());
        return Ok(own.and_then(|url| Page::find(&url, clock).ok()));
    };
    let usage = |error: anyhow::Error| {
        Error::new(Kind::Invalid, error).with_help(format!(
            "set `{}` to the URL of a Prometheus page, or `off`",
            Setting::ServerMetrics.to("URL")
        ))
    };
    let parsed = Url::parse(url)
        .with_context(|| {
            format!(
                "`{}` is not a URL",
                Setting::ServerMetrics.to(masked_url(url))
            )
        })
        .map_err(usage)?;
    let page = Page::find(&parsed, clock).map_err(|why| {
        usage(anyhow::anyhow!(
            "`{}`: {why}",
            Setting::ServerMetrics.to(masked_url(url))
        ))
    })?;
    Ok(Some(page))
}

/// The usual path of the page: `/metrics` at the root.
fn own_page(base_url: &str) -> Option<Url> {
    let mut url = Url::parse(base_url).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    let is_here = host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    let path = url.path().trim_end_matches('/');
    let root = path.strip_suffix("/v1").unwrap_or(path).to_owned();
    url.set_path(&format!("{root}/metrics"));
    is_here.then_some(url)
}

/// Masks secrets in samples: a service may put our API key into a label.
fn without_secrets(samples: &[Sample]) -> Cow<'_, [Sample]> {
    if !secret::is_any() {
        return Cow::Borrowed(samples);
    }
    let hidden = samples.iter().cloned().map(|mut sample| {
        secret::hide_in(&mut sample.metric);
        secret::hide_in(&mut sample.labels);
        sample
    });
    hidden.collect()
}

impl MetricsWatch {
    /// Starts reading.
    pub(crate) fn start(
        page: Page,
        run: &Path,
        part: u32,
        durable: bool,
        clock: &Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        let mut writer = ServerMetricWriter::create(run, part, durable)?;
        let url = masked_url(page.url().as_str()).into_owned();
        let is_lost = Arc::new(AtomicBool::new(false));
        let lost = Arc::clone(&is_lost);
        let take = Box::new(move |samples: &[Sample]| {
            let is_stored = writer.append(&without_secrets(samples)).is_ok();
            lost.store(!is_stored, Ordering::Relaxed);
            is_stored
        });
        let scraper = Scraper::start(page, EVERY, Arc::clone(clock), take)?;
        Ok(Self {
            scraper,
            url,
            is_lost,
        })
    }

    /// Stops reading. Returns the entry for the summary.
    pub(crate) fn finish(self, notices: &Notices) -> ServerMetrics {
        let scraped = self.scraper.finish();
        let is_lost = self.is_lost.load(Ordering::Relaxed);
        if is_lost {
            let message = "the metrics of the service are incomplete: storing them failed";
            notices.send(Event::Warning {
                message: message.to_owned(),
            });
        }
        if let Some(message) = scraped.shortage() {
            notices.send(Event::Warning { message });
        }
        let metrics = scraped.metrics.into_iter();
        ServerMetrics {
            url: self.url,
            pages: scraped.pages,
            failed: scraped.failed,
            fault: scraped
                .fault
                .as_deref()
                .map(|fault| hide(fault).into_owned()),
            is_complete: !is_lost && scraped.dropped == 0,
            dropped_series: Some(scraped.dropped),
            metrics: metrics.map(|(name, span)| (name.into(), span)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_service_on_this_machine_is_asked_without_a_word() {
        for (base, page) in [
            (
                "http://127.0.0.1:8080/v1",
                Some("http://127.0.0.1:8080/metrics"),
            ),
            (
                "http://localhost:1/front/v1/",
                Some("http://localhost:1/front/metrics"),
            ),
            ("http://[::1]:1", Some("http://[::1]:1/metrics")),
            ("https://api.example.com/v1", None),
            ("http://10.0.0.1:8000/v1", None),
        ] {
            let found = own_page(base).map(|url| url.to_string());
            assert_eq!(found.as_deref(), page, "{base}");
        }
    }
}
