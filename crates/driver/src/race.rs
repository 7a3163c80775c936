//! A race from outside: start it, wait for it, stop it.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pacenote_plan::Plan;
use pacenote_record::{Collector, Outgoing, Spare, TaskProgress};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::collect::{collect, keep, task_infos};
use crate::control::Crew;
use crate::error::DriveError;
use crate::http::{Route, Routes, SystemRoots};
use crate::lane::Lane;
use crate::lane::wire::{Command, serve};
use crate::shared::{Event, Shared, StopLevel};
use crate::worker::{Busiest, Worker, thread_cpu_ns};

/// A running race.
#[derive(Debug)]
pub struct Race {
    shared: Arc<Shared>,
    lane: Option<Arc<Lane>>,
    /// Dropped last; joined so that no thread outlives its race.
    control: Option<JoinHandle<()>>,
}

/// Where a race stands.
#[derive(Debug, Clone, Serialize)]
pub struct Progress {
    /// The present step, from 1.
    pub step: usize,
    /// All steps.
    pub steps: usize,
    /// Seconds since the first step began.
    pub elapsed_s: f64,
    /// Running tasks.
    pub tasks: Vec<TaskProgress>,
}

/// How a race ended.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Summary {
    /// One per worker, and one for the requests of runners in Python if there are any.
    pub threads: Vec<ThreadSummary>,
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
    /// Lifetime, seconds.
    pub wall_s: f64,
    /// Where it was busiest; `null` when no step lasted a second.
    pub busiest: Option<Busiest>,
}

impl Race {
    /// Starts a plan; its recording goes to `folder`, which exists.
    ///
    /// # Errors
    ///
    /// When the way to a host cannot be prepared, or threads or files cannot be created.
    pub fn start(plan: Plan, folder: &Path) -> Result<Self, DriveError> {
        let routes = routes(&plan)?;
        allow_descriptors();
        let plan = Arc::new(asking(plan));
        let workers = worker_count(&plan);
        let shared = Arc::new(Shared::new(workers));
        let (lane, errands) = Lane::new(&plan, &routes)?.unzip();
        shared.progress().steps = plan.steps.len();
        let collector = Collector::new(folder, task_infos(&plan))?;
        let (sender, inbox) = channel();
        let outgoing = Outgoing::new(sender, keep(plan.driver.samples));
        let mut crew = hire((&plan, &routes[0]), &shared, (workers, lane.as_ref()), &outgoing)?;
        if let (Some(lane), Some(errands)) = (&lane, errands) {
            crew.threads.push(serve_lane(lane, &shared, errands)?);
        }
        let (theirs, spare) = (Arc::clone(&shared), outgoing.spare());
        let control = spawn("pacenote-control", move || {
            let collecting = collect_aside(collector, inbox, spare, &theirs);
            let summary = run(crew, &plan, &theirs, outgoing, collecting);
            theirs.publish(Event::Finished(Box::new(summary)));
        })?;
        Ok(Self { shared, lane, control: Some(control) })
    }

    /// Python's hand in the race; `None` when the plan asks for none.
    #[must_use]
    pub fn lane(&self) -> Option<&Arc<Lane>> {
        self.lane.as_ref()
    }

    /// What has happened since the last call; waits up to `patience` for something to happen.
    #[must_use]
    pub fn wait(&self, patience: Duration) -> Vec<Event> {
        self.shared.wait(patience)
    }

    /// Where the race stands.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let elapsed_s = self.shared.elapsed_ns(Instant::now()) as f64 / 1e9;
        let progress = self.shared.progress();
        let step = (progress.step + 1).min(progress.steps);
        Progress { step, steps: progress.steps, elapsed_s, tasks: progress.tasks.clone() }
    }

    /// Ends the race: nothing new begins. What is under way may end, or is dropped if `abandon` says so.
    pub fn stop(&self, abandon: bool) {
        self.shared.stop(if abandon { StopLevel::Abandon } else { StopLevel::Finish });
    }
}

impl Drop for Race {
    fn drop(&mut self) {
        self.stop(true);
        if let Some(control) = self.control.take() {
            let _ = control.join();
        }
    }
}

type Collecting = Result<JoinHandle<Result<u64, pacenote_record::RecordError>>, DriveError>;

fn collect_aside(
    collector: Collector,
    inbox: std::sync::mpsc::Receiver<pacenote_record::Delivery>,
    spare: Spare,
    shared: &Arc<Shared>,
) -> Collecting {
    let shared = Arc::clone(shared);
    spawn("pacenote-collect", move || collect(collector, &inbox, &spare, &shared))
}

/// Runs all steps, then sends everybody home and sums up.
fn run(
    crew: Crew,
    plan: &Arc<Plan>,
    shared: &Arc<Shared>,
    outgoing: Outgoing,
    collecting: Collecting,
) -> Summary {
    let mut error = if collecting.is_ok() { crew.run(plan, shared, &outgoing).err() } else { None };
    let stopped = shared.stop_level() != StopLevel::Run && shared.aborted().is_none();
    if error.is_some() {
        shared.stop(StopLevel::Abandon);
    }
    if let Some(lane) = &crew.lane {
        lane.quit();
    }
    let threads = crew.dismiss().map_err(|died| error.get_or_insert(died)).unwrap_or_default();
    drop(outgoing);
    let collected = collecting.and_then(|thread| {
        let joined = thread.join().map_err(|_| DriveError::ThreadDied("the collector panicked".into()));
        joined.and_then(|result| result.map_err(DriveError::from))
    });
    let samples = collected.map_err(|failed| error.get_or_insert(failed)).unwrap_or_default();
    Summary {
        threads,
        samples,
        wall_s: shared.elapsed_ns(Instant::now()) as f64 / 1e9,
        stopped,
        aborted: shared.aborted(),
        error: error.map(|error| error.to_string()),
    }
}

/// The plan whose requests ask for compressed replies where the target says so, unless they say otherwise themselves.
fn asking(mut plan: Plan) -> Plan {
    let others = plan.others.iter_mut().map(|other| &mut other.target);
    for target in std::iter::once(&mut plan.target).chain(others).filter(|target| target.compress) {
        // Of two headers with one name the later counts.
        target.headers.insert(0, ("accept-encoding".into(), "gzip".into()));
    }
    plan
}

/// The ways to the hosts of every cluster, the one under test first. Prepared here, since look-ups and files block.
fn routes(plan: &Plan) -> Result<Vec<Routes>, DriveError> {
    let mut system = SystemRoots::default();
    let targets = std::iter::once(&plan.target).chain(plan.others.iter().map(|other| &other.target));
    targets.map(|target| Ok(Route::to_all(target, &mut system)?)).collect()
}

/// A client needs a socket and perhaps a timer; the usual soft limit of 1,024 descriptors is soon reached. A refusal
/// only shows when they run out.
fn allow_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// One worker per core, never more than clients.
fn worker_count(plan: &Plan) -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let wanted = match plan.driver.threads {
        0 => cores,
        threads => threads as usize,
    };
    wanted.min(plan.clients() as usize).max(1)
}

fn hire(
    target: (&Arc<Plan>, &Routes),
    shared: &Arc<Shared>,
    staff: (usize, Option<&Arc<Lane>>),
    outgoing: &Outgoing,
) -> Result<Crew, DriveError> {
    let ((plan, routes), (workers, lane)) = (target, staff);
    let (answers, reports) = channel();
    let (mut orders, mut threads) = (Vec::new(), Vec::new());
    for index in 0..workers {
        let (sender, receiver) = unbounded_channel();
        orders.push(sender);
        let worker = Worker {
            place: (index, workers),
            plan: Arc::clone(plan),
            routes: Arc::clone(routes),
            lane: lane.cloned(),
            shared: Arc::clone(shared),
            orders: receiver,
            reports: answers.clone(),
            outgoing: outgoing.clone(),
        };
        let name = format!("drive-{index}");
        threads.push(spawn(&format!("pacenote-{name}"), move || live(name, worker.run()))?);
    }
    Ok(Crew { orders, reports, threads, lane: lane.cloned() })
}

/// Starts the thread that sends the requests of runners.
fn serve_lane(
    lane: &Arc<Lane>,
    shared: &Arc<Shared>,
    errands: UnboundedReceiver<Command>,
) -> Result<JoinHandle<Result<ThreadSummary, DriveError>>, DriveError> {
    let (lane, shared) = (Arc::clone(lane), Arc::clone(shared));
    spawn("pacenote-lane", move || live("lane".to_owned(), serve(lane, shared, errands)))
}

fn runtime() -> Result<Runtime, DriveError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|source| DriveError::System { what: "a runtime", source })
}

/// The life of a thread that does `work`.
fn live(name: String, work: impl Future<Output = Option<Busiest>>) -> Result<ThreadSummary, DriveError> {
    let born = Instant::now();
    // Timers of this thread are to ring on time, not when it suits the kernel; a refusal only costs precision.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let runtime = runtime()?;
    let busiest = tokio::task::LocalSet::new().block_on(&runtime, work);
    Ok(ThreadSummary {
        name,
        cpu_s: thread_cpu_ns() as f64 / 1e9,
        wall_s: born.elapsed().as_secs_f64(),
        busiest,
    })
}

fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, DriveError> {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(body).map_err(|source| DriveError::System { what: "a thread", source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_that_wants_compression_asks_for_it_first() {
        let target = |compress: bool| {
            serde_json::json!({
                "hosts": [], "headers": [["accept-encoding", "identity"]], "timeout_ms": 1, "compress": compress,
                "tls": {"ca_file": null, "client_cert": null, "client_key": null, "verify": true,
                        "verify_host": true, "server_name": null}
            })
        };
        let plan = serde_json::json!({
            "version": 3, "race_id": "r", "seed": 1, "target": target(true),
            "others": [{"name": "a", "target": target(false)}, {"name": "b", "target": target(true)}],
            "driver": {"threads": 1, "on_error": "continue", "spin_us": 0, "samples": "none"},
            "tasks": [], "steps": []
        });
        let plan = asking(serde_json::from_value(plan).unwrap());
        let values = |target: &pacenote_plan::Target| {
            target.headers.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>()
        };
        // Of two headers with one name the later counts: what was there before still does.
        assert_eq!(values(&plan.target), ["gzip", "identity"]);
        assert_eq!(values(&plan.others[0].target), ["identity"]);
        assert_eq!(values(&plan.others[1].target), ["gzip", "identity"]);
    }
}
