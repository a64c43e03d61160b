//! SHA-256 in lower-case hexadecimal.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// Bytes read at once.
pub(crate) const BLOCK: usize = 1 << 18;

/// The digest of all that went into `hasher`.
pub(crate) fn finish(hasher: Sha256) -> String {
    let mut text = String::with_capacity(64);
    for byte in hasher.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Hashes the file at `path`; `seen` is called for each block.
pub(crate) fn of_file(path: &Path, mut seen: impl FnMut(u64)) -> io::Result<(Sha256, u64)> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut block = vec![0; BLOCK];
    let mut done = 0;
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok((hasher, done)),
            Ok(count) => {
                hasher.update(&block[..count]);
                done += count as u64;
                seen(done);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether `text` has the form of a SHA-256.
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_known_one() {
        let digest = finish(Sha256::new());
        assert_eq!(
            digest,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert!(is_sha256(&digest));
        assert!(!is_sha256("e3b0"));
        assert!(!is_sha256(&digest.to_uppercase()));
    }
}
