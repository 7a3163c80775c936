//! Tests the steady-state check on series whose levels are known.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use pacenote_stats::{Steadiness, SteadinessMetric, SteadyState, TaskSecond};

/// Random numbers from a seed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number from an approximately standard normal distribution.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }
}

/// A level as a function of the elapsed fraction of the task.
type Shape = fn(f64) -> f64;

/// First-order autoregressive noise.
#[derive(Clone, Copy)]
struct Noise {
    /// Standard deviation.
    deviation: f64,
    /// Fraction of the previous value that each value contains.
    correlation: f64,
}

fn noise(deviation: f64, correlation: f64) -> Noise {
    Noise { deviation, correlation }
}

/// Returns the seconds of a task without a schedule whose level follows `shape`.
fn task(count: usize, shape: Shape, noise: Noise, seed: u64) -> Vec<TaskSecond> {
    let Noise { deviation, correlation } = noise;
    let mut random = Random(seed);
    let mut noise = random.normal();
    let second = |number: usize| {
        noise = correlation * noise + (1.0 - correlation * correlation).sqrt() * random.normal();
        let level = shape(number as f64 / count as f64) * (deviation * noise).exp();
        TaskSecond {
            operations: 1000,
            weight: format!("{:.0}", 10_000.0 * level).parse().unwrap(),
            timed: 1000,
            service_ms: Some(10.0 / level),
            ..TaskSecond::default()
        }
    };
    (0..count).map(second).collect()
}

fn steadiness(seconds: &[TaskSecond]) -> Steadiness {
    Steadiness::of(seconds, 0..seconds.len(), false)
}

#[test]
fn autocorrelated_noise_is_rarely_labelled_as_a_change() {
    for count in [60, 120, 300, 600] {
        let wrong = (0..200)
            .map(|seed| steadiness(&task(count, |_| 1.0, noise(0.05, 0.6), seed)).state)
            .filter(|state| !matches!(state, SteadyState::Steady | SteadyState::Unknown))
            .count();
        assert!(wrong <= 10, "{wrong} of 200 series of {count} s are not labelled steady");
    }
}

#[test]
fn warming_slowing_and_unsteady_series_get_their_labels() {
    let shapes: [(Shape, SteadyState); 7] = [
        (|_| 1.0, SteadyState::Steady),
        (|over| 1.0 - 0.2 * (1.0 - 4.0 * over).max(0.0), SteadyState::Warming),
        (|over| 1.0 - 0.1 * over, SteadyState::Slowing),
        (|over| if over < 0.5 { 1.0 } else { 1.15 }, SteadyState::Warming),
        (|over| if over < 0.7 { 1.0 } else { 0.88 }, SteadyState::Slowing),
        (|over| if over % 0.5 < 0.25 { 1.0 } else { 0.8 }, SteadyState::NotSteady),
        // A change that is certainly real, but too small to matter.
        (|over| 1.0 - 0.02 * over, SteadyState::Steady),
    ];
    for (number, (shape, state)) in shapes.into_iter().enumerate() {
        for count in [120, 600, 5000] {
            let found = steadiness(&task(count, shape, noise(0.02, 0.3), 7));
            assert_eq!(found.state, state, "shape {number}, {count} s: {found:?}");
            assert_eq!(found.by, Some(SteadinessMetric::Throughput));
            assert_eq!(found.changes.is_empty(), state == SteadyState::Steady);
        }
    }
}

#[test]
fn short_pauses_are_not_changes() {
    let mut seconds = task(120, |_| 1.0, noise(0.02, 0.0), 1);
    for paused in [20, 21, 64, 99] {
        seconds[paused] = TaskSecond { weight: 100, service_ms: Some(300.0), ..seconds[paused] };
    }
    assert_eq!(steadiness(&seconds).state, SteadyState::Steady);
}

#[test]
fn the_change_and_when_the_task_settled_are_reported() {
    let seconds = task(200, |over| if over < 0.2 { 0.8 } else { 1.0 }, noise(0.01, 0.0), 3);
    let found = steadiness(&seconds);
    assert_eq!((found.state, found.since_s), (SteadyState::Warming, Some(40.0)));
    let change = found.changes[0];
    assert!((change.share - 0.25).abs() < 0.02 && (change.before - 8000.0).abs() < 100.0, "{change:?}");
    // With the first half as the warm-up, the rest is steady from the change on.
    let found = Steadiness::of(&seconds, 100..200, false);
    assert_eq!((found.state, found.since_s, found.changes.len()), (SteadyState::Steady, Some(40.0), 0));
    // A warm-up that is too short is detected.
    let found = Steadiness::of(&seconds, 20..200, false);
    assert_eq!((found.state, found.changes[0].from_s), (SteadyState::Warming, 40.0));
}

#[test]
fn short_sparse_and_noisy_series_are_unknown() {
    let flat = |count, deviation| task(count, |_| 1.0, noise(deviation, 0.0), 5);
    assert_eq!(steadiness(&flat(19, 0.01)).state, SteadyState::Unknown);
    assert_eq!(steadiness(&flat(20, 0.01)).state, SteadyState::Steady);
    assert_eq!(steadiness(&flat(30, 0.5)).state, SteadyState::Unknown, "the noise hides any change");
    let mut rare = flat(600, 0.01);
    for (number, second) in rare.iter_mut().enumerate() {
        *second = TaskSecond { operations: u64::from(number % 10 == 0), ..*second };
    }
    assert_eq!(steadiness(&rare).state, SteadyState::Unknown, "60 operations in ten minutes");
    assert_eq!(steadiness(&[]).state, SteadyState::Unknown);
    assert_eq!(steadiness(&vec![TaskSecond::default(); 100]).state, SteadyState::Unknown);
}

#[test]
fn with_a_schedule_only_times_are_checked() {
    let growing = |number: usize| TaskSecond {
        operations: 100,
        weight: 100,
        timed: 100,
        service_ms: Some(5.0),
        latency_ms: Some(5.0 + number as f64),
        ..TaskSecond::default()
    };
    let seconds: Vec<TaskSecond> = (0..100).map(growing).collect();
    let found = Steadiness::of(&seconds, 0..100, true);
    assert_eq!((found.state, found.by), (SteadyState::Slowing, Some(SteadinessMetric::Latency)));
    assert_eq!(Steadiness::of(&seconds, 0..100, false).state, SteadyState::Steady);
}

#[test]
fn a_task_that_waited_for_its_warm_up_is_not_steady() {
    let seconds = task(120, |_| 1.0, noise(0.01, 0.0), 3);
    let steady = Steadiness::of(&seconds, 20..120, true);
    assert_eq!((steady.state, steady.since_s), (SteadyState::Steady, Some(0.0)));
    let warming = steady.clone().with_backlog(Some(23.5));
    assert_eq!((warming.state, warming.since_s), (SteadyState::Warming, Some(23.5)));
    assert_eq!(warming.by, Some(SteadinessMetric::Latency));
    assert_eq!(steady.clone().with_backlog(None), steady, "only its latency says what the queue became");
    let short = Steadiness::of(&seconds, 0..10, true);
    assert_eq!(short.state, SteadyState::Unknown);
    let short = short.with_backlog(Some(2.0));
    assert_eq!((short.state, short.since_s), (SteadyState::Warming, None));
    // What a task does after its backlog is gone counts as before.
    let slowing = task(120, |over| if over < 0.7 { 1.0 } else { 0.88 }, noise(0.01, 0.0), 3);
    let slowing = Steadiness::of(&slowing, 0..120, true);
    let label = (slowing.state, slowing.by);
    let slowing = slowing.with_backlog(Some(2.0));
    assert_eq!((slowing.state, slowing.by), label);
}

/// Returns the label of an engine whose service time is always 5 ms, and in front of which operations wait for
/// `wait_ms` at the begin and the end of the window; the backlog of its warm-up was gone after `gone_s`.
fn behind_a_queue(wait_ms: (f64, f64), gone_s: Option<f64>) -> Steadiness {
    let mut seconds = task(120, |_| 1.0, noise(0.01, 0.0), 3);
    for (number, second) in seconds.iter_mut().enumerate() {
        let over = (number as f64 / gone_s.unwrap_or(120.0)).min(1.0);
        let wait_ms = wait_ms.0 + (wait_ms.1 - wait_ms.0) * over;
        let service_ms = second.service_ms.map(|own| own / 2.0);
        *second = TaskSecond { service_ms, latency_ms: service_ms.map(|own| own + wait_ms), ..*second };
    }
    Steadiness::of(&seconds, 0..120, true).with_backlog(gone_s)
}

#[test]
fn a_queue_that_the_warm_up_left_became_shorter_only_if_it_did() {
    for (wait_ms, gone_s, state) in [
        ((500.0, 500.0), None, SteadyState::Steady),
        // Longer, by too little to matter and by much.
        ((500.0, 510.0), None, SteadyState::Steady),
        ((500.0, 2000.0), None, SteadyState::Slowing),
        ((2000.0, 500.0), None, SteadyState::Warming),
        ((2000.0, 0.0), Some(40.0), SteadyState::Warming),
        // Gone too soon to be seen.
        ((30.0, 0.0), Some(0.4), SteadyState::Warming),
    ] {
        let found = behind_a_queue(wait_ms, gone_s);
        assert_eq!(found.state, state, "{wait_ms:?} {gone_s:?} {found:?}");
        assert_ne!(found.by, (state != SteadyState::Steady).then_some(SteadinessMetric::ServiceTime));
    }
}
