//! What was done in a stretch of time and what it took: what marginal costs are made from
//! (docs/method.md §6.9).

use std::rc::Rc;

use ipw_core::attribution::{Idle, IdleSteps, Step};
use ipw_core::reading::Window;
use ipw_core::rollup::Use;
use ipw_core::time::Timestamp;
use ipw_core::units::Joules;

use super::playback::Follow;
use super::rows::FlightRow;
use super::sources::PartSources;

/// Steps are put together until they are this long: the energy of a token is drawn before it
/// arrives, and in a shorter stretch the two would fall apart.
const STRETCH: f64 = 0.25;

/// What was done in a stretch of time, and what a source counted in it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Work {
    /// Tokens of prompts that were read.
    pub input_tokens: f64,
    /// Tokens that were written.
    pub output_tokens: f64,
    /// How long it was.
    pub seconds: f64,
    /// What was counted.
    pub joules: f64,
}

/// The work that one source of the basis saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SourceWork {
    /// Its name.
    pub source: String,
    /// Stretch by stretch, from the first query on.
    pub work: Vec<Work>,
}

/// Puts the work of one part together.
pub(super) struct Works {
    sources: Vec<Option<Following>>,
    from: Option<Timestamp>,
}

struct Following {
    name: String,
    active: Vec<Rc<FlightRow>>,
    current: Work,
    done: Vec<Work>,
}

impl Works {
    /// Of the measured sources in the headline, from the first query on.
    pub(super) fn of(sources: &PartSources, from: Option<Timestamp>) -> Self {
        let follow = sources.counted.iter().map(|source| {
            let is_basis = source.used == Use::Headline && source.about.is_measured_energy();
            is_basis.then(|| Following {
                name: source.about.name.clone(),
                active: Vec::new(),
                current: Work::default(),
                done: Vec::new(),
            })
        });
        Self {
            sources: follow.collect(),
            from,
        }
    }

    /// Adds what was found to what other parts found.
    pub(super) fn finish(self, all: &mut Vec<SourceWork>) {
        for mut source in self.sources.into_iter().flatten() {
            match all.iter_mut().find(|known| known.source == source.name) {
                Some(known) => known.work.append(&mut source.done),
                None => all.push(SourceWork {
                    source: source.name,
                    work: source.done,
                }),
            }
        }
    }
}

impl Follow for Works {
    fn begins(&mut self, asked: &Rc<FlightRow>) {
        for source in self.sources.iter_mut().flatten() {
            source.active.push(Rc::clone(asked));
        }
    }

    fn counts(&mut self, place: usize, step: &Step) {
        if let Some(source) = &mut self.sources[place] {
            if self.from.is_some_and(|from| step.start >= from) {
                source.take(step);
            }
            let is_over =
                |asked: &Rc<FlightRow>| asked.window.is_none_or(|own| own.end() <= step.end);
            source.active.retain(|asked| !is_over(asked));
        }
    }

    fn ends(&mut self, place: usize) {
        if let Some(source) = &mut self.sources[place] {
            source.active.clear();
        }
    }
}

impl Following {
    fn take(&mut self, step: &Step) {
        let is_there = |asked: &&Rc<FlightRow>| {
            let own = asked.window.map(|own| own.overlap(step.start, step.end));
            own.is_some_and(|own| !own.is_zero())
        };
        let mut here = self.active.iter().filter(is_there);
        let energy = step.believed().map(Joules::joules);
        // What was lost, or done by queries that do not say what they did, tells nothing.
        let (Some(energy), true) = (energy, here.all(|asked| asked.is_counted())) else {
            self.current = Work::default();
            return;
        };
        for asked in &self.active {
            self.current.input_tokens += asked.tokens.read(step.start, step.end);
            self.current.output_tokens += asked.tokens.written(step.start, step.end);
        }
        self.current.seconds += step.length().as_secs_f64();
        self.current.joules += energy;
        if self.current.seconds >= STRETCH {
            self.done.push(std::mem::take(&mut self.current));
        }
    }
}

/// Finds steps without a query in flight, from the first query on. Earlier power may belong to the
/// warm-up.
pub(super) struct QuietSteps {
    sources: Vec<(Vec<Window>, IdleSteps)>,
    from: Option<Timestamp>,
}

impl QuietSteps {
    pub(super) fn of(width: usize, from: Option<Timestamp>) -> Self {
        Self {
            sources: vec![(Vec::new(), IdleSteps::default()); width],
            from,
        }
    }

    /// What each source drew, where there were enough such steps.
    pub(super) fn idle(&self, sources: &PartSources) -> Vec<Option<Idle>> {
        let found = self.sources.iter().zip(&sources.counted);
        found
            .map(|((_, quiet), source)| quiet.idle(&source.meter))
            .collect()
    }
}

impl Follow for QuietSteps {
    fn begins(&mut self, asked: &Rc<FlightRow>) {
        for (active, _) in &mut self.sources {
            active.extend(asked.window.filter(|own| !own.length().is_zero()));
        }
    }

    fn counts(&mut self, place: usize, step: &Step) {
        let (active, quiet) = &mut self.sources[place];
        let is_there = |own: &Window| !own.overlap(step.start, step.end).is_zero();
        let is_after = self.from.is_some_and(|from| step.start >= from);
        if is_after && !active.iter().any(is_there) {
            quiet.take(step);
        }
        active.retain(|own| own.end() > step.end);
    }
}
