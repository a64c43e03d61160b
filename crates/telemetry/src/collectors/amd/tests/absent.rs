//! The reasons when there is nothing to read.

use super::*;

#[test]
fn nothing_is_said_in_one_short_sentence() {
    let tree = Tree::new();
    let absent = absent(detect(&Options {
        amdsmi: None,
        ..tree.options()
    }));
    assert!(!absent.is_here);
    assert!(
        absent.reason.starts_with("no AMD GPU: "),
        "{}",
        absent.reason
    );
    assert_eq!((absent.fix, absent.risk), (None, None));
}

#[test]
fn a_board_without_power_says_where_it_was_looked_for_and_what_would_help() {
    let tree = Tree::new();
    tree.card(0, "0000:03:00.0", "744c", &RADEON[..6]);
    let found = absent(tree.detect());
    assert!(found.is_here);
    for words in [
        "`0000:03:00.0` reports no power",
        "hwmon4",
        "libamd_smi.so`",
    ] {
        assert!(found.reason.contains(words), "{}", found.reason);
    }
    assert!(
        !found.reason.contains("virtual machine"),
        "{}",
        found.reason
    );
    assert_eq!(found.fix.as_deref(), Some(INSTALL));
    tree.write("proc/cpuinfo", "flags\t\t: fpu sse hypervisor avx\n");
    let found = absent(tree.detect());
    assert!(found.reason.contains("virtual machine"), "{}", found.reason);
}

#[test]
fn a_sign_of_a_board_without_a_card_is_a_board_that_cannot_be_read() {
    let tree = Tree::new();
    tree.write("dev/kfd", "");
    let found = absent(tree.detect());
    assert!(found.is_here);
    assert!(
        found.reason.contains("dev/kfd`, but no card"),
        "{}",
        found.reason
    );
}

/// Device files that are not for us: the fix is to join their groups.
#[cfg(target_os = "linux")]
#[test]
fn files_that_are_not_for_us_name_the_groups_to_join() {
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let tree = Tree::new();
    tree.card(0, "0000:03:00.0", "744c", &RADEON[..6]);
    tree.write("dev/dri/renderD128", "");
    let render = tree.0.path().join("dev/dri/renderD128");
    fs::set_permissions(&render, fs::Permissions::from_mode(0o000)).unwrap();
    let mut sets = capabilities(None).unwrap();
    sets.effective
        .remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
    set_capabilities(None, sets).unwrap();
    let found = absent(tree.detect());
    assert_eq!(
        found.fix.as_deref(),
        Some("sudo usermod -aG render,video \"$USER\"")
    );
}

#[test]
fn a_library_for_other_machines_is_told_from_one_that_is_missing() {
    let mut foreign = vec![0; 64];
    foreign[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    foreign[18] = 21;
    for (content, expected) in [
        (
            foreign,
            "is built for another architecture (ELF machine 21)",
        ),
        (
            b"\x7fELF\x01\x01\x01 and 32 bits of it ".to_vec(),
            "32-bit machines",
        ),
        (b"not a library at all".to_vec(), "is not a library"),
        (b"short".to_vec(), "is not a library"),
    ] {
        let tree = Tree::new();
        tree.card(0, "0000:03:00.0", "744c", &RADEON[..6]);
        tree.write("libamd_smi.so", content);
        let found = absent(tree.detect());
        assert!(found.reason.contains(expected), "{}", found.reason);
        assert_eq!(found.fix, None);
    }
}
