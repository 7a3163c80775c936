//! The summary of a race that has ended.

use std::time::Instant;

use pacenote_record::{LostSamples, MissingSamples};
use serde::Serialize;

use crate::health::clocks::ClockHealth;
use crate::health::core_waits::{CoreWaits, StepCoreTimes};
use crate::health::cpu::{BusiestStep, DelayedTask, FaultingStep, PeakLoad, major_faults, thread_cpu_ns};
use crate::health::cpu_quota::Throttling;
use crate::health::data_waits::DataWaits;
use crate::health::host::{CoreUsage, DriverCoreUsage};
use crate::health::run_queue::RunQueueStats;
use crate::late_joins::TaskLateJoins;
use crate::scheduling::monitor::SchedulingSummary;
use crate::transport::Endpoint;

/// How a race ended, and the resources it used.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RaceSummary {
    /// The threads: one per worker, one for the bridge to Python if the plan needs it, then `collect`, `health`
    /// and `control`.
    pub threads: Vec<ThreadSummary>,
    /// CPU time of the whole process during the race, Python included, in seconds.
    pub process_cpu_s: f64,
    /// Load of all CPUs of the host during the race; `null` if the operating system does not report it.
    pub machine: Option<CoreUsage>,
    /// Load of those that the driver may use; `null` if the operating system does not report it.
    pub cpus: Option<DriverCoreUsage>,
    /// Effect of CPU quotas of control groups during the race; `null` if the operating system does not report it.
    pub throttling: Option<Throttling>,
    /// For each step that has ended, for how long the threads that send requests waited for a core, and had one; without
    /// steps of which the operating system did not report it.
    pub core_times: Vec<StepCoreTimes>,
    /// Clients that joined a task late and skipped what they had missed of it.
    pub late_joins: Vec<TaskLateJoins>,
    /// How the kernel scheduled the threads; `null` if it is not known.
    pub scheduling: Option<SchedulingSummary>,
    /// The clocks during the race.
    pub clock: ClockHealth,
    /// The hosts of the cluster under test, then those of the other clusters.
    pub hosts: Vec<HostSummary>,
    /// Counts of the driver that do not add up, one sentence each. Each is caused by a bug in the driver.
    pub contradictions: Vec<String>,
    /// Requests of Python code that are not part of an operation, for each step that had some.
    pub outside_requests: Vec<StepOutsideRequests>,
    /// Number of samples on disk.
    pub samples: u64,
    /// Samples that could not be written although the results of their tasks count them as kept.
    pub lost_samples: Vec<LostTaskSamples>,
    /// When the first step started by the wall clock, in nanoseconds since 1970; `null` if none started.
    pub started_unix_ns: Option<u64>,
    /// Time from the start of the first step to the end of the race, in seconds.
    pub wall_s: f64,
    /// Whether the caller stopped the race.
    pub stopped: bool,
    /// The failure that ended the race.
    pub aborted: Option<String>,
    /// The error in the driver that ended the race.
    pub error: Option<String>,
}

/// Samples of one task that could not be written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LostTaskSamples {
    /// Position of the task in the plan.
    pub index: u32,
    /// Number of the samples.
    pub count: u64,
    /// When the operation of the first of them ended, in seconds since the task began.
    pub from_s: f64,
}

impl LostTaskSamples {
    /// Returns the samples of all tasks, in the order of the plan.
    #[must_use]
    pub fn of_all(lost: &LostSamples) -> Vec<Self> {
        let of = |(index, samples): (&u32, &MissingSamples)| Self {
            index: *index,
            count: samples.lost,
            from_s: samples.from_ns.unwrap_or_default() as f64 / 1e9,
        };
        lost.iter().map(of).collect()
    }
}

/// The requests of one step that are not part of an operation: the engine executes them, but no sample contains them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct StepOutsideRequests {
    /// Name of the step.
    pub step: String,
    /// Number of requests, including those that did not end.
    pub requests: u64,
    /// Number of requests, or operations on behalf of a runner, that failed.
    pub failed: u64,
    /// Bytes written to sockets, heads included.
    pub bytes_out: u64,
    /// Bytes read from sockets, heads included.
    pub bytes_in: u64,
}

/// What happened on the connections to one host, over all clients.
#[derive(Debug, Clone, Serialize)]
pub struct HostSummary {
    /// Name of the cluster in tracks; `default` for the cluster under test.
    pub cluster: String,
    /// Host and port.
    pub host: String,
    /// Number of requests that were sent and ended.
    pub requests: u64,
    /// How often no connection could be opened.
    pub connection_failures: u64,
    /// How often a client set the host aside, which never happens to the only host of a cluster.
    pub set_aside: u64,
}

impl HostSummary {
    /// Returns the summary of a host whose connections have all been dropped.
    #[must_use]
    pub fn new(cluster: &str, endpoint: &Endpoint) -> Self {
        let counted = endpoint.counts().total();
        Self {
            cluster: cluster.to_owned(),
            host: endpoint.authority().to_owned(),
            requests: counted.requests,
            connection_failures: counted.connection_failures,
            set_aside: counted.set_aside,
        }
    }
}

/// CPU time of a thread, and the time it waited for a core.
#[derive(Debug, Clone, Serialize)]
pub struct ThreadSummary {
    /// Name of the thread, without the prefix of the program.
    pub name: String,
    /// CPU time in seconds.
    pub cpu_s: f64,
    /// Time in which the thread was ready to run but had no core, in seconds; `null` if the operating system does not
    /// report it, or did not report it for a step.
    pub run_queue_s: Option<f64>,
    /// Number of major page faults, each of which waited for the disk; `null` if the operating system does not report
    /// it, or did not report it for a step.
    pub major_faults: Option<u64>,
    /// Lifetime in seconds.
    pub wall_s: f64,
    /// The step in which it was busiest; `null` if no step lasted a second.
    pub busiest: Option<BusiestStep>,
    /// The task that was affected most by waiting for a core; `null` if there is too little data.
    pub delayed: Option<DelayedTask>,
    /// The step of at least a second with the most major page faults per operation; `null` without any.
    pub faulting: Option<FaultingStep>,
    /// How busy it was in each step of at least a second.
    pub busiest_steps: Vec<BusiestStep>,
    /// How waiting for a core affected each task of such a step for which there is enough data.
    pub delayed_tasks: Vec<DelayedTask>,
    /// Such steps in which the thread had major page faults.
    pub faulting_steps: Vec<FaultingStep>,
    /// Waits for the disk while data files were read, for each step of at least a second in which the thread waited.
    pub data_waits: Vec<DataWaits>,
    /// Long waits for a core, for each step of at least a second in which the thread waited.
    pub core_waits: Vec<CoreWaits>,
}

impl ThreadSummary {
    /// Returns the summary of the calling thread, which was started at `started` and is about to end.
    #[must_use]
    pub fn of_current_thread(name: &str, started: Instant, peak_load: PeakLoad) -> Self {
        let queue = RunQueueStats::read().filter(|_| !peak_load.queue_is_unknown);
        Self {
            name: name.to_owned(),
            cpu_s: thread_cpu_ns() as f64 / 1e9,
            run_queue_s: queue.map(|queue| queue.wait_ns as f64 / 1e9),
            major_faults: major_faults().filter(|_| !peak_load.faults_are_unknown),
            wall_s: started.elapsed().as_secs_f64(),
            busiest: peak_load.busiest().cloned(),
            delayed: peak_load.delayed().cloned(),
            faulting: peak_load.faulting().cloned(),
            busiest_steps: peak_load.busiest_steps,
            delayed_tasks: peak_load.delayed_tasks,
            faulting_steps: peak_load.faulting_steps,
            data_waits: peak_load.data_waits,
            core_waits: peak_load.core_waits,
        }
    }
}
