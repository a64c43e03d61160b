//! What `ipw monitor` costs, by how many listen: the CPU time of its process beside wall time.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use ipw_core::params::Params;
use ipw_core::time::Clock;
use ipw_monitor::pb::StreamRequest;
use ipw_monitor::pb::energy_monitor_client::EnergyMonitorClient;
use ipw_monitor::remote::{self, RemoteSpec};
use ipw_runner::SystemClock;
use ipw_telemetry::Collector as _;
use ipw_testkit::relay::Relay;
use ipw_testkit::sensor::{Defects, PowerTrace, SimulatedRapl};
use tokio_stream::StreamExt as _;
use tonic::transport::Endpoint;

use super::spread::Spread;
use super::table::Table;
use super::{Effort, ipw, say_round};

const PACKAGES: u32 = 8;
/// From the first connection to a steady state.
const SETTLING: Duration = Duration::from_secs(1);

pub(crate) fn run(effort: Effort) -> anyhow::Result<String> {
    let ipw = ipw::build()?;
    let length = Duration::from_secs(effort.choose(2, 20));
    let rounds = effort.choose(1, 3);
    let mut table = Table::new(
        "`ipw monitor` with eight RAPL sources at 50 ms (budget: 50 subscribers under 2 % of one core)",
        [
            "subscribers, each with all readings",
            "CPU of the process, % of one core",
            "messages per second and subscriber",
        ],
    );
    for subscribers in [0, 1, 50] {
        let mut measured = Vec::new();
        for round in 0..rounds {
            say_round("monitor", round, rounds);
            measured.push(measure(&ipw, subscribers, length)?);
        }
        let messages = match subscribers {
            0 => String::new(),
            _ => format!("{:.1}", Spread::over(&measured, |one| one.messages)),
        };
        table.row([
            subscribers.to_string(),
            format!("{:.2}", Spread::over(&measured, |one| one.share * 100.0)),
            messages,
        ]);
    }
    Ok(format!("{table}\n{}", alignment(&ipw, effort)?))
}

/// Ways there and back, in milliseconds.
const WAYS: [(u64, u64); 6] = [(0, 0), (1, 1), (1, 9), (9, 1), (20, 4), (50, 50)];

/// How far off the clock of a monitor is taken to be: the truth is known, as both have the same.
fn alignment(ipw: &Path, effort: Effort) -> anyhow::Result<String> {
    let length = Duration::from_secs(effort.choose(2, 20));
    let mut table = Table::new(
        "The monitor's clock, as a reader has it after listening for a while (truth: the same clock)",
        [
            "way there and back, ms",
            "off, ms",
            "bound, ms",
            "off ÷ bound",
            "drift ± bound, ppm",
        ],
    );
    for (there, back) in WAYS {
        let ms = Duration::from_millis;
        let root = tempfile::tempdir()?;
        let trace = PowerTrace::new(&[(1.0, 20.0)]);
        SimulatedRapl::create(root.path(), 0, trace, Defects::default())?;
        let monitoring = Monitoring::start(ipw, root.path())?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let address = monitoring.url.trim_start_matches("http://").parse()?;
        let relay = Relay::start(address, ms(there), ms(back), &clock)?;
        let spec = RemoteSpec::parse(&format!("grpc://{}", relay.address()), &Params::default())?;
        let mut remote = remote::connect(&spec, &clock)?;
        std::thread::sleep(length);
        remote.poll(&*clock, &mut |_, _, _| {})?;
        let aligned = remote.aligned().context("it has no clock")?;
        let truth = -i64::try_from(clock.anchor().monotonic_nanos)?;
        let off = Duration::from_nanos((aligned.shift_nanos - truth).unsigned_abs());
        let share = off.as_secs_f64() / aligned.bound.as_secs_f64();
        ensure!(
            share <= 1.0,
            "off by {off:?}, more than {:?}",
            aligned.bound
        );
        let drift = aligned.drift_ppm.zip(aligned.drift_bound_ppm);
        table.row([
            format!("{there} + {back}"),
            format!("{:.3}", off.as_secs_f64() * 1e3),
            format!("{:.3}", aligned.bound.as_secs_f64() * 1e3),
            format!("{share:.2}"),
            drift.map_or(String::new(), |(drift, bound)| {
                format!("{drift:.1} ± {bound:.1}")
            }),
        ]);
    }
    Ok(table.to_string())
}

struct Measured {
    /// CPU time by wall time.
    share: f64,
    /// Messages per second and subscriber.
    messages: f64,
}

fn measure(ipw: &Path, subscribers: u32, length: Duration) -> anyhow::Result<Measured> {
    let root = tempfile::tempdir()?;
    let trace = PowerTrace::new(&[(0.5, 20.0), (0.5, 60.0)]);
    let sensors = (0..PACKAGES)
        .map(|number| SimulatedRapl::create(root.path(), number, trace.clone(), Defects::default()))
        .collect::<std::io::Result<Vec<_>>>()?;
    let clock = SystemClock::start();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for sensor in &sensors {
                    let _ = sensor.update(clock.now().seconds());
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let measured = Monitoring::start(ipw, root.path())
            .and_then(|monitoring| monitoring.measure(subscribers, length, &clock));
        is_over.store(true, Ordering::Relaxed);
        measured
    })
}

/// The binary, until it is dropped.
struct Monitoring {
    child: Child,
    url: String,
}

impl Monitoring {
    fn start(ipw: &Path, sysfs: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(ipw)
            .args(["monitor", "--port", "0"])
            .env_clear()
            .env("IPW_SYSFS_ROOT", sysfs)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("starting `ipw monitor`")?;
        let mut ready = String::new();
        let out = child.stdout.take().context("no standard output")?;
        BufReader::new(out).read_line(&mut ready)?;
        let address = ready.trim().strip_prefix("listening on grpc://");
        let url = format!("http://{}", address.context("`ipw monitor` did not start")?);
        Ok(Self { child, url })
    }

    fn measure(
        &self,
        subscribers: u32,
        length: Duration,
        clock: &SystemClock,
    ) -> anyhow::Result<Measured> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let count = Arc::new(AtomicU64::new(0));
        runtime.block_on(async {
            for _ in 0..subscribers {
                let channel = Endpoint::from_shared(self.url.clone())?.connect().await?;
                let asked = StreamRequest {
                    with_readings: true,
                };
                let mut client = EnergyMonitorClient::new(channel);
                let mut stream = client.stream_telemetry(asked).await?.into_inner();
                let count = Arc::clone(&count);
                tokio::spawn(async move {
                    while let Some(Ok(_)) = stream.next().await {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            tokio::time::sleep(SETTLING).await;
            let (begun, spent) = (clock.now(), self.cpu_time()?);
            let heard = count.load(Ordering::Relaxed);
            tokio::time::sleep(length).await;
            let spent = self.cpu_time()?.saturating_sub(spent);
            let seconds = clock.now().since(begun).as_secs_f64();
            let heard = count.load(Ordering::Relaxed) - heard;
            let heard = u32::try_from(heard).context("too many messages to count")?;
            ensure!(subscribers == 0 || heard > 0, "no subscriber got a message");
            Ok(Measured {
                share: spent.as_secs_f64() / seconds,
                messages: f64::from(heard) / f64::from(subscribers.max(1)) / seconds,
            })
        })
    }

    /// What all of its threads have computed, from the scheduler's own books.
    fn cpu_time(&self) -> anyhow::Result<Duration> {
        let mut nanos = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let books = std::fs::read_to_string(task?.path().join("schedstat"))?;
            let own = books.split_whitespace().next().context("no books")?;
            nanos += own.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanos))
    }
}

impl Drop for Monitoring {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
