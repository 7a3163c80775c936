//! The begin of a measured window that waits until the backlog of the warm-up is gone.
//!
//! A client has *caught up* once it takes a measured operation that the warm-up does not delay. The window begins when
//! all clients have, not before its planned begin, and at the latest in the middle of the planned window. If the
//! schedule is even, it begins when the next operation is due, so that n operations fill n intervals. Operations that
//! are due before it belong to the warm-up or, if clients have not caught up by the middle of the planned window, those
//! that begin before that: what an engine is due that is too slow would never begin. The schedule and its end remain as
//! planned, so the window is shorter.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use pacenote_plan::{PlannedTask, TaskBound, TaskPacing};
use pacenote_record::{DrainedWindow, SampleType};

use crate::schedule::budget::TaskLimit;
use crate::schedule::pacer::EvenTimes;
use crate::units::{nanos, seconds_to_nanos};

/// How long a window waits for the backlog if the end of its task is not known, in seconds.
const LONGEST_DRAIN_S: f64 = 60.0;

/// The drain of a task, which its clients on all workers share.
#[derive(Debug)]
pub struct WarmupDrain {
    /// When the window begins at the earliest, in nanoseconds since the task started; 0 if its warm-up is a number of
    /// operations.
    planned_begin_ns: u64,
    /// When the window begins at the latest, in nanoseconds since the task started.
    give_up_ns: u64,
    /// When operations are due, if their schedule is even.
    even_times: Option<EvenTimes>,
    /// When all clients had caught up, or the next operation was due after that, in nanoseconds since the task started;
    /// `u64::MAX` before that.
    caught_up_ns: AtomicU64,
    /// Number of clients that have not caught up for the first time.
    clients_left: AtomicU32,
    /// Number of clients whose operation belongs to the warm-up only because the window had not begun.
    clients_draining: AtomicU32,
}

impl WarmupDrain {
    /// Returns the drain of a task, or `None` if the task cannot have a backlog, or if the times of its window are not
    /// known, because only a scheduler in Python knows when its iterations are due.
    pub fn of_task(task: &PlannedTask) -> Option<Self> {
        let (planned_begin_s, give_up_s) = match task.bound {
            _ if matches!(task.pacing, TaskPacing::Unpaced {}) => return None,
            TaskBound::TimePeriod { warmup_s, measured_s } if warmup_s > 0.0 => {
                (warmup_s, warmup_s + measured_s.map_or(LONGEST_DRAIN_S, |measured_s| measured_s / 2.0))
            }
            TaskBound::Iterations { warmup, measured } if warmup > 0 => {
                let period_s = interval_s(task.pacing)? * f64::from(task.clients);
                let is_endless = TaskLimit::new(task.bound, 1).planned_iterations().is_none();
                let longest_s = if is_endless {
                    task.ramp_up_s + LONGEST_DRAIN_S
                } else {
                    f64::midpoint(task.ramp_up_s, period_s * measured as f64)
                };
                (0.0, period_s * warmup as f64 + longest_s)
            }
            _ => return None,
        };
        Some(Self {
            planned_begin_ns: seconds_to_nanos(planned_begin_s),
            give_up_ns: Duration::try_from_secs_f64(give_up_s).map_or(u64::MAX, nanos),
            even_times: task.even_interval_s().map(EvenTimes::every),
            caught_up_ns: AtomicU64::new(u64::MAX),
            clients_left: AtomicU32::new(task.clients),
            clients_draining: AtomicU32::new(0),
        })
    }

    /// Returns when the window begins, in nanoseconds since the task started, as far as it is known: while clients have
    /// not caught up, when it begins at the latest.
    pub fn window_begin_ns(&self) -> u64 {
        self.caught_up_ns.load(Ordering::Acquire).max(self.planned_begin_ns).min(self.give_up_ns)
    }

    /// Returns the begin of the window, and whether it did not wait any longer.
    pub fn window(&self) -> DrainedWindow {
        let gave_up = self.caught_up_ns.load(Ordering::Acquire) > self.give_up_ns;
        DrainedWindow { begin_ns: self.window_begin_ns(), gave_up }
    }

    /// Returns the type of an operation of the planned type that is due at `due_ns` and begins at `now_ns`.
    pub fn sample_type(&self, planned: SampleType, due_ns: u64, now_ns: u64) -> SampleType {
        if due_ns < self.drained_until_ns(now_ns) { SampleType::Warmup } else { planned }
    }

    /// Returns the instant before which operations are due that belong to the warm-up if they begin at `now_ns`; 0 after
    /// the window has begun although clients had not caught up.
    pub fn drained_until_ns(&self, now_ns: u64) -> u64 {
        let gave_up = self.window().gave_up && now_ns >= self.give_up_ns;
        if gave_up { 0 } else { self.window_begin_ns() }
    }

    /// Returns whether clients have not caught up.
    pub fn is_waiting(&self) -> bool {
        self.caught_up_ns.load(Ordering::Relaxed) == u64::MAX
    }

    /// Counts a client that has caught up for the first time, or that has left.
    pub fn client_caught_up(&self) {
        self.clients_left.fetch_sub(1, Ordering::AcqRel);
    }

    /// Returns whether each client has caught up at least once.
    pub fn all_caught_up_once(&self) -> bool {
        self.clients_left.load(Ordering::Acquire) == 0
    }

    /// Begins the window, because all clients have caught up at `now_ns`, unless it has begun.
    pub fn begin_window(&self, now_ns: u64) {
        let begin_ns = match self.even_times {
            Some(times) if (self.planned_begin_ns..self.give_up_ns).contains(&now_ns) => {
                times.at(times.count_before(now_ns)).min(self.give_up_ns)
            }
            _ => now_ns,
        };
        // Another thread may begin it at the same time; either begin is right.
        let _ = self.caught_up_ns.compare_exchange(u64::MAX, begin_ns, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Returns whether clients execute operations that belong to the warm-up only because the window had not begun.
    pub fn is_draining(&self) -> bool {
        self.clients_draining.load(Ordering::Relaxed) > 0
    }

    /// Counts a client that begins or ends such an operation.
    pub fn set_draining(&self, is_draining: bool) {
        if is_draining {
            self.clients_draining.fetch_add(1, Ordering::Relaxed);
        } else {
            self.clients_draining.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Returns the mean seconds between two operations of a task, or `None` if only a scheduler in Python knows it.
fn interval_s(pacing: TaskPacing) -> Option<f64> {
    match pacing {
        TaskPacing::Deterministic { interval_s }
        | TaskPacing::Poisson { interval_s }
        | TaskPacing::Uniform { interval_s } => Some(interval_s),
        TaskPacing::Unpaced {} | TaskPacing::PythonScheduler {} => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::pacer::tests::task;

    const SECOND: u64 = 1_000_000_000;

    fn drain(pacing: TaskPacing, bound: TaskBound) -> Option<WarmupDrain> {
        WarmupDrain::of_task(&PlannedTask { bound, ..task(pacing, 2, 0.0) })
    }

    fn time(warmup_s: f64, measured_s: Option<f64>) -> TaskBound {
        TaskBound::TimePeriod { warmup_s, measured_s }
    }

    #[test]
    fn a_window_begins_halfway_at_the_latest() {
        let (paced, scheduler) = (TaskPacing::Poisson { interval_s: 0.1 }, TaskPacing::PythonScheduler {});
        let iterations = |measured| TaskBound::Iterations { warmup: 10, measured };
        for (pacing, bound, expected) in [
            (paced, time(4.0, Some(10.0)), Some(9)),
            (scheduler, time(4.0, Some(10.0)), Some(9)),
            (paced, time(4.0, None), Some(64)),
            // Two clients with an operation every 0.2 s each: ten of the warm-up, and half of the others.
            (paced, iterations(30), Some(2 + 3)),
            (paced, iterations(1 << 53), Some(2 + 60)),
            (scheduler, iterations(30), None),
            (paced, time(0.0, Some(10.0)), None),
            (TaskPacing::Unpaced {}, time(4.0, Some(10.0)), None),
        ] {
            let latest = drain(pacing, bound).map(|drain| drain.window());
            let expected = expected.map(|s| DrainedWindow { begin_ns: s * SECOND, gave_up: true });
            assert_eq!(latest, expected, "{pacing:?} {bound:?}");
        }
    }

    #[test]
    fn iterations_with_a_ramp_up_begin_halfway_between_the_first_and_the_last_client() {
        let bound = TaskBound::Iterations { warmup: 10, measured: 30 };
        let task = PlannedTask { bound, ..task(TaskPacing::Poisson { interval_s: 0.1 }, 2, 4.0) };
        // The first client measures from 2 s on, and the schedule ends after 4 + 8 s.
        assert_eq!(WarmupDrain::of_task(&task).unwrap().window_begin_ns(), 7 * SECOND);
    }

    #[test]
    fn the_window_of_an_even_schedule_begins_with_an_operation() {
        let even = TaskPacing::Deterministic { interval_s: 0.3 };
        for (pacing, now, expected) in [
            (even, 4_000, 4_200),
            (even, 4_200, 4_200),
            (even, 4_201, 4_500),
            (even, 8_999, 9_000),
            (even, 3_950, 4_000),
            (TaskPacing::Uniform { interval_s: 0.3 }, 4_201, 4_201),
        ] {
            let drain = drain(pacing, time(4.0, Some(10.0))).unwrap();
            drain.begin_window(now * SECOND / 1_000);
            let expected = DrainedWindow { begin_ns: expected * SECOND / 1_000, gave_up: false };
            assert_eq!(drain.window(), expected, "{pacing:?} {now}");
        }
    }

    #[test]
    fn a_window_does_not_begin_before_it_is_planned() {
        let drain = drain(TaskPacing::Poisson { interval_s: 0.1 }, time(4.0, Some(10.0))).unwrap();
        drain.begin_window(SECOND);
        drain.begin_window(5 * SECOND);
        assert_eq!(drain.window(), DrainedWindow { begin_ns: 4 * SECOND, gave_up: false });
        let type_of = |planned, due| drain.sample_type(planned, due, 10 * SECOND);
        let types = [4 * SECOND - 1, 4 * SECOND].map(|due| type_of(SampleType::Measured, due));
        assert_eq!(types, [SampleType::Warmup, SampleType::Measured]);
        assert_eq!(type_of(SampleType::Warmup, 9 * SECOND), SampleType::Warmup);
    }

    #[test]
    fn what_begins_after_a_window_that_did_not_wait_any_longer_is_measured() {
        let drain = drain(TaskPacing::Poisson { interval_s: 0.1 }, time(4.0, Some(10.0))).unwrap();
        for caught_up in [false, true] {
            let types =
                [9 * SECOND - 1, 9 * SECOND].map(|now| drain.sample_type(SampleType::Measured, SECOND, now));
            assert_eq!(types, [SampleType::Warmup, SampleType::Measured], "{caught_up}");
            drain.begin_window(12 * SECOND);
        }
    }
}
