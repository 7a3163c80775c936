//! Operations that a runner in Python carries out.

use std::time::{Duration, Instant};

use pacenote_record::{ErrorClass, SampleType, Traffic};

use crate::cancel::{Cancellation, until_cancelled};
use crate::operation::outcome::Outcome;
use crate::python::channel::Answer;
use crate::python::events::LaneEvent;
use crate::python::handle::Hand;
use crate::race_state::StopLevel;

/// One client's way to its runner.
#[derive(Debug)]
pub struct LaneSource {
    hand: Hand,
    /// When the runner was done with its last operation.
    ended: Option<Instant>,
    last: bool,
    unit: Option<String>,
}

impl LaneSource {
    /// The way of one client.
    pub fn new(hand: &Hand) -> Self {
        Self { hand: hand.clone(), ended: None, last: false, unit: None }
    }

    /// Whether there may be another operation.
    pub fn prepare(&self) -> bool {
        !self.last && !self.hand.seat().is_over()
    }

    /// Lets the runner carry out one operation; `None` when it had none to carry out, or did not come to an end once the
    /// race was stopped.
    ///
    /// Whoever drops this future abandons the operation: what the runner says later is not heard.
    pub async fn execute(
        &mut self,
        cancellation: &Cancellation<'_>,
        sample_type: SampleType,
    ) -> Option<Outcome> {
        let seat = self.hand.seat();
        let (task, client, measured) = (seat.task, seat.client, sample_type == SampleType::Normal);
        let token = seat.ask();
        let started = Instant::now();
        self.hand.post(LaneEvent::Run { token, task, client, measured });
        let Answer::Done(done, ended) = self.hear(cancellation).await? else { return None };
        let (trip, result) = (seat.take_trip(), done.result());
        self.ended = Some(ended);
        // A plug-in that failed is not tried again: it would fail as fast as it can.
        self.last = done.last || result.class == ErrorClass::Plugin;
        if done.success {
            self.unit = Some(done.unit);
        }
        let first_sent = trip.first_sent.unwrap_or(started);
        let status = if trip.traffic.requests > 0 {
            trip.status
        } else {
            result.failures.first().map_or(0, |failure| failure.status)
        };
        Some(Outcome {
            first_sent,
            sent: first_sent,
            done: trip.done.filter(|_| trip.open == 0).unwrap_or(ended),
            free: ended,
            result,
            status,
            retries: trip.retries,
            traffic: Traffic { requests: trip.traffic.requests + trip.open, ..trip.traffic },
            sub_operations: trip.sub_operations,
        })
    }

    /// What the runner says. A race that is stopped waits as long as for any request: those end by themselves, code
    /// need not.
    async fn hear(&self, cancellation: &Cancellation<'_>) -> Option<Answer> {
        let (seat, race) = (self.hand.seat(), cancellation.race);
        let stopped = || race.stop_level() != StopLevel::Run;
        if let Some(answer) = until_cancelled(seat.hear(), cancellation.waker, stopped).await {
            return Some(answer);
        }
        let patience = Duration::from_millis(cancellation.step.plan().target.timeout_ms);
        tokio::time::timeout(patience, seat.hear()).await.ok()
    }

    /// When the runner was done with its last operation.
    pub fn ended(&self) -> Option<Instant> {
        self.ended
    }

    /// Whether the last operation was the last of all.
    pub fn was_last(&self) -> bool {
        self.last
    }

    /// The unit of the last success; told once.
    pub fn take_unit(&mut self) -> Option<String> {
        self.unit.take()
    }
}
