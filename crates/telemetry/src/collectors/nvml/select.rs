//! Selects the boards: those that the user names, else those visible to CUDA programs.

use ipw_core::setting::Setting;

use super::library::absent;
use super::pci;
use crate::{Absent, Gpus};

/// The identifiers of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BoardIds {
    pub(super) index: u32,
    pub(super) name: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) pci: Option<String>,
}

impl BoardIds {
    fn has_uuid(&self, wanted: &str) -> bool {
        let uuid = self.uuid.as_deref();
        uuid.is_some_and(|uuid| uuid.eq_ignore_ascii_case(wanted))
    }

    fn uuid_begins(&self, wanted: &str) -> bool {
        let beginning = self
            .uuid
            .as_deref()
            .and_then(|uuid| uuid.get(..wanted.len()));
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(wanted))
    }

    fn words(&self) -> String {
        let names = [&self.uuid, &self.pci];
        let names: Vec<_> = names.into_iter().flatten().map(String::as_str).collect();
        format!("{} ({})", self.index, names.join(", "))
    }
}

/// The selected boards.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Selection {
    /// Their indices in the list of known boards.
    pub(super) places: Vec<usize>,
    pub(super) notes: Vec<String>,
}

/// No board is selected.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoSelection {
    reason: String,
    fix: String,
}

impl NoSelection {
    /// States which boards exist, and the notes about others.
    pub(super) fn into_absent(self, boards: &[BoardIds], notes: &[String]) -> Absent {
        let boards: Vec<_> = boards.iter().map(BoardIds::words).collect();
        let mut reason = format!("{}; available: {}", self.reason, boards.join(", "));
        for note in notes {
            reason.push_str("; ");
            reason.push_str(note);
        }
        absent(true, reason, Some(&self.fix))
    }
}

/// What a name refers to.
#[derive(Debug, PartialEq, Eq)]
enum Match {
    One(usize),
    None,
    Several,
    /// A part of a board whose parent is unknown.
    Unresolved,
}

/// Selects boards. `parent_of` yields the UUID of the board that a MIG instance belongs to.
pub(super) fn select(
    gpus: &Gpus,
    boards: &[BoardIds],
    parent_of: impl Fn(&str) -> Option<String>,
) -> Result<Selection, NoSelection> {
    let find = |name: &str| find(name, boards, &parent_of);
    if !gpus.named.is_empty() {
        return named(&gpus.named, find);
    }
    match &gpus.cuda_visible {
        Some(visible) => shown(visible, boards, find),
        None => Ok(Selection {
            places: (0..boards.len()).collect(),
            notes: Vec::new(),
        }),
    }
}

/// All vendors share this setting: a name that matches no NVIDIA board may be another vendor's.
fn named(names: &[String], find: impl Fn(&str) -> Match) -> Result<Selection, NoSelection> {
    let mut places = Vec::new();
    let mut notes = Vec::new();
    for name in names {
        let given = Setting::Gpu.to(name);
        match find(name.trim()) {
            Match::One(place) => places.push(place),
            Match::Several => notes.push(format!("`{given}` matches several NVIDIA GPUs")),
            Match::None => notes.push(format!("`{given}` matches no NVIDIA GPU")),
            Match::Unresolved => notes.push(format!("the GPU of `{given}` is unknown")),
        }
    }
    if places.is_empty() {
        return Err(NoSelection {
            reason: notes.join("; "),
            fix: Setting::Gpu
                .to("INDEX, UUID or PCI ID of one of them")
                .to_string(),
        });
    }
    Ok(Selection { places, notes })
}

/// Follows CUDA's rule: entries after an invalid one are not visible either.
fn shown(
    visible: &str,
    boards: &[BoardIds],
    find: impl Fn(&str) -> Match,
) -> Result<Selection, NoSelection> {
    let mut places = Vec::new();
    let mut notes = Vec::new();
    let mut has_index = false;
    for entry in visible.split(',').map(str::trim) {
        match find(entry) {
            Match::One(place) => places.push(place),
            Match::Unresolved => notes.push(format!(
                "the GPU of `{entry}` in `CUDA_VISIBLE_DEVICES` is unknown"
            )),
            Match::None | Match::Several => break,
        }
        has_index |= is_index(entry);
    }
    if places.is_empty() {
        notes.insert(
            0,
            format!("`CUDA_VISIBLE_DEVICES={visible}` selects no GPU"),
        );
        return Err(NoSelection {
            reason: notes.join("; "),
            fix: format!(
                "unset CUDA_VISIBLE_DEVICES, or `{}`",
                Setting::Gpu.to("INDEX")
            ),
        });
    }
    if has_index && boards.iter().any(|board| board.name != boards[0].name) {
        notes.push(
            "the GPUs differ, and CUDA lists the fastest first: set \
             `CUDA_DEVICE_ORDER=PCI_BUS_ID`, or name GPUs by UUID"
                .to_owned(),
        );
    }
    Ok(Selection { places, notes })
}

fn is_index(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

fn find(name: &str, boards: &[BoardIds], parent_of: &impl Fn(&str) -> Option<String>) -> Match {
    let one = |fits: &dyn Fn(&BoardIds) -> bool| {
        let mut found = (0..boards.len()).filter(|place| fits(&boards[*place]));
        match (found.next(), found.next()) {
            (Some(place), None) => Match::One(place),
            (Some(_), Some(_)) => Match::Several,
            (None, _) => Match::None,
        }
    };
    if is_index(name) {
        return one(&|board| name.parse() == Ok(board.index));
    }
    if let Some(rest) = name.strip_prefix("MIG-") {
        // The old spelling contains the board's own UUID: `MIG-GPU-…/1/0`.
        let parent = rest.split_once('/').map(|(board, _)| board.to_owned());
        let parent = parent.or_else(|| parent_of(name));
        return parent.map_or(Match::Unresolved, |uuid| {
            match one(&|board| board.has_uuid(&uuid)) {
                Match::One(place) => Match::One(place),
                _ => Match::Unresolved,
            }
        });
    }
    if let Some(place) = pci::place(name) {
        return one(&|board| board.pci.as_ref() == Some(&place));
    }
    let is_beginning = name
        .get(..4)
        .is_some_and(|four| four.eq_ignore_ascii_case("GPU-"));
    match one(&|board| board.has_uuid(name)) {
        Match::None if is_beginning => one(&|board| board.uuid_begins(name)),
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boards() -> Vec<BoardIds> {
        let board = |index, uuid: &str, pci: &str| BoardIds {
            index,
            name: Some("NVIDIA H100".to_owned()),
            uuid: Some(uuid.to_owned()),
            pci: Some(pci.to_owned()),
        };
        vec![
            board(0, "GPU-aaaa1111", "0000:1b:00.0"),
            board(1, "GPU-aabb2222", "0000:3b:00.0"),
            board(2, "GPU-cccc3333", "0001:3b:00.0"),
        ]
    }

    fn parent_of(instance: &str) -> Option<String> {
        (instance == "MIG-77").then(|| "GPU-cccc3333".to_owned())
    }

    fn chosen(gpus: &Gpus) -> Option<Vec<usize>> {
        let chosen = select(gpus, &boards(), parent_of).ok()?;
        Some(chosen.places)
    }

    #[test]
    fn boards_are_named_by_index_uuid_beginning_and_place() {
        for (names, wanted) in [
            (&["1"][..], Some(vec![1])),
            (&["0", "2"], Some(vec![0, 2])),
            (&["GPU-aaaa1111"], Some(vec![0])),
            (&["gpu-CC"], Some(vec![2])),
            (&["GPU-aa"], None),
            (&["GPU-aaa"], Some(vec![0])),
            (&["0000:3b:00.0"], Some(vec![1])),
            (&["00000001:3B:00.0"], Some(vec![2])),
            (&["3b:00.0"], Some(vec![1])),
            (&["MIG-77"], Some(vec![2])),
            (&["MIG-GPU-aabb2222/1/0"], Some(vec![1])),
            (&["7"], None),
            (&["aaaa1111"], None),
            (&[""], None),
            (&["ü"], None),
            (&["7", "1"], Some(vec![1])),
        ] {
            let gpus = Gpus {
                named: names.iter().map(|name| (*name).to_owned()).collect(),
                // Names given by the user take precedence over the environment.
                cuda_visible: Some(String::new()),
                ..Gpus::default()
            };
            assert_eq!(chosen(&gpus), wanted, "{names:?}");
        }
        assert_eq!(chosen(&Gpus::default()), Some(vec![0, 1, 2]));
    }

    #[test]
    fn cuda_stops_at_the_first_entry_that_is_not_valid() {
        for (visible, wanted) in [
            ("0,1", Some(vec![0, 1])),
            ("2, 0", Some(vec![2, 0])),
            ("1,9,0", Some(vec![1])),
            ("1,-1,0", Some(vec![1])),
            ("-1", None),
            ("", None),
            ("none", None),
            ("9,0", None),
            ("GPU-cc,GPU-aaa", Some(vec![2, 0])),
            ("GPU-aa,0", None),
            ("MIG-77", Some(vec![2])),
            ("MIG-88,1", Some(vec![1])),
        ] {
            let gpus = Gpus {
                cuda_visible: Some(visible.to_owned()),
                ..Gpus::default()
            };
            assert_eq!(chosen(&gpus), wanted, "{visible}");
        }
    }

    #[test]
    fn what_is_not_found_is_told_and_so_are_the_boards_that_are() {
        let gpus = Gpus {
            named: vec!["7".to_owned()],
            ..Gpus::default()
        };
        let nothing = select(&gpus, &boards(), parent_of).unwrap_err();
        let absent = nothing.into_absent(&boards(), &["`0000:01:00.0` is suspended".to_owned()]);
        assert!(absent.is_here);
        for part in ["gpu=7", "GPU-aabb2222", "0001:3b:00.0", "suspended"] {
            assert!(absent.reason.contains(part), "{}", absent.reason);
        }
        let gpus = Gpus {
            cuda_visible: Some("MIG-88,1".to_owned()),
            ..Gpus::default()
        };
        let chosen = select(&gpus, &boards(), parent_of).unwrap();
        assert!(chosen.notes[0].contains("MIG-88"), "{:?}", chosen.notes);
    }

    #[test]
    fn indices_of_unlike_boards_come_with_a_warning() {
        let mut boards = boards();
        boards[2].name = Some("NVIDIA L4".to_owned());
        for (visible, warned) in [("0", true), ("GPU-cc", false)] {
            let gpus = Gpus {
                cuda_visible: Some(visible.to_owned()),
                ..Gpus::default()
            };
            let chosen = select(&gpus, &boards, parent_of).unwrap();
            assert_eq!(!chosen.notes.is_empty(), warned, "{visible}");
        }
    }
}
