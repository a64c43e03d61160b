//! A card of the amdgpu driver, as the kernel shows it (`class/drm/card*/device`).
//!
//! Files and units are those of `Documentation/gpu/amdgpu/thermal.rst` and of the driver's
//! `amdgpu_pm.c`. Reading most files wakes a suspended card, so callers check first.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::pci::Pci;
use crate::collectors::host::files::{Reader, numbered};

/// AMD's PCI vendor id.
const VENDOR: &str = "0x1002";
/// The driver that reports power.
const DRIVER: &str = "amdgpu";

/// What the driver writes for unknown values: all ones, in the width of its own field.
const UNKNOWN: [u64; 3] = [0xFFFF, 0xFFFF_FFFF, u64::MAX];

/// Power files; most cards have one of them. An average covers the time between two polls.
const POWERS: [&str; 2] = ["power1_average", "power1_input"];

/// One card.
#[derive(Debug, Clone)]
pub(super) struct Card {
    /// `class/drm/card0/device`.
    directory: PathBuf,
    hwmon: Option<PathBuf>,
    /// Its PCI address.
    pub(super) pci: Option<Pci>,
    /// The PCI device id.
    pub(super) model: Option<u16>,
    /// The product name according to the driver.
    pub(super) name: Option<String>,
    /// The serial number according to the driver.
    pub(super) unique_id: Option<String>,
}

/// AMD's cards on this machine.
#[derive(Debug, Default)]
pub(super) struct Cards {
    /// Cards of the driver that reports power.
    pub(super) ours: Vec<Card>,
    /// A card of another driver: its path and that driver's name.
    pub(super) foreign: Option<(PathBuf, String)>,
}

/// Finds the cards; skips connectors (`card0-DP-1`) and partitions, which have no vendor file.
pub(super) fn find(sysfs: &Path) -> Cards {
    let mut cards = Cards::default();
    for card in numbered(&sysfs.join("class/drm"), "card") {
        let directory = card.join("device");
        if text(&directory.join("vendor")).as_deref() != Some(VENDOR) {
            continue;
        }
        match driver(&directory) {
            Some(driver) if driver == DRIVER => cards.ours.push(Card::at(directory)),
            driver => {
                let driver = driver.unwrap_or_else(|| "none".to_owned());
                cards.foreign.get_or_insert((card, driver));
            }
        }
    }
    cards
}

fn driver(directory: &Path) -> Option<String> {
    let link = fs::read_link(directory.join("driver")).ok();
    let name = link.as_deref().and_then(Path::file_name);
    let name = name.map(|name| name.to_string_lossy().into_owned());
    name.or_else(|| uevent(directory, "DRIVER="))
}

fn uevent(directory: &Path, key: &str) -> Option<String> {
    let lines = text(&directory.join("uevent"))?;
    let value = lines.lines().find_map(|line| line.strip_prefix(key))?;
    Some(value.to_owned())
}

/// The text of a small file; `None` if it is empty or unreadable.
fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The directory of the card's sensors. It changes when the driver is loaded again.
fn hwmon(directory: &Path) -> Option<PathBuf> {
    numbered(&directory.join("hwmon"), "hwmon")
        .into_iter()
        .find(|chip| text(&chip.join("name")).as_deref() == Some(DRIVER))
}

impl Card {
    fn at(directory: PathBuf) -> Self {
        let target = fs::read_link(&directory).ok();
        let linked = target.as_deref().and_then(Path::file_name);
        let pci = uevent(&directory, "PCI_SLOT_NAME=")
            .as_deref()
            .and_then(Pci::parse)
            .or_else(|| Pci::parse(linked?.to_str()?));
        let model = text(&directory.join("device"));
        let model = model.as_deref().and_then(|model| model.strip_prefix("0x"));
        Self {
            hwmon: hwmon(&directory),
            pci,
            model: model.and_then(|model| u16::from_str_radix(model, 16).ok()),
            name: text(&directory.join("product_name")),
            unique_id: text(&directory.join("unique_id"))
                .filter(|id| id.bytes().any(|byte| byte != b'0')),
            directory,
        }
    }

    /// Whether it is suspended: reading its sensors would wake it.
    pub(super) fn is_asleep(&self) -> bool {
        text(&self.directory.join("power/runtime_status")).as_deref() == Some("suspended")
    }

    /// Whether it is integrated in a CPU and so reports the CPU's power too. Only such chips report
    /// the northbridge's voltage; MI300A is an exception without it.
    pub(super) fn is_integrated(&self) -> bool {
        let hwmon = self.hwmon.as_deref();
        hwmon.is_some_and(|hwmon| hwmon.join("in1_input").exists())
    }

    /// The expected directory of its sensors, for messages.
    pub(super) fn place(&self) -> PathBuf {
        let hwmon = self.hwmon.clone();
        hwmon.unwrap_or_else(|| self.directory.join("hwmon"))
    }

    /// A file in the card's directory.
    pub(super) fn file(&self, name: &'static str) -> Option<SensorFile> {
        SensorFile::at(&self.directory, None, name.to_owned())
    }

    /// A file of its sensors.
    pub(super) fn sensor(&self, name: &str) -> Option<SensorFile> {
        SensorFile::at(&self.directory, self.hwmon.as_deref(), name.to_owned())
            .filter(|_| self.hwmon.is_some())
    }

    /// The power file, in µW.
    pub(super) fn power(&self) -> Option<SensorFile> {
        POWERS.into_iter().find_map(|name| self.sensor(name))
    }

    /// The temperature that throttles the card, else that of its edge, else the first, in m°C.
    pub(super) fn temperature(&self) -> Option<SensorFile> {
        let hwmon = self.hwmon.as_deref()?;
        let labelled = |wanted: Option<&str>| {
            (1..=8).find_map(|number| {
                let label = text(&hwmon.join(format!("temp{number}_label")));
                let is_meant = wanted.is_none() || label.as_deref() == wanted;
                let input = || self.sensor(&format!("temp{number}_input"));
                is_meant.then(input)?
            })
        };
        labelled(Some("junction"))
            .or_else(|| labelled(Some("edge")))
            .or_else(|| labelled(None))
    }
}

/// A file that contains one number.
#[derive(Debug, Clone)]
pub(super) struct SensorFile {
    /// The card's directory.
    device: PathBuf,
    is_hwmon: bool,
    name: String,
    path: PathBuf,
}

impl SensorFile {
    fn at(device: &Path, hwmon: Option<&Path>, name: String) -> Option<Self> {
        let path = hwmon.unwrap_or(device).join(&name);
        path.exists().then(|| Self {
            device: device.to_owned(),
            is_hwmon: hwmon.is_some(),
            name,
            path,
        })
    }

    /// The number; `None` if it is missing, malformed, negative or means "unknown".
    pub(super) fn read(&mut self, reader: &mut Reader) -> Option<u64> {
        let number = known(reader.read(&self.path));
        if number.is_some() || !self.is_hwmon || self.path.exists() {
            return number;
        }
        self.path = hwmon(&self.device)?.join(&self.name);
        known(reader.read(&self.path))
    }

    /// Whether the file no longer exists.
    pub(super) fn is_gone(&self) -> bool {
        matches!(fs::metadata(&self.path), Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// The location, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

fn known(text: Option<&str>) -> Option<u64> {
    let number = text?.trim().parse().ok()?;
    (!UNKNOWN.contains(&number)).then_some(number)
}
