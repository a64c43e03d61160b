//! `ipw doctor`: what the energy of a run here would mean, and what would make it better.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ipw::hardware;
use ipw_core::hardware::{Device, SystemInfo, label};
use ipw_core::quantity::Unit;
use ipw_core::source::{Method, Source};
use ipw_core::text::printable;
use ipw_core::time::Clock;
use ipw_runner::SystemClock;
use ipw_telemetry::collectors::host::system_info;
use ipw_telemetry::{Absent, Role, SelfTest, Session, Setup, detect};
use serde_json::json;

use crate::args::DoctorArgs;
use crate::error::{CliError, Exit};
use crate::screen;

/// How long the sources are looked at.
const LOOK: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(10);
const WIDTH: usize = 78;

/// What was found out.
struct Findings {
    system: SystemInfo,
    devices: Vec<Device>,
    sources: Vec<(Source, SelfTest)>,
    absent: Vec<Absent>,
    estimate: Option<String>,
    sampler_share: f64,
}

pub(crate) fn run(args: &DoctorArgs) -> Result<Exit, CliError> {
    let findings = look(args)?;
    let text = if args.json {
        findings.json()
    } else {
        findings.text()
    };
    screen::print(&text);
    Ok(Exit::Done)
}

fn look(args: &DoctorArgs) -> Result<Findings, CliError> {
    let options = hardware::options(true, args.cpu_tdp, &args.gpu);
    let detected = detect(&options);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let setup = Setup {
        collectors: detected.collectors,
        interval: INTERVAL,
        role: Role::Service,
        absent: detected.reason,
    };
    let session = Session::start(setup, clock).context("starting the samplers")?;
    std::thread::sleep(LOOK);
    session.stop();
    let sources = session.sources().cloned().zip(session.self_tests());
    let sources = sources.collect();
    Ok(Findings {
        system: system_info(&options),
        devices: session.devices().to_vec(),
        sources,
        absent: detected.absent,
        estimate: detected.estimate,
        sampler_share: session.own_cpu_time().as_secs_f64() / LOOK.as_secs_f64(),
    })
}

impl Findings {
    fn json(&self) -> String {
        let sources: Vec<_> = self
            .sources
            .iter()
            .map(|(source, tested)| json!({ "about": source, "unit": source.unit(), "self_test": tested }))
            .collect();
        let shown = json!({
            "hardware_label": self.label(),
            "system_info": self.system,
            "devices": self.devices,
            "sources": sources,
            "absent": self.absent,
            "estimate": self.estimate,
            "energy": self.energy_kind(),
            "meaning": self.meaning(),
            "sampler_cpu_share": self.sampler_share,
        });
        screen::json(&shown)
    }

    fn label(&self) -> String {
        let devices = hardware::device_names(&self.devices);
        label(&devices, self.system.cpu_brand.as_deref())
    }

    fn has_measured(&self) -> bool {
        self.sources
            .iter()
            .any(|(source, tested)| source.is_measured_energy() && tested.moves)
    }

    fn energy_kind(&self) -> &'static str {
        if self.has_measured() {
            "measured"
        } else if self.estimate.is_some() {
            "estimated"
        } else {
            "none"
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let brand = self.system.cpu_brand.as_deref().unwrap_or("unknown CPU");
        let _ = writeln!(text, "{} ({})\n", self.label(), printable(brand));
        text.push_str("Sources here\n");
        for (source, tested) in &self.sources {
            let what = describe(source, tested);
            let _ = writeln!(
                text,
                "{}",
                wrapped(&format!("  {:<22}", source.name), &what)
            );
        }
        if self.sources.is_empty() {
            text.push_str("  none\n");
        }
        let _ = writeln!(
            text,
            "  sampling them takes {:.2} % of one core",
            self.sampler_share * 100.0
        );
        let (here, nowhere): (Vec<_>, Vec<_>) = self
            .absent
            .iter()
            .partition(|absent| absent.is_here || absent.fix.is_some());
        if !self.absent.is_empty() {
            text.push_str("\nNot read\n");
        }
        if !nowhere.is_empty() {
            let names: Vec<_> = nowhere.iter().map(|absent| absent.collector).collect();
            let words = "no sign of such hardware (`--json` says where it was looked for)";
            let _ = writeln!(
                text,
                "{}",
                wrapped("  ", &format!("{}: {words}", names.join(", ")))
            );
        }
        for absent in here {
            let _ = writeln!(
                text,
                "{}",
                wrapped(&format!("  {:<10}", absent.collector), &absent.reason)
            );
            if let Some(fix) = &absent.fix {
                let _ = writeln!(text, "{}", wrapped("             fix:  ", fix));
            }
            if let Some(risk) = &absent.risk {
                let _ = writeln!(text, "{}", wrapped("             risk: ", risk));
            }
        }
        text.push_str("\nWhat the energy of a run here would mean\n");
        let _ = writeln!(text, "{}", wrapped("  ", &self.meaning()));
        text
    }

    fn meaning(&self) -> String {
        if self.has_measured() {
            return "Measured: joules come from hardware counters of the sources above. \
                    CPU packages and memory are added; domains inside a package are shown and \
                    never added. What is outside the chip (power supply, fans, disks, network) is \
                    in no counter."
                .to_owned();
        }
        match &self.estimate {
            Some(estimate) => {
                format!(
                    "Estimated, not measured: there is no energy counter here. The CPU's power is \
                     modelled from how busy it is. {estimate} (one standard deviation). It does for orders of \
                     magnitude and for comparing runs on this machine; it is not a measurement, \
                     is marked as estimated everywhere, and does not satisfy `--require-energy`."
                )
            }
            None => "None: there is neither a counter nor a basis for an estimate. Energy columns \
                     would be null, with the reason."
                .to_owned(),
        }
    }
}

/// What a source is, and what a short look at it showed.
fn describe(source: &Source, tested: &SelfTest) -> String {
    let mut parts = Vec::new();
    match source.method {
        Method::Counter => parts.push("counter".to_owned()),
        Method::Integrated => parts.push("power, integrated".to_owned()),
        Method::Estimated => parts.push("estimated".to_owned()),
        Method::Direct => {}
    }
    match (tested.watts, tested.last) {
        (Some(watts), _) => parts.push(format!("{} now", Unit::Watts.show(watts))),
        (None, Some(last)) if source.domain().is_none() => {
            parts.push(format!("{last:.1} {} now", source.unit()));
        }
        _ => {}
    }
    if source.domain().is_some() {
        parts.push(
            if tested.moves {
                "moves"
            } else {
                "does not move: counts as absent"
            }
            .to_owned(),
        );
        if tested.monotone == Some(false) {
            parts.push("went backwards".to_owned());
        }
    } else if tested.readings == 0 {
        parts.push("silent".to_owned());
    }
    if let Some(interval) = tested.change_interval_seconds {
        parts.push(format!("changes every {}", screen::seconds(interval)));
    }
    if source.domain().is_some() {
        let needed = if source.privilege == "none" {
            "no privilege"
        } else {
            &source.privilege
        };
        parts.push(format!("needs {needed}"));
    }
    parts.join(", ")
}

/// `text` in lines that fit, the first behind `lead`, the others below it.
pub(crate) fn wrapped(lead: &str, text: &str) -> String {
    let indent = lead.chars().count();
    let mut lines = vec![lead.to_owned()];
    for word in printable(text).split_whitespace() {
        let line = lines.last_mut().expect("there is a first line");
        let used = line.chars().count();
        if used > indent && used + 1 + word.chars().count() > WIDTH {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        } else {
            if used > indent {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_hang_below_their_lead() {
        let text = wrapped("  name    ", &"word ".repeat(40));
        for line in text.lines().skip(1) {
            assert!(
                line.starts_with("          word") && line.chars().count() <= WIDTH,
                "{line}"
            );
        }
        assert!(text.starts_with("  name    word word"));
    }
}
