//! [`QueuedOperation`]: an operation supplied by Python, ready to be executed.

use std::time::Duration;

use pacenote_plan::{SuppliedBulk, SuppliedOperation};

use crate::cancel::Cancellation;
use crate::error::DriveError;
use crate::operation::PreparedCalls;
use crate::operation::bulk_request::{BulkOptions, BulkRequest};
use crate::operation::context::Destination;
use crate::operation::outcome::OperationOutcome;
use crate::operation::prepared::{PreparedRequest, RequestSpec};
use crate::response::bulk::SentBulk;
use crate::response::selection::filters_fields;
use crate::transport::pool::ConnectionPool;

/// An operation as supplied by Python: a document and, for a bulk, its body.
#[derive(Debug)]
pub struct OperationInput<'a> {
    /// JSON of a `SuppliedOperation` document.
    pub document: &'a str,
    /// Body of a bulk request, or `None` for any other operation.
    pub body: Option<Vec<u8>>,
}

/// One operation supplied by Python, ready to be executed.
///
/// The thread that queues the operation prepares it, so that the client spends no time on preparation.
#[derive(Debug)]
pub enum QueuedOperation {
    /// A sequence of calls.
    Calls(Box<PreparedCalls>),
    /// One bulk request.
    Bulk(Box<BulkRequest<Vec<u8>>>),
}

impl QueuedOperation {
    /// Reads and prepares an operation.
    ///
    /// # Errors
    ///
    /// If the document cannot be parsed, or the operation cannot be written as HTTP.
    pub fn new(to: Destination<'_>, input: OperationInput<'_>) -> Result<Self, DriveError> {
        let OperationInput { document, body } = input;
        let refused = |reason: String| DriveError::InvalidSupply { task: to.task_name.to_owned(), reason };
        let supply: SuppliedOperation =
            serde_json::from_str(document).map_err(|error| refused(error.to_string()))?;
        supply.validate().map_err(|error| refused(error.to_string()))?;
        match supply {
            SuppliedOperation::Calls(_) if body.is_some() => {
                Err(refused("a sequence of calls has no separate body".into()))
            }
            SuppliedOperation::Calls(calls) => Ok(Self::Calls(Box::new(PreparedCalls::new(&calls, to)?))),
            SuppliedOperation::Bulk(bulk) => {
                let body = body.ok_or_else(|| refused("a bulk requires a body".into()))?;
                let SuppliedBulk { path, headers, documents, timeout_ms, detailed_results, assertions } =
                    bulk;
                let spec = RequestSpec {
                    method: "POST",
                    path: &path,
                    headers: headers.iter(),
                    has_body: !body.is_empty(),
                    timeout: timeout_ms.map(Duration::from_millis),
                };
                let mut request =
                    PreparedRequest::new(spec, body, to).map_err(|error| to.head_error(error))?;
                request.compress().map_err(|error| refused(error.to_string()))?;
                let sent = SentBulk { documents, filters_fields: filters_fields(&path) };
                let options = BulkOptions { retries_on_429: 0, detailed_results, assertions };
                Ok(Self::Bulk(Box::new(BulkRequest::new(request, sent, options))))
            }
        }
    }

    /// Returns the number of documents of a bulk, or `None` if it does not say or if it is not a bulk.
    pub fn document_count(&self) -> Option<u64> {
        match self {
            Self::Bulk(bulk) => Some(bulk.document_count()).filter(|documents| *documents > 0),
            Self::Calls(_) => None,
        }
    }

    /// Executes the operation. Returns `None` if the race or the step ended while it waited.
    pub async fn execute(
        &mut self,
        connections: &ConnectionPool,
        cancellation: &Cancellation<'_>,
    ) -> Option<OperationOutcome> {
        match self {
            Self::Calls(calls) => calls.execute(connections, cancellation).await,
            Self::Bulk(bulk) => Some(bulk.execute(connections, cancellation).await),
        }
    }
}
