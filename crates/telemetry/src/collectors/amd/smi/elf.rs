//! Checks whether a library is built for this architecture: the loader's message does not say.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// ELF class and machine number of this program: 64 bits, and the numbers of the standard.
const OURS: Option<(u8, u16)> = if cfg!(target_arch = "x86_64") {
    Some((2, 62))
} else if cfg!(target_arch = "aarch64") {
    Some((2, 183))
} else {
    None
};

/// What is wrong with a file that is a library for another architecture or no library. `None` if it
/// fits this machine, or if the loader has to find it.
pub(super) fn foreign(path: &Path) -> Option<String> {
    // The loader searches for a bare name, and not in the current directory.
    let is_place = path.components().nth(1).is_some();
    let ours = OURS.filter(|_| cfg!(target_os = "linux") && is_place)?;
    let mut head = [0; 20];
    let mut file = File::open(path).ok()?;
    if file.read_exact(&mut head).is_err() || !head.starts_with(b"\x7fELF") {
        return Some("is not a library".to_owned());
    }
    let machine = u16::from_le_bytes([head[18], head[19]]);
    let is_ours = (head[4], machine) == ours;
    (!is_ours).then(|| format!("is built for {}", described(head[4], machine)))
}

fn described(class: u8, machine: u16) -> String {
    match (class, machine) {
        (1, _) => "32-bit machines".to_owned(),
        (_, 62) => "x86-64".to_owned(),
        (_, 183) => "64-bit ARM".to_owned(),
        _ => format!("another architecture (ELF machine {machine})"),
    }
}
