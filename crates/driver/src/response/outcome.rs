//! Whether a request succeeded, how much work it did, and why it failed.

use pacenote_record::{ErrorClass, ErrorNote};

/// The result of checking the response to a request, or of receiving none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyOutcome {
    /// [`ErrorClass::None`] for a success.
    pub class: ErrorClass,
    /// Units of work that succeeded: documents of a bulk, the weight of any other request.
    pub accepted: u64,
    /// Units of work that failed.
    pub rejected: u64,
    /// The duration that the engine reports, in milliseconds; -1 if it reports none.
    pub took_ms: i64,
    /// Reasons of the failure; empty for a success.
    pub failures: Vec<Failure>,
}

/// Why a request, or some documents of a bulk, failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// HTTP status of the response or of the document; 0 if there is none.
    pub status: u16,
    /// The engine's error type, or an operating system error; may be empty.
    pub kind: String,
    /// The reason as the engine reports it.
    pub reason: String,
    /// How many times it occurred.
    pub count: u64,
}

impl ReplyOutcome {
    /// A success that did `accepted` units of work.
    pub fn success(accepted: u64, took_ms: i64) -> Self {
        Self { class: ErrorClass::None, accepted, rejected: 0, took_ms, failures: Vec::new() }
    }

    /// A failure with one reason.
    pub fn failure(class: ErrorClass, status: u16, kind: &str, reason: String) -> Self {
        let failure = Failure { status, kind: kind.to_owned(), reason, count: 1 };
        Self { class, accepted: 0, rejected: 0, took_ms: -1, failures: vec![failure] }
    }

    /// The failures in the form in which they are recorded.
    pub fn notes(self, at_ns: u64) -> impl Iterator<Item = ErrorNote> {
        let class = self.class;
        self.failures.into_iter().map(move |failure| {
            let Failure { status, kind, reason, count } = failure;
            ErrorNote { class, status, kind, reason, count, at_ns }
        })
    }

    /// Whether all work succeeded.
    pub fn is_success(&self) -> bool {
        self.class == ErrorClass::None
    }
}
