//! [`ClientHandle`]: the interface between a client's measured loop and Python.

use std::sync::Arc;

use pacenote_record::UnsentOperations;

use crate::python::channel::{Answer, ClientChannel};
use crate::python::events::{EventQueue, OperationEnded, PythonEvent};
use crate::response::outcome::WorkOutcome;
use crate::units::nanos;

/// The handle with which the measured loop of one client communicates with its source, runner or scheduler in Python.
#[derive(Debug, Clone)]
pub struct ClientHandle {
    events: Arc<EventQueue>,
    channel: Arc<ClientChannel>,
}

impl ClientHandle {
    /// Creates a handle to a channel that puts its events into `events`.
    pub fn new(events: &Arc<EventQueue>, channel: &Arc<ClientChannel>) -> Self {
        Self { events: Arc::clone(events), channel: Arc::clone(channel) }
    }

    /// Returns the client's channel.
    pub fn channel(&self) -> &Arc<ClientChannel> {
        &self.channel
    }

    /// Sends an event to Python.
    pub fn send(&self, event: PythonEvent) {
        self.events.push(event);
    }

    /// Returns the failure in Python that ended the client, if there was one.
    pub fn failure(&self) -> Option<&str> {
        self.channel.failure()
    }

    /// Requests the due time of the next operation from the scheduler. Returns it in nanoseconds since the task
    /// started, or `None` after the last one.
    pub async fn request_due_ns(&self) -> Option<u64> {
        let query_id = self.channel.start_query();
        self.events.push(PythonEvent::ScheduleNext { query_id, client: self.channel.id });
        match self.channel.receive_answer().await {
            Answer::Due(offset) => {
                self.channel.count_due_time();
                offset.map(nanos)
            }
            _ => None,
        }
    }

    /// Requests from the scheduler the operations that were due before `end_ns`, in nanoseconds since the task started,
    /// but whose due times the driver has not received, up to `limit`. Those that were due before `warmup_s` are
    /// warm-up. Returns `None` if the scheduler has failed.
    pub async fn request_backlog(&self, end_ns: u64, warmup_s: f64, limit: u64) -> Option<UnsentOperations> {
        let query_id = self.channel.start_query();
        let (client, received) = (self.channel.id, self.channel.received_due_times());
        let ended_s = end_ns as f64 / 1e9;
        self.events.push(PythonEvent::CountUnsent { query_id, client, received, ended_s, warmup_s, limit });
        match self.channel.receive_answer().await {
            Answer::Unsent(unsent) => Some(unsent),
            _ => None,
        }
    }

    /// Sends the outcome of an operation to its scheduler, unless a runner in Python executed it.
    pub fn send_outcome(&self, outcome: &WorkOutcome, unit: &str, seconds_since_start: f64) {
        if !self.channel.has_scheduler() || self.channel.has_runner() {
            return;
        }
        let failure = outcome.failures.first();
        let error = failure.map_or_else(String::new, |failure| {
            format!("{}: {}", outcome.error_class.name(), failure.reason)
        });
        self.events.push(PythonEvent::OperationEnded(OperationEnded {
            client: self.channel.id,
            weight: outcome.weight,
            unit: unit.to_owned(),
            success: outcome.is_success(),
            error,
            seconds_since_start,
        }));
    }

    /// Records that the client has finished its task.
    pub fn end(&self) {
        self.channel.stop_taking();
        self.events.push(PythonEvent::ClientEnded { client: self.channel.id });
    }
}
