//! Long waits of a sending thread for a core.
//!
//! A thread that seldom waits, but then for long, delays few replies: too few for the mean (see [`super::reply_waits`]),
//! but enough for a high percentile. The thread that reads the clocks therefore also reads how long each sending thread
//! has waited, at the same interval, and the long waits of a step are added up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use pacenote_plan::Plan;
use serde::Serialize;

use crate::health::race_spans::{RaceSpan, USUAL_ENTRIES, make_room};
use crate::health::run_queue::RunQueueStats;
use crate::units::nanos;

/// Smallest wait between two readings that counts, in nanoseconds.
const MIN_WAIT_NS: u64 = 5_000_000;

/// The long waits of a thread for a core in one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CoreWaits {
    /// Name of the step.
    pub step: String,
    /// Number of intervals between two readings, of about 20 ms, in which the thread waited for 5 ms or more.
    pub waits: u64,
    /// Time for which it waited in these intervals, in seconds.
    pub waited_s: f64,
    /// `waited_s` / time for which the thread ran clients in the step.
    pub share: f64,
    /// When it waited: the seconds of the step in which it did or, if there are very many, several of them together.
    pub spans: Vec<WaitSpan>,
}

/// A time in which a thread had long waits for a core.
#[allow(clippy::struct_field_names, reason = "each has its unit")]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitSpan {
    /// When it began, in seconds since the first step began.
    pub from_s: f64,
    /// When it ended.
    pub to_s: f64,
    /// The time for which the thread waited in it, in seconds.
    pub waited_s: f64,
}

impl RaceSpan for WaitSpan {
    fn span_s(&self) -> (f64, f64) {
        (self.from_s, self.to_s)
    }

    fn changes(&self) -> Option<u32> {
        // All are of one step.
        Some(0)
    }

    fn merge(&mut self, later: &Self) {
        self.to_s = later.to_s;
        self.waited_s += later.waited_s;
    }
}

/// The long waits of a thread in the parts of a step, which are read about once a second.
#[derive(Debug)]
pub struct WaitSpans {
    spans: Vec<WaitSpan>,
    /// When they were last read, in seconds since the first step began.
    last_s: f64,
    /// The length of all waits until then, in nanoseconds.
    last_ns: u64,
}

impl WaitSpans {
    /// Starts at `began_s`, in seconds since the first step began. Its memory is reserved now.
    pub fn new(began_s: f64) -> Self {
        Self { spans: Vec::with_capacity(USUAL_ENTRIES), last_s: began_s, last_ns: 0 }
    }

    /// Adds the length of all waits until `now_s`.
    pub fn add(&mut self, now_s: f64, total_ns: u64) {
        let waited_ns = total_ns.saturating_sub(self.last_ns);
        if waited_ns > 0 {
            make_room(&mut self.spans);
            self.spans.push(WaitSpan { from_s: self.last_s, to_s: now_s, waited_s: waited_ns as f64 / 1e9 });
        }
        (self.last_s, self.last_ns) = (now_s, total_ns);
    }

    /// Returns the times in which the thread waited.
    pub fn take(&mut self) -> Vec<WaitSpan> {
        std::mem::take(&mut self.spans)
    }
}

/// For how long the threads that send requests waited for a core in one step, and had one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepCoreTimes {
    /// Name of the step.
    pub step: String,
    /// Positions of its tasks in the plan.
    pub tasks: Vec<u32>,
    /// Time for which they waited for a core, in seconds, summed over the threads.
    pub waited_s: f64,
    /// Their CPU time in seconds, summed likewise.
    pub worked_s: f64,
}

/// The threads whose waits are read.
#[derive(Debug, Default)]
pub struct CoreWaitMonitor {
    threads: Mutex<Vec<Weak<WatchedThread>>>,
    /// By position of the step in the plan.
    steps: Mutex<BTreeMap<usize, CoreTimes>>,
}

/// For how long threads waited for a core and had one, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreTimes {
    /// `None` if the operating system did not count the waits of one of them.
    pub waited_ns: Option<u64>,
    /// Their CPU time.
    pub worked_ns: u64,
}

/// The waits of one thread, as long as this exists.
#[derive(Debug)]
pub struct WatchedThread {
    /// The kernel's counters of the thread.
    schedstat: File,
    /// Time for which the thread had waited at the last reading, in nanoseconds.
    last_ns: AtomicU64,
    waits: AtomicU64,
    waited_ns: AtomicU64,
}

/// Number and total length of long waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LongWaits {
    /// Number of intervals with a long wait.
    pub count: u64,
    /// Time for which the thread waited in them, in nanoseconds.
    pub total_ns: u64,
}

impl CoreWaits {
    /// Returns the waits of a thread whose clients ran for `length` in a step, or `None` if there were none.
    pub fn of_step(step: &str, length: Duration, waits: LongWaits, spans: &[WaitSpan]) -> Option<Self> {
        (waits.count > 0).then(|| Self {
            step: step.to_owned(),
            waits: waits.count,
            waited_s: waits.total_ns as f64 / 1e9,
            share: waits.total_ns as f64 / nanos(length).max(1) as f64,
            spans: spans.to_vec(),
        })
    }
}

impl CoreWaitMonitor {
    /// Watches the calling thread until the returned value is dropped. Returns `None` if the operating system does not
    /// count its waits.
    pub fn watch_current_thread(&self) -> Option<Arc<WatchedThread>> {
        // Unlike the path, the open file belongs to this thread whichever thread reads it.
        let schedstat = File::open("/proc/thread-self/schedstat").ok()?;
        let waited_ns = RunQueueStats::read_from(&schedstat)?.wait_ns;
        let thread = Arc::new(WatchedThread {
            schedstat,
            last_ns: AtomicU64::new(waited_ns),
            waits: AtomicU64::new(0),
            waited_ns: AtomicU64::new(0),
        });
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&thread));
        Some(thread)
    }

    /// Adds the times of a thread in a step, given by its position in the plan.
    pub fn add_step(&self, step_index: usize, times: CoreTimes) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.entry(step_index).and_modify(|sum| *sum = sum.plus(times)).or_insert(times);
    }

    /// Returns the times in all steps that have ended, as far as the operating system has counted the waits of all
    /// threads.
    pub fn step_times(&self, plan: &Plan) -> Vec<StepCoreTimes> {
        let of_step = |(index, times): (&usize, &CoreTimes)| {
            let step = &plan.steps[*index];
            let tasks: BTreeSet<u32> = step.task_allocations().map(|each| each.task_index).collect();
            Some(StepCoreTimes {
                step: step.name.clone(),
                tasks: tasks.into_iter().collect(),
                waited_s: times.waited_ns? as f64 / 1e9,
                worked_s: times.worked_ns as f64 / 1e9,
            })
        };
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(of_step).collect()
    }

    /// Reads the waits of all watched threads.
    pub fn read(&self) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| thread.upgrade().map(|thread| thread.read()).is_some());
    }
}

impl CoreTimes {
    fn plus(self, other: Self) -> Self {
        Self {
            waited_ns: self.waited_ns.zip(other.waited_ns).map(|(one, other)| one + other),
            worked_ns: self.worked_ns + other.worked_ns,
        }
    }
}

impl WatchedThread {
    /// Returns the long waits since the thread is watched.
    pub fn long_waits(&self) -> LongWaits {
        self.read();
        LongWaits {
            count: self.waits.load(Ordering::Relaxed),
            total_ns: self.waited_ns.load(Ordering::Relaxed),
        }
    }

    fn read(&self) {
        if let Some(stats) = RunQueueStats::read_from(&self.schedstat) {
            self.add(stats.wait_ns);
        }
    }

    /// Adds a reading of the time for which the thread has waited.
    fn add(&self, now_ns: u64) {
        let waited_ns = now_ns.saturating_sub(self.last_ns.fetch_max(now_ns, Ordering::Relaxed));
        if waited_ns >= MIN_WAIT_NS {
            self.waits.fetch_add(1, Ordering::Relaxed);
            self.waited_ns.fetch_add(waited_ns, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use super::*;

    #[test]
    fn only_long_waits_are_added_up() {
        let thread = CoreWaitMonitor::default().watch_current_thread().unwrap();
        let began_ns = thread.last_ns.load(Ordering::Relaxed);
        for after_us in [1_000, 5_999, 10_998, 10_998, 15_998, 40_000, 39_000] {
            thread.add(began_ns + after_us * 1_000);
        }
        let waits = LongWaits { count: 2, total_ns: 5_000_000 + 24_002_000 };
        assert_eq!(
            (thread.waits.load(Ordering::Relaxed), thread.waited_ns.load(Ordering::Relaxed)),
            (waits.count, waits.total_ns)
        );
        let of_step = CoreWaits::of_step("s", Duration::from_secs(2), waits, &[]).unwrap();
        assert!((of_step.share - 0.014_501).abs() < 1e-9, "{of_step:?}");
        assert_eq!(CoreWaits::of_step("s", Duration::from_secs(2), LongWaits::default(), &[]), None);
    }

    #[test]
    fn waits_have_the_seconds_in_which_they_were_however_long_the_step_is() {
        let mut spans = WaitSpans::new(5.0);
        for (now_s, total_ms) in [(6.0, 0), (7.0, 10), (8.0, 10), (9.5, 40)] {
            spans.add(now_s, total_ms * 1_000_000);
        }
        let span = |from_s, to_s, waited_s| WaitSpan { from_s, to_s, waited_s };
        assert_eq!(spans.take(), [span(6.0, 7.0, 0.01), span(8.0, 9.5, 0.03)]);
        let mut spans = WaitSpans::new(0.0);
        for second in 1..=10_000_u32 {
            spans.add(f64::from(second), u64::from(second) * 1_000_000);
        }
        let spans = spans.take();
        assert_eq!(spans.len(), USUAL_ENTRIES);
        assert!((spans.iter().map(|span| span.waited_s).sum::<f64>() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn the_waits_of_a_thread_are_read_by_a_different_one() {
        let monitor = CoreWaitMonitor::default();
        let all = sched_getaffinity(None).unwrap();
        let mut one = CpuSet::new();
        one.set((0..CpuSet::MAX_CPU).find(|core| all.is_set(*core)).unwrap());
        let is_over = AtomicBool::new(false);
        // Both threads always want the same core.
        let work = || {
            sched_setaffinity(None, &one).unwrap();
            let watched = monitor.watch_current_thread().unwrap();
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            watched.long_waits()
        };
        let waits = std::thread::scope(|scope| {
            let threads = [(); 2].map(|()| scope.spawn(work));
            while monitor.total_count() == 0 {
                std::thread::sleep(Duration::from_millis(20));
                monitor.read();
            }
            is_over.store(true, Ordering::Relaxed);
            threads.map(|thread| thread.join().unwrap())
        });
        assert!(waits.iter().any(|waits| waits.total_ns >= MIN_WAIT_NS), "{waits:?}");
    }

    impl CoreWaitMonitor {
        fn total_count(&self) -> u64 {
            let threads = self.threads.lock().unwrap();
            let of = |thread: Arc<WatchedThread>| thread.waits.load(Ordering::Relaxed);
            threads.iter().filter_map(Weak::upgrade).map(of).sum()
        }
    }

    #[test]
    fn the_times_of_a_step_are_those_of_all_its_threads_unless_one_is_not_known() {
        let (one, two) = (
            CoreTimes { waited_ns: Some(3), worked_ns: 5 },
            CoreTimes { waited_ns: Some(10), worked_ns: 20 },
        );
        let monitor = CoreWaitMonitor::default();
        for (step, times) in [(4, one), (1, one), (4, two)] {
            monitor.add_step(step, times);
        }
        let sum = CoreTimes { waited_ns: Some(13), worked_ns: 25 };
        assert_eq!(monitor.steps.lock().unwrap().iter().collect::<Vec<_>>(), [(&1, &one), (&4, &sum)]);
        monitor.add_step(4, CoreTimes { waited_ns: None, worked_ns: 7 });
        monitor.add_step(4, two);
        assert_eq!(monitor.steps.lock().unwrap()[&4], CoreTimes { waited_ns: None, worked_ns: 52 });
    }

    #[test]
    fn threads_that_have_ended_are_not_read_any_more() {
        let monitor = CoreWaitMonitor::default();
        let watched = std::thread::scope(|scope| {
            let thread = scope.spawn(|| monitor.watch_current_thread().unwrap()).join().unwrap();
            monitor.read();
            thread
        });
        monitor.read();
        assert_eq!(monitor.threads.lock().unwrap().len(), 1);
        drop(watched);
        monitor.read();
        assert!(monitor.threads.lock().unwrap().is_empty());
    }
}
