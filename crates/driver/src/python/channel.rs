//! The state that one client of a task shares with Python: a queue of operations, and queries with their answers.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use pacenote_plan::{PlannedTask, TaskPacing, TaskWork};
use pacenote_record::{ClientOverhead, Traffic, UnsentOperations};
use rtrb::{Consumer, Producer, PushError, RingBuffer};
use tokio::sync::Notify;

use crate::operation::outcome::{OperationOutcome, SubOperation};
use crate::python::protocol::RunnerResult;
use crate::python::queued_operation::QueuedOperation;
use crate::race_state::lock;
use crate::task_client_id::TaskClientId;

/// Python's answer to a query.
#[derive(Debug)]
pub enum Answer {
    /// When the next operation is due, relative to the start of the task, or `None` after the last one.
    Due(Option<Duration>),
    /// The operations that were due, but that the driver has not received.
    Unsent(UnsentOperations),
    /// The runner's result, and when it was received.
    Completed(Box<RunnerResult>, Instant),
    /// The client has no more operations.
    Finished,
}

/// State of the last query.
#[derive(Debug, Default)]
enum QueryState {
    /// There is no query, or its answer has been taken.
    #[default]
    Idle,
    /// The query has not been answered.
    Waiting,
    /// The answer has been received but not taken.
    Answered(Answer),
}

/// Totals of the requests that belong to the operation being executed by a runner.
#[derive(Debug, Default)]
pub struct RequestTotals {
    /// When the first of them was written to the socket.
    pub first_sent: Option<Instant>,
    /// When the last byte of the last response was received.
    pub last_received: Option<Instant>,
    /// HTTP status of the last response.
    pub status: u16,
    /// Number of requests that have not ended.
    pub in_flight: u32,
    /// Since when there has always been such a request, if there is one.
    pub in_flight_since: Option<Instant>,
    /// Traffic of the requests that have ended.
    pub traffic: Traffic,
    /// Number of attempts after the first.
    pub retries: u32,
    /// Sub-operations of composites that the driver executed for the runner.
    pub sub_operations: Vec<SubOperation>,
    /// Whether the operation has ended and its totals were taken.
    pub are_taken: bool,
}

/// Identifies the operation of a client to which a request belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryNumber(u32);

/// Python's end of a client's queue.
#[derive(Debug)]
struct OperationProducer {
    operations: Producer<QueuedOperation>,
    /// Executed operations are returned so that they are freed by the thread that allocated them: freeing memory
    /// allocated by another thread takes a lock in the allocator.
    used: Consumer<QueuedOperation>,
}

/// The worker's end of a client's queue.
#[derive(Debug)]
pub struct OperationConsumer {
    /// Operations that are ready.
    pub operations: Consumer<QueuedOperation>,
    /// Returns executed operations to Python's end.
    pub used: Producer<QueuedOperation>,
}

/// The channel of one client. The client's worker waits for answers, which Python's threads send.
#[derive(Debug)]
pub struct ClientChannel {
    /// The client.
    pub id: TaskClientId,
    /// Number of the client in the race; determines with which hosts the client begins.
    pub race_client: u32,
    /// Position among all channels; part of the ids of its queries.
    index: u32,
    /// Capacity of the queue, or `None` if there is none.
    capacity: Option<usize>,
    scheduled: bool,
    runs: bool,
    producer: Mutex<Option<OperationProducer>>,
    consumer: Mutex<Option<OperationConsumer>>,
    /// Set when Python has no more operations, with the reason if something failed.
    finished: OnceLock<Option<String>>,
    /// Whether the driver accepts no more operations.
    closed: AtomicBool,
    /// Whether, when a request of its runner last failed to connect, a host was left for the next one.
    has_host_left: AtomicBool,
    /// Number of due times that the scheduler has determined and the driver has received.
    due_times: AtomicU64,
    /// Counts queries, so that late answers can be recognized.
    queries: AtomicU32,
    query: Mutex<QueryState>,
    totals: Mutex<RequestTotals>,
    /// Traffic of requests that is not part of any operation, because their operation had ended before they did.
    late_traffic: Mutex<Traffic>,
    /// What its runner's requests have done besides the operations.
    overhead: Mutex<ClientOverhead>,
    notify: Notify,
}

impl ClientChannel {
    /// Creates the channel at position `index` for a client. Returns `None` if its task needs no Python.
    pub fn new(task: &PlannedTask, id: TaskClientId, race_client: u32, index: u32) -> Option<Self> {
        let scheduled = matches!(task.pacing, TaskPacing::PythonScheduler {});
        let (capacity, runs) = match task.work {
            TaskWork::PythonSource { ahead } => (Some(ahead as usize), false),
            TaskWork::PythonRunner {} => (None, true),
            _ if scheduled => (None, false),
            _ => return None,
        };
        Some(Self {
            id,
            race_client,
            index,
            capacity,
            scheduled,
            runs,
            producer: Mutex::default(),
            consumer: Mutex::default(),
            finished: OnceLock::new(),
            closed: AtomicBool::new(false),
            has_host_left: AtomicBool::new(false),
            due_times: AtomicU64::new(0),
            queries: AtomicU32::new(0),
            query: Mutex::default(),
            totals: Mutex::default(),
            late_traffic: Mutex::default(),
            overhead: Mutex::default(),
            notify: Notify::new(),
        })
    }

    /// Returns whether a scheduler in Python determines when its operations are due.
    pub fn has_scheduler(&self) -> bool {
        self.scheduled
    }

    /// Returns whether a runner in Python executes its operations.
    pub fn has_runner(&self) -> bool {
        self.runs
    }

    /// Records, when a request failed to connect, whether a host is left for the next one.
    pub fn set_has_host_left(&self, has_host_left: bool) {
        self.has_host_left.store(has_host_left, Ordering::Relaxed);
    }

    /// Returns whether a host was left when a request last failed to connect.
    pub fn has_host_left(&self) -> bool {
        self.has_host_left.load(Ordering::Relaxed)
    }

    /// Creates the queue, if the client has one.
    pub fn open(&self) {
        if let Some(capacity) = self.capacity {
            let (operations_in, operations_out) = RingBuffer::new(capacity);
            let (used_in, used_out) = RingBuffer::new(capacity);
            let producer = OperationProducer { operations: operations_in, used: used_out };
            let consumer = OperationConsumer { operations: operations_out, used: used_in };
            *lock(&self.producer) = Some(producer);
            *lock(&self.consumer) = Some(consumer);
        }
    }

    /// Returns the worker's end of the queue, or `None` after the first call.
    pub fn take_consumer(&self) -> Option<OperationConsumer> {
        lock(&self.consumer).take()
    }

    /// Stops accepting operations, and frees the queue.
    pub fn close(&self) {
        self.stop_taking();
        *lock(&self.producer) = None;
        *lock(&self.consumer) = None;
    }

    /// Stops accepting operations.
    pub fn stop_taking(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Returns the number of operations that currently fit into the queue.
    pub fn free_slots(&self) -> usize {
        let producer = lock(&self.producer);
        if self.closed.load(Ordering::Relaxed) {
            0
        } else {
            producer.as_ref().map_or(0, |producer| producer.operations.slots())
        }
    }

    /// Adds an operation. Returns `false` if the queue is full or closed.
    pub fn push(&self, operation: QueuedOperation) -> bool {
        let pushed = match lock(&self.producer).as_mut() {
            Some(producer) if !self.closed.load(Ordering::Relaxed) => {
                while producer.used.pop().is_ok() {}
                producer.operations.push(operation)
            }
            _ => return false,
        };
        if let Err(PushError::Full(_)) = pushed {
            return false;
        }
        self.notify.notify_one();
        true
    }

    /// Records that Python has no more operations; later calls have no effect.
    pub fn finish(&self, error: Option<String>) {
        let _ = self.finished.set(error);
        self.notify.notify_one();
    }

    /// Returns whether Python has no more operations.
    pub fn is_finished(&self) -> bool {
        self.finished.get().is_some()
    }

    /// Returns the failure that ended Python's operations, if there was one.
    pub fn failure(&self) -> Option<&str> {
        self.finished.get()?.as_deref()
    }

    /// Starts a query and returns its id. Answers to earlier queries are ignored from now on, and the traffic of an
    /// operation whose totals were not taken is no longer part of any.
    pub fn start_query(&self) -> u64 {
        let (mut query, mut totals) = (lock(&self.query), lock(&self.totals));
        *query = QueryState::Waiting;
        let traffic = std::mem::take(&mut *totals).all_traffic();
        if traffic != Traffic::default() {
            *lock(&self.late_traffic) += traffic;
        }
        let number = self.queries.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        u64::from(self.index) << 32 | u64::from(number)
    }

    fn last_query(&self) -> QueryNumber {
        QueryNumber(self.queries.load(Ordering::Relaxed))
    }

    /// Accepts an answer if it is the first one to the last query.
    pub fn answer(&self, number: QueryNumber, answer: Answer) {
        let mut query = lock(&self.query);
        if self.last_query() == number && matches!(*query, QueryState::Waiting) {
            *query = QueryState::Answered(answer);
            drop(query);
            self.notify.notify_one();
        }
    }

    /// Waits for the answer to the last query.
    pub async fn receive_answer(&self) -> Answer {
        loop {
            if let Some(answer) = self.take_answer() {
                return answer;
            }
            self.notify.notified().await;
        }
    }

    fn take_answer(&self) -> Option<Answer> {
        let mut query = lock(&self.query);
        if matches!(*query, QueryState::Waiting) && !self.is_finished() {
            return None;
        }
        match std::mem::take(&mut *query) {
            QueryState::Answered(answer) => Some(answer),
            QueryState::Waiting | QueryState::Idle => Some(Answer::Finished),
        }
    }

    /// Waits until `operations` contains an operation or Python has no more operations.
    pub async fn wait_for_operation(&self, operations: &Consumer<QueuedOperation>) {
        while operations.is_empty() && !self.is_finished() {
            self.notify.notified().await;
        }
    }

    /// Begins a request of an operation, which is given by its query. Returns whether the operation is being executed;
    /// otherwise, the request is not part of any operation.
    pub fn begin_request(&self, number: QueryNumber) -> bool {
        let (query, mut totals) = (lock(&self.query), lock(&self.totals));
        let is_running = self.last_query() == number && matches!(*query, QueryState::Waiting);
        if is_running {
            if totals.in_flight == 0 {
                totals.in_flight_since = Some(Instant::now());
            }
            totals.in_flight += 1;
        }
        is_running
    }

    /// Returns whether a request of the last query's operation has been in flight at `instant` and ever since.
    pub fn has_requests_since(&self, instant: Instant) -> bool {
        let totals = lock(&self.totals);
        totals.in_flight > 0 && totals.in_flight_since.is_some_and(|since| since <= instant)
    }

    /// Adds a request that has ended to the totals of its operation or, if the operation has ended too, to the traffic
    /// that is not part of any operation. `is_counted` is whether the request began while its operation was executed.
    /// An outcome of `None` means that no request was sent.
    pub fn end_request(&self, number: QueryNumber, is_counted: bool, outcome: Option<OperationOutcome>) {
        let mut totals = lock(&self.totals);
        if is_counted && self.last_query() == number && !totals.are_taken {
            totals.in_flight = totals.in_flight.saturating_sub(1);
            if let Some(outcome) = outcome {
                totals.add(outcome);
            }
        } else if let Some(OperationOutcome { traffic, .. }) = outcome {
            // An operation that has ended has counted the requests that it had begun.
            let uncounted = traffic.requests.saturating_sub(u32::from(is_counted));
            *lock(&self.late_traffic) += Traffic { requests: uncounted, ..traffic };
        }
    }

    /// Counts another attempt at a request of an operation, which is given by its query.
    pub fn count_retry(&self, number: QueryNumber) {
        let mut totals = lock(&self.totals);
        if self.last_query() == number && !totals.are_taken {
            totals.retries += 1;
        }
    }

    /// Takes the totals of the last query's operation.
    pub fn take_totals(&self) -> RequestTotals {
        let taken = RequestTotals { are_taken: true, ..RequestTotals::default() };
        std::mem::replace(&mut *lock(&self.totals), taken)
    }

    /// Adds what a request of the runner has done besides the operation.
    pub fn add_overhead(&self, overhead: ClientOverhead) {
        *lock(&self.overhead) += overhead;
    }

    /// Takes what the runner's requests have done besides the operations.
    pub fn take_overhead(&self) -> ClientOverhead {
        std::mem::take(&mut *lock(&self.overhead))
    }

    /// Takes the traffic that is not part of any operation.
    pub fn take_late_traffic(&self) -> Traffic {
        std::mem::take(&mut *lock(&self.late_traffic))
    }

    /// Counts a due time that the driver has received.
    pub fn count_due_time(&self) {
        self.due_times.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of due times that the driver has received.
    pub fn received_due_times(&self) -> u64 {
        self.due_times.load(Ordering::Relaxed)
    }
}

impl RequestTotals {
    /// Returns the traffic of all requests, of which those that have not ended are only counted.
    pub fn all_traffic(&self) -> Traffic {
        Traffic { requests: self.traffic.requests + self.in_flight, ..self.traffic }
    }

    fn add(&mut self, outcome: OperationOutcome) {
        let first_sent = self.first_sent.map_or(outcome.first_sent, |known| known.min(outcome.first_sent));
        self.first_sent = Some(first_sent);
        if self.last_received.is_none_or(|known| outcome.done >= known) {
            self.last_received = Some(outcome.done);
            self.status = outcome.status;
        }
        self.traffic += outcome.traffic;
        self.retries += outcome.retries;
        self.sub_operations.extend(outcome.sub_operations);
    }
}

impl QueryNumber {
    /// Splits a query id into the channel's index and the query number.
    pub fn of_id(query_id: u64) -> Option<(usize, Self)> {
        let index = usize::try_from(query_id >> 32).ok()?;
        let number = u32::try_from(query_id & u64::from(u32::MAX)).ok()?;
        Some((index, Self(number)))
    }
}
