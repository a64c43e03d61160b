//! The disk fails, the process dies or the power goes, at every call that the store makes.
//!
//! `SQLite` is tested this way: a shim under the store fails, shortens or records the n-th call, for
//! every n. Whatever happens, the run opens with every committed row, none of them doubled or torn,
//! and the next writer goes on from there.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helper fails loudly"
)]

mod calls;
mod histories;
mod power;
mod recorder;
mod scene;
mod shims;

/// The one seed to try, which a failed test printed: `IPW_SEED`.
fn chosen_seed() -> Option<u64> {
    std::env::var("IPW_SEED").ok()?.parse().ok()
}

use ipw_testkit::fuzz::rounds;

/// A call that goes around the seam is one that no test fails.
#[test]
fn only_one_module_changes_the_disk() {
    fn look(directory: &std::path::Path) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                look(&path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let product = text.split("#[cfg(test)]").next().unwrap();
            let product = product
                .replace("DiskFile::create", "")
                .replace("StreamFile::create", "");
            for call in [
                "fs::rename",
                "fs::remove",
                "fs::write",
                "create_dir",
                "DirBuilder",
                "File::create",
                "sync_data",
                "sync_all",
            ] {
                let is_seam = path.ends_with("src/disk.rs");
                assert!(
                    is_seam || !product.contains(call),
                    "{call} in {}",
                    path.display()
                );
            }
        }
    }
    look(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
}
