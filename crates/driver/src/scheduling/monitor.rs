//! The scheduling of the threads of one race.

use std::collections::BTreeMap;
use std::fs::File;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pacenote_plan::DriverScheduling;
use rustix::thread::{Pid, gettid};
use serde::Serialize;

use crate::health::run_queue::read_cpu_ns;
use crate::scheduling::budget::{CpuTimeWindow, MAX_CPU_TIME};
use crate::scheduling::demotion::{DemotedTask, Demotion, DemotionCause, TaskCounts, TaskSpan};
use crate::scheduling::kernel::{ThreadPolicy, policy_of, set_policy};
use crate::scheduling::permission::{HEALTH_PRIORITY, SCHEDSTAT, WORKER_PRIORITY, realtime_refusal};

/// The short slice, in nanoseconds: the shortest one of the kernel.
pub const SHORT_SLICE_NS: u64 = 100_000;

/// How a thread is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheduling {
    /// As the system does it: with the default slice, or as the process was started.
    Normal,
    /// With a fair share of a core, and a short slice.
    ShortSlice,
    /// With real-time priority.
    Realtime,
}

/// The scheduling of the driver's threads in a race.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SchedulingSummary {
    /// What the options asked for.
    pub asked: DriverScheduling,
    /// How the workers were scheduled; if they differ, the least of it. `null` if none has started.
    pub workers: Option<Scheduling>,
    /// How the health thread was scheduled; `null` if it has not started.
    pub health: Option<Scheduling>,
    /// Why the process could not have real-time priority; `null` if it could, or if the options did not ask for it.
    pub refused: Option<String>,
    /// How often a worker lost real-time priority because it exceeded its budget, or its CPU time could not be read.
    pub demotions: u32,
    /// Time for which workers did not have it, in seconds, summed over the workers.
    pub demoted_s: f64,
    /// How many of the demotions were because the CPU time could not be read.
    pub unreadable: u32,
    /// How much of `demoted_s` was after these.
    pub unreadable_s: f64,
    /// The tasks during which workers did not have it, in the order of the plan.
    pub tasks: Vec<DemotedTask>,
}

/// Gives the threads of a race their scheduling, and watches the budget of those with real-time priority.
#[derive(Debug)]
pub struct SchedulingMonitor {
    asked: DriverScheduling,
    refused: Option<String>,
    /// Longest CPU time of a worker within a second.
    max_of_worker: Duration,
    /// Longest CPU time of all workers within a second.
    max_of_all: Duration,
    workers: Mutex<Vec<Arc<WorkerState>>>,
    counts: Mutex<SchedulingCounts>,
}

#[derive(Debug, Default)]
struct SchedulingCounts {
    workers: Option<Scheduling>,
    health: Option<Scheduling>,
    demotions: u32,
    demoted: Duration,
    unreadable: u32,
    unreadable_time: Duration,
    /// By position in the plan.
    tasks: BTreeMap<u32, TaskCounts>,
}

/// What a worker has used of its budget.
#[derive(Debug, Clone, Copy)]
struct BudgetReading {
    at: Instant,
    /// How often the budget had been renewed.
    renewals: u32,
    /// CPU time with real-time priority in the last second; `None` if it cannot be read.
    cpu_time: Option<Duration>,
}

/// The calling thread as a worker, until this is dropped.
#[derive(Debug)]
pub struct ScheduledWorker<'a> {
    monitor: &'a SchedulingMonitor,
    state: Option<Arc<WorkerState>>,
}

/// A worker with real-time priority.
#[derive(Debug)]
struct WorkerState {
    thread: Pid,
    /// The nice value with which the thread started.
    nice: i32,
    /// The kernel's counters of the thread.
    schedstat: File,
    usage: Mutex<WorkerUsage>,
}

#[derive(Debug)]
struct WorkerUsage {
    window: CpuTimeWindow,
    /// How often the budget has been renewed.
    renewals: u32,
    /// The loss of real-time priority, or `None` if the thread has it.
    demotion: Option<Demotion>,
}

impl SchedulingMonitor {
    /// Creates the monitor of a race.
    pub fn new(asked: DriverScheduling) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            asked,
            refused: if asked == DriverScheduling::Normal { None } else { realtime_refusal() },
            max_of_worker: MAX_CPU_TIME,
            max_of_all: MAX_CPU_TIME * u32::try_from(cores).unwrap_or(u32::MAX),
            workers: Mutex::default(),
            counts: Mutex::default(),
        }
    }

    /// Returns why the process cannot have the real-time priority that the options demand, or `None` if it can or need
    /// not.
    pub fn violation(&self) -> Option<&str> {
        self.refused.as_deref().filter(|_| self.asked == DriverScheduling::Realtime)
    }

    /// Schedules the calling thread as a worker until the returned value is dropped.
    pub fn schedule_worker(&self) -> ScheduledWorker<'_> {
        // Unlike the path, the open file belongs to this thread whichever thread reads it.
        self.schedule_worker_with(File::open(SCHEDSTAT).ok())
    }

    /// Schedules the calling thread, which has real-time priority only if its counters can be read.
    fn schedule_worker_with(&self, schedstat: Option<File>) -> ScheduledWorker<'_> {
        let schedstat = schedstat.filter(|file| read_cpu_ns(file).is_some());
        let (scheduling, nice) = self.schedule_current_thread(schedstat.as_ref().map(|_| WORKER_PRIORITY));
        {
            let mut counts = lock(&self.counts);
            counts.workers = Some(counts.workers.map_or(scheduling, |least| least.min(scheduling)));
        }
        let mut worker = ScheduledWorker { monitor: self, state: None };
        if scheduling == Scheduling::Realtime
            && self.asked != DriverScheduling::Normal
            && let Some(schedstat) = schedstat
        {
            let usage = Mutex::new(WorkerUsage { window: CpuTimeWindow::new(), renewals: 0, demotion: None });
            let state = Arc::new(WorkerState { thread: gettid(), nice, schedstat, usage });
            lock(&self.workers).push(Arc::clone(&state));
            worker.state = Some(state);
        }
        worker
    }

    /// Schedules the calling thread, which watches the workers.
    pub fn schedule_health_thread(&self) {
        let (scheduling, _) = self.schedule_current_thread(Some(HEALTH_PRIORITY));
        lock(&self.counts).health = Some(scheduling);
    }

    /// Gives the calling thread this real-time priority, or else a short slice. Returns how it is scheduled now, and its
    /// nice value.
    fn schedule_current_thread(&self, priority: Option<u32>) -> (Scheduling, i32) {
        let thread = gettid();
        let nice = match policy_of(thread) {
            Ok(ThreadPolicy::Fair { nice, .. }) => nice,
            _ => 0,
        };
        if self.asked != DriverScheduling::Normal {
            let is_realtime = self.refused.is_none()
                && priority
                    .is_some_and(|priority| set_policy(thread, ThreadPolicy::Realtime { priority }).is_ok());
            if !is_realtime {
                // If this fails, the thread is scheduled as before.
                let _ = set_policy(thread, ThreadPolicy::Fair { nice, slice_ns: SHORT_SLICE_NS });
            }
        }
        let scheduling = match policy_of(thread) {
            Ok(ThreadPolicy::Realtime { .. }) => Scheduling::Realtime,
            Ok(ThreadPolicy::Fair { slice_ns: SHORT_SLICE_NS, .. }) => Scheduling::ShortSlice,
            _ => Scheduling::Normal,
        };
        (scheduling, nice)
    }

    /// Reads the CPU time of the workers, and demotes those that have exceeded their budget, or whose CPU time cannot be
    /// read.
    pub fn check_budget(&self, now: Instant) {
        let workers = lock(&self.workers);
        let readings: Vec<BudgetReading> = workers.iter().map(|worker| worker.read_budget(now)).collect();
        let total: Duration = readings.iter().filter_map(|reading| reading.cpu_time).sum();
        for (worker, reading) in workers.iter().zip(readings) {
            match reading.cpu_time {
                None => self.demote(worker, reading, DemotionCause::CpuTimeUnreadable),
                Some(cpu_time) if cpu_time > self.max_of_worker || total > self.max_of_all => {
                    self.demote(worker, reading, DemotionCause::BudgetExceeded);
                }
                Some(_) => {}
            }
        }
    }

    /// Demotes a worker because of a reading, unless its budget has been renewed since.
    fn demote(&self, worker: &WorkerState, reading: BudgetReading, cause: DemotionCause) {
        let mut usage = lock(&worker.usage);
        let slice = ThreadPolicy::Fair { nice: worker.nice, slice_ns: SHORT_SLICE_NS };
        if usage.renewals == reading.renewals
            && usage.demotion.is_none()
            && set_policy(worker.thread, slice).is_ok()
        {
            usage.demotion = Some(Demotion { at: reading.at, cause });
            let mut counts = lock(&self.counts);
            counts.demotions += 1;
            counts.unreadable += u32::from(cause == DemotionCause::CpuTimeUnreadable);
        }
    }

    /// Returns what happened in the race.
    pub fn summary(&self) -> SchedulingSummary {
        let counts = lock(&self.counts);
        SchedulingSummary {
            asked: self.asked,
            workers: counts.workers,
            health: counts.health,
            refused: self.refused.clone(),
            demotions: counts.demotions,
            demoted_s: counts.demoted.as_secs_f64(),
            unreadable: counts.unreadable,
            unreadable_s: counts.unreadable_time.as_secs_f64(),
            tasks: counts.tasks.iter().filter_map(|(index, counts)| counts.summary(*index)).collect(),
        }
    }
}

impl SchedulingCounts {
    /// Adds a demotion that has ended.
    fn add_demotion(&mut self, demotion: Demotion) {
        let length = demotion.at.elapsed();
        self.demoted += length;
        if demotion.cause == DemotionCause::CpuTimeUnreadable {
            self.unreadable_time += length;
        }
    }
}

impl ScheduledWorker<'_> {
    /// Gives the thread a new budget, and real-time priority if it has lost it and its CPU time can be read. Must be
    /// called at the beginning of each step.
    pub fn renew_budget(&self) {
        let Some(state) = &self.state else { return };
        let mut usage = lock(&state.usage);
        usage.window.clear();
        usage.renewals = usage.renewals.wrapping_add(1);
        let Some(demotion) = usage.demotion else { return };
        if read_cpu_ns(&state.schedstat).is_some()
            && set_policy(state.thread, ThreadPolicy::Realtime { priority: WORKER_PRIORITY }).is_ok()
        {
            usage.demotion = None;
            lock(&self.monitor.counts).add_demotion(demotion);
        }
    }

    /// Records for which part of its tasks the thread had real-time priority, and renews its budget. Must be called at
    /// the end of each step.
    pub fn end_step(&self, spans: &[TaskSpan]) {
        let Some(state) = &self.state else { return };
        // A thread is demoted once in a step at most.
        let demotion = lock(&state.usage).demotion;
        for span in spans {
            lock(&self.monitor.counts).tasks.entry(span.task_index).or_default().add(*span, demotion);
        }
        self.renew_budget();
    }
}

impl Drop for ScheduledWorker<'_> {
    fn drop(&mut self) {
        let Some(state) = self.state.take() else { return };
        // After this, no thread changes the scheduling of this one, whose id may then belong to another.
        lock(&self.monitor.workers).retain(|worker| !Arc::ptr_eq(worker, &state));
        if let Some(demotion) = lock(&state.usage).demotion {
            lock(&self.monitor.counts).add_demotion(demotion);
        }
    }
}

impl WorkerState {
    /// Reads the CPU time in the second before `now`, in which the thread had real-time priority.
    fn read_budget(&self, now: Instant) -> BudgetReading {
        let mut usage = lock(&self.usage);
        let cpu_time = if usage.demotion.is_some() {
            Some(Duration::ZERO)
        } else {
            read_cpu_ns(&self.schedstat).map(|cpu_ns| usage.window.add(now, cpu_ns))
        };
        BudgetReading { at: now, renewals: usage.renewals, cpu_time }
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    impl Default for SchedulingMonitor {
        /// Threads are scheduled as the system does it.
        fn default() -> Self {
            Self::new(DriverScheduling::Normal)
        }
    }

    fn monitor_with_limits(max_of_worker: Duration, max_of_all: Duration) -> SchedulingMonitor {
        SchedulingMonitor { max_of_worker, max_of_all, ..SchedulingMonitor::new(DriverScheduling::Auto) }
    }

    fn is_short_slice(policy: ThreadPolicy) -> bool {
        matches!(policy, ThreadPolicy::Fair { slice_ns: 0 | SHORT_SLICE_NS, .. })
    }

    /// Returns whether threads cannot have real-time priority, and prints why a test that needs it is skipped.
    #[allow(clippy::print_stderr, reason = "a test that tests nothing says so")]
    fn is_refused(monitor: &SchedulingMonitor) -> bool {
        if let Some(reason) = &monitor.refused {
            eprintln!("real-time priority cannot be tested: {reason}");
        }
        monitor.refused.is_some()
    }

    /// Works on a worker until it is demoted, and returns its policies then and with a new budget.
    fn demoted_policies(monitor: &SchedulingMonitor) -> (ThreadPolicy, ThreadPolicy) {
        let (started, has_started) = channel();
        thread::scope(|scope| {
            let worker = scope.spawn(move || {
                let (scheduled, began) = (monitor.schedule_worker(), Instant::now());
                started.send(gettid()).unwrap();
                while lock(&monitor.counts).demotions == 0 && began.elapsed() < Duration::from_secs(5) {
                    std::hint::spin_loop();
                }
                let demoted = policy_of(gettid()).unwrap();
                scheduled.renew_budget();
                (demoted, policy_of(gettid()).unwrap())
            });
            has_started.recv().unwrap();
            monitor.schedule_health_thread();
            while !worker.is_finished() {
                monitor.check_budget(Instant::now());
                thread::sleep(Duration::from_millis(1));
            }
            worker.join().unwrap()
        })
    }

    #[test]
    fn a_busy_worker_is_demoted_and_promoted_at_the_next_step() {
        let long = Duration::from_secs(9);
        for (of_worker, of_all) in [(Duration::from_millis(5), long), (long, Duration::from_millis(5))] {
            let monitor = monitor_with_limits(of_worker, of_all);
            if is_refused(&monitor) {
                return;
            }
            let (demoted, renewed) =
                thread::scope(|scope| scope.spawn(|| demoted_policies(&monitor)).join().unwrap());
            assert!(is_short_slice(demoted), "{demoted:?}");
            assert_eq!(renewed, ThreadPolicy::Realtime { priority: WORKER_PRIORITY });
            let summary = monitor.summary();
            assert_eq!(
                (summary.workers, summary.health),
                (Some(Scheduling::Realtime), Some(Scheduling::Realtime))
            );
            assert_eq!((summary.demotions, summary.unreadable, summary.refused), (1, 0, None));
            assert!(summary.demoted_s > 0.0);
            assert!(lock(&monitor.workers).is_empty(), "a worker that has ended is watched");
        }
    }

    #[test]
    fn a_worker_whose_cpu_time_cannot_be_read_has_a_short_slice() {
        let monitor = monitor_with_limits(Duration::from_secs(9), Duration::from_secs(9));
        let policies = thread::scope(|scope| {
            let with = |schedstat| monitor.schedule_worker_with(schedstat);
            let policy = || policy_of(gettid()).unwrap();
            let zeros = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(&zeros, "0 0 0\n").unwrap();
            let without_counters = [None, Some(zeros.reopen().unwrap()), Some(tempfile::tempfile().unwrap())];
            without_counters.map(|schedstat| {
                let worker = scope.spawn(move || {
                    let _scheduled = with(schedstat);
                    policy()
                });
                worker.join().unwrap()
            })
        });
        assert!(policies.into_iter().all(is_short_slice), "{policies:?}");
        assert_ne!(monitor.summary().workers, Some(Scheduling::Realtime));
    }

    #[test]
    fn a_worker_whose_cpu_time_can_no_longer_be_read_is_demoted_until_it_can() {
        let monitor = monitor_with_limits(Duration::from_secs(9), Duration::from_secs(9));
        if is_refused(&monitor) {
            return;
        }
        let counters = tempfile::NamedTempFile::new().unwrap();
        let write = |text: &str| std::fs::write(&counters, text).unwrap();
        let policy = || policy_of(gettid()).unwrap();
        write("5 0 1\n");
        let schedstat = counters.reopen().unwrap();
        let policies = thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let scheduled = monitor.schedule_worker_with(Some(schedstat));
                monitor.check_budget(Instant::now());
                let before = policy();
                write("0 0 0\n");
                monitor.check_budget(Instant::now());
                let without = policy();
                scheduled.renew_budget();
                let renewed_without = policy();
                write("5 0 1\n");
                scheduled.renew_budget();
                [before, without, renewed_without, policy()]
            });
            worker.join().unwrap()
        });
        let realtime = ThreadPolicy::Realtime { priority: WORKER_PRIORITY };
        assert_eq!((policies[0], policies[3]), (realtime, realtime));
        assert!(is_short_slice(policies[1]) && is_short_slice(policies[2]), "{policies:?}");
        let summary = monitor.summary();
        assert_eq!((summary.demotions, summary.unreadable), (1, 1));
        assert!(summary.unreadable_s > 0.0 && summary.unreadable_s.to_bits() == summary.demoted_s.to_bits());
    }

    #[test]
    fn a_reading_before_a_step_demotes_nobody_in_the_step() {
        let monitor = monitor_with_limits(Duration::ZERO, Duration::ZERO);
        if is_refused(&monitor) {
            return;
        }
        let policies = thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let scheduled = monitor.schedule_worker();
                let state = scheduled.state.as_ref().unwrap();
                let demoted = |reading| {
                    monitor.demote(state, reading, DemotionCause::BudgetExceeded);
                    policy_of(gettid()).unwrap()
                };
                let before = state.read_budget(Instant::now());
                scheduled.renew_budget();
                let by_former_reading = demoted(before);
                [by_former_reading, demoted(state.read_budget(Instant::now()))]
            });
            worker.join().unwrap()
        });
        assert_eq!(policies[0], ThreadPolicy::Realtime { priority: WORKER_PRIORITY });
        assert!(is_short_slice(policies[1]), "{policies:?}");
    }

    #[test]
    fn a_worker_within_its_budget_keeps_its_priority() {
        let monitor = monitor_with_limits(Duration::from_millis(50), Duration::from_secs(9));
        thread::scope(|scope| {
            scope.spawn(|| {
                let scheduled = monitor.schedule_worker();
                for _ in 0..5 {
                    monitor.check_budget(Instant::now());
                }
                drop(scheduled);
            });
        });
        assert_eq!((monitor.summary().demotions, monitor.summary().demoted_s), (0, 0.0));
    }

    #[test]
    fn with_normal_scheduling_threads_are_as_they_were() {
        let monitor = SchedulingMonitor::new(DriverScheduling::Normal);
        let (before, after) = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let before = policy_of(gettid()).unwrap();
                let _scheduled = monitor.schedule_worker();
                (before, policy_of(gettid()).unwrap())
            });
            thread.join().unwrap()
        });
        assert_eq!(before, after);
        let summary = monitor.summary();
        assert_eq!(
            (summary.asked, summary.workers, summary.health),
            (DriverScheduling::Normal, Some(Scheduling::Normal), None)
        );
        assert_eq!(summary.refused, None);
    }
}
