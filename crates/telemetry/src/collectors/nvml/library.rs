//! Loads the library, and explains why that fails.

use std::sync::Arc;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::ID;
use crate::{Absent, Options};

const LIBRARY: &str = "libnvidia-ml.so.1";

/// The risk of making the device files accessible to all users.
const RISK: &str = "all users of this machine may then use the GPUs";

/// Loads and initialises the library, once for all boards.
pub(super) fn open(options: &Options, is_here: bool) -> Result<Arc<Nvml>, Absent> {
    let mut builder = Nvml::builder();
    if let Some(library) = &options.nvml {
        builder.lib_path(library.as_os_str());
    }
    let library = options.nvml.as_ref().map_or_else(
        || LIBRARY.to_owned(),
        |library| library.display().to_string(),
    );
    let opened = builder
        .init()
        .map_err(|error| refusal(&library, is_here, &error))?;
    if opened.lib().nvmlShutdown.is_err() {
        // The wrapper would panic on dropping a library without this function.
        std::mem::forget(opened);
        return Err(foreign(&library, is_here, "nvmlShutdown"));
    }
    Ok(Arc::new(opened))
}

/// The UUID of the board that a MIG instance belongs to.
pub(super) fn parent_of(nvml: &Nvml, instance: &str) -> Option<String> {
    let device = nvml.device_by_uuid(instance).ok()?;
    device.mig_parent_device().ok()?.uuid().ok()
}

/// Why the library cannot be used, and how to fix it.
fn refusal(library: &str, is_here: bool, error: &NvmlError) -> Absent {
    match error {
        NvmlError::LibloadingError(error) => unloadable(library, is_here, &error.to_string()),
        NvmlError::FailedToLoadSymbol(_) => foreign(library, is_here, "nvmlInit_v2"),
        NvmlError::DriverNotLoaded => absent(
            is_here,
            "NVIDIA's driver is not loaded",
            Some("sudo modprobe nvidia"),
        ),
        NvmlError::NoPermission => Absent {
            risk: Some(RISK.to_owned()),
            ..absent(
                is_here,
                "this user may not use NVIDIA's driver: permission denied",
                Some("sudo chmod a+rw /dev/nvidiactl /dev/nvidia[0-9]*"),
            )
        },
        NvmlError::LibRmVersionMismatch => absent(
            is_here,
            format!("`{library}` does not match the version of NVIDIA's kernel driver"),
            Some("sudo reboot"),
        ),
        error => absent(
            is_here,
            format!("cannot initialise `{library}`: {error}"),
            Some("nvidia-smi"),
        ),
    }
}

/// Tells the cases apart by the loader's message: it gives no error code.
fn unloadable(library: &str, is_here: bool, words: &str) -> Absent {
    let says = |part: &[&str]| part.iter().any(|part| words.contains(part));
    if says(&["ELF", "file too short", "Exec format"]) {
        let reason = format!("`{library}` is built for another architecture: {words}");
        absent(
            is_here,
            reason,
            Some("install NVIDIA's driver for this machine's architecture"),
        )
    } else if says(&["No such file"]) {
        let reason = if is_here {
            format!("cannot find `{library}`, though there is an NVIDIA GPU")
        } else {
            format!("no NVIDIA GPU and no `{library}`")
        };
        let fix = "install NVIDIA's driver; start a container with `--gpus all`";
        absent(is_here, reason, is_here.then_some(fix))
    } else {
        absent(
            is_here,
            format!("cannot load `{library}`: {words}"),
            Some("reinstall NVIDIA's driver"),
        )
    }
}

fn foreign(library: &str, is_here: bool, symbol: &str) -> Absent {
    absent(
        is_here,
        format!("`{library}` lacks `{symbol}`: it is too old or not NVIDIA's"),
        Some("update NVIDIA's driver"),
    )
}

pub(super) fn absent(is_here: bool, reason: impl Into<String>, fix: Option<&str>) -> Absent {
    Absent {
        collector: ID.into(),
        is_here,
        reason: reason.into(),
        fix: fix.map(str::to_owned),
        risk: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_its_own_reason_and_something_to_do() {
        let errors = [
            NvmlError::FailedToLoadSymbol("nvmlInit_v2".to_owned()),
            NvmlError::DriverNotLoaded,
            NvmlError::NoPermission,
            NvmlError::LibRmVersionMismatch,
            NvmlError::Unknown,
        ];
        let mut reasons: Vec<String> = errors
            .iter()
            .map(|error| {
                let absent = refusal(LIBRARY, true, error);
                assert!(absent.is_here && absent.fix.is_some(), "{absent:?}");
                absent.reason
            })
            .collect();
        for words in [
            "libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
            "libnvidia-ml.so.1: wrong ELF class: ELFCLASS32",
            "libnvidia-ml.so.1: undefined symbol: dlvsym",
        ] {
            let absent = unloadable(LIBRARY, true, words);
            assert!(absent.fix.is_some(), "{absent:?}");
            reasons.push(absent.reason);
        }
        let count = reasons.len();
        reasons.sort();
        reasons.dedup();
        assert_eq!(reasons.len(), count, "{reasons:?}");
    }

    #[test]
    fn nothing_is_to_be_done_where_no_board_is() {
        let words = "libnvidia-ml.so.1: cannot open shared object file: No such file or directory";
        let absent = unloadable(LIBRARY, false, words);
        assert_eq!((absent.is_here, absent.fix), (false, None));
    }
}
