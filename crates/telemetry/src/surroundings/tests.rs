use std::fs;
use std::os::unix::fs::symlink;

use ipw_testkit::ManualClock;

use super::*;

/// A fake `/proc` that contains this process.
struct Proc(tempfile::TempDir);

const OWN: u32 = 900;

fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::default())
}

impl Proc {
    fn new() -> Self {
        let proc = Self(tempfile::tempdir().unwrap());
        fs::create_dir(proc.path().join("net")).unwrap();
        fs::write(proc.path().join("net/unix"), "Num\n").unwrap();
        fs::write(proc.path().join("uptime"), "100.00 50.00\n").unwrap();
        proc.machine(1000, 3000);
        proc.process(OWN, 1, 50, (0, 0), "ipw");
        proc
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// CPU time of the machine: busy and idle ticks.
    fn machine(&self, busy: u64, idle: u64) {
        let text = format!("cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\n");
        fs::write(self.path().join("stat"), text).unwrap();
    }

    /// Adds a process in a group of its own.
    fn process(
        &self,
        pid: u32,
        parent: u32,
        started: u64,
        (own, children): (u64, u64),
        name: &str,
    ) {
        let directory = self.path().join(pid.to_string());
        fs::create_dir_all(directory.join("fd")).unwrap();
        let stat = format!(
            "{pid} ({name}) S {parent} {pid} {pid} 0 -1 0 0 0 0 0 {own} 0 {children} 0 20 0 1 0 {started} 0 0\n"
        );
        fs::write(directory.join("stat"), stat).unwrap();
        fs::write(directory.join("comm"), format!("{name}\n")).unwrap();
    }

    fn end(&self, pid: u32) {
        fs::remove_dir_all(self.path().join(pid.to_string())).unwrap();
    }

    fn holds(&self, pid: u32, inode: u64) {
        let file = self.path().join(format!("{pid}/fd/3"));
        symlink(format!("socket:[{inode}]"), file).unwrap();
    }

    /// Adds a socket that listens on port 8000 of the loopback address.
    fn listens(&self, inode: u64) {
        let line = format!(
            "0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 {inode} 1\n"
        );
        fs::write(self.path().join("net/tcp"), format!("head\n{line}")).unwrap();
    }

    fn look(&self, service: Service) -> Look {
        let options = Options {
            proc: self.path().to_owned(),
            sysfs: self.path().to_owned(),
            ..Options::default()
        };
        Look::new(&options, service, OWN, clock())
    }
}

fn port() -> Service {
    Service::Listening(ListenAddress::Port(
        8000,
        vec!["127.0.0.1".parse().unwrap()],
    ))
}

#[test]
fn the_service_is_found_by_its_port_with_its_workers_and_others_are_not_it() {
    let proc = Proc::new();
    proc.listens(77);
    proc.process(10, 1, 500, (100, 0), "vllm");
    proc.process(11, 10, 510, (300, 0), "VLLM::EngineCor");
    proc.process(20, 1, 600, (40, 0), "compiler");
    proc.holds(10, 77);
    let mut look = proc.look(port());
    look.search();
    assert_eq!(look.seen().service, Ok(Duration::ZERO));
    // A second later: the engine worked, a worker of it came and went, the compiler worked too.
    proc.process(10, 1, 500, (105, 0), "vllm");
    proc.process(11, 10, 510, (360, 25), "VLLM::EngineCor");
    proc.process(20, 1, 600, (100, 0), "compiler");
    proc.machine(1155, 3045);
    look.search();
    let seen = look.seen();
    assert_eq!(seen.service, Ok(Duration::from_millis(900)));
    assert_eq!(seen.processes, Some(2));
    assert_eq!(seen.machine, Some(Duration::from_millis(1550)));
    assert_eq!(seen.capacity, Some(Duration::from_secs(2)));
}

#[test]
fn a_service_that_starts_again_is_found_again_and_what_ended_stays_counted() {
    let proc = Proc::new();
    proc.listens(77);
    proc.process(10, 1, 500, (100, 0), "llama-server");
    proc.holds(10, 77);
    let mut look = proc.look(port());
    look.search();
    proc.process(10, 1, 500, (150, 0), "llama-server");
    look.again();
    proc.end(10);
    look.search();
    assert_eq!(look.seen().service, Ok(Duration::from_millis(500)));
    proc.process(12, 1, 20_000, (30, 0), "llama-server");
    proc.holds(12, 77);
    look.search();
    assert_eq!(look.seen().service, Ok(Duration::from_millis(800)));
}

#[test]
fn what_cannot_be_seen_is_unknown_with_its_reason() {
    let proc = Proc::new();
    let said = |service: Service| {
        let mut look = proc.look(service);
        look.search();
        look.seen().service.unwrap_err()
    };
    assert!(said(port()).contains("no socket listens on port 8000"));
    proc.listens(77);
    proc.process(10, 1, 500, (100, 0), "vllm");
    assert!(said(port()).contains("another user"));
    proc.process(30, 1, 500, (100, 0), "docker-proxy");
    proc.holds(30, 77);
    assert!(said(port()).contains("`docker-proxy` listens on port 8000"));
    assert_eq!(said(Service::Unknown("elsewhere")), "elsewhere");
    assert_eq!(said(Service::Launched), "it has no process");
    let empty = tempfile::tempdir().unwrap();
    let options = Options {
        proc: empty.path().to_owned(),
        ..Options::default()
    };
    let mut look = Look::new(&options, port(), OWN, clock());
    look.search();
    let seen = look.seen();
    assert_eq!(seen.service.unwrap_err(), "processes cannot be listed here");
    assert_eq!((seen.machine, seen.capacity), (None, None));
}

#[test]
fn a_process_that_is_named_must_be_there() {
    let proc = Proc::new();
    let options = Options {
        proc: proc.path().to_owned(),
        sysfs: proc.path().to_owned(),
        ..Options::default()
    };
    let missing = Surroundings::start(&options, Service::Pids(vec![OWN, 5]), clock());
    assert_eq!(missing.unwrap_err(), NoProcess(5));
}

#[test]
#[cfg(target_os = "linux")]
fn a_real_process_is_followed_until_it_ends() {
    let place = tempfile::tempdir().unwrap();
    let options = Options {
        sysfs: place.path().to_owned(),
        ..Options::default()
    };
    let mut child = std::process::Command::new("sh")
        .args(["-c", "while :; do :; done"])
        .spawn()
        .unwrap();
    let around = Surroundings::start(&options, Service::Pids(vec![child.id()]), clock()).unwrap();
    let used = || Process::read(Path::new("/proc"), child.id()).map_or(0, |child| child.own);
    let before = used();
    for _ in 0..3000 {
        if used() >= before + 10 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let seen = around.finish().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        seen.service.clone().unwrap() >= Duration::from_millis(90),
        "{seen:?}"
    );
    assert_eq!(seen.runs, Some(Runs::default()));
    assert!(seen.machine.unwrap() <= seen.capacity.unwrap(), "{seen:?}");
    assert_eq!(around.finish(), Some(seen));
}
