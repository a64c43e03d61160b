//! `ipw monitor`: the real binary on hardware by script, read by Python with nothing but a .proto.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use ipw_core::time::Clock as _;
use ipw_runner::SystemClock;
use ipw_testkit::fake_nvml::{Board, FakeNvml, Machine, Time};
use ipw_testkit::sensor::{Defects, PowerTrace};
use ipw_testkit::{Venv, fake_library, or_skip};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::common::{Place, all_cores, ipw, no_other_load, said, wait_until};
use crate::energy::{Living, paced};

const SCRIPT: &str = include_str!("monitor/listen.py");
const TOKEN: &str = "correct-horse-battery-staple";

/// Python that makes readers out of a .proto.
fn python() -> Option<Venv> {
    or_skip(ipw_testkit::original::grpc())
}

fn proto() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto/energy.proto")
}

fn old_proto() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/monitor/old.proto")
}

/// `ipw monitor` at a free port on the place's tree.
fn command(place: &Place, more: &[&str]) -> Command {
    let mut command = ipw();
    command
        .arg("monitor")
        .args(more)
        .env("IPW_SYSFS_ROOT", place.sysfs());
    command
}

/// A monitor that runs until it is dropped.
struct Monitoring {
    child: Child,
    /// Where, as it says.
    target: String,
    /// What it says of itself.
    about: String,
    /// The rest of it.
    talk: BufReader<ChildStderr>,
}

impl Monitoring {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut ready)
            .unwrap();
        let mut talk = BufReader::new(child.stderr.take().unwrap());
        let mut about = String::new();
        while !about.contains("sources are read only while a client is connected") {
            assert_ne!(talk.read_line(&mut about).unwrap(), 0, "{about}");
        }
        let target = ready.strip_prefix("listening on ").unwrap().trim();
        Self {
            target: target.to_owned(),
            child,
            about,
            talk,
        }
    }

    /// At a free port of loopback.
    fn near(place: &Place, more: &[&str]) -> Self {
        Self::start(command(place, &["--port", "0"]).args(more))
    }

    fn address(&self) -> &str {
        self.target.strip_prefix("grpc://").unwrap()
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Memory that it holds, in KiB.
    fn memory(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        number.unwrap().parse().unwrap()
    }
}

impl Drop for Monitoring {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a Python reader of `proto` sees in the first `count` messages.
fn listen(python: &Venv, target: &str, proto: &Path, count: usize, token: &str) -> Value {
    let count = count.to_string();
    let args = [target, proto.to_str().unwrap(), &count, token];
    let printed = python.run(SCRIPT, &args).unwrap();
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

fn number(message: &Value, field: &str) -> f64 {
    let value = message[field].as_f64();
    value.unwrap_or_else(|| panic!("no `{field}` in {message}"))
}

fn is_near(value: f64, expected: f64, share: f64) -> bool {
    (value / expected - 1.0).abs() < share
}

/// Two boards that live on the machine's clock; `None` where the library cannot be built.
fn boards() -> Option<FakeNvml> {
    or_skip(fake_library("ipw-fake-nvml"))?;
    let traces = [250.0, 90.0].map(|watts| PowerTrace::new(&[(1.0, watts)]));
    let boards = (0..).zip(traces);
    let machine = Machine {
        time: Time::Monotonic(SystemClock::start().anchor().monotonic_nanos),
        ..Machine::new(
            boards
                .map(|(number, trace)| Board::new(number, trace))
                .collect(),
        )
    };
    or_skip(FakeNvml::new(&machine))
}

#[test]
fn python_reads_what_the_boards_and_packages_say_with_the_new_proto_and_the_old() {
    let _busy = all_cores();
    let (Some(python), Some(fake)) = (python(), boards()) else {
        return;
    };
    let place = paced(20);
    let trace = PowerTrace::new(&[(1.0, 40.0)]);
    let _package = Living::start(&place, &trace, Defects::default());
    let mut command = command(&place, &["--port", "0"]);
    let monitoring = Monitoring::start(command.env("IPW_NVML_LIB", fake.library()));
    let about = &monitoring.about;
    assert!(
        about.contains("rapl/package-0") && about.contains("nvml/1"),
        "{about}"
    );
    let seen = listen(&python, monitoring.address(), &proto(), 60, "");
    assert_eq!(seen["status"], Value::Null);
    let health = &seen["health"];
    assert_eq!(
        (&health["healthy"], &health["platform"]),
        (&json!(true), &json!("nvidia"))
    );
    let messages = seen["messages"].as_array().unwrap();
    check_fields(messages.last().unwrap());
    // The first second of a counter with long steps tells little.
    check_growth(&messages[20..]);
    check_readings(messages, &names(&health["monitor"]));
    let old = listen(&python, monitoring.address(), &old_proto(), 30, "");
    assert_eq!(old["status"], Value::Null);
    let last = &old["messages"][29];
    assert!(last.get("cpu_power_watts").is_none(), "it does not know it");
    assert!(is_near(number(last, "power_watts"), 340.0, 0.05), "{last}");
    assert!(number(last, "energy_joules") > 0.0, "{last}");
    assert_eq!(last["platform"], "nvidia");
}

/// The names of the sources that a monitor describes.
fn names(monitor: &Value) -> Vec<String> {
    let sources = monitor["sources"].as_array().unwrap();
    let name = |source: &Value| {
        let about = source["about_json"].as_str().unwrap();
        let about: Value = serde_json::from_str(about).unwrap();
        about["name"].as_str().unwrap().to_owned()
    };
    sources.iter().map(name).collect()
}

/// What two boards and a package say at an instant.
fn check_fields(last: &Value) {
    for (field, expected, share) in [
        ("power_watts", 340.0, 0.05),
        ("cpu_power_watts", 40.0, 0.1),
        ("temperature_celsius", 45.0, 1e-6),
        ("gpu_memory_usage_mb", 2048.0, 1e-6),
        ("gpu_memory_total_mb", 2.0 * 81_559.0, 1e-6),
        ("gpu_compute_utilization_pct", 87.0, 1e-6),
        ("gpu_memory_bandwidth_utilization_pct", 31.0, 1e-6),
    ] {
        let value = number(last, field);
        assert!(is_near(value, expected, share), "{field}: {last}");
    }
    for absent in [
        "ane_power_watts",
        "ane_energy_joules",
        "gpu_tensor_core_utilization_pct",
    ] {
        assert_eq!(last[absent], json!(-1.0), "{absent}");
    }
    assert!(number(last, "cpu_memory_usage_mb") > 1.0);
    assert_eq!(last["gpu_info"]["name"], "NVIDIA H100 80GB HBM3 x2");
    assert_eq!(last["gpu_info"]["vendor"], "NVIDIA");
    assert!(number(&last["system_info"], "cpu_count") >= 1.0);
}

/// Energy never falls, and is power by time.
fn check_growth(messages: &[Value]) {
    let (first, last) = (&messages[0], messages.last().unwrap());
    let grown = |field: &str| number(last, field) - number(first, field);
    let seconds = grown("timestamp_nanos") / 1e9;
    for (field, watts) in [("energy_joules", 340.0), ("cpu_energy_joules", 40.0)] {
        let joules = grown(field);
        assert!(
            is_near(joules / seconds, watts, 0.15),
            "{field}: {joules} in {seconds}"
        );
        let steps = messages.windows(2);
        let mut steps = steps.map(|pair| number(&pair[1], field) - number(&pair[0], field));
        assert!(steps.all(|step| step >= 0.0), "{field}");
    }
}

/// Every source has spoken, by its place in the descriptions.
fn check_readings(messages: &[Value], names: &[String]) {
    for (place, name) in names.iter().enumerate() {
        let spoke = messages.iter().any(|message| {
            let readings = message["batch"]["readings"].as_array().unwrap();
            readings
                .iter()
                .any(|reading| reading["source"] == json!(place))
        });
        assert!(spoke, "{name}");
    }
}

#[test]
fn where_nothing_measures_the_originals_fields_say_so_and_an_estimate_is_told_apart() {
    let _busy = all_cores();
    let Some(python) = python() else { return };
    let place = paced(20);
    for more in [&["--no-estimate"][..], &["--cpu-tdp", "100"]] {
        let monitoring = Monitoring::near(&place, more);
        assert!(
            monitoring.about.contains("no source here measures energy"),
            "{}",
            monitoring.about
        );
        let seen = listen(&python, monitoring.address(), &proto(), 20, "");
        assert_eq!(
            (&seen["health"]["healthy"], &seen["health"]["platform"]),
            (&json!(false), &json!("null"))
        );
        let last = &seen["messages"][19];
        for field in [
            "power_watts",
            "energy_joules",
            "temperature_celsius",
            "gpu_memory_usage_mb",
            "cpu_power_watts",
            "cpu_energy_joules",
            "gpu_memory_total_mb",
        ] {
            assert_eq!(last[field], json!(-1.0), "{field}");
        }
        assert!(number(last, "cpu_memory_usage_mb") > 1.0);
        assert_eq!(last["gpu_info"], Value::Null);
        let monitor = &seen["health"]["monitor"];
        let is_estimated = more[0] == "--cpu-tdp";
        assert_eq!(monitor["estimate"].is_string(), is_estimated, "{monitor}");
        let sources = monitor["sources"].to_string();
        assert_eq!(sources.contains("estimate/cpu"), is_estimated, "{sources}");
        assert!(monitor["absent"].to_string().contains("rapl"), "{monitor}");
    }
}

#[test]
fn beyond_loopback_it_takes_a_token_and_tells_who_has_none() {
    let place = paced(20);
    let refused = said(&mut command(
        &place,
        &["--port", "0", "--bind-address", "0.0.0.0"],
    ));
    assert_eq!(
        (refused.code, &*refused.out),
        (Some(2), ""),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("--token-file"), "{}", refused.err);
    let file = place.path().join("token");
    let token_file = file.to_str().unwrap();
    std::fs::write(&file, "short\n").unwrap();
    let short = said(&mut command(&place, &["--token-file", token_file]));
    assert_eq!((short.code, &*short.out), (Some(2), ""), "{}", short.err);
    assert!(short.err.contains("fewer than 16"), "{}", short.err);
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let everywhere = ["--bind-address", "0.0.0.0", "--token-file", token_file];
    let monitoring = Monitoring::near(&place, &everywhere);
    assert!(
        monitoring.about.contains("not encrypted"),
        "{}",
        monitoring.about
    );
    assert!(
        monitoring.about.contains("other users can read the token"),
        "{}",
        monitoring.about
    );
    assert!(!monitoring.about.contains(TOKEN), "{}", monitoring.about);
    let _busy = all_cores();
    let Some(python) = python() else { return };
    let port = monitoring.address().rsplit_once(':').unwrap().1;
    let near = format!("127.0.0.1:{port}");
    for wrong in ["", "wrong-horse-battery-staple"] {
        let seen = listen(&python, &near, &proto(), 1, wrong);
        assert_eq!(seen["status"][0], "UNAUTHENTICATED", "{seen}");
        let words = seen["status"][1].as_str().unwrap();
        assert!(
            words.contains("token file") && !words.contains(TOKEN),
            "{words}"
        );
    }
    let seen = listen(&python, &near, &proto(), 3, TOKEN);
    assert_eq!(
        (&seen["status"], seen["messages"][2].is_object()),
        (&Value::Null, true)
    );
}

#[test]
fn a_unix_socket_is_for_its_owner_and_goes_with_the_monitor() {
    let place = paced(20);
    let path = place.path().join("monitor.sock");
    let mut command = command(&place, &["--unix"]);
    let mut monitoring = Monitoring::start(command.arg(&path));
    assert_eq!(monitoring.target, format!("unix:{}", path.display()));
    let about = std::fs::metadata(&path).unwrap();
    assert!(about.file_type().is_socket());
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
    let second = said(self::command(&place, &["--unix"]).arg(&path));
    assert_eq!((second.code, &*second.out), (Some(1), ""), "{}", second.err);
    assert!(
        second.err.contains("another process listens on `") && second.err.contains("monitor.sock"),
        "{}",
        second.err
    );
    {
        let _busy = all_cores();
        if let Some(python) = python() {
            let seen = listen(&python, &monitoring.target, &proto(), 3, "");
            assert_eq!(seen["status"], Value::Null, "{seen}");
        }
    }
    monitoring.signal(Signal::TERM);
    assert_eq!(monitoring.exit_code(), Some(0));
    assert!(!path.exists());
    std::fs::write(&path, "precious").unwrap();
    let file = said(self::command(&place, &["--unix"]).arg(&path));
    assert_eq!((file.code, &*file.out), (Some(2), ""), "{}", file.err);
    assert!(file.err.contains("is not a socket"), "{}", file.err);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn a_signal_ends_it_well_with_any_listeners() {
    let _busy = all_cores();
    let place = paced(20);
    let Some(python) = python() else { return };
    for signal in [Signal::INT, Signal::TERM] {
        let mut monitoring = Monitoring::near(&place, &[]);
        let mut reader = Command::new(python.python())
            .args(["-I", "-c", SCRIPT, monitoring.address()])
            .arg(proto())
            .args(["1000000", ""])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut printed = BufReader::new(reader.stdout.take().unwrap());
        let mut line = String::new();
        printed.read_line(&mut line).unwrap();
        assert_eq!(line, "streaming\n");
        monitoring.signal(signal);
        assert_eq!(monitoring.exit_code(), Some(0));
        let mut rest = String::new();
        printed.read_to_string(&mut rest).unwrap();
        reader.wait().unwrap();
        let seen: Value = serde_json::from_str(&rest).unwrap();
        assert_eq!(
            seen["status"],
            json!(["UNAVAILABLE", "the monitor is stopping"])
        );
    }
}

#[test]
fn two_hundred_connections_and_garbage_cost_little_and_those_there_go_on() {
    let _quiet = no_other_load();
    let place = paced(20);
    let Some(python) = python() else { return };
    let monitoring = Monitoring::near(&place, &[]);
    listen(&python, monitoring.address(), &proto(), 5, "");
    let before = monitoring.memory();
    let mut many: Vec<TcpStream> = (0..200)
        .map(|_| TcpStream::connect(monitoring.address()).unwrap())
        .collect();
    let is_closed = |stream: &TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let mut stream = stream;
        matches!(stream.read(&mut [0; 1]), Ok(0))
    };
    wait_until("those beyond the bound are closed", || {
        many.iter().filter(|stream| is_closed(stream)).count() == 72
    });
    for stream in &mut many {
        let _ = stream.write_all(&[0x16; 3000]);
    }
    let closed = || many.iter().filter(|stream| !is_open(stream)).count();
    wait_until("garbage ends the others", || closed() == 200);
    let seen = listen(&python, monitoring.address(), &proto(), 5, "");
    assert_eq!(seen["status"], Value::Null, "{seen}");
    let grown = monitoring.memory().saturating_sub(before);
    assert!(grown < 32 * 1024, "{grown} KiB");
}

/// Whether there may still come something.
fn is_open(mut stream: &TcpStream) -> bool {
    let mut bytes = [0; 4096];
    match stream.read(&mut bytes) {
        Ok(0) => false,
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
    }
}

#[test]
fn a_port_in_use_is_named_with_the_way_out() {
    let place = paced(20);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = said(&mut command(&place, &["--port", &port]));
    assert_eq!((said.code, &*said.out), (Some(1), ""), "{}", said.err);
    let named = format!("error: port {port} is in use at 127.0.0.1\n");
    assert!(said.err.starts_with(&named), "{}", said.err);
    assert!(
        said.err.contains("`--port 0` picks a free port"),
        "{}",
        said.err
    );
}

#[test]
fn finer_readings_come_with_a_note_and_intervals_have_bounds() {
    let place = paced(20);
    for (more, is_fine) in [
        (&["--collection-interval-ms", "10"][..], true),
        (&["--interval", "10ms"], true),
        (&["--interval", "50ms"], false),
        (&[], false),
    ] {
        let mut monitoring = Monitoring::near(&place, more);
        monitoring.signal(Signal::TERM);
        let mut rest = String::new();
        monitoring.talk.read_to_string(&mut rest).unwrap();
        assert_eq!(rest.contains("PLATYPUS"), is_fine, "{more:?}: {rest}");
        assert_eq!(monitoring.exit_code(), Some(0));
    }
    for wrong in [
        &["--interval", "10us"][..],
        &["--interval", "1h"],
        &["--collection-interval-ms", "0"],
        &["--collection-interval-ms", "10ms"],
        &["--interval", "50ms", "--collection-interval-ms", "50"],
        &["--unix", "x", "--port", "1"],
    ] {
        let said = said(&mut command(&place, wrong));
        assert_eq!(
            (said.code, &*said.out),
            (Some(2), ""),
            "{wrong:?}: {}",
            said.err
        );
    }
}

#[test]
fn the_unit_in_the_docs_is_one_that_systemd_takes() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/monitor.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let unit = docs.split("```ini\n").nth(1).unwrap();
    let unit = unit.split("```").next().unwrap();
    let (installed, here) = ("/usr/local/bin/ipw", env!("CARGO_BIN_EXE_ipw"));
    assert!(unit.contains(&format!("ExecStart={installed} monitor\n")));
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("ipw-monitor.service");
    std::fs::write(&file, unit.replace(installed, here)).unwrap();
    let mut verify = Command::new("systemd-analyze");
    let Ok(checked) = verify.args(["verify", "--man=no"]).arg(&file).output() else {
        eprintln!("skipped: there is no systemd-analyze here");
        return;
    };
    let says = String::from_utf8_lossy(&checked.stderr);
    let ours = says.lines().filter(|line| line.contains("ipw-monitor"));
    assert_eq!(ours.collect::<Vec<_>>(), Vec::<&str>::new());
}
