//! Are the clocks to be trusted? Judged from readings of three of them, a few times a second.
//!
//! The race is timed with the monotonic clock, which nobody can set. A step of the wall clock shows as a change of the
//! difference between the two (slewing by NTP changes both alike), a machine that was suspended as a change between the
//! monotonic clock, which stood still, and the one that did not.

use std::fs;
use std::time::Instant;

use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};
use serde::Serialize;

/// Smaller differences are no steps: a reading may be interrupted between its clocks.
const SMALLEST_NS: i64 = 100_000_000;

/// Steps that are told; there may be one every second.
const MOST_STEPS: usize = 32;

/// How often a reading that took long is taken again.
const PATIENCE: u32 = 10;

/// Readings of which the cost of one is told.
const TRIES: u32 = 1000;

const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// What the clocks said at one moment, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Since some moment of the past; stands still while the machine is suspended.
    pub monotonic: i64,
    /// Since 1970.
    pub realtime: i64,
    /// As the monotonic one, but never stands still.
    pub boottime: i64,
}

/// A jump of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClockStep {
    /// When it was seen, seconds since the driver started.
    pub at_s: f64,
    /// Forward, or backward if negative; seconds.
    pub by_s: f64,
}

/// What is known of the clocks when the race is over.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ClockHealth {
    /// What the system counted time with, at the beginning and, if that changed, at the end; empty when unknown.
    pub sources: Vec<String>,
    /// The smallest step of the monotonic clock as the system states it.
    pub resolution_ns: u64,
    /// What one reading costs: the mean of a thousand, before the race.
    pub read_ns: f64,
    /// How many of those were before their predecessor.
    pub backward: u32,
    /// Jumps of the wall clock of 0.1 s and more; the first 32.
    pub steps: Vec<ClockStep>,
    /// How long the machine was suspended.
    pub suspended_s: f64,
}

/// Watches the clocks while the race runs.
#[derive(Debug)]
pub struct ClockWatch {
    began: Reading,
    /// After the last step.
    known: Reading,
    health: ClockHealth,
}

impl Reading {
    /// Now. A thread that is interrupted between the clocks would see a step; it tries again.
    pub fn take() -> Self {
        let mut reading = Self::at_once();
        for _ in 0..PATIENCE {
            let (again, later) = (Self::at_once(), reading.monotonic);
            if again.monotonic - later < SMALLEST_NS / 100 {
                break;
            }
            reading = again;
        }
        reading
    }

    fn at_once() -> Self {
        Self {
            monotonic: ns(clock_gettime(ClockId::Monotonic)),
            realtime: ns(clock_gettime(ClockId::Realtime)),
            boottime: ns(clock_gettime(ClockId::Boottime)),
        }
    }
}

impl ClockWatch {
    /// Begins, with what one can know of the clocks beforehand.
    pub fn start() -> Self {
        let sources = source().into_iter().collect();
        let (read_ns, backward) = cost();
        let resolution_ns = u64::try_from(ns(clock_getres(ClockId::Monotonic))).unwrap_or(0);
        let health = ClockHealth { sources, resolution_ns, read_ns, backward, ..ClockHealth::default() };
        Self::from(Reading::take(), health)
    }

    fn from(began: Reading, health: ClockHealth) -> Self {
        Self { began, known: began, health }
    }

    /// Compares a reading with those before.
    pub fn note(&mut self, now: Reading) {
        let passed = now.monotonic - self.known.monotonic;
        let suspended = now.boottime - self.known.boottime - passed;
        // While the machine is suspended the wall clock rightly goes on.
        let stepped = now.realtime - self.known.realtime - passed - suspended.max(0);
        if suspended >= SMALLEST_NS {
            self.health.suspended_s += seconds(suspended);
        }
        if stepped.abs() >= SMALLEST_NS && self.health.steps.len() < MOST_STEPS {
            let at_s = seconds(now.monotonic - self.began.monotonic);
            self.health.steps.push(ClockStep { at_s, by_s: seconds(stepped) });
        }
        // Small differences stay, and make a step when they add up to one.
        if suspended >= SMALLEST_NS || stepped.abs() >= SMALLEST_NS {
            self.known = now;
        }
    }

    /// Ends.
    pub fn end(mut self) -> ClockHealth {
        self.note(Reading::take());
        self.ended_with(source())
    }

    fn ended_with(mut self, source: Option<String>) -> ClockHealth {
        self.health.sources.extend(source);
        self.health.sources.dedup();
        self.health
    }
}

fn source() -> Option<String> {
    let name = fs::read_to_string(SOURCE).ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// What a reading costs in nanoseconds, and how many were before their predecessor.
fn cost() -> (f64, u32) {
    let began = Instant::now();
    let (mut last, mut backward) = (clock_gettime(ClockId::Monotonic), 0);
    for _ in 1..TRIES {
        let now = clock_gettime(ClockId::Monotonic);
        backward += u32::from(ns(now) < ns(last));
        last = now;
    }
    (began.elapsed().as_nanos() as f64 / f64::from(TRIES), backward)
}

fn ns(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// So long after a beginning, with a wall clock that is so much off and so much sleep before.
    fn reading(after_ms: i64, off_ms: i64, slept_ms: i64) -> Reading {
        let (monotonic, slept) = ((5_000 + after_ms) * MS, slept_ms * MS);
        Reading {
            monotonic,
            realtime: 1_700_000_000_000 * MS + monotonic + slept + off_ms * MS,
            boottime: monotonic + slept + 77 * MS,
        }
    }

    fn watch(readings: &[Reading]) -> ClockHealth {
        let mut watch = ClockWatch::from(reading(0, 0, 0), ClockHealth::default());
        for now in readings {
            watch.note(*now);
        }
        watch.ended_with(None)
    }

    fn steps(readings: &[Reading]) -> Vec<(f64, f64)> {
        watch(readings).steps.iter().map(|step| (step.at_s, step.by_s)).collect()
    }

    #[test]
    fn clocks_that_agree_have_no_steps_however_long_it_takes() {
        let calm = watch(&[reading(500, 0, 0), reading(86_400_000, 99, 0), reading(86_400_500, -99, 0)]);
        assert_eq!((calm.steps, calm.suspended_s), (vec![], 0.0));
    }

    #[test]
    fn a_wall_clock_that_is_set_is_told_with_when_and_how_much() {
        let set = [reading(500, 0, 0), reading(1000, 3_600_000, 0), reading(1500, 3_600_000, 0)];
        assert_eq!(steps(&set), [(1.0, 3600.0)]);
        let back = [reading(500, -250, 0), reading(1000, -250, 0), reading(2000, 0, 0)];
        assert_eq!(steps(&back), [(0.5, -0.25), (2.0, 0.25)]);
    }

    #[test]
    fn small_differences_that_add_up_are_a_step() {
        let drifting: Vec<Reading> = (1..=25).map(|number| reading(number * 500, number * 10, 0)).collect();
        assert_eq!(steps(&drifting), [(5.0, 0.1), (10.0, 0.1)]);
    }

    #[test]
    fn sleep_is_told_and_is_no_step_of_the_wall_clock() {
        let slept = watch(&[reading(500, 0, 0), reading(1000, 0, 60_000), reading(1500, 0, 90_000)]);
        assert_eq!((slept.steps, slept.suspended_s), (vec![], 90.0));
        let both = watch(&[reading(500, 2_000, 60_000)]);
        assert_eq!((both.steps[0].by_s, both.suspended_s), (2.0, 60.0));
    }

    #[test]
    fn a_clock_that_is_set_for_ever_fills_no_memory() {
        let restless: Vec<Reading> =
            (0..1000).map(|number| reading(number * 500, (number % 2) * 1000, 0)).collect();
        assert_eq!(steps(&restless).len(), MOST_STEPS);
    }

    #[test]
    fn the_clocks_of_this_machine_are_described() {
        let mut watch = ClockWatch::start();
        watch.note(Reading::take());
        let health = watch.end();
        assert!(health.read_ns > 0.0 && health.resolution_ns > 0, "{health:?}");
        assert_eq!(health.backward, 0);
    }

    #[test]
    fn a_source_that_was_changed_meanwhile_is_told_with_the_first() {
        let with = |end: &str| {
            let health = ClockHealth { sources: vec!["tsc".into()], ..ClockHealth::default() };
            ClockWatch::from(reading(0, 0, 0), health).ended_with(Some(end.into())).sources
        };
        assert_eq!((with("tsc"), with("hpet")), (vec!["tsc".into()], vec!["tsc".to_owned(), "hpet".into()]));
    }
}
