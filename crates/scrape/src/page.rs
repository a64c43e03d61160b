//! Scrapes the Prometheus page of a service while it is measured.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ipw_core::server_metric::{Sample, Span, known_as};
use ipw_core::time::{Clock, Timestamp};
use serde::Serialize;
use serde_json::Value;
use url::Url;

use crate::http::web::{Answer, Asker, RequestError};
use crate::http::{HttpError, text};

const ACCEPT: &str = "text/plain;version=0.0.4";
/// Maximum number of series that are kept; more are a mistake or an attack.
pub const MOST: usize = 50_000;

/// A page that can be scraped.
pub struct Page {
    asker: Asker,
    url: Url,
}

/// The result of scraping.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ScrapeResult {
    /// Number of pages received.
    pub pages: u64,
    /// Number of failed requests.
    pub failed: u64,
    /// The last fault; `None` if there was none.
    pub fault: Option<String>,
    /// Number of series of one page that were dropped, because there are more than [`MOST`].
    pub dropped: u64,
    /// Metrics for which ipw has a name, summed over their labels.
    pub metrics: BTreeMap<&'static str, Span>,
}

impl ScrapeResult {
    /// The warning about dropped series.
    pub fn shortage(&self) -> Option<String> {
        (self.dropped > 0).then(|| {
            format!(
                "the metrics page has {} series more than the {MOST} that are kept: `server_metrics/` is \
                 incomplete; let the service report fewer labels",
                self.dropped
            )
        })
    }
}

impl Page {
    /// Requests the page once, to check that it exists.
    pub fn find(url: &Url, clock: &dyn Clock) -> Result<Self, String> {
        let words = |error: HttpError| error.to_string();
        let asker = Asker::plain(url, ACCEPT).map_err(words)?;
        let answer = asker.ask(clock).map_err(RequestError::words)?;
        if text::samples(&answer.text).next().is_none() {
            return Err("the reply is not a metrics page".to_owned());
        }
        Ok(Self {
            asker,
            url: url.clone(),
        })
    }

    /// The URL.
    pub fn url(&self) -> &Url {
        &self.url
    }
}

/// A thread that requests the page repeatedly until it is stopped.
pub struct Scraper {
    stop: SyncSender<()>,
    thread: JoinHandle<ScrapeResult>,
}

/// Receives samples; returns `false` when no more are wanted.
pub type SampleSink = Box<dyn FnMut(&[Sample]) -> bool + Send>;

impl Scraper {
    /// Starts the thread. Only changed samples are passed on.
    pub fn start(
        page: Page,
        every: Duration,
        clock: Arc<dyn Clock>,
        mut take: SampleSink,
    ) -> std::io::Result<Self> {
        let (stop, stopped) = sync_channel::<()>(0);
        let thread = std::thread::Builder::new()
            .name("ipw-scrape".to_owned())
            .spawn(move || {
                let mut seen = ScrapeState::default();
                let mut is_last = false;
                loop {
                    match page.asker.ask(&*clock) {
                        Ok(answer) => {
                            let samples = seen.changed(&answer);
                            if !samples.is_empty() && !take(&samples) {
                                return seen.scraped;
                            }
                        }
                        Err(failed) => {
                            seen.scraped.failed += 1;
                            seen.scraped.fault = Some(failed.words());
                        }
                    }
                    if is_last {
                        return seen.scraped;
                    }
                    // Scrape once more after the stop: by then the last replies are counted.
                    let told = stopped.recv_timeout(every);
                    is_last = !matches!(told, Err(RecvTimeoutError::Timeout));
                }
            })?;
        Ok(Self { stop, thread })
    }

    /// Scrapes a last time and stops. Returns the result.
    pub fn finish(self) -> ScrapeResult {
        drop(self.stop);
        match self.thread.join() {
            Ok(scraped) => scraped,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// The samples of the last page.
#[derive(Default)]
struct ScrapeState {
    values: BTreeMap<(String, String), f64>,
    scraped: ScrapeResult,
}

impl ScrapeState {
    fn changed(&mut self, answer: &Answer) -> Vec<Sample> {
        self.scraped.pages += 1;
        let way = answer.answered.since(answer.asked);
        let at: Timestamp = answer.asked.after(way / 2);
        let mut sums: BTreeMap<&'static str, (f64, bool)> = BTreeMap::new();
        let mut changed = Vec::new();
        let mut dropped = 0;
        for (metric, sample) in text::samples(&answer.text) {
            if !sample.value.is_finite() {
                continue;
            }
            if let Some(known) = known_as(metric) {
                let sum = sums.entry(known.name).or_insert((0.0, known.is_counter));
                sum.0 += sample.value;
            }
            let labels: serde_json::Map<String, Value> = sample
                .labels
                .into_iter()
                .map(|(name, value)| (name, Value::String(value)))
                .collect();
            let key = (metric.to_owned(), Value::Object(labels).to_string());
            let is_same = self
                .values
                .get(&key)
                .is_some_and(|last| last.to_bits() == sample.value.to_bits());
            if is_same {
                continue;
            }
            if self.values.len() >= MOST && !self.values.contains_key(&key) {
                dropped += 1;
                continue;
            }
            changed.push(Sample {
                at,
                metric: key.0.clone(),
                labels: key.1.clone(),
                value: sample.value,
            });
            self.values.insert(key, sample.value);
        }
        self.scraped.dropped = self.scraped.dropped.max(dropped);
        for (name, (value, is_counter)) in sums {
            let span = self.scraped.metrics.entry(name).or_insert_with(|| Span {
                first: value,
                last: value,
                min: value,
                max: value,
                samples: 0,
                grown: is_counter.then_some(0.0),
            });
            span.grown = span
                .grown
                .filter(|_| value >= span.last)
                .map(|_| value - span.first);
            span.last = value;
            span.min = span.min.min(value);
            span.max = span.max.max(value);
            span.samples += 1;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use ipw_runner::SystemClock;
    use ipw_testkit::web::{Reply, Served, Server};

    use super::*;

    fn answer(text: &str, nanos: u64) -> Answer {
        Answer {
            text: text.to_owned(),
            asked: Timestamp::from_nanos(nanos),
            answered: Timestamp::from_nanos(nanos + 10),
        }
    }

    #[test]
    fn who_is_stopped_looks_once_more() {
        // One more token at every scrape.
        let server = Server::start(|_, nth| {
            let page = format!("llamacpp:tokens_predicted_total {nth}\n");
            Reply::File(Served::of(page.as_bytes()))
        });
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let url = Url::parse(&server.url()).unwrap();
        let page = Page::find(&url, &*clock).unwrap();
        let (looked, looks) = std::sync::mpsc::channel();
        let take = Box::new(move |_: &[_]| looked.send(()).is_ok());
        let scraper = Scraper::start(page, Duration::from_hours(1), clock, take).unwrap();
        looks.recv().unwrap();
        let scraped = scraper.finish();
        assert_eq!((scraped.pages, scraped.failed), (2, 0), "{scraped:?}");
        assert_eq!(scraped.metrics["output_tokens"].grown, Some(1.0));
    }

    #[test]
    fn series_beyond_the_limit_are_counted_and_those_before_are_kept() {
        let series = (0..MOST + 7).map(|series| format!("odd{{n=\"{series}\"}} 1\n"));
        let page: String = series.collect();
        let mut seen = ScrapeState::default();
        assert_eq!(seen.changed(&answer(&page, 100)).len(), MOST);
        assert_eq!(seen.scraped.dropped, 7);
        let samples = seen.changed(&answer(&page.replace("} 1\n", "} 2\n"), 200));
        assert_eq!((samples.len(), seen.scraped.dropped), (MOST, 7));
    }

    #[test]
    fn only_changes_are_kept_and_known_metrics_are_summed_over_their_labels() {
        let mut seen = ScrapeState::default();
        let first = "# HELP x y\nvllm:num_requests_running{model=\"a\"} 1\n\
                     vllm:num_requests_running{model=\"b\"} 2\nvllm:prompt_tokens_total 10\nodd NaN\n";
        let samples = seen.changed(&answer(first, 100));
        assert_eq!((samples.len(), samples[0].at.nanos()), (3, 105));
        assert_eq!(samples[0].labels, "{\"model\":\"a\"}");
        let second = first.replace("total 10", "total 25");
        let samples = seen.changed(&answer(&second, 200));
        assert_eq!(samples.len(), 1, "{samples:?}");
        let running = seen.scraped.metrics["requests_running"];
        assert_eq!(
            (running.last.to_bits(), running.grown),
            (3.0_f64.to_bits(), None)
        );
        assert_eq!(seen.scraped.metrics["prompt_tokens"].grown, Some(15.0));
        let anew = first.replace("total 10", "total 3");
        seen.changed(&answer(&anew, 300));
        assert_eq!(
            seen.scraped.metrics["prompt_tokens"].grown, None,
            "it began anew"
        );
    }
}
