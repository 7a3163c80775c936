//! What became of one operation.

use std::ops::{Add, AddAssign};
use std::sync::Arc;
use std::time::Instant;

use pacenote_record::{ErrorClass, ErrorNote};

/// What a reply, or its absence, means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// [`ErrorClass::None`] for a success.
    pub class: ErrorClass,
    /// Parts that succeeded; for a bulk its documents.
    pub accepted: u64,
    /// Parts that failed.
    pub rejected: u64,
    /// What the engine says it took, in milliseconds; -1 if it did not say.
    pub took_ms: i64,
    /// Why it failed; empty for a success.
    pub failures: Vec<Failure>,
}

/// A reason for a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// HTTP status, or a document's; 0 if there is none.
    pub status: u16,
    /// The engine's error type, or the system's name for it.
    pub kind: String,
    /// The reason in the engine's words.
    pub reason: String,
    /// How often.
    pub count: u64,
}

impl Verdict {
    /// A success of so much work.
    pub fn success(accepted: u64, took_ms: i64) -> Self {
        Self { class: ErrorClass::None, accepted, rejected: 0, took_ms, failures: Vec::new() }
    }

    /// A failure for one reason.
    pub fn failure(class: ErrorClass, status: u16, kind: &str, reason: String) -> Self {
        let failure = Failure { status, kind: kind.to_owned(), reason, count: 1 };
        Self { class, accepted: 0, rejected: 0, took_ms: -1, failures: vec![failure] }
    }

    /// Its failures as they are written down.
    pub fn notes(self, at_ns: u64) -> impl Iterator<Item = ErrorNote> {
        let class = self.class;
        self.failures.into_iter().map(move |failure| {
            let Failure { status, kind, reason, count } = failure;
            ErrorNote { class, status, kind, reason, count, at_ns }
        })
    }

    /// Whether everything succeeded.
    pub fn is_success(&self) -> bool {
        self.class == ErrorClass::None
    }
}

/// What went over the wire for an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests on the wire.
    pub requests: u32,
    /// Connections that were opened again.
    pub reconnects: u32,
    /// Bytes written to sockets.
    pub bytes_out: u64,
    /// Bytes read from sockets.
    pub bytes_in: u64,
    /// Bytes of request bodies before they were compressed.
    pub content_out: u64,
    /// Bytes of reply bodies, unpacked.
    pub content_in: u64,
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

/// One operation, from its first request to its last reply.
#[derive(Debug)]
pub struct Outcome {
    /// When the first request of the first attempt was handed to the kernel.
    pub first_sent: Instant,
    /// When the first request of the last attempt was handed to the kernel.
    pub sent: Instant,
    /// When the last byte of the last reply had arrived.
    pub done: Instant,
    /// When the client could begin another: later than `done` if it had to clean up, off the clock.
    pub free: Instant,
    /// What it means.
    pub verdict: Verdict,
    /// HTTP status of the last reply, 0 if there was none.
    pub status: u16,
    /// Attempts after the first.
    pub retries: u32,
    /// What went over the wire.
    pub traffic: Traffic,
    /// The operations within it, in the order of their ends.
    pub parts: Vec<Part>,
}

/// An operation within an operation.
#[derive(Debug)]
pub struct Part {
    /// What it is called.
    pub label: Arc<Label>,
    /// What became of it; it has no parts of its own.
    pub outcome: Outcome,
}

/// What an operation within an operation is called.
#[derive(Debug, PartialEq, Eq)]
pub struct Label {
    /// Its name.
    pub operation: String,
    /// Its type, such as `search`.
    pub operation_type: String,
}

impl Outcome {
    /// The same, with no work done.
    pub fn without_work(mut self) -> Self {
        self.verdict.accepted = 0;
        self
    }

    /// An operation that could not even be sent.
    pub fn unsent(reason: String) -> Self {
        Self { verdict: Verdict::failure(ErrorClass::Protocol, 0, "", reason), ..Self::nothing() }
    }

    /// An operation that had nothing to do.
    pub fn nothing() -> Self {
        let now = Instant::now();
        let verdict = Verdict::success(0, -1);
        Self {
            first_sent: now,
            sent: now,
            done: now,
            free: now,
            verdict,
            status: 0,
            retries: 0,
            traffic: Traffic::default(),
            parts: Vec::new(),
        }
    }

    /// Two steps of one operation, one after another. A poll's earlier answers are no failures.
    pub fn join(self, after: Self) -> Self {
        let mut verdict = after.verdict;
        verdict.accepted += self.verdict.accepted;
        verdict.rejected += self.verdict.rejected;
        let mut parts = self.parts;
        parts.extend(after.parts);
        Self {
            first_sent: self.first_sent,
            sent: self.sent,
            verdict,
            traffic: self.traffic + after.traffic,
            parts,
            ..after
        }
    }
}
