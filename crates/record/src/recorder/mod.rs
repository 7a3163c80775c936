//! The recorder of one driver thread.

mod open_task;

use crate::buffers::{BATCH, Missing};
use crate::delivery::{Delivery, TaskEnded};
use crate::error::RecordError;
use crate::failure::ErrorNote;
use crate::recorder::open_task::{OpenTask, note_in};
use crate::sample::Sample;
use crate::sender::Outgoing;
use crate::window::MeasuredWindow;

/// Takes down what one thread's clients see. Owned by that thread; never shared.
#[derive(Debug)]
pub struct Recorder {
    outgoing: Outgoing,
    open: Vec<OpenTask>,
    samples: Vec<Sample>,
}

impl Recorder {
    /// A recorder that delivers to `outgoing`.
    #[must_use]
    pub fn new(outgoing: Outgoing) -> Self {
        let samples = outgoing.spare.first();
        Self { outgoing, open: Vec::new(), samples }
    }

    /// Makes room for a task, before its clock starts. Does nothing when the task is open already.
    ///
    /// # Errors
    ///
    /// As [`Window::new`].
    pub fn begin(&mut self, task: u32, paced: bool, measured: MeasuredWindow) -> Result<(), RecordError> {
        if self.open.iter().any(|open| open.task == task) {
            return Ok(());
        }
        let keeping = self.outgoing.spare.keeps(task, 0);
        self.open.push(OpenTask::new(task, paced, measured, keeping)?);
        Ok(())
    }

    /// Takes down one operation of an open task.
    pub fn note(&mut self, sample: Sample) {
        let outgoing = &self.outgoing;
        let Some(open) = self.open.iter_mut().find(|open| open.task == sample.task) else { return };
        note_in(&mut open.windows[sample.sample_type.index()], &sample, open.measured, outgoing);
        let keeps = open.keeps(&sample);
        self.keep(sample, keeps);
    }

    /// Takes down an operation that ran within the operation of an open task, and why it failed if it did.
    ///
    /// # Errors
    ///
    /// As [`Window::new`].
    pub fn note_part(
        &mut self,
        name: (&str, &str),
        mut sample: Sample,
        failures: impl IntoIterator<Item = ErrorNote>,
    ) -> Result<(), RecordError> {
        let outgoing = &self.outgoing;
        let Some(open) = self.open.iter_mut().find(|open| open.task == sample.task) else { return Ok(()) };
        let measured = open.measured;
        let part = open.part(name, outgoing);
        sample.part = part.number;
        note_in(part.window(sample.sample_type)?, &sample, measured, outgoing);
        failures.into_iter().for_each(|note| part.errors.note(note));
        let keeps = open.keeps(&sample);
        self.keep(sample, keeps);
        Ok(())
    }

    fn keep(&mut self, sample: Sample, keeps: bool) {
        if !keeps {
            return;
        }
        self.samples.push(sample);
        if self.samples.len() == BATCH {
            self.deliver_samples();
        }
    }

    /// Takes down why an operation failed.
    pub fn error(&mut self, task: u32, note: ErrorNote) {
        if let Some(open) = self.open.iter_mut().find(|open| open.task == task) {
            open.errors.note(note);
        }
    }

    /// Takes down the unit of a task's work; what is recorded from now on carries it.
    pub fn unit(&mut self, task: u32, unit: String) {
        self.deliver_samples();
        self.outgoing.send(Delivery::Unit(task, unit));
    }

    /// Delivers what was recorded so far. To be called once a second.
    pub fn tick(&mut self) {
        for open in &mut self.open {
            open.deliver(&self.outgoing);
        }
        self.deliver_samples();
    }

    /// Closes a task and delivers all that is left of it.
    pub fn end(&mut self, end: TaskEnded) {
        self.deliver_samples();
        if let Some(position) = self.open.iter().position(|open| open.task == end.task) {
            self.open.swap_remove(position).deliver(&self.outgoing);
        }
        self.outgoing.send(Delivery::Ended(end));
    }

    fn deliver_samples(&mut self) {
        if self.samples.is_empty() {
            return;
        }
        let spare = &self.outgoing.spare;
        match spare.exchange() {
            Some(empty) => {
                self.outgoing.send(Delivery::Samples(std::mem::replace(&mut self.samples, empty)));
            }
            None => self.lose_samples(),
        }
        for open in &mut self.open {
            open.keeping = self.outgoing.spare.keeps(open.task, std::mem::take(&mut open.fresh));
        }
    }

    /// The disk is too slow: what was gathered is counted and gone.
    fn lose_samples(&mut self) {
        for sample in self.samples.drain(..) {
            if let Some(open) = self.open.iter_mut().find(|open| open.task == sample.task) {
                open.fresh = open.fresh.saturating_sub(1);
                open.missing.add(Missing::lost(sample.done_ns));
            }
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.outgoing.spare.give_back(std::mem::take(&mut self.samples));
    }
}
