//! [`RunnerSource`]: operations executed by a runner in Python.

use std::time::{Duration, Instant};

use pacenote_record::{ClientOverhead, ErrorClass, SampleType, Traffic};

use crate::cancel::Cancellation;
use crate::operation::outcome::OperationOutcome;
use crate::python::channel::Answer;
use crate::python::events::PythonEvent;
use crate::python::handle::ClientHandle;
use crate::race_state::StopLevel;
use crate::response::outcome::WorkOutcome;
use crate::schedule::budget::TaskLimit;

/// Returns how long a runner without a request in flight may execute an operation after its task: the timeout of a
/// request, but at least a millisecond, in which the thread serves its other clients.
fn grace_period(cancellation: &Cancellation<'_>) -> Duration {
    Duration::from_millis(cancellation.step.plan().target.timeout_ms.max(1))
}

/// Returns the failure of an operation that its runner did not complete in time.
fn timed_out(cancellation: &Cancellation<'_>) -> WorkOutcome {
    let seconds = grace_period(cancellation).as_secs_f64();
    let reason = format!(
        "the runner did not end the operation within {seconds} s after the end of the task and its requests"
    );
    WorkOutcome::failure(ErrorClass::Plugin, reason)
}

/// The operations of one client, executed by a runner in Python.
#[derive(Debug)]
pub struct RunnerSource {
    handle: ClientHandle,
    /// When the runner completed its last operation.
    completed: Option<Instant>,
    last: bool,
    unit: Option<String>,
    /// How long the last operation waited for its parameter source.
    source_wait: Duration,
}

impl RunnerSource {
    /// Creates the source of one client.
    pub fn new(handle: &ClientHandle) -> Self {
        Self { handle: handle.clone(), completed: None, last: false, unit: None, source_wait: Duration::ZERO }
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
        let (result, completed, details) = match self.receive(cancellation).await {
            Some(Answer::Completed(mut answer, completed)) => {
                let (result, details) = (answer.outcome(), answer.take_details());
                (self.last, self.source_wait) = (answer.last, answer.source_wait);
                if answer.success || answer.weight > 0 {
                    self.unit = Some(answer.unit);
                }
                (result, completed, details)
            }
            Some(_) => return None,
            None if cancellation.race_state.stop_level() != StopLevel::Run => return None,
            None => (timed_out(cancellation), Instant::now(), None),
        };
        let totals = channel.take_totals();
        self.completed = Some(completed);
        let first_sent = totals.first_sent.unwrap_or(started);
        let status = if totals.traffic.requests > 0 {
            totals.status
        } else {
            result.failures.first().map_or(0, |failure| failure.status)
        };
        let traffic = totals.all_traffic();
        Some(OperationOutcome {
            first_sent,
            service_start: first_sent,
            done: totals.last_received.filter(|_| totals.in_flight == 0).unwrap_or(completed),
            freed: completed,
            result,
            status,
            retries: totals.retries,
            traffic,
            sub_operations: totals.sub_operations,
            details,
        })
    }

    /// Waits for the runner's answer. Once the time of the task has passed, the step has been completed or the race has
    /// been stopped, the runner gets a grace period, because its code might never end. It gets another one for as long
    /// as a request has been in flight since then, which ends after its own timeout at the latest.
    async fn receive(&self, cancellation: &Cancellation<'_>) -> Option<Answer> {
        let channel = self.handle.channel();
        let within_task = async {
            match self.task_end(cancellation) {
                Some(end) => tokio::time::timeout_at(end.into(), channel.receive_answer()).await.ok(),
                None => Some(channel.receive_answer().await),
            }
        };
        if let Some(Some(answer)) = cancellation.run_until_cancelled(within_task).await {
            return Some(answer);
        }
        let ended = Instant::now();
        loop {
            let had_requests = channel.has_requests_since(ended);
            match tokio::time::timeout(grace_period(cancellation), channel.receive_answer()).await {
                Ok(answer) => return Some(answer),
                Err(_) if had_requests => {}
                Err(_) => return None,
            }
        }
    }

    /// Returns when the time of the task ends, or `None` if it is not limited by time.
    fn task_end(&self, cancellation: &Cancellation<'_>) -> Option<Instant> {
        let (state, task) = cancellation.step.task(self.handle.channel().id.task_index)?;
        let end_ns = TaskLimit::new(task.bound, 1).end_ns()?;
        state.origin_or_begin(Instant::now()).checked_add(Duration::from_nanos(end_ns))
    }

    /// Takes the traffic of the last operation if the runner did not complete it.
    pub fn take_traffic(&self) -> Traffic {
        self.handle.channel().take_totals().all_traffic()
    }

    /// Takes what its requests have done besides the operations since the last call.
    pub fn take_overhead(&self) -> ClientOverhead {
        self.handle.channel().take_overhead()
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

    /// Takes how long the last operation waited for its parameter source.
    pub fn take_source_wait(&mut self) -> Duration {
        std::mem::take(&mut self.source_wait)
    }

    /// Takes the unit of the last operation that did work.
    pub fn take_unit(&mut self) -> Option<String> {
        self.unit.take()
    }
}
