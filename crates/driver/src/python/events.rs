//! Events for Python, and their queue with a file descriptor that is readable while events are queued.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};

use crate::python::protocol::ExecutionResult;
use crate::race_state::lock;
use crate::task_client_id::TaskClientId;

/// A query or a notification for Python.
#[derive(Debug, Clone, PartialEq)]
pub enum PythonEvent {
    /// Create the sources, runners and schedulers of a step and fill its queues; answered with `prepared`.
    PrepareStep {
        /// Position of the step in the plan.
        step: usize,
    },
    /// Execute one operation; answered with `complete`.
    RunOperation {
        /// Identifies the query in the answer.
        query_id: u64,
        /// The client that executes it.
        client: TaskClientId,
        /// Whether the operation is measured; otherwise it is warm-up.
        measured: bool,
    },
    /// Determine when the client's next operation is due; answered with `schedule`.
    ScheduleNext {
        /// Identifies the query in the answer.
        query_id: u64,
        /// The client whose operation is scheduled.
        client: TaskClientId,
    },
    /// Count the operations of a client that were due, but that the driver has not received; answered with
    /// `count_unsent`.
    CountUnsent {
        /// Identifies the query in the answer.
        query_id: u64,
        /// The client, which has ended its task.
        client: TaskClientId,
        /// Number of due times that the driver has received.
        received: u64,
        /// When the client ended, in seconds since the task started: operations that were due later do not count.
        ended_s: f64,
        /// When the warm-up ends, in seconds since the task started; 0 if it does not end at a given time.
        warmup_s: f64,
        /// Largest number to count.
        limit: u64,
    },
    /// An operation that was executed by the driver and scheduled by a scheduler in Python has ended.
    OperationEnded(OperationEnded),
    /// A client has finished its task.
    ClientEnded {
        /// The client.
        client: TaskClientId,
    },
    /// All clients of a step have ended.
    StepEnded {
        /// Position of the step in the plan.
        step: usize,
    },
    /// The response to a request.
    ResponseReceived(RunnerResponse),
    /// A request that got no response.
    RequestFailed {
        /// Identifies the request.
        request_id: u64,
        /// `connect`, `tls`, `reset`, `timeout` or `protocol`.
        kind: &'static str,
        /// The error message.
        reason: String,
    },
    /// The driver has executed an operation on behalf of a runner.
    OperationExecuted {
        /// Identifies the operation.
        request_id: u64,
        /// Its result.
        result: ExecutionResult,
    },
    /// The race is over; no event follows.
    RaceEnded,
}

/// The end of an operation, for its scheduler.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationEnded {
    /// The client that executed it.
    pub client: TaskClientId,
    /// Work done.
    pub weight: u64,
    /// Unit of the work.
    pub unit: String,
    /// Whether it succeeded.
    pub success: bool,
    /// Error class and reason of a failure, empty for a success.
    pub error: String,
    /// When the operation ended, in seconds since the task started.
    pub seconds_since_start: f64,
}

/// The response to a request of a runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerResponse {
    /// Identifies the request.
    pub request_id: u64,
    /// HTTP status.
    pub status: u16,
    /// Headers, with their names as sent by the server.
    pub headers: Vec<(String, String)>,
    /// The body, decompressed and without framing.
    pub body: Vec<u8>,
}

/// An event that Python has read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadEvent {
    /// The event.
    pub event: PythonEvent,
    /// How long it waited for Python to read it.
    pub waited: Duration,
}

/// Events that Python has not read yet.
#[derive(Debug)]
pub struct EventQueue {
    /// The events, and when they were added.
    queue: Mutex<VecDeque<(PythonEvent, Instant)>>,
    /// Readable while events are queued.
    wakeup: OwnedFd,
}

impl EventQueue {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// If no file descriptor is available.
    pub fn new() -> io::Result<Self> {
        let wakeup = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { queue: Mutex::default(), wakeup })
    }

    /// Returns a file descriptor that is readable while events are queued.
    pub fn fileno(&self) -> RawFd {
        self.wakeup.as_raw_fd()
    }

    /// Adds an event.
    pub fn push(&self, event: PythonEvent) {
        let mut queue = lock(&self.queue);
        let first = queue.is_empty();
        queue.push_back((event, Instant::now()));
        drop(queue);
        if first {
            // This fails only if the counter would exceed 2^64 - 2.
            let _ = rustix::io::write(&self.wakeup, &1_u64.to_ne_bytes());
        }
    }

    /// Removes and returns all events, oldest first.
    pub fn drain(&self) -> Vec<ReadEvent> {
        let mut queue = lock(&self.queue);
        // The counter is reset before the queue is emptied, so that an event pushed in between sets it again.
        let _ = rustix::io::read(&self.wakeup, &mut [0; 8]);
        let now = Instant::now();
        let read = |(event, added)| ReadEvent { event, waited: now.saturating_duration_since(added) };
        queue.drain(..).map(read).collect()
    }
}
