//! Executes operations: sends the requests of a client each time one is due.
//!
//! An operation is prepared once, before the clock of its task starts, and executed every time it is due. All requests
//! of an operation are sent on the thread of its client; concurrent streams only wait for several responses at the same
//! time.
//!
//! This module is used by `worker` and `python`; `coordinator` opens the data files, and `plan_to_record` counts the
//! bulks of a task. It uses none of these modules, nor `schedule`: callers pass the destination of requests and the
//! cancellation ([`context`]). `response` determines whether a response is a success, and `transport` sends the bytes.
//!
//! | file | contains |
//! | --- | --- |
//! | `prepared.rs` | one HTTP request, ready to be sent: head, body, encoding, timeout |
//! | `request.rs` | a request of a call sequence: its template, and how its response is checked |
//! | `template.rs`, `captures.rs` | bodies with gaps, and the values of earlier responses that fill them |
//! | `paging.rs` | page by page: searches, scrolls, aggregations, SQL |
//! | `composite.rs` | call sequences, and operations consisting of other operations |
//! | `bulk.rs`, `data_files.rs` | the bulks that a client sends, and the files from which they are read |
//! | `bulk_request.rs`, `bulk_retry.rs` | one bulk request, and resending its rejected documents |
//! | `compression.rs` | request bodies compressed with gzip |
//! | `busy_replies.rs` | replies with which an engine refuses a request for the moment |
//! | `wait.rs` | pauses, and operations that only wait |
//! | `context.rs` | the destination of requests, and the state of one execution |
//! | `outcome.rs` | the outcome of an operation |

pub mod bulk;
pub mod bulk_request;
mod bulk_retry;
mod busy_replies;
mod captures;
mod composite;
pub mod compression;
pub mod context;
pub mod data_files;
pub mod outcome;
mod paging;
pub mod prepared;
mod request;
mod template;
pub mod wait;

use std::cell::RefCell;

use pacenote_plan::{Call, CallSequence};

use crate::cancel::Cancellation;
use crate::error::DriveError;
use crate::transport::pool::ConnectionPool;
use captures::Captures;
use composite::PreparedCallList;
use context::{Destination, Execution, TrafficCounter};
use outcome::{OperationOutcome, SubOperation};
use request::CheckedRequest;

/// A call sequence, prepared for one cluster, that can be executed any number of times.
#[derive(Debug)]
pub struct PreparedCalls {
    kind: PreparedCallsKind,
}

#[derive(Debug)]
enum PreparedCallsKind {
    /// One request whose outcome depends only on its check, as in most operations. This is the fastest path.
    Plain(Box<CheckedRequest>),
    /// All other call sequences.
    Sequence(Box<PreparedSequence>),
}

/// A call sequence with the state of its current execution.
#[derive(Debug)]
struct PreparedSequence {
    calls: PreparedCallList,
    captures: RefCell<Captures>,
    sub_operations: RefCell<Vec<SubOperation>>,
}

impl PreparedCalls {
    /// Prepares a sequence of calls.
    ///
    /// # Errors
    ///
    /// If a request cannot be written as HTTP, or its body cannot be paged.
    pub fn new(calls: &CallSequence, to: Destination<'_>) -> Result<Self, DriveError> {
        let retry = calls.retry;
        let tried_once = retry.retries == 0 && !retry.until_success;
        if let ([Call::Request(request)], true) = (calls.calls.as_slice(), tried_once) {
            let request = Box::new(CheckedRequest::new(request, to)?);
            if request.is_plain() {
                return Ok(Self { kind: PreparedCallsKind::Plain(request) });
            }
        }
        let prepared = PreparedCallList::new(&calls.calls, retry, to)?;
        let sequence = PreparedSequence {
            calls: prepared,
            captures: RefCell::default(),
            sub_operations: RefCell::default(),
        };
        Ok(Self { kind: PreparedCallsKind::Sequence(Box::new(sequence)) })
    }

    /// Executes the calls, with all attempts of its retry policy. Returns `None` if the race or the step ends while
    /// they wait.
    pub async fn execute(
        &mut self,
        connections: &ConnectionPool,
        cancellation: &Cancellation<'_>,
    ) -> Option<OperationOutcome> {
        match &mut self.kind {
            PreparedCallsKind::Plain(request) => Some(request.send_plain(connections).await),
            PreparedCallsKind::Sequence(sequence) => sequence.execute(connections, cancellation).await,
        }
    }
}

impl PreparedSequence {
    async fn execute(
        &mut self,
        connections: &ConnectionPool,
        cancellation: &Cancellation<'_>,
    ) -> Option<OperationOutcome> {
        let Self { calls, captures, sub_operations } = self;
        captures.get_mut().clear();
        sub_operations.get_mut().clear();
        let traffic = TrafficCounter::default();
        let execution = Execution {
            connections,
            cancellation,
            captures,
            sub_operations,
            traffic: &traffic,
            limit: None,
            nested: false,
        };
        let mut outcome = calls.execute(&execution).await?;
        outcome.sub_operations = std::mem::take(sub_operations.get_mut());
        Some(outcome)
    }
}
