//! One worker: its thread, its clients with their connections, and its recorder.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use pacenote_plan::{ClientAllocation, OnError, Plan, PlannedTask, TaskAllocation, TaskPacing};
use pacenote_record::{EndedBy, RecordError, RecordSender, Recorder, RecordingSettings, ServiceTimeTotals};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{JoinError, JoinSet, spawn_local};

use crate::cancel::{Cancellation, run_until_cancelled};
use crate::error::DriveError;
use crate::health::cpu::{CpuMeter, PeakLoad};
use crate::operation::data_files::DataFiles;
use crate::plan_to_record::{has_warmup, measured_window};
use crate::python::PythonBridge;
use crate::race_state::{RaceState, StopLevel};
use crate::schedule::client_schedule::Schedule;
use crate::schedule::pacer::Pacer;
use crate::schedule::timer::{SpinWait, Timer};
use crate::step_state::{StepState, TaskState, WorkerShare};
use crate::task_client_id::TaskClientId;
use crate::transport::pool::{ClientPlace, ConnectionPool, IDLE_CHECK, IdleCheck, Reopening};
use crate::transport::{ConnectError, Endpoints};
use crate::units::nanos_since;
use crate::worker::assigned_task::{AssignedTask, run_tasks};
use crate::worker::operations::ConnectedSource;
use crate::worker::source::{OperationSource, SourceContext};

/// A command from the coordinator to a worker.
#[derive(Debug)]
pub enum WorkerCommand {
    /// Connect the clients and create their sources; answered with [`WorkerReply::Ready`].
    Prepare {
        /// The step.
        step: Arc<StepState>,
        /// The data files of the step.
        files: Arc<DataFiles>,
    },
    /// Start the clients; answered with [`WorkerReply::Done`] when all of them have ended.
    Start,
    /// End the thread.
    Quit,
}

/// A reply from a worker to the coordinator.
#[derive(Debug)]
pub enum WorkerReply {
    /// The step is prepared, or could not be prepared.
    Ready(Result<(), DriveError>),
    /// All clients of the worker have ended the step.
    Done,
}

/// The state shared by all workers of a race.
#[derive(Debug, Clone)]
pub struct WorkerContext {
    /// The plan.
    pub plan: Arc<Plan>,
    /// The hosts of the cluster under test.
    pub endpoints: Endpoints,
    /// The bridge to Python, if the plan needs it.
    pub bridge: Option<Arc<PythonBridge>>,
    /// The state of the race.
    pub race_state: Arc<RaceState>,
    /// The channel to which recordings are sent.
    pub record_sender: RecordSender,
}

/// A thread that runs client loops.
#[derive(Debug)]
pub struct Worker {
    /// The position of the worker among all workers, which determines its clients.
    pub share: WorkerShare,
    /// The state it shares with the other workers.
    pub context: WorkerContext,
    /// Commands from the coordinator.
    pub commands: UnboundedReceiver<WorkerCommand>,
    /// The channel to which replies are sent.
    pub replies: Sender<WorkerReply>,
}

/// Resources from which the clients of a step are created.
struct StepResources<'a> {
    files: &'a DataFiles,
    recorder: &'a RefCell<Recorder>,
    spin_wait: &'a Rc<SpinWait>,
    step: &'a StepState,
}

/// The state of one client during a step.
#[derive(Debug)]
struct ClientState {
    /// Number of the client in the race.
    race_client: u32,
    pool: Rc<ConnectionPool>,
    timer: Timer,
    /// Its tasks in the step, one after another.
    tasks: Vec<AssignedTask<ConnectedSource>>,
}

/// What the worker knows of a client while it runs.
#[derive(Debug, Clone)]
struct RunningConnections {
    pool: Rc<ConnectionPool>,
    /// Position in the plan of the task that the client runs.
    current_task: Rc<Cell<u32>>,
}

/// An event for a worker while its clients run.
enum StepEvent {
    /// A client has ended or, if `None`, all of them have.
    ClientEnded(Option<Result<(u32, Rc<ConnectionPool>), JoinError>>),
    /// The recorder must deliver what it has recorded.
    FlushDue,
    /// Idle connections must be checked.
    IdleCheckDue,
}

/// The connections of each client, by the client's number in the race. They are kept from step to step.
type ClientPools = BTreeMap<u32, Rc<ConnectionPool>>;

impl Worker {
    /// Executes commands until [`WorkerCommand::Quit`]. Returns the highest load of the thread.
    pub async fn run(mut self) -> PeakLoad {
        let mut pools = ClientPools::new();
        let mut peak_load = PeakLoad::default();
        let race_state = Arc::clone(&self.context.race_state);
        let scheduled = race_state.scheduling.schedule_worker();
        while let Some(command) = self.commands.recv().await {
            let WorkerCommand::Prepare { step, files } = command else { break };
            let plan = &self.context.plan;
            let recorder = RefCell::new(Recorder::new(self.context.record_sender.clone()));
            let spin_wait = Rc::new(SpinWait::new(Duration::from_micros(plan.driver.spin_us.into())));
            let resources =
                StepResources { files: &files, recorder: &recorder, spin_wait: &spin_wait, step: &step };
            let (clients, prepared) = match self.prepare(&resources, &mut pools).await {
                Ok(clients) => (clients, Ok(())),
                Err(error) => (Vec::new(), Err(error)),
            };
            let failed = prepared.is_err();
            let _ = self.replies.send(WorkerReply::Ready(prepared));
            if failed || !matches!(self.commands.recv().await, Some(WorkerCommand::Start)) {
                break;
            }
            scheduled.renew_budget();
            let began_ns = race_state.race_time_ns(Instant::now());
            let meter = Rc::new(RefCell::new(CpuMeter::start(&race_state.core_waits, began_ns)));
            let spinning = Rc::clone(&spin_wait);
            let idle_spin_ns = move || spinning.idle_spin_ns();
            let ticking = spawn_local(CpuMeter::tick_every_second(Rc::clone(&meter), idle_spin_ns));
            let totals = self.run_step(&step, recorder, clients, &mut pools).await;
            ticking.abort();
            let usage = meter.borrow_mut().end(spin_wait.idle_spin_ns());
            scheduled.end_step(&step.task_spans(self.share, Instant::now()));
            race_state.core_waits.add_step(step.index(), usage.core_times());
            peak_load.add(&step.planned().name, &usage, &totals, |task| {
                self.context.plan.tasks[task as usize].name.clone()
            });
            let _ = self.replies.send(WorkerReply::Done);
        }
        peak_load
    }

    async fn prepare(
        &self,
        resources: &StepResources<'_>,
        pools: &mut ClientPools,
    ) -> Result<Vec<ClientState>, DriveError> {
        let mut clients = Vec::new();
        for allocation in resources.step.clients_of(self.share) {
            let race_client = allocation.race_client;
            let pool = pools.remove(&race_client).unwrap_or_else(|| Rc::new(self.new_pool(race_client)));
            let timer = Timer::new(Rc::clone(resources.spin_wait));
            let tasks = self.assigned_tasks(allocation, &pool, resources)?;
            clients.push(ClientState { race_client, pool, timer, tasks });
        }
        self.connect_clients(&clients).await?;
        Ok(clients)
    }

    /// Returns the tasks of a client in a step.
    fn assigned_tasks(
        &self,
        allocation: &ClientAllocation,
        pool: &Rc<ConnectionPool>,
        resources: &StepResources<'_>,
    ) -> Result<Vec<AssignedTask<ConnectedSource>>, DriveError> {
        let WorkerContext { plan, bridge, .. } = &self.context;
        let race_client = allocation.race_client;
        let assigned_task = |allocation: TaskAllocation| {
            let id = task_client_id(allocation);
            let task = &plan.tasks[id.task_index as usize];
            add_client(resources.recorder, id, task)?;
            let handle = bridge.as_ref().and_then(|bridge| bridge.handle(id));
            let context = SourceContext { files: resources.files, handle: handle.as_ref(), race_client };
            let source = OperationSource::new(plan, task, id.client_number, context)?;
            let operations = ConnectedSource { source, pool: Rc::clone(pool) };
            let start_ns = Pacer::client_start_ns(task, id.client_number);
            let shared = resources.step.task(id.task_index).and_then(|(state, _)| state.shared_schedule());
            let schedule = Schedule::new(plan, id, shared);
            Ok(AssignedTask { id, start_ns, schedule, operations, handle })
        };
        allocation.allocations.iter().copied().map(assigned_task).collect()
    }

    /// Creates the connections of a client.
    fn new_pool(&self, race_client: u32) -> ConnectionPool {
        let place = ClientPlace { race_client, threads: self.share.worker_count };
        ConnectionPool::for_client(&self.context.endpoints, place)
    }

    /// Opens the connections of all clients to all hosts concurrently, before the clock of the step starts.
    async fn connect_clients(&self, clients: &[ClientState]) -> Result<(), DriveError> {
        let WorkerContext { plan, race_state, .. } = &self.context;
        let deadline = Instant::now() + Duration::from_millis(plan.target.timeout_ms);
        let required = plan.driver.on_error != OnError::ContinueOnNetwork;
        let mut connecting = JoinSet::new();
        for connection in clients.iter().flat_map(|client| client.pool.connect_hosts(deadline)) {
            connecting.spawn_local(connection);
        }
        let stop_notify = race_state.stop_notify(self.share.worker_index);
        loop {
            let mut next = None;
            let stopped = || race_state.stop_level() != StopLevel::Run;
            let joined = async { next = connecting.join_next().await };
            // A race that is stopped while its clients connect does not need the remaining connections.
            if run_until_cancelled(joined, &stop_notify, stopped).await.is_none() {
                break;
            }
            let Some(joined) = next else { break };
            let connected = joined.map_err(|error| DriveError::ThreadDied(error.to_string()))?;
            if let Err((pool, source)) = connected
                && required
                && let Some(host) = pool.unreachable_hosts()
            {
                return Err(DriveError::Connect { host, source });
            }
        }
        Ok(())
    }

    /// Starts the clients of a step. Each returns its number and its connections.
    fn spawn_clients(
        &self,
        step: &Arc<StepState>,
        recorder: &Rc<RefCell<Recorder>>,
        clients: Vec<ClientState>,
        connections: &[RunningConnections],
    ) -> JoinSet<(u32, Rc<ConnectionPool>)> {
        let race_state = &self.context.race_state;
        let stop_notify = race_state.stop_notify(self.share.worker_index);
        let mut running = JoinSet::new();
        for (mut client, RunningConnections { current_task, .. }) in clients.into_iter().zip(connections) {
            let current_task = Rc::clone(current_task);
            let (step, race_state) = (Arc::clone(step), Arc::clone(race_state));
            let (recorder, stop_notify) = (Rc::clone(recorder), Arc::clone(&stop_notify));
            running.spawn_local(async move {
                let cancellation = Cancellation {
                    step: &step,
                    race_state: &race_state,
                    stop_notify: &stop_notify,
                    task_end: None,
                };
                run_tasks(&mut client.timer, &mut client.tasks, &recorder, cancellation, &current_task).await;
                (client.race_client, client.pool)
            });
        }
        running
    }

    async fn run_step(
        &self,
        step: &Arc<StepState>,
        recorder: RefCell<Recorder>,
        clients: Vec<ClientState>,
        pools: &mut ClientPools,
    ) -> Vec<ServiceTimeTotals> {
        let race_state = &self.context.race_state;
        let recorder = Rc::new(recorder);
        let stop_notify = race_state.stop_notify(self.share.worker_index);
        let abandoned = || race_state.stop_level() == StopLevel::Abandon;
        let mut reconnecting = JoinSet::new();
        let connections: Vec<RunningConnections> = clients.iter().map(RunningConnections::of).collect();
        let mut running = self.spawn_clients(step, &recorder, clients, &connections);
        let mut flush_ticks = tokio::time::interval(Duration::from_secs(1));
        let mut idle_checks = tokio::time::interval(IDLE_CHECK);
        loop {
            let next_event = async {
                tokio::select! {
                    biased;
                    joined = running.join_next() => StepEvent::ClientEnded(joined),
                    _ = flush_ticks.tick() => StepEvent::FlushDue,
                    _ = idle_checks.tick() => StepEvent::IdleCheckDue,
                }
            };
            match run_until_cancelled(next_event, &stop_notify, abandoned).await {
                None | Some(StepEvent::ClientEnded(None)) => break,
                Some(StepEvent::ClientEnded(Some(Ok((race_client, pool))))) => {
                    pools.insert(race_client, pool);
                }
                Some(StepEvent::ClientEnded(Some(Err(error)))) => {
                    race_state.abort(format!("a client of the driver ended unexpectedly: {error}"));
                }
                Some(StepEvent::FlushDue) => recorder.borrow_mut().flush(),
                Some(StepEvent::IdleCheckDue) => {
                    self.reopen_connections(&connections, step, &mut reconnecting);
                }
            }
        }
        // Clients that are still running are dropped together with their requests, which remain unanswered.
        running.shutdown().await;
        for task_state in step.tasks().iter().filter(|task| recorder.borrow().is_open(task.task_index)) {
            let origin = task_state.origin_or_begin(Instant::now());
            let stopped_ns = race_state.stopped_at().map(|stopped| nanos_since(origin, stopped));
            let unsent = task_state.take_unsent_of_failed(stopped_ns);
            recorder.borrow_mut().leave_unsent(task_state.task_index, unsent);
        }
        let ended_by = if race_state.abort_reason().is_some() { EndedBy::Aborted } else { EndedBy::Stopped };
        let task_began_ns = |task_index| {
            step.task(task_index).map_or(0, |(task_state, _)| task_began_ns(task_state, race_state))
        };
        recorder.borrow_mut().close_dropped_tasks(ended_by, task_began_ns);
        recorder.borrow().service_time_totals().to_vec()
    }

    /// Opens connections to hosts that are to be tried again, and reopens idle connections that have broken, as the
    /// next request would, but without sending a request. If an engine is killed while no request is in flight, its
    /// connections are closed and new ones refused: this aborts the race, unless another host is left.
    fn reopen_connections(
        &self,
        clients: &[RunningConnections],
        step: &Arc<StepState>,
        reopening: &mut JoinSet<()>,
    ) {
        while reopening.try_join_next().is_some() {}
        let WorkerContext { plan, race_state, .. } = &self.context;
        let on_error = plan.driver.on_error;
        let deadline = Instant::now() + Duration::from_millis(plan.target.timeout_ms);
        let reopens_idle = on_error != OnError::ContinueOnNetwork;
        let mut check = IdleCheck::new(Instant::now(), deadline, reopens_idle);
        for client in clients {
            for connection in client.pool.start_reopening(&mut check) {
                let (step, race_state) = (Arc::clone(step), Arc::clone(race_state));
                reopening.spawn_local(client.clone().reopen(connection, deadline, step, race_state));
            }
        }
    }
}

impl RunningConnections {
    fn of(client: &ClientState) -> Self {
        let first_task = client.tasks.first().map_or(0, |task| task.id.task_index);
        Self { pool: Rc::clone(&client.pool), current_task: Rc::new(Cell::new(first_task)) }
    }

    /// Opens a connection before `deadline`.
    async fn reopen(
        self,
        connection: Reopening,
        deadline: Instant,
        step: Arc<StepState>,
        race_state: Arc<RaceState>,
    ) {
        if let Err(error) = connection.finish(deadline).await {
            self.apply_failure_policy(&error, &step, &race_state);
        }
    }

    /// Aborts the race if the plan requires it after no connection could be opened and no host is left, unless the race
    /// has been stopped.
    fn apply_failure_policy(&self, error: &ConnectError, step: &StepState, race_state: &RaceState) {
        let plan = step.plan();
        let is_tolerated = match plan.driver.on_error {
            OnError::Continue => false,
            OnError::ContinueOnNetwork => true,
            OnError::Abort => plan.tasks[self.current_task.get() as usize].tolerates_errors,
        };
        // If the host did not refuse the connection, a request would also wait until its timeout and then report it.
        let timed_out = matches!(error, ConnectError::Io(io) if io.kind() == std::io::ErrorKind::TimedOut);
        if !(is_tolerated || timed_out) && race_state.stop_level() == StopLevel::Run {
            let (hosts, name) = (self.pool.hosts(), &step.planned().name);
            race_state.abort(format!("{hosts} closed all connections in step {name}: {error}"));
        }
    }
}

/// Adds a client of a task to the recorder.
///
/// # Errors
///
/// If a histogram cannot be created.
pub fn add_client(
    recorder: &RefCell<Recorder>,
    id: TaskClientId,
    task: &PlannedTask,
) -> Result<(), RecordError> {
    let paced = !matches!(task.pacing, TaskPacing::Unpaced {});
    recorder.borrow_mut().add_client(RecordingSettings {
        task_index: id.task_index,
        paced,
        has_warmup: has_warmup(task.bound),
        measured_window: measured_window(task.bound),
    })
}

/// Returns the client id of an allocation.
pub fn task_client_id(allocation: TaskAllocation) -> TaskClientId {
    TaskClientId { task_index: allocation.task_index, client_number: allocation.client_number }
}

/// Returns when a task started, in nanoseconds since the race's first step started.
fn task_began_ns(task_state: &TaskState, race_state: &RaceState) -> u64 {
    race_state.race_time_ns(task_state.origin_or_begin(Instant::now()))
}
