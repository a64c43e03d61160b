use std::time::Duration;

use ipw_core::hardware::Device;
use ipw_core::source::{Domain, Gauge, Quantity, Source};
use ipw_core::time::Timestamp;

use super::channel::Part;
use super::chip::{Chip, Feed, INTERVAL, Sample, Survey};
use crate::collectors::sysfs::tests::{Ticks, names, poll, said};
use crate::{Collector, PollError};

fn sample(cpu: f64, gpu: f64) -> Sample {
    Sample {
        elapsed: INTERVAL,
        cpu: Some(cpu),
        gpu: Some(gpu),
        ane: Some(0.0),
        ..Sample::default()
    }
}

fn seen(samples: &[Sample]) -> Survey {
    let mut look = Survey::new();
    for sample in samples {
        look.see(sample);
    }
    look
}

/// A chip that was seen as `look` and says `samples`, one after the other, then fails.
fn chip(look: Survey, samples: Vec<Sample>) -> Chip {
    let mut samples = samples.into_iter();
    let mut end = Timestamp::ZERO;
    let next = move |_: &dyn ipw_core::time::Clock| {
        let sample = samples.next().ok_or(PollError::Gone("over".to_owned()))?;
        end = end.after(sample.elapsed);
        Ok((end, sample))
    };
    let feed = Feed {
        next: Box::new(next),
        is_paced: false,
    };
    look.into_chip(Device::default(), "none", feed)
}

#[cfg(not(target_os = "macos"))]
#[test]
fn there_is_none_on_other_systems() {
    let absent = super::detect(&crate::Options::default()).err().unwrap();
    assert_eq!((&*absent.collector, absent.is_here), ("apple", false));
}

#[test]
fn parts_that_drew_something_are_sources_and_the_essential_ones_always() {
    let busy = Sample {
        dram: Some(1.0),
        system: Some(9.0),
        ane: Some(0.5),
        ..sample(2.0, 3.0)
    };
    let all = chip(seen(&[busy]), Vec::new());
    let expected = [
        "apple/cpu",
        "apple/gpu",
        "apple/ane",
        "apple/dram",
        "apple/system",
    ];
    assert_eq!(names(&all), expected);
    let domains: Vec<_> = all.sources().iter().filter_map(Source::domain).collect();
    let expected = [
        Domain::CpuPackage,
        Domain::Gpu,
        Domain::Ane,
        Domain::Dram,
        Domain::Platform,
    ];
    assert_eq!(domains, expected);

    let still = Sample {
        dram: Some(0.0),
        ..sample(2.0, 0.0)
    };
    let some = chip(seen(&[still; 25]), Vec::new());
    assert_eq!(names(&some), ["apple/cpu", "apple/gpu"]);
}

#[test]
fn a_look_is_over_when_all_but_the_neural_engine_have_moved() {
    assert!(seen(&[sample(2.0, 3.0)]).is_settled());
    assert!(!seen(&[sample(2.0, 0.0)]).is_settled());
    assert!(!seen(&[sample(0.0, 3.0); 25]).has_moved(Part::Cpu));
    assert!(seen(&[sample(2.0, 0.0), sample(0.0, 1.0)]).is_settled());
    assert!(!Survey::new().is_settled());
}

#[test]
fn a_gpu_that_rests_is_silent_until_it_works_and_then_its_noughts_count() {
    let samples = [0.0, 0.0, 4.0, 0.0].map(|gpu| sample(2.0, gpu));
    let mut chip = chip(seen(&[sample(2.0, 0.0)]), samples.to_vec());
    assert_eq!(poll(&mut chip).unwrap(), said([("apple/cpu", 2.0)]));
    assert_eq!(poll(&mut chip).unwrap(), said([("apple/cpu", 2.0)]));
    let both = said([("apple/cpu", 2.0), ("apple/gpu", 4.0)]);
    assert_eq!(poll(&mut chip).unwrap(), both);
    let both = said([("apple/cpu", 2.0), ("apple/gpu", 0.0)]);
    assert_eq!(poll(&mut chip).unwrap(), both);
    assert!(matches!(poll(&mut chip), Err(PollError::Gone(_))));
}

#[test]
fn a_mean_stands_for_its_own_stretch_and_never_goes_back() {
    let lengths = [100, 140, 90, 400, 0].map(Duration::from_millis);
    let samples = lengths.map(|elapsed| Sample {
        elapsed,
        system: Some(8.0),
        ..sample(2.0, 3.0)
    });
    let mut chip = chip(seen(&samples), samples.to_vec());
    let Quantity::Power { averaging, .. } = chip.sources()[0].quantity else {
        panic!("no power");
    };
    assert_eq!(averaging, INTERVAL);
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for _ in lengths {
        let mut take = |place, at: Timestamp, _| match place {
            0 => starts.push(at.before(averaging / 2).nanos() / 1_000_000),
            2 => ends.push(at.nanos() / 1_000_000),
            _ => {}
        };
        chip.poll(&Ticks::default(), &mut take).unwrap();
    }
    assert_eq!(starts, [0, 100, 240, 330, 730], "when each begins to hold");
    assert_eq!(
        ends,
        [100, 240, 330, 730, 730],
        "the machine's is of the moment"
    );
}

#[test]
fn state_comes_with_the_power_where_it_can_be() {
    let state = Sample {
        gpu_use: Some(75.0),
        gpu_clock: Some(1300.0),
        gpu_temperature: Some(55.5),
        memory_used: Some(4096.0),
        ..sample(2.0, 3.0)
    };
    let wrong = Sample {
        gpu_use: Some(140.0),
        gpu_temperature: Some(f64::NAN),
        gpu_clock: Some(-1.0),
        ..state
    };
    let mut chip = chip(seen(&[state]), vec![state, wrong]);
    let power = said([("apple/cpu", 2.0), ("apple/gpu", 3.0)]);
    let expected = said([
        ("apple/gpu/use", 75.0),
        ("apple/gpu/clock", 1300.0),
        ("apple/gpu/temperature", 55.5),
        ("apple/memory_used", 4096.0),
    ]);
    assert_eq!(poll(&mut chip).unwrap(), [&power[..], &expected].concat());
    let memory = said([("apple/memory_used", 4096.0)]);
    assert_eq!(poll(&mut chip).unwrap(), [&power[..], &memory].concat());
    let gauge = chip.sources().last().unwrap();
    assert_eq!(
        gauge.quantity,
        Quantity::Gauge {
            gauge: Gauge::MemoryUsed
        }
    );
    assert!(
        chip.sources()
            .iter()
            .all(|source| source.device.as_deref() == Some("apple/0"))
    );
}

#[test]
fn a_chip_that_sets_the_pace_is_followed() {
    let mut chip = chip(seen(&[sample(2.0, 3.0)]), Vec::new());
    let interval = |chip: &Chip, millis| chip.interval(Duration::from_millis(millis)).as_millis();
    assert_eq!((interval(&chip, 10), interval(&chip, 1000)), (100, 1000));
    let feed = Feed {
        next: Box::new(|_| Err(PollError::Gone(String::new()))),
        is_paced: true,
    };
    chip = seen(&[sample(2.0, 3.0)]).into_chip(Device::default(), "root", feed);
    assert_eq!((interval(&chip, 10), interval(&chip, 1000)), (100, 100));
    assert!(
        chip.sources()
            .iter()
            .all(|source| source.privilege == "root")
    );
}
