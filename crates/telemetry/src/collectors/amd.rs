//! AMD GPUs: the kernel's amdgpu driver, and amd-smi beside it if installed.
//!
//! amd-smi has the energy counter; the driver's files have power and state and need no library.
//! Both describe the same boards, matched by PCI address, so that no board counts twice. Without a
//! counter, power is integrated.
//!
//! Detection does not wait: the session checks the counter's rate later against the power. A
//! suspended board is not read, and then amd-smi is not started at all, because it opens every
//! board.

mod board;
mod card;
mod collect;
mod pci;
mod select;
mod smi;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ipw_core::setting::Setting;
use rustix::fs::{Access, AtFlags, CWD, accessat};

use self::board::{Board, Meters, boards, first_die};
use self::card::Cards;
use self::collect::BoardCollector;
use self::smi::{Smi, SmiError};
use crate::Absent;
use crate::collector::{Collector, Gpus, Options};
use crate::collectors::host::files::numbered;

/// The collector's id.
const ID: &str = "amd";

/// Upper bound for the power of any board.
const LARGEST_WATTS: f64 = 20_000.0;

/// Command that gives a user access to the boards.
const JOIN: &str = "sudo usermod -aG render,video \"$USER\"";
/// How to install the library.
const INSTALL: &str = "install ROCm's package amd-smi-lib, or set IPW_AMDSMI_LIB to its library";

/// Finds the boards: two collectors for each, one of energy and one of state.
pub fn detect(options: &Options) -> Result<Vec<Box<dyn Collector>>, Absent> {
    let cards = card::find(&options.sysfs);
    let kfd = options.dev.join("kfd");
    let has_sign = !cards.ours.is_empty() || cards.foreign.is_some() || kfd.exists();
    if !has_sign && options.amdsmi.is_none() {
        return Err(nothing(options));
    }
    let smi = library(options, &cards).map(Arc::new);
    let foreign = cards.foreign;
    let boards = boards(cards.ours, smi.as_deref().ok());
    if boards.is_empty() {
        let foreign = foreign.as_ref().map(|(card, driver)| (&**card, &**driver));
        return Err(no_board(options, foreign, has_sign, smi.as_deref().err()));
    }
    let chosen = select::chosen(&boards, &options.gpus);
    if chosen.is_empty() {
        return Err(hidden(&boards, &options.gpus));
    }
    let chosen = boards.iter().filter(|board| chosen.contains(&board.number));
    let metered: Vec<(&Board, Meters)> = chosen
        .map(|board| {
            let meters = board.meters(smi.as_ref().ok(), first_die(&boards, board));
            (board, meters)
        })
        .collect();
    if !metered.iter().any(|(_, meters)| meters.is_telling()) {
        return Err(silent(options, &metered, smi.as_deref().err()));
    }
    let driver = fs::read_to_string(options.sysfs.join("module/amdgpu/version"));
    let driver = driver.ok().map(|version| version.trim().to_owned());
    let used = match &smi {
        Ok(smi) => format!("amd-smi {}", smi.version),
        Err(closed) => format!("no energy counter, power is integrated: {closed}"),
    };
    let collectors = metered.into_iter().flat_map(|(board, mut meters)| {
        meters.notes.push(used.clone());
        let device = board.device(driver.clone(), meters.notes.clone());
        let energy = BoardCollector::energy(board, meters, &device);
        let device = energy.is_none().then_some(&device);
        let state = BoardCollector::state(board, device);
        energy.into_iter().chain(state)
    });
    Ok(collectors
        .map(|collector| Box::new(collector) as Box<dyn Collector>)
        .collect())
}

/// Starts amd-smi, unless that would wake a suspended board.
fn library(options: &Options, cards: &Cards) -> Result<Smi, SmiError> {
    match cards.ours.iter().find(|card| card.is_asleep()) {
        Some(asleep) => {
            let called = asleep
                .pci
                .map_or("a board".into(), |pci| format!("`{pci}`"));
            Err(SmiError::WouldWake(called))
        }
        None => Smi::open(options.amdsmi.as_deref()),
    }
}

impl Meters {
    fn is_telling(&self) -> bool {
        self.counter.is_some() || self.power.is_some()
    }
}

fn absent(is_here: bool, reason: String, fix: Option<String>) -> Absent {
    Absent {
        collector: ID.into(),
        is_here,
        reason,
        fix,
        risk: None,
    }
}

/// The reason when there is no sign of a board.
fn nothing(options: &Options) -> Absent {
    let reason = format!(
        "no AMD GPU: no AMD card under `{}/class/drm`, and no `{}/kfd`",
        options.sysfs.display(),
        options.dev.display()
    );
    absent(false, reason, None)
}

/// The reason when there are signs of a board, but none can be read.
fn no_board(
    options: &Options,
    foreign: Option<(&Path, &str)>,
    has_sign: bool,
    closed: Option<&SmiError>,
) -> Absent {
    let why = match foreign {
        Some((card, driver)) => format!(
            "`{}` uses the driver `{driver}`: only amdgpu reports power",
            card.display()
        ),
        None if has_sign => format!(
            "there is `{}/kfd`, but no card of the driver amdgpu under `{}/class/drm`",
            options.dev.display(),
            options.sysfs.display()
        ),
        None => "no AMD GPU uses the driver amdgpu".to_owned(),
    };
    let library = closed.map_or("amd-smi lists no GPU".to_owned(), SmiError::to_string);
    let fix = fix(options, closed);
    absent(true, format!("{why}; {library}"), fix)
}

/// The reason when no board is selected.
fn hidden(boards: &[Board], gpus: &Gpus) -> Absent {
    let known: Vec<String> = boards
        .iter()
        .map(|board| format!("{} ({})", board.number, board.called()))
        .collect();
    let known = known.join(", ");
    let (reason, fix) = if gpus.named.is_empty() {
        let visible = gpus.rocm_visible.as_deref().unwrap_or_default();
        let reason = format!(
            "ROCR_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES (`{visible}`) makes none of the GPUs \
             {known} visible"
        );
        (reason, Setting::Gpu.to("0").to_string())
    } else {
        let named = Setting::Gpu.to(gpus.named.join(","));
        let reason = format!("`{named}` matches none of the GPUs {known}");
        let fix = format!("{} with a number, PCI address or unique id", Setting::Gpu);
        (reason, fix)
    };
    absent(true, reason, Some(fix))
}

/// The reason when the boards report neither energy nor power.
fn silent(options: &Options, metered: &[(&Board, Meters)], closed: Option<&SmiError>) -> Absent {
    let mut words = Vec::new();
    for (board, meters) in metered.iter().take(1) {
        let place = board.card.as_ref().map(card::Card::place);
        words.push(match place {
            Some(place) => format!(
                "{} reports no power (`power1_average` or `power1_input` in `{}`)",
                board.called(),
                place.display()
            ),
            None => format!("{} reports no power", board.called()),
        });
        words.extend(meters.notes.iter().cloned());
    }
    words.extend(closed.map(SmiError::to_string));
    if is_virtual(options) {
        words.push("this is a virtual machine: its host may not expose the counters".into());
    }
    absent(true, words.join("; "), fix(options, closed))
}

/// The command that would grant access.
fn fix(options: &Options, closed: Option<&SmiError>) -> Option<String> {
    match closed {
        Some(SmiError::Refused(refusal)) if refusal.is_denied() => Some(JOIN.to_owned()),
        _ if is_denied(&options.dev) => Some(JOIN.to_owned()),
        Some(SmiError::Missing(_)) => Some(INSTALL.to_owned()),
        _ => None,
    }
}

/// Whether the boards' device files exist and are inaccessible. They are not opened, because that
/// wakes a board.
fn is_denied(dev: &Path) -> bool {
    let render = numbered(&dev.join("dri"), "renderD");
    let mut files = render.into_iter().chain([dev.join("kfd")]);
    let wanted = Access::READ_OK | Access::WRITE_OK;
    files.any(|file| file.exists() && accessat(CWD, &file, wanted, AtFlags::EACCESS).is_err())
}

fn is_virtual(options: &Options) -> bool {
    let cpus = fs::read_to_string(options.proc.join("cpuinfo")).unwrap_or_default();
    let mut flags = cpus.lines().filter(|line| line.starts_with("flags"));
    flags.any(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

#[cfg(test)]
mod tests;
