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

/// Operations within operations that are told apart in a task; later ones share one name, so that a source which invents
/// names does not fill the memory.
const MOST: usize = 64;

/// Name and type of those.
const OTHERS: &str = "others";

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
    /// The number of a part, or of the one that stands for it; `announce` is told of one that is new before anybody else
    /// can get its number.
    pub fn number(&self, part: &PartInfo, announce: impl FnOnce(PartInfo)) -> u32 {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |part: &PartInfo, parts: &[PartInfo]| parts.iter().position(|known| known == part);
        let mut part = part.clone();
        let mut position = of(&part, &parts);
        if position.is_none() && parts.iter().filter(|known| known.task == part.task).count() >= MOST {
            (part.operation, part.operation_type) = (OTHERS.to_owned(), OTHERS.to_owned());
            position = of(&part, &parts);
        }
        let position = position.unwrap_or_else(|| {
            parts.push(part.clone());
            announce(part);
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

    /// Operations that have ended.
    pub fn ended(&self) -> u64 {
        self.whole.iter().flatten().map(|window| window.counts.operations).sum()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_end_are_counted_together_task_by_task() {
        let (parts, mut told) = (Parts::default(), Vec::new());
        let mut number = |task, operation: String| {
            let part = PartInfo { task, operation, operation_type: "search".into() };
            parts.number(&part, |new| told.push(new))
        };
        let most = u32::try_from(MOST).unwrap();
        for name in 0..most {
            assert_eq!(number(0, name.to_string()), name + 1);
        }
        assert_eq!((number(0, "a".into()), number(0, "b".into())), (most + 1, most + 1));
        assert_eq!(
            (number(7, "a".into()), number(0, "b".into()), number(0, "5".into())),
            (most + 2, most + 1, 6)
        );
        assert_eq!(told.len(), MOST + 2);
        assert_eq!((told[MOST].task, told[MOST].operation.as_str()), (0, OTHERS));
        assert_eq!((told[MOST + 1].task, told[MOST + 1].operation.as_str()), (7, "a"));
    }
}
