//! [`PythonBridge`]: the calls available to Python during a race.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pacenote_plan::{Plan, PlannedTask, TaskPacing, TaskWork};
use pacenote_record::UnsentOperations;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::error::DriveError;
use crate::operation::context::Destination;
use crate::operation::prepared::{PreparedRequest, RequestSpec};
use crate::python::channel::{Answer, ClientChannel, QueryNumber};
use crate::python::clusters::Clusters;
use crate::python::events::{EventQueue, PythonEvent, ReadEvent};
use crate::python::handle::ClientHandle;
use crate::python::outside_requests::OutsideRequests;
use crate::python::preparation::Preparation;
use crate::python::protocol::{RunnerRequest, RunnerResult};
use crate::python::queued_operation::{OperationInput, QueuedOperation};
use crate::python::requests::{JobPayload, RequestCommand, RequestJob, RequestOwner, RequestThread};
use crate::race_state::RaceState;
use crate::step_state::StepState;
use crate::summary::StepOutsideRequests;
use crate::task_client_id::TaskClientId;
use crate::transport::Endpoints;

/// Maximum timeout of a request; longer ones could overflow the clock.
const MAX_TIMEOUT: Duration = Duration::from_hours(24 * 365);

/// Headers of a runner's request that are not sent: the driver frames messages itself and sends its own `user-agent`.
const IGNORED_HEADERS: [&str; 6] =
    ["connection", "content-length", "host", "te", "transfer-encoding", "user-agent"];

/// The connection between a race and the Python code of its track. Its methods can be called from any thread and do not
/// block.
#[derive(Debug)]
pub struct PythonBridge {
    clusters: Arc<Clusters>,
    events: Arc<EventQueue>,
    preparation: Arc<Preparation>,
    channels: Vec<Arc<ClientChannel>>,
    by_client: BTreeMap<TaskClientId, usize>,
    commands: UnboundedSender<RequestCommand>,
    next_request_id: AtomicU64,
    closed: AtomicBool,
    race_state: Arc<RaceState>,
    outside: Arc<OutsideRequests>,
}

/// A new bridge, and its thread, which has not been started yet.
#[derive(Debug)]
pub struct NewBridge {
    /// The bridge.
    pub bridge: Arc<PythonBridge>,
    /// Sends the requests of runners.
    pub requests: RequestThread,
}

impl PythonBridge {
    /// Creates the bridge for a plan. Returns `None` if the plan needs no Python. `endpoints` contains the endpoints of
    /// all clusters, those of the cluster under test first.
    pub(crate) fn for_plan(
        plan: &Arc<Plan>,
        endpoints: &[Endpoints],
        race_state: &Arc<RaceState>,
    ) -> Result<Option<NewBridge>, DriveError> {
        if !plan.tasks.iter().any(needs_python) {
            return Ok(None);
        }
        let events = EventQueue::new().map_err(|source| DriveError::System { what: "an event", source })?;
        let (clusters, events) = (Arc::new(Clusters::new(plan, endpoints)), Arc::new(events));
        let preparation = Arc::<Preparation>::default();
        let outside = Arc::<OutsideRequests>::default();
        let channels = channels_of(plan);
        let by_client = channels.iter().enumerate().map(|(index, channel)| (channel.id, index)).collect();
        let (commands, receiver) = unbounded_channel();
        let requests = RequestThread {
            clusters: Arc::clone(&clusters),
            events: Arc::clone(&events),
            preparation: Arc::clone(&preparation),
            outside: Arc::clone(&outside),
            commands: receiver,
        };
        let bridge = Arc::new(Self {
            clusters,
            events,
            preparation,
            channels,
            by_client,
            commands,
            next_request_id: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            race_state: Arc::clone(race_state),
            outside,
        });
        Ok(Some(NewBridge { bridge, requests }))
    }

    /// Returns a file descriptor that is readable while events are queued.
    #[must_use]
    pub fn fileno(&self) -> RawFd {
        self.events.fileno()
    }

    /// Removes and returns all events, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<ReadEvent> {
        self.events.drain()
    }

    /// Answers [`PythonEvent::PrepareStep`]; an error ends the race.
    pub fn prepared(&self, step: usize, error: Option<String>) {
        self.preparation.prepared(step, error);
    }

    /// Returns how long the driver has been waiting for [`PythonBridge::prepared`], or `None` if it is not.
    #[must_use]
    pub fn preparing_for(&self) -> Option<Duration> {
        self.preparation.duration()
    }

    /// Queues the next operation of a client, given as a `SuppliedOperation` document and, for a bulk, its body.
    /// Returns `false` if the queue is full.
    ///
    /// # Errors
    ///
    /// If the client has no queue or has been finished, or the operation cannot be parsed.
    pub fn enqueue(
        &self,
        client: TaskClientId,
        document: &str,
        body: Option<Vec<u8>>,
    ) -> Result<bool, DriveError> {
        let channel = self.channel(client)?;
        if channel.is_finished() {
            return Err(DriveError::Python(format!("the source of {} has ended", self.name(client))));
        }
        if channel.free_slots() == 0 {
            return Ok(false);
        }
        let operation = self.prepare(Some(channel), 0, OperationInput { document, body })?;
        Ok(channel.push(operation))
    }

    /// Returns the number of operations that currently fit into the queue of a client.
    ///
    /// # Errors
    ///
    /// If the task of the client needs no Python.
    pub fn free_slots(&self, client: TaskClientId) -> Result<usize, DriveError> {
        Ok(self.channel(client)?.free_slots())
    }

    /// Declares that a client has no operations beyond those already queued. `error` is the failure that caused this,
    /// if there was one.
    ///
    /// # Errors
    ///
    /// If the task of the client needs no Python.
    pub fn finish(&self, client: TaskClientId, error: Option<String>) -> Result<(), DriveError> {
        self.channel(client)?.finish(error);
        Ok(())
    }

    /// Answers [`PythonEvent::ScheduleNext`] with the due time of the next operation, relative to the start of the
    /// task: 0 means immediately, and `None` that the last operation has been scheduled.
    ///
    /// # Errors
    ///
    /// If there is no such query.
    pub fn schedule(&self, query_id: u64, offset: Option<Duration>) -> Result<(), DriveError> {
        self.answer(query_id, Answer::Due(offset))
    }

    /// Answers [`PythonEvent::CountUnsent`] with the numbers of operations.
    ///
    /// # Errors
    ///
    /// If there is no such query.
    pub fn count_unsent(&self, query_id: u64, unsent: UnsentOperations) -> Result<(), DriveError> {
        self.answer(query_id, Answer::Unsent(unsent))
    }

    /// Ends the race because the code that serves the events cannot continue.
    pub fn fail(&self, reason: String) {
        self.race_state.fail(reason);
    }

    /// Answers [`PythonEvent::RunOperation`].
    ///
    /// # Errors
    ///
    /// If there is no such query.
    pub fn complete(&self, query_id: u64, result: RunnerResult) -> Result<(), DriveError> {
        self.answer(query_id, Answer::Completed(Box::new(result), Instant::now()))
    }

    /// Sends a request and returns its id. The result follows as [`PythonEvent::ResponseReceived`] or
    /// [`PythonEvent::RequestFailed`] with the same id. The request counts towards the operation whose query is
    /// `owner`; if that has ended, only towards the traffic of its task.
    ///
    /// # Errors
    ///
    /// If there is no such cluster or query, the request cannot be written as HTTP, or the race is over.
    pub fn request(
        &self,
        owner: Option<u64>,
        cluster: &str,
        request: RunnerRequest,
    ) -> Result<u64, DriveError> {
        let cluster = self.clusters.position(cluster)?;
        let target = self.clusters.target(cluster);
        let own = request.headers.iter().filter(|(name, _)| {
            let name = name.to_ascii_lowercase();
            !IGNORED_HEADERS.contains(&name.as_str())
        });
        let body = request.body.unwrap_or_default();
        let timeout = request.timeout.unwrap_or(Duration::from_millis(target.timeout_ms)).min(MAX_TIMEOUT);
        let spec = RequestSpec {
            method: &request.method,
            path: &request.target,
            headers: own,
            has_body: !body.is_empty(),
            timeout: Some(timeout),
        };
        let channel = owner.map(|query| self.query(query)).transpose()?.map(|(channel, _)| channel);
        let to = Destination::of_client(target, "", channel.map(|channel| channel.race_client));
        let prepared =
            PreparedRequest::new(spec, body, to).map_err(|error| DriveError::Python(error.to_string()))?;
        self.send(owner, cluster, JobPayload::Request(Box::new(prepared)))
    }

    /// Starts executing a `SuppliedOperation` document in the driver and returns an id. The result follows as
    /// [`PythonEvent::OperationExecuted`] with the same id. The requests count towards the operation whose query is
    /// `owner`, as in [`PythonBridge::request`].
    ///
    /// # Errors
    ///
    /// If there is no such cluster or query, the operation cannot be parsed, or the race is over.
    pub fn execute(
        &self,
        owner: Option<u64>,
        cluster: &str,
        document: &str,
        body: Option<Vec<u8>>,
    ) -> Result<u64, DriveError> {
        let cluster = self.clusters.position(cluster)?;
        let channel = owner.map(|query| self.query(query)).transpose()?.map(|(channel, _)| channel);
        let operation = self.prepare(channel, cluster, OperationInput { document, body })?;
        self.send(owner, cluster, JobPayload::Operation(operation))
    }

    fn prepare(
        &self,
        owner: Option<&Arc<ClientChannel>>,
        cluster: usize,
        input: OperationInput<'_>,
    ) -> Result<QueuedOperation, DriveError> {
        let tasks = &self.clusters.plan().tasks;
        let task = owner.and_then(|channel| tasks.get(channel.id.task_index as usize));
        let task_name = task.map_or("without owner", |task| &task.name);
        let race_client = owner.map(|channel| channel.race_client);
        let to = Destination::of_client(self.clusters.target(cluster), task_name, race_client);
        QueuedOperation::new(to, input)
    }

    fn send(&self, owner: Option<u64>, cluster: usize, payload: JobPayload) -> Result<u64, DriveError> {
        let owner = owner.map(|query| self.query(query)).transpose()?;
        let request_id = self.next_request_id.fetch_add(1, Ordering::Relaxed);
        let over = || DriveError::Python("the race is over".into());
        // The request thread may still be running, but Python has stopped reading events.
        if self.closed.load(Ordering::Acquire) {
            return Err(over());
        }
        let owner = owner.map(|(channel, query)| RequestOwner {
            channel: Arc::clone(channel),
            query,
            is_counted: channel.begin_request(query),
        });
        let job = RequestJob { request_id, owner, cluster, payload };
        self.commands.send(RequestCommand::Send(Box::new(job))).map_err(|_| over())?;
        Ok(request_id)
    }

    /// Counts a request that repeats an earlier one of the same operation, which is given by its query.
    ///
    /// # Errors
    ///
    /// If there is no such query.
    pub fn count_retry(&self, owner: u64) -> Result<(), DriveError> {
        let (channel, number) = self.query(owner)?;
        channel.count_retry(number);
        Ok(())
    }

    fn answer(&self, query_id: u64, answer: Answer) -> Result<(), DriveError> {
        let (channel, number) = self.query(query_id)?;
        channel.answer(number, answer);
        Ok(())
    }

    /// Returns the channel of the client to which a query belongs, and the query's number.
    fn query(&self, query_id: u64) -> Result<(&Arc<ClientChannel>, QueryNumber), DriveError> {
        let unknown = || DriveError::Python(format!("there is no query {query_id}"));
        let (index, number) = QueryNumber::of_id(query_id).ok_or_else(unknown)?;
        Ok((self.channels.get(index).ok_or_else(unknown)?, number))
    }

    fn channel(&self, client: TaskClientId) -> Result<&Arc<ClientChannel>, DriveError> {
        let unknown = || DriveError::Python(format!("{} needs no Python", self.name(client)));
        self.by_client.get(&client).map(|index| &self.channels[*index]).ok_or_else(unknown)
    }

    /// Returns the handle of a client, or `None` if its task needs no Python.
    pub(crate) fn handle(&self, client: TaskClientId) -> Option<ClientHandle> {
        self.channel(client).ok().map(|channel| ClientHandle::new(&self.events, channel))
    }

    /// Returns the requests of each step that were sent outside the operations of runners, without steps that had none.
    pub(crate) fn outside_requests(&self) -> Vec<StepOutsideRequests> {
        self.outside.of_steps()
    }

    /// Returns the description of a client for messages.
    fn name(&self, id: TaskClientId) -> String {
        let TaskClientId { task_index, client_number } = id;
        match self.clusters.plan().tasks.get(task_index as usize) {
            Some(task) => format!("client {client_number} of task {}", task.name),
            None => format!("client {client_number} of task number {task_index}"),
        }
    }

    /// Opens the queues of a step and requests its preparation from Python. Returns `false` if the step needs no
    /// Python.
    pub(crate) fn open_step(&self, step: &Arc<StepState>) -> bool {
        self.outside.open_step(&step.planned().name);
        let channels: Vec<Arc<ClientChannel>> = self.channels_in(step).cloned().collect();
        if channels.is_empty() {
            return false;
        }
        for channel in &channels {
            channel.open();
        }
        self.preparation.begin(step.index());
        let with_runner = channels.into_iter().filter(|channel| channel.has_runner()).collect();
        let _ = self.commands.send(RequestCommand::OpenStep(Arc::clone(step), with_runner));
        self.events.push(PythonEvent::PrepareStep { step: step.index() });
        true
    }

    /// Waits until Python has prepared the step. Returns `false` if the race was stopped in the meantime.
    ///
    /// # Errors
    ///
    /// The error that Python reported.
    pub(crate) fn wait_until_prepared(&self, race_state: &RaceState) -> Result<bool, DriveError> {
        self.preparation.wait(race_state)
    }

    /// Records that the clock of the step starts now.
    pub(crate) fn start_step(&self) {
        let _ = self.commands.send(RequestCommand::StartStep);
    }

    /// Closes the queues of a step whose clients have all ended.
    pub(crate) fn close_step(&self, step: &StepState) {
        for channel in self.channels_in(step) {
            channel.close();
        }
        let _ = self.commands.send(RequestCommand::CloseStep);
        self.events.push(PythonEvent::StepEnded { step: step.index() });
    }

    /// Ends the thread that sends requests, and notifies Python that the race is over.
    pub(crate) fn shutdown(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            let _ = self.commands.send(RequestCommand::Shutdown);
            self.events.push(PythonEvent::RaceEnded);
        }
    }

    fn channels_in<'a>(&'a self, step: &'a StepState) -> impl Iterator<Item = &'a Arc<ClientChannel>> {
        self.channels.iter().filter(|channel| step.task(channel.id.task_index).is_some())
    }
}

fn needs_python(task: &PlannedTask) -> bool {
    matches!(task.work, TaskWork::PythonSource { .. } | TaskWork::PythonRunner {})
        || matches!(task.pacing, TaskPacing::PythonScheduler {})
}

fn channels_of(plan: &Plan) -> Vec<Arc<ClientChannel>> {
    let mut channels = Vec::new();
    for client in plan.steps.iter().flat_map(|step| &step.client_allocations) {
        for allocation in &client.allocations {
            let task = &plan.tasks[allocation.task_index as usize];
            let index = u32::try_from(channels.len()).unwrap_or(u32::MAX);
            let id =
                TaskClientId { task_index: allocation.task_index, client_number: allocation.client_number };
            channels.extend(ClientChannel::new(task, id, client.race_client, index).map(Arc::new));
        }
    }
    channels
}
