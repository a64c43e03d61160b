//! The basis of an estimate: power at full load, its uncertainty, and a sentence that explains it.

use ipw_core::setting::Setting;
use ipw_core::units::Watts;

use super::tdp;
use crate::Options;
use crate::collectors::host::cpuinfo::CpuInfo;

/// Idle power as a share of the power at full load.
///
/// Measured packages (Davy 2021, "Building an AWS EC2 Carbon Emissions Dataset": RAPL on seven
/// kinds of server) draw 12 %, 32 %, 75 % and 102 % of their design power at 0 %, 10 %, 50 % and
/// 100 % load. The closest line through 100 % has 21 % at no load. The rounded value lies between
/// `CodeCarbon`'s 10 % and the 30 % and more of servers with sleep states turned off.
pub(super) const IDLE_SHARE: f64 = 0.2;

/// Models of this kind err by up to 40 % against a meter (Fischer 2025, arXiv 2509.22092). Used as
/// one standard deviation, because the source does not say how common such errors are.
const MODEL_SIGMA: f64 = 0.4;

/// The power at full load of all CPUs of this machine.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Basis {
    pub(super) full: Watts,
    pub(super) relative_sigma: f64,
    pub(super) explanation: String,
}

/// From the user's setting, else the CPU's name, else its generation; `None` if all fail.
pub(super) fn find(options: &Options, cpu: &CpuInfo) -> Option<Basis> {
    if let Some(watts) = options.cpu_tdp {
        return Some(basis(&format!("`{}`:", Setting::CpuTdp), watts, 0.0));
    }
    by_name(cpu).or_else(|| by_model(cpu))
}

fn by_name(cpu: &CpuInfo) -> Option<Basis> {
    let name = cpu.name.as_deref()?;
    let package = tdp::by_name(name)?;
    // A hypervisor invents its packages, so its CPUs count as threads. A physical machine with
    // hyper-threading turned off still has whole packages.
    let (packages, how) = if cpu.is_virtual || cpu.packages == 0 {
        let share = f64::from(cpu.cpus) / f64::from(package.threads);
        (
            share,
            format!("× {} CPUs ÷ {} threads", cpu.cpus, package.threads),
        )
    } else {
        let packages = f64::from(cpu.packages);
        (packages, format!("× {}", count(cpu.packages, "package")))
    };
    let text = format!("`{name}`: {:.0} W {how} =", package.watts);
    let full = Watts::from_watts(package.watts * packages);
    Some(basis(&text, full, package.spread))
}

fn by_model(cpu: &CpuInfo) -> Option<Basis> {
    let thread = tdp::by_model(cpu)?;
    let text = format!(
        "`{}` is in no table; {} family {} model {} is {}: {:.1} W ± {:.1} W per thread × {} =",
        cpu.name.as_deref().unwrap_or("the CPU"),
        cpu.vendor.as_deref().unwrap_or("vendor"),
        cpu.family?,
        cpu.model?,
        thread.generation,
        thread.watts,
        thread.watts * thread.spread,
        count(cpu.cpus, "CPU"),
    );
    let full = Watts::from_watts(thread.watts * f64::from(cpu.cpus));
    Some(basis(&text, full, thread.spread))
}

/// Independent errors add in squares: σ² = model² + spread².
fn basis(origin: &str, full: Watts, spread: f64) -> Basis {
    let relative_sigma = MODEL_SIGMA.hypot(spread);
    let explanation = format!(
        "{origin} {full:.1} at full load, {:.1} idle, in proportion to CPU use; ± {:.0} %",
        full * IDLE_SHARE,
        relative_sigma * 100.0
    );
    Basis {
        full,
        relative_sigma,
        explanation,
    }
}

fn count(number: u32, noun: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{end}")
}
