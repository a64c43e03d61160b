//! The PMU of these tests is the kernel's own software clock: the way through `perf_event_open` is
//! the real one, on machines that have no RAPL.

use std::thread::sleep;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::super::tests::{Tree, names, poll, skipped, without_rights};
use super::*;

/// The collector, unless the machine does not let us open perf events.
fn detect_or_skip(tree: &Tree) -> Option<Box<dyn Collector>> {
    match detect(tree.path()) {
        Ok(collector) => Some(collector),
        Err(AccessError::Denied(why)) => {
            skipped(&why);
            None
        }
        // No such system call: a sandbox.
        Err(AccessError::Unusable(why)) if why.contains("os error 38") => {
            skipped(&why);
            None
        }
        Err(closed) => panic!("{closed:?}"),
    }
}

fn seconds() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::try_from(now).unwrap().as_secs_f64()
}

#[test]
fn an_event_counts_in_its_unit() {
    let tree = Tree::new();
    tree.pmu();
    let Some(mut collector) = detect_or_skip(&tree) else {
        return;
    };
    assert_eq!(names(collector.as_ref()), ["rapl/package-0"]);
    let start = (seconds(), poll(collector.as_mut()).unwrap()[0].1);
    sleep(Duration::from_millis(200));
    let end = (seconds(), poll(collector.as_mut()).unwrap()[0].1);
    let power = (end.1 - start.1) / (end.0 - start.0);
    assert!((0.2..5.0).contains(&power), "{power} W");
}

#[test]
fn bogus_and_foreign_events_are_skipped() {
    let tree = Tree::new();
    tree.pmu();
    tree.event("energy-ram", "event=0x00");
    // No software event has this number.
    tree.event("energy-cores", "event=0xee");
    tree.event("energy-gpu", "config1=0x1");
    tree.event("energy-psys", "event=0x00");
    tree.write("devices/power/events/energy-psys.scale", "nan\n");
    let Some(collector) = detect_or_skip(&tree) else {
        return;
    };
    let expected = ["rapl/package-0", "rapl/package-0/dram"];
    assert_eq!(names(collector.as_ref()), expected);
}

#[test]
fn every_package_of_the_mask_is_opened() {
    let tree = Tree::new();
    tree.pmu();
    tree.event("energy-psys", "event=0x00");
    // The same CPU twice stands for two packages.
    tree.write("devices/power/cpumask", "0,0\n");
    let Some(mut collector) = detect_or_skip(&tree) else {
        return;
    };
    let expected = [
        "rapl/package-0",
        "rapl/package-1",
        "rapl/psys",
        "rapl/psys-1",
    ];
    assert_eq!(names(collector.as_ref()), expected);
    assert_eq!(poll(collector.as_mut()).unwrap().len(), 4);
}

#[test]
fn a_package_that_does_not_open_everywhere_does_not_count() {
    let tree = Tree::new();
    tree.pmu();
    // No machine has that many CPUs.
    tree.write("devices/power/cpumask", "0,65535\n");
    match detect(tree.path()).err().unwrap() {
        AccessError::Unusable(words) => assert!(words.contains("no event"), "{words}"),
        closed => skipped(&format!("{closed:?}")),
    }
}

#[test]
fn without_rights_it_is_denied() {
    let tree = Tree::new();
    tree.pmu();
    without_rights(|| match detect(tree.path()) {
        Err(AccessError::Denied(words)) => assert!(words.contains("energy-pkg"), "{words}"),
        Err(closed) => skipped(&format!("{closed:?}")),
        Ok(_) => skipped("kernel.perf_event_paranoid lets all users open perf events"),
    });
}

#[test]
fn a_tree_without_the_pmu_is_missing_it_and_a_garbled_one_is_unusable() {
    let tree = Tree::new();
    assert_eq!(detect(tree.path()).err(), Some(AccessError::Missing));
    tree.pmu();
    for (file, content) in [("type", "power"), ("cpumask", ""), ("cpumask", "0-")] {
        tree.pmu();
        tree.write(&format!("devices/power/{file}"), content);
        let closed = detect(tree.path()).err();
        assert!(
            matches!(closed, Some(AccessError::Unusable(_))),
            "{closed:?}"
        );
    }
}

#[test]
fn masks_are_lists_of_ranges() {
    assert_eq!(cpus("0"), Some(vec![0]));
    assert_eq!(cpus("0,18-20"), Some(vec![0, 18, 19, 20]));
    for garbled in ["", "a", "1,", "3-1", "0-x", "-1"] {
        assert_eq!(cpus(garbled), None, "{garbled:?}");
    }
}

#[test]
fn an_event_is_read_as_the_kernel_writes_it() {
    let tree = Tree::new();
    tree.event("energy-pkg", "event=0x02");
    let scale = "2.3283064365386962890625e-10\n";
    tree.write("devices/power/events/energy-pkg.scale", scale);
    let kind = Kind::read(&tree.path().join("devices/power/events/energy-pkg"));
    let expected = Kind {
        config: 2,
        scale: 0.5_f64.powi(32),
    };
    assert_eq!(kind, Some(expected));
}
