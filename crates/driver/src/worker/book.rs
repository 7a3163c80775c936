//! What a thread takes down during a step.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pacenote_plan::{PlannedTask, TaskPacing};
use pacenote_record::{EndedBy, ErrorNote, Outgoing, Recorder, Sample, TaskEnded};

use crate::error::DriveError;
use crate::health::cpu::ServiceTotals;
use crate::operation::outcome::{Outcome, SubOperation};
use crate::race_state::RaceState;
use crate::schedule::limiter::measured_window;
use crate::step::{StepRun, TaskRun};
use crate::units::nanos;

/// The recorder of a thread during a step, and the count of what was begun. Never race between threads, so that
/// borrowing it costs nothing.
#[derive(Debug)]
pub struct Book {
    recorder: RefCell<Recorder>,
    open: RefCell<Vec<OpenTask>>,
    served: RefCell<Vec<ServiceTotals>>,
    race: Arc<RaceState>,
}

#[derive(Debug)]
struct OpenTask {
    task: u32,
    clients: u32,
    planned: u64,
    recalled: u64,
    begun: u64,
    noted: u64,
    served: ServiceTotals,
    unsent: u64,
    underruns: u64,
    underrun_ns: u64,
    by: EndedBy,
}

impl OpenTask {
    fn new(task: u32) -> Self {
        Self {
            task,
            clients: 1,
            planned: 0,
            recalled: 0,
            begun: 0,
            noted: 0,
            served: ServiceTotals { task, ..ServiceTotals::default() },
            unsent: 0,
            underruns: 0,
            underrun_ns: 0,
            by: EndedBy::Source,
        }
    }
}

impl Book {
    /// A book with nothing in it.
    pub fn new(outgoing: Outgoing, race: Arc<RaceState>) -> Self {
        Self {
            recorder: RefCell::new(Recorder::new(outgoing)),
            open: RefCell::default(),
            served: RefCell::default(),
            race,
        }
    }

    /// Makes room for one more client of a task.
    pub fn expect_client(&self, task: u32, plan: &PlannedTask) -> Result<(), DriveError> {
        let paced = !matches!(plan.pace, TaskPacing::Unpaced {});
        self.recorder.borrow_mut().begin(task, paced, measured_window(plan.bound))?;
        let mut open = self.open.borrow_mut();
        match open.iter_mut().find(|open| open.task == task) {
            Some(open) => open.clients += 1,
            None => open.push(OpenTask::new(task)),
        }
        Ok(())
    }

    /// Counts an operation that begins now.
    pub fn begin_operation(&self, task: u32) {
        if let Some(open) = self.open.borrow_mut().iter_mut().find(|open| open.task == task) {
            open.begun += 1;
        }
    }

    /// Counts operations that were due and will not be sent.
    pub fn leave_unsent(&self, task: u32, operations: u64) {
        if let Some(open) = self.open.borrow_mut().iter_mut().find(|open| open.task == task) {
            open.unsent += operations;
        }
    }

    /// Takes back that an operation has begun: there was none.
    pub fn withdraw_operation(&self, task: u32) {
        if let Some(open) = self.open.borrow_mut().iter_mut().find(|open| open.task == task) {
            open.begun = open.begun.saturating_sub(1);
            open.recalled += 1;
        }
    }

    /// Counts an operation that was planned, and is not due any more: the race or the step ended before.
    pub fn recall(&self, task: u32) {
        if let Some(open) = self.open.borrow_mut().iter_mut().find(|open| open.task == task) {
            open.recalled += 1;
        }
    }

    /// Counts the failure of a source to make an operation, as one that nobody planned.
    pub fn begin_failure(&self, task: u32) {
        if let Some(open) = self.open.borrow_mut().iter_mut().find(|open| open.task == task) {
            open.planned += 1;
            open.begun += 1;
        }
    }

    /// Counts an operation that its source handed over too late.
    pub fn underrun(&self, task: u32, waited: Duration) {
        if let Some(open) = self.open.borrow_mut().iter_mut().find(|open| open.task == task) {
            open.underruns += 1;
            open.underrun_ns += nanos(waited);
        }
    }

    /// Takes down the unit of a task's work where a runner in Python says it.
    pub fn unit(&self, task: u32, unit: String) {
        self.recorder.borrow_mut().unit(task, unit);
    }

    /// Takes down an operation that has ended.
    pub fn note(&self, sample: Sample) {
        if let Some(open) = self.open.borrow_mut().iter_mut().find(|open| open.task == sample.task) {
            open.noted += 1;
            open.served.record(&sample);
        }
        self.recorder.borrow_mut().note(sample);
    }

    /// Takes down the operations that ran within an operation; `sample` makes a sample of what became of one.
    pub fn record_sub_operations(
        &self,
        sub_operations: Vec<SubOperation>,
        origin: Instant,
        sample: impl Fn(&Outcome) -> Sample,
    ) {
        let mut recorder = self.recorder.borrow_mut();
        for SubOperation { label, outcome } in sub_operations {
            let sample = sample(&outcome);
            let notes = outcome.result.notes(nanos(outcome.done.saturating_duration_since(origin)));
            if let Err(error) = recorder.note_part((&label.operation, &label.operation_type), sample, notes) {
                self.race.abort(error.to_string());
            }
        }
    }

    /// Takes down why an operation failed.
    pub fn error(&self, task: u32, note: ErrorNote) {
        self.recorder.borrow_mut().error(task, note);
    }

    /// Delivers what was recorded so far; once a second.
    pub fn tick(&self) {
        self.recorder.borrow_mut().tick();
    }

    /// One client has ended a task, in which it was to do so many operations; the last one closes it.
    pub fn end_client(&self, run: &TaskRun, by: EndedBy, planned: u64) {
        let mut open = self.open.borrow_mut();
        let Some(position) = open.iter().position(|open| open.task == run.index) else { return };
        let entry = &mut open[position];
        entry.by = entry.by.max(by);
        entry.planned += planned;
        entry.clients -= 1;
        if entry.clients == 0 {
            let entry = open.swap_remove(position);
            let planned = (entry.planned + entry.unsent).saturating_sub(entry.recalled);
            self.end_task(&entry, run, (entry.by, Some(planned)));
        }
    }

    /// Closes what clients that were dropped have left open.
    pub fn close(&self, step: &StepRun, race: &RaceState) {
        let by = if race.aborted().is_some() { EndedBy::Aborted } else { EndedBy::Stopped };
        for entry in self.open.borrow_mut().drain(..) {
            if let Some((run, _)) = step.task(entry.task) {
                self.end_task(&entry, run, (by, None));
            }
        }
    }

    /// What was carried out of each task that has ended.
    pub fn service_totals(&self) -> Vec<ServiceTotals> {
        self.served.borrow().clone()
    }

    fn end_task(&self, entry: &OpenTask, run: &TaskRun, (by, planned): (EndedBy, Option<u64>)) {
        self.served.borrow_mut().push(entry.served);
        let started_ns = self.race.elapsed_ns(run.origin(Instant::now()));
        let unanswered = entry.begun - entry.noted;
        let end = TaskEnded {
            task: entry.task,
            by,
            planned,
            begun: entry.begun,
            unanswered,
            unsent: entry.unsent,
            underruns: entry.underruns,
            underrun_ns: entry.underrun_ns,
            started_ns,
        };
        self.recorder.borrow_mut().end(end);
    }
}
