//! What a race returns when it has ended.

use std::time::Instant;

use serde::Serialize;

use crate::health::clocks::ClockHealth;
use crate::health::cpu::{Busiest, Delayed, RunQueue, Usage, thread_cpu_ns};
use crate::health::host::MachineUse;

/// How a race ended.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Summary {
    /// One per worker, one for the requests of runners in Python if there are any, `collect` and `control`.
    pub threads: Vec<ThreadSummary>,
    /// CPU time of the whole process while the race ran, Python included, seconds.
    pub process_cpu_s: f64,
    /// The machine while the race ran; `null` where the system does not say.
    pub machine: Option<MachineUse>,
    /// The clocks while the race ran.
    pub clock: ClockHealth,
    /// What does not add up in the driver's own counts, one sentence each: defects of the driver.
    pub contradictions: Vec<String>,
    /// Samples on disk.
    pub samples: u64,
    /// From the first step's beginning to the end of the race, seconds.
    pub wall_s: f64,
    /// The caller stopped it.
    pub stopped: bool,
    /// A failure ended it, and which.
    pub aborted: Option<String>,
    /// The driver itself could not go on, and why.
    pub error: Option<String>,
}

/// What a thread used.
#[derive(Debug, Clone, Serialize)]
pub struct ThreadSummary {
    /// Name of the thread, without the program's.
    pub name: String,
    /// CPU time, seconds.
    pub cpu_s: f64,
    /// Ready to run but without a core, seconds; `null` where the system does not say.
    pub run_queue_s: Option<f64>,
    /// Lifetime, seconds.
    pub wall_s: f64,
    /// Where it was busiest; `null` when no step lasted a second.
    pub busiest: Option<Busiest>,
    /// Where waiting for a core mattered most; `null` when nothing was there to tell.
    pub delayed: Option<Delayed>,
}

impl ThreadSummary {
    /// Of the calling thread, which is about to end.
    pub fn of_this(name: &str, born: Instant, usage: Usage) -> Self {
        Self {
            name: name.to_owned(),
            cpu_s: thread_cpu_ns() as f64 / 1e9,
            run_queue_s: RunQueue::read().map(|queue| queue.wait_ns as f64 / 1e9),
            wall_s: born.elapsed().as_secs_f64(),
            busiest: usage.busiest,
            delayed: usage.delayed,
        }
    }
}
