//! Why a plan could not be run. Failures of requests are no such thing: they are counted and recorded.

/// A plan that could not be run, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The way to a host cannot be prepared.
    #[error(transparent)]
    Route(#[from] crate::transport::EndpointError),
    /// A client could not connect before the step's clock started.
    #[error("cannot connect to {host}: {source}")]
    Connect {
        /// Host and port.
        host: String,
        /// What the system, TLS or a proxy said.
        source: crate::transport::ConnectError,
    },
    /// A request cannot be written as HTTP.
    #[error("task {task}: {source}")]
    Request {
        /// Name of the task.
        task: String,
        /// What is wrong with it.
        source: crate::transport::http::RequestHeadError,
    },
    /// What Python handed over as an operation is none.
    #[error("task {task}: {reason}")]
    Supply {
        /// Name of the task.
        task: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Python could not prepare a step, or said something that makes no sense.
    #[error("{0}")]
    Lane(String),
    /// Calls that cannot be made as the plan has them.
    #[error("task {task}: {problem}")]
    Calls {
        /// Name of the task.
        task: String,
        /// What is wrong with them.
        problem: String,
    },
    /// The data of a bulk cannot be read.
    #[error(transparent)]
    Corpus(#[from] pacenote_corpus::CorpusError),
    /// The data of a bulk is not what the plan says.
    #[error("{path} holds {found} documents, the plan says {expected}")]
    Documents {
        /// The file.
        path: String,
        /// What the plan says.
        expected: u64,
        /// What the file holds.
        found: u64,
    },
    /// What happened cannot be written down.
    #[error(transparent)]
    Record(#[from] pacenote_record::RecordError),
    /// The system refused a thread, a timer or a runtime.
    #[error("the system refused {what}: {source}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A thread of the driver died. This is a defect of the driver.
    #[error("a driver thread ended unexpectedly: {0}")]
    ThreadDied(String),
}
