//! The measurements of one operation.

use std::ops::{Add, AddAssign};

use crate::catalog::SubOperationNumber;

/// The measurements of an operation or sub-operation that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Position of the task in the plan.
    pub task_index: u32,
    /// The sub-operation, set by [`crate::Recorder::record_sub_operation`]; `None` for the whole operation.
    pub sub_operation: Option<SubOperationNumber>,
    /// Number of the client within the task, from 0.
    pub client_number: u32,
    /// Whether the operation belongs to the warm-up or is measured.
    pub sample_type: SampleType,
    /// When the operation was due, sent and answered.
    pub times: OperationTimes,
    /// Whether the operation succeeded, and the work that it did.
    pub result: SampleResult,
    /// Requests, bytes and reconnections.
    pub traffic: Traffic,
}

/// When an operation was due, sent and answered, in nanoseconds since its task began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OperationTimes {
    /// Whether a schedule determined when the operation was due; otherwise `due_ns` equals `service_start_ns`.
    pub paced: bool,
    /// When the operation should have started according to the schedule.
    pub due_ns: u64,
    /// When the client became free for the operation: at the end of its previous operation or, for its first one, when
    /// the client began the task.
    pub free_since_ns: u64,
    /// When the first request of the first attempt was sent.
    pub first_sent_ns: u64,
    /// Start of the service time: when the first request of the last attempt was sent. For a bulk whose rejected
    /// documents were sent again, when its first request was sent. Named `sent_ns` in files.
    pub service_start_ns: u64,
    /// When the last byte of the last response had arrived.
    pub done_ns: u64,
    /// Duration of the whole operation: all attempts, and checking responses. Without a schedule, it includes the
    /// preparation, such as building the body; with a schedule, the preparation happens before the operation is due.
    pub processing_ns: u64,
}

/// Whether an operation succeeded, and the work that it did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampleResult {
    /// The class of its failure; [`ErrorClass::None`] for a success.
    pub error_class: ErrorClass,
    /// HTTP status of the last response, 0 if there was none.
    pub status: u16,
    /// Number of attempts after the first, under the operation's retry policy; for a bulk, how often documents that
    /// were rejected with status 429 were sent again.
    pub retries: u32,
    /// Work done, in the task's unit; failed parts do not count.
    pub weight: u64,
    /// Work that was attempted and failed, in the task's unit.
    pub failed_weight: u64,
    /// Duration reported by the engine (`took`), in milliseconds; -1 if it reported none.
    pub took_ms: i64,
}

/// Network traffic of an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of requests, including every attempt.
    pub requests: u32,
    /// Number of connections that were opened again.
    pub reconnects: u32,
    /// Bytes written to sockets, heads included.
    pub bytes_out: u64,
    /// Bytes read from sockets, heads included.
    pub bytes_in: u64,
    /// Bytes of request bodies before compression.
    pub content_out: u64,
    /// Bytes of response bodies after decompression.
    pub content_in: u64,
}

impl Sample {
    /// Returns whether the whole operation succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.result.error_class == ErrorClass::None
    }

    /// Returns whether the operation failed because no connection could be opened, so that it sent no request.
    #[must_use]
    pub fn is_unconnected(&self) -> bool {
        self.result.error_class.is_unreachable() && self.traffic.requests == 0
    }
}

impl OperationTimes {
    /// Returns the service time, from writing the request to the last byte of the response, in nanoseconds.
    #[must_use]
    pub fn service_ns(&self) -> u64 {
        self.done_ns.saturating_sub(self.service_start_ns)
    }

    /// Returns the latency, from the intended start to the last byte of the response, in nanoseconds.
    #[must_use]
    pub fn latency_ns(&self) -> u64 {
        self.done_ns.saturating_sub(self.due_ns)
    }

    /// Returns the lateness in nanoseconds: the time from the intended start to writing the first request, less the
    /// wait for this client's previous operation. The driver causes it.
    #[must_use]
    pub fn lateness_ns(&self) -> u64 {
        self.first_sent_ns.saturating_sub(self.due_ns.max(self.free_since_ns))
    }

    /// Returns whether the operation was due before a client was free for it: its own client, or in an open loop any.
    #[must_use]
    pub fn waited(&self) -> bool {
        self.paced && self.due_ns < self.free_since_ns
    }
}

impl Traffic {
    /// Returns this traffic without that of `other`; nothing is below 0.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(other.requests),
            reconnects: self.reconnects.saturating_sub(other.reconnects),
            bytes_out: self.bytes_out.saturating_sub(other.bytes_out),
            bytes_in: self.bytes_in.saturating_sub(other.bytes_in),
            content_out: self.content_out.saturating_sub(other.content_out),
            content_in: self.content_in.saturating_sub(other.content_in),
        }
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

/// Whether an operation counts towards the result. A task limited by time decides by its due time; a task limited by
/// iterations, by the order in which its operations are admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleType {
    /// Part of the warm-up.
    Warmup,
    /// Follows the warm-up. Named `normal` in files.
    Measured,
}

impl SampleType {
    /// Both sample types, ordered by [`SampleType::index`].
    pub const ALL: [Self; 2] = [Self::Warmup, Self::Measured];

    /// Returns the index of the type in arrays with one element per type.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns the name of the type in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Warmup => "warmup",
            Self::Measured => "normal",
        }
    }
}

/// The class of an operation's failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorClass {
    /// The operation did not fail.
    #[default]
    None,
    /// No connection could be opened.
    Connect,
    /// A TLS handshake did not succeed, or the server rejected the client certificate after it.
    Tls,
    /// The connection broke before the response was complete.
    Reset,
    /// No complete response arrived in time.
    Timeout,
    /// The request cannot be written as HTTP, or the response is not one that the driver can read or lacks a field that
    /// its check needs.
    Protocol,
    /// The HTTP status is not 2xx, and the operation does not ignore it.
    HttpStatus,
    /// Documents of a bulk were rejected.
    BulkItem,
    /// Shards of a search failed.
    ShardFailure,
    /// The search timed out in the engine and is incomplete.
    SearchTimeout,
    /// The response does not meet the operation's condition.
    Condition,
    /// The response is marked as partial.
    Partial,
    /// The response violates an assertion of the track.
    Assertion,
    /// A plug-in of the track failed: its parameter source, runner or scheduler.
    Plugin,
}

impl ErrorClass {
    /// All classes, ordered by [`ErrorClass::index`].
    pub const ALL: [Self; 14] = [
        Self::None,
        Self::Connect,
        Self::Tls,
        Self::Reset,
        Self::Timeout,
        Self::Protocol,
        Self::HttpStatus,
        Self::BulkItem,
        Self::ShardFailure,
        Self::SearchTimeout,
        Self::Condition,
        Self::Partial,
        Self::Assertion,
        Self::Plugin,
    ];

    /// Returns the index of the class in arrays with one element per class.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns whether no connection could be opened or the server rejected the client certificate, in which case the
    /// next operation will probably fail in the same way. The certificate may be rejected after the request was sent.
    #[must_use]
    pub fn is_unreachable(self) -> bool {
        matches!(self, Self::Connect | Self::Tls)
    }

    /// Returns whether the engine itself reported the failure, which no delay of the driver can cause.
    #[must_use]
    pub fn is_reported(self) -> bool {
        matches!(
            self,
            Self::HttpStatus
                | Self::BulkItem
                | Self::ShardFailure
                | Self::SearchTimeout
                | Self::Condition
                | Self::Partial
        )
    }

    /// Returns the name of the class in files and reports; empty for [`ErrorClass::None`].
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
