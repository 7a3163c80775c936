//! CPU time of a thread, and the time it waited for a core.
//!
//! A thread that is ready to run but has no core reads responses late, so the service times it measures include its own
//! wait. The kernel counts how long a thread waited and how often it ran (`/proc/thread-self/schedstat`); both counters
//! are read at the beginning and end of a step, and so is the number of major page faults. CPU time is read once a
//! second.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pacenote_corpus::{DiskWaits, take_disk_waits};
use pacenote_record::ServiceTimeTotals;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::health::core_waits::{
    CoreTimes, CoreWaitMonitor, CoreWaits, LongWaits, WaitSpan, WaitSpans, WatchedThread,
};
use crate::health::data_waits::DataWaits;
use crate::health::reply_waits::ReplyWaits;
use crate::health::run_queue::RunQueueStats;
use crate::units::nanos;

/// Minimum length of a step that is evaluated; shorter steps provide too little data about a thread.
const MIN_STEP: Duration = Duration::from_secs(1);

/// Minimum number of operations for which a task is evaluated.
const MIN_OPERATIONS: u64 = 100;

/// Length of the time over which the load of a thread is averaged. A mean over a step would hide saturated seconds
/// among idle ones.
const WINDOW: Duration = Duration::from_secs(10);

/// Interval at which the CPU time of a thread is read.
const TICK: Duration = Duration::from_secs(1);

/// The ten seconds of a step in which a thread was busiest, or the step if it was shorter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BusiestStep {
    /// Name of the step.
    pub step: String,
    /// CPU time / wall time.
    pub share: f64,
    /// When these seconds began, in seconds since the step began.
    pub from_s: f64,
    /// Number of these seconds: at least ten, unless the step was shorter.
    pub length_s: f64,
}

/// The task whose service times were affected most by a thread's wait for a core.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DelayedTask {
    /// Name of the step.
    pub step: String,
    /// Name of the task.
    pub task: String,
    /// Wait for a core that delayed the thread's mean reply, in milliseconds; see [`ReplyWaits`].
    pub wait_ms: f64,
    /// Mean service time of the thread's successes in the task, in milliseconds.
    pub service_ms: f64,
    /// `wait_ms / service_ms`.
    pub share: f64,
    /// Total wait of the thread / wall time of the step.
    pub share_of_step: f64,
}

/// The step in which a thread had the most major page faults per operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FaultingStep {
    /// Name of the step.
    pub step: String,
    /// Number of major page faults, each of which waited for the disk.
    pub major_faults: u64,
    /// Number of operations of the thread that ended, or of requests for the thread that sends those of runners.
    pub operations: u64,
    /// `major_faults / operations`.
    pub share: f64,
}

/// Largest number of steps, and of tasks, of a thread that are recorded one by one; of more, those with the highest
/// shares.
const MAX_RECORDED: usize = 100;

/// The load of a thread in each step of at least a second, and its waits.
#[derive(Debug, Default)]
pub struct PeakLoad {
    /// How busy it was in each of these steps.
    pub busiest_steps: Vec<BusiestStep>,
    /// How much it was delayed in each task of such a step with a hundred successes on this thread; empty if the
    /// operating system does not count the wait.
    pub delayed_tasks: Vec<DelayedTask>,
    /// The steps in which it had major page faults; empty if the operating system does not report them.
    pub faulting_steps: Vec<FaultingStep>,
    /// Waits for data files, in each step of at least a second in which the thread waited.
    pub data_waits: Vec<DataWaits>,
    /// Long waits for a core, in each step of at least a second in which the thread waited.
    pub core_waits: Vec<CoreWaits>,
    /// Whether the wait for a core could not be read for a step of at least a second.
    pub queue_is_unknown: bool,
    /// Whether the number of major page faults could not be read for a step of at least a second.
    pub faults_are_unknown: bool,
}

/// Measures the CPU time and the waits of the calling thread from now on.
#[derive(Debug)]
pub struct CpuMeter {
    started: Instant,
    cpu_ns: u64,
    queue: Option<RunQueueStats>,
    replies: ReplyWaits,
    major_faults: Option<u64>,
    load: LoadWindow,
    /// `None` if the operating system does not count waits for a core.
    watched: Option<Arc<WatchedThread>>,
    wait_spans: WaitSpans,
    /// When it started, in seconds since the first step of the race began.
    began_s: f64,
}

/// CPU time and waits of a thread in an interval.
#[derive(Debug, Clone)]
pub struct CpuUsage {
    /// Length of the interval.
    pub wall: Duration,
    /// The part of the interval with the highest load.
    pub busiest: LoadShare,
    /// The wait for a core, or `None` if the operating system does not count it.
    pub queue: Option<RunQueueStats>,
    /// The replies, and samples of the waits for a core that delayed them.
    pub replies: ReplyWaits,
    /// Number of major page faults, or `None` if the operating system does not report it.
    pub major_faults: Option<u64>,
    /// Waits for data files.
    pub data_waits: DiskWaits,
    /// Long waits for a core.
    pub core_waits: LongWaits,
    /// When these were.
    pub wait_spans: Vec<WaitSpan>,
    /// CPU time, spin waits included.
    pub cpu_ns: u64,
}

/// The load of a thread in a part of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LoadShare {
    /// CPU time / wall time.
    pub share: f64,
    /// When the part began, since the beginning of the interval.
    pub from: Duration,
    /// Length of the part.
    pub length: Duration,
}

/// Finds the ten seconds with the highest load.
#[derive(Debug)]
struct LoadWindow {
    /// Readings of the last ten seconds, and one that is older, if there is one.
    readings: VecDeque<LoadReading>,
    busiest: Option<LoadShare>,
}

/// The CPU time that a thread has used since the beginning of an interval.
#[derive(Debug, Clone, Copy, Default)]
struct LoadReading {
    at: Duration,
    cpu_ns: u64,
}

impl LoadReading {
    /// Returns the load from this reading to a later one.
    fn load_until(self, later: Self) -> LoadShare {
        let length = later.at.saturating_sub(self.at);
        let cpu_ns = later.cpu_ns.saturating_sub(self.cpu_ns);
        LoadShare { share: cpu_ns as f64 / nanos(length).max(1) as f64, from: self.at, length }
    }
}

impl LoadWindow {
    fn new() -> Self {
        Self { readings: VecDeque::from([LoadReading::default()]), busiest: None }
    }

    /// Adds a reading. Must be called about once a second.
    fn add(&mut self, reading: LoadReading) {
        let begins_window = |candidate: &LoadReading| reading.at.saturating_sub(candidate.at) >= WINDOW;
        while self.readings.get(1).is_some_and(begins_window) {
            self.readings.pop_front();
        }
        if let Some(first) = self.readings.front().copied().filter(begins_window) {
            let load = first.load_until(reading);
            self.busiest = Some(self.busiest.filter(|known| known.share >= load.share).unwrap_or(load));
        }
        self.readings.push_back(reading);
    }

    /// Returns the highest load up to `last`, or that of the whole interval if it is shorter than ten seconds.
    fn end(&mut self, last: LoadReading) -> LoadShare {
        self.add(last);
        self.busiest.unwrap_or_else(|| LoadReading::default().load_until(last))
    }
}

impl CpuMeter {
    /// Starts measuring, `start_ns` after the first step of the race began. `core_waits` is read by a different thread
    /// meanwhile.
    pub fn start(core_waits: &CoreWaitMonitor, start_ns: u64) -> Self {
        let began_s = start_ns as f64 / 1e9;
        // Those of the preparation of the step.
        take_disk_waits();
        Self {
            queue: RunQueueStats::read(),
            replies: ReplyWaits::read(),
            major_faults: major_faults(),
            started: Instant::now(),
            cpu_ns: thread_cpu_ns(),
            load: LoadWindow::new(),
            watched: core_waits.watch_current_thread(),
            wait_spans: WaitSpans::new(began_s),
            began_s,
        }
    }

    /// Reads the CPU time and the waits once a second, until the task that executes this is aborted. `idle_spin_ns` returns the CPU
    /// time since the start of spin waits while the thread was idle. It is subtracted, because it would have been
    /// available for work.
    pub async fn tick_every_second(meter: Rc<RefCell<Self>>, idle_spin_ns: impl Fn() -> u64) {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            ticks.tick().await;
            let reading = meter.borrow().load_reading(idle_spin_ns());
            let mut meter = meter.borrow_mut();
            meter.load.add(reading);
            meter.read_waits();
        }
    }

    /// Returns the usage since the start; see [`CpuMeter::tick_every_second`].
    pub fn end(&mut self, idle_spin_ns: u64) -> CpuUsage {
        let last = self.load_reading(idle_spin_ns);
        let core_waits = self.read_waits();
        CpuUsage {
            wall: last.at,
            busiest: self.load.end(last),
            queue: RunQueueStats::read().zip(self.queue).and_then(|(now, then)| now.since(then)),
            replies: ReplyWaits::read().since(self.replies),
            major_faults: major_faults().zip(self.major_faults).and_then(|(now, then)| now.checked_sub(then)),
            data_waits: take_disk_waits(),
            core_waits,
            wait_spans: self.wait_spans.take(),
            cpu_ns: thread_cpu_ns().saturating_sub(self.cpu_ns),
        }
    }

    /// Returns the long waits until now, and adds when they were.
    fn read_waits(&mut self) -> LongWaits {
        let waits = self.watched.as_ref().map(|thread| thread.long_waits()).unwrap_or_default();
        self.wait_spans.add(self.began_s + self.started.elapsed().as_secs_f64(), waits.total_ns);
        waits
    }

    fn load_reading(&self, idle_spin_ns: u64) -> LoadReading {
        let cpu_ns = thread_cpu_ns().saturating_sub(self.cpu_ns).saturating_sub(idle_spin_ns);
        LoadReading { at: self.started.elapsed(), cpu_ns }
    }
}

impl CpuUsage {
    /// Returns for how long the thread waited for a core, and had one.
    pub fn core_times(&self) -> CoreTimes {
        CoreTimes { waited_ns: self.queue.map(|queue| queue.wait_ns), worked_ns: self.cpu_ns }
    }
}

impl PeakLoad {
    /// Adds a step: its usage and the successes of its tasks. `task_name` returns the name of a task by its position in
    /// the plan.
    pub fn add(
        &mut self,
        step: &str,
        usage: &CpuUsage,
        tasks: &[ServiceTimeTotals],
        task_name: impl Fn(u32) -> String,
    ) {
        if usage.wall < MIN_STEP {
            return;
        }
        let LoadShare { share, from, length } = usage.busiest;
        let (from_s, length_s) = (from.as_secs_f64(), length.as_secs_f64());
        add_bounded(
            &mut self.busiest_steps,
            BusiestStep { step: step.to_owned(), share, from_s, length_s },
            |each| each.share,
        );
        self.data_waits.extend(DataWaits::of_step(step, usage.wall, &usage.data_waits));
        self.core_waits.extend(CoreWaits::of_step(step, usage.wall, usage.core_waits, &usage.wait_spans));
        self.add_faults(step, usage);
        self.add_waits(step, usage, tasks, task_name);
    }

    fn add_faults(&mut self, step: &str, usage: &CpuUsage) {
        self.faults_are_unknown |= usage.major_faults.is_none();
        let (major_faults, operations) = (usage.major_faults.unwrap_or(0), usage.replies.replies);
        if major_faults > 0 && operations > 0 {
            let share = major_faults as f64 / operations as f64;
            let faulting = FaultingStep { step: step.to_owned(), major_faults, operations, share };
            add_bounded(&mut self.faulting_steps, faulting, |each| each.share);
        }
    }

    fn add_waits(
        &mut self,
        step: &str,
        usage: &CpuUsage,
        tasks: &[ServiceTimeTotals],
        task_name: impl Fn(u32) -> String,
    ) {
        self.queue_is_unknown |= usage.queue.is_none();
        let Some(queue) = usage.queue.filter(|queue| queue.runs > 0) else { return };
        let Some(wait_ms) = usage.replies.mean_ns(queue).map(|wait_ns| wait_ns / 1e6) else { return };
        let enough =
            tasks.iter().filter(|totals| totals.succeeded >= MIN_OPERATIONS && totals.service_ns > 0);
        for totals in enough {
            let service_ms = totals.service_ns as f64 / totals.succeeded as f64 / 1e6;
            let share = wait_ms / service_ms;
            let share_of_step = queue.wait_ns as f64 / nanos(usage.wall) as f64;
            let (step, task) = (step.to_owned(), task_name(totals.task_index));
            let delayed = DelayedTask { step, task, wait_ms, service_ms, share, share_of_step };
            add_bounded(&mut self.delayed_tasks, delayed, |each| each.share);
        }
    }

    /// Returns the step in which the thread was busiest, or `None` if no step lasted a second.
    #[must_use]
    pub fn busiest(&self) -> Option<&BusiestStep> {
        highest(&self.busiest_steps, |each| each.share)
    }

    /// Returns the task in which the thread was delayed most, or `None` if there is none.
    #[must_use]
    pub fn delayed(&self) -> Option<&DelayedTask> {
        highest(&self.delayed_tasks, |each| each.share)
    }

    /// Returns the step with the most major page faults per operation, or `None` if there were none.
    #[must_use]
    pub fn faulting(&self) -> Option<&FaultingStep> {
        highest(&self.faulting_steps, |each| each.share)
    }
}

/// Adds a value to a list; the one with the lowest share leaves a list that would become too long.
fn add_bounded<T>(list: &mut Vec<T>, value: T, share: impl Fn(&T) -> f64) {
    list.push(value);
    if list.len() > MAX_RECORDED {
        let lowest = (0..list.len()).min_by(|one, other| share(&list[*one]).total_cmp(&share(&list[*other])));
        lowest.map(|at| list.remove(at));
    }
}

fn highest<T>(list: &[T], share: impl Fn(&T) -> f64) -> Option<&T> {
    list.iter().max_by(|one, other| share(one).total_cmp(&share(other)))
}

/// Returns the number of major page faults of the calling thread, or `None` if the operating system does not report it.
pub fn major_faults() -> Option<u64> {
    parse_major_faults(&fs::read_to_string("/proc/thread-self/stat").ok()?)
}

/// Parses `ID (NAME) STATE ...`, in which `NAME` may contain spaces and parentheses. Major faults are the tenth field
/// after it.
fn parse_major_faults(text: &str) -> Option<u64> {
    text.rsplit_once(')')?.1.split_ascii_whitespace().nth(9)?.parse().ok()
}

/// Returns the CPU time of the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(ClockId::ThreadCPUTime)
}

/// Returns the CPU time of the whole process, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    clock_ns(ClockId::ProcessCPUTime)
}

fn clock_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    nanos(Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn usage(seconds: u64, wait_ns: u64, runs: u64) -> CpuUsage {
        CpuUsage {
            wall: Duration::from_secs(seconds),
            busiest: LoadShare { share: 0.5, from: Duration::from_secs(3), length: WINDOW },
            queue: Some(RunQueueStats { wait_ns, runs }),
            replies: ReplyWaits { replies: runs, ..ReplyWaits::default() },
            major_faults: Some(0),
            data_waits: DiskWaits::default(),
            core_waits: LongWaits::default(),
            wait_spans: Vec::new(),
            cpu_ns: 0,
        }
    }

    fn totals(task_index: u32, succeeded: u64, each_ns: u64) -> ServiceTimeTotals {
        ServiceTimeTotals { task_index, succeeded, service_ns: succeeded * each_ns }
    }

    #[test]
    fn major_faults_are_parsed_after_a_name_with_any_characters() {
        let line = "17 (pacenote-) d 9) R 1 2 3 4 5 6 700 8 42 10 11 12";
        assert_eq!((parse_major_faults(line), parse_major_faults("17 (x) R 1")), (Some(42), None));
        assert!(major_faults().is_some());
    }

    #[test]
    fn the_meter_measures_cpu_time_of_its_thread() {
        let mut meter = CpuMeter::start(&CoreWaitMonitor::default(), 0);
        while thread_cpu_ns() - meter.cpu_ns < 2 * MS {}
        let used = meter.end(0);
        let cpu_ns = used.busiest.share * used.wall.as_nanos() as f64;
        assert!(cpu_ns >= 2e6 && used.wall.as_nanos() >= u128::from(2 * MS));
        assert!(process_cpu_ns() >= thread_cpu_ns());
    }

    /// Returns the highest load of a thread that used `cpu_ms` of CPU time in each of these seconds.
    fn busiest(cpu_ms: impl IntoIterator<Item = u64>) -> (f64, u64) {
        let (mut window, mut last) = (LoadWindow::new(), LoadReading::default());
        for cpu_ms in cpu_ms {
            last = LoadReading { at: last.at + TICK, cpu_ns: last.cpu_ns + cpu_ms * MS };
            window.add(last);
        }
        let LoadShare { share, from, .. } = window.end(last);
        ((share * 1000.0).round() / 1000.0, from.as_secs())
    }

    #[test]
    fn the_load_is_that_of_the_worst_ten_seconds() {
        let minute =
            |from: u64, until: u64| (0..60).map(move |at| if (from..until).contains(&at) { 950 } else { 50 });
        assert_eq!(busiest(minute(20, 30)), (0.95, 20));
        assert_eq!(busiest(minute(20, 25)), (0.5, 15));
        assert_eq!(busiest(minute(50, 60)), (0.95, 50));
        assert_eq!(busiest(minute(0, 60)), (0.95, 0));
        // A shorter step is a single window.
        assert_eq!(busiest([900, 100, 200, 0]), (0.3, 0));
        assert_eq!(busiest(vec![100; 9].into_iter().chain([1000])), (0.19, 0));
        // A step that ends between two readings: its last ten seconds are part of a window of 10.5 s.
        let (mut window, mut last) = (LoadWindow::new(), LoadReading::default());
        for half_seconds in [2; 14].into_iter().chain([1]) {
            let busy_ns = if last.at >= Duration::from_secs(5) { half_seconds * 500 * MS } else { 0 };
            let at = last.at + TICK / 2 * u32::try_from(half_seconds).unwrap();
            last = LoadReading { at, cpu_ns: last.cpu_ns + busy_ns };
            window.add(last);
        }
        let load = window.end(last);
        assert!((load.share - 9.5 / 10.5).abs() < 1e-9 && load.from == Duration::from_secs(4), "{load:?}");
        assert_eq!(load.length, Duration::from_millis(10_500));
        // A thread that was not ticked for a minute.
        let mut window = LoadWindow::new();
        window.add(LoadReading { at: Duration::from_mins(1), cpu_ns: 30_000 * MS });
        let load = window.end(LoadReading { at: Duration::from_secs(62), cpu_ns: 32_000 * MS });
        assert!((load.share * 62.0 - 32.0).abs() < 1e-9, "{load:?}");
    }

    #[test]
    fn the_wait_for_a_core_is_compared_with_the_shortest_service_times_of_the_step() {
        let mut peak = PeakLoad::default();
        let name = |task| format!("t{task}");
        // 2,000 times 0.1 ms in 10 s.
        let both = [totals(0, 1000, 20 * MS), totals(1, 1000, MS)];
        peak.add("both", &usage(10, 200 * MS, 2000), &both, name);
        let delayed = peak.delayed().cloned().unwrap();
        assert_eq!((delayed.step.as_str(), delayed.task.as_str()), ("both", "t1"));
        assert!((delayed.wait_ms - 0.1).abs() < 1e-9 && (delayed.service_ms - 1.0).abs() < 1e-9);
        assert!((delayed.share - 0.1).abs() < 1e-9 && (delayed.share_of_step - 0.02).abs() < 1e-9);
        // A step with a smaller share changes nothing, although the thread waited longer.
        peak.add("slow", &usage(10, 2000 * MS, 2000), &[totals(2, 100, 100 * MS)], name);
        assert_eq!(peak.delayed(), Some(&delayed));
        let busiest = peak.busiest().unwrap();
        assert_eq!((busiest.step.as_str(), busiest.share), ("slow", 0.5));
        assert_eq!((busiest.from_s, busiest.length_s), (3.0, 10.0));
    }

    #[test]
    fn every_step_and_task_is_recorded_and_not_only_the_worst() {
        let mut peak = PeakLoad::default();
        let name = |task| format!("t{task}");
        for (step, share, faults, tasks) in [
            ("worst", 0.95, 90, [totals(0, 1000, MS), totals(1, 1000, 2 * MS)]),
            ("bad", 0.9, 40, [totals(2, 1000, 3 * MS), totals(3, 1000, 4 * MS)]),
        ] {
            let busiest = LoadShare { share, ..usage(10, 0, 0).busiest };
            let usage = CpuUsage { busiest, major_faults: Some(faults), ..usage(10, 200 * MS, 200) };
            peak.add(step, &usage, &tasks, name);
        }
        let busy: Vec<_> = peak.busiest_steps.iter().map(|each| (each.step.as_str(), each.share)).collect();
        assert_eq!(busy, [("worst", 0.95), ("bad", 0.9)]);
        let delayed: Vec<_> = peak.delayed_tasks.iter().map(|each| each.task.as_str()).collect();
        assert_eq!(delayed, ["t0", "t1", "t2", "t3"]);
        let faulting: Vec<_> =
            peak.faulting_steps.iter().map(|each| (each.step.as_str(), each.major_faults)).collect();
        assert_eq!(faulting, [("worst", 90), ("bad", 40)]);
    }

    #[test]
    fn of_very_many_steps_those_with_the_highest_shares_are_kept() {
        let mut peak = PeakLoad::default();
        for number in 0..MAX_RECORDED + 2 {
            let share = if number == 1 { 0.9 } else { number as f64 / 1e6 };
            let busiest = LoadShare { share, ..usage(1, 0, 0).busiest };
            peak.add(&number.to_string(), &CpuUsage { busiest, ..usage(1, 0, 0) }, &[], |_| String::new());
        }
        assert_eq!(peak.busiest_steps.len(), MAX_RECORDED);
        assert_eq!(peak.busiest().unwrap().step, "1");
        assert!(peak.busiest_steps.iter().all(|each| each.step != "0" && each.step != "2"));
    }

    #[test]
    fn short_steps_and_few_operations_are_left_out() {
        let mut peak = PeakLoad::default();
        let name = |task| format!("t{task}");
        let short = CpuUsage { wall: Duration::from_millis(999), ..usage(1, 900 * MS, 1) };
        peak.add("short", &short, &[totals(0, 1000, MS)], name);
        assert!(peak.busiest().is_none() && peak.delayed().is_none());
        peak.add("few", &usage(1, 900 * MS, 1), &[totals(0, 99, MS)], name);
        peak.add("uncounted", &CpuUsage { queue: None, ..usage(1, 0, 0) }, &[totals(0, 1000, MS)], name);
        assert!(peak.busiest().is_some() && peak.delayed().is_none());
        assert!(peak.queue_is_unknown && !peak.faults_are_unknown);
    }

    #[test]
    fn the_page_faults_are_those_of_the_step_with_the_most_per_operation() {
        let mut peak = PeakLoad::default();
        let name = |task| format!("t{task}");
        for (step, replies, faults) in
            [("many", 10_000, Some(20)), ("most", 100, Some(15)), ("lost", 9, None)]
        {
            peak.add(step, &CpuUsage { major_faults: faults, ..usage(2, 0, replies) }, &[], name);
        }
        let faulting = peak.faulting().unwrap();
        assert_eq!((faulting.step.as_str(), faulting.major_faults, faulting.operations), ("most", 15, 100));
        assert!((faulting.share - 0.15).abs() < 1e-9 && peak.faults_are_unknown);
        let mut none = PeakLoad::default();
        none.add("none", &usage(2, 0, 100), &[], name);
        assert!(none.faulting().is_none() && !none.faults_are_unknown);
    }

    #[test]
    fn waits_for_data_are_shares_of_the_time_of_their_own_thread() {
        let mut peak = PeakLoad::default();
        let path = std::path::PathBuf::from("/data/docs.json");
        let waits = DiskWaits { count: 3, total_ns: 800 * MS, longest_ns: 500 * MS, path: Some(path) };
        peak.add("index", &CpuUsage { data_waits: waits, ..usage(10, 0, 0) }, &[], |_| String::new());
        peak.add("none", &usage(10, 0, 0), &[], |_| String::new());
        let [waits] = &peak.data_waits[..] else { panic!("{:?}", peak.data_waits) };
        assert_eq!((waits.step.as_str(), waits.file.as_str(), waits.waits), ("index", "docs.json", 3));
        assert!((waits.waited_s - 0.8).abs() < 1e-9 && (waits.longest_ms - 500.0).abs() < 1e-9);
        assert!((waits.share - 0.08).abs() < 1e-9, "{waits:?}");
    }

    #[test]
    fn long_waits_for_a_core_are_kept_for_each_step_that_is_long_enough() {
        let mut peak = PeakLoad::default();
        let core_waits = LongWaits { count: 20, total_ns: 300 * MS };
        let short = Duration::from_millis(999);
        for (step, wall) in [("index", Duration::from_secs(10)), ("short", short)] {
            peak.add(step, &CpuUsage { wall, core_waits, ..usage(1, 0, 0) }, &[], |_| String::new());
        }
        peak.add("none", &usage(10, 0, 0), &[], |_| String::new());
        let [waits] = &peak.core_waits[..] else { panic!("{:?}", peak.core_waits) };
        assert_eq!((waits.step.as_str(), waits.waits), ("index", 20));
        assert!((waits.waited_s - 0.3).abs() < 1e-9 && (waits.share - 0.03).abs() < 1e-9, "{waits:?}");
    }
}
