//! `ipw watch`: live readings of every source, on the terminal and for Prometheus.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ipw::glance::{DeviceState, Glance};
use ipw::sources::{self, SourceSet};
use ipw_core::quantity::Unit;
use ipw_core::text::{excerpt, printable};
use ipw_core::time::Clock;
use ipw_monitor::Token;
use ipw_runner::SystemClock;
use ipw_telemetry::{Role, Session, Setup};

use crate::args::{Span, WatchArgs};
use crate::error::{CliError, Exit};
use crate::{prometheus, screen};

const INTERVAL: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(10);

pub(crate) fn run(args: &WatchArgs) -> Result<Exit, CliError> {
    let options = args.hardware.options(true);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let specs = sources::parse(&args.telemetry)?;
    let SourceSet {
        collectors,
        reason,
        absent,
        notes,
        ..
    } = sources::attach(&specs, &options, Role::Service, &clock)?;
    for note in notes {
        screen::talk(&format!("note: {note}"));
    }
    if collectors.is_empty() {
        let why: Vec<_> = absent.iter().map(|absent| &*absent.reason).collect();
        return Err(CliError::new(
            Exit::NoEnergy,
            anyhow::anyhow!("no source to watch: {}", why.join("; ")),
        )
        .help("`ipw doctor` shows how to enable sources"));
    }
    let setup = Setup {
        collectors,
        interval: POLL,
        role: Role::Service,
        absent: reason,
    };
    let session = Session::start(setup, Arc::clone(&clock)).context("cannot start the samplers")?;
    let session = Arc::new(session);
    let token = args.token_file.as_deref().map(Token::read).transpose();
    let token = token.map_err(|error| CliError::new(Exit::Usage, error))?;
    let exporter = prometheus::serve(args.prometheus, token, &session, &clock)?;
    // With Prometheus and without a terminal, a table would only fill a log.
    let is_shown = exporter.is_none() || args.json || std::io::stdout().is_terminal();
    let pause = args.interval.map_or(INTERVAL, |Span(pause)| pause);
    let mut before = session.accounts();
    let mut drawn = 0;
    let mut looks = 0;
    while args.count.is_none_or(|count| looks < count.get()) {
        std::thread::sleep(pause);
        // Drop the readings: nothing is stored here.
        session.take_unsaved();
        session.saved(clock.now());
        let now = session.accounts();
        let shown = Glance {
            seconds: clock.now().seconds(),
            before: &before,
            now: &now,
        };
        if args.json {
            screen::print(&format!("{}\n", shown.json()));
        } else if is_shown {
            drawn = draw(&table(&shown, screen::width()), drawn);
        }
        before = now;
        looks += 1;
    }
    drop(exporter);
    session.stop();
    Ok(Exit::Done)
}

/// Draws over the last table on a terminal, else below it.
fn draw(table: &str, drawn: usize) -> usize {
    let lines = table.lines().count();
    let over = if drawn > 0 && std::io::stdout().is_terminal() {
        format!("\u{1b}[{drawn}A\u{1b}[J")
    } else if drawn > 0 {
        "\n".to_owned()
    } else {
        String::new()
    };
    screen::print(&format!("{over}{table}"));
    lines
}

fn table(glance: &Glance<'_>, width: usize) -> String {
    let lines = glance.devices();
    let longest = lines.iter().map(|(name, _)| name.chars().count()).max();
    let lead = longest.unwrap_or(0).clamp(6, 24).min(width / 2).max(6);
    let columns = fitting(width.saturating_sub(lead));
    let mut table = format!("{:<lead$}", "source");
    for column in columns {
        let _ = write!(table, "{:>w$}", column.head, w = column.width);
    }
    let left = width.saturating_sub(table.chars().count() + 2);
    let has_notes = left >= 10;
    table.push('\n');
    for (name, line) in &lines {
        let _ = write!(table, "{:<lead$}", excerpt(&printable(name), lead));
        for column in columns {
            let value = (column.show)(line).unwrap_or_else(|| "–".to_owned());
            let _ = write!(table, "{value:>w$}", w = column.width);
        }
        if has_notes {
            let _ = write!(table, "  {}", excerpt(&line.notes.join(", "), left));
        }
        table.push('\n');
    }
    table
}

/// A column of the table.
struct Column {
    head: &'static str,
    width: usize,
    show: fn(&DeviceState) -> Option<String>,
}

/// The most important first: a narrow terminal shows fewer columns.
const COLUMNS: [Column; 7] = [
    Column {
        head: "power",
        width: 10,
        show: |line| line.watts.map(|watts| Unit::Watts.show(watts)),
    },
    Column {
        head: "how",
        width: 12,
        show: |line| line.method.map(|method| method.label().to_owned()),
    },
    Column {
        head: "energy",
        width: 11,
        show: |line| line.joules.map(|joules| Unit::Joules.show(joules)),
    },
    Column {
        head: "temp",
        width: 7,
        show: |line| line.celsius.map(|celsius| format!("{celsius:.0} °C")),
    },
    Column {
        head: "use",
        width: 6,
        show: |line| line.busy.map(|busy| format!("{busy:.0} %")),
    },
    Column {
        head: "memory",
        width: 11,
        show: |line| line.memory.map(|memory| format!("{memory:.0} MiB")),
    },
    Column {
        head: "every",
        width: 9,
        show: |line| line.period.map(screen::seconds),
    },
];

/// The columns that fit.
fn fitting(width: usize) -> &'static [Column] {
    let mut used = 0;
    let count = COLUMNS
        .iter()
        .take_while(|column| {
            used += column.width;
            used <= width
        })
        .count();
    &COLUMNS[..count]
}

#[cfg(test)]
mod tests {
    use ipw_core::account::Account;
    use ipw_core::counter::Rollover;
    use ipw_core::source::{Domain, Gauge, Method, Quantity, Source};
    use ipw_core::units::Joules;

    use super::*;

    fn source(name: &str, device: Option<&str>, quantity: Quantity, method: Method) -> Source {
        Source {
            name: name.to_owned(),
            collector: "nvml".into(),
            host: None,
            device: device.map(str::to_owned),
            quantity,
            method,
            period: None,
            privilege: "none".into(),
            relative_sigma: None,
        }
    }

    fn account(joules: f64, seconds: u64, value: f64) -> Account {
        let mut account = Account {
            energy: Joules::from_joules(joules),
            covered: Duration::from_secs(seconds),
            ..Account::default()
        };
        account.saw(value);
        account.saw(value + 1.0);
        account
    }

    /// Two boards, each with a counter, its power and a temperature, and an estimate.
    fn accounts(seconds: u64) -> Vec<(Source, Account)> {
        let energy = Quantity::Energy {
            domain: Domain::Gpu,
            rollover: Rollover::Resets,
        };
        let power = Quantity::Power {
            domain: Domain::Gpu,
            averaging: Duration::ZERO,
        };
        let heat = Quantity::Gauge {
            gauge: Gauge::GpuTemperature,
        };
        let mut all = Vec::new();
        for (device, watts) in [("nvml/0", 300.0), ("nvml/1", 100.0)] {
            let joules = watts * Duration::from_secs(seconds).as_secs_f64();
            let own = Some(device);
            all.push((
                source(device, own, energy, Method::Counter),
                account(joules, seconds, 1.0),
            ));
            let beside = format!("{device}/power");
            all.push((
                source(&beside, own, power, Method::Integrated),
                account(2.0 * joules, seconds, 1.0),
            ));
            let warm = format!("{device}/temperature");
            all.push((
                source(&warm, own, heat, Method::Direct),
                account(0.0, 0, 41.0),
            ));
        }
        all
    }

    #[test]
    fn a_board_is_one_line_with_its_counter_and_state_at_any_width() {
        let (before, now) = (accounts(1), accounts(3));
        let look = Glance {
            seconds: 3.0,
            before: &before,
            now: &now,
        };
        for width in [20, 40, 80, 200] {
            let table = table(&look, width);
            assert_eq!(table.lines().count(), 3, "{table}");
            assert!(
                table.lines().all(|line| line.chars().count() <= width),
                "{width}: {table}"
            );
            assert!(
                table.contains("nvml/1") && table.contains("300 W"),
                "{table}"
            );
        }
        let wide = table(&look, 80);
        assert!(wide.contains("counter") && wide.contains("42 °C"), "{wide}");
        assert!(!wide.contains("600 W"), "one thing is counted once: {wide}");
    }
}
