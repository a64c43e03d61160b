//! Product names of Intel's boards by PCI device id; the kernel knows only the id. From Intel's own
//! driver in Mesa (`include/pci_ids/iris_pci_ids.h`) and, for the newest, from public reports.

/// PCI device ids and names.
const NAMES: [(u16, &str); 30] = [
    (0x5690, "Intel Arc A770M"),
    (0x5691, "Intel Arc A730M"),
    (0x5692, "Intel Arc A550M"),
    (0x5693, "Intel Arc A370M"),
    (0x5694, "Intel Arc A350M"),
    (0x5696, "Intel Arc A570M"),
    (0x5697, "Intel Arc A530M"),
    (0x56a0, "Intel Arc A770"),
    (0x56a1, "Intel Arc A750"),
    (0x56a2, "Intel Arc A580"),
    (0x56a5, "Intel Arc A380"),
    (0x56a6, "Intel Arc A310"),
    (0x56b0, "Intel Arc Pro A30M"),
    (0x56b1, "Intel Arc Pro A40/A50"),
    (0x56b2, "Intel Arc Pro A60M"),
    (0x56b3, "Intel Arc Pro A60"),
    (0x56ba, "Intel Arc A380E"),
    (0x56bb, "Intel Arc A310E"),
    (0x56bc, "Intel Arc A370E"),
    (0x56bd, "Intel Arc A350E"),
    (0x56be, "Intel Arc A750E"),
    (0x56bf, "Intel Arc A580E"),
    (0x56c0, "Intel Data Center GPU Flex 170"),
    (0x56c1, "Intel Data Center GPU Flex 140"),
    (0x56c2, "Intel Data Center GPU Flex 170V"),
    (0xe20b, "Intel Arc B580"),
    (0xe20c, "Intel Arc B570"),
    (0xe211, "Intel Arc Pro B60"),
    (0xe212, "Intel Arc Pro B50"),
    (0xe223, "Intel Arc Pro B70"),
];

/// The name for the content of the card's `device` file, such as `0x56a0`. An unknown board is
/// named by its id.
pub(super) fn name(device: &str) -> String {
    let digits = device.trim_start_matches("0x");
    let number = u16::from_str_radix(digits, 16).ok();
    let known = NAMES.iter().find(|(known, _)| Some(*known) == number);
    known.map_or_else(
        || format!("Intel GPU {digits}"),
        |(_, name)| (*name).to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_has_its_name_or_its_number() {
        assert_eq!(name("0x56a0"), "Intel Arc A770");
        assert_eq!(name("0xE20B"), "Intel Arc B580");
        assert_eq!(name("0xe2ff"), "Intel GPU e2ff");
        assert_eq!(name("nonsense"), "Intel GPU nonsense");
    }

    #[test]
    fn no_number_is_there_twice() {
        assert!(NAMES.is_sorted_by_key(|(number, _)| *number));
        assert!(NAMES.windows(2).all(|pair| pair[0].0 != pair[1].0));
    }
}
