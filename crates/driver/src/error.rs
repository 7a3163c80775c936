//! Errors that prevent a plan from running to completion. They do not include failed requests, which are counted and
//! recorded.

/// An error that prevents a plan from running to completion.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// A host cannot be resolved, or a certificate or key cannot be read.
    #[error(transparent)]
    Endpoint(#[from] crate::transport::EndpointError),
    /// A client could not connect before its step started.
    #[error("cannot connect to {host}: {source}")]
    Connect {
        /// Host and port.
        host: String,
        /// The error from the operating system, TLS or a proxy.
        source: crate::transport::ConnectError,
    },
    /// A request cannot be written as HTTP.
    #[error("task {task}: {source}")]
    Request {
        /// Name of the task.
        task: String,
        /// What is wrong with the request.
        source: crate::transport::http::RequestHeadError,
    },
    /// A value supplied by Python is not a valid operation.
    #[error("task {task}: {reason}")]
    InvalidSupply {
        /// Name of the task.
        task: String,
        /// What is wrong with the value.
        reason: String,
    },
    /// Python could not prepare a step, cannot continue, or has violated the protocol of the bridge.
    #[error("{0}")]
    Python(String),
    /// An operation of the plan cannot be executed.
    #[error("task {task}: {problem}")]
    InvalidOperation {
        /// Name of the task.
        task: String,
        /// What is wrong with the operation.
        problem: String,
    },
    /// The data of a bulk cannot be read.
    #[error(transparent)]
    Corpus(#[from] pacenote_corpus::CorpusError),
    /// A data file does not contain the number of lines that the documents of the plan need.
    #[error(
        "{path} has {found} lines, but the {documents} documents of the plan need {expected}; correct the track or replace the file"
    )]
    Lines {
        /// The file.
        path: String,
        /// Number of documents according to the plan.
        documents: u64,
        /// Number of lines of these documents.
        expected: u64,
        /// Number of lines in the file.
        found: u64,
    },
    /// The race folder cannot be written.
    #[error(transparent)]
    Record(#[from] pacenote_record::RecordError),
    /// The operating system could not provide a thread, a timer or a runtime.
    #[error("the system refused {what}: {source}")]
    System {
        /// What was requested.
        what: &'static str,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The process may not have the real-time priority that the plan demands.
    #[error("the driver's threads cannot have real-time priority: {0}")]
    Realtime(String),
    /// The driver is in a state that should be impossible, which is a bug in the driver.
    #[error("bug in the driver: {0}")]
    Internal(String),
    /// A driver thread ended unexpectedly, which is a bug in the driver.
    #[error("a driver thread ended unexpectedly: {0}")]
    ThreadDied(String),
}
