//! What Python is told: a queue with a descriptor that is readable while something is in it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Mutex;

use rustix::event::{EventfdFlags, eventfd};

use crate::race_state::lock;

/// Something that Python is asked for or told.
#[derive(Debug, Clone, PartialEq)]
pub enum LaneEvent {
    /// Build sources, runners and schedulers of a step and fill its queues; to be answered with `prepared`.
    Prepare {
        /// Position of the step in the plan.
        step: usize,
    },
    /// Carry out one operation; to be answered with `done`.
    Run {
        /// Goes into the answer.
        token: u64,
        /// Position of the task in the plan.
        task: u32,
        /// Which of its clients.
        client: u32,
        /// Whether the operation counts; warm-up does not.
        measured: bool,
    },
    /// Say when the client's next operation is due; to be answered with `due`.
    Next {
        /// Goes into the answer.
        token: u64,
        /// Position of the task in the plan.
        task: u32,
        /// Which of its clients.
        client: u32,
    },
    /// What became of an operation whose task has a scheduler, and whose runner is the driver itself.
    After(After),
    /// A client's share of a task is over.
    Ended {
        /// Position of the task in the plan.
        task: u32,
        /// Which of its clients.
        client: u32,
    },
    /// All clients of a step have ended.
    Finish {
        /// Position of the step in the plan.
        step: usize,
    },
    /// The reply to a request.
    Reply {
        /// Which request.
        ticket: u64,
        /// HTTP status.
        status: u16,
        /// Names as the server wrote them.
        headers: Vec<(String, String)>,
        /// As it came, without its framing.
        body: Vec<u8>,
    },
    /// A request that got no reply.
    Failed {
        /// Which request.
        ticket: u64,
        /// `connect`, `tls`, `reset`, `timeout` or `protocol`.
        kind: &'static str,
        /// In the system's words.
        reason: String,
    },
    /// What became of an operation that Python had carried out natively.
    Outcome {
        /// Which one.
        ticket: u64,
        /// The outcome as a JSON document.
        json: String,
    },
    /// The race is over; nothing follows.
    Quit,
}

/// What became of an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct After {
    /// Position of the task in the plan.
    pub task: u32,
    /// Which of its clients.
    pub client: u32,
    /// Work done.
    pub weight: u64,
    /// Its unit.
    pub unit: String,
    /// Whether it succeeded.
    pub success: bool,
    /// Error class and reason of a failure, empty for a success.
    pub error: String,
    /// When it ended, seconds since the task began.
    pub seconds_since_start: f64,
}

/// Events on their way to Python.
#[derive(Debug)]
pub struct Mailbox {
    queue: Mutex<VecDeque<LaneEvent>>,
    bell: OwnedFd,
}

impl Mailbox {
    /// An empty one.
    ///
    /// # Errors
    ///
    /// When the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { queue: Mutex::default(), bell })
    }

    /// A descriptor that is readable while events are queued.
    pub fn fileno(&self) -> RawFd {
        self.bell.as_raw_fd()
    }

    /// Adds an event.
    pub fn post(&self, event: LaneEvent) {
        let mut queue = lock(&self.queue);
        let first = queue.is_empty();
        queue.push_back(event);
        drop(queue);
        if first {
            // Fails only when it has been rung 2^64 times without being heard.
            let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        }
    }

    /// Takes all events.
    pub fn take(&self) -> Vec<LaneEvent> {
        let mut queue = lock(&self.queue);
        // Heard before the queue is emptied: an event that comes now rings again.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        queue.drain(..).collect()
    }
}
