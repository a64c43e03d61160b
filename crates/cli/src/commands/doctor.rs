//! `ipw doctor`: the energy sources of this machine, and how to enable better ones.

use std::fmt::Write as _;

use ipw::examination::{Examination, examine};
use ipw_core::quantity::Unit;
use ipw_core::source::{Method, Source};
use ipw_core::text::printable;
use ipw_telemetry::SelfTest;

use crate::args::DoctorArgs;
use crate::error::{CliError, Exit};
use crate::screen;

const WIDTH: usize = 78;

pub(crate) fn run(args: &DoctorArgs) -> Result<Exit, CliError> {
    let found = examine(&args.hardware.options(true))?;
    screen::print(&if args.json {
        screen::json(&found.json())
    } else {
        text(&found)
    });
    Ok(Exit::Done)
}

fn text(found: &Examination) -> String {
    let mut text = String::new();
    let brand = found.system.cpu_brand.as_deref().unwrap_or("unknown CPU");
    let _ = writeln!(text, "{} ({})\n", found.label(), printable(brand));
    text.push_str("Sources here\n");
    for (source, tested) in &found.sources {
        let what = describe(source, tested);
        let _ = writeln!(
            text,
            "{}",
            wrapped(&format!("  {:<22}", source.name), &what)
        );
    }
    if found.sources.is_empty() {
        text.push_str("  none\n");
    }
    let _ = writeln!(
        text,
        "  sampling them takes {:.2} % of one core",
        found.sampler_share * 100.0
    );
    let (here, nowhere): (Vec<_>, Vec<_>) = found
        .absent
        .iter()
        .partition(|absent| absent.is_here || absent.fix.is_some());
    if !found.absent.is_empty() {
        text.push_str("\nNot read\n");
    }
    if !nowhere.is_empty() {
        let names: Vec<_> = nowhere.iter().map(|absent| &*absent.collector).collect();
        let words = "no such hardware found (`--json` shows where it was searched)";
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
    let _ = writeln!(text, "{}", wrapped("  ", &found.meaning()));
    text
}

/// A source, and the result of its self-test.
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
                "changes"
            } else {
                "does not change: counts as absent"
            }
            .to_owned(),
        );
        if tested.monotone == Some(false) {
            parts.push("went backwards".to_owned());
        }
    } else if tested.readings == 0 {
        parts.push("no readings".to_owned());
    }
    if let Some(interval) = tested.change_interval_seconds {
        parts.push(format!("updates every {}", screen::seconds(interval)));
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

/// Wraps `text`; the first line follows `lead`, the others align below it.
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
