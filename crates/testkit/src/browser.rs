//! A real browser without a window: the system's Chromium, driven from Node by `playwright-core`.
//!
//! Chromium is the system's own (Debian's package is installed where we may); `playwright-core` is
//! the driver alone and brings no browser of its own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Missing;
use crate::place::{lab, lock, say, tail, unusable};

/// Pinned: newer ones may want a newer Chromium.
const DRIVER: &str = "playwright-core@1.65.0";
const STAMP: &str = "complete";
/// What Chromium is called, here and there.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// A browser that scripts can drive.
#[derive(Debug, Clone)]
pub struct Browser {
    driver: PathBuf,
    chromium: PathBuf,
}

impl Browser {
    /// Finds or installs Chromium, and installs its driver once.
    pub fn ensure() -> Result<Self, Missing> {
        let driver = lab("")?.join("browser-1.65.0");
        let _lock = lock(&driver)?;
        let chromium = match chromium() {
            Some(found) => found,
            None => install_chromium()?,
        };
        let browser = Self { driver, chromium };
        if !browser.driver.join(STAMP).exists() {
            browser.install_driver()?;
        }
        Ok(browser)
    }

    fn install_driver(&self) -> Result<(), Missing> {
        say("installing the browser's driver (playwright-core)");
        let broken = |error| unusable(&self.driver, &error);
        fs::create_dir_all(&self.driver).map_err(broken)?;
        fs::write(self.driver.join("package.json"), "{\"private\": true}\n").map_err(broken)?;
        let mut npm = Command::new("npm");
        npm.args([
            "install",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
            DRIVER,
        ])
        .current_dir(&self.driver);
        run(&mut npm).map_err(|why| {
            let how = "install Node and npm, and connect to the npm registry or a mirror of it";
            Missing::new(DRIVER, why, how)
        })?;
        fs::write(self.driver.join(STAMP), DRIVER).map_err(broken)
    }

    /// Runs a script (a module that may import `playwright-core`) with the path of Chromium and
    /// `args` as its last arguments; gives what it printed, or what it said instead.
    pub fn run(&self, script: &str, args: &[impl AsRef<OsStr>]) -> Result<String, String> {
        let mut node = Command::new("node");
        node.args(["--input-type=module", "--eval", script, "--"])
            .arg(&self.chromium)
            .args(args)
            .current_dir(&self.driver);
        run(&mut node)
    }
}

/// Where it is on the path.
fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let all = std::env::split_paths(&path).collect::<Vec<_>>();
    let mut places = NAMES
        .iter()
        .flat_map(|name| all.iter().map(move |directory| directory.join(name)));
    places.find(|place| place.is_file())
}

fn install_chromium() -> Result<PathBuf, Missing> {
    let missing = |why: String| {
        let how = "install Chromium (Debian: apt-get install chromium)";
        Missing::new("Chromium", why, how)
    };
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err(missing("it is not on the path".to_owned()));
    }
    say("installing Chromium");
    let mut apt = Command::new("apt-get");
    apt.args(["install", "--yes", "--no-install-recommends", "chromium"])
        .env("DEBIAN_FRONTEND", "noninteractive");
    run(&mut apt).map_err(&missing)?;
    chromium().ok_or_else(|| missing("it is still not on the path".to_owned()))
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(out);
    }
    let said = format!("{out}{}", String::from_utf8_lossy(&output.stderr));
    Err(tail(&said))
}
