//! Operations within an operation: recorded beside it, under their own names.
//!
//! Which there are may only be known when they run, so they are numbered as they come: by [`Outgoing::part`], from 1,
//! over all tasks of a race. 0 stands for the operation as a whole.

use std::sync::{Arc, Mutex, PoisonError};

use crate::RecordError;
use crate::errors::ErrorTally;
use crate::summary::{Distribution, PartResult};
use crate::totals::error_summaries;
use crate::window::{Counts, Window};

/// An operation that runs within the operation of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartInfo {
    /// Position of the task in the plan.
    pub task: u32,
    /// Name of the operation within.
    pub operation: String,
    /// Its type.
    pub operation_type: String,
}

/// All parts of a race. Locked when a thread sees a part for the first time, not per sample.
#[derive(Debug, Clone, Default)]
pub struct Parts(Arc<Mutex<Vec<PartInfo>>>);

impl Parts {
    /// The number of a part; `announce` is told of one that is new before anybody else can get its number.
    pub fn number(&self, part: &PartInfo, announce: impl FnOnce(PartInfo)) -> u32 {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let position = parts.iter().position(|known| known == part).unwrap_or_else(|| {
            parts.push(part.clone());
            announce(part.clone());
            parts.len() - 1
        });
        u32::try_from(position + 1).unwrap_or(u32::MAX)
    }
}

/// Everything recorded of one part.
#[derive(Debug, Default)]
pub struct PartTotals {
    /// One per sample type, by its index.
    whole: [Option<Window>; 2],
    errors: ErrorTally,
}

impl PartTotals {
    /// Adds a part of a second.
    pub fn add(&mut self, window: &Window) {
        match &mut self.whole[window.sample_type.index()] {
            Some(whole) => whole.merge(window),
            none => *none = Some(window.clone()),
        }
    }

    /// Adds failures.
    pub fn add_errors(&mut self, errors: ErrorTally) {
        self.errors.merge(errors);
    }

    /// What the part came to.
    pub fn result(&self, info: &PartInfo) -> PartResult {
        let [warmup, normal] = &self.whole;
        let measured = normal.as_ref().map(|window| window.counts).unwrap_or_default();
        let mut counts: Counts = measured;
        if let Some(warmup) = warmup {
            counts.merge(&warmup.counts);
        }
        PartResult {
            operation: info.operation.clone(),
            operation_type: info.operation_type.clone(),
            service_time: normal.as_ref().and_then(|window| Distribution::of(&window.service)),
            failed_service_time: normal.as_ref().and_then(|w| w.failed.as_ref()).and_then(Distribution::of),
            operations: counts.operations,
            failed: counts.errors,
            retried: counts.retries,
            requests: counts.requests,
            error_rate: if measured.operations == 0 {
                0.0
            } else {
                measured.errors as f64 / measured.operations as f64
            },
            errors: error_summaries(&self.errors),
        }
    }
}

/// What one thread has of a part since its last delivery.
#[derive(Debug)]
pub struct OpenPart {
    /// Its number.
    pub number: u32,
    /// What it is.
    pub info: PartInfo,
    /// One per sample type, by its index; made when the first sample comes.
    pub windows: [Option<Window>; 2],
    /// Its failures.
    pub errors: ErrorTally,
}

impl OpenPart {
    /// Nothing recorded yet.
    pub fn new(number: u32, info: PartInfo) -> Self {
        Self { number, info, windows: [None, None], errors: ErrorTally::default() }
    }

    /// The window of a sample type.
    ///
    /// # Errors
    ///
    /// As [`Window::new`].
    pub fn window(&mut self, sample_type: crate::SampleType) -> Result<&mut Window, RecordError> {
        let slot = &mut self.windows[sample_type.index()];
        match slot {
            Some(window) => Ok(window),
            none => Ok(none.insert(Window::of_part(self.info.task, self.number, sample_type)?)),
        }
    }
}
