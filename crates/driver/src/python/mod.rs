//! Python's hand in a race: parameter sources, runners and schedulers that run on Python's own threads.
//!
//! The driver drives; Python is asked. Every question is an event in a queue with a descriptor ([`Lane::fileno`]),
//! every answer a call that does not block. The measured loop waits for Python only where the track says so: for an
//! operation that a source has not handed over yet, for a runner that carries an operation out, for a scheduler that
//! says when the next one is due. A race that is stopped waits for nobody.
//!
//! # Layout
//!
//! | file | holds |
//! | --- | --- |
//! | `event.rs` | [`LaneEvent`], and the queue of them |
//! | `hand.rs` | what the measured loop asks and tells |
//! | `seat.rs` | one client of a task that Python has a hand in: its queue, its questions, its requests |
//! | `item.rs` | one operation that Python handed over |
//! | `supplied.rs` | the worker's end of such operations |
//! | `run.rs` | operations that a runner carries out |
//! | `answer.rs` | what a runner says about its operation |
//! | `wire.rs` | the thread that sends the requests of runners |

mod answer;
mod channel;
mod events;
mod handle;
mod item;
mod queued_source;
pub(crate) mod requests;
mod runner;

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pacenote_plan::{Plan, PlannedTask, TaskPacing, TaskWork};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::error::DriveError;
use crate::operation::context::Destination;
use crate::operation::prepared::{PreparedRequest, RequestSpec};
use crate::race_state::{RaceState, StopLevel, lock};
use crate::step::StepRun;
use crate::transport::Endpoints;
use crate::transport::pool::ConnectionPool;

pub use events::{After, LaneEvent};
pub(crate) use handle::Hand;
pub(crate) use queued_source::SuppliedSource;
pub(crate) use runner::LaneSource;

use channel::{Answer, Seat};
use events::Mailbox;
use item::Item;
use requests::{Command, Errand, Load};

/// How long to wait for Python before looking whether the race was stopped.
const LOOK_AROUND: Duration = Duration::from_millis(20);

/// The longest that a request may take: no clock counts much further.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// Headers of a runner's request that are left out: the driver frames its messages itself, and says who it is.
const NOT_TAKEN: [&str; 6] =
    ["connection", "content-length", "host", "te", "transfer-encoding", "user-agent"];

/// See the module documentation.
#[derive(Debug)]
pub struct Lane {
    /// The plan as every cluster sees it, the one under test first: only the target differs.
    clusters: Vec<(Arc<Plan>, Endpoints)>,
    mailbox: Mailbox,
    seats: Vec<Arc<Seat>>,
    places: BTreeMap<(u32, u32), usize>,
    commands: UnboundedSender<Command>,
    tickets: AtomicU64,
    handshake: Mutex<Handshake>,
    answered: Condvar,
    step: Mutex<Option<Arc<StepRun>>>,
    over: AtomicBool,
}

/// A lane, and what its thread is told.
type Hired = (Arc<Lane>, UnboundedReceiver<Command>);

/// Where the preparation of a step stands.
#[derive(Debug, Default)]
struct Handshake {
    step: usize,
    prepared: Option<Result<(), String>>,
    connected: bool,
}

/// A request of a runner.
#[derive(Debug, Clone)]
pub struct LaneRequest {
    /// Such as `GET`.
    pub method: String,
    /// Path and query string.
    pub target: String,
    /// Sent beside those of the cluster; of two with one name the request's counts.
    pub headers: Vec<(String, String)>,
    /// `None` for no body.
    pub body: Option<Vec<u8>>,
    /// `None`: as long as the plan says.
    pub timeout: Option<Duration>,
}

impl Lane {
    /// A lane for a plan; `None` when it needs no Python. What comes out of the channel is for [`wire::serve`].
    pub(crate) fn new(plan: &Arc<Plan>, routes: &[Endpoints]) -> Result<Option<Hired>, DriveError> {
        if !plan.tasks.iter().any(needs_python) {
            return Ok(None);
        }
        let mailbox = Mailbox::new().map_err(|source| DriveError::System { what: "an event", source })?;
        let others = plan.others.iter().map(|other| {
            let plan = Plan { target: other.target.clone(), ..plan.as_ref().clone() };
            Arc::new(plan)
        });
        let clusters = std::iter::once(Arc::clone(plan)).chain(others).zip(routes.iter().cloned()).collect();
        let seats = seats_of(plan);
        let places =
            seats.iter().enumerate().map(|(index, seat)| ((seat.task, seat.client), index)).collect();
        let (commands, inbox) = unbounded_channel();
        let lane = Self {
            clusters,
            mailbox,
            seats,
            places,
            commands,
            tickets: AtomicU64::new(0),
            handshake: Mutex::default(),
            answered: Condvar::new(),
            step: Mutex::default(),
            over: AtomicBool::new(false),
        };
        Ok(Some((Arc::new(lane), inbox)))
    }

    /// A descriptor that is readable while events are queued.
    #[must_use]
    pub fn fileno(&self) -> RawFd {
        self.mailbox.fileno()
    }

    /// Takes all events; never waits.
    #[must_use]
    pub fn events(&self) -> Vec<LaneEvent> {
        self.mailbox.take()
    }

    /// Answers [`LaneEvent::Prepare`]; with an error the race cannot go on.
    pub fn prepared(&self, step: usize, error: Option<String>) {
        let mut handshake = lock(&self.handshake);
        if handshake.step == step {
            handshake.prepared.get_or_insert(error.map_or(Ok(()), Err));
            self.answered.notify_all();
        }
    }

    /// Hands over the next operation of a client, a `SuppliedOperation` document with the body of a bulk beside it; `false` when
    /// there is no room.
    ///
    /// # Errors
    ///
    /// When nothing is supplied to this client, or this is no operation.
    pub fn supply(
        &self,
        place: (u32, u32),
        operation: &str,
        body: Option<Vec<u8>>,
    ) -> Result<bool, DriveError> {
        let seat = self.seat(place)?;
        if seat.is_over() {
            return Err(DriveError::Python(format!("the source of {} has ended", self.name(place))));
        }
        if seat.room() == 0 {
            return Ok(false);
        }
        let item = self.item(Some(place), (0, self.host_of(seat, 0)), (operation, body))?;
        Ok(seat.push(item))
    }

    /// How many operations can be handed over to a client now.
    ///
    /// # Errors
    ///
    /// When Python has no hand in this client.
    pub fn room(&self, place: (u32, u32)) -> Result<usize, DriveError> {
        Ok(self.seat(place)?.room())
    }

    /// Says that a client has no more operations, with what failed if something did.
    ///
    /// # Errors
    ///
    /// When Python has no hand in this client.
    pub fn end(&self, place: (u32, u32), error: Option<String>) -> Result<(), DriveError> {
        self.seat(place)?.finish(error);
        Ok(())
    }

    /// Answers [`LaneEvent::Next`]: so long after the task's beginning, at once for 0, or never
    /// again.
    ///
    /// # Errors
    ///
    /// When nobody has asked.
    pub fn due(&self, token: u64, offset: Option<Duration>) -> Result<(), DriveError> {
        self.answer(token, Answer::Due(offset))
    }

    /// Answers [`LaneEvent::Run`] with a JSON document.
    ///
    /// # Errors
    ///
    /// When nobody has asked, or this is no result.
    pub fn done(&self, token: u64, result: &str) -> Result<(), DriveError> {
        let ended = Instant::now();
        let done = serde_json::from_str(result)
            .map_err(|error| DriveError::Python(format!("the result of a runner: {error}")))?;
        self.answer(token, Answer::Done(Box::new(done), ended))
    }

    /// Sends a request; answered with [`LaneEvent::Reply`] or [`LaneEvent::Failed`]. It counts for the operation that
    /// its owner is carrying out.
    ///
    /// # Errors
    ///
    /// When there is no such cluster or client, or the request cannot be written as HTTP.
    pub fn request(
        &self,
        owner: Option<(u32, u32)>,
        cluster: &str,
        request: LaneRequest,
    ) -> Result<u64, DriveError> {
        let (cluster, host) = self.destination(owner, cluster)?;
        let target = &self.clusters[cluster].0.target;
        let own = request.headers.iter().filter(|(name, _)| {
            let name = name.to_ascii_lowercase();
            !NOT_TAKEN.contains(&name.as_str())
        });
        let body = request.body.unwrap_or_default();
        let timeout = request.timeout.unwrap_or(Duration::from_millis(target.timeout_ms)).min(LONGEST);
        let spec = RequestSpec {
            method: &request.method,
            path: &request.target,
            headers: own,
            has_body: !body.is_empty(),
            timeout: Some(timeout),
        };
        let prepared = PreparedRequest::new(spec, body, Destination { target, host, task: "" })
            .map_err(|error| DriveError::Python(error.to_string()))?;
        let load = Load::Request(Box::new(prepared));
        self.send_off(owner, (cluster, host), load)
    }

    /// Carries out a `SuppliedOperation` document natively; answered with [`LaneEvent::Outcome`]. It counts for the operation that
    /// its owner is carrying out.
    ///
    /// # Errors
    ///
    /// When there is no such cluster or client, or this is no operation.
    pub fn execute(
        &self,
        owner: Option<(u32, u32)>,
        cluster: &str,
        supply: (&str, Option<Vec<u8>>),
    ) -> Result<u64, DriveError> {
        let destination = self.destination(owner, cluster)?;
        let item = self.item(owner, destination, supply)?;
        self.send_off(owner, destination, Load::Operation(item))
    }

    fn item(
        &self,
        owner: Option<(u32, u32)>,
        destination: (usize, usize),
        supply: (&str, Option<Vec<u8>>),
    ) -> Result<Item, DriveError> {
        let (cluster, host) = destination;
        let plan = &self.clusters[cluster].0;
        let task = owner.and_then(|(task, _)| plan.tasks.get(task as usize));
        let task = task.map_or("without owner", |task| &task.name);
        Item::new(Destination { target: &plan.target, host, task }, supply)
    }

    fn send_off(
        &self,
        owner: Option<(u32, u32)>,
        destination: (usize, usize),
        load: Load,
    ) -> Result<u64, DriveError> {
        let (cluster, host) = destination;
        let owner = match owner {
            Some(place) => {
                let seat = self.seat(place)?;
                Some((Arc::clone(seat), seat.depart()))
            }
            None => None,
        };
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        let errand = Errand { ticket, owner, cluster, host, load };
        let over = || DriveError::Python("the race is over".into());
        // The thread may not have ended yet, but nobody would hear what became of the request.
        if self.over.load(Ordering::Acquire) {
            return Err(over());
        }
        self.commands.send(Command::Carry(Box::new(errand))).map_err(|_| over())?;
        Ok(ticket)
    }

    /// Positions of a cluster and of the host in it that an owner talks to.
    fn destination(&self, owner: Option<(u32, u32)>, cluster: &str) -> Result<(usize, usize), DriveError> {
        let others = &self.clusters[0].0.others;
        let position = match others.iter().position(|other| other.name == cluster) {
            Some(index) => index + 1,
            None if cluster == "default" => 0,
            None => return Err(DriveError::Python(format!("there is no cluster {cluster:?}"))),
        };
        let host = match owner {
            Some(place) => self.host_of(self.seat(place)?, position),
            None => 0,
        };
        Ok((position, host))
    }

    fn answer(&self, token: u64, said: Answer) -> Result<(), DriveError> {
        let unknown = || DriveError::Python(format!("nobody asked for the answer to {token}"));
        let number = usize::try_from(token >> 32).map_err(|_| unknown())?;
        let turn = u32::try_from(token & u64::from(u32::MAX)).map_err(|_| unknown())?;
        self.seats.get(number).ok_or_else(unknown)?.reply(turn, said);
        Ok(())
    }

    /// The seat of a client.
    fn seat(&self, place: (u32, u32)) -> Result<&Arc<Seat>, DriveError> {
        let unknown = || DriveError::Python(format!("Python has no hand in {}", self.name(place)));
        self.places.get(&place).map(|index| &self.seats[*index]).ok_or_else(unknown)
    }

    /// Python's hand in a client's share.
    pub(crate) fn hand(self: &Arc<Self>, place: (u32, u32)) -> Option<Hand> {
        self.seat(place).ok().map(|seat| Hand::new(self, seat))
    }

    fn name(&self, place: (u32, u32)) -> String {
        let task = self.clusters[0].0.tasks.get(place.0 as usize);
        match task {
            Some(task) => format!("client {} of task {}", place.1, task.name),
            None => format!("client {} of task number {}", place.1, place.0),
        }
    }

    /// Tells Python something.
    pub(crate) fn post(&self, event: LaneEvent) {
        self.mailbox.post(event);
    }

    /// Makes the queues of a step and asks Python to prepare; `false` when the step needs no Python.
    pub(crate) fn open_step(&self, step: &Arc<StepRun>) -> bool {
        let seats: Vec<Arc<Seat>> = self.seats_in(step).cloned().collect();
        if seats.is_empty() {
            return false;
        }
        for seat in &seats {
            seat.open();
        }
        *lock(&self.handshake) = Handshake { step: step.index(), ..Handshake::default() };
        *lock(&self.step) = Some(Arc::clone(step));
        let running = seats.into_iter().filter(|seat| seat.is_run_by_python()).collect();
        let _ = self.commands.send(Command::Connect(running));
        self.post(LaneEvent::Prepare { step: step.index() });
        true
    }

    /// Waits until Python has prepared the step; `false` when the race was stopped meanwhile.
    ///
    /// # Errors
    ///
    /// What Python says is wrong.
    pub(crate) fn await_prepared(&self, race: &RaceState) -> Result<bool, DriveError> {
        let mut handshake = lock(&self.handshake);
        loop {
            match &handshake.prepared {
                Some(Err(error)) => return Err(DriveError::Python(error.clone())),
                Some(Ok(())) if handshake.connected => return Ok(true),
                _ if race.stop_level() != StopLevel::Run => return Ok(false),
                _ => {}
            }
            let waited = self.answered.wait_timeout(handshake, LOOK_AROUND);
            (handshake, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The clients of the step have their connections.
    fn connected(&self) {
        lock(&self.handshake).connected = true;
        self.answered.notify_all();
    }

    /// The clocks of the step start now.
    pub(crate) fn begin_step(&self) {
        let _ = self.commands.send(Command::Begin);
    }

    /// All clients of a step have ended.
    pub(crate) fn finish_step(&self, step: &Arc<StepRun>) {
        for seat in self.seats_in(step) {
            seat.close();
        }
        *lock(&self.step) = None;
        let _ = self.commands.send(Command::End(Arc::clone(step)));
        self.post(LaneEvent::Finish { step: step.index() });
    }

    /// The race is over.
    pub(crate) fn quit(&self) {
        if !self.over.swap(true, Ordering::AcqRel) {
            let _ = self.commands.send(Command::Quit);
            self.post(LaneEvent::Quit);
        }
    }

    /// The step that runs.
    fn step(&self) -> Option<Arc<StepRun>> {
        lock(&self.step).clone()
    }

    fn seats_in<'a>(&'a self, step: &'a StepRun) -> impl Iterator<Item = &'a Arc<Seat>> {
        self.seats.iter().filter(|seat| step.task(seat.task).is_some())
    }

    /// Which host of a cluster a seat talks to: its clients are spread over them.
    fn host_of(&self, seat: &Seat, cluster: usize) -> usize {
        seat.row as usize % self.clusters[cluster].0.target.hosts.len()
    }

    /// Connections of an owner to its host of a cluster.
    fn links(&self, owner: Option<(u32, u32)>, cluster: usize) -> ConnectionPool {
        let row = owner.and_then(|place| self.seat(place).ok()).map_or(0, |seat| seat.row);
        ConnectionPool::for_client(&self.clusters[cluster].1, row as usize)
    }

    fn timeout(&self) -> Duration {
        Duration::from_millis(self.clusters[0].0.target.timeout_ms)
    }
}

fn needs_python(task: &PlannedTask) -> bool {
    matches!(task.work, TaskWork::PythonSource { .. } | TaskWork::PythonRunner {})
        || matches!(task.pace, TaskPacing::PythonScheduler {})
}

fn seats_of(plan: &Plan) -> Vec<Arc<Seat>> {
    let rows = plan.steps.iter().flat_map(|step| &step.client_allocations);
    let shares = rows.flat_map(|row| row.allocations.iter().map(|share| (row.client, *share)));
    let mut seats = Vec::new();
    for (row, share) in shares {
        let task = &plan.tasks[share.task as usize];
        let number = u32::try_from(seats.len()).unwrap_or(u32::MAX);
        seats.extend(Seat::new(task, (share.task, share.client, row), number).map(Arc::new));
    }
    seats
}
