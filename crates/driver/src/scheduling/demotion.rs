//! The loss of real-time priority, and which tasks it concerned.

use std::time::{Duration, Instant};

use serde::Serialize;

/// Why a worker lost real-time priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DemotionCause {
    /// It exceeded its budget, or all workers together exceeded theirs.
    BudgetExceeded,
    /// Its CPU time could not be read.
    CpuTimeUnreadable,
}

/// The loss of real-time priority.
#[derive(Debug, Clone, Copy)]
pub struct Demotion {
    /// When it was lost.
    pub at: Instant,
    /// Why.
    pub cause: DemotionCause,
}

/// A task during which workers had lost real-time priority.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DemotedTask {
    /// Position of the task in the plan.
    pub index: u32,
    /// Number of workers that were without it while they ran the task.
    pub workers: u32,
    /// How many of them because their CPU time could not be read.
    pub unreadable: u32,
    /// Time for which workers ran the task without it, in seconds, summed over the workers.
    pub demoted_s: f64,
    /// `demoted_s` / time for which the workers that have it otherwise ran the task, summed likewise.
    pub share: f64,
}

/// When a worker ran the clients of a task.
#[derive(Debug, Clone, Copy)]
pub struct TaskSpan {
    /// Position of the task in the plan.
    pub task_index: u32,
    /// When the task began.
    pub from: Instant,
    /// When it ended, or the worker's clients did.
    pub until: Instant,
}

/// What the workers with real-time priority did in one task.
#[derive(Debug, Default)]
pub struct TaskCounts {
    /// Time for which they ran it.
    ran: Duration,
    /// Time of that for which they had lost the priority.
    demoted: Duration,
    /// Number of them that had lost it for some of the time.
    workers: u32,
    /// How many of these because their CPU time could not be read.
    unreadable: u32,
}

impl TaskCounts {
    /// Adds a worker that ran the task, and may have lost real-time priority meanwhile or before.
    pub fn add(&mut self, span: TaskSpan, demotion: Option<Demotion>) {
        self.ran += span.until.saturating_duration_since(span.from);
        let Some(Demotion { at, cause }) = demotion else { return };
        let demoted = span.until.saturating_duration_since(at.max(span.from));
        if demoted > Duration::ZERO {
            self.demoted += demoted;
            self.workers += 1;
            self.unreadable += u32::from(cause == DemotionCause::CpuTimeUnreadable);
        }
    }

    /// Returns what the summary has of the task, or `None` if no worker lost real-time priority.
    pub fn summary(&self, index: u32) -> Option<DemotedTask> {
        let Self { ran, demoted, workers, unreadable } = *self;
        let share = demoted.as_secs_f64() / ran.as_secs_f64();
        (workers > 0).then_some(DemotedTask {
            index,
            workers,
            unreadable,
            demoted_s: demoted.as_secs_f64(),
            share,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_task_lost_is_what_of_it_was_after_the_demotion() {
        let began = Instant::now();
        let after = |s: u64| began + Duration::from_secs(s);
        let span = |from, until| TaskSpan { task_index: 4, from: after(from), until: after(until) };
        let at = |s, cause| Some(Demotion { at: after(s), cause });
        let summary = |spans: &[(TaskSpan, Option<Demotion>)]| {
            let mut counts = TaskCounts::default();
            for (span, demotion) in spans {
                counts.add(*span, *demotion);
            }
            counts.summary(4)
        };
        let (budget, unreadable) = (DemotionCause::BudgetExceeded, DemotionCause::CpuTimeUnreadable);
        // A task that had ended before, and one on workers that kept their priority.
        assert_eq!(summary(&[(span(10, 20), at(20, budget)), (span(10, 20), None)]), None);
        let spans = [(span(10, 20), at(18, budget)), (span(10, 20), at(3, unreadable)), (span(10, 30), None)];
        let expected = DemotedTask { index: 4, workers: 2, unreadable: 1, demoted_s: 12.0, share: 0.3 };
        assert_eq!(summary(&spans), Some(expected));
    }
}
