//! A collector that a test plays by hand.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ipw_core::collector::{Collector, PollError};
use ipw_core::hardware::Device;
use ipw_core::source::{Method, Quantity, Source};
use ipw_core::time::{Clock, Timestamp};

/// What the sources say, by place; `None` says nothing.
pub type Values = Arc<Mutex<Vec<Option<f64>>>>;

/// Gets the place of a source, the instant of its value, and the value.
type Take<'a> = &'a mut dyn FnMut(usize, Timestamp, f64);
type Poll = Box<dyn FnMut(&dyn Clock, Take<'_>) -> Result<(), PollError> + Send>;

/// A source of this name; what stands before its `/` is the collector.
pub fn source(name: &str, quantity: Quantity, method: Method) -> Source {
    Source {
        name: name.to_owned(),
        collector: name.split('/').next().unwrap_or(name).to_owned().into(),
        host: None,
        device: None,
        quantity,
        method,
        period: None,
        privilege: "none".into(),
        relative_sigma: None,
    }
}

/// Says what it is told to.
pub struct ScriptedCollector {
    sources: Vec<Source>,
    poll: Poll,
    /// Its id.
    pub id: &'static str,
    /// The devices of its sources.
    pub devices: Vec<Device>,
    /// How often it wants to be polled; `None`: as the user says.
    pub interval: Option<Duration>,
    /// Which others share its thread.
    pub circle: Option<&'static str>,
}

impl ScriptedCollector {
    /// Does at each poll what `poll` does.
    pub fn new(
        sources: Vec<Source>,
        poll: impl FnMut(&dyn Clock, Take<'_>) -> Result<(), PollError> + Send + 'static,
    ) -> Self {
        Self {
            sources,
            poll: Box::new(poll),
            id: "scripted",
            devices: Vec::new(),
            interval: None,
            circle: None,
        }
    }

    /// Says what stands in `values` at each poll.
    pub fn saying(sources: Vec<Source>, values: &Values) -> Self {
        let values = Arc::clone(values);
        Self::new(sources, move |clock, take| {
            let values = values.lock().unwrap_or_else(PoisonError::into_inner);
            for (place, value) in values.iter().enumerate() {
                if let Some(value) = value {
                    take(place, clock.now(), *value);
                }
            }
            Ok(())
        })
    }
}

impl Collector for ScriptedCollector {
    fn id(&self) -> &'static str {
        self.id
    }

    fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn devices(&self) -> &[Device] {
        &self.devices
    }

    fn interval(&self, wanted: Duration) -> Duration {
        self.interval.unwrap_or(wanted)
    }

    fn circle(&self) -> Option<&'static str> {
        self.circle
    }

    fn poll(&mut self, clock: &dyn Clock, take: Take<'_>) -> Result<(), PollError> {
        (self.poll)(clock, take)
    }
}
