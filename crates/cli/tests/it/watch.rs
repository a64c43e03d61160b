//! `ipw watch --prometheus`: the page, as long as the command runs.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use ipw_testkit::sensor::{Defects, PowerTrace, SimulatedRapl};

use crate::common::{ipw, said};

/// The command, watching a machine of one package that draws 30 W.
struct Watched {
    child: Child,
    address: String,
    _sysfs: tempfile::TempDir,
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn watch(more: &[&str]) -> Command {
    let mut command = ipw();
    command.args(["watch", "--prometheus", "0"]).args(more);
    command
}

fn watched(more: &[&str]) -> Watched {
    let sysfs = tempfile::tempdir().unwrap();
    let trace = PowerTrace::new(&[(1.0, 30.0)]);
    SimulatedRapl::create(sysfs.path(), 0, trace, Defects::default()).unwrap();
    let mut child = watch(more)
        .env("IPW_SYSFS_ROOT", sysfs.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let talk = child.stderr.take().unwrap();
    BufReader::new(talk).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("serving http://");
    let address = address.and_then(|rest| rest.strip_suffix("/metrics"));
    Watched {
        address: address.unwrap_or_else(|| panic!("{line}")).to_owned(),
        child,
        _sysfs: sysfs,
    }
}

fn page(address: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

#[test]
fn the_page_is_there_while_the_command_runs_and_is_drawn_only_for_viewers() {
    let mut watched = watched(&["--count", "20", "--interval", "100ms"]);
    let reply = page(&watched.address, "Accept: application/openmetrics-text\r\n");
    assert!(reply.starts_with("HTTP/1.1 200 OK"), "{reply}");
    assert!(
        reply.contains("ipw_source_info{source=\"rapl/package-0\""),
        "{reply}"
    );
    assert!(reply.ends_with("# EOF\n"), "{reply}");
    let mut drawn = String::new();
    let out = watched.child.stdout.as_mut().unwrap();
    out.read_to_string(&mut drawn).unwrap();
    assert_eq!(drawn, "");
    assert!(watched.child.wait().unwrap().success());
    assert!(TcpStream::connect(&watched.address).is_err());
}

#[test]
fn lines_are_printed_beside_the_page_where_they_are_asked_for() {
    let mut watched = watched(&["--count", "2", "--interval", "100ms", "--json"]);
    let mut printed = String::new();
    let out = watched.child.stdout.as_mut().unwrap();
    out.read_to_string(&mut printed).unwrap();
    assert_eq!(printed.lines().count(), 2, "{printed}");
}

#[test]
fn with_a_token_only_who_knows_it_reads() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "a-token-of-some-length\n").unwrap();
    let watched = watched(&["--token-file", file.to_str().unwrap()]);
    let status = |headers| page(&watched.address, headers)[9..12].to_owned();
    assert_eq!(status(""), "401");
    assert_eq!(
        status("Authorization: Bearer a-token-of-some-length\r\n"),
        "200"
    );
}

#[test]
fn beyond_this_machine_without_a_token_is_refused() {
    let mut command = ipw();
    let refused = said(command.args(["watch", "--prometheus", "0.0.0.0:0"]));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("--token-file"), "{refused:?}");
    let short = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&short, "hunter22").unwrap();
    let path = short.path().to_str().unwrap();
    let refused = said(&mut watch(&["--token-file", path]));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(!refused.err.contains("hunter22"), "{refused:?}");
}

#[test]
fn a_monitor_has_the_page_too_and_reads_for_it_without_other_listeners() {
    let place = crate::energy::paced(10);
    let trace = PowerTrace::new(&[(1.0, 30.0)]);
    let _sensor = crate::energy::Living::start(&place, &trace, Defects::default());
    let mut child = ipw()
        .args(["monitor", "--port", "0", "--prometheus", "0"])
        .env("IPW_SYSFS_ROOT", place.sysfs())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut talk = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = talk.find_map(|line| {
        let line = line.unwrap();
        let address = line.strip_prefix("serving http://")?;
        Some(address.strip_suffix("/metrics")?.to_owned())
    });
    let address = address.unwrap();
    let joules = || -> f64 {
        let page = page(&address, "Connection: close\r\n");
        let line = page.lines().find(|line| {
            line.starts_with("ipw_energy_joules_total{") && line.contains("package-0")
        });
        let value = line.and_then(|line| line.rsplit(' ').next());
        value.map_or(0.0, |value| value.parse().unwrap())
    };
    crate::common::wait_until("joules are counted", || joules() > 5.0);
    let before = joules();
    crate::common::wait_until("more are", || joules() > before + 5.0);
    child.kill().unwrap();
    child.wait().unwrap();
}
