//! What it costs to look at a run: the real binary's analyses, figures, page and exports.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use ipw_core::record::Record;
use ipw_core::time::Clock;
use ipw_core::verdict::{Grade, Verdict};
use ipw_runner::SystemClock;
use ipw_store::attribute::{Asking, attribute};

use super::spread::{Spread, number};
use super::table::Table;
use super::{Effort, attribute as made, ipw, say_round};

/// What is asked of the binary, and the file that it leaves below the output directory.
const COMMANDS: [(&str, &[&str], Option<&str>); 8] = [
    ("`ipw show`", &["show"], None),
    ("`ipw analyze`", &["analyze"], None),
    ("`ipw plot`", &["plot", "--output", "OUT"], None),
    (
        "`ipw report`",
        &["report", "--output", "OUT/report.html"],
        Some("report.html"),
    ),
    (
        "`ipw export --format parquet`",
        &["export", "--format", "parquet", "-o", "OUT"],
        Some("parquet"),
    ),
    (
        "`ipw export --format csv`",
        &["export", "--format", "csv", "-o", "OUT"],
        Some("csv"),
    ),
    (
        "`ipw export --format jsonl`",
        &["export", "--format", "jsonl", "-o", "OUT"],
        Some("jsonl"),
    ),
    // Last, as it writes the rows again.
    ("`ipw attribute`", &["attribute"], None),
];
/// The yardstick of every table: each byte of the data files once.
const PLAIN: &str = "a plain read of the data files";
const TICKS_PER_SECOND: f64 = 100.0;
const WORDS: [&str; 16] = [
    "the",
    "model",
    "answers",
    "that",
    "seven",
    "of",
    "energy",
    "is",
    "therefore",
    "a",
    "watt",
    "query",
    "and",
    "more",
    "result",
    "not",
];

/// What one command took.
struct Took {
    wall: f64,
    processor: f64,
    peak: f64,
    bytes: Option<f64>,
}

pub(crate) fn run(effort: Effort) -> anyhow::Result<String> {
    let binary = ipw::build()?;
    let sizes = effort.choose(vec![1000, 10_000], vec![10_000, 100_000, 1_000_000]);
    let rounds = effort.choose(1, 3);
    let mut table = Table::new(
        "Looking at runs with 4 sources and 10 readings per row",
        [
            "what",
            "rows",
            "seconds",
            "of processor time",
            "µs of it per row",
            "ratio to the fewest",
            "ratio to the plain read",
            "peak, MiB",
            "file",
        ],
    );
    let mut measured: Vec<(u64, Vec<Vec<Took>>, Vec<f64>)> = Vec::new();
    for rows in sizes {
        let parent = tempfile::tempdir()?;
        let directory = parent.path().join("run");
        let clock = SystemClock::start();
        make(&directory, rows)?;
        // The made run has no metrics in its summary; a run that has ended does.
        once(
            &binary,
            &["attribute"],
            &directory,
            parent.path(),
            None,
            clock,
        )?;
        let mut all: Vec<Vec<Took>> = COMMANDS.iter().map(|_| Vec::new()).collect();
        let mut plain = Vec::new();
        for round in 0..rounds {
            say_round(&format!("look {rows}"), round, rounds);
            plain.push(plainly_read(&directory, clock)?);
            for ((_, args, left), took) in COMMANDS.iter().zip(&mut all) {
                let out = parent.path().join("out");
                fs::create_dir_all(&out)?;
                took.push(once(&binary, args, &directory, &out, *left, clock)?);
                fs::remove_dir_all(&out)?;
            }
        }
        measured.push((rows, all, plain));
    }
    for (rows, _, plain) in &measured {
        let seconds = Spread::of(plain.iter().copied());
        let mut cells = [const { String::new() }; 9];
        PLAIN.clone_into(&mut cells[0]);
        cells[1] = rows.to_string();
        cells[2] = format!("{seconds:.2}");
        table.row(cells);
    }
    for (place, (name, _, _)) in COMMANDS.iter().enumerate() {
        let per_row = |(rows, all, _): &(u64, Vec<Vec<Took>>, Vec<f64>)| {
            Spread::over(&all[place], |took| took.processor * 1e6 / number(*rows))
        };
        for size in &measured {
            let (rows, all, plain) = size;
            let took = &all[place];
            let ratios = took.iter().zip(&measured[0].1[place]).map(|(one, fewest)| {
                one.processor / number(*rows) / (fewest.processor / number(measured[0].0))
            });
            let to_plain = took.iter().zip(plain).map(|(one, plain)| one.wall / plain);
            let file = took.first().and_then(|took| took.bytes);
            table.row([
                (*name).to_owned(),
                rows.to_string(),
                format!("{:.2}", Spread::over(took, |took| took.wall)),
                format!("{:.2}", Spread::over(took, |took| took.processor)),
                format!("{:.1}", per_row(size)),
                format!("{:.2}", Spread::of(ratios)),
                format!("{:.1}", Spread::of(to_plain)),
                format!("{:.0}", Spread::over(took, |took| took.peak / 1024.0)),
                file.map_or_else(String::new, |bytes| format!("{:.1} MB", bytes / 1e6)),
            ]);
        }
    }
    Ok(table.to_string())
}

/// Seconds that it takes to read each byte of the data files once.
fn plainly_read(run: &Path, clock: SystemClock) -> anyhow::Result<f64> {
    let begun = clock.now();
    let mut buffer = vec![0; 1 << 20];
    for entry in fs::read_dir(run)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "arrow") {
            let mut file = fs::File::open(path)?;
            while file.read(&mut buffer)? > 0 {}
        }
    }
    Ok(clock.now().since(begun).as_secs_f64())
}

/// Makes the run that is looked at, with energy.
pub(crate) fn make(directory: &Path, rows: u64) -> anyhow::Result<()> {
    made::make(directory, rows, SystemClock::start(), vary)?;
    attribute(directory, &Asking::default(), |_, _, _| {})?;
    Ok(())
}

/// Texts, lengths and verdicts that differ: rows that are all alike would flatter.
fn vary(record: &mut Record) {
    let mut state = record.query.index.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut text = |words: u64| {
        let word = |_| match next(24) {
            place @ 0..16 => WORDS[usize::try_from(place).unwrap_or(0)].to_owned(),
            other => (other * next(10_000)).to_string(),
        };
        (0..words).map(word).collect::<Vec<_>>().join(" ")
    };
    record.query.problem = text(20 + record.query.index % 80);
    record.reply.answer = text(10 + record.query.index % 120);
    let timing = &mut record.reply.timing;
    let kept = timing.chunks.len() / 2 + usize::try_from(next(32)).unwrap_or(0);
    timing.chunks.truncate(kept);
    record.reply.tokens.output = Some(kept as u64);
    record.reply.tokens.input = Some(20 + record.query.index % 80);
    let verdict = match next(3) {
        0 => Verdict::Correct,
        _ => Verdict::Wrong,
    };
    record.grade = Grade {
        verdict,
        ..Grade::unscored(Some("exact"), "made up")
    };
}

fn once(
    binary: &Path,
    args: &[&str],
    run: &Path,
    out: &Path,
    left: Option<&str>,
    clock: SystemClock,
) -> anyhow::Result<Took> {
    let place = out.display().to_string();
    let begun = clock.now();
    let mut child = Command::new(binary)
        .arg(args[0])
        .arg(run)
        .args(args[1..].iter().map(|arg| arg.replace("OUT", &place)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("starting `ipw`")?;
    let mut peak = 0.0;
    let processor = loop {
        peak = peaked(&child).unwrap_or(peak);
        let (state, processor) = spent(&child)?;
        if state == "Z" {
            break processor;
        }
        thread::sleep(Duration::from_millis(2));
    };
    let wall = clock.now().since(begun).as_secs_f64();
    let status = child.wait()?;
    ensure!(status.success(), "`ipw {}` ended with {status}", args[0]);
    let bytes = left.and_then(|left| written(out, left));
    Ok(Took {
        wall,
        processor,
        peak,
        bytes,
    })
}

/// Its largest resident size so far, KiB.
fn peaked(child: &Child) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// How it stands, and its processor time so far in seconds; one that has ended waits to be asked.
fn spent(child: &Child) -> anyhow::Result<(String, f64)> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
    let (_, behind) = stat.rsplit_once(')').context("a strange stat")?;
    let fields: Vec<&str> = behind.split_ascii_whitespace().collect();
    let ticks = |place: usize| -> anyhow::Result<f64> {
        let field = fields.get(place).context("a short stat")?;
        Ok(field.parse()?)
    };
    let state = fields.first().context("a short stat")?;
    Ok((
        (*state).to_owned(),
        (ticks(11)? + ticks(12)?) / TICKS_PER_SECOND,
    ))
}

/// Bytes of the file that ends so.
fn written(out: &Path, ending: &str) -> Option<f64> {
    let mut files = fs::read_dir(out).ok()?.flatten();
    let file = files.find(|file| file.file_name().to_string_lossy().ends_with(ending))?;
    Some(number(file.metadata().ok()?.len()))
}
