//! Files that want our memory or our time. Alone in its process: the peak is that of all.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helper fails loudly"
)]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use ipw_core::params::Params;
use ipw_datasets::{Dataset, DatasetError, Fetching, open_for};

const MIB: u64 = 1 << 20;
const PEAK: u64 = 400 * MIB;
/// For what would otherwise never end; no measure of speed.
const NEVER: Duration = Duration::from_mins(2);

fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.expect("a peak").trim().trim_end_matches(" kB");
    kib.parse::<u64>().expect("a number") * 1024
}

fn open(path: &Path, most: Option<u64>) -> Result<Box<dyn Dataset>, DatasetError> {
    let spec = ipw_datasets::named(path.to_str().unwrap(), Params::default());
    open_for(&spec, most, &mut Fetching::from_env(&mut |_| {}))
}

fn refused(path: &Path) -> String {
    match open(path, None) {
        Ok(_) => panic!("`{}` is taken", path.display()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn columns_and_values_without_end_are_errors_and_take_little_memory() {
    std::thread::spawn(|| {
        std::thread::sleep(NEVER);
        eprintln!("it does not end");
        std::process::abort();
    });
    let place = tempfile::tempdir().unwrap();

    let path = place.path().join("wide.csv");
    let mut header = "question".to_owned();
    for column in 0..1_000_000 {
        write!(header, ",c{column}").unwrap();
    }
    fs::write(&path, header + "\n").unwrap();
    let error = refused(&path);
    assert!(error.contains("line 1"), "{error}");
    assert!(error.contains("at most 10000 cells"), "{error}");
    fs::write(&path, format!("question\n{}\n", ",".repeat(24 << 20))).unwrap();
    assert!(refused(&path).contains("at most 10000 cells"));

    let path = place.path().join("keys.jsonl");
    let mut rows = String::new();
    for row in 0..400_000 {
        writeln!(rows, "{{\"question\":\"x\",\"k{row}\":1}}").unwrap();
    }
    fs::write(&path, &rows).unwrap();
    let error = refused(&path);
    assert!(error.contains("line 10001"), "{error}");
    assert!(error.contains("at most 10000 different columns"), "{error}");
    let mut row = "{\"question\":\"x\"".to_owned();
    for key in 0..400_000 {
        write!(row, ",\"k{key}\":1").unwrap();
    }
    fs::write(&path, row + "}\n").unwrap();
    assert!(refused(&path).contains("at most 10000 different columns"));

    let list = format!(
        "{{\"question\":\"x\",\"l\":[0{}]}}\n",
        ",0".repeat(10 << 20)
    );
    fs::write(&path, list).unwrap();
    let error = refused(&path);
    assert!(error.contains("at most 1000000 values"), "{error}");

    let peak = peak_bytes();
    assert!(peak < PEAK, "the peak is {} MiB", peak / MIB);
}

/// A bad row far behind is the witness: it is found only where the whole file is looked through.
#[test]
fn a_limit_ends_the_first_look_at_a_large_file_and_leaves_a_small_one_whole() {
    let place = tempfile::tempdir().unwrap();
    let good = "{\"question\":\"x\"}\n";
    let path = place.path().join("large.jsonl");
    let mut file = File::create(&path).unwrap();
    file.write_all(good.repeat(20_000).as_bytes()).unwrap();
    file.write_all(b"not JSON\n").unwrap();
    assert!(open(&path, None).is_err());
    let dataset = open(&path, Some(2)).unwrap();
    let queries: Vec<_> = dataset.queries().unwrap().take(2).collect();
    assert!(queries.iter().all(Result::is_ok));
    assert!(dataset.size() >= Some(2));
    assert!(open(&path, Some(20_001)).is_err(), "more than are good");

    let mut params = Params::default();
    params.insert("limit", "2");
    let spec = ipw_datasets::named(path.to_str().unwrap(), params.clone());
    assert_eq!(ipw_datasets::open(&spec).unwrap().size(), Some(2));
    params.insert("shuffle", "true");
    let spec = ipw_datasets::named(path.to_str().unwrap(), params);
    assert!(ipw_datasets::open(&spec).is_err(), "a shuffle needs all");

    let path = place.path().join("small.jsonl");
    fs::write(
        &path,
        good.repeat(500) + "{\"question\":\"y\",\"late\":1}\n",
    )
    .unwrap();
    let (whole, cut) = (open(&path, None).unwrap(), open(&path, Some(2)).unwrap());
    assert_eq!(whole.metadata_shape(), cut.metadata_shape());
    assert_eq!(whole.size(), cut.size());
}
