//! Counts of the requests that the Python code of a track sends while the operation they belong to is not executed.

use std::sync::Mutex;

use pacenote_record::Traffic;

use crate::operation::outcome::OperationOutcome;
use crate::race_state::lock;
use crate::summary::StepOutsideRequests;

/// The requests of all steps that are not part of an operation.
#[derive(Debug, Default)]
pub struct OutsideRequests {
    steps: Mutex<Vec<StepOutsideRequests>>,
}

impl OutsideRequests {
    /// Begins a step, to which later requests belong.
    pub fn open_step(&self, name: &str) {
        lock(&self.steps)
            .push(StepOutsideRequests { step: name.to_owned(), ..StepOutsideRequests::default() });
    }

    /// Counts a request that begins.
    pub fn begin(&self) {
        if let Some(step) = lock(&self.steps).last_mut() {
            step.requests += 1;
        }
    }

    /// Adds what is known when a request has ended; `None` means that it was not sent.
    pub fn end(&self, outcome: Option<&OperationOutcome>) {
        let mut steps = lock(&self.steps);
        let Some(step) = steps.last_mut() else { return };
        let Traffic { requests, bytes_out, bytes_in, .. } =
            outcome.map(|one| one.traffic).unwrap_or_default();
        // The first one was counted when it began.
        step.requests += u64::from(requests.saturating_sub(1));
        step.failed += u64::from(!outcome.is_some_and(|one| one.result.is_success()));
        step.bytes_out += bytes_out;
        step.bytes_in += bytes_in;
    }

    /// Returns the requests of each step, without steps that had none.
    pub fn of_steps(&self) -> Vec<StepOutsideRequests> {
        lock(&self.steps).iter().filter(|step| step.requests > 0).cloned().collect()
    }
}
