//! One operation, as the driver saw it.

/// One finished operation. Times are nanoseconds since its task began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Position of the task in the plan.
    pub task: u32,
    /// Number of the operation within, 0 for the whole operation; set by [`crate::Recorder::note_part`].
    pub part: u32,
    /// Which of the task's clients, from 0.
    pub client: u32,
    /// Warm-up or measured.
    pub sample_type: SampleType,
    /// Whether the task has a schedule; without one, `due_ns` equals `sent_ns`.
    pub paced: bool,
    /// When the schedule wanted the operation to start.
    pub due_ns: u64,
    /// When the client became free for the operation: the end of its previous one; of the first, when the client begins
    /// with the task.
    pub free_ns: u64,
    /// When the operation's first request was handed to the kernel, in its first attempt.
    pub first_sent_ns: u64,
    /// The same in its last attempt, from which service time counts.
    pub sent_ns: u64,
    /// When the last byte of the last reply had arrived.
    pub done_ns: u64,
    /// The whole operation: building bodies, every attempt, judging the reply.
    pub processing_ns: u64,
    /// Work done, in the task's unit; failed parts do not count.
    pub weight: u64,
    /// Work that was attempted and failed.
    pub failed_weight: u64,
    /// Requests on the wire, every attempt counted.
    pub requests: u32,
    /// Attempts after the first, as the operation's retry rule asked for.
    pub retries: u32,
    /// Whether the whole operation succeeded.
    pub success: bool,
    /// HTTP status of the last reply, 0 if there was none.
    pub status: u16,
    /// Why it failed; [`ErrorClass::None`] for a success.
    pub error_class: ErrorClass,
    /// What the engine says it took, in milliseconds; -1 if it did not say.
    pub took_ms: i64,
    /// Bytes written to the socket, head included.
    pub bytes_out: u64,
    /// Bytes read from the socket, head included.
    pub bytes_in: u64,
    /// Bytes of request bodies before they were compressed.
    pub content_out: u64,
    /// Bytes of reply bodies, unpacked.
    pub content_in: u64,
    /// Connections that were opened again for it.
    pub reconnects: u32,
}

impl Sample {
    /// Request written → last byte of the reply, in nanoseconds.
    #[must_use]
    pub fn service_ns(&self) -> u64 {
        self.done_ns.saturating_sub(self.sent_ns)
    }

    /// Intended start → last byte of the reply, in nanoseconds.
    #[must_use]
    pub fn latency_ns(&self) -> u64 {
        self.done_ns.saturating_sub(self.due_ns)
    }

    /// Intended start → actually sent, less the wait for this client's previous operation, in nanoseconds: the
    /// driver's own fault.
    #[must_use]
    pub fn lateness_ns(&self) -> u64 {
        self.first_sent_ns.saturating_sub(self.due_ns.max(self.free_ns))
    }

    /// Whether it was due while no client was free for it.
    #[must_use]
    pub fn waited(&self) -> bool {
        self.paced && self.due_ns < self.free_ns
    }
}

/// Whether an operation counts for the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleType {
    /// Before the measured window.
    Warmup,
    /// In the measured window.
    Normal,
}

impl SampleType {
    /// Both, in the order of their [`SampleType::index`].
    pub const ALL: [Self; 2] = [Self::Warmup, Self::Normal];

    /// Position in arrays kept per type.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// The word used in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Warmup => "warmup",
            Self::Normal => "normal",
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
    /// The host and the driver did not come to trust each other: a handshake failed, or an alert ended the connection.
    Tls,
    /// The connection broke before the reply was whole.
    Reset,
    /// No whole reply in time.
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
    /// The reply does not fulfil the operation's condition.
    Condition,
    /// The reply says that it is partial.
    Partial,
    /// The reply is not what the track asserts.
    Assertion,
    /// A plug-in of the track failed: its parameter source, runner or scheduler.
    Plugin,
}

impl ErrorClass {
    /// Nothing could be sent, and the next request will hardly fare better.
    #[must_use]
    pub fn is_unreachable(self) -> bool {
        matches!(self, Self::Connect | Self::Tls)
    }

    /// The word used in files and reports, empty for none.
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
