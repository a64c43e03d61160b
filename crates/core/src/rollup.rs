//! Assignment of sources to figures, so that no joule is counted twice (docs/method.md §6.4).
//!
//! The tree is `platform ⊃ module ⊃ {gpu, cpu package ⊃ {core, uncore}, dram}`, with `soc` around
//! all sources of its collector. Where several sources report one quantity, such as a board's
//! counter and its power, one of them is used. Each machine has its own tree.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::source::{Domain, Method, Source};

/// Figures that a source's energy enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Use {
    /// The headline, and the roll-up of its domain.
    Headline,
    /// The roll-up of its domain only: the headline counts an enclosing domain.
    RollUp,
    /// No figure; it is only shown.
    Shown,
}

/// Collector of systems on a chip whose parts are measured separately: their sum is the chip.
const CHIP: &str = "apple";
/// Collector of NVIDIA modules with CPU and memory beside the GPU.
const MODULE: &str = "grace";

/// The use of each source. `is_stuck` tells whether the counter at an index never moves; another
/// source of the same quantity then replaces it.
pub fn uses(sources: &[&Source], is_stuck: impl Fn(usize) -> bool) -> Vec<Use> {
    let is_measured = sources.iter().any(|source| source.is_measured_energy());
    let mut uses = vec![Use::Shown; sources.len()];
    let mut left: Vec<usize> = (0..sources.len()).collect();
    while let Some(first) = left.first() {
        let host = &sources[*first].host;
        let own: Vec<usize> = left
            .extract_if(.., |place| sources[*place].host == *host)
            .collect();
        let machine: Vec<&Source> = own.iter().map(|place| sources[*place]).collect();
        let used = uses_on(&machine, is_measured, |place| is_stuck(own[place]));
        for (place, used) in own.into_iter().zip(used) {
            uses[place] = used;
        }
    }
    uses
}

/// The sources that the headline counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// All measured energy, each joule once.
    #[default]
    All,
    /// The GPUs only, as the original counts.
    Gpu,
    /// The CPU packages only.
    Cpu,
    /// The whole chip only.
    Soc,
}

impl Choice {
    /// All choices.
    pub const ALL: [Self; 4] = [Self::All, Self::Gpu, Self::Cpu, Self::Soc];

    /// The name in flags and files.
    pub const fn label(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
            Self::Soc => "soc",
        }
    }

    /// The choice with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.label() == name)
    }

    /// The use of each source when the headline counts this choice. Roll-ups do not change.
    pub fn apply(self, sources: &[&Source], mut uses: Vec<Use>) -> Vec<Use> {
        if self == Self::All {
            return uses;
        }
        let has_chip = sources
            .iter()
            .zip(&uses)
            .any(|(source, used)| *used != Use::Shown && source.domain() == Some(Domain::Soc));
        for (source, used) in sources.iter().zip(&mut uses) {
            let is_counted = match (self, source.domain()) {
                (Self::Gpu, domain) => domain == Some(Domain::Gpu),
                (Self::Cpu, domain) => domain == Some(Domain::CpuPackage),
                (_, Some(Domain::Soc)) => true,
                // A chip whose parts are measured separately is the sum of them.
                _ => !has_chip && source.collector == CHIP && *used == Use::Headline,
            };
            *used = match *used {
                Use::Shown => Use::Shown,
                _ if is_counted => Use::Headline,
                _ => Use::RollUp,
            };
        }
        uses
    }

    /// The choices for which these sources report energy.
    pub fn offered(sources: &[&Source], uses: &[Use]) -> Vec<Self> {
        let is_filled = |choice: &Self| {
            let chosen = choice.apply(sources, uses.to_vec());
            chosen.contains(&Use::Headline)
        };
        Self::ALL.into_iter().filter(is_filled).collect()
    }
}

/// The use of each source of one machine. `is_measured` tells whether any machine has a measured
/// source.
fn uses_on(sources: &[&Source], is_measured: bool, is_stuck: impl Fn(usize) -> bool) -> Vec<Use> {
    let standing: Vec<Option<Domain>> = (0..sources.len())
        .map(|place| standing(sources, place, is_measured, &is_stuck))
        .collect();
    let stands = |domain: Domain, collector: Option<&str>| {
        sources.iter().zip(&standing).any(|(source, stands)| {
            *stands == Some(domain) && collector.is_none_or(|wanted| source.collector == wanted)
        })
    };
    let module = sources
        .iter()
        .zip(&standing)
        .find(|(_, stands)| **stands == Some(Domain::Module))
        .map(|(source, _)| &*source.collector)
        .filter(|_| !stands(Domain::Gpu, None));
    let mut uses: Vec<Use> = sources
        .iter()
        .zip(&standing)
        .map(|(source, stands_for)| match stands_for {
            None | Some(Domain::Platform) => Use::Shown,
            Some(Domain::Soc) => Use::Headline,
            Some(_) if stands(Domain::Soc, Some(&source.collector)) => Use::RollUp,
            Some(Domain::Module) if module == Some(&*source.collector) => Use::Headline,
            Some(Domain::Module) => Use::Shown,
            Some(_) if module.is_some() && source.collector == MODULE => Use::RollUp,
            Some(domain) if domain.is_nested() => Use::Shown,
            Some(_) => Use::Headline,
        })
        .collect();
    if !uses.contains(&Use::Headline) {
        for (used, stands) in uses.iter_mut().zip(&standing) {
            if *stands == Some(Domain::Platform) {
                *used = Use::Headline;
            }
        }
    }
    uses
}

/// The domain that the source at `place` represents. It must be the best source of its quantity,
/// and not an estimate where a source measures.
fn standing(
    sources: &[&Source],
    place: usize,
    is_measured: bool,
    is_stuck: &impl Fn(usize) -> bool,
) -> Option<Domain> {
    let source = sources[place];
    let domain = source.domain()?;
    if is_measured && source.method == Method::Estimated {
        return None;
    }
    let rank = |place: usize| (is_stuck(place), sources[place].method, place);
    let is_same = |other: &Source| {
        source.device.is_some()
            && other.device == source.device
            && other.domain() == Some(domain)
            && other.collector == source.collector
    };
    let best = (0..sources.len()).filter(|other| is_same(sources[*other]));
    let best = best.map(rank).min().unwrap_or_else(|| rank(place));
    (best == rank(place)).then_some(domain)
}

/// The parts of the machine that the headline counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Basis {
    /// A set of [`PARTS`], as bits.
    parts: u8,
    is_estimated: bool,
}

/// Possible parts of a headline, in the order of the label.
const PARTS: [(Domain, &str); 7] = [
    (Domain::Soc, "soc"),
    (Domain::Module, "module"),
    (Domain::Gpu, "gpu"),
    (Domain::CpuPackage, "cpu"),
    (Domain::Dram, "dram"),
    (Domain::Ane, "ane"),
    (Domain::Platform, "system"),
];

/// Suffix of the label of an estimated basis.
const ESTIMATED: &str = "_estimated";

/// Whether the label names an estimated basis.
pub fn is_estimated(label: &str) -> bool {
    label.ends_with(ESTIMATED)
}

impl Basis {
    /// The basis of a headline with these parts; `None` without parts.
    pub fn of<'a>(parts: impl Iterator<Item = (Domain, Method, &'a str)>) -> Option<Self> {
        let mut basis = Self::default();
        let mut is_chip = true;
        for (domain, method, collector) in parts {
            if let Some(place) = PARTS.iter().position(|(known, _)| *known == domain) {
                basis.parts |= 1 << place;
            }
            basis.is_estimated |= method == Method::Estimated;
            is_chip &= collector == CHIP && domain != Domain::Platform;
        }
        if basis.parts != 0 && is_chip {
            basis.parts = 1;
        }
        (basis.parts != 0).then_some(basis)
    }

    /// Whether it is estimated.
    pub const fn is_estimated(self) -> bool {
        self.is_estimated
    }

    /// Whether it is a whole chip.
    pub const fn is_soc(self) -> bool {
        self.parts == 1
    }

    /// The name in columns: `gpu+cpu+dram`, `soc`, `cpu_estimated`.
    pub fn label(self) -> Cow<'static, str> {
        let mut parts = PARTS
            .iter()
            .enumerate()
            .filter(|(place, _)| self.parts & (1 << place) != 0)
            .map(|(_, (_, label))| *label);
        let (first, rest) = (parts.next().unwrap_or_default(), parts.collect::<Vec<_>>());
        if rest.is_empty() && !self.is_estimated {
            return first.into();
        }
        let mut label = first.to_owned();
        for part in rest {
            label.push('+');
            label.push_str(part);
        }
        if self.is_estimated {
            label.push_str(ESTIMATED);
        }
        label.into()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::counter::Rollover;
    use crate::source::Quantity;

    #[test]
    fn a_choice_moves_the_headline_and_keeps_the_roll_ups() {
        let sources = [
            counter("nvml/0", Some("0"), Domain::Gpu),
            counter("rapl/package", Some("p"), Domain::CpuPackage),
            counter("rapl/dram", Some("p"), Domain::Dram),
        ];
        let sources: Vec<&Source> = sources.iter().collect();
        let all = uses(&sources, |_| false);
        assert_eq!(all, [Use::Headline; 3]);
        let gpu = Choice::Gpu.apply(&sources, all.clone());
        assert_eq!(gpu, [Use::Headline, Use::RollUp, Use::RollUp]);
        let cpu = Choice::Cpu.apply(&sources, all.clone());
        assert_eq!(cpu, [Use::RollUp, Use::Headline, Use::RollUp]);
        let offered = Choice::offered(&sources, &all);
        assert_eq!(offered, [Choice::All, Choice::Gpu, Choice::Cpu]);
        assert_eq!(Choice::named("soc"), Some(Choice::Soc));
        assert_eq!(Choice::named("tpu"), None);
    }

    fn counter(name: &str, device: Option<&str>, domain: Domain) -> Source {
        let (collector, _) = name.split_once('/').unwrap();
        Source {
            name: name.to_owned(),
            collector: collector.to_owned().into(),
            host: None,
            device: device.map(str::to_owned),
            quantity: Quantity::Energy {
                domain,
                rollover: Rollover::Resets,
            },
            method: Method::Counter,
            period: None,
            privilege: "none".into(),
            relative_sigma: None,
        }
    }

    fn power(name: &str, device: Option<&str>, domain: Domain) -> Source {
        Source {
            quantity: Quantity::Power {
                domain,
                averaging: Duration::ZERO,
            },
            method: Method::Integrated,
            ..counter(name, device, domain)
        }
    }

    fn estimate() -> Source {
        Source {
            method: Method::Estimated,
            ..counter("estimate/cpu", None, Domain::CpuPackage)
        }
    }

    /// Sources in the headline, sources in roll-ups only, and the basis.
    fn rolled(sources: &[Source], stuck: &[&str]) -> (Vec<String>, Vec<String>, String) {
        let all: Vec<&Source> = sources.iter().collect();
        let uses = uses(&all, |place| stuck.contains(&&*sources[place].name));
        let named = |wanted: Use| -> Vec<String> {
            let of_use = sources
                .iter()
                .zip(&uses)
                .filter(|(_, used)| **used == wanted);
            of_use.map(|(source, _)| source.name.clone()).collect()
        };
        let headline = sources.iter().zip(&uses);
        let headline = headline.filter(|(_, used)| **used == Use::Headline);
        let basis = Basis::of(
            headline
                .map(|(source, _)| (source.domain().unwrap(), source.method, &*source.collector)),
        );
        let basis = basis.map(|basis| basis.label().into_owned());
        (
            named(Use::Headline),
            named(Use::RollUp),
            basis.unwrap_or_default(),
        )
    }

    #[test]
    fn boards_packages_and_memory_are_added_and_what_is_inside_or_around_them_is_not() {
        let sources = [
            counter("nvml/0", Some("nvml/0"), Domain::Gpu),
            power("nvml/0/power", Some("nvml/0"), Domain::Gpu),
            power("nvml/0/memory_power", Some("nvml/0"), Domain::GpuMemory),
            power("nvml/0/module_power", Some("nvml/0"), Domain::Module),
            counter("nvml/1", Some("nvml/1"), Domain::Gpu),
            counter("rapl/package-0", None, Domain::CpuPackage),
            counter("rapl/package-0/core", None, Domain::CpuCore),
            counter("rapl/package-0/dram", None, Domain::Dram),
            counter("rapl/psys", None, Domain::Platform),
            estimate(),
        ];
        let (headline, rolled_up, basis) = rolled(&sources, &[]);
        assert_eq!(
            headline,
            ["nvml/0", "nvml/1", "rapl/package-0", "rapl/package-0/dram"]
        );
        assert!(rolled_up.is_empty(), "{rolled_up:?}");
        assert_eq!(basis, "gpu+cpu+dram");
    }

    #[test]
    fn a_counter_that_never_moves_leaves_its_place_to_the_power() {
        let sources = [
            counter("amd/0", Some("amd/0"), Domain::Gpu),
            power("amd/0/power", Some("amd/0"), Domain::Gpu),
        ];
        assert_eq!(rolled(&sources, &[]).0, ["amd/0"]);
        assert_eq!(rolled(&sources, &["amd/0"]).0, ["amd/0/power"]);
    }

    #[test]
    fn the_input_of_a_board_stands_for_the_rails_behind_it() {
        let sources = [
            power("jetson/VDD_IN", None, Domain::Soc),
            power("jetson/VDD_GPU_SOC", None, Domain::Gpu),
            power("jetson/VDD_CPU_CV", None, Domain::CpuPackage),
            power("jetson/VIN_SYS_5V0", None, Domain::Rail),
        ];
        let (headline, rolled_up, basis) = rolled(&sources, &[]);
        assert_eq!(headline, ["jetson/VDD_IN"]);
        assert_eq!(rolled_up[..2], ["jetson/VDD_GPU_SOC", "jetson/VDD_CPU_CV"]);
        assert_eq!(basis, "soc");
    }

    #[test]
    fn a_module_counts_only_where_its_gpu_does_not() {
        let grace = [
            power("grace/module-0", None, Domain::Module),
            power("grace/grace-0", None, Domain::CpuPackage),
        ];
        let alone = rolled(&grace, &[]);
        assert_eq!(
            (&alone.0[..], &*alone.2),
            (&["grace/module-0".to_owned()][..], "module")
        );
        assert_eq!(alone.1, ["grace/grace-0"]);
        let [module, package] = grace;
        let both = [
            module,
            package,
            counter("nvml/0", Some("nvml/0"), Domain::Gpu),
        ];
        let (headline, _, basis) = rolled(&both, &[]);
        assert_eq!(headline, ["grace/grace-0", "nvml/0"]);
        assert_eq!(basis, "gpu+cpu");
    }

    #[test]
    fn machines_are_added_and_each_has_a_tree_of_its_own() {
        let on = |host: &str, source: Source| Source {
            name: format!("{host}/{}", source.name),
            host: Some(host.to_owned()),
            ..source
        };
        let sources = [
            on("a", counter("nvml/0", Some("a/nvml/0"), Domain::Gpu)),
            on("a", power("nvml/0/power", Some("a/nvml/0"), Domain::Gpu)),
            on("a", power("plug/input", None, Domain::Platform)),
            on("b", power("jetson/VDD_IN", None, Domain::Soc)),
            on("b", power("jetson/VDD_GPU_SOC", None, Domain::Gpu)),
            on("c", power("plug/input", None, Domain::Platform)),
            on("d", estimate()),
        ];
        let (headline, rolled_up, basis) = rolled(&sources, &[]);
        assert_eq!(headline, ["a/nvml/0", "b/jetson/VDD_IN", "c/plug/input"]);
        assert_eq!(rolled_up, ["b/jetson/VDD_GPU_SOC"]);
        assert_eq!(basis, "soc+gpu+system");
    }

    #[test]
    fn the_parts_of_a_chip_are_the_chip() {
        let sources = [
            power("apple/cpu", None, Domain::CpuPackage),
            power("apple/gpu", None, Domain::Gpu),
            power("apple/ane", None, Domain::Ane),
            power("apple/dram", None, Domain::Dram),
            power("apple/system", None, Domain::Platform),
        ];
        let (headline, _, basis) = rolled(&sources, &[]);
        assert_eq!(headline.len(), 4, "{headline:?}");
        assert_eq!(basis, "soc");
    }

    #[test]
    fn the_whole_machine_or_a_model_stand_in_only_where_nothing_else_does() {
        let battery = power("battery/BAT0", None, Domain::Platform);
        assert_eq!(rolled(&[battery, estimate()], &[]).2, "system");
        assert_eq!(rolled(&[estimate()], &[]).2, "cpu_estimated");
        assert_eq!(rolled(&[], &[]).2, "");
    }
}
