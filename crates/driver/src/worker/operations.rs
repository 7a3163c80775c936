//! The interface between the measured loop and the operations that it executes.

use std::rc::Rc;
use std::time::{Duration, Instant};

use pacenote_record::{ClientOverhead, SampleType, Traffic};

use crate::cancel::Cancellation;
use crate::operation::outcome::OperationOutcome;
use crate::transport::pool::ConnectionPool;
use crate::worker::source::OperationSource;

/// How long a client waits for data that no request asked for, once it has ended its last task of a step: a server that
/// has sent a response twice still owes the last one.
const UNSOLICITED_WAIT: Duration = Duration::from_millis(10);

/// The operations of one client in one task.
pub trait ClientOperations {
    /// Prepares the next operation before it is timed. Returns `false` if there is none.
    fn prepare_next(&mut self) -> bool;

    /// Returns the number of documents of the operation that is prepared next, if it is known.
    fn next_document_count(&self) -> Option<u64>;

    /// Returns the number of documents of the prepared operation, or `None` if it is not a bulk or only known once it has
    /// been executed.
    fn document_count(&self) -> Option<u64>;

    /// Compresses the prepared operation, if it is sent compressed.
    fn compress(&mut self) -> impl Future<Output = ()>;

    /// Executes the prepared operation. Returns `None` if the race or the step ends first, or if the runner had no
    /// operation.
    fn execute(
        &mut self,
        cancellation: &Cancellation<'_>,
        sample_type: SampleType,
    ) -> impl Future<Output = Option<OperationOutcome>>;

    /// Returns when the whole last operation ended, for its processing time, or `None` if that is when it is recorded,
    /// shortly after [`ClientOperations::execute`] has returned.
    fn processing_end(&self) -> Option<Instant>;

    /// Returns the error because of which there are no more operations, for example a data file that cannot be read.
    fn failure(&self) -> Option<&str>;

    /// Returns whether the next operation has not been supplied yet, but may still be.
    fn is_starved(&self) -> bool;

    /// Waits until the next operation is supplied, or until the source has ended.
    fn until_supplied(&self) -> impl Future<Output = ()>;

    /// Returns whether Python supplies no more operations; always `false` for a source that Python does not supply.
    fn supply_has_ended(&self) -> bool;

    /// Takes how long the last operation of a Python runner waited for its parameter source after it had begun.
    fn take_source_wait(&mut self) -> Duration;

    /// Takes the unit of the last success, if a Python runner returned one.
    fn take_unit(&mut self) -> Option<String>;

    /// Takes the traffic since the last call. After an operation without an outcome, which was dropped or whose wait
    /// the end of the race or the step has ended, this is its traffic.
    fn take_traffic(&mut self) -> Traffic;

    /// Waits for a moment, then looks once for data that no request asked for, on every connection that is kept.
    fn look_for_unsolicited(&mut self) -> impl Future<Output = ()>;

    /// Takes what the client has done besides its operations since the last call.
    fn take_overhead(&mut self) -> ClientOverhead;

    /// Returns whether a Python runner has declared that the last operation was the client's final one.
    fn was_last(&self) -> bool;

    /// After an operation that could not connect, returns the hosts and ports of the cluster if none of them is left
    /// for the next operation, for messages.
    fn unreachable_hosts(&self) -> Option<String>;
}

/// The operations of a source, sent over the connections of a client.
#[derive(Debug)]
pub struct ConnectedSource {
    /// Prepares and executes the operations.
    pub source: OperationSource,
    /// The connections of the client.
    pub pool: Rc<ConnectionPool>,
}

// The futures of the source are returned instead of awaited in an enclosing future, which would copy their outcomes.
impl ClientOperations for ConnectedSource {
    fn prepare_next(&mut self) -> bool {
        self.source.prepare_next()
    }

    fn next_document_count(&self) -> Option<u64> {
        self.source.next_document_count()
    }

    fn document_count(&self) -> Option<u64> {
        self.source.document_count()
    }

    fn compress(&mut self) -> impl Future<Output = ()> {
        self.source.compress()
    }

    fn execute(
        &mut self,
        cancellation: &Cancellation<'_>,
        sample_type: SampleType,
    ) -> impl Future<Output = Option<OperationOutcome>> {
        self.source.execute(&self.pool, cancellation, sample_type)
    }

    fn processing_end(&self) -> Option<Instant> {
        self.source.processing_end()
    }

    fn failure(&self) -> Option<&str> {
        self.source.failure()
    }

    fn is_starved(&self) -> bool {
        self.source.is_starved()
    }

    async fn until_supplied(&self) {
        if let OperationSource::Queued(queued) = &self.source {
            queued.wait().await;
        }
    }

    fn supply_has_ended(&self) -> bool {
        matches!(&self.source, OperationSource::Queued(queued) if !queued.has_operation() && !queued.is_starved())
    }

    fn take_source_wait(&mut self) -> Duration {
        match &mut self.source {
            OperationSource::Runner(runner) => runner.take_source_wait(),
            _ => Duration::ZERO,
        }
    }

    fn take_unit(&mut self) -> Option<String> {
        match &mut self.source {
            OperationSource::Runner(runner) => runner.take_unit(),
            _ => None,
        }
    }

    fn take_traffic(&mut self) -> Traffic {
        match &self.source {
            OperationSource::Runner(runner) => runner.take_traffic(),
            _ => self.pool.take_operation_traffic(),
        }
    }

    async fn look_for_unsolicited(&mut self) {
        // The requests of a runner are sent on other connections than those of the pool.
        if matches!(self.source, OperationSource::Runner(_) | OperationSource::Sleep(_)) {
            return;
        }
        tokio::time::sleep(UNSOLICITED_WAIT).await;
        self.pool.look_for_unsolicited();
    }

    fn take_overhead(&mut self) -> ClientOverhead {
        let mut overhead = self.pool.take_overhead();
        if let OperationSource::Runner(runner) = &self.source {
            overhead += runner.take_overhead();
        }
        overhead
    }

    fn was_last(&self) -> bool {
        matches!(&self.source, OperationSource::Runner(runner) if runner.was_last())
    }

    fn unreachable_hosts(&self) -> Option<String> {
        match &self.source {
            // Its requests are sent on other connections than those of the pool.
            OperationSource::Runner(runner) if runner.has_host_left() => None,
            OperationSource::Runner(_) => Some(self.pool.hosts()),
            _ => self.pool.unreachable_hosts(),
        }
    }
}
