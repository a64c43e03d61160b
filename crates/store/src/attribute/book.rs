//! The energy of the rows of one part: a ledger for each source, and the rows that wait for all of
//! them.

use std::collections::VecDeque;
use std::rc::Rc;

use ipw_core::attribution::{Ledger, QueryAttribution, Step, Weights, equal};
use ipw_core::energy::{Phase, Phases, QueryEnergy, Share, WindowEnergy};
use ipw_core::reading::Window;

use super::playback::Follow;
use super::rows::FlightRow;
use super::sources::PartSources;

type Weigh = fn(&Rc<FlightRow>, Window, &Step) -> f64;

/// The rows of a part and what is known of their energy so far.
pub(super) struct Book<'a> {
    sources: &'a PartSources,
    ledgers: Vec<Ledger<'a, Rc<FlightRow>, Weigh>>,
    is_over: Vec<bool>,
    pending: Pending,
    /// Queries that may still be in flight when the next one begins.
    open: Vec<Rc<FlightRow>>,
}

/// Rows in the order of the file, from the first that is not done.
#[derive(Default)]
struct Pending {
    rows: VecDeque<Waiting>,
    done: usize,
}

struct Waiting {
    asked: Rc<FlightRow>,
    seen: Vec<Option<(WindowEnergy, [Option<WindowEnergy>; 2])>>,
    left: usize,
}

impl Pending {
    fn settle(&mut self, place: usize, settled: &QueryAttribution<Rc<FlightRow>>) {
        let row = &mut self.rows[settled.query.row - self.done];
        row.seen[place] = Some((settled.energy, settled.inside));
        row.left -= 1;
    }
}

fn by_tokens(asked: &Rc<FlightRow>, window: Window, step: &Step) -> f64 {
    asked.tokens.within_both(step, window)
}

impl<'a> Book<'a> {
    pub(super) fn new(sources: &'a PartSources, weights: Weights) -> Self {
        let weigh: Weigh = match weights {
            Weights::Equal => equal,
            Weights::Tokens => by_tokens,
        };
        let ledgers = sources.counted.iter();
        Self {
            sources,
            ledgers: ledgers
                .map(|source| Ledger::new(&source.meter, source.idle, weigh))
                .collect(),
            is_over: vec![false; sources.counted.len()],
            pending: Pending::default(),
            open: Vec::new(),
        }
    }

    /// The next row in the order of the file, if all is known of it: `None` of its energy where
    /// that is not for readings to say.
    pub(super) fn next(&mut self) -> Option<(Rc<FlightRow>, Option<QueryEnergy>)> {
        let is_done = self.pending.rows.front().is_some_and(|row| row.left == 0);
        let row = self.pending.rows.pop_front_if(|_| is_done)?;
        self.pending.done += 1;
        let energy = row.asked.window.map(|window| self.energy(&row, window));
        Some((row.asked, energy))
    }

    /// Whether no row waits.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.rows.is_empty()
    }

    /// Ends the input.
    pub(super) fn finish(&mut self) {
        for place in 0..self.ledgers.len() {
            self.ends(place);
        }
    }

    fn energy(&self, row: &Waiting, window: Window) -> QueryEnergy {
        let whole = self.shares(row, |(energy, _)| Some(*energy));
        let mut energy = whole.explained();
        let split = row.asked.split.filter(|_| energy.headline().is_some());
        let sides = split.and_then(|split| Some((split, split.windows(window)?)));
        if let Some((split, [prefill, decode])) = sides {
            let phase = |place: usize, window: Window| {
                let shares = self.shares(row, |(_, inside)| inside[place]);
                Phase::of(&shares, window.length())
            };
            energy.phases = Some(Box::new(Phases {
                kind: split.kind(!row.asked.has_company.get()),
                prefill: phase(0, prefill),
                decode: phase(1, decode),
            }));
        }
        energy
    }

    fn shares(
        &self,
        row: &Waiting,
        get: impl Fn(&(WindowEnergy, [Option<WindowEnergy>; 2])) -> Option<WindowEnergy>,
    ) -> QueryEnergy {
        let shares = self.sources.counted.iter().zip(&row.seen);
        let shares = shares.filter_map(|(source, seen)| {
            Share::of(&source.about, source.used, get(seen.as_ref()?)?)
        });
        QueryEnergy {
            shares: shares.collect(),
            ..QueryEnergy::default()
        }
    }
}

impl Follow for Book<'_> {
    fn reads(&mut self, asked: &Rc<FlightRow>) {
        let width = self.ledgers.len();
        let left = if asked.window.is_some() { width } else { 0 };
        self.pending.rows.push_back(Waiting {
            asked: Rc::clone(asked),
            seen: vec![None; left],
            left,
        });
    }

    fn begins(&mut self, asked: &Rc<FlightRow>) {
        let Some(window) = asked.window else {
            return;
        };
        let ends = |other: &Rc<FlightRow>| other.window.map(Window::end);
        self.open.retain(|other| ends(other) > Some(window.start()));
        if !window.length().is_zero() {
            for other in &self.open {
                other.has_company.set(true);
                asked.has_company.set(true);
            }
            self.open.push(Rc::clone(asked));
        }
        let inside = asked.split.and_then(|split| split.windows(window));
        let inside = inside.map_or([None; 2], |sides| sides.map(Some));
        for (place, ledger) in self.ledgers.iter_mut().enumerate() {
            ledger.begin(Rc::clone(asked), window, inside);
            if self.is_over[place] {
                ledger.finish(|settled| self.pending.settle(place, &settled));
            }
        }
    }

    fn counts(&mut self, place: usize, step: &Step) {
        self.ledgers[place].take(step, |settled| self.pending.settle(place, &settled));
    }

    fn ends(&mut self, place: usize) {
        self.is_over[place] = true;
        self.ledgers[place].finish(|settled| self.pending.settle(place, &settled));
    }
}
