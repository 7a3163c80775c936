//! The thread that sends the requests of runners, with separate connections for each client and cluster.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use pacenote_record::{ClientOverhead, ErrorClass, ServiceTimeTotals};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{JoinHandle, JoinSet, spawn_local};

use crate::cancel::Cancellation;
use crate::health::cpu::{CpuMeter, CpuUsage, PeakLoad};
use crate::health::reply_waits::{count_reply, count_request};
use crate::operation::outcome::OperationOutcome;
use crate::operation::prepared::PreparedRequest;
use crate::python::channel::{ClientChannel, QueryNumber};
use crate::python::clusters::Clusters;
use crate::python::events::{EventQueue, PythonEvent, RunnerResponse};
use crate::python::outside_requests::OutsideRequests;
use crate::python::preparation::Preparation;
use crate::python::protocol::ExecutionResult;
use crate::python::queued_operation::QueuedOperation;
use crate::race_state::RaceState;
use crate::response::outcome::WorkOutcome;
use crate::step_state::StepState;
use crate::task_client_id::TaskClientId;
use crate::transport::exchange::ResponseView;
use crate::transport::pool::{ConnectionPool, IDLE_CHECK, IdleCheck};
use crate::units::nanos_since;

/// A command for the thread.
#[derive(Debug)]
pub enum RequestCommand {
    /// A step is being prepared: connect the clients that have a runner.
    OpenStep(Arc<StepState>, Vec<Arc<ClientChannel>>),
    /// The clock of the step has started.
    StartStep,
    /// All clients of the step have ended.
    CloseStep,
    /// Send a request or execute an operation.
    Send(Box<RequestJob>),
    /// End the thread; requests in flight are dropped.
    Shutdown,
}

/// A request or an operation to send.
#[derive(Debug)]
pub struct RequestJob {
    /// Identifies the job in its event.
    pub request_id: u64,
    /// The operation that it belongs to.
    pub owner: Option<RequestOwner>,
    /// Position of the cluster to which it is sent.
    pub cluster: usize,
    /// The request or operation to send.
    pub payload: JobPayload,
}

/// The operation of a client that a request belongs to.
#[derive(Debug)]
pub struct RequestOwner {
    /// The client.
    pub channel: Arc<ClientChannel>,
    /// The query of the operation.
    pub query: QueryNumber,
    /// Whether the operation was being executed when the request began.
    pub is_counted: bool,
}

/// The payload of a job.
#[derive(Debug)]
pub enum JobPayload {
    /// One request, not compressed yet.
    Request(Box<PreparedRequest<Vec<u8>>>),
    /// An operation, which may consist of several requests.
    Operation(QueuedOperation),
}

/// Key of a connection pool: a client and a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ConnectionKey {
    /// `None` for requests outside an operation.
    client: Option<TaskClientId>,
    /// Position of the cluster.
    cluster: usize,
}

/// The state of the thread before it runs.
#[derive(Debug)]
pub struct RequestThread {
    /// The clusters to which requests are sent.
    pub clusters: Arc<Clusters>,
    /// The queue for the events with the results.
    pub events: Arc<EventQueue>,
    /// Notified when the connections of a step are open.
    pub preparation: Arc<Preparation>,
    /// Counts requests that are not part of an operation.
    pub outside: Arc<OutsideRequests>,
    /// Commands from the bridge.
    pub commands: UnboundedReceiver<RequestCommand>,
}

impl RequestThread {
    /// Serves commands until [`RequestCommand::Shutdown`]. Returns the highest load of the thread.
    pub async fn serve(mut self, race_state: Arc<RaceState>) -> PeakLoad {
        let sender = Rc::new(RequestSender {
            clusters: self.clusters,
            events: self.events,
            preparation: self.preparation,
            outside: self.outside,
            stop_notify: race_state.bridge_stop_notify(),
            race_state,
            step: RefCell::default(),
            connections: RefCell::default(),
            service_times: RefCell::default(),
        });
        let (mut metering, mut peak) = (None::<Metering>, PeakLoad::default());
        let mut trials = tokio::time::interval(IDLE_CHECK);
        loop {
            let command = tokio::select! {
                biased;
                command = self.commands.recv() => command,
                _ = trials.tick(), if sender.clusters.have_several_hosts() => {
                    sender.try_hosts_again();
                    continue;
                }
            };
            match command.unwrap_or(RequestCommand::Shutdown) {
                RequestCommand::OpenStep(step, channels) => {
                    sender.open_step(step);
                    let sender = Rc::clone(&sender);
                    drop(spawn_local(async move { sender.connect(channels).await }));
                }
                RequestCommand::Send(job) => {
                    let sender = Rc::clone(&sender);
                    drop(spawn_local(async move { sender.execute(*job).await }));
                }
                RequestCommand::StartStep => {
                    sender.service_times.take();
                    metering = Some(Metering::start(&sender.race_state));
                }
                RequestCommand::CloseStep => {
                    if let Some(metering) = metering.take() {
                        sender.close_step(&metering.end(), &mut peak);
                    }
                }
                RequestCommand::Shutdown => break,
            }
        }
        peak
    }
}

/// The measurement of the thread's load during a step.
struct Metering {
    meter: Rc<RefCell<CpuMeter>>,
    ticking: JoinHandle<()>,
}

impl Metering {
    fn start(race_state: &RaceState) -> Self {
        let began_ns = race_state.race_time_ns(Instant::now());
        let meter = Rc::new(RefCell::new(CpuMeter::start(&race_state.core_waits, began_ns)));
        let ticking = spawn_local(CpuMeter::tick_every_second(Rc::clone(&meter), || 0));
        Self { meter, ticking }
    }

    fn end(self) -> CpuUsage {
        self.ticking.abort();
        self.meter.borrow_mut().end(0)
    }
}

/// State that all jobs share.
struct RequestSender {
    clusters: Arc<Clusters>,
    events: Arc<EventQueue>,
    preparation: Arc<Preparation>,
    outside: Arc<OutsideRequests>,
    race_state: Arc<RaceState>,
    stop_notify: Arc<Notify>,
    /// The current step.
    step: RefCell<Option<Arc<StepState>>>,
    connections: RefCell<BTreeMap<ConnectionKey, Rc<ConnectionPool>>>,
    /// Service times of the current step, by the position of the task in the plan.
    service_times: RefCell<BTreeMap<u32, ServiceTimeTotals>>,
}

impl RequestSender {
    fn open_step(&self, step: Arc<StepState>) {
        *self.step.borrow_mut() = Some(step);
        // Clients of earlier steps send no more requests, but their connections would stay open until the race ends.
        self.connections.borrow_mut().retain(|key, _| key.client.is_none());
    }

    /// Opens one connection for each client and host before any clock starts. If a host cannot be reached, the first
    /// request reports it.
    async fn connect(&self, channels: Vec<Arc<ClientChannel>>) {
        let deadline = Instant::now() + self.clusters.timeout();
        let mut opening = JoinSet::new();
        for channel in channels {
            for cluster in 0..self.clusters.count() {
                let pool = self.connections(Some(&channel), cluster);
                for connecting in pool.connect_hosts(deadline) {
                    opening.spawn_local(connecting);
                }
            }
        }
        while opening.join_next().await.is_some() {}
        self.preparation.connected();
    }

    /// Opens connections to hosts that were set aside and are to be tried again.
    fn try_hosts_again(&self) {
        let deadline = Instant::now() + self.clusters.timeout();
        let mut check = IdleCheck::new(Instant::now(), deadline, false);
        for pool in self.connections.borrow().values() {
            for reopening in pool.start_reopening(&mut check) {
                drop(spawn_local(async move { reopening.finish(deadline).await }));
            }
        }
    }

    async fn execute(&self, job: RequestJob) {
        let RequestJob { request_id, owner, cluster, payload } = job;
        let connections = self.connections(owner.as_ref().map(|owner| &owner.channel), cluster);
        let is_outside = owner.as_ref().is_none_or(|owner| !owner.is_counted);
        if is_outside {
            self.outside.begin();
        }
        count_request();
        let (outcome, event) = match payload {
            JobPayload::Request(prepared) => request(&connections, request_id, *prepared).await,
            JobPayload::Operation(operation) => {
                let outcome = self.execute_operation(&connections, operation).await;
                let result = ExecutionResult::new(outcome.as_ref());
                (outcome, PythonEvent::OperationExecuted { request_id, result })
            }
        };
        count_reply();
        if is_outside {
            self.outside.end(outcome.as_ref());
        }
        if let Some(RequestOwner { channel, query, is_counted }) = owner {
            self.add_service_time(channel.id.task_index, outcome.as_ref());
            if outcome.as_ref().is_some_and(|outcome| outcome.result.error_class.is_unreachable()) {
                channel.set_has_host_left(connections.unreachable_hosts().is_none());
            }
            let overhead = connections.take_overhead();
            if overhead != ClientOverhead::default() {
                channel.add_overhead(overhead);
            }
            channel.end_request(query, is_counted, outcome);
        }
        self.events.push(event);
    }

    /// Ends the step, for which the thread used `usage`.
    fn close_step(&self, usage: &CpuUsage, peak: &mut PeakLoad) {
        let Some(step) = self.step.take() else { return };
        let totals: Vec<_> = self.service_times.take().into_values().collect();
        let task_name =
            |task_index| step.task(task_index).map_or_else(String::new, |(_, task)| task.name.clone());
        self.race_state.core_waits.add_step(step.index(), usage.core_times());
        peak.add(&step.planned().name, usage, &totals, task_name);
    }

    /// Adds the service time of a request, or of an operation, that succeeded.
    fn add_service_time(&self, task_index: u32, outcome: Option<&OperationOutcome>) {
        let Some(outcome) = outcome.filter(|outcome| outcome.result.is_success()) else { return };
        let mut service_times = self.service_times.borrow_mut();
        let new = ServiceTimeTotals { task_index, ..ServiceTimeTotals::default() };
        let totals = service_times.entry(task_index).or_insert(new);
        totals.succeeded += 1;
        totals.service_ns += nanos_since(outcome.service_start, outcome.done);
    }

    async fn execute_operation(
        &self,
        connections: &ConnectionPool,
        mut operation: QueuedOperation,
    ) -> Option<OperationOutcome> {
        let step = self.step.borrow().clone()?;
        let cancellation = Cancellation {
            step: &step,
            race_state: &self.race_state,
            stop_notify: &self.stop_notify,
            // The driver abandons a runner some time after the end of its task, whatever it waits for.
            task_end: None,
        };
        operation.execute(connections, &cancellation).await
    }

    fn connections(&self, owner: Option<&Arc<ClientChannel>>, cluster: usize) -> Rc<ConnectionPool> {
        let key = ConnectionKey { client: owner.map(|channel| channel.id), cluster };
        let race_client = owner.map_or(0, |channel| channel.race_client);
        let mut connections = self.connections.borrow_mut();
        let pool = connections
            .entry(key)
            .or_insert_with(|| Rc::new(self.clusters.connections(race_client, cluster)));
        Rc::clone(pool)
    }
}

/// Sends one request. Returns its outcome, or `None` if it could not be sent, and the event for Python.
async fn request(
    connections: &ConnectionPool,
    request_id: u64,
    mut prepared: PreparedRequest<Vec<u8>>,
) -> (Option<OperationOutcome>, PythonEvent) {
    if let Err(error) = prepared.compress_in_slices().await {
        let kind = ErrorClass::Protocol.name();
        return (None, PythonEvent::RequestFailed { request_id, kind, reason: error.to_string() });
    }
    let mut response = None;
    let keep_response = async |received: ResponseView<'_>| {
        let ResponseView { status, body, .. } = received;
        let (headers, body) = (received.headers(), body.to_vec());
        response = Some(RunnerResponse { request_id, status, headers, body });
        WorkOutcome::success(0)
    };
    let outcome = prepared.send(connections, keep_response).await;
    let event = if let Some(response) = response {
        PythonEvent::ResponseReceived(response)
    } else {
        let first = outcome.result.failures.first();
        let reason = first.map_or_else(String::new, |failure| failure.reason.clone());
        PythonEvent::RequestFailed { request_id, kind: outcome.result.error_class.name(), reason }
    };
    (Some(outcome), event)
}
