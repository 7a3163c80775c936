//! The context of an operation's calls: the destination of their requests, and the state of the current execution.

use std::cell::{Cell, RefCell};

use pacenote_plan::Target;
use pacenote_record::Traffic;
use tokio::sync::Semaphore;

use super::captures::Captures;
use super::outcome::{OperationOutcome, SubOperation};
use crate::cancel::Cancellation;
use crate::error::DriveError;
use crate::transport::http::RequestHeadError;
use crate::transport::pool::ConnectionPool;

/// The cluster for which the requests of an operation are prepared.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// The cluster. The operation must be executed on connections to its hosts.
    pub target: &'a Target,
    /// Name of the task, for messages.
    pub task_name: &'a str,
    /// The header that replaces the one with its name among the cluster's headers, if the client has its own.
    pub client_header: Option<&'a (String, String)>,
}

impl<'a> Destination<'a> {
    /// Returns the destination of the requests of a client of the race, given by its number, or of no client.
    pub fn of_client(target: &'a Target, task_name: &'a str, race_client: Option<u32>) -> Self {
        let client_header = race_client.and_then(|number| target.client_headers.get(number as usize));
        Self { target, task_name, client_header }
    }
}

impl Destination<'_> {
    /// Creates the error for a request that cannot be written as HTTP.
    pub fn head_error(&self, source: RequestHeadError) -> DriveError {
        DriveError::Request { task: self.task_name.to_owned(), source }
    }

    /// Creates the error for an operation that cannot be executed as planned.
    pub fn calls_error(&self, problem: String) -> DriveError {
        DriveError::InvalidOperation { task: self.task_name.to_owned(), problem }
    }
}

/// The state of one execution of an operation, shared by all its calls.
#[derive(Debug, Clone, Copy)]
pub struct Execution<'a> {
    /// The client's connections.
    pub connections: &'a ConnectionPool,
    /// Stops the operation when the race or the step ends.
    pub cancellation: &'a Cancellation<'a>,
    /// Values captured so far.
    pub captures: &'a RefCell<Captures>,
    /// Sub-operations that have ended.
    pub sub_operations: &'a RefCell<Vec<SubOperation>>,
    /// Requests and bytes of all calls.
    pub traffic: &'a TrafficCounter,
    /// Limits the number of requests in flight in a composite.
    pub limit: Option<&'a Semaphore>,
    /// Whether these calls belong to a composite.
    pub nested: bool,
}

/// Traffic of an operation, including that of streams that were dropped before they ended.
#[derive(Debug, Default)]
pub struct TrafficCounter {
    completed: Cell<Traffic>,
    in_flight: Cell<u32>,
}

impl TrafficCounter {
    /// Counts a request that is about to be sent.
    pub fn request_started(&self) {
        self.in_flight.set(self.in_flight.get() + 1);
    }

    /// Counts the traffic of a request that has ended.
    pub fn request_ended(&self, outcome: &OperationOutcome) {
        self.in_flight.set(self.in_flight.get() - 1);
        self.completed.set(self.completed.get() + outcome.traffic);
    }

    /// Returns the traffic of the requests that have ended, and resets it to zero.
    pub fn take_completed(&self) -> Traffic {
        self.completed.take()
    }

    /// Returns the number of requests that were dropped before their response arrived, and resets it to zero.
    pub fn take_dropped(&self) -> u32 {
        self.in_flight.take()
    }
}
