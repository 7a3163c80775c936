//! What a thread used, and how long it had to wait for a core.
//!
//! A thread that is ready to run and does not run reads replies late: whatever service time it measures then holds its
//! own waiting. The system counts how long, and how often it ran (`/proc/thread-self/schedstat`); both are read when a
//! step begins and when it ends, never between.

use std::fs;
use std::time::{Duration, Instant};

use pacenote_record::Sample;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::shared::nanos;

/// A step shorter than this says little about a thread.
const SHORTEST: Duration = Duration::from_secs(1);

/// Fewer operations of a task than these say little about it.
const FEWEST: u64 = 100;

/// The step in which a thread was busiest. Idle steps would average a saturated one away.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Busiest {
    /// Name of the step.
    pub step: String,
    /// CPU time / wall time.
    pub share: f64,
}

/// The task whose service times hold most of a thread's waiting for a core.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Delayed {
    /// Name of the step.
    pub step: String,
    /// Name of the task.
    pub task: String,
    /// How long the thread waited for a core each time that it had something to do, milliseconds, mean.
    pub wait_ms: f64,
    /// Service time of the thread's successes in the task, milliseconds, mean.
    pub service_ms: f64,
    /// The one / the other.
    pub share: f64,
    /// All the thread's waiting / wall time of the step.
    pub share_of_step: f64,
}

/// What a thread went through, step by step; the worst of each is kept.
#[derive(Debug, Default)]
pub struct Usage {
    /// Where it was busiest; `None` when no step lasted a second.
    pub busiest: Option<Busiest>,
    /// Where it was delayed most; `None` when no task of such a step had a hundred successes here, or the system does
    /// not say.
    pub delayed: Option<Delayed>,
}

/// What a thread carried out of a task in a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Position of the task in the plan.
    pub task: u32,
    /// Successes.
    pub operations: u64,
    /// Their service times together.
    pub service_ns: u64,
}

/// Waiting for a core, since the thread began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunQueue {
    /// Ready to run, but not running.
    pub wait_ns: u64,
    /// How often it ran.
    pub runs: u64,
}

/// What the calling thread uses from now on.
#[derive(Debug)]
pub struct Meter {
    began: Instant,
    cpu_ns: u64,
    queue: Option<RunQueue>,
}

/// What it used.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    /// By the clock.
    pub wall: Duration,
    /// On a core.
    pub cpu_ns: u64,
    /// For a core; `None` where the system does not say.
    pub queue: Option<RunQueue>,
}

impl Served {
    /// Adds an operation that has ended.
    pub fn note(&mut self, sample: &Sample) {
        if sample.success {
            self.operations += 1;
            self.service_ns += sample.service_ns();
        }
    }
}

impl RunQueue {
    /// Of the calling thread; `None` where the system does not say.
    pub fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
    }

    /// The text is `CPU-TIME WAITING RUNS`; a kernel without these counters writes zeros, or nothing.
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

impl Meter {
    /// Starts at 0.
    pub fn start() -> Self {
        let queue = RunQueue::read();
        Self { began: Instant::now(), cpu_ns: thread_cpu_ns(), queue }
    }

    /// What was used by now. So much of the CPU time went into watching the clock and would have been there for work.
    pub fn read(&self, watched_ns: u64) -> Spent {
        Spent {
            wall: self.began.elapsed(),
            cpu_ns: thread_cpu_ns().saturating_sub(self.cpu_ns).saturating_sub(watched_ns),
            queue: RunQueue::read().zip(self.queue).map(|(now, then)| now.since(then)),
        }
    }
}

impl Usage {
    /// Takes a step down in which so much was used, and such operations carried out; `name` knows the tasks.
    pub fn add(&mut self, step: &str, spent: Spent, served: &[Served], name: impl Fn(u32) -> String) {
        if spent.wall < SHORTEST {
            return;
        }
        let wall_ns = nanos(spent.wall) as f64;
        let busiest = Busiest { step: step.to_owned(), share: spent.cpu_ns as f64 / wall_ns };
        let known = self.busiest.take();
        self.busiest =
            known.into_iter().chain([busiest]).max_by(|one, other| one.share.total_cmp(&other.share));
        let Some(queue) = spent.queue.filter(|queue| queue.runs > 0) else { return };
        let wait_ms = queue.wait_ns as f64 / queue.runs as f64 / 1e6;
        let enough = served.iter().filter(|served| served.operations >= FEWEST && served.service_ns > 0);
        let delayed = enough.map(|served| {
            let service_ms = served.service_ns as f64 / served.operations as f64 / 1e6;
            let share = wait_ms / service_ms;
            let share_of_step = queue.wait_ns as f64 / wall_ns;
            let (step, task) = (step.to_owned(), name(served.task));
            Delayed { step, task, wait_ms, service_ms, share, share_of_step }
        });
        let known = self.delayed.take();
        self.delayed =
            known.into_iter().chain(delayed).max_by(|one, other| one.share.total_cmp(&other.share));
    }
}

/// CPU time of the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(ClockId::ThreadCPUTime)
}

/// CPU time of the whole process, in nanoseconds.
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

    fn spent(seconds: u64, wait_ns: u64, runs: u64) -> Spent {
        let queue = Some(RunQueue { wait_ns, runs });
        Spent { wall: Duration::from_secs(seconds), cpu_ns: 500 * MS, queue }
    }

    fn served(task: u32, operations: u64, each_ns: u64) -> Served {
        Served { task, operations, service_ns: operations * each_ns }
    }

    #[test]
    fn the_system_s_line_is_read_and_one_without_counters_is_none() {
        assert_eq!(RunQueue::parse("123 456 7\n"), Some(RunQueue { wait_ns: 456, runs: 7 }));
        assert_eq!(
            (RunQueue::parse("0 0 0\n"), RunQueue::parse(""), RunQueue::parse("1 x 2")),
            (None, None, None)
        );
    }

    #[test]
    fn a_thread_that_works_is_metered() {
        let meter = Meter::start();
        while thread_cpu_ns() - meter.cpu_ns < 2 * MS {}
        let spent = meter.read(0);
        assert!(spent.cpu_ns >= 2 * MS && spent.wall.as_nanos() >= u128::from(2 * MS));
        assert!(process_cpu_ns() >= thread_cpu_ns());
    }

    #[test]
    fn waiting_for_a_core_is_compared_with_the_shortest_service_times_of_the_step() {
        let mut usage = Usage::default();
        let name = |task| format!("t{task}");
        // 2,000 times 0.1 ms in 10 s.
        let both = [served(0, 1000, 20 * MS), served(1, 1000, MS)];
        usage.add("both", spent(10, 200 * MS, 2000), &both, name);
        let delayed = usage.delayed.clone().unwrap();
        assert_eq!((delayed.step.as_str(), delayed.task.as_str()), ("both", "t1"));
        assert!((delayed.wait_ms - 0.1).abs() < 1e-9 && (delayed.service_ms - 1.0).abs() < 1e-9);
        assert!((delayed.share - 0.1).abs() < 1e-9 && (delayed.share_of_step - 0.02).abs() < 1e-9);
        // A step in which it mattered less changes nothing, though the thread waited longer.
        usage.add("slow", spent(10, 2000 * MS, 2000), &[served(2, 100, 100 * MS)], name);
        assert_eq!(usage.delayed.as_ref(), Some(&delayed));
        assert!((usage.busiest.unwrap().share - 0.05).abs() < 1e-9);
    }

    #[test]
    fn little_says_nothing() {
        let mut usage = Usage::default();
        let name = |task| format!("t{task}");
        let short = Spent { wall: Duration::from_millis(999), ..spent(1, 900 * MS, 1) };
        usage.add("short", short, &[served(0, 1000, MS)], name);
        assert!(usage.busiest.is_none() && usage.delayed.is_none());
        usage.add("few", spent(1, 900 * MS, 1), &[served(0, 99, MS)], name);
        usage.add("mute", Spent { queue: None, ..spent(1, 0, 0) }, &[served(0, 1000, MS)], name);
        assert!(usage.busiest.is_some() && usage.delayed.is_none());
    }
}
