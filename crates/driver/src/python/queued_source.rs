//! [`QueuedSource`]: the operations in a client's queue.

use std::sync::Arc;

use crate::cancel::Cancellation;
use crate::operation::outcome::OperationOutcome;
use crate::python::channel::{ClientChannel, OperationConsumer};
use crate::python::queued_operation::QueuedOperation;
use crate::transport::pool::ConnectionPool;

/// Operations queued by a parameter source in Python during the race: the worker's end of a client's queue.
#[derive(Debug)]
pub struct QueuedSource {
    channel: Arc<ClientChannel>,
    consumer: OperationConsumer,
    operation: Option<QueuedOperation>,
}

impl QueuedSource {
    /// Creates the source for a channel. Returns `None` if the channel has no open queue.
    pub fn new(channel: &Arc<ClientChannel>) -> Option<Self> {
        Some(Self { channel: Arc::clone(channel), consumer: channel.take_consumer()?, operation: None })
    }

    /// Returns whether the queue is empty and an operation may still be queued.
    pub fn is_starved(&self) -> bool {
        self.consumer.operations.is_empty() && !self.channel.is_finished()
    }

    /// Returns whether an operation is queued.
    pub fn has_operation(&self) -> bool {
        !self.consumer.operations.is_empty()
    }

    /// Waits until an operation is queued or Python has no more operations.
    pub async fn wait(&self) {
        self.channel.wait_for_operation(&self.consumer.operations).await;
    }

    /// Takes the next operation. Returns `false` if there is none.
    pub fn prepare_next(&mut self) -> bool {
        let next = self.consumer.operations.pop().ok();
        if let Some(used) = std::mem::replace(&mut self.operation, next) {
            // If the queue for returning operations is full, this thread frees the operation.
            let _ = self.consumer.used.push(used);
        }
        self.operation.is_some()
    }

    /// Returns the number of documents of the next operation, if it has been queued; see
    /// [`QueuedOperation::document_count`].
    pub fn next_document_count(&self) -> Option<u64> {
        self.consumer.operations.peek().ok()?.document_count()
    }

    /// Returns the number of documents of the prepared operation; see [`QueuedOperation::document_count`].
    pub fn document_count(&self) -> Option<u64> {
        self.operation.as_ref()?.document_count()
    }

    /// Executes the operation. Returns `None` if the race or the step ended while it waited.
    pub async fn execute(
        &mut self,
        connections: &ConnectionPool,
        cancellation: &Cancellation<'_>,
    ) -> Option<OperationOutcome> {
        self.operation.as_mut()?.execute(connections, cancellation).await
    }
}
