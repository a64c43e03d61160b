use proptest::prelude::*;

use super::*;

/// Random numbers from a fixed seed.
struct Random(ipw_core::random::Random);

impl Random {
    /// Uniform in (0, 1].
    fn uniform(&mut self) -> f64 {
        real((self.0.number() >> 12) + 1) / real(1 << 52)
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }
}

/// Queries at `rate` to a service with `workers`, each taking a second on average, from an empty
/// queue. The first tenth is the ramp.
fn service(seed: u64, rate: f64, workers: usize, seconds: f64) -> Vec<(f64, f64)> {
    let mut random = Random(ipw_core::random::Random::new(seed));
    let mut free = vec![0.0_f64; workers];
    let (mut now, mut spans) = (0.0, Vec::new());
    while now < seconds {
        now += random.exponential(1.0 / rate);
        let next = (0..workers)
            .min_by(|left, right| free[*left].total_cmp(&free[*right]))
            .unwrap();
        let end = free[next].max(now) + random.exponential(1.0);
        free[next] = end;
        spans.push((now, end));
    }
    spans
}

/// How many of a hundred such services are found stable, and how many growing.
fn verdicts(load: f64, workers: u32, seconds: f64) -> (usize, usize) {
    let found: Vec<TrendVerdict> = (0..100)
        .map(|seed| {
            let spans = service(seed, load * f64::from(workers), workers as usize, seconds);
            queue_trend(&spans, seconds * 0.1, seconds).verdict
        })
        .collect();
    let count = |wanted| found.iter().filter(|verdict| **verdict == wanted).count();
    (count(TrendVerdict::Stable), count(TrendVerdict::Growing))
}

#[test]
fn a_service_with_room_is_stable() {
    for load in [0.3, 0.5, 0.7] {
        let (stable, growing) = verdicts(load, 8, 600.0);
        assert!(stable >= 80 && growing <= 3, "{load}: {stable} {growing}");
    }
}

#[test]
fn an_overloaded_service_grows() {
    for load in [1.2, 1.5, 3.0] {
        let (stable, growing) = verdicts(load, 8, 400.0);
        assert!(stable == 0 && growing >= 96, "{load}: {stable} {growing}");
    }
    let (stable, _) = verdicts(1.05, 8, 400.0);
    assert!(stable <= 3, "{stable}");
    let (stable, growing) = verdicts(2.0, 1, 400.0);
    assert!(stable == 0 && growing >= 96, "{stable} {growing}");
}

/// A queue near saturation wanders slowly, which is not growth.
#[test]
fn near_saturation_a_walk_is_no_growth() {
    for (load, workers) in [(0.8, 1), (0.9, 1), (0.95, 8)] {
        let (_, growing) = verdicts(load, workers, 400.0);
        assert!(growing <= 5, "{load}: {growing}");
    }
}

#[test]
fn too_few_queries_cannot_tell() {
    let few: Vec<(f64, f64)> = (0..20).map(|start| (f64::from(start), 30.0)).collect();
    for (from, until) in [(0.0, 20.0), (20.0, 0.0), (f64::NAN, 1.0), (0.0, 0.0)] {
        let trend = queue_trend(&few, from, until);
        assert_eq!(
            (trend.verdict, trend.per_second),
            (TrendVerdict::CannotTell, None)
        );
        let trend = drift(&few, from, until, Allowance::default());
        assert_eq!(trend.verdict, TrendVerdict::CannotTell);
    }
}

#[test]
fn a_constant_is_stable_and_a_line_grows() {
    let samples = |slope: f64| -> Vec<(f64, f64)> {
        (0..320)
            .map(|step| (f64::from(step), 2.0 + slope * f64::from(step)))
            .collect()
    };
    let trend = |slope| drift(&samples(slope), 0.0, 320.0, Allowance::default());
    let constant = trend(0.0);
    assert_eq!(
        (constant.verdict, constant.blocks),
        (TrendVerdict::Stable, 32)
    );
    let line = trend(0.1);
    assert_eq!(line.verdict, TrendVerdict::Growing);
    assert!((line.per_second.unwrap().slope - 0.1).abs() < 1e-9);
    assert_eq!(trend(-0.005).verdict, TrendVerdict::Stable);
    // Growth of 2.5 % over the window is certain but does not matter.
    let slight = trend(0.000_2);
    assert!(slight.per_second.unwrap().low > 0.0);
    assert_eq!(slight.verdict, TrendVerdict::Stable);
}

#[test]
fn independent_noise_is_stable_and_does_not_hide_a_trend() {
    let mut stable = 0;
    for seed in 0..50 {
        let mut random = Random(ipw_core::random::Random::new(seed));
        let mut samples = |slope: f64| -> Vec<(f64, f64)> {
            (0..1000)
                .map(|step| {
                    let instant = f64::from(step);
                    (instant, 1.0 + slope * instant + random.exponential(1.0))
                })
                .collect()
        };
        let verdict =
            |samples: &[(f64, f64)]| drift(samples, 0.0, 1000.0, Allowance::default()).verdict;
        let flat = verdict(&samples(0.0));
        assert_ne!(flat, TrendVerdict::Growing, "seed {seed}");
        stable += u32::from(flat == TrendVerdict::Stable);
        assert_eq!(
            verdict(&samples(0.01)),
            TrendVerdict::Growing,
            "seed {seed}"
        );
    }
    assert!(stable >= 45, "{stable}");
}

#[test]
fn one_wild_point_does_not_move_the_slope() {
    let mut points: Vec<(f64, f64)> = (0..20)
        .map(|x| (f64::from(x), f64::from(x) * 2.0))
        .collect();
    points[3].1 = 1e6;
    let found = theil_sen(&points).unwrap();
    assert!((found.slope - 2.0).abs() < 1e-9, "{found:?}");
    assert_eq!(theil_sen(&[(1.0, 1.0)]), None);
    assert_eq!(theil_sen(&[(1.0, 1.0), (1.0, 2.0)]), None);
}

proptest! {
    #[test]
    fn a_slope_lies_in_its_interval_and_turns_with_its_points(
        points in prop::collection::vec((-1e3..1e3, -1e3..1e3), 2..40),
    ) {
        let points: Vec<(f64, f64)> = points;
        let turned: Vec<(f64, f64)> = points.iter().map(|(x, y)| (*x, -y)).collect();
        if let Some(found) = theil_sen(&points) {
            prop_assert!(found.low <= found.slope && found.slope <= found.high);
            let mirrored = theil_sen(&turned).unwrap();
            prop_assert!((mirrored.slope + found.slope).abs() <= 1e-9 * found.slope.abs().max(1.0));
        }
    }

    #[test]
    fn no_numbers_break_it(
        samples in prop::collection::vec((any::<f64>(), any::<f64>()), 0..100),
        window in any::<(f64, f64)>(),
    ) {
        let _ = drift(&samples, window.0, window.1, Allowance::default());
        let _ = queue_trend(&samples, window.0, window.1);
        let _ = theil_sen(&samples);
    }
}
