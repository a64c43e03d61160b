//! How runs on one machine find each other: a named socket in the kernel's abstract namespace.
//! Every user sees it in `/proc/net/unix`. It needs no permission and no file, and it disappears
//! with its process, so there are no stale ones.

use std::path::Path;

use crate::Options;

/// The start of every name.
#[cfg(target_os = "linux")]
const PREFIX: &str = "ipw-run";

/// Upper limit of the number of runs that are counted.
const MOST: usize = 1000;

/// Marks a run as active on this machine for as long as it lives.
#[derive(Debug)]
pub(super) struct Beacon {
    /// The start of the names of all runs on this machine.
    machine: String,
    name: String,
    #[cfg(target_os = "linux")]
    _socket: std::os::unix::net::UnixDatagram,
}

impl Beacon {
    /// `None` where the system has no abstract sockets.
    #[cfg(target_os = "linux")]
    pub(super) fn raise(options: &Options, own: u32) -> Option<Self> {
        use std::os::linux::net::SocketAddrExt as _;
        use std::os::unix::net::{SocketAddr, UnixDatagram};
        use std::sync::atomic::{AtomicU64, Ordering};

        static RUNS: AtomicU64 = AtomicU64::new(0);
        let machine = format!("{PREFIX}/{:016x}/", identity(options));
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        // Process ids repeat between containers that share a network: try the next name.
        (0..100).find_map(|attempt| {
            let name = format!("{machine}{own}.{number}.{attempt}");
            let address = SocketAddr::from_abstract_name(&name).ok()?;
            let socket = UnixDatagram::bind_addr(&address).ok()?;
            Some(Self {
                machine: machine.clone(),
                name,
                _socket: socket,
            })
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn raise(_options: &Options, _own: u32) -> Option<Self> {
        None
    }

    /// Number of other runs now; `None` where that cannot be read.
    pub(super) fn others(&self, proc: &Path) -> Option<usize> {
        let table = std::fs::read(proc.join("net/unix")).ok()?;
        let table = String::from_utf8_lossy(&table);
        let names = table.lines().filter_map(|line| line.split_once(" @"));
        let others = names
            .filter(|(_, name)| name.starts_with(&*self.machine) && name.trim_end() != self.name);
        Some(others.take(MOST).count())
    }
}

/// Hashes the measured sensors (FNV-1a): runs that read other sensors do not disturb each other.
#[cfg(target_os = "linux")]
fn identity(options: &Options) -> u64 {
    let path = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let library = |library: &Option<std::path::PathBuf>| library.as_deref().map(path);
    let parts = format!(
        "{:?}",
        (
            path(&options.sysfs),
            library(&options.nvml),
            library(&options.amdsmi),
            &options.machine,
        )
    );
    parts.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn runs_see_each_other_on_the_same_machine_and_only_while_they_live() {
        let place = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let options = |sysfs: &Path| Options {
            sysfs: sysfs.to_owned(),
            ..Options::default()
        };
        let proc = Path::new("/proc");
        let own = std::process::id();
        let first = Beacon::raise(&options(place.path()), own).unwrap();
        assert_eq!(first.others(proc), Some(0));
        let elsewhere = Beacon::raise(&options(other.path()), own).unwrap();
        let second = Beacon::raise(&options(place.path()), own).unwrap();
        assert_eq!(
            (first.others(proc), second.others(proc)),
            (Some(1), Some(1))
        );
        assert_eq!(elsewhere.others(proc), Some(0));
        drop(second);
        assert_eq!(first.others(proc), Some(0));
        assert_eq!(first.others(other.path()), None);
    }
}
