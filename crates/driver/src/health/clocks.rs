//! Checks whether the clocks can be trusted and whether the driver runs, by reading three clocks many times per second.
//!
//! The race is timed with the monotonic clock, which cannot be set. A step of the wall clock changes the difference
//! between the two (slewing by NTP affects both). A suspended machine changes the difference between the monotonic
//! clock, which stops during suspension, and the boot-time clock, which continues. If two readings are too far apart,
//! the driver did not run in between: its process was stopped, its virtual machine was paused, or it had no core. The
//! kernel counts the last of these, which the workers measure for themselves, so it is subtracted from short pauses.

use std::fs;
use std::time::Duration;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};
use serde::Serialize;

use crate::health::gaps::ClockGap;
use crate::health::pauses::{NoticedPause, PauseLog, PausedSecond, StolenTime};
use crate::health::run_queue::RunQueueStats;

/// Smallest difference that counts as a step, in nanoseconds. Smaller ones may occur because a thread was interrupted
/// while it read the clocks.
const MIN_STEP_NS: i64 = 100_000_000;

/// Maximum number of recorded steps, because a faulty clock may step every second.
const MAX_STEPS: usize = 32;

/// Mean interval at which the clocks are to be read.
const READING_INTERVAL: Duration = Duration::from_millis(20);

/// Shortest interval, in nanoseconds. The longest one is 30 ms. They are random: equal ones would meet all pauses that
/// come again at such an interval, or none; those of a sequence in which each one determines the next can miss a third.
const MIN_INTERVAL_NS: u64 = 10_000_000;

/// Range of the intervals in nanoseconds.
const INTERVAL_RANGE_NS: u64 = 20_000_000;

/// Smallest time between two readings that is a gap, in nanoseconds.
const MIN_GAP_NS: i64 = 500_000_000;

/// Smallest delay of a reading that is a pause, in nanoseconds, without the time in which the thread waited for a core.
const MIN_PAUSE_NS: i64 = 1_000_000;

/// Smallest delay of a reading that is a pause, in nanoseconds, if the kernel does not count the waits for a core.
const MIN_UNEXPLAINED_NS: i64 = 100_000_000;

/// Maximum number of repetitions of an interrupted reading.
const MAX_RETRIES: u32 = 10;

/// Number of groups of readings whose cost is measured, and number of readings in each.
const COST_GROUPS: u32 = 20;
const COST_READINGS: u32 = 50;

/// The file with the name of the kernel's clock source.
const SOURCE_FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The three clocks at one instant, and the waits of the thread that reads them, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// Time since an arbitrary instant, without the time for which the machine was suspended.
    pub monotonic: i64,
    /// Time since the beginning of 1970 (UTC).
    pub realtime: i64,
    /// Like `monotonic`, but including the time for which the machine was suspended.
    pub boottime: i64,
    /// Time for which the reading thread has waited for a core since it started, or `None` if the kernel does not count
    /// it.
    pub waited: Option<u64>,
    /// Number of times that this thread ran; 0 if the kernel does not count them.
    pub runs: u64,
}

/// A step of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClockStep {
    /// When it was detected, in seconds since the driver started.
    pub at_s: f64,
    /// Size of the step in seconds; negative if backward.
    pub by_s: f64,
}

/// Properties and irregularities of the clocks during a race.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ClockHealth {
    /// The kernel's clock source at the beginning and, if it has changed, at the end; empty if unknown.
    pub sources: Vec<String>,
    /// Resolution of the monotonic clock as reported by the operating system, in nanoseconds.
    pub resolution_ns: u64,
    /// Cost of one reading in nanoseconds: the lowest mean of 20 groups of 50 readings before the race. A mean of all
    /// would include the time for which another thread had the core.
    pub read_ns: f64,
    /// Number of these thousand readings that were earlier than the previous one.
    pub backward: u32,
    /// The first 32 steps of the wall clock of 0.1 s or more.
    pub steps: Vec<ClockStep>,
    /// Total size of all steps in seconds, forward or backward.
    pub steps_s: f64,
    /// The gaps of more than 0.5 s between two readings; of many, neighbours during the same tasks are merged.
    pub gaps: Vec<ClockGap>,
    /// Total length of all gaps in seconds.
    pub gaps_s: f64,
    /// Number of pauses: readings during the race that were late by 1 ms or more, for another reason than a wait for a
    /// core; gaps are not included. If the kernel does not count these waits, it is the number of readings that were
    /// late by 0.1 s or more for any reason.
    pub pauses: u32,
    /// Total length of the pauses in seconds.
    pub paused_s: f64,
    /// The seconds of the race in which pauses ended; of many, neighbours during the same tasks are merged.
    pub paused: Vec<PausedSecond>,
    /// Time for which the machine was suspended, in seconds.
    pub suspended_s: f64,
}

/// Compares readings of the clocks while the race runs.
#[derive(Debug)]
pub struct ClockMonitor {
    first: ClockReading,
    /// The reading after the last step or suspension.
    reference: ClockReading,
    /// The last reading.
    previous: ClockReading,
    /// How many times a task had begun or ended then.
    changes: u32,
    /// Time after it at which the next one is due.
    interval: Duration,
    /// Determines these times.
    random: SplitMix64,
    pauses: PauseLog,
    health: ClockHealth,
}

impl ClockReading {
    /// Reads the clocks. Reads them again if the thread was interrupted in between, which would look like a step.
    pub fn read() -> Self {
        let mut reading = Self::read_once();
        for _ in 0..MAX_RETRIES {
            let (next, previous) = (Self::read_once(), reading.monotonic);
            if next.monotonic - previous < MIN_STEP_NS / 100 {
                break;
            }
            reading = next;
        }
        reading
    }

    fn read_once() -> Self {
        Self {
            monotonic: ns(clock_gettime(ClockId::Monotonic)),
            realtime: ns(clock_gettime(ClockId::Realtime)),
            boottime: ns(clock_gettime(ClockId::Boottime)),
            waited: None,
            runs: 0,
        }
    }

    /// Reads the clocks and the waits of the calling thread. Reads them again if the thread waited for a core in
    /// between, because the next reading would then be late without a wait.
    pub fn read_with_waits() -> Self {
        let mut before = RunQueueStats::read();
        for _ in 0..MAX_RETRIES {
            let (reading, after) = (Self::read(), RunQueueStats::read());
            if before.map(|stats| stats.wait_ns) == after.map(|stats| stats.wait_ns) {
                return reading.with_waits(after);
            }
            before = after;
        }
        Self::read().with_waits(before)
    }

    fn with_waits(self, stats: Option<RunQueueStats>) -> Self {
        let (waited, runs) = (stats.map(|stats| stats.wait_ns), stats.map_or(0, |stats| stats.runs));
        Self { waited, runs, ..self }
    }

    /// Returns whether the thread ran more than once since `previous`: a thread that only sleeps until it is due runs
    /// once, but one whose process is stopped runs to be stopped, and again to go on.
    fn ran_again_since(&self, previous: &Self) -> bool {
        previous.runs > 0 && self.runs.saturating_sub(previous.runs) > 1
    }

    /// Returns by how much this reading is late if it was due at this interval after `previous`, without waits for a
    /// core; 0 if it is too little for a pause.
    fn pause_since(&self, previous: &Self, interval: Duration) -> i64 {
        let interval = i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX);
        let late = self.monotonic - previous.monotonic - interval;
        let waits = self.waited.zip(previous.waited);
        let waited = waits.map(|(now, then)| i64::try_from(now.saturating_sub(then)).unwrap_or(i64::MAX));
        let least = if waited.is_some() { MIN_PAUSE_NS } else { MIN_UNEXPLAINED_NS };
        let pause = late.saturating_sub(waited.unwrap_or(0));
        if pause >= least { pause } else { 0 }
    }
}

impl ClockMonitor {
    /// Starts monitoring, and records the properties of the clocks before the race.
    pub fn start() -> Self {
        let sources = source().into_iter().collect();
        let (read_ns, backward) = reading_cost(|| ns(clock_gettime(ClockId::Monotonic)));
        let resolution_ns = u64::try_from(ns(clock_getres(ClockId::Monotonic))).unwrap_or(0);
        let health = ClockHealth { sources, resolution_ns, read_ns, backward, ..ClockHealth::default() };
        Self::from(ClockReading::read(), health)
    }

    fn from(first: ClockReading, health: ClockHealth) -> Self {
        let random = SplitMix64::seed_from_u64(0);
        Self {
            first,
            reference: first,
            previous: first,
            changes: 0,
            interval: READING_INTERVAL,
            random,
            pauses: PauseLog::default(),
            health,
        }
    }

    /// Returns the time after which the clocks are to be read next: from 10 to 30 ms, 20 ms in the mean.
    pub fn next_interval(&mut self) -> Duration {
        self.interval = Duration::from_nanos(MIN_INTERVAL_NS + self.random.next_u64() % INTERVAL_RANGE_NS);
        self.interval
    }

    /// Compares a reading with the earlier ones, `race_ns` after the first step began; 0 if it has not begun. `changes`
    /// is how many times a task has begun or ended. Must be called after every [`ClockMonitor::next_interval`].
    pub fn record(&mut self, now: ClockReading, race_ns: u64, changes: u32) {
        let before = std::mem::replace(&mut self.changes, changes);
        let changes = (before == changes).then_some(changes);
        let gap = now.monotonic - self.previous.monotonic;
        let pause = now.pause_since(&self.previous, self.interval);
        if gap > MIN_GAP_NS {
            let (at_s, length_s) = (seconds(self.previous.monotonic - self.first.monotonic), seconds(gap));
            self.health.gaps_s += length_s;
            ClockGap::new(at_s, length_s, race_ns as f64 / 1e9, changes).add_to(&mut self.health.gaps);
        } else if pause > 0 && race_ns > 0 {
            let (length_s, end_s) = (seconds(pause), race_ns as f64 / 1e9);
            self.health.pauses += 1;
            self.health.paused_s += length_s;
            let is_stop = now.ran_again_since(&self.previous);
            self.pauses.add(NoticedPause { length_s, end_s, is_stop, changes });
        }
        self.compare(now);
    }

    /// Must be called about once a second, with the time that the hypervisor has taken from the CPUs of the driver
    /// since the start; `None` if it is not known.
    pub fn end_second(&mut self, stolen: Option<StolenTime>) {
        self.pauses.end_second(stolen);
    }

    fn compare(&mut self, now: ClockReading) {
        self.previous = now;
        let passed = now.monotonic - self.reference.monotonic;
        let suspended = now.boottime - self.reference.boottime - passed;
        // The wall clock continues while the machine is suspended; that is not a step.
        let stepped = now.realtime - self.reference.realtime - passed - suspended.max(0);
        if suspended >= MIN_STEP_NS {
            self.health.suspended_s += seconds(suspended);
        }
        if stepped.abs() >= MIN_STEP_NS {
            let (at_s, by_s) = (seconds(now.monotonic - self.first.monotonic), seconds(stepped));
            self.health.steps_s += by_s.abs();
            if self.health.steps.len() < MAX_STEPS {
                self.health.steps.push(ClockStep { at_s, by_s });
            }
        }
        // Smaller differences do not change the reference, so that they can add up to a step.
        if suspended >= MIN_STEP_NS || stepped.abs() >= MIN_STEP_NS {
            self.reference = now;
        }
    }

    /// Ends monitoring.
    pub fn end(self) -> ClockHealth {
        self.ended_with(source())
    }

    fn ended_with(mut self, source: Option<String>) -> ClockHealth {
        self.health.sources.extend(source);
        self.health.sources.dedup();
        self.health.paused = self.pauses.into_seconds();
        self.health
    }
}

fn source() -> Option<String> {
    let name = fs::read_to_string(SOURCE_FILE).ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Measures the cost of a reading, in nanoseconds, and counts readings that were earlier than the previous one.
fn reading_cost(mut read_ns: impl FnMut() -> i64) -> (f64, u32) {
    let (mut last_ns, mut backward, mut lowest_ns) = (read_ns(), 0, f64::INFINITY);
    for _ in 0..COST_GROUPS {
        let began_ns = last_ns;
        for _ in 0..COST_READINGS {
            let now_ns = read_ns();
            backward += u32::from(now_ns < last_ns);
            last_ns = now_ns;
        }
        let mean_ns = (last_ns - began_ns) as f64 / f64::from(COST_READINGS);
        lowest_ns = if mean_ns > 0.0 { lowest_ns.min(mean_ns) } else { lowest_ns };
    }
    (if lowest_ns.is_finite() { lowest_ns } else { 0.0 }, backward)
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

    /// Returns a reading `after_ms` after the first one, with a wall clock that is `off_ms` ahead, after `slept_ms` of
    /// suspension.
    fn reading(after_ms: i64, off_ms: i64, slept_ms: i64) -> ClockReading {
        let (monotonic, slept) = ((5_000 + after_ms) * MS, slept_ms * MS);
        ClockReading {
            monotonic,
            realtime: 1_700_000_000_000 * MS + monotonic + slept + off_ms * MS,
            boottime: monotonic + slept + 77 * MS,
            waited: None,
            runs: 0,
        }
    }

    fn health_of(readings: &[ClockReading]) -> ClockHealth {
        let mut monitor = ClockMonitor::from(reading(0, 0, 0), ClockHealth::default());
        for now in readings {
            monitor.record(*now, race_ns(now), 0);
        }
        monitor.ended_with(None)
    }

    /// Returns the time of the race at a reading: its first step begins 100 ms after the first reading.
    fn race_ns(now: &ClockReading) -> u64 {
        u64::try_from(now.monotonic - 5_100 * MS).unwrap_or(0)
    }

    fn steps(readings: &[ClockReading]) -> Vec<(f64, f64)> {
        health_of(readings).steps.iter().map(|step| (step.at_s, step.by_s)).collect()
    }

    #[test]
    fn clocks_that_agree_have_no_steps_even_over_a_day() {
        let calm = health_of(&[reading(500, 0, 0), reading(86_400_000, 99, 0), reading(86_400_500, -99, 0)]);
        assert_eq!((calm.steps, calm.suspended_s), (vec![], 0.0));
    }

    #[test]
    fn a_step_of_the_wall_clock_is_recorded_with_its_time_and_size() {
        let set = [reading(500, 0, 0), reading(1000, 3_600_000, 0), reading(1500, 3_600_000, 0)];
        assert_eq!(steps(&set), [(1.0, 3600.0)]);
        let back = [reading(500, -250, 0), reading(1000, -250, 0), reading(2000, 0, 0)];
        assert_eq!(steps(&back), [(0.5, -0.25), (2.0, 0.25)]);
    }

    #[test]
    fn a_driver_that_does_not_run_is_recorded_with_its_time_and_length() {
        let stopped = health_of(&[reading(200, 0, 0), reading(700, 0, 0), reading(3_800, 0, 0)]);
        assert_eq!(stopped.gaps, [ClockGap::new(0.7, 3.1, 3.7, Some(0))]);
        assert_eq!((stopped.gaps_s, stopped.steps), (3.1, vec![]));
        // The monotonic clock does not advance while the machine is suspended.
        assert_eq!(health_of(&[reading(200, 0, 60_000), reading(400, 9_000, 60_000)]).gaps, []);
    }

    #[test]
    fn many_gaps_are_recorded_with_the_tasks_during_which_they_were() {
        let mut monitor = ClockMonitor::from(reading(0, 0, 0), ClockHealth::default());
        for number in 1..=1_000_i64 {
            let now = reading(number * 600, 0, 0);
            // The second task begins while the driver does not run for the 700th time.
            monitor.record(now, race_ns(&now), u32::from(number >= 700));
        }
        let health = monitor.ended_with(None);
        assert_eq!((health.gaps.len(), health.gaps_s.round()), (256, 600.0));
        assert_eq!(health.gaps.iter().map(|gap| gap.gaps).sum::<u32>(), 1_000);
        let began_s = 419.9 - 0.6;
        let (first, second): (Vec<_>, Vec<_>) =
            health.gaps.iter().partition(|gap| gap.from_s < began_s - 0.01);
        let length_s = |gaps: &[&ClockGap]| gaps.iter().map(|gap| gap.length_s).sum::<f64>();
        let (first, second): (Vec<&ClockGap>, Vec<&ClockGap>) = (first, second);
        assert!(
            (length_s(&first) - 699.0 * 0.6).abs() < 1e-6 && (length_s(&second) - 301.0 * 0.6).abs() < 1e-6
        );
        assert!(first.iter().all(|gap| gap.to_s < began_s + 0.01), "{first:?}");
    }

    /// Returns the health after readings at these times, each with the total wait for a core, in ms.
    fn paused(readings: &[(i64, u64)]) -> ClockHealth {
        let with_waits = |(at_ms, waited_ms): (i64, u64)| ClockReading {
            waited: Some(waited_ms * 1_000_000),
            ..reading(at_ms, 0, 0)
        };
        let mut monitor = ClockMonitor::from(with_waits((0, 0)), ClockHealth::default());
        let mut second = 0;
        for now in readings.iter().map(|now| with_waits(*now)) {
            if race_ns(&now) / 1_000_000_000 > second {
                second = race_ns(&now) / 1_000_000_000;
                monitor.end_second(None);
            }
            monitor.record(now, race_ns(&now), 0);
        }
        monitor.ended_with(None)
    }

    #[test]
    fn late_readings_are_pauses_of_the_driver_unless_it_waited_for_a_core() {
        let late =
            paused(&[(200, 0), (220, 0), (290, 0), (500, 190), (520, 190), (1_000, 191), (1_320, 192)]);
        assert_eq!((late.pauses, late.gaps.len()), (4, 0));
        assert!((late.paused_s - (0.18 + 0.05 + 0.459 + 0.299)).abs() < 1e-9, "{late:?}");
        let seconds: Vec<(f64, f64)> =
            late.paused.iter().map(|second| (second.from_s, second.to_s)).collect();
        assert_eq!(seconds.len(), 2, "{late:?}");
        assert!((seconds[0].0 - 0.0).abs() < 1e-9 && (seconds[0].1 - 0.9).abs() < 1e-9, "{late:?}");
        assert!((seconds[1].0 - 0.921).abs() < 1e-9 && (seconds[1].1 - 1.22).abs() < 1e-9, "{late:?}");
    }

    #[test]
    fn a_gap_is_not_one_of_the_pauses() {
        let stopped = paused(&[(100, 0), (170, 0), (190, 0), (990, 0), (1_060, 0)]);
        assert_eq!((stopped.gaps.len(), stopped.pauses), (1, 2));
        assert!((stopped.paused_s - 0.1).abs() < 1e-9, "{stopped:?}");
    }

    #[test]
    fn short_pauses_are_counted() {
        // Two short pauses, one that is not short, and a reading that is late by less than 1 ms.
        let few = paused(&[(200, 0), (224, 0), (246, 0), (296, 0), (316, 0)]);
        let second = few.paused[0];
        assert_eq!((few.pauses, second.pauses, second.short), (4, 4, 2), "{few:?}");
        assert!((second.short_s - 0.006).abs() < 1e-9, "{second:?}");
    }

    #[test]
    fn a_late_reading_of_a_thread_that_ran_again_before_is_a_stop() {
        let with_runs = |at_ms, runs| ClockReading { waited: Some(0), runs, ..reading(at_ms, 0, 0) };
        let mut monitor = ClockMonitor::from(with_runs(0, 1), ClockHealth::default());
        // Late after one run, in time after three, late after three, and late by more than an interval after three.
        for now in
            [with_runs(200, 2), with_runs(220, 5), with_runs(243, 6), with_runs(267, 9), with_runs(320, 12)]
        {
            monitor.record(now, race_ns(&now), 0);
        }
        let second = monitor.ended_with(None).paused[0];
        assert_eq!((second.pauses, second.short, second.stopped), (4, 2, 1), "{second:?}");
        assert!((second.stopped_s - 0.004).abs() < 1e-9, "{second:?}");
    }

    /// A driver that is stopped for 30 % of the time: readings at equal intervals would meet all pauses, or none.
    #[test]
    fn pauses_between_readings_are_estimated_whatever_their_interval() {
        for period_us in [9_500, 10_000, 10_500, 20_000, 40_000, 137_000] {
            let mut monitor = ClockMonitor::from(
                ClockReading { waited: Some(0), ..reading(0, 0, 0) },
                ClockHealth::default(),
            );
            let (mut now_us, end_us, paused_us) = (0, 600_000_000, period_us * 3 / 10);
            while now_us < end_us {
                now_us += i64::try_from(monitor.next_interval().as_micros()).unwrap();
                // A reading that is due in a pause is made at its end.
                let phase_us = now_us % period_us;
                now_us += (paused_us - phase_us).max(0);
                let monotonic = 5_000 * MS + now_us * 1_000;
                monitor.record(ClockReading { monotonic, waited: Some(0), ..reading(0, 0, 0) }, 1, 0);
            }
            let health = monitor.ended_with(None);
            let (short, short_s) = (f64::from(health.paused[0].short), health.paused[0].short_s);
            let estimated_s = health.paused_s + short * 0.02 - short_s;
            // In a short pause, a reading that is due less than 1 ms before its end is not a pause. In a long one, the
            // first reading is due after 10.5 ms in the mean.
            let pause_ms = paused_us as f64 / 1e3;
            let unnoticed_ms = if pause_ms < 20.0 { 1.0 } else { 10.5 };
            let expected_s = 180.0 * (1.0 - unnoticed_ms / pause_ms);
            assert!(
                (estimated_s / expected_s - 1.0).abs() < 0.07,
                "{period_us}: {estimated_s} of {expected_s}"
            );
        }
    }

    #[test]
    fn a_pause_before_the_first_step_does_not_affect_the_race() {
        assert_eq!(paused(&[(90, 0), (110, 0)]).pauses, 0);
    }

    #[test]
    fn without_counted_waits_only_long_delays_are_pauses() {
        let late = health_of(&[120, 239, 359, 500].map(|at_ms| reading(at_ms, 0, 0)));
        assert_eq!(late.pauses, 3);
    }

    #[test]
    fn short_stops_again_and_again_add_up_and_their_list_is_limited() {
        let stops: Vec<(i64, u64)> = (1..=3_000).map(|number| (number * 120, 0)).collect();
        let health = paused(&stops);
        assert_eq!((health.pauses, health.paused.len()), (3_000, 256));
        assert!((health.paused_s - 300.0).abs() < 1e-6, "{}", health.paused_s);
    }

    #[test]
    fn small_differences_add_up_to_a_step() {
        let drifting: Vec<ClockReading> =
            (1..=25).map(|number| reading(number * 500, number * 10, 0)).collect();
        assert_eq!(steps(&drifting), [(5.0, 0.1), (10.0, 0.1)]);
    }

    #[test]
    fn suspension_is_recorded_and_is_not_a_step_of_the_wall_clock() {
        let slept = health_of(&[reading(500, 0, 0), reading(1000, 0, 60_000), reading(1500, 0, 90_000)]);
        assert_eq!((slept.steps, slept.suspended_s), (vec![], 90.0));
        let both = health_of(&[reading(500, 2_000, 60_000)]);
        assert_eq!((both.steps[0].by_s, both.suspended_s), (2.0, 60.0));
    }

    #[test]
    fn the_number_of_recorded_steps_is_limited_but_not_their_sum() {
        let restless: Vec<ClockReading> =
            (0..1000).map(|number| reading(number * 500, (number % 2) * 1000, 0)).collect();
        let health = health_of(&restless);
        assert_eq!((health.steps.len(), health.steps_s.round()), (MAX_STEPS, 999.0));
    }

    #[test]
    fn the_clocks_of_this_machine_are_described() {
        let mut monitor = ClockMonitor::start();
        monitor.record(ClockReading::read_with_waits(), 1, 0);
        let health = monitor.end();
        assert!(health.read_ns > 0.0 && health.resolution_ns > 0, "{health:?}");
        assert_eq!(health.backward, 0);
    }

    #[test]
    fn the_cost_of_a_reading_does_not_include_the_time_without_a_core() {
        let (mut now, mut count) = (0, 0);
        let mut interrupted = || {
            count += 1;
            now += if count % 100 == 0 { 4 * MS } else { 25 };
            now
        };
        assert_eq!(reading_cost(&mut interrupted), (25.0, 0));
        let mut slow = 0;
        let hpet = || {
            slow += 1_400;
            slow
        };
        assert_eq!(reading_cost(hpet), (1_400.0, 0));
        // A clock that advances every 10 µs, and goes back once.
        let mut readings = 0;
        let coarse = || {
            readings += 1;
            if readings == 500 { 0 } else { readings * 25 / 10_000 * 10_000 }
        };
        let (cost, backward) = reading_cost(coarse);
        assert!(cost >= 200.0 && backward == 1, "{cost} {backward}");
        assert_eq!(reading_cost(|| 7), (0.0, 0));
    }

    #[test]
    fn a_clock_source_that_changes_is_recorded_with_the_first_one() {
        let with = |end: &str| {
            let health = ClockHealth { sources: vec!["tsc".into()], ..ClockHealth::default() };
            ClockMonitor::from(reading(0, 0, 0), health).ended_with(Some(end.into())).sources
        };
        assert_eq!((with("tsc"), with("hpet")), (vec!["tsc".into()], vec!["tsc".to_owned(), "hpet".into()]));
    }
}
