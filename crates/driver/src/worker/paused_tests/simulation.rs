//! Runs a step on a paused clock.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use pacenote_plan::Plan;
use pacenote_record::{
    BufferPool, ClientOverhead, Delivery, DrainedWindow, EndedBy, ErrorClass, RecordSender, Recorder,
    RetentionPolicy, Sample, SampleType, Traffic, WorkerTaskEnd,
};
use serde_json::{Value, json};

use crate::cancel::Cancellation;
use crate::operation::outcome::OperationOutcome;
use crate::race_state::RaceState;
use crate::response::outcome::WorkOutcome;
use crate::schedule::client_schedule::Schedule;
use crate::schedule::clock::Clock;
use crate::schedule::pacer::Pacer;
use crate::schedule::paused_clock::PausedClock;
use crate::scheduling::monitor::SchedulingMonitor;
use crate::step_state::{StepState, WorkerShare};
use crate::task_client_id::TaskClientId;
use crate::worker::assigned_task::{AssignedTask, run_tasks};
use crate::worker::operations::ClientOperations;
use crate::worker::thread::{add_client, task_client_id};

/// A millisecond, in nanoseconds.
pub const MS: u64 = 1_000_000;

/// A second, in nanoseconds.
pub const SECOND: u64 = 1_000 * MS;

/// Time after which a scripted operation times out, in nanoseconds.
pub const TIMEOUT: u64 = 200 * MS;

/// An operation that is about to be executed.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    pub id: TaskClientId,
    /// Number of the operation among those of the client in this task, from 0.
    pub number: u64,
}

/// The scripted result of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Response {
    /// Time to compress the operation before it is due, in nanoseconds.
    pub compress: u64,
    /// Time to open a connection before the request is sent, in nanoseconds.
    pub connect: u64,
    /// Service time, in nanoseconds.
    pub service: u64,
    pub class: ErrorClass,
    /// Whether the operation is canceled when the race or the step ends, like a wait between two requests.
    pub is_wait: bool,
    /// Number of documents that the operation sends, if it is a bulk.
    pub documents: Option<u64>,
}

impl Response {
    pub fn success(service: u64) -> Self {
        Self { compress: 0, connect: 0, service, class: ErrorClass::None, is_wait: false, documents: None }
    }

    pub fn failure(service: u64, class: ErrorClass) -> Self {
        Self { class, ..Self::success(service) }
    }
}

type Script = Rc<dyn Fn(Attempt) -> Response>;

/// The number of documents of an operation before it is prepared, if it is known.
type NextSizes = Rc<dyn Fn(Attempt) -> Option<u64>>;

/// When the source of a client supplies an operation, given its number, in nanoseconds on the clock, or `None` if the
/// source has ended.
type Supply = Rc<dyn Fn(TaskClientId, u64) -> Option<u64>>;

pub struct ScriptedOperations {
    id: TaskClientId,
    clock: PausedClock,
    script: Script,
    supply: Supply,
    next_sizes: NextSizes,
    prepared: u64,
}

impl ScriptedOperations {
    /// Returns the result of the operation that was prepared last.
    fn next_response(&self) -> Response {
        (self.script)(Attempt { id: self.id, number: self.prepared - 1 })
    }
}

impl ClientOperations for ScriptedOperations {
    fn prepare_next(&mut self) -> bool {
        let is_delivered =
            (self.supply)(self.id, self.prepared).is_some_and(|at| at <= self.clock.elapsed_ns());
        self.prepared += u64::from(is_delivered);
        is_delivered
    }

    fn next_document_count(&self) -> Option<u64> {
        (self.next_sizes)(Attempt { id: self.id, number: self.prepared })
    }

    fn document_count(&self) -> Option<u64> {
        self.next_response().documents
    }

    async fn compress(&mut self) {
        let compress = self.next_response().compress;
        if compress > 0 {
            self.clock.sleep(self.clock.now() + Duration::from_nanos(compress)).await;
        }
    }

    async fn execute(&mut self, cancellation: &Cancellation<'_>, _: SampleType) -> Option<OperationOutcome> {
        let Response { connect, service, class, is_wait, .. } = self.next_response();
        self.clock.sleep(self.clock.now() + Duration::from_nanos(connect)).await;
        let sent = self.clock.now();
        let (service, class) =
            if service > TIMEOUT && !is_wait { (TIMEOUT, ErrorClass::Timeout) } else { (service, class) };
        let served = self.clock.sleep(sent + Duration::from_nanos(service));
        if is_wait {
            cancellation.run_until_cancelled(served).await?;
        } else {
            served.await;
        }
        let done = self.clock.now();
        let result = match class {
            ErrorClass::None => WorkOutcome::success(1),
            class => WorkOutcome::failure(class, "as scripted".into()),
        };
        let traffic = Traffic { requests: 1, ..Traffic::default() };
        Some(OperationOutcome {
            first_sent: sent,
            service_start: sent,
            done,
            freed: done,
            result,
            traffic,
            ..OperationOutcome::nothing()
        })
    }

    fn processing_end(&self) -> Option<Instant> {
        None
    }

    fn failure(&self) -> Option<&str> {
        None
    }

    fn is_starved(&self) -> bool {
        (self.supply)(self.id, self.prepared).is_some_and(|at| at > self.clock.elapsed_ns())
    }

    async fn until_supplied(&self) {
        if let Some(at) = (self.supply)(self.id, self.prepared) {
            self.clock.sleep(self.clock.at(at)).await;
        }
    }

    fn supply_has_ended(&self) -> bool {
        (self.supply)(self.id, self.prepared).is_none()
    }

    fn take_source_wait(&mut self) -> Duration {
        Duration::ZERO
    }

    fn take_unit(&mut self) -> Option<String> {
        None
    }

    fn take_traffic(&mut self) -> Traffic {
        Traffic::default()
    }

    async fn look_for_unsolicited(&mut self) {}

    fn take_overhead(&mut self) -> ClientOverhead {
        ClientOverhead::default()
    }

    fn was_last(&self) -> bool {
        false
    }

    fn unreachable_hosts(&self) -> Option<String> {
        Some("engine:9200".into())
    }
}

/// Builds a closed-loop task without a schedule whose clients execute `iterations` operations each.
pub fn task(name: &str, clients: u32, iterations: u64) -> Value {
    json!({
        "name": name, "operation": name, "operation_type": "search", "clients": clients,
        "pacing": {"kind": "unpaced"}, "open_loop": false, "ramp_up_s": 0.0, "unit": "ops",
        "tolerates_errors": false, "must_succeed": false,
        "bound": {"kind": "iterations", "warmup": 0, "measured": iterations},
        "work": {"kind": "sleep", "seconds": 0.0},
    })
}

/// Builds a closed-loop task with one operation every `interval` nanoseconds over all clients.
pub fn paced(name: &str, clients: u32, interval: u64, iterations: u64) -> Value {
    let mut task = task(name, clients, iterations);
    task["pacing"] = json!({"kind": "deterministic", "interval_s": interval as f64 / 1e9});
    task
}

/// Limits a task by time, in nanoseconds.
pub fn timed(mut task: Value, warmup: u64, measured: u64) -> Value {
    task["bound"] =
        json!({"kind": "time", "warmup_s": warmup as f64 / 1e9, "measured_s": measured as f64 / 1e9});
    task
}

/// Builds a plan with one step that runs all tasks in parallel, each client in its own row.
pub fn plan(tasks: &[Value]) -> Value {
    let mut rows = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        for client in 0..task["clients"].as_u64().unwrap() {
            rows.push(json!({"client": rows.len(), "allocations": [{"task": index, "client": client}]}));
        }
    }
    let host = json!({"scheme": "http", "host": "engine", "port": 9200, "path": "", "proxy": null});
    let tls = json!({"ca_file": null, "client_cert": null, "client_key": null, "verify": true,
        "verify_host": true, "server_name": null});
    json!({
        "version": 6, "race_id": "paused", "seed": 1, "others": [],
        "target": {"hosts": [host], "headers": [], "timeout_ms": 200, "compress": false, "tls": tls},
        "driver": {"threads": 1, "on_error": "continue-on-network", "samples": "all", "scheduling": "normal"},
        "tasks": tasks, "steps": [{"name": "step", "completed_by": null, "client_allocations": rows}],
    })
}

/// Everything that the recorder has delivered.
pub struct Recorded {
    pub samples: Vec<Sample>,
    /// How each task ended on all workers, by the task's position.
    pub ended: BTreeMap<u32, WorkerTaskEnd>,
    pub aborted: Option<String>,
    /// Time on the clock at the end, in nanoseconds.
    pub end_ns: u64,
}

impl Recorded {
    /// Returns the due, sent and done times of a task's operations, in the order in which they ended.
    pub fn times(&self, task: u32) -> Vec<(u64, u64, u64)> {
        self.of(task)
            .map(|sample| (sample.times.due_ns, sample.times.service_start_ns, sample.times.done_ns))
            .collect()
    }

    /// Returns the samples of a task, in the order in which they ended.
    pub fn of(&self, task: u32) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| sample.task_index == task)
    }

    /// Returns the samples of one client.
    pub fn of_client(&self, task: u32, client: u32) -> impl Iterator<Item = &Sample> {
        self.of(task).filter(move |sample| sample.client_number == client)
    }

    pub fn warmup(&self, task: u32) -> usize {
        self.of(task).filter(|sample| sample.sample_type == SampleType::Warmup).count()
    }
}

/// A step on a paused clock, with one worker unless [`Simulation::on_workers`] changes it.
pub struct Simulation {
    pub clock: PausedClock,
    pub race_state: Arc<RaceState>,
    pub plan: Arc<Plan>,
    step: Arc<StepState>,
    script: Script,
    supply: Supply,
    next_sizes: NextSizes,
    /// The recorder of each worker.
    recorders: Vec<RefCell<Recorder>>,
    sender: RecordSender,
    deliveries: Receiver<Delivery>,
}

impl Simulation {
    pub fn new(plan: &Value, script: impl Fn(Attempt) -> Response + 'static) -> Self {
        let plan = Arc::new(Plan::from_json(&plan.to_string()).unwrap());
        let race_state = Arc::new(RaceState::new(1, 1, SchedulingMonitor::default()));
        let step = Arc::new(StepState::new(&plan, 0, &race_state));
        let (sender, deliveries) = channel();
        let sender = RecordSender::new(sender, RetentionPolicy::All);
        let recorders = vec![RefCell::new(Recorder::new(sender.clone()))];
        let supply: Supply = Rc::new(|_, _| Some(0));
        let (clock, script) = (PausedClock::new(), Rc::new(script));
        let next_sizes: NextSizes = Rc::new(|_| None);
        Self { clock, race_state, plan, step, script, supply, next_sizes, recorders, sender, deliveries }
    }

    /// Makes the numbers of documents known before the operations are prepared.
    pub fn with_sizes(self, sizes: impl Fn(Attempt) -> Option<u64> + 'static) -> Self {
        Self { next_sizes: Rc::new(sizes), ..self }
    }

    /// Makes the sources supply operation n at `supply(n)` nanoseconds. `None` ends the source.
    pub fn supplied(self, supply: impl Fn(u64) -> Option<u64> + 'static) -> Self {
        self.supplied_to(move |_, number| supply(number))
    }

    /// Makes the source of each client supply its operation n at `supply(client, n)` nanoseconds.
    pub fn supplied_to(self, supply: impl Fn(TaskClientId, u64) -> Option<u64> + 'static) -> Self {
        Self { supply: Rc::new(supply), ..self }
    }

    /// Distributes the clients over this number of workers. All of them run on one thread and one clock.
    pub fn on_workers(self, worker_count: usize) -> Self {
        let race_state = Arc::new(RaceState::new(worker_count, 1, SchedulingMonitor::default()));
        let step = Arc::new(StepState::new(&self.plan, 0, &race_state));
        let recorder = |_| RefCell::new(Recorder::new(self.sender.clone()));
        let recorders = (0..worker_count).map(recorder).collect();
        Self { race_state, step, recorders, ..self }
    }

    /// Returns the pool of sample buffers.
    pub fn buffers(&self) -> BufferPool {
        self.sender.buffers().clone()
    }

    /// Runs the step to completion.
    pub fn run(self) -> Recorded {
        self.run_with(async {})
    }

    /// Runs the step to completion, with another future that is polled after the clients.
    pub fn run_with(self, companion: impl Future<Output = ()>) -> Recorded {
        self.execute(u64::MAX, companion);
        self.recorded()
    }

    /// Runs until the clock shows `end_ns`, then drops the clients as in an abandoned race.
    pub fn abandon_at(self, end_ns: u64) -> Recorded {
        self.execute(end_ns, async {});
        self.recorded()
    }

    /// Runs the step to completion and returns everything that the recorder sends to the collector.
    pub fn run_to_deliveries(self) -> Vec<Delivery> {
        self.execute(u64::MAX, async {});
        self.deliveries.try_iter().collect()
    }

    fn execute(&self, end_ns: u64, companion: impl Future<Output = ()>) {
        self.race_state.start_clock(self.clock.now());
        let worker_count = self.recorders.len();
        let stop_notifies: Vec<_> =
            (0..worker_count).map(|worker_index| self.race_state.stop_notify(worker_index)).collect();
        let mut futures: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
        for row in &self.step.planned().client_allocations {
            let runs_row = |worker_index: &usize| {
                WorkerShare { worker_index: *worker_index, worker_count }.runs(row.race_client)
            };
            let worker_index = (0..worker_count).find(runs_row).unwrap();
            let (recorder, stop_notify) = (&self.recorders[worker_index], &stop_notifies[worker_index]);
            let cancellation =
                Cancellation { step: &self.step, race_state: &self.race_state, stop_notify, task_end: None };
            let assigned_task = |id| self.assigned_task(id, recorder);
            let mut tasks: Vec<_> =
                row.allocations.iter().copied().map(task_client_id).map(assigned_task).collect();
            let mut clock = self.clock.clone();
            futures.push(Box::pin(async move {
                run_tasks(&mut clock, &mut tasks, recorder, cancellation, &Cell::new(0)).await;
            }));
        }
        futures.push(Box::pin(companion));
        self.clock.run_until(end_ns, futures);
        for recorder in &self.recorders {
            recorder.borrow_mut().close_dropped_tasks(EndedBy::Stopped, |_| 0);
        }
    }

    fn assigned_task(
        &self,
        id: TaskClientId,
        recorder: &RefCell<Recorder>,
    ) -> AssignedTask<ScriptedOperations> {
        let (state, task) = self.step.task(id.task_index).unwrap();
        add_client(recorder, id, task).unwrap();
        let operations = ScriptedOperations {
            id,
            clock: self.clock.clone(),
            script: Rc::clone(&self.script),
            supply: Rc::clone(&self.supply),
            next_sizes: Rc::clone(&self.next_sizes),
            prepared: 0,
        };
        let start_ns = Pacer::client_start_ns(task, id.client_number);
        let schedule = Schedule::new(&self.plan, id, state.shared_schedule());
        AssignedTask { id, start_ns, schedule, operations, handle: None }
    }

    fn recorded(self) -> Recorded {
        let mut recorded = Recorded {
            samples: Vec::new(),
            ended: BTreeMap::new(),
            aborted: self.race_state.abort_reason(),
            end_ns: self.clock.elapsed_ns(),
        };
        for delivery in self.deliveries.try_iter() {
            match delivery {
                Delivery::Samples(batch) => recorded.samples.extend(batch.samples),
                Delivery::WorkerTaskEnd(end) => {
                    let merged = recorded.ended.get(&end.task_index).map_or(end, |other| merge(other, &end));
                    recorded.ended.insert(end.task_index, merged);
                }
                _ => {}
            }
        }
        if self.recorders.len() > 1 {
            recorded.samples.sort_by_key(|sample| sample.times.done_ns);
        }
        recorded
    }
}

/// Adds up how the clients of two workers ended a task.
fn merge(one: &WorkerTaskEnd, other: &WorkerTaskEnd) -> WorkerTaskEnd {
    WorkerTaskEnd {
        ended_by: one.ended_by.max(other.ended_by),
        scheduled: one.scheduled.zip(other.scheduled).map(|(one, other)| one + other),
        begun: one.begun + other.begun,
        unanswered: one.unanswered + other.unanswered,
        unanswered_waited: one.unanswered_waited + other.unanswered_waited,
        unsent: one.unsent + other.unsent,
        underruns: one.underruns + other.underruns,
        underrun_ns: one.underrun_ns + other.underrun_ns,
        warmup_backlog: {
            let mut sum = one.warmup_backlog;
            sum += other.warmup_backlog;
            sum
        },
        drained_window: one
            .drained_window
            .into_iter()
            .chain(other.drained_window)
            .reduce(DrainedWindow::merge),
        ..*one
    }
}
