//! The collector: merges the deliveries from recorders, passes the data on to be written, and turns finished tasks into
//! results.
//!
//! One thread runs it and passes deliveries to it. A separate thread, [`crate::files::writer`], writes the files.

pub mod accounting;
mod sub_operation_totals;
mod task_totals;

use std::collections::BTreeMap;
use std::path::Path;

use crate::buffers::{BufferPool, MissingSamples};
use crate::catalog::{Catalog, SubOperationNumber, TaskInfo};
use crate::collector::accounting::SampleAccounting;
use crate::collector::sub_operation_totals::SubOperationTotals;
use crate::collector::task_totals::TaskTotals;
use crate::delivery::{Delivery, WorkerTaskEnd};
use crate::error::RecordError;
use crate::files::series::journal_line;
use crate::files::writer::{ClosedFiles, Writer};
use crate::operation_stats::SecondStats;
use crate::result::{EndedBy, SampleCounts, TaskProgress, TaskResult};
use crate::sample::Sample;

/// Number of seconds for which a finished second waits for slower workers before it is written. Later deliveries become
/// separate rows; the rows of one second add up.
const GRACE_SECONDS: u64 = 2;

/// A task that has ended, and its result.
#[derive(Debug)]
pub struct FinishedTask {
    /// Position of the task in the plan.
    pub task_index: u32,
    /// The result of the task.
    pub result: TaskResult,
}

/// Merges deliveries and finishes tasks. Only one thread uses it.
#[derive(Debug)]
pub struct Collector {
    catalog: Catalog,
    running: BTreeMap<u32, RunningTask>,
    writer: Writer,
    /// Whether writing has stopped because a file could not be written; results are still computed.
    writing_disabled: bool,
    /// Number of samples of finished tasks that were sent to be written.
    samples_kept: u64,
    /// Number of samples of finished tasks that were lost before they were sent to be written.
    samples_lost: u64,
    contradictions: Vec<String>,
}

#[derive(Debug)]
struct RunningTask {
    totals: TaskTotals,
    sub_operations: BTreeMap<SubOperationNumber, SubOperationTotals>,
    /// Number of workers whose clients have not all ended the task.
    workers_left: u32,
    /// When the task began, in nanoseconds since the race's first step; until a worker has ended it, when its step
    /// began.
    task_began_ns: u64,
    /// Seconds for which slower workers may still deliver statistics.
    pending: PendingSeconds,
}

/// Seconds that have not been written yet.
type PendingSeconds = BTreeMap<SecondKey, SecondStats>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SecondKey {
    second_index: u64,
    sample_type: usize,
    sub_operation: Option<SubOperationNumber>,
}

impl RunningTask {
    fn new(totals: TaskTotals, workers_left: u32, task_began_ns: u64) -> Self {
        let (sub_operations, pending) = (BTreeMap::new(), BTreeMap::new());
        Self { totals, sub_operations, workers_left, task_began_ns, pending }
    }

    fn sample_accounting(&self) -> SampleAccounting {
        let sub_operations =
            self.sub_operations.values().map(SubOperationTotals::ended_operations).sum::<u64>();
        let SampleCounts { kept, left_out, lost, .. } = self.totals.sample_counts();
        SampleAccounting { ended: self.totals.ended_operations() + sub_operations, kept, left_out, lost }
    }

    /// Adds seconds that all workers have delivered.
    fn add_complete(&mut self, complete: &PendingSeconds) {
        for second in complete.values() {
            match second.sub_operation {
                None => self.totals.add_complete(second),
                Some(number) => self.sub_operations.entry(number).or_default().add_complete(second),
            }
        }
    }
}

impl Collector {
    /// Creates a collector that writes to `folder`.
    ///
    /// # Errors
    ///
    /// An error if the files, or the thread that writes them, cannot be created.
    pub fn new(folder: &Path, tasks: Vec<TaskInfo>) -> Result<Self, RecordError> {
        let catalog = Catalog { tasks, sub_operations: Vec::new() };
        let writer = Writer::start(folder, catalog.clone())?;
        Ok(Self {
            catalog,
            running: BTreeMap::new(),
            writer,
            writing_disabled: false,
            samples_kept: 0,
            samples_lost: 0,
            contradictions: Vec::new(),
        })
    }

    /// Processes a delivery and releases its buffer to `buffers` once its samples are written. Returns the task that
    /// ended with this delivery, if any.
    ///
    /// # Errors
    ///
    /// An error if a file could not be written.
    pub fn receive(
        &mut self,
        delivery: Delivery,
        buffers: &BufferPool,
    ) -> Result<Option<FinishedTask>, RecordError> {
        let finished = self.process(delivery, buffers)?;
        // The result of a task comes first; the error is returned with the next delivery.
        if finished.is_none() {
            self.writer.take_error()?;
        }
        Ok(finished)
    }

    fn process(
        &mut self,
        delivery: Delivery,
        buffers: &BufferPool,
    ) -> Result<Option<FinishedTask>, RecordError> {
        match delivery {
            Delivery::Begin { task_index, worker_count, queue_count, step_began_ns } => {
                let info = self.catalog.tasks[task_index as usize].clone();
                let totals = TaskTotals::new(task_index, info, queue_count)?;
                self.running.insert(task_index, RunningTask::new(totals, worker_count, step_began_ns));
            }
            Delivery::Second(second) => self.add_second(*second)?,
            Delivery::Samples(batch) if self.writing_disabled => {
                self.count_lost(&batch.samples);
                buffers.release(batch.samples);
            }
            Delivery::Samples(batch) => {
                self.count_kept(&batch.samples);
                self.writer.send_samples(batch, buffers);
            }
            Delivery::Missing { task_index, missing } => {
                self.add_to(task_index, |totals| totals.add_missing(missing));
            }
            Delivery::Unit { task_index, unit } => {
                self.add_to(task_index, |totals| totals.set_unit(unit.clone()));
                self.catalog.tasks[task_index as usize].unit.clone_from(&unit);
                self.writer.send_unit(task_index, unit);
            }
            Delivery::SubOperation(info) => {
                self.catalog.sub_operations.push(info.clone());
                self.writer.send_sub_operation(info);
            }
            Delivery::Failures { task_index, sub_operation, failures } => {
                match (self.running.get_mut(&task_index), sub_operation) {
                    (Some(running), None) => running.totals.add_failures(failures),
                    (Some(running), Some(number)) => {
                        running.sub_operations.entry(number).or_default().add_failures(failures);
                    }
                    (None, _) => {}
                }
            }
            Delivery::Overhead { task_index, overhead } => {
                self.add_to(task_index, |totals| totals.add_overhead(*overhead));
            }
            Delivery::Spans { task_index, spans } => self.add_to(task_index, |task| task.add_spans(&spans)),
            Delivery::WarmupDelays { task_index, latency } => {
                self.add_to(task_index, |totals| totals.add_warmup_delays(*latency));
            }
            Delivery::Flights { task_index, flights } => {
                self.add_to(task_index, |totals| totals.add_flights(*flights));
            }
            Delivery::WorkerTaskEnd(end) => return Ok(self.end_worker_task(&end)),
        }
        Ok(None)
    }

    /// Changes the totals of a task, unless it has ended.
    fn add_to(&mut self, task_index: u32, add: impl FnOnce(&mut TaskTotals)) {
        if let Some(running) = self.running.get_mut(&task_index) {
            add(&mut running.totals);
        }
    }

    /// Ends a task for one worker; the last worker finishes the task.
    fn end_worker_task(&mut self, end: &WorkerTaskEnd) -> Option<FinishedTask> {
        let running = self.running.get_mut(&end.task_index)?;
        running.totals.add_worker_end(end);
        running.task_began_ns = running.task_began_ns.max(end.task_began_ns);
        running.workers_left = running.workers_left.saturating_sub(1);
        if running.workers_left > 0 {
            return None;
        }
        let contradictions = [
            running.totals.operation_accounting().contradiction(),
            running.sample_accounting().contradiction(),
        ];
        let name = &self.catalog.tasks[end.task_index as usize].name;
        let described = contradictions.into_iter().flatten().map(|found| format!("task '{name}': {found}"));
        self.contradictions.extend(described);
        self.finish_task(end.task_index)
    }

    /// Stops writing after a file could not be written: seconds are discarded, and samples are counted as lost.
    /// Deliveries are still merged, and tasks are still finished. [`Collector::close`] completes the files with what
    /// was written before.
    pub fn disable_writing(&mut self) {
        self.writing_disabled = true;
        self.writer.stop();
    }

    /// Finishes one of the tasks whose workers died before they could end it, and returns what was recorded.
    pub fn finish_dropped_task(&mut self) -> Option<FinishedTask> {
        let mut orphan = self.running.first_entry()?;
        orphan.get_mut().totals.raise_ended_by(EndedBy::Aborted);
        let task_index = *orphan.key();
        self.finish_task(task_index)
    }

    /// Returns descriptions of counts that do not add up in finished tasks; each is due to a bug in the driver.
    #[must_use]
    pub fn contradictions(&self) -> &[String] {
        &self.contradictions
    }

    /// Returns the number of samples of finished tasks that were sent to be written; [`Collector::close`] returns how
    /// many were written, and how many were not because a write failed.
    #[must_use]
    pub fn samples_kept(&self) -> u64 {
        self.samples_kept
    }

    /// Returns the progress of the running tasks; `elapsed_ns` counts from the race's first step.
    #[must_use]
    pub fn progress(&self, elapsed_ns: u64) -> Vec<TaskProgress> {
        let since = |running: &RunningTask| elapsed_ns.saturating_sub(running.task_began_ns);
        self.running.values().map(|running| running.totals.progress(since(running))).collect()
    }

    /// Closes the files after all tasks have finished.
    #[must_use]
    pub fn close(self) -> ClosedFiles {
        self.writer.close(self.samples_lost)
    }

    fn count_kept(&mut self, samples: &[Sample]) {
        for of_task in samples.chunk_by(|one, next| one.task_index == next.task_index) {
            if let Some(running) = self.running.get_mut(&of_task[0].task_index) {
                running.totals.add_kept(of_task.len() as u64);
            }
        }
    }

    fn count_lost(&mut self, samples: &[Sample]) {
        for sample in samples {
            if let Some(running) = self.running.get_mut(&sample.task_index) {
                running.totals.add_missing(MissingSamples::lost(sample.times.done_ns));
            }
        }
    }

    fn write_seconds<'a>(&self, seconds: impl Iterator<Item = &'a SecondStats>) -> Result<(), RecordError> {
        for second in seconds.filter(|_| !self.writing_disabled) {
            let names = self.catalog.names(second.task_index, second.sub_operation);
            self.writer.send_series_line(journal_line(names, second)?)?;
        }
        Ok(())
    }

    fn add_second(&mut self, added: SecondStats) -> Result<(), RecordError> {
        let Some(running) = self.running.get_mut(&added.task_index) else { return Ok(()) };
        let SecondStats { second_index, sub_operation, .. } = added;
        match sub_operation {
            None => running.totals.add_second(&added),
            Some(number) => running.sub_operations.entry(number).or_default().add_second(&added),
        }
        let key = SecondKey { second_index, sample_type: added.sample_type.index(), sub_operation };
        match running.pending.get_mut(&key) {
            Some(pending) => pending.stats.merge(&added.stats),
            None => drop(running.pending.insert(key, added)),
        }
        let oldest_pending = second_index.saturating_sub(GRACE_SECONDS);
        let first_pending = SecondKey { second_index: oldest_pending, sample_type: 0, sub_operation: None };
        let pending = running.pending.split_off(&first_pending);
        let complete = std::mem::replace(&mut running.pending, pending);
        running.add_complete(&complete);
        self.write_seconds(complete.values())
    }

    fn finish_task(&mut self, task_index: u32) -> Option<FinishedTask> {
        let mut running = self.running.remove(&task_index)?;
        let pending = std::mem::take(&mut running.pending);
        running.add_complete(&pending);
        if let Err(error) = self.write_seconds(pending.values()) {
            self.writer.fail(error);
        }
        self.writer.send_flush();
        let mut result = running.totals.result(running.task_began_ns);
        let of = |(number, totals): (&SubOperationNumber, &SubOperationTotals)| {
            Some(totals.result(self.catalog.sub_operation(*number)?))
        };
        result.sub_operations = running.sub_operations.iter().filter_map(of).collect();
        self.samples_kept += result.samples.kept;
        self.samples_lost += result.samples.lost;
        Some(FinishedTask { task_index, result })
    }
}
