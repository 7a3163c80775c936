//! The recorder of one worker: counts, histograms and samples of what its clients did.
//!
//! What has been recorded leaves it as [`Delivery`] messages once a second, when a buffer is full and when a task ends.
//! Merging them is the collector's part. One recorder belongs to one thread, which calls it once per operation: nothing
//! here allocates, locks or sends per operation.

mod open_task;

pub use open_task::ServiceTotals;

use crate::buffers::{BUFFER_CAPACITY, MissingSamples};
use crate::catalog::SubOperationName;
use crate::delivery::Delivery;
use crate::error::RecordError;
use crate::failure::Failure;
use crate::recorder::open_task::{OpenTask, add_to_window};
use crate::result::EndedBy;
use crate::sample::Sample;
use crate::sender::RecordSender;
use crate::window::MeasuredWindow;

/// Records the operations of one worker's clients during a step. The worker's thread owns it, and its clients borrow it in
/// turn; it is never shared between threads, so that borrowing costs no lock.
///
/// It holds the only list of the thread's open tasks: a task is opened by its first client, and closed by the end of its
/// last or by [`Recorder::close`]. Calls about tasks that are not open do nothing.
#[derive(Debug)]
pub struct Recorder {
    sender: RecordSender,
    open: Vec<OpenTask>,
    closed: Vec<ServiceTotals>,
    samples: Vec<Sample>,
}

/// How one client ended a task.
#[derive(Debug, Clone, Copy)]
pub struct ClientEnded {
    /// Position of the task in the plan.
    pub task: u32,
    /// Why it ended.
    pub by: EndedBy,
    /// Operations that its schedule planned since it was last asked.
    pub planned: u64,
    /// When the task began, nanoseconds since the race's first step.
    pub started_ns: u64,
}

impl Recorder {
    /// A recorder without open tasks that delivers to `sender`.
    #[must_use]
    pub fn new(sender: RecordSender) -> Self {
        let samples = sender.buffers().acquire();
        Self { sender, open: Vec::new(), closed: Vec::new(), samples }
    }

    /// Expects one more client of a task; the first one opens the task. To be called before the task's clock starts.
    ///
    /// # Errors
    ///
    /// As [`crate::DurationHistogram::new`].
    pub fn add_client(
        &mut self,
        task: u32,
        paced: bool,
        measured: MeasuredWindow,
    ) -> Result<(), RecordError> {
        if let Some(open) = self.open_task(task) {
            open.clients += 1;
            return Ok(());
        }
        let keeping = self.sender.buffers().keeps_samples(task, 0);
        self.open.push(OpenTask::new(task, paced, measured, keeping)?);
        Ok(())
    }

    /// Counts an operation that begins now.
    pub fn begin_operation(&mut self, task: u32) {
        if let Some(open) = self.open_task(task) {
            open.begun += 1;
        }
    }

    /// Undoes [`Recorder::begin_operation`]: there was no operation, and none was planned.
    pub fn undo_operation(&mut self, task: u32) {
        if let Some(open) = self.open_task(task) {
            open.begun = open.begun.saturating_sub(1);
            open.cancelled += 1;
        }
    }

    /// Counts a planned operation that is not due any more: the race or the step ended before.
    pub fn cancel_operation(&mut self, task: u32) {
        if let Some(open) = self.open_task(task) {
            open.cancelled += 1;
        }
    }

    /// Counts operations that were due and will not be sent.
    pub fn leave_unsent(&mut self, task: u32, operations: u64) {
        if let Some(open) = self.open_task(task) {
            open.unsent += operations;
        }
    }

    /// Counts an operation outside of the plan that begins now: the failure of a source to supply one.
    pub fn begin_source_failure(&mut self, task: u32) {
        if let Some(open) = self.open_task(task) {
            open.planned += 1;
            open.begun += 1;
        }
    }

    /// Counts an operation that its source supplied `waited_ns` too late.
    pub fn record_underrun(&mut self, task: u32, waited_ns: u64) {
        if let Some(open) = self.open_task(task) {
            open.underruns += 1;
            open.underrun_ns += waited_ns;
        }
    }

    /// Records an operation that has ended, and why it failed if it did.
    pub fn record(&mut self, sample: Sample, failures: impl IntoIterator<Item = Failure>) {
        let Some(open) = self.open.iter_mut().find(|open| open.task == sample.task) else { return };
        open.ended += 1;
        if sample.is_success() {
            open.service.operations += 1;
            open.service.service_ns += sample.times.service_ns();
        }
        let window = &mut open.windows[sample.sample_type.index()];
        add_to_window(window, &sample, open.measured, &self.sender);
        for failure in failures {
            open.failures.add(sample.result.error_class, failure, sample.times.done_ns);
        }
        let keep = open.keeps(&sample);
        self.keep(sample, keep);
    }

    /// Records a sub-operation that has ended, and why it failed if it did.
    ///
    /// # Errors
    ///
    /// As [`crate::DurationHistogram::new`].
    pub fn record_sub_operation(
        &mut self,
        name: SubOperationName<'_>,
        mut sample: Sample,
        failures: impl IntoIterator<Item = Failure>,
    ) -> Result<(), RecordError> {
        let Some(open) = self.open.iter_mut().find(|open| open.task == sample.task) else { return Ok(()) };
        let measured = open.measured;
        let sub_operation = open.sub_operation(name, &self.sender);
        sample.sub_operation = sub_operation.number;
        add_to_window(sub_operation.window(sample.sample_type)?, &sample, measured, &self.sender);
        for failure in failures {
            sub_operation.failures.add(sample.result.error_class, failure, sample.times.done_ns);
        }
        let keep = open.keeps(&sample);
        self.keep(sample, keep);
        Ok(())
    }

    /// Sets the unit of a task's work; it holds for what is recorded from now on.
    pub fn set_unit(&mut self, task: u32, unit: String) {
        self.deliver_samples();
        self.sender.send(Delivery::Unit { task, unit });
    }

    /// Delivers what has been recorded so far. To be called once a second.
    pub fn flush(&mut self) {
        for open in &mut self.open {
            open.deliver(&self.sender);
        }
        self.deliver_samples();
    }

    /// Ends a task for one client; the last one closes the task.
    pub fn end_client(&mut self, end: ClientEnded) {
        let Some(position) = self.open.iter().position(|open| open.task == end.task) else { return };
        let open = &mut self.open[position];
        open.by = open.by.max(end.by);
        open.planned += end.planned;
        open.clients -= 1;
        if open.clients == 0 {
            self.deliver_samples();
            let open = self.open.swap_remove(position);
            let by = open.by;
            self.close_task(open, by, end.started_ns, true);
        }
    }

    /// Closes the tasks of clients that were dropped while they worked; `started_ns` is when a task began, nanoseconds
    /// since the race's first step.
    pub fn close(&mut self, by: EndedBy, started_ns: impl Fn(u32) -> u64) {
        self.deliver_samples();
        for open in std::mem::take(&mut self.open) {
            let started_ns = started_ns(open.task);
            self.close_task(open, by, started_ns, false);
        }
    }

    /// Service times of the tasks that have been closed.
    #[must_use]
    pub fn service_times(&self) -> &[ServiceTotals] {
        &self.closed
    }

    fn open_task(&mut self, task: u32) -> Option<&mut OpenTask> {
        self.open.iter_mut().find(|open| open.task == task)
    }

    fn close_task(&mut self, mut open: OpenTask, by: EndedBy, started_ns: u64, plan_is_known: bool) {
        open.deliver(&self.sender);
        self.closed.push(open.service);
        self.sender.send(Delivery::Ended(open.ended(by, started_ns, plan_is_known)));
    }

    fn keep(&mut self, sample: Sample, keep: bool) {
        if !keep {
            return;
        }
        self.samples.push(sample);
        if self.samples.len() == BUFFER_CAPACITY {
            self.deliver_samples();
        }
    }

    fn deliver_samples(&mut self) {
        if self.samples.is_empty() {
            return;
        }
        match self.sender.buffers().try_acquire() {
            Some(empty) => {
                self.sender.send(Delivery::Samples(std::mem::replace(&mut self.samples, empty)));
            }
            None => self.drop_samples(),
        }
        for open in &mut self.open {
            open.keeping =
                self.sender.buffers().keeps_samples(open.task, std::mem::take(&mut open.unreported));
        }
    }

    /// Drops and counts the samples of a full buffer, because the disk is too slow.
    fn drop_samples(&mut self) {
        for sample in self.samples.drain(..) {
            if let Some(open) = self.open.iter_mut().find(|open| open.task == sample.task) {
                open.unreported = open.unreported.saturating_sub(1);
                open.missing.merge(MissingSamples::lost(sample.times.done_ns));
            }
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.sender.buffers().release(std::mem::take(&mut self.samples));
    }
}
