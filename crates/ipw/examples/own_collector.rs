//! Read power from your own meter, here a watt meter on a serial line.
//!
//! `cargo run --example own_collector [OUTPUT_DIRECTORY]`
//!
//! The serial line is simulated by a thread that writes to a pipe. For a real meter, open its
//! device file instead, for example `/dev/ttyUSB0`.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use ipw::own::{Domain, Meter};

/// How often the meter has a new value.
const PERIOD: Duration = Duration::from_millis(20);

/// A simulated meter: writes one line with the present power every [`PERIOD`].
fn serial_line() -> std::io::Result<impl BufRead> {
    let (reader, mut writer) = std::io::pipe()?;
    std::thread::spawn(move || {
        while writeln!(writer, "P=37.5W").is_ok() {
            std::thread::sleep(PERIOD);
        }
    });
    Ok(BufReader::new(reader))
}

/// Parses a line such as `P=37.5W`.
fn watts(line: &str) -> Option<f64> {
    line.trim()
        .strip_prefix("P=")?
        .strip_suffix('W')?
        .parse()
        .ok()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runs = std::env::args().nth(1).unwrap_or_else(|| "runs".to_owned());
    let mut meter = serial_line()?;
    let meter = Meter::power("serial", Domain::Platform, PERIOD, move || {
        let mut line = String::new();
        meter
            .read_line(&mut line)
            .map_err(|error| error.to_string())?;
        watts(&line).ok_or_else(|| format!("cannot find the power in `{line}`"))
    });
    let finished = ipw::Profile::new("sleeper")
        .answered_by("sleeper", |prompt: String| async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok::<_, String>(prompt)
        })
        .dataset_named("starter")
        .max_queries(10)
        .collector(meter)
        // Skip the measurement of idle power, 3 s before and after the run by default.
        .with_plan(|plan| plan.telemetry.idle = Duration::ZERO)
        .output_dir(runs)
        .run()
        .await?
        .checked()?;
    let watts = finished
        .metrics
        .get(ipw::parts::analysis::metric::Metric::Watts);
    println!("{:.1} W", watts.ok_or("no power was measured")?);
    Ok(())
}
