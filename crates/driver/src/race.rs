//! The public interface of a race: start it, wait for its events, stop it.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pacenote_plan::Plan;
use pacenote_record::{Collector, RecordSender, TaskProgress};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

use crate::coordinator::Coordinator;
use crate::coordinator::pool::WorkerPool;
use crate::coordinator::threads::spawn;
use crate::error::DriveError;
use crate::plan_to_record::{retention_policy, task_infos};
use crate::python::PythonBridge;
use crate::race_state::{RaceEvent, RaceState, RetryWait, StopLevel};
use crate::scheduling::monitor::SchedulingMonitor;
use crate::transport::http::ResponseMemory;
use crate::transport::{Endpoint, Endpoints, SystemRoots};
use crate::worker::thread::WorkerContext;

/// A running race.
#[derive(Debug)]
pub struct Race {
    state: Arc<RaceState>,
    bridge: Option<Arc<PythonBridge>>,
    /// The coordinator's thread, which is joined on drop so that no thread outlives its race.
    coordinator: Option<JoinHandle<()>>,
}

/// Progress of a race.
#[derive(Debug, Clone, Serialize)]
pub struct RaceProgress {
    /// Number of the current step, starting at 1.
    pub step: usize,
    /// Number of steps.
    pub steps: usize,
    /// Seconds since the first step started.
    pub elapsed_s: f64,
    /// Progress of the running tasks.
    pub tasks: Vec<TaskProgress>,
    /// Operations that are retried until they succeed, at most one per task.
    pub waits: Vec<RetryWait>,
}

impl Race {
    /// Starts a plan and records it in `folder`, which must exist. The responses of all connections share `memory`.
    ///
    /// # Errors
    ///
    /// If a host cannot be resolved, a certificate or key cannot be read, the process may not have the priority that the
    /// plan demands, or the operating system cannot provide a
    /// thread or a file.
    pub fn start(plan: Plan, folder: &Path, memory: ResponseMemory) -> Result<Self, DriveError> {
        let endpoints = cluster_endpoints(&plan, &Arc::new(memory))?;
        raise_descriptor_limit();
        let plan = Arc::new(plan);
        let worker_count = worker_count(&plan);
        let scheduling = SchedulingMonitor::new(plan.driver.scheduling);
        if let Some(reason) = scheduling.violation() {
            return Err(DriveError::Realtime(reason.to_owned()));
        }
        let state = Arc::new(RaceState::new(worker_count, plan.steps.len(), scheduling));
        let python = PythonBridge::for_plan(&plan, &endpoints, &state)?;
        let bridge = python.as_ref().map(|new| Arc::clone(&new.bridge));
        let collector = Collector::new(folder, task_infos(&plan))?;
        let (sender, deliveries) = channel();
        let context = WorkerContext {
            endpoints: Arc::clone(&endpoints[0]),
            bridge: bridge.clone(),
            race_state: Arc::clone(&state),
            record_sender: RecordSender::new(sender, retention_policy(plan.driver.samples)),
            plan,
        };
        let mut pool = WorkerPool::spawn_workers(&context, worker_count)?;
        if let Some(new) = python {
            pool.spawn_request_thread(new.requests, Arc::clone(&state))?;
        }
        let race_state = Arc::clone(&state);
        let coordinator = spawn("control", move || {
            let summary = Coordinator { pool, context, clusters: endpoints }.run(collector, deliveries);
            race_state.publish(RaceEvent::Finished(Box::new(summary)));
        })?;
        Ok(Self { state, bridge, coordinator: Some(coordinator) })
    }

    /// Returns the bridge to Python, or `None` if no task of the plan needs Python.
    #[must_use]
    pub fn bridge(&self) -> Option<&Arc<PythonBridge>> {
        self.bridge.as_ref()
    }

    /// Returns the events since the last call. If there are none, waits for up to `timeout` for the first one.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Vec<RaceEvent> {
        self.state.wait_for_events(timeout)
    }

    /// Returns the progress of the race.
    #[must_use]
    pub fn progress(&self) -> RaceProgress {
        let elapsed_s = self.state.race_time_ns(Instant::now()) as f64 / 1e9;
        let progress = self.state.progress();
        let step = (progress.completed_steps + 1).min(progress.total_steps);
        RaceProgress {
            step,
            steps: progress.total_steps,
            elapsed_s,
            tasks: progress.running_tasks.clone(),
            waits: self.state.retry_waits(),
        }
    }

    /// Ends the race with at least this stop level. No new operation begins.
    pub fn stop(&self, level: StopLevel) {
        self.state.stop(level);
    }
}

impl Drop for Race {
    fn drop(&mut self) {
        self.stop(StopLevel::Abandon);
        if let Some(coordinator) = self.coordinator.take() {
            let _ = coordinator.join();
        }
    }
}

/// Returns the endpoints of every cluster, the cluster under test first. They are prepared before any worker starts,
/// because resolving names and reading files blocks.
fn cluster_endpoints(plan: &Plan, memory: &Arc<ResponseMemory>) -> Result<Vec<Endpoints>, DriveError> {
    let mut system = SystemRoots::default();
    let targets = std::iter::once(&plan.target).chain(plan.others.iter().map(|other| &other.target));
    targets.map(|target| Ok(Endpoint::for_cluster(target, &mut system, memory)?)).collect()
}

/// Raises the soft limit on open files to the hard limit: a client needs a socket and possibly a timer, and the usual
/// soft limit is 1,024. It is not an error if the limit cannot be raised; exceeding it later is.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Returns the number of workers: one per core unless the plan specifies a number, but never more than there are
/// clients.
fn worker_count(plan: &Plan) -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let wanted = match plan.driver.threads {
        0 => cores,
        threads => threads as usize,
    };
    wanted.min(plan.race_client_count() as usize).max(1)
}
