//! Python's hand in one client's share of a task.

use std::sync::Arc;

use crate::python::Lane;
use crate::python::channel::{Answer, Seat};
use crate::python::events::{After, LaneEvent};
use crate::response::outcome::ReplyOutcome;
use crate::units::nanos;

/// See the module documentation.
#[derive(Debug, Clone)]
pub struct Hand {
    lane: Arc<Lane>,
    seat: Arc<Seat>,
}

impl Hand {
    /// The hand that a lane has in a seat.
    pub fn new(lane: &Arc<Lane>, seat: &Arc<Seat>) -> Self {
        Self { lane: Arc::clone(lane), seat: Arc::clone(seat) }
    }

    /// The client's place at the table.
    pub fn seat(&self) -> &Arc<Seat> {
        &self.seat
    }

    /// Tells Python something.
    pub fn post(&self, event: LaneEvent) {
        self.lane.post(event);
    }

    /// What failed in Python, if something did.
    pub fn failure(&self) -> Option<&str> {
        self.seat.failure()
    }

    /// Asks the scheduler when the next operation is due, in nanoseconds since the task began; `None`: never.
    pub async fn next_due_ns(&self) -> Option<u64> {
        let (task, client) = (self.seat.task, self.seat.client);
        let token = self.seat.ask();
        self.lane.post(LaneEvent::Next { token, task, client });
        match self.seat.hear().await {
            Answer::Due(offset) => offset.map(nanos),
            _ => None,
        }
    }

    /// Tells the scheduler what became of an operation that the driver carried out itself. Runners know.
    pub fn tell(&self, result: &ReplyOutcome, unit: &str, seconds_since_start: f64) {
        if !self.seat.is_scheduled() || self.seat.is_run_by_python() {
            return;
        }
        let failure = result.failures.first();
        let error =
            failure.map_or_else(String::new, |one| format!("{}: {}", result.class.name(), one.reason));
        self.lane.post(LaneEvent::After(After {
            task: self.seat.task,
            client: self.seat.client,
            weight: result.accepted,
            unit: unit.to_owned(),
            success: result.is_success(),
            error,
            seconds_since_start,
        }));
    }

    /// The client's share is over.
    pub fn end(&self) {
        self.seat.end();
        self.lane.post(LaneEvent::Ended { task: self.seat.task, client: self.seat.client });
    }
}
