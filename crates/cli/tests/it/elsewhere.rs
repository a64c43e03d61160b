//! The service on another machine: its monitor there, `ipw` here. Machines are network namespaces
//! with a monotonic clock of their own.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ipw_core::time::Clock;
use ipw_reference::{Options, Script, Service};
use ipw_runner::SystemClock;
use ipw_testkit::network::Elsewhere;
use ipw_testkit::or_skip;
use ipw_testkit::original::Original;
use ipw_testkit::relay::Relay;
use ipw_testkit::sensor::{Defects, PowerTrace};
use ipw_testkit::web::{Reply, Served, Server};
use serde_json::{Value, json};

use crate::common::{Place, ipw, metrics, rows, said, summary, wait_until};
use crate::energy::{Living, paced};

const PORT: u16 = 50053;
const TOKEN: &str = "a-token-of-more-than-sixteen-characters";

/// `ipw monitor` on another machine.
struct Monitor {
    process: Child,
    address: SocketAddr,
}

impl Monitor {
    /// Its clock is `ahead` seconds ahead of ours; what it reads is `sysfs`.
    fn start(there: &Elsewhere, sysfs: &Path, ahead: i64, token: &Path) -> Self {
        let mut command = there.command(env!("CARGO_BIN_EXE_ipw"), ahead);
        let address = SocketAddr::new(there.address(), PORT);
        command
            .args(["monitor", "--no-estimate", "--bind-address"])
            .arg(there.address().to_string())
            .args(["--port", &PORT.to_string(), "--token-file"])
            .arg(token)
            .env("IPW_SYSFS_ROOT", sysfs)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = command.spawn().unwrap();
        wait_until("the monitor listens", || {
            std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok()
        });
        Self { process, address }
    }

    fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.stop();
    }
}

fn token(place: &Place) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = place.path().join("token");
    std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// A tree of files whose package draws what `trace` says.
fn package(place: &Place, name: &str, trace: &PowerTrace) -> (PathBuf, Living) {
    let sysfs = place.path().join(name);
    std::fs::create_dir_all(&sysfs).unwrap();
    let living = Living::at(&sysfs, 0, trace, Defects::default());
    (sysfs, living)
}

fn energies(summary: &Value) -> Vec<&Value> {
    let sources = summary["telemetry"]["sources"].as_array().unwrap();
    let is_energy = |source: &&Value| source["about"]["quantity"]["kind"] == "energy";
    sources.iter().filter(is_energy).collect()
}

fn query_seconds(row: &Value) -> f64 {
    let at = |name: &str| row["timing"][name].as_f64().unwrap();
    at("end_seconds") - at("start_seconds")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn two_machines_with_clocks_of_their_own_are_aligned_within_the_stated_bound() {
    let place = paced(400);
    let (Some(left), Some(right)) = (or_skip(Elsewhere::make()), or_skip(Elsewhere::make())) else {
        return;
    };
    let (token, ms) = (token(&place), Duration::from_millis);
    let (left_tree, _left) = package(&place, "left", &PowerTrace::new(&[(1.0, 40.0)]));
    let (right_tree, _right) = package(&place, "right", &PowerTrace::new(&[(1.0, 70.0)]));
    // Neither delay is the same both ways: the worst case for halving a round trip.
    let ahead = [100_000, -1_000];
    let ways = [(ms(1), ms(9)), (ms(20), ms(4))];
    let monitors = [
        Monitor::start(&left, &left_tree, ahead[0], &token),
        Monitor::start(&right, &right_tree, ahead[1], &token),
    ];
    // The kernel delays what it can; where it cannot, the relay does both ways.
    let relays: Vec<Relay> = monitors
        .iter()
        .zip([&left, &right])
        .zip(ways)
        .map(|((monitor, machine), (there, back))| {
            let back = if machine.delay(back) {
                Duration::ZERO
            } else {
                back
            };
            Relay::start(monitor.address, there, back, &place.clock).unwrap()
        })
        .collect();
    let telemetry: Vec<String> = relays
        .iter()
        .zip(["left", "right"])
        .map(|(relay, name)| {
            let token = token.display();
            format!("grpc://{},name={name},token-file={token}", relay.address())
        })
        .collect();
    let telemetry = telemetry.join(",");
    let said = said(&mut place.profile(&["--max-queries", "12", "--telemetry", &telemetry]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(!said.err.contains(TOKEN) && !said.out.contains(TOKEN));
    let summary = summary(&place.run());
    let own = summary["parts"][0]["monotonic_nanos"].as_i64().unwrap();
    let sources = energies(&summary);
    assert_eq!(sources.len(), 2, "{sources:#?}");
    for (source, ((ahead, name), (there, back))) in sources
        .iter()
        .zip(ahead.iter().zip(["left", "right"]).zip(ways))
    {
        let truth = -(ahead * 1_000_000_000) - own;
        is_aligned(source, name, truth, there + back);
    }
    let watts = rows(&place.run())
        .iter()
        .map(|row| {
            assert_eq!(row["energy"]["basis"], "cpu", "{}", row["energy"]);
            row["headline"]["joules"].as_f64().unwrap() / query_seconds(row)
        })
        .collect();
    let watts = median(watts);
    assert!((watts / 110.0 - 1.0).abs() < 0.05, "{watts} W");
}

/// The clock of a machine is where it says, within what it says, over a way that long.
fn is_aligned(source: &Value, name: &str, truth: i64, way: Duration) {
    assert_eq!(source["about"]["name"], format!("{name}/rapl/package-0"));
    let whose = (&source["about"]["host"], &source["role"]);
    assert_eq!(whose, (&json!(name), &json!("service")));
    let clock = &source["clock"];
    assert_eq!(
        (&clock["how"], &clock["steps"]),
        (&json!("exchange"), &json!(0))
    );
    let shift = clock["shift_nanos"].as_i64().unwrap();
    let off = Duration::from_nanos((shift - truth).unsigned_abs());
    let bound = Duration::from_secs_f64(clock["bound_seconds"].as_f64().unwrap());
    assert!(off <= bound, "{name}: off by {off:?}, bound {bound:?}");
    assert!(
        bound >= way / 2,
        "{name}: no bound can be better than {bound:?}"
    );
    assert!(bound < way * 3, "{name}: {bound:?}");
    let drift = clock["drift_ppm"].as_f64().unwrap().abs();
    assert!(
        drift <= clock["drift_bound_ppm"].as_f64().unwrap(),
        "{clock}"
    );
}

#[test]
fn the_services_joules_are_billed_and_the_clients_are_not() {
    let place = paced(300);
    let Some(there) = or_skip(Elsewhere::make()) else {
        return;
    };
    let token = token(&place);
    let (far_tree, _far) = package(&place, "far", &PowerTrace::new(&[(1.0, 80.0)]));
    let (near_tree, _near) = package(&place, "near", &PowerTrace::new(&[(1.0, 30.0)]));
    let service = service_at(&there, there.address());
    let monitor = Monitor::start(&there, &far_tree, 5_000, &token);
    let telemetry = format!(
        "local,grpc://{},token-file={}",
        monitor.address,
        token.display()
    );
    let mut command = place.profile_at(
        &service.url(),
        "reference",
        &[
            "--max-queries",
            "10",
            "--require-energy",
            "--telemetry",
            &telemetry,
        ],
    );
    let done = said(command.env("IPW_SYSFS_ROOT", &near_tree));
    assert_eq!(done.code, Some(0), "{}", done.err);
    let host = there.address().to_string();
    let live = rows(&place.run());
    let watts = live
        .iter()
        .map(|row| {
            let shares = row["energy"]["shares"].as_array().unwrap();
            assert_eq!(shares.len(), 1, "{shares:#?}");
            assert_eq!(shares[0]["name"], format!("{host}/rapl/package-0"));
            assert!(shares[0]["sigma_joules"].as_f64().unwrap() > 0.0);
            let joules = metrics(row)["energy_metrics"]["cpu_per_query_joules"].as_f64();
            assert_eq!(row["headline"]["joules"].as_f64(), joules);
            joules.unwrap() / query_seconds(row)
        })
        .collect();
    let watts = median(watts);
    assert!((watts / 80.0 - 1.0).abs() < 0.05, "{watts} W");
    let summary = summary(&place.run());
    let [far, near] = &energies(&summary)[..] else {
        panic!("{summary:#}");
    };
    assert_eq!(
        (&far["role"], &near["role"]),
        (&json!("service"), &json!("client"))
    );
    assert_eq!(near["about"]["host"], Value::Null);
    let joules = |source: &Value| {
        source["joules"].as_f64().unwrap() / source["covered_seconds"].as_f64().unwrap()
    };
    assert!((joules(near) / 30.0 - 1.0).abs() < 0.05, "{near:#}");
    assert_eq!(
        near["balance"]["queries_joules"].as_f64().map(|j| j >= 0.0),
        Some(true)
    );
    // Later, from the readings on disk, it is the same.
    let again = said(ipw().arg("attribute").arg(place.run()));
    assert_eq!(again.code, Some(0), "{}", again.err);
    for (before, after) in live.iter().zip(rows(&place.run())) {
        let (before, after) = (&before["headline"]["joules"], &after["headline"]["joules"]);
        let (before, after) = (before.as_f64().unwrap(), after.as_f64().unwrap());
        assert!(
            (before / after - 1.0).abs() < 0.02,
            "{before} J, then {after} J"
        );
    }
}

#[test]
fn a_monitor_that_is_killed_leaves_a_gap_and_nothing_else() {
    let place = paced(300);
    let Some(there) = or_skip(Elsewhere::make()) else {
        return;
    };
    let token = token(&place);
    let (tree, _living) = package(&place, "far", &PowerTrace::new(&[(1.0, 80.0)]));
    let service = service_at(&there, there.address());
    let mut monitor = Monitor::start(&there, &tree, 0, &token);
    let telemetry = format!("grpc://{},token-file={}", monitor.address, token.display());
    let mut command = place.profile_at(
        &service.url(),
        "reference",
        &["--max-queries", "40", "--telemetry", &telemetry],
    );
    let running = crate::common::spawn(&mut command);
    wait_until("some queries are over", || service.completed() > 12);
    monitor.stop();
    wait_until("more queries are over", || service.completed() > 18);
    let _again = Monitor::start(&there, &tree, 0, &token);
    let done = running.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{err}");
    let rows = rows(&place.run());
    assert_eq!(rows.len(), 40, "every query is a row");
    let is_known: Vec<bool> = rows
        .iter()
        .map(|row| row["headline"]["joules"].as_f64().is_some())
        .collect();
    let known = is_known.iter().filter(|known| **known).count();
    assert!(
        is_known[0] && is_known[39] && known < 38 && known > 20,
        "{is_known:?}"
    );
    for row in rows
        .iter()
        .filter(|row| row["headline"]["joules"].is_null())
    {
        let reason = row["energy"]["reason"].as_str().unwrap_or_default();
        assert!(
            ["no_reading", "gap", "partial"].contains(&reason),
            "{}",
            row["energy"]
        );
    }
    let summary = summary(&place.run());
    assert!(
        energies(&summary)[0]["gaps"].as_u64().unwrap() >= 1,
        "{summary:#}"
    );
    let faults = summary["telemetry"]["faults"].to_string();
    assert!(faults.contains("the connection was lost"), "{faults}");
}

#[test]
fn the_originals_monitor_is_taken_from_the_environment() {
    let place = paced(300);
    let Some(original) = or_skip(Original::start("new")) else {
        return;
    };
    let target = format!("127.0.0.1:{}", original.port());
    let mut command = place.profile(&["--max-queries", "8"]);
    let said = said(command.env("IPW_ENERGY_MONITOR_TARGET", target));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.err.contains("runs the original's monitor"),
        "{}",
        said.err
    );
    let summary = summary(&place.run());
    assert_eq!(summary["hardware_label"], "H100");
    assert_eq!(summary["system_info"]["host_name"], "gpu1");
    let rows = rows(&place.run());
    let watts = rows
        .iter()
        .map(|row| {
            assert_eq!(row["energy"]["basis"], "gpu+cpu", "{}", row["energy"]);
            let gpu = metrics(row)["energy_metrics"]["per_query_joules"]
                .as_f64()
                .unwrap();
            let all = row["headline"]["joules"].as_f64().unwrap();
            assert!(gpu < all);
            all / query_seconds(row)
        })
        .collect();
    let watts = median(watts);
    assert!((watts / 250.0 - 1.0).abs() < 0.1, "{watts} W");
    for source in energies(&summary) {
        assert_eq!(source["clock"]["how"], "arrival", "{source:#}");
        assert!(source["clock"]["bound_seconds"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn a_monitor_that_is_not_there_is_said_before_the_first_query() {
    let place = paced(50);
    let said = said(&mut place.profile(&["--telemetry", "grpc://127.0.0.1:1"]));
    assert_eq!(said.code, Some(5), "{}", said.err);
    assert!(
        said.err.contains("no monitor at `grpc://127.0.0.1:1`") && said.err.contains("ipw monitor"),
        "{}",
        said.err
    );
    assert_eq!(place.service.completed(), 0);
}

#[test]
fn a_plug_that_speaks_http_is_the_whole_machines_joules() {
    let place = paced(300);
    let clock = Arc::clone(&place.clock);
    // 60 W, and the joules of them in watt-hours, as such plugs say it.
    let plug = Server::start(move |_, _| {
        let total = 60.0 * clock.now().seconds() / 3600.0;
        let said = json!({"id": 0, "output": true, "apower": 60.0, "aenergy": {"total": total}});
        Reply::File(
            Served::of(said.to_string().as_bytes()).header("Content-Type: application/json"),
        )
    });
    let telemetry = format!(
        "{},preset=shelly-gen2,period=100ms,interval=50ms",
        plug.url()
    );
    let said = said(&mut place.profile(&[
        "--max-queries",
        "8",
        "--require-energy",
        "--telemetry",
        &telemetry,
    ]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let watts = rows(&place.run())
        .iter()
        .map(|row| {
            assert_eq!(row["energy"]["basis"], "system", "{}", row["energy"]);
            row["headline"]["joules"].as_f64().unwrap() / query_seconds(row)
        })
        .collect();
    let watts = median(watts);
    assert!((watts / 60.0 - 1.0).abs() < 0.1, "{watts} W");
    let clock = &energies(&summary(&place.run()))[0]["clock"].clone();
    assert_eq!(clock["how"], "round_trip", "{clock}");
}

#[test]
fn a_recorded_run_can_be_played_to_another() {
    let place = paced(300);
    let (tree, sensor) = package(&place, "near", &PowerTrace::new(&[(1.0, 45.0)]));
    let mut command = place.profile(&["--max-queries", "10"]);
    let done = said(command.env("IPW_SYSFS_ROOT", &tree));
    assert_eq!(done.code, Some(0), "{}", done.err);
    drop(sensor);
    let recorded = place.path().join("recorded");
    std::fs::rename(place.run(), &recorded).unwrap();
    let telemetry = format!("replay:{}", recorded.display());
    let done = said(&mut place.profile(&["--max-queries", "5", "--telemetry", &telemetry]));
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(
        done.err.contains("readings are replayed from"),
        "{}",
        done.err
    );
    let watts: Vec<f64> = rows(&place.run())
        .iter()
        .filter_map(|row| Some(row["headline"]["joules"].as_f64()? / query_seconds(row)))
        .collect();
    assert!(watts.len() >= 3, "{watts:?}");
    let watts = median(watts);
    assert!((watts / 45.0 - 1.0).abs() < 0.05, "{watts} W");
}

#[test]
fn nothing_is_examined_unless_it_is_asked_for() {
    let place = paced(50);
    let said = said(&mut place.profile(&["--max-queries", "3", "--telemetry", "none"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    for row in rows(&place.run()) {
        assert_eq!(
            row["energy"],
            json!({"shares": [], "basis": null, "reason": "no_source"})
        );
    }
    assert_eq!(summary(&place.run())["telemetry"]["sources"], json!([]));
}

/// The reference service on another machine.
fn service_at(there: &Elsewhere, address: IpAddr) -> Service {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let options = Options {
        address: SocketAddr::new(address, 0),
        ..Options::default()
    };
    let script = |_: &_| Script {
        first_token: Duration::from_millis(150),
        gap: Duration::from_millis(37),
        ..Script::words(5)
    };
    there
        .inside(|| Service::start_with(options, clock, script))
        .unwrap()
        .unwrap()
}
