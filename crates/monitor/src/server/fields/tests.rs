use std::sync::Arc;
use std::sync::Mutex;

use ipw_core::counter::Rollover;
use ipw_core::hardware::Device;
use ipw_core::source::{Method, Role};
use ipw_core::time::Clock;
use ipw_telemetry::{Poller, Setup};
use ipw_testkit::ManualClock;
use ipw_testkit::collector::{ScriptedCollector, Values};

use super::*;

fn source(name: &str, device: Option<&str>, quantity: Quantity, method: Method) -> Source {
    Source {
        device: device.map(str::to_owned),
        ..ipw_testkit::collector::source(name, quantity, method)
    }
}

fn counter(name: &str, device: Option<&str>, domain: Domain) -> Source {
    let rollover = Rollover::Resets;
    let quantity = Quantity::Energy { domain, rollover };
    source(name, device, quantity, Method::Counter)
}

fn power(name: &str, device: Option<&str>, domain: Domain) -> Source {
    let averaging = Duration::ZERO;
    let quantity = Quantity::Power { domain, averaging };
    source(name, device, quantity, Method::Integrated)
}

fn gauge(name: &str, device: Option<&str>, gauge: Gauge) -> Source {
    source(name, device, Quantity::Gauge { gauge }, Method::Direct)
}

/// A machine whose sources yield the values of a test.
struct Stage {
    clock: Arc<ManualClock>,
    session: Session,
    pollers: Vec<Poller>,
    values: Values,
    fields: Fields,
    milliseconds: u64,
}

impl Stage {
    fn new(sources: Vec<Source>, devices: Vec<Device>) -> Self {
        let clock = Arc::new(ManualClock::default());
        let values: Values = Arc::new(Mutex::new(vec![None; sources.len()]));
        let mut scripted = ScriptedCollector::saying(sources, &values);
        scripted.devices = devices;
        let setup = Setup {
            collectors: vec![Box::new(scripted)],
            interval: Duration::from_millis(50),
            role: Role::Service,
            absent: None,
        };
        let (session, pollers) = Session::new(setup, Arc::clone(&clock) as Arc<dyn Clock>);
        Self {
            fields: Fields::new(&session),
            clock,
            session,
            pollers,
            values,
            milliseconds: 0,
        }
    }

    /// Lets 50 ms pass, after which the sources yield these values.
    fn say(&mut self, values: &[Option<f64>]) -> pb::TelemetryReading {
        self.milliseconds += 50;
        self.clock
            .set(Timestamp::from_nanos(self.milliseconds * 1_000_000));
        *self.values.lock().unwrap() = values.to_vec();
        for poller in &mut self.pollers {
            poller.poll();
        }
        let (accounts, polled) = (self.session.accounts(), self.session.polled());
        self.fields.message(&accounts, &polled, self.clock.now())
    }
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-6
}

#[test]
fn boards_are_added_and_what_is_inside_or_beside_them_is_not() {
    let board = |name: &str| Device {
        id: name.to_owned(),
        memory_total_mib: Some(1000.0),
        ..Device::default()
    };
    let (first, second) = (Some("nvml/0"), Some("nvml/1"));
    let mut stage = Stage::new(
        vec![
            counter("nvml/0", first, Domain::Gpu),
            power("nvml/0/power", first, Domain::Gpu),
            power("nvml/0/memory_power", first, Domain::GpuMemory),
            gauge("nvml/0/temperature", first, Gauge::GpuTemperature),
            counter("nvml/1", second, Domain::Gpu),
            gauge("nvml/1/temperature", second, Gauge::GpuTemperature),
            counter("rapl/package-0", None, Domain::CpuPackage),
            counter("rapl/package-0/core", None, Domain::CpuCore),
        ],
        vec![board("nvml/0"), board("nvml/1")],
    );
    let say = |step: f64| {
        let all = [
            100.0 + 10.0 * step,
            201.0,
            55.0,
            40.0,
            7.0 + 5.0 * step,
            60.0,
            3.0 + step,
            1.0 + step,
        ];
        all.map(Some)
    };
    let first = stage.say(&say(0.0));
    assert!(near(first.energy_joules, 0.0) && near(first.cpu_energy_joules, 0.0));
    assert!(
        near(first.power_watts, ABSENT),
        "the second board has no power yet"
    );
    let second = stage.say(&say(1.0));
    assert!(near(second.energy_joules, 15.0), "{second:?}");
    assert!(near(second.power_watts, 201.0 + 100.0), "{second:?}");
    assert!(near(second.temperature_celsius, 50.0));
    assert!(near(second.cpu_energy_joules, 1.0));
    assert!(near(second.cpu_power_watts, 20.0));
    assert!(near(second.gpu_memory_total_mb, 2000.0));
    for absent in [
        second.ane_energy_joules,
        second.gpu_memory_usage_mb,
        second.cpu_memory_usage_mb,
        second.gpu_tensor_core_utilization_pct,
    ] {
        assert!(near(absent, ABSENT), "{second:?}");
    }
}

#[test]
fn an_estimate_is_not_available_to_those_who_cannot_tell() {
    let estimate = Source {
        method: Method::Estimated,
        ..counter("estimate/cpu", None, Domain::CpuPackage)
    };
    let mut stage = Stage::new(vec![estimate], Vec::new());
    stage.say(&[Some(1.0)]);
    let message = stage.say(&[Some(2.0)]);
    assert!(near(message.cpu_energy_joules, ABSENT) && near(message.cpu_power_watts, ABSENT));
}

#[test]
fn a_sum_that_lacks_a_part_is_not_known_and_comes_back_with_it() {
    let mut stage = Stage::new(
        vec![
            counter("nvml/0", Some("nvml/0"), Domain::Gpu),
            counter("nvml/1", Some("nvml/1"), Domain::Gpu),
        ],
        Vec::new(),
    );
    stage.say(&[Some(0.0), Some(0.0)]);
    let both = stage.say(&[Some(1.0), Some(1.0)]);
    assert!(near(both.power_watts, 40.0), "{both:?}");
    let mut alone = both;
    for step in 0..30_u32 {
        alone = stage.say(&[Some(2.0 + f64::from(step)), None]);
    }
    assert!(near(alone.power_watts, ABSENT) && near(alone.energy_joules, ABSENT));
    stage.say(&[Some(40.0), Some(9.0)]);
    let again = stage.say(&[Some(41.0), Some(10.0)]);
    assert!(near(again.power_watts, 40.0), "{again:?}");
    assert!(
        again.energy_joules > 2.0 && again.energy_joules < 50.0,
        "what was not seen is not in it: {again:?}"
    );
}

#[test]
fn a_counter_that_stands_still_is_absent_or_leaves_its_place_to_the_power() {
    let mut stage = Stage::new(
        vec![
            counter("amd/0", Some("amd/0"), Domain::Gpu),
            power("amd/0/power", Some("amd/0"), Domain::Gpu),
            counter("rapl/package-0", None, Domain::CpuPackage),
        ],
        Vec::new(),
    );
    let mut message = pb::TelemetryReading::default();
    for _ in 0..60 {
        message = stage.say(&[Some(5.0), Some(100.0), Some(7.0)]);
    }
    assert!(near(message.power_watts, 100.0));
    assert!(message.energy_joules > 200.0, "{message:?}");
    assert!(near(message.cpu_energy_joules, ABSENT), "{message:?}");
}

#[test]
fn the_input_of_a_board_is_the_whole_of_it() {
    let mut stage = Stage::new(
        vec![
            power("jetson/VDD_IN", None, Domain::Soc),
            power("jetson/VDD_GPU_SOC", None, Domain::Gpu),
            power("jetson/VDD_CPU_CV", None, Domain::CpuPackage),
        ],
        Vec::new(),
    );
    stage.say(&[Some(20.0), Some(5.0), Some(4.0)]);
    let message = stage.say(&[Some(20.0), Some(5.0), Some(4.0)]);
    assert!(near(message.power_watts, 20.0) && near(message.energy_joules, 1.0));
    assert!(
        near(message.cpu_power_watts, ABSENT),
        "it is in the whole: {message:?}"
    );
}

#[test]
fn after_a_rest_there_is_no_power_of_before() {
    let mut stage = Stage::new(
        vec![counter("rapl/package-0", None, Domain::CpuPackage)],
        Vec::new(),
    );
    stage.say(&[Some(0.0)]);
    assert!(near(stage.say(&[Some(1.0)]).cpu_power_watts, 20.0));
    stage.milliseconds += 60_000;
    let first = stage.say(&[Some(100.0)]);
    assert!(near(first.cpu_power_watts, ABSENT), "{first:?}");
    assert!(near(stage.say(&[Some(102.0)]).cpu_power_watts, 40.0));
}
