//! Shims that fail calls.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use ipw_store::disk::{Call, Kind, Shim, ShimGuard, mount};

/// What happens at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The call fails once with an input/output error.
    Io,
    /// The disk is full from this call on.
    Full,
    /// The process dies before the call: nothing happens any more.
    Dies,
    /// A write takes half of its bytes, and the disk is full from then on.
    Short,
    /// The process dies in the middle of a write.
    DiesShort,
}

impl Fault {
    /// What else can go wrong with a call than an error.
    fn of(call: &Call<'_>) -> &'static [Self] {
        match call.kind {
            // What dies here has done nothing since the call before.
            Kind::Open => &[],
            Kind::Write(_, bytes) if bytes.len() > 8 => &[Self::Dies, Self::Short, Self::DiesShort],
            // Eight aligned bytes lie in one page: they are written, or they are not.
            Kind::Write(..) | Kind::Create | Kind::OpenOrCreate | Kind::MakeDirectory => {
                &[Self::Dies, Self::Full]
            }
            _ => &[Self::Dies],
        }
    }
}

/// Counts calls, and lets one of them go wrong.
#[derive(Default)]
pub(crate) struct Breaking(Mutex<State>);

#[derive(Default)]
struct State {
    calls: usize,
    fault: Option<(usize, Fault)>,
    is_dead: bool,
    is_full: bool,
    is_hit: bool,
    others: &'static [Fault],
    commits: usize,
    trace: Vec<String>,
}

impl Breaking {
    /// A fault at the n-th call below `root`, from 0; none where it is `None`.
    pub(crate) fn at(root: &Path, fault: Option<(usize, Fault)>) -> (Arc<Self>, ShimGuard) {
        let shim = Arc::new(Self::default());
        shim.0.lock().unwrap().fault = fault;
        let mounted = mount(root, Arc::clone(&shim) as Arc<dyn Shim>);
        (shim, mounted)
    }

    /// Commits of rows that went through.
    pub(crate) fn commits(&self) -> usize {
        self.0.lock().unwrap().commits
    }

    /// Whether there was a call to fail.
    pub(crate) fn is_hit(&self) -> bool {
        self.0.lock().unwrap().is_hit
    }

    /// What else can go wrong with that call.
    pub(crate) fn other_faults(&self) -> &'static [Fault] {
        self.0.lock().unwrap().others
    }

    /// The calls, for a test that failed.
    pub(crate) fn trace(&self) -> String {
        self.0.lock().unwrap().trace.join("\n")
    }
}

/// Whether it is the write of eight bytes that makes a batch of rows count.
pub(crate) fn is_commit(call: &Call<'_>) -> bool {
    let name = call.path.file_name().unwrap_or_default().to_string_lossy();
    let is_beside = call
        .path
        .parent()
        .is_some_and(|parent| parent.ends_with("readings") || parent.ends_with("server_metrics"));
    let is_marker = matches!(call.kind, Kind::Write(Some(1..), bytes) if bytes.len() == 8);
    is_marker && !is_beside && name.starts_with("data-part-")
}

impl Shim for Breaking {
    fn pass(&self, call: &Call<'_>) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap();
        let number = state.calls;
        state.calls += 1;
        let name = call.path.file_name().unwrap_or_default().to_string_lossy();
        let what = match call.kind {
            Kind::Write(offset, bytes) => format!("Write({offset:?}, {})", bytes.len()),
            other => format!("{other:?}"),
        };
        state.trace.push(format!("{number}: {what} {name}"));
        let mut allowed = usize::MAX;
        if let Some((at, fault)) = state.fault
            && at == number
        {
            state.is_hit = true;
            state.others = Fault::of(call);
            let half = match call.kind {
                Kind::Write(_, bytes) => bytes.len() / 2,
                _ => usize::MAX,
            };
            match fault {
                Fault::Io => return Err(io::Error::from_raw_os_error(5)),
                Fault::Full => state.is_full = true,
                Fault::Dies => state.is_dead = true,
                Fault::Short | Fault::DiesShort => allowed = half,
            }
        }
        if state.is_dead {
            return Err(io::Error::other("the process is dead"));
        }
        let needs_room = matches!(
            call.kind,
            Kind::Write(..) | Kind::Create | Kind::OpenOrCreate | Kind::MakeDirectory
        );
        // A marker is written over bytes that are there: it needs no room.
        if state.is_full && needs_room && !is_commit(call) {
            return Err(io::Error::from_raw_os_error(28));
        }
        if is_commit(call) {
            state.commits += 1;
        }
        if allowed != usize::MAX {
            let (_, fault) = state.fault.unwrap();
            state.is_full |= fault == Fault::Short;
            state.is_dead |= fault == Fault::DiesShort;
        }
        Ok(allowed)
    }
}
