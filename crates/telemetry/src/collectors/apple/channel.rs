//! Decides whether a channel is plausible: one that never moves may not exist.

/// Plausible watts of a part of a chip; the largest chips draw some hundreds.
const POWER: std::ops::RangeInclusive<f64> = 0.0..=2_000.0;

/// Number of zeros in a row after which a part that is never idle counts as silent. Some systems
/// update their counters about twice in two seconds and show zero in between.
pub const MOST_STILL: u32 = 30;

/// A part of the chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The CPU's clusters.
    Cpu,
    /// The GPU.
    Gpu,
    /// The neural engine.
    Ane,
    /// Memory.
    Dram,
    /// The whole machine.
    System,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Cpu, Self::Gpu, Self::Ane, Self::Dram, Self::System];

    /// Whether it can draw nothing. The parts that run and hold this program cannot.
    pub const fn rests(self) -> bool {
        matches!(self, Self::Gpu | Self::Ane)
    }

    /// Whether the total is unknown without it. Such a part stays a source, silent until it moves.
    pub const fn is_essential(self) -> bool {
        matches!(self, Self::Cpu | Self::Gpu)
    }
}

/// The history of one part's values.
#[derive(Debug, Clone, Copy)]
pub struct Channel {
    part: Part,
    is_heard: bool,
    has_moved: bool,
    still: u32,
}

impl Channel {
    /// A channel without values yet.
    pub const fn new(part: Part) -> Self {
        Self {
            part,
            is_heard: false,
            has_moved: false,
            still: 0,
        }
    }

    /// The part that it belongs to.
    pub const fn part(&self) -> Part {
        self.part
    }

    /// Whether it ever had a value.
    pub const fn is_heard(&self) -> bool {
        self.is_heard
    }

    /// Whether it ever had a value other than zero.
    pub const fn has_moved(&self) -> bool {
        self.has_moved
    }

    /// Whether it deserves a source, judged after many samples.
    pub const fn is_there(&self) -> bool {
        self.has_moved || self.part.is_essential()
    }

    /// Adds a value and returns it if it is credible, else `None`. Zero is not credible until the
    /// channel has moved, and never for long from a part that cannot be idle.
    pub fn take(&mut self, watts: f64) -> Option<f64> {
        if !POWER.contains(&watts) {
            return None;
        }
        self.is_heard = true;
        if watts > 0.0 {
            self.has_moved = true;
            self.still = 0;
            return Some(watts);
        }
        self.still = self.still.saturating_add(1);
        let is_frozen = !self.part.rests() && self.still > MOST_STILL;
        (self.has_moved && !is_frozen).then_some(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(part: Part, samples: &[f64]) -> Vec<Option<f64>> {
        let mut channel = Channel::new(part);
        samples.iter().map(|watts| channel.take(*watts)).collect()
    }

    #[test]
    fn a_channel_that_never_moves_says_nothing_and_not_nought() {
        for part in Part::ALL {
            let mut channel = Channel::new(part);
            assert!((0..1000).all(|_| channel.take(0.0).is_none()), "{part:?}");
            assert!(!channel.has_moved());
            let stays = matches!(part, Part::Cpu | Part::Gpu);
            assert_eq!(channel.is_there(), stays, "{part:?}");
        }
    }

    #[test]
    fn nought_counts_once_it_has_moved() {
        let expected = [None, Some(3.0), Some(0.0), Some(0.0), Some(1.0)];
        assert_eq!(heard(Part::Gpu, &[0.0, 3.0, 0.0, 0.0, 1.0]), expected);
        assert_eq!(heard(Part::Cpu, &[0.0, 3.0, 0.0, 0.0, 1.0]), expected);
    }

    #[test]
    fn a_part_that_cannot_rest_and_stands_still_is_not_believed_until_it_moves_again() {
        for (part, rests) in [(Part::Cpu, false), (Part::Dram, false), (Part::Gpu, true)] {
            let mut channel = Channel::new(part);
            assert_eq!(channel.take(5.0), Some(5.0));
            for _ in 0..MOST_STILL {
                assert_eq!(channel.take(0.0), Some(0.0), "{part:?}");
            }
            assert_eq!(channel.take(0.0).is_some(), rests, "{part:?}");
            assert_eq!(channel.take(2.0), Some(2.0));
        }
    }

    #[test]
    fn what_cannot_be_is_left_out_and_moves_nothing() {
        for nonsense in [f64::NAN, f64::INFINITY, -1.0, 1e6] {
            assert_eq!(
                heard(Part::Cpu, &[nonsense, 0.0]),
                [None, None],
                "{nonsense}"
            );
        }
    }
}
