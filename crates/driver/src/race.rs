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

use crate::coordinator::collect::{Collected, collect, keep, task_infos};
use crate::coordinator::{Crew, THREADS, join};
use crate::error::DriveError;
use crate::health::cpu::{Usage, process_cpu_ns};
use crate::python::Lane;
use crate::python::requests::{Command, serve};
use crate::shared::{Event, Shared, StopLevel};
use crate::summary::{Summary, ThreadSummary};
use crate::transport::{Route, Routes, SystemRoots};
use crate::worker::thread::Worker;

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
        let control = spawn("control", move || {
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

type Collecting = Result<JoinHandle<(Collected, ThreadSummary)>, DriveError>;

fn collect_aside(
    collector: Collector,
    inbox: std::sync::mpsc::Receiver<pacenote_record::Delivery>,
    spare: Spare,
    shared: &Arc<Shared>,
) -> Collecting {
    let shared = Arc::clone(shared);
    spawn("collect", move || {
        let born = Instant::now();
        let collected = collect(collector, &inbox, &spare, &shared);
        (collected, ThreadSummary::of_this("collect", born, Usage::default()))
    })
}

/// Runs all steps, then sends everybody home and sums up.
fn run(
    crew: Crew,
    plan: &Arc<Plan>,
    shared: &Arc<Shared>,
    outgoing: Outgoing,
    collecting: Collecting,
) -> Summary {
    let (born, used_ns) = (Instant::now(), process_cpu_ns());
    let mut error = if collecting.is_ok() { crew.run(plan, shared, &outgoing).err() } else { None };
    let stopped = shared.stop_level() != StopLevel::Run && shared.aborted().is_none();
    if let Some(error) = &error {
        shared.abort(error.to_string());
        shared.stop(StopLevel::Abandon);
    }
    if let Some(lane) = &crew.lane {
        lane.quit();
    }
    let (mut threads, died) = crew.dismiss();
    if matches!(error, None | Some(DriveError::ThreadDied(_))) {
        // How a thread died says more than that it was missed.
        error = died.or(error);
    }
    drop(outgoing);
    let collected = match collecting.and_then(join) {
        Ok((mut collected, thread)) => {
            threads.push(thread);
            error = error.or_else(|| collected.failure.take().map(DriveError::from));
            Some(collected)
        }
        Err(failed) => {
            error.get_or_insert(failed);
            None
        }
    };
    threads.push(ThreadSummary::of_this("control", born, Usage::default()));
    let (samples, contradictions, clock, machine) = collected.map_or_else(Default::default, |collected| {
        (collected.samples, collected.contradictions, collected.clock, collected.machine)
    });
    Summary {
        threads,
        process_cpu_s: process_cpu_ns().saturating_sub(used_ns) as f64 / 1e9,
        machine,
        clock,
        contradictions,
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
        threads.push(spawn(&name.clone(), move || live(&name, worker.run()))?);
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
    spawn("lane", move || live("lane", serve(lane, shared, errands)))
}

fn runtime() -> Result<Runtime, DriveError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|source| DriveError::System { what: "a runtime", source })
}

/// The life of a thread that does `work`.
fn live(name: &str, work: impl Future<Output = Usage>) -> Result<ThreadSummary, DriveError> {
    let born = Instant::now();
    // Timers of this thread are to ring on time, not when it suits the kernel; a refusal only costs precision.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let runtime = runtime()?;
    let usage = tokio::task::LocalSet::new().block_on(&runtime, work);
    Ok(ThreadSummary::of_this(name, born, usage))
}

/// Starts a thread of this name, behind the program's.
fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, DriveError> {
    let builder = thread::Builder::new().name(format!("{THREADS}{name}"));
    builder.spawn(body).map_err(|source| DriveError::System { what: "a thread", source })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use pacenote_record::EndedBy;
    use serde_json::{Value, json};

    use super::*;
    use crate::worker::thread::{Order, Report};

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

    /// A client that sleeps for a moment, and then for so long that only the end of the race wakes it.
    fn plan(port: u16) -> Arc<Plan> {
        let task = |name: &str, seconds: f64| {
            json!({"name": name, "operation": name, "operation_type": "sleep", "clients": 1,
                "pace": {"kind": "unpaced"}, "open_loop": false, "ramp_up_s": 0.0, "unit": "ops",
                "bound": {"kind": "iterations", "warmup": 0, "measured": 3}, "tolerates_errors": false,
                "work": {"kind": "sleep", "seconds": seconds}})
        };
        let step = |task: u32| -> Value {
            json!({"name": format!("step {task}"), "completed_by": null,
                "slots": [{"client": 0, "allocations": [{"task": task, "client": 0}]}]})
        };
        let host = json!({"scheme": "http", "host": "127.0.0.1", "port": port, "path": "", "proxy": null});
        let tls = json!({"ca_file": null, "client_cert": null, "client_key": null, "verify": true,
            "verify_host": true, "server_name": null});
        let plan = json!({"version": 3, "race_id": "r", "seed": 1, "others": [],
            "target": {"hosts": [host], "headers": [], "timeout_ms": 5000, "compress": false, "tls": tls},
            "driver": {"threads": 2, "on_error": "continue", "spin_us": 0, "samples": "all"},
            "tasks": [task("nod", 0.001), task("nap", 600.0)], "steps": [step(0), step(1)]});
        Arc::new(Plan::from_json(&plan.to_string()).unwrap())
    }

    /// A worker that has no clients, and panics when the second step starts.
    async fn doomed(mut orders: UnboundedReceiver<Order>, reports: std::sync::mpsc::Sender<Report>) -> Usage {
        for step in 0.. {
            let Some(Order::Prepare(..)) = orders.recv().await else { break };
            reports.send(Report::Ready(Ok(()))).unwrap();
            let Some(Order::Start) = orders.recv().await else { break };
            assert!(step < 1, "a defect of number {step}");
            reports.send(Report::Done).unwrap();
        }
        Usage::default()
    }

    #[test]
    fn a_worker_that_panics_ends_the_race_which_keeps_what_was_measured_and_says_so() {
        let (folder, listener) = (tempfile::tempdir().unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let plan = plan(listener.local_addr().unwrap().port());
        let shared = Arc::new(Shared::new(2));
        let (sender, inbox) = channel();
        let outgoing = Outgoing::new(sender, keep(plan.driver.samples));
        let routes = routes(&plan).unwrap();
        let mut crew = hire((&plan, &routes[0]), &shared, (1, None), &outgoing).unwrap();
        // The second of two workers; the first has the only client.
        let ((orders, receiver), (answers, reports)) = (unbounded_channel(), channel());
        crew.orders.push(orders);
        let first = std::mem::replace(&mut crew.reports, reports);
        let forward = answers.clone();
        let forwarding = spawn("forward", move || first.iter().for_each(|report| drop(forward.send(report))));
        crew.threads.push(spawn("drive-1", move || live("drive-1", doomed(receiver, answers))).unwrap());
        let collector = Collector::new(folder.path(), task_infos(&plan)).unwrap();
        let collecting = collect_aside(collector, inbox, outgoing.spare(), &shared);

        let summary = run(crew, &plan, &shared, outgoing, collecting);

        join(forwarding.unwrap()).unwrap();
        let why = "a driver thread ended unexpectedly: drive-1 panicked: a defect of number 1";
        assert_eq!((summary.error.as_deref(), summary.stopped), (Some(why), false));
        let names: Vec<&str> = summary.threads.iter().map(|thread| thread.name.as_str()).collect();
        assert_eq!(names, ["drive-0", "collect", "control"]);
        let ended: Vec<(String, u64, EndedBy)> = shared
            .wait(Duration::ZERO)
            .into_iter()
            .filter_map(|event| match event {
                Event::TaskFinished(end) => Some((end.task, end.accounting.succeeded, end.ended_by)),
                Event::Finished(_) => None,
            })
            .collect();
        let (nod, nap) =
            (("nod".to_owned(), 3, EndedBy::Iterations), ("nap".to_owned(), 0, EndedBy::Aborted));
        assert_eq!(ended, [nod, nap]);
        assert_eq!((summary.samples, summary.contradictions.len()), (3, 0));
    }
}
