//! A disk that loses what was not synced: it keeps what was written, in which order, and what was
//! synced since. A power cut leaves any choice of the rest, in pages of 4 KiB.
//!
//! The model is stricter than any file system: syncing a file does not keep its name, and names
//! within a directory reach the disk in any order.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ipw_core::random::Random;
use ipw_store::disk::{Call, Kind, Shim, ShimGuard, mount};

use crate::shims::is_commit;

const PAGE: usize = 4096;

/// Records all calls below a directory.
pub(crate) struct Recorder {
    root: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    nodes: Vec<Node>,
    /// What a directory calls what is in it, now.
    names: BTreeMap<PathBuf, usize>,
    log: Vec<Entry>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Node {
    File,
    Directory,
}

/// Something that reaches the disk sooner or later.
#[derive(Clone)]
enum Entry {
    Write {
        file: usize,
        offset: Option<u64>,
        bytes: Vec<u8>,
        commits: bool,
    },
    Name {
        directory: usize,
        name: String,
        node: usize,
    },
    Rename {
        directory: usize,
        from: String,
        to: String,
    },
    Remove {
        directory: usize,
        name: String,
    },
    /// Everything so far of a file or directory is on the disk.
    Sync(usize),
}

impl Entry {
    fn node(&self) -> usize {
        match self {
            Self::Write { file, .. } => *file,
            Self::Name { directory, .. }
            | Self::Rename { directory, .. }
            | Self::Remove { directory, .. }
            | Self::Sync(directory) => *directory,
        }
    }
}

impl State {
    fn split(&self, path: &Path) -> (usize, String) {
        let directory = self.names[path.parent().unwrap()];
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (directory, name)
    }

    fn make(&mut self, path: &Path, kind: Node) {
        let node = self.nodes.len();
        self.nodes.push(kind);
        let (directory, name) = self.split(path);
        self.names.insert(path.to_owned(), node);
        self.log.push(Entry::Name {
            directory,
            name,
            node,
        });
    }

    /// Moves all that lies at or below a path.
    fn rename(&mut self, from: &Path, to: &Path) {
        let moved: Vec<PathBuf> = self
            .names
            .keys()
            .filter(|path| path.starts_with(from))
            .cloned()
            .collect();
        for path in moved {
            let node = self.names.remove(&path).unwrap();
            let rest = path.strip_prefix(from).unwrap();
            let target = if rest.as_os_str().is_empty() {
                to.to_owned()
            } else {
                to.join(rest)
            };
            self.names.insert(target, node);
        }
        let (directory, from) = self.split(from);
        let to = to.file_name().unwrap().to_str().unwrap().to_owned();
        self.log.push(Entry::Rename {
            directory,
            from,
            to,
        });
    }
}

impl Shim for Recorder {
    fn pass(&self, call: &Call<'_>) -> io::Result<usize> {
        let mut state = self.state.lock().unwrap();
        let path = call.path;
        match call.kind {
            Kind::Open => {}
            Kind::OpenOrCreate => {
                if !state.names.contains_key(path) {
                    state.make(path, Node::File);
                }
            }
            Kind::Create => state.make(path, Node::File),
            Kind::MakeDirectory => {
                if !state.names.contains_key(path) {
                    state.make(path, Node::Directory);
                }
            }
            Kind::Write(offset, bytes) => {
                let file = state.names[path];
                let commits = is_commit(call);
                let bytes = bytes.to_vec();
                state.log.push(Entry::Write {
                    file,
                    offset,
                    bytes,
                    commits,
                });
            }
            Kind::Sync | Kind::SyncDirectory => {
                let node = state.names[path];
                state.log.push(Entry::Sync(node));
            }
            Kind::RenameTo(to) => state.rename(path, to),
            Kind::Remove => {
                if state.names.contains_key(path) {
                    let (directory, name) = state.split(path);
                    state.names.retain(|known, _| !known.starts_with(path));
                    state.log.push(Entry::Remove { directory, name });
                }
            }
        }
        Ok(usize::MAX)
    }
}

/// What is on the disk after a power cut.
#[derive(Default, Clone)]
struct Disk {
    files: BTreeMap<usize, Vec<u8>>,
    names: BTreeMap<usize, BTreeMap<String, usize>>,
}

impl Recorder {
    pub(crate) fn over(root: &Path) -> (Arc<Self>, ShimGuard) {
        let state = State {
            nodes: vec![Node::Directory],
            names: BTreeMap::from([(root.to_owned(), 0)]),
            log: Vec::new(),
        };
        let recorder = Arc::new(Self {
            root: root.to_owned(),
            state: Mutex::new(state),
        });
        let mounted = mount(root, Arc::clone(&recorder) as Arc<dyn Shim>);
        (recorder, mounted)
    }

    /// How many moments there are at which the power can go.
    pub(crate) fn moments(&self) -> usize {
        self.state.lock().unwrap().log.len()
    }

    /// Commits of rows that were acknowledged before that moment: they are synced, and the call
    /// returned.
    pub(crate) fn acknowledged(&self, moment: usize) -> usize {
        let state = self.state.lock().unwrap();
        let mut commits = 0;
        let mut written = None;
        for entry in &state.log[..moment] {
            match entry {
                Entry::Write {
                    file,
                    commits: true,
                    ..
                } => written = Some(*file),
                Entry::Sync(node) if written == Some(*node) => {
                    commits += 1;
                    written = None;
                }
                _ => {}
            }
        }
        commits
    }

    /// Commits of rows that were begun before that moment.
    pub(crate) fn begun(&self, moment: usize) -> usize {
        let state = self.state.lock().unwrap();
        let is_commit = |entry: &&Entry| matches!(entry, Entry::Write { commits: true, .. });
        state.log[..moment].iter().filter(is_commit).count()
    }

    /// Lays out in `target` what the disk has after a power cut at that moment.
    pub(crate) fn cut(&self, moment: usize, random: &mut Random, target: &Path) {
        let state = self.state.lock().unwrap();
        let log = &state.log[..moment];
        let mut last_sync: BTreeMap<usize, usize> = BTreeMap::new();
        for (place, entry) in log.iter().enumerate() {
            if let Entry::Sync(node) = entry {
                last_sync.insert(*node, place);
            }
        }
        // The system writes back by itself, too: often what is older than some moment is there.
        let flushed = [0, random.up_to(moment), random.up_to(moment)][random.up_to(2)];
        let mut disk = Disk::default();
        // How much of what was not synced gets through: little, half, or nearly all.
        let share = [10, 50, 90][random.up_to(2)];
        for (place, entry) in log.iter().enumerate() {
            let sync = last_sync.get(&entry.node());
            let is_synced = place < flushed || sync.is_some_and(|sync| *sync > place);
            let mut reaches = || is_synced || random.up_to(99) < share;
            disk.take(entry, &mut reaches);
        }
        disk.lay_out(0, target, &state.nodes);
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

impl Disk {
    fn take(&mut self, entry: &Entry, reaches: &mut dyn FnMut() -> bool) {
        match entry {
            Entry::Write {
                file,
                offset,
                bytes,
                ..
            } => self.write(*file, *offset, bytes, reaches),
            Entry::Name {
                directory,
                name,
                node,
            } => {
                if reaches() {
                    self.names
                        .entry(*directory)
                        .or_default()
                        .insert(name.clone(), *node);
                }
            }
            Entry::Rename {
                directory,
                from,
                to,
            } => {
                if reaches() {
                    let names = self.names.entry(*directory).or_default();
                    if let Some(node) = names.remove(from) {
                        names.insert(to.clone(), node);
                    }
                }
            }
            Entry::Remove { directory, name } => {
                if reaches() {
                    self.names.entry(*directory).or_default().remove(name);
                }
            }
            Entry::Sync(_) => {}
        }
    }

    /// Page by page; what is missing below a page that is there reads as zeros.
    fn write(
        &mut self,
        file: usize,
        offset: Option<u64>,
        bytes: &[u8],
        reaches: &mut dyn FnMut() -> bool,
    ) {
        let content = self.files.entry(file).or_default();
        let mut at = offset.map_or(content.len(), |offset| usize::try_from(offset).unwrap());
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(PAGE - at % PAGE));
            if reaches() {
                content.resize(content.len().max(at + now.len()), 0);
                content[at..at + now.len()].copy_from_slice(now);
            }
            at += now.len();
            rest = later;
        }
    }

    fn lay_out(&self, directory: usize, target: &Path, nodes: &[Node]) {
        fs::create_dir_all(target).unwrap();
        for (name, node) in self.names.get(&directory).into_iter().flatten() {
            let path = target.join(name);
            match nodes[*node] {
                Node::Directory => self.lay_out(*node, &path, nodes),
                Node::File => {
                    let content = self.files.get(node).cloned().unwrap_or_default();
                    fs::write(path, content).unwrap();
                }
            }
        }
    }
}
