//! One worker: its thread, its clients with their connections, its recorder.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use pacenote_plan::{ClientAllocation, OnError, Plan, TaskAllocation, TaskPacing};
use pacenote_record::{ClientEnded, EndedBy, RecordSender, Recorder, ServiceTotals};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use crate::cancel::{Cancellation, until_cancelled};
use crate::client_id::ClientId;
use crate::error::DriveError;
use crate::health::cpu::{CpuMeter, PeakLoad};
use crate::operation::data_files::DataFiles;
use crate::python::{Hand, Lane};
use crate::race_state::{RaceState, StopLevel};
use crate::schedule::clock::Clock;
use crate::schedule::limiter::{Limiter, measured_window};
use crate::schedule::open_loop::OpenLoop;
use crate::schedule::pacer::Pacer;
use crate::schedule::timer::{SpinWait, Timer};
use crate::step::{StepRun, TaskRun, WorkerIndex};
use crate::transport::pool::ConnectionPool;
use crate::transport::{ConnectError, Endpoints};
use crate::worker::client_loop::{ClientLoop, Entry, Schedule, TaskClient};
use crate::worker::operations::PooledOperations;
use crate::worker::source::{Site, Source};

/// How often idle connections are checked.
const IDLE_CHECK: Duration = Duration::from_millis(500);

/// A command of the coordinator to a worker.
#[derive(Debug)]
pub enum WorkerCommand {
    /// Connect clients and build sources; answered by [`WorkerReply::Ready`].
    Prepare(Arc<StepRun>, Arc<DataFiles>),
    /// Start the clients; answered by [`WorkerReply::Done`] when all have ended.
    Start,
    /// End the thread.
    Quit,
}

/// A reply of a worker to the coordinator.
#[derive(Debug)]
pub enum WorkerReply {
    /// The step is prepared, or cannot be.
    Ready(Result<(), DriveError>),
    /// All clients of the worker have ended the step.
    Done,
}

/// What all workers of a race share.
#[derive(Debug, Clone)]
pub struct WorkerContext {
    /// The plan.
    pub plan: Arc<Plan>,
    /// The hosts of the cluster under test.
    pub routes: Endpoints,
    /// The bridge to Python, if the plan needs it.
    pub lane: Option<Arc<Lane>>,
    /// The state of the race.
    pub race: Arc<RaceState>,
    /// Where recordings are sent.
    pub outgoing: RecordSender,
}

/// A thread that runs client loops.
#[derive(Debug)]
pub struct Worker {
    /// Which worker this is.
    pub index: WorkerIndex,
    /// What it shares with the other workers.
    pub context: WorkerContext,
    /// Commands of the coordinator.
    pub commands: UnboundedReceiver<WorkerCommand>,
    /// Where replies are sent.
    pub replies: Sender<WorkerReply>,
}

/// What the clients of a step are built with.
struct StepResources<'a> {
    files: &'a DataFiles,
    recorder: &'a RefCell<Recorder>,
    spin_wait: &'a Rc<SpinWait>,
    /// The schedules of open-loop tasks, by position of the task in the plan.
    open_loops: BTreeMap<u32, Rc<OpenLoop>>,
}

/// The state of one client during a step.
#[derive(Debug)]
struct ClientState {
    /// Row of the allocation matrix.
    row: u32,
    links: Rc<ConnectionPool>,
    timer: Timer,
    /// What it does in the step, one after another.
    tasks: Vec<ClientTask>,
}

/// What a client does in one task of a step.
#[derive(Debug)]
struct ClientTask {
    id: ClientId,
    /// When the client starts, nanoseconds after the beginning of the task: later than 0 only during ramp-up.
    start_ns: u64,
    schedule: Schedule,
    source: Source,
    /// The handle through which the client talks to Python, if Python takes part in the task.
    hand: Option<Hand>,
}

/// The connections of each client, by its row of the allocation matrix; they are kept from step to step.
type Connections = BTreeMap<u32, Rc<ConnectionPool>>;

impl Worker {
    /// Executes commands until [`WorkerCommand::Quit`]. Returns the highest load of the thread.
    pub async fn run(mut self) -> PeakLoad {
        let mut connections = Connections::new();
        let mut peak_load = PeakLoad::default();
        while let Some(command) = self.commands.recv().await {
            let WorkerCommand::Prepare(step, files) = command else { break };
            let plan = &self.context.plan;
            let recorder = RefCell::new(Recorder::new(self.context.outgoing.clone()));
            let spin_wait = Rc::new(SpinWait::new(Duration::from_micros(plan.driver.spin_us.into())));
            let resources = StepResources {
                files: &files,
                recorder: &recorder,
                spin_wait: &spin_wait,
                open_loops: self.open_loops(&step),
            };
            let (clients, prepared) = match self.prepare(&step, &resources, &mut connections).await {
                Ok(clients) => (clients, Ok(())),
                Err(error) => (Vec::new(), Err(error)),
            };
            let failed = prepared.is_err();
            let _ = self.replies.send(WorkerReply::Ready(prepared));
            if failed || !matches!(self.commands.recv().await, Some(WorkerCommand::Start)) {
                break;
            }
            let meter = CpuMeter::start();
            let totals = self.run_step(&step, recorder, clients, &mut connections).await;
            peak_load.add(&step.step().name, meter.read(spin_wait.idle_ns()), &totals, |task| {
                self.context.plan.tasks[task as usize].name.clone()
            });
            let _ = self.replies.send(WorkerReply::Done);
        }
        peak_load
    }

    async fn prepare(
        &self,
        step: &Arc<StepRun>,
        resources: &StepResources<'_>,
        connections: &mut Connections,
    ) -> Result<Vec<ClientState>, DriveError> {
        let mut clients = Vec::new();
        for slot in step.clients_of(self.index) {
            let links = connections.remove(&slot.client);
            let links = links.unwrap_or_else(|| {
                Rc::new(ConnectionPool::for_client(&self.context.routes, slot.client as usize))
            });
            let timer = Timer::new(Rc::clone(resources.spin_wait));
            let tasks = self.client_tasks(slot, resources)?;
            clients.push(ClientState { row: slot.client, links, timer, tasks });
        }
        self.connect(clients).await
    }

    /// The schedule of one client of a task.
    fn pacer(&self, client: ClientId) -> Pacer {
        let plan = &self.context.plan;
        let seed = plan.seed.wrapping_add(u64::from(client.task).wrapping_mul(0x9e37_79b9));
        Pacer::new(&plan.tasks[client.task as usize], client.client, seed)
    }

    /// The schedules that clients of this worker share in a step.
    fn open_loops(&self, step: &StepRun) -> BTreeMap<u32, Rc<OpenLoop>> {
        let plan = &self.context.plan;
        let mut pacers: BTreeMap<u32, Vec<Pacer>> = BTreeMap::new();
        for client in step.clients_of(self.index).flat_map(|slot| &slot.allocations).map(client_id) {
            if plan.tasks[client.task as usize].open_loop {
                pacers.entry(client.task).or_default().push(self.pacer(client));
            }
        }
        let open_loop =
            |(task, pacers)| (task, Rc::new(OpenLoop::new(plan.tasks[task as usize].bound, pacers)));
        pacers.into_iter().map(open_loop).collect()
    }

    /// What a client does in a step.
    fn client_tasks(
        &self,
        slot: &ClientAllocation,
        resources: &StepResources<'_>,
    ) -> Result<Vec<ClientTask>, DriveError> {
        let WorkerContext { plan, lane, .. } = &self.context;
        let host = slot.client as usize % plan.target.hosts.len();
        let client_task = |allocation: &TaskAllocation| {
            let id = client_id(allocation);
            let task = &plan.tasks[id.task as usize];
            let paced = !matches!(task.pace, TaskPacing::Unpaced {});
            resources.recorder.borrow_mut().add_client(id.task, paced, measured_window(task.bound))?;
            let hand = lane.as_ref().and_then(|lane| lane.hand((id.task, id.client)));
            let site = Site { host, files: resources.files, hand: hand.as_ref() };
            let source = Source::new(plan, task, id.client, site)?;
            let schedule = match resources.open_loops.get(&id.task) {
                Some(open_loop) => Schedule::OpenLoop(Rc::clone(open_loop)),
                None => Schedule::ClosedLoop(self.pacer(id), Limiter::new(task.bound, 1)),
            };
            let start_ns = Pacer::client_start_ns(task, id.client);
            Ok(ClientTask { id, start_ns, schedule, source, hand })
        };
        slot.allocations.iter().map(client_task).collect()
    }

    /// Opens the connections of all clients concurrently, before the clock of the step starts.
    async fn connect(&self, clients: Vec<ClientState>) -> Result<Vec<ClientState>, DriveError> {
        let WorkerContext { plan, race, .. } = &self.context;
        let deadline = Instant::now() + Duration::from_millis(plan.target.timeout_ms);
        let required = plan.driver.on_error != OnError::ContinueOnNetwork;
        let mut connecting = JoinSet::new();
        for client in clients {
            connecting.spawn_local(async move {
                let result = client.links.connect(deadline).await;
                (client, result)
            });
        }
        let mut ready = Vec::new();
        let waker = race.waker(self.index.index);
        loop {
            let mut next = None;
            let stopped = || race.stop_level() != StopLevel::Run;
            let joined = async { next = connecting.join_next().await };
            // A race that is stopped while it connects does not need the remaining clients.
            if until_cancelled(joined, &waker, stopped).await.is_none() {
                break;
            }
            let Some(joined) = next else { break };
            let (client, result) = joined.map_err(|error| DriveError::ThreadDied(error.to_string()))?;
            match result {
                Err(source) if required => {
                    return Err(DriveError::Connect { host: client.links.authority().to_owned(), source });
                }
                _ => ready.push(client),
            }
        }
        ready.sort_by_key(|client| client.row);
        Ok(ready)
    }

    async fn run_step(
        &self,
        step: &Arc<StepRun>,
        recorder: RefCell<Recorder>,
        clients: Vec<ClientState>,
        connections: &mut Connections,
    ) -> Vec<ServiceTotals> {
        let race = &self.context.race;
        let recorder = Rc::new(recorder);
        let waker = race.waker(self.index.index);
        let mut running = JoinSet::new();
        let mut reconnecting = JoinSet::new();
        let links: Vec<Rc<ConnectionPool>> = clients.iter().map(|client| Rc::clone(&client.links)).collect();
        for mut client in clients {
            let (step, race) = (Arc::clone(step), Arc::clone(race));
            let (recorder, waker) = (Rc::clone(&recorder), Arc::clone(&waker));
            running.spawn_local(async move {
                let cancellation = Cancellation { step: &step, race: &race, waker: &waker };
                run_client(&mut client, &recorder, cancellation).await;
                (client.row, client.links)
            });
        }
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        let mut idle_checks = tokio::time::interval(IDLE_CHECK);
        loop {
            let woken = waker.notified();
            tokio::select! {
                biased;
                joined = running.join_next() => match joined {
                    None => break,
                    Some(Ok((row, links))) => drop(connections.insert(row, links)),
                    Some(Err(error)) => race.abort(format!("a client of the driver died: {error}")),
                },
                _ = seconds.tick() => recorder.borrow_mut().flush(),
                _ = idle_checks.tick() => self.reconnect_idle(&links, step, &mut reconnecting),
                () = woken => {}
            }
            if race.stop_level() == StopLevel::Abandon {
                break;
            }
        }
        // Clients that still run are dropped with their requests, which stay unanswered.
        drop(running);
        let ended_by = if race.aborted().is_some() { EndedBy::Aborted } else { EndedBy::Stopped };
        let started_ns = |task| step.task(task).map_or(0, |(run, _)| started_ns(run, race));
        recorder.borrow_mut().close(ended_by, started_ns);
        recorder.borrow().service_times().to_vec()
    }

    /// Reopens idle connections that the server has closed, as the next request would; no request is sent for that. An
    /// engine that dies while no request is under way closes its connections and refuses new ones: that aborts the race.
    fn reconnect_idle(
        &self,
        links: &[Rc<ConnectionPool>],
        step: &Arc<StepRun>,
        reconnecting: &mut JoinSet<()>,
    ) {
        while reconnecting.try_join_next().is_some() {}
        let WorkerContext { plan, race, .. } = &self.context;
        if plan.driver.on_error == OnError::ContinueOnNetwork {
            return;
        }
        let deadline = Instant::now() + Duration::from_millis(plan.target.timeout_ms);
        for links in links.iter().filter(|links| links.needs_reconnect()) {
            let (links, step, race) = (Rc::clone(links), Arc::clone(step), Arc::clone(race));
            reconnecting.spawn_local(async move {
                let Err(error) = links.reconnect(deadline).await else { return };
                if matches!(&error, ConnectError::Io(io) if io.kind() == std::io::ErrorKind::TimedOut) {
                    // The host did not refuse. A request would wait as long and report the time-out.
                    return;
                }
                let (host, name) = (links.authority(), &step.step().name);
                race.abort(format!("{host} has closed its connections in step {name}: {error}"));
            });
        }
    }
}

/// The client that an allocation is for.
fn client_id(allocation: &TaskAllocation) -> ClientId {
    ClientId { task: allocation.task, client: allocation.client }
}

/// When a task began, nanoseconds since the race's first step.
fn started_ns(run: &TaskRun, race: &RaceState) -> u64 {
    race.elapsed_ns(run.origin(Instant::now()))
}

/// Runs the tasks of a client in a step, one after another.
async fn run_client(client: &mut ClientState, recorder: &RefCell<Recorder>, cancellation: Cancellation<'_>) {
    let mut stopped = None;
    for (position, client_task) in client.tasks.iter_mut().enumerate() {
        let ClientTask { id, start_ns, schedule, source, hand } = client_task;
        let Some((run, task)) = cancellation.step.task(id.task) else { continue };
        let ended_by = if let Some(reason) = stopped {
            reason
        } else {
            let origin = run.origin(client.timer.now());
            let mut client_loop = ClientLoop {
                clock: &mut client.timer,
                operations: PooledOperations { source, links: &client.links },
                client: TaskClient { id: *id, task, run, origin, hand: hand.as_ref() },
                recorder,
                cancellation,
            };
            client_loop.run(schedule, Entry { start_ns: *start_ns, is_late: position > 0 }).await
        };
        stopped = cancellation.stop_reason();
        if let Some(hand) = hand {
            hand.end();
        }
        cancellation.step.client_ended(run);
        recorder.borrow_mut().end_client(ClientEnded {
            task: id.task,
            by: ended_by,
            planned: schedule.take_planned(),
            started_ns: started_ns(run, cancellation.race),
        });
    }
}
