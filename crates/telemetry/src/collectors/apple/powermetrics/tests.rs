//! Two captures (origin stated in their files), and the ways a stream can end.

use std::io::{BufReader, Cursor};

use super::*;

const M1: &str = include_str!("m1.plist");
const M2_ULTRA: &str = include_str!("m2-ultra.plist");

fn close(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 1e-9)
}

/// A sample with these keys of its processor.
fn document(elapsed: &str, processor: &str) -> Vec<u8> {
    format!(
        "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict>{elapsed}\
         <key>processor</key><dict>{processor}</dict></dict></plist>"
    )
    .into_bytes()
}

const SECOND: &str = "<key>elapsed_ns</key><integer>1000000000</integer>";

#[test]
fn an_idle_m1_says_its_milliwatts_over_its_own_time() {
    let sample = sample(M1.as_bytes()).unwrap();
    assert_eq!(sample.elapsed, Duration::from_nanos(2_019_178_750));
    assert!(close(sample.cpu, 0.044_077_3), "{sample:?}");
    assert!(close(sample.gpu, 0.015_352_8), "{sample:?}");
    assert_eq!(
        (sample.ane, sample.dram, sample.system),
        (Some(0.0), None, None)
    );
    assert!(close(sample.gpu_use, 1.6659), "{sample:?}");
    assert!(close(sample.gpu_clock, 714.836), "{sample:?}");
}

#[test]
fn a_busy_m2_ultra_draws_seventy_watts_on_its_gpu() {
    let sample = sample(M2_ULTRA.as_bytes()).unwrap();
    assert!(close(sample.gpu, 70.9246), "{sample:?}");
    assert!(close(sample.cpu, 0.835_188), "{sample:?}");
    assert!(close(sample.gpu_clock, 1360.85), "{sample:?}");
}

/// Power × time is the energy that the same sample states, within what a whole millijoule hides.
#[test]
fn power_and_energy_of_the_captures_agree() {
    for (capture, energies) in [(M1, [89.0, 31.0]), (M2_ULTRA, [855.0, 72_607.0])] {
        let sample = sample(capture.as_bytes()).unwrap();
        for (watts, millijoules) in [sample.cpu, sample.gpu].into_iter().zip(energies) {
            let joules = watts.unwrap() * sample.elapsed.as_secs_f64();
            assert!(
                (joules * 1000.0 - millijoules).abs() < 1.0,
                "{joules} J, {millijoules} mJ"
            );
        }
    }
}

/// So `combined_power` adds nothing and is not a source.
#[test]
fn what_is_combined_is_the_sum_of_the_parts() {
    for (capture, milliwatts) in [(M1, 59.4301), (M2_ULTRA, 71_759.8)] {
        assert!(capture.contains(&format!("<real>{milliwatts}</real>")));
        let sample = sample(capture.as_bytes()).unwrap();
        let parts = [sample.cpu, sample.gpu, sample.ane];
        let sum: f64 = parts.into_iter().flatten().sum();
        assert!((sum * 1000.0 / milliwatts - 1.0).abs() < 1e-5, "{sum} W");
    }
}

#[test]
fn energy_stands_in_for_power_that_is_not_there() {
    let half = "<key>elapsed_ns</key><integer>500000000</integer>";
    let energies = "<key>cpu_energy</key><integer>640</integer>\
                    <key>dram_energy</key><real>89.5</real>";
    let sample = sample(&document(half, energies)).unwrap();
    assert!(close(sample.cpu, 1.28), "{sample:?}");
    assert!(close(sample.dram, 0.179), "{sample:?}");
    assert_eq!((sample.gpu, sample.gpu_use), (None, None));
}

#[test]
fn a_stream_is_cut_at_its_nought_bytes() {
    let stream = [M1, "\0", M2_ULTRA, "\0\n\0", M1, "\0\n"].concat();
    // A reader that gives few bytes at a time, as a pipe may.
    let mut stream = BufReader::with_capacity(7, Cursor::new(stream));
    let mut gpu = || next(&mut stream).map(|sample| sample.gpu);
    assert!(close(gpu().unwrap(), 0.015_352_8));
    assert!(close(gpu().unwrap(), 70.9246));
    assert!(close(gpu().unwrap(), 0.015_352_8));
    assert!(matches!(gpu(), Err(SampleError::Ended)));
}

#[test]
fn a_sample_that_is_cut_off_costs_itself_only() {
    let stream = [&M1[..900], "\0", M2_ULTRA, "\0", &M1[..900]].concat();
    let mut stream = Cursor::new(stream);
    assert!(matches!(next(&mut stream), Err(SampleError::Plist(_))));
    assert!(close(next(&mut stream).unwrap().gpu, 70.9246));
    assert!(matches!(next(&mut stream), Err(SampleError::Plist(_))));
    assert!(matches!(next(&mut stream), Err(SampleError::Ended)));
}

#[test]
fn nonsense_is_left_out_or_refused() {
    for elapsed in [
        "",
        "<key>elapsed_ns</key><integer>0</integer>",
        "<key>elapsed_ns</key><integer>-5</integer>",
        "<key>elapsed_ns</key><string>soon</string>",
    ] {
        let error = sample(&document(elapsed, "")).unwrap_err();
        assert!(matches!(error, SampleError::Timeless), "{elapsed}: {error}");
    }
    for power in [
        "<string>12</string>",
        "<real>nan</real>",
        "<real>inf</real>",
        "<true/>",
    ] {
        let processor = format!("<key>cpu_power</key>{power}");
        // Not every reader of property lists takes such a number.
        if let Ok(sample) = sample(&document(SECOND, &processor)) {
            assert_eq!(sample.cpu, None, "{power}");
        }
    }
    for text in ["", "no plist", "<plist><array/></plist>", "\u{1}\u{2}"] {
        assert!(sample(text.as_bytes()).is_err(), "{text:?}");
    }
}

/// `powermetrics` writes some keys of the GPU twice.
#[test]
fn keys_that_come_twice_are_no_fault() {
    let twice = M1.replace(
        "<key>gpu_energy</key><integer>31</integer>",
        "<key>idle_ratio</key><real>0.983341</real>",
    );
    assert!(close(sample(twice.as_bytes()).unwrap().gpu_use, 1.6659));
}

#[test]
fn a_stream_without_an_end_is_given_up() {
    let mut stream = BufReader::new(io::repeat(b'x'));
    assert!(matches!(next(&mut stream), Err(SampleError::Endless)));
}
