//! One operation, as the driver measured it.

use std::ops::{Add, AddAssign};

use crate::catalog::SubOperationNumber;

/// One operation that has ended, or one sub-operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Position of the task in the plan.
    pub task_index: u32,
    /// The sub-operation, set by [`crate::Recorder::record_sub_operation`]; `None` for the whole operation.
    pub sub_operation: Option<SubOperationNumber>,
    /// Which of the task's clients, from 0.
    pub client: u32,
    /// Warm-up or measured.
    pub sample_type: SampleType,
    /// When it was due, sent and answered.
    pub times: OperationTimes,
    /// Whether it succeeded, and what work was done.
    pub result: OperationResult,
    /// Requests, bytes and connections.
    pub traffic: Traffic,
}

/// When an operation was due, sent and answered, in nanoseconds since its task began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationTimes {
    /// Whether the task has a schedule; without one, `due_ns` equals `sent_ns`.
    pub paced: bool,
    /// When the schedule wanted the operation to start.
    pub due_ns: u64,
    /// When the client became free for the operation: the end of its previous one; of the first, when the client begins
    /// with the task.
    pub free_ns: u64,
    /// When the first request of the first attempt was written to the socket.
    pub first_sent_ns: u64,
    /// When the first request of the last attempt was written to the socket, or of the first attempt of a bulk whose
    /// rejected documents are sent again; service time counts from here.
    pub sent_ns: u64,
    /// When the last byte of the last reply had arrived.
    pub done_ns: u64,
    /// Length of the whole operation: building bodies, every attempt, checking the reply.
    pub processing_ns: u64,
}

/// Whether an operation succeeded, and what work was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationResult {
    /// Why it failed; [`ErrorClass::None`] for a success.
    pub error_class: ErrorClass,
    /// HTTP status of the last reply, 0 if there was none.
    pub status: u16,
    /// Attempts after the first, as the operation's retry rule asked for.
    pub retries: u32,
    /// Work done, in the task's unit; failed parts do not count.
    pub weight: u64,
    /// Work that was attempted and failed, in the task's unit.
    pub failed_weight: u64,
    /// The time that the engine reports (`took`), in milliseconds; -1 if it reports none.
    pub took_ms: i64,
}

/// What an operation sent and received over the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests, every attempt counted.
    pub requests: u32,
    /// Connections that were opened again.
    pub reconnects: u32,
    /// Bytes written to sockets, heads included.
    pub bytes_out: u64,
    /// Bytes read from sockets, heads included.
    pub bytes_in: u64,
    /// Bytes of request bodies before compression.
    pub content_out: u64,
    /// Bytes of reply bodies after decompression.
    pub content_in: u64,
}

impl Sample {
    /// Whether the whole operation succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.result.error_class == ErrorClass::None
    }
}

impl OperationTimes {
    /// Service time: request written → last byte of the reply, in nanoseconds.
    #[must_use]
    pub fn service_ns(&self) -> u64 {
        self.done_ns.saturating_sub(self.sent_ns)
    }

    /// Latency: intended start → last byte of the reply, in nanoseconds.
    #[must_use]
    pub fn latency_ns(&self) -> u64 {
        self.done_ns.saturating_sub(self.due_ns)
    }

    /// Lateness: intended start → first request written, less the wait for this client's previous operation, in
    /// nanoseconds. It is the driver's own fault.
    #[must_use]
    pub fn lateness_ns(&self) -> u64 {
        self.first_sent_ns.saturating_sub(self.due_ns.max(self.free_ns))
    }

    /// Whether the operation was due while no client was free for it.
    #[must_use]
    pub fn waited(&self) -> bool {
        self.paced && self.due_ns < self.free_ns
    }
}

impl Add for Traffic {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.reconnects += other.reconnects;
        self.bytes_out += other.bytes_out;
        self.bytes_in += other.bytes_in;
        self.content_out += other.content_out;
        self.content_in += other.content_in;
    }
}

/// Whether an operation counts towards the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleType {
    /// Due within the warm-up.
    Warmup,
    /// Due after the warm-up. Named `normal` in files.
    Measured,
}

impl SampleType {
    /// Both, in the order of their [`SampleType::index`].
    pub const ALL: [Self; 2] = [Self::Warmup, Self::Measured];

    /// Index into arrays with one element per type.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// The name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Warmup => "warmup",
            Self::Measured => "normal",
        }
    }
}

/// Why an operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorClass {
    /// It did not fail.
    None,
    /// No connection could be opened.
    Connect,
    /// TLS failed: a handshake did not succeed, or an alert ended the connection.
    Tls,
    /// The connection broke before the reply was complete.
    Reset,
    /// No complete reply in time.
    Timeout,
    /// The reply is not HTTP/1.1 as the driver understands it.
    Protocol,
    /// An HTTP status outside 2xx that the operation does not ignore.
    HttpStatus,
    /// Documents of a bulk were rejected.
    BulkItem,
    /// Shards of a search failed.
    ShardFailure,
    /// The search timed out in the engine and is incomplete.
    SearchTimeout,
    /// The reply does not meet the operation's condition.
    Condition,
    /// The reply says that it is partial.
    Partial,
    /// The reply is not what the track asserts.
    Assertion,
    /// A plug-in of the track failed: its parameter source, runner or scheduler.
    Plugin,
}

impl ErrorClass {
    /// Whether nothing could be sent; the next request will probably fail in the same way.
    #[must_use]
    pub fn is_unreachable(self) -> bool {
        matches!(self, Self::Connect | Self::Tls)
    }

    /// The name in files and reports; empty for [`ErrorClass::None`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Reset => "reset",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::HttpStatus => "http-status",
            Self::BulkItem => "bulk-item",
            Self::ShardFailure => "shard-failure",
            Self::SearchTimeout => "search-timeout",
            Self::Condition => "condition",
            Self::Partial => "partial",
            Self::Assertion => "assertion",
            Self::Plugin => "plugin",
        }
    }
}
