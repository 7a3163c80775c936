//! [`RunnerSource`]: operations executed by a runner in Python.

use std::time::{Duration, Instant};

use pacenote_record::{SampleType, Traffic};

use crate::cancel::{Cancellation, run_until_cancelled};
use crate::operation::outcome::OperationOutcome;
use crate::python::channel::Answer;
use crate::python::events::PythonEvent;
use crate::python::handle::ClientHandle;
use crate::race_state::StopLevel;

/// The operations of one client, executed by a runner in Python.
#[derive(Debug)]
pub struct RunnerSource {
    handle: ClientHandle,
    /// When the runner completed its last operation.
    completed: Option<Instant>,
    last: bool,
    unit: Option<String>,
}

impl RunnerSource {
    /// Creates the source of one client.
    pub fn new(handle: &ClientHandle) -> Self {
        Self { handle: handle.clone(), completed: None, last: false, unit: None }
    }

    /// Returns whether there may be another operation.
    pub fn prepare_next(&self) -> bool {
        !self.last && !self.handle.channel().is_finished()
    }

    /// Executes one operation in the runner. Returns `None` if the runner had none, or did not complete it in time
    /// after the race was stopped.
    ///
    /// Dropping this future abandons the operation: a later answer from the runner is ignored.
    pub async fn execute(
        &mut self,
        cancellation: &Cancellation<'_>,
        sample_type: SampleType,
    ) -> Option<OperationOutcome> {
        let channel = self.handle.channel();
        let (client, measured) = (channel.id, sample_type == SampleType::Measured);
        let query_id = channel.start_query();
        let started = Instant::now();
        self.handle.send(PythonEvent::RunOperation { query_id, client, measured });
        let Answer::Completed(answer, completed) = self.receive(cancellation).await? else { return None };
        let (totals, result) = (channel.take_totals(), answer.outcome());
        self.completed = Some(completed);
        self.last = answer.last;
        if answer.success || answer.weight > 0 {
            self.unit = Some(answer.unit);
        }
        let first_sent = totals.first_sent.unwrap_or(started);
        let status = if totals.traffic.requests > 0 {
            totals.status
        } else {
            result.failures.first().map_or(0, |failure| failure.status)
        };
        let requests = totals.traffic.requests + totals.in_flight;
        Some(OperationOutcome {
            first_sent,
            service_start: first_sent,
            done: totals.last_received.filter(|_| totals.in_flight == 0).unwrap_or(completed),
            freed: completed,
            result,
            status,
            retries: totals.retries,
            traffic: Traffic { requests, ..totals.traffic },
            sub_operations: totals.sub_operations,
        })
    }

    /// Waits for the runner's answer. Once the race has been stopped, waits no longer than the timeout of a request: a
    /// request ends after its timeout at the latest, but Python code might never end.
    async fn receive(&self, cancellation: &Cancellation<'_>) -> Option<Answer> {
        let (channel, race_state) = (self.handle.channel(), cancellation.race_state);
        let stopped = || race_state.stop_level() != StopLevel::Run;
        if let Some(answer) =
            run_until_cancelled(channel.receive_answer(), cancellation.stop_notify, stopped).await
        {
            return Some(answer);
        }
        let timeout = Duration::from_millis(cancellation.step.plan().target.timeout_ms);
        tokio::time::timeout(timeout, channel.receive_answer()).await.ok()
    }

    /// Returns when the runner completed its last operation.
    pub fn completed(&self) -> Option<Instant> {
        self.completed
    }

    /// Returns whether a host was left when a request of the runner last failed to connect.
    pub fn has_host_left(&self) -> bool {
        self.handle.channel().has_host_left()
    }

    /// Returns whether the last operation was the client's last.
    pub fn was_last(&self) -> bool {
        self.last
    }

    /// Takes the unit of the last operation that did work.
    pub fn take_unit(&mut self) -> Option<String> {
        self.unit.take()
    }
}
