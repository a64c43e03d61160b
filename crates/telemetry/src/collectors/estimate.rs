//! A model of the CPU's energy for machines without a counter.
//!
//! `P = P_idle + (P_full − P_idle) × share of CPU time that was busy`, with `P_full` from the CPU's
//! design power. The model is linear, so its integral needs no sampling:
//! `E(t) = P_idle × (t − t₀) + (P_full − P_idle) × busy seconds ÷ CPUs`, from the kernel's cumulative
//! CPU time. It is exact to the kernel's tick of 10 ms at any poll interval (docs/decisions/0004).
//! The model ignores frequencies, vector units and memory: it is an estimate with a wide
//! uncertainty, never shown as measured. The caller decides whether to use it beside a real counter. Where a GPU may do the
//! work, the estimate is absent.

mod basis;
mod tdp;

use std::path::PathBuf;
use std::time::Duration;

use ipw_core::counter::Rollover;
use ipw_core::setting::Setting;
use ipw_core::source::{Domain, Method, Quantity, Source};
use ipw_core::time::{Clock, Timestamp};
use ipw_core::units::Watts;

use crate::collectors::host::cpuinfo::CpuInfo;
use crate::collectors::host::files::{Reader, numbered};
use crate::collectors::host::stat::{self, CpuTimes};
use crate::{Absent, Collector, Options, PollError};

const ID: &str = "estimate";

/// Five ticks of the kernel's accounting; faster polls would repeat the value.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(50);

/// Device files of accelerators that the model cannot cover: NVIDIA's (beside `nvidia0` and so
/// on), AMD's compute, the two of Jetson.
const ACCELERATORS: [&str; 4] = ["nvidiactl", "kfd", "nvhost-gpu", "nvgpu"];

/// The collector of the modelled energy.
pub struct Estimate {
    source: [Source; 1],
    explanation: String,
    stat: PathBuf,
    reader: Reader,
    idle: Watts,
    /// Additional power of one busy CPU.
    per_cpu: Watts,
    began: Option<Beginning>,
}

/// The first and the last state of the count.
#[derive(Clone, Copy)]
struct Beginning {
    at: Timestamp,
    times: CpuTimes,
    last: CpuTimes,
}

/// Checks whether this machine's CPU can be modelled.
pub fn detect(options: &Options) -> Result<Estimate, Absent> {
    if !options.estimate {
        return Err(absent(
            format!("turned off by `{}`", Setting::NoEstimate),
            None,
        ));
    }
    refuse_accelerators(options)?;
    let tdp = options.cpu_tdp.map(Watts::watts);
    if tdp.is_some_and(|watts| !watts.is_finite() || watts <= 0.0) {
        return Err(absent(
            format!("`{}` is not a positive power", Setting::CpuTdp),
            None,
        ));
    }
    let stat = options.proc.join("stat");
    let mut reader = Reader::default();
    if CpuTimes::read(&mut reader, &stat).is_none() {
        let reason = format!("cannot read CPU time from `{}`", stat.display());
        return Err(absent(reason, None));
    }
    let cpu =
        CpuInfo::read(&options.proc).ok_or_else(|| absent("`/proc/cpuinfo` lists no CPU", None))?;
    let basis = basis::find(options, &cpu).ok_or_else(|| unknown(&cpu))?;
    let idle = basis.full * basis::IDLE_SHARE;
    Ok(Estimate {
        source: [source(basis.relative_sigma)],
        explanation: basis.explanation,
        stat,
        reader,
        idle,
        per_cpu: (basis.full - idle) * f64::from(cpu.cpus).recip(),
        began: None,
    })
}

impl Estimate {
    /// What the estimate is based on, as a sentence for the user.
    pub fn explanation(&self) -> &str {
        &self.explanation
    }
}

impl Collector for Estimate {
    fn id(&self) -> &'static str {
        ID
    }

    fn sources(&self) -> &[Source] {
        &self.source
    }

    fn interval(&self, wanted: Duration) -> Duration {
        wanted.max(SHORTEST_INTERVAL)
    }

    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError> {
        let times = CpuTimes::read(&mut self.reader, &self.stat)
            .ok_or_else(|| PollError::Retry(format!("cannot read `{}`", self.stat.display())))?;
        let now = clock.now();
        let began = self.began.get_or_insert(Beginning {
            at: now,
            times,
            last: times,
        });
        let is_forward = times.busy_seconds_since(began.last).is_some();
        let (Some(busy), true) = (times.busy_seconds_since(began.times), is_forward) else {
            // The CPU time belongs to another machine, as after restoring a container. Start again
            // at zero: readers see a decrease, hence a gap.
            self.began = None;
            return Err(PollError::Retry(
                "the machine's CPU time went backwards".into(),
            ));
        };
        began.last = times;
        let energy = self.idle * now.since(began.at) + self.per_cpu * Duration::from_secs_f64(busy);
        take(0, now, energy.joules());
        Ok(())
    }
}

fn source(relative_sigma: f64) -> Source {
    Source {
        name: "estimate/cpu".to_owned(),
        collector: ID.into(),
        host: None,
        device: None,
        quantity: Quantity::Energy {
            domain: Domain::CpuPackage,
            rollover: Rollover::Resets,
        },
        method: Method::Estimated,
        period: Some(stat::TICK),
        privilege: "none".into(),
        relative_sigma: Some(relative_sigma),
    }
}

/// Refuses the estimate where a GPU may do the work: the CPU's energy would be misleading.
fn refuse_accelerators(options: &Options) -> Result<(), Absent> {
    let found = if cfg!(target_os = "macos") {
        Some("Apple's GPU".to_owned())
    } else {
        ACCELERATORS
            .into_iter()
            .map(|name| options.dev.join(name))
            .chain(numbered(&options.dev, "nvidia"))
            .find(|path| path.exists())
            .map(|path| format!("`{}`", path.display()))
    };
    found.map_or(Ok(()), |found| {
        let reason = format!(
            "found {found}: the GPU may do the work, so an estimate of the CPU's energy would be \
             misleading"
        );
        let fix = "`ipw doctor` shows what is missing to measure the GPU";
        Err(absent(reason, Some(fix.to_owned())))
    })
}

/// Whether this machine has a GPU that may do the work.
pub(crate) fn gpu_at_work(options: &Options) -> bool {
    refuse_accelerators(options).is_err()
}

fn unknown(cpu: &CpuInfo) -> Absent {
    let number = |number: Option<u32>| number.map_or("?".to_owned(), |number| number.to_string());
    let reason = format!(
        "the design power of `{}` ({} family {} model {}) is unknown",
        cpu.name.as_deref().unwrap_or("this CPU"),
        cpu.vendor.as_deref().unwrap_or("unknown vendor"),
        number(cpu.family),
        number(cpu.model),
    );
    absent(reason, Some(Setting::CpuTdp.to("WATTS").to_string()))
}

fn absent(reason: impl Into<String>, fix: Option<String>) -> Absent {
    Absent {
        collector: ID.into(),
        is_here: true,
        reason: reason.into(),
        fix,
        risk: None,
    }
}

#[cfg(test)]
mod tests;
