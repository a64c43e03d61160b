//! Selects the boards.

use super::board::Board;
use super::pci::Pci;
use crate::collector::Gpus;

/// The numbers of the boards that the user names, else of those visible to ROCm programs, else of
/// all.
pub(super) fn chosen(boards: &[Board], gpus: &Gpus) -> Vec<u32> {
    let found = |name: &str| boards.iter().find(|board| is_called(board, name));
    let mut numbers: Vec<u32> = if !gpus.named.is_empty() {
        let named = gpus.named.iter().filter_map(|name| found(name.trim()));
        named.map(|board| board.number).collect()
    } else if let Some(visible) = &gpus.rocm_visible {
        // ROCm's runtime stops at the first unknown entry; -1 is one.
        let visible = visible.split(',').map_while(|name| found(name.trim()));
        visible.map(|board| board.number).collect()
    } else {
        boards.iter().map(|board| board.number).collect()
    };
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Whether `name` refers to this board: its number, its id, its PCI address or its unique id.
fn is_called(board: &Board, name: &str) -> bool {
    let is_number = name.parse() == Ok(board.number);
    let is_place = board.pci.is_some() && Pci::parse(name).map(Pci::board) == board.pci;
    let is_identity = board.unique_id().is_some_and(|id| {
        let plain = |text: &str| {
            let text = text.to_ascii_lowercase();
            let text = text.strip_prefix("gpu-").unwrap_or(&text).to_owned();
            text.strip_prefix("0x").unwrap_or(&text).to_owned()
        };
        plain(id) == plain(name)
    });
    is_number || name == board.id() || is_place || is_identity
}
