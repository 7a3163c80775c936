//! CPU time of a thread, and the time it waited for a core.
//!
//! A thread that is ready to run but has no core reads responses late, so the service times it measures include its own
//! wait. The kernel counts how long a thread waited and how often it ran (`/proc/thread-self/schedstat`); both counters
//! are read only at the beginning and end of a step.

use std::fs;
use std::time::{Duration, Instant};

use pacenote_record::ServiceTimeTotals;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::units::nanos;

/// Minimum length of a step that is evaluated; shorter steps provide too little data about a thread.
const MIN_STEP: Duration = Duration::from_secs(1);

/// Minimum number of operations for which a task is evaluated.
const MIN_OPERATIONS: u64 = 100;

/// The step in which a thread was busiest. A mean over all steps would hide a saturated step among idle ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BusiestStep {
    /// Name of the step.
    pub step: String,
    /// CPU time / wall time.
    pub share: f64,
}

/// The task whose service times were affected most by a thread's wait for a core.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DelayedTask {
    /// Name of the step.
    pub step: String,
    /// Name of the task.
    pub task: String,
    /// Mean wait for a core each time the thread became ready to run, in milliseconds.
    pub wait_ms: f64,
    /// Mean service time of the thread's successes in the task, in milliseconds.
    pub service_ms: f64,
    /// `wait_ms / service_ms`.
    pub share: f64,
    /// Total wait of the thread / wall time of the step.
    pub share_of_step: f64,
}

/// The highest load of a thread over all steps.
#[derive(Debug, Default)]
pub struct PeakLoad {
    /// The step in which it was busiest, or `None` if no step lasted a second.
    pub busiest: Option<BusiestStep>,
    /// The task in which it was delayed most, or `None` if no task of such a step had a hundred successes on this
    /// thread, or if the operating system does not count the wait.
    pub delayed: Option<DelayedTask>,
}

/// The kernel's counters of a thread's wait for a core, since the thread started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunQueueStats {
    /// Time in which the thread was ready to run but had no core, in nanoseconds.
    pub wait_ns: u64,
    /// Number of times that the thread ran.
    pub runs: u64,
}

/// Measures the CPU time and the waits of the calling thread from now on.
#[derive(Debug)]
pub struct CpuMeter {
    started: Instant,
    cpu_ns: u64,
    queue: Option<RunQueueStats>,
}

/// CPU time and waits of a thread in an interval.
#[derive(Debug, Clone, Copy)]
pub struct CpuUsage {
    /// Length of the interval.
    pub wall: Duration,
    /// CPU time in nanoseconds, without that of spin waits while the thread was idle.
    pub cpu_ns: u64,
    /// The wait for a core, or `None` if the operating system does not count it.
    pub queue: Option<RunQueueStats>,
}

impl RunQueueStats {
    /// Returns the counters of the calling thread, or `None` if the operating system does not provide them.
    pub fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
    }

    /// Parses `CPU-TIME WAIT RUNS`. On a kernel without these counters, the file is empty or contains zeros.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_ascii_whitespace().skip(1).map(str::parse);
        let (wait_ns, runs) = (fields.next()?.ok()?, fields.next()?.ok()?);
        (runs > 0).then_some(Self { wait_ns, runs })
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            wait_ns: self.wait_ns.saturating_sub(earlier.wait_ns),
            runs: self.runs.saturating_sub(earlier.runs),
        }
    }
}

impl CpuMeter {
    /// Starts measuring.
    pub fn start() -> Self {
        let queue = RunQueueStats::read();
        Self { started: Instant::now(), cpu_ns: thread_cpu_ns(), queue }
    }

    /// Returns the usage since the start. The CPU time of spin waits while the thread was idle, `idle_spin_ns`, is
    /// subtracted, because it would have been available for work.
    pub fn read(&self, idle_spin_ns: u64) -> CpuUsage {
        CpuUsage {
            wall: self.started.elapsed(),
            cpu_ns: thread_cpu_ns().saturating_sub(self.cpu_ns).saturating_sub(idle_spin_ns),
            queue: RunQueueStats::read().zip(self.queue).map(|(now, then)| now.since(then)),
        }
    }
}

impl PeakLoad {
    /// Adds a step: its usage and the successes of its tasks. `task_name` returns the name of a task by its position in
    /// the plan.
    pub fn add(
        &mut self,
        step: &str,
        usage: CpuUsage,
        tasks: &[ServiceTimeTotals],
        task_name: impl Fn(u32) -> String,
    ) {
        if usage.wall < MIN_STEP {
            return;
        }
        let wall_ns = nanos(usage.wall) as f64;
        let busiest = BusiestStep { step: step.to_owned(), share: usage.cpu_ns as f64 / wall_ns };
        let known = self.busiest.take();
        self.busiest =
            known.into_iter().chain([busiest]).max_by(|one, other| one.share.total_cmp(&other.share));
        let Some(queue) = usage.queue.filter(|queue| queue.runs > 0) else { return };
        let wait_ms = queue.wait_ns as f64 / queue.runs as f64 / 1e6;
        let enough =
            tasks.iter().filter(|totals| totals.succeeded >= MIN_OPERATIONS && totals.service_ns > 0);
        let delayed = enough.map(|totals| {
            let service_ms = totals.service_ns as f64 / totals.succeeded as f64 / 1e6;
            let share = wait_ms / service_ms;
            let share_of_step = queue.wait_ns as f64 / wall_ns;
            let (step, task) = (step.to_owned(), task_name(totals.task_index));
            DelayedTask { step, task, wait_ms, service_ms, share, share_of_step }
        });
        let known = self.delayed.take();
        self.delayed =
            known.into_iter().chain(delayed).max_by(|one, other| one.share.total_cmp(&other.share));
    }
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
        let queue = Some(RunQueueStats { wait_ns, runs });
        CpuUsage { wall: Duration::from_secs(seconds), cpu_ns: 500 * MS, queue }
    }

    fn totals(task_index: u32, succeeded: u64, each_ns: u64) -> ServiceTimeTotals {
        ServiceTimeTotals { task_index, succeeded, service_ns: succeeded * each_ns }
    }

    #[test]
    fn schedstat_is_parsed_and_missing_counters_are_none() {
        assert_eq!(RunQueueStats::parse("123 456 7\n"), Some(RunQueueStats { wait_ns: 456, runs: 7 }));
        assert_eq!(
            (RunQueueStats::parse("0 0 0\n"), RunQueueStats::parse(""), RunQueueStats::parse("1 x 2")),
            (None, None, None)
        );
    }

    #[test]
    fn major_faults_are_parsed_after_a_name_with_any_characters() {
        let line = "17 (pacenote-) d 9) R 1 2 3 4 5 6 700 8 42 10 11 12";
        assert_eq!((parse_major_faults(line), parse_major_faults("17 (x) R 1")), (Some(42), None));
        assert!(major_faults().is_some());
    }

    #[test]
    fn the_meter_measures_cpu_time_of_its_thread() {
        let meter = CpuMeter::start();
        while thread_cpu_ns() - meter.cpu_ns < 2 * MS {}
        let used = meter.read(0);
        assert!(used.cpu_ns >= 2 * MS && used.wall.as_nanos() >= u128::from(2 * MS));
        assert!(process_cpu_ns() >= thread_cpu_ns());
    }

    #[test]
    fn the_wait_for_a_core_is_compared_with_the_shortest_service_times_of_the_step() {
        let mut peak = PeakLoad::default();
        let name = |task| format!("t{task}");
        // 2,000 times 0.1 ms in 10 s.
        let both = [totals(0, 1000, 20 * MS), totals(1, 1000, MS)];
        peak.add("both", usage(10, 200 * MS, 2000), &both, name);
        let delayed = peak.delayed.clone().unwrap();
        assert_eq!((delayed.step.as_str(), delayed.task.as_str()), ("both", "t1"));
        assert!((delayed.wait_ms - 0.1).abs() < 1e-9 && (delayed.service_ms - 1.0).abs() < 1e-9);
        assert!((delayed.share - 0.1).abs() < 1e-9 && (delayed.share_of_step - 0.02).abs() < 1e-9);
        // A step with a smaller share changes nothing, although the thread waited longer.
        peak.add("slow", usage(10, 2000 * MS, 2000), &[totals(2, 100, 100 * MS)], name);
        assert_eq!(peak.delayed.as_ref(), Some(&delayed));
        assert!((peak.busiest.unwrap().share - 0.05).abs() < 1e-9);
    }

    #[test]
    fn short_steps_and_few_operations_are_left_out() {
        let mut peak = PeakLoad::default();
        let name = |task| format!("t{task}");
        let short = CpuUsage { wall: Duration::from_millis(999), ..usage(1, 900 * MS, 1) };
        peak.add("short", short, &[totals(0, 1000, MS)], name);
        assert!(peak.busiest.is_none() && peak.delayed.is_none());
        peak.add("few", usage(1, 900 * MS, 1), &[totals(0, 99, MS)], name);
        peak.add("uncounted", CpuUsage { queue: None, ..usage(1, 0, 0) }, &[totals(0, 1000, MS)], name);
        assert!(peak.busiest.is_some() && peak.delayed.is_none());
    }
}
