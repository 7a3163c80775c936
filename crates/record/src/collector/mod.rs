//! The collector: merges what recorders deliver, passes it on to be written and turns finished tasks into results.
//!
//! It lives on one thread, which feeds it deliveries. Files are written by the thread of [`crate::files::writer`]; how
//! operations are recorded is the recorder's part.

pub mod accounting;
mod sub_operation_totals;
mod task_totals;

use std::collections::BTreeMap;
use std::path::Path;

use crate::buffers::BufferPool;
use crate::catalog::{Catalog, TaskInfo};
use crate::collector::accounting::SampleAccounting;
use crate::collector::sub_operation_totals::SubOperationTotals;
use crate::collector::task_totals::TaskTotals;
use crate::delivery::{Delivery, TaskEnded};
use crate::error::RecordError;
use crate::files::series::journal_line;
use crate::files::writer::Writer;
use crate::result::{EndedBy, SamplesKept, TaskProgress, TaskResult};
use crate::sample::Sample;
use crate::window::Window;

/// Seconds for which a window waits for slower threads before it is written. What comes later becomes a row of its own;
/// rows of one second add up.
const GRACE_SECONDS: u64 = 2;

/// A task that has ended, with its result.
#[derive(Debug)]
pub struct FinishedTask {
    /// Position of the task in the plan.
    pub task: u32,
    /// Its result.
    pub result: TaskResult,
}

/// Merges deliveries and finishes tasks. Lives on one thread.
#[derive(Debug)]
pub struct Collector {
    catalog: Catalog,
    running: BTreeMap<u32, RunningTask>,
    writer: Writer,
    /// Set when a file could not be written; results are still computed.
    writing_disabled: bool,
    /// Samples of finished tasks that were sent to the file.
    samples_kept: u64,
    contradictions: Vec<String>,
}

#[derive(Debug)]
struct RunningTask {
    totals: TaskTotals,
    /// By number.
    sub_operations: BTreeMap<u32, SubOperationTotals>,
    /// Threads with clients that have not ended the task.
    threads: u32,
    started_ns: u64,
    /// Seconds that slower threads may still deliver.
    pending: PendingWindows,
}

/// Windows that are not written yet.
type PendingWindows = BTreeMap<WindowKey, Window>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct WindowKey {
    second: u64,
    sample_type: usize,
    sub_operation: u32,
}

impl RunningTask {
    fn sample_accounting(&self) -> SampleAccounting {
        let sub_operations = self.sub_operations.values().map(SubOperationTotals::ended).sum::<u64>();
        let SamplesKept { kept, left_out, lost, .. } = self.totals.samples();
        SampleAccounting { ended: self.totals.ended() + sub_operations, kept, left_out, lost }
    }

    /// Adds what only complete seconds can tell: their medians.
    fn finalize(&mut self, complete: &PendingWindows) {
        for window in complete.values().filter(|window| window.sub_operation == 0) {
            self.totals.add_medians(window);
        }
    }
}

impl Collector {
    /// A collector that writes into `folder`.
    ///
    /// # Errors
    ///
    /// When the files, or the thread that writes them, cannot be created.
    pub fn new(folder: &Path, tasks: Vec<TaskInfo>) -> Result<Self, RecordError> {
        let catalog = Catalog { tasks, sub_operations: Vec::new() };
        let writer = Writer::start(folder, catalog.clone())?;
        Ok(Self {
            catalog,
            running: BTreeMap::new(),
            writer,
            writing_disabled: false,
            samples_kept: 0,
            contradictions: Vec::new(),
        })
    }

    /// Processes a delivery; `buffers` receives its buffer once its samples are written. Returns the task that has ended
    /// with it.
    ///
    /// # Errors
    ///
    /// When a file could not be written.
    pub fn receive(
        &mut self,
        delivery: Delivery,
        buffers: &BufferPool,
    ) -> Result<Option<FinishedTask>, RecordError> {
        let finished = self.process(delivery, buffers)?;
        // The result of a task comes first; the failure is reported with the next delivery.
        if finished.is_none() {
            self.writer.check()?;
        }
        Ok(finished)
    }

    fn process(
        &mut self,
        delivery: Delivery,
        buffers: &BufferPool,
    ) -> Result<Option<FinishedTask>, RecordError> {
        match delivery {
            Delivery::Begin { task, threads, started_ns } => {
                let totals = TaskTotals::new(task, self.catalog.tasks[task as usize].clone())?;
                let (sub_operations, pending) = (BTreeMap::new(), BTreeMap::new());
                let running = RunningTask { totals, sub_operations, threads, started_ns, pending };
                self.running.insert(task, running);
            }
            Delivery::Window(window) => self.add_window(*window)?,
            Delivery::Samples(samples) => {
                self.count(&samples);
                self.writer.samples(samples, buffers);
            }
            Delivery::Missing { task, missing } => {
                if let Some(running) = self.running.get_mut(&task) {
                    running.totals.add_missing(missing);
                }
            }
            Delivery::Unit { task, unit } => {
                if let Some(running) = self.running.get_mut(&task) {
                    running.totals.set_unit(unit.clone());
                }
                self.catalog.tasks[task as usize].unit.clone_from(&unit);
                self.writer.unit(task, unit);
            }
            Delivery::SubOperation(info) => {
                self.catalog.sub_operations.push(info.clone());
                self.writer.sub_operation(info);
            }
            Delivery::Failures { task, sub_operation, failures } => {
                match (self.running.get_mut(&task), sub_operation) {
                    (Some(running), 0) => running.totals.add_failures(failures),
                    (Some(running), number) => {
                        running.sub_operations.entry(number).or_default().add_failures(failures);
                    }
                    (None, _) => {}
                }
            }
            Delivery::Ended(ended) => return Ok(self.end_on_thread(&ended)),
        }
        Ok(None)
    }

    /// Ends a task for one thread; the last one finishes it.
    fn end_on_thread(&mut self, ended: &TaskEnded) -> Option<FinishedTask> {
        let running = self.running.get_mut(&ended.task)?;
        running.totals.end(ended);
        running.started_ns = running.started_ns.max(ended.started_ns);
        running.threads = running.threads.saturating_sub(1);
        if running.threads > 0 {
            return None;
        }
        let found =
            [running.totals.accounting().contradiction(), running.sample_accounting().contradiction()];
        let name = &self.catalog.tasks[ended.task as usize].task;
        let found = found.into_iter().flatten();
        self.contradictions.extend(found.map(|found| format!("task '{name}': {found}")));
        self.finish_task(ended.task)
    }

    /// Stops writing, after a file could not be written; deliveries are still merged and tasks finished.
    pub fn disable_writing(&mut self) {
        self.writing_disabled = true;
    }

    /// Finishes one of the tasks whose threads died before they could end it, with what was recorded of it.
    pub fn finish_orphan(&mut self) -> Option<FinishedTask> {
        let mut orphan = self.running.first_entry()?;
        orphan.get_mut().totals.end_by(EndedBy::Aborted);
        let task = *orphan.key();
        self.finish_task(task)
    }

    /// Counts of finished tasks that do not add up: defects of the driver, not of the race.
    #[must_use]
    pub fn contradictions(&self) -> &[String] {
        &self.contradictions
    }

    /// Samples of finished tasks that were sent to the file; [`Collector::close`] returns how many arrived there.
    #[must_use]
    pub fn samples_kept(&self) -> u64 {
        self.samples_kept
    }

    /// Progress of the running tasks; `elapsed_ns` counts from the race's first step.
    #[must_use]
    pub fn progress(&self, elapsed_ns: u64) -> Vec<TaskProgress> {
        let since = |running: &RunningTask| elapsed_ns.saturating_sub(running.started_ns);
        self.running.values().map(|running| running.totals.progress(since(running))).collect()
    }

    /// Closes the files, when all tasks are finished; returns how many samples were written.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn close(self) -> Result<u64, RecordError> {
        self.writer.close()
    }

    fn count(&mut self, samples: &[Sample]) {
        for same in samples.chunk_by(|one, next| one.task == next.task) {
            if let Some(running) = self.running.get_mut(&same[0].task) {
                running.totals.add_kept(same.len() as u64);
            }
        }
    }

    fn write<'a>(&self, windows: impl Iterator<Item = &'a Window>) -> Result<(), RecordError> {
        for window in windows.filter(|_| !self.writing_disabled) {
            let names = self.catalog.names(window.task, window.sub_operation);
            self.writer.row(journal_line(names, window)?)?;
        }
        Ok(())
    }

    fn add_window(&mut self, window: Window) -> Result<(), RecordError> {
        let Some(running) = self.running.get_mut(&window.task) else { return Ok(()) };
        let Window { second, sub_operation, .. } = window;
        match sub_operation {
            0 => running.totals.add(&window),
            number => running.sub_operations.entry(number).or_default().add(&window),
        }
        let key = WindowKey { second, sample_type: window.sample_type.index(), sub_operation };
        match running.pending.get_mut(&key) {
            Some(pending) => pending.merge(&window),
            None => drop(running.pending.insert(key, window)),
        }
        let oldest_pending = second.saturating_sub(GRACE_SECONDS);
        let first_pending = WindowKey { second: oldest_pending, sample_type: 0, sub_operation: 0 };
        let pending = running.pending.split_off(&first_pending);
        let complete = std::mem::replace(&mut running.pending, pending);
        running.finalize(&complete);
        self.write(complete.values())
    }

    fn finish_task(&mut self, task: u32) -> Option<FinishedTask> {
        let mut running = self.running.remove(&task)?;
        let pending = std::mem::take(&mut running.pending);
        running.finalize(&pending);
        if let Err(error) = self.write(pending.values()) {
            self.writer.fail(error);
        }
        self.writer.flush();
        let mut result = running.totals.result(running.started_ns);
        let of = |(number, totals): (&u32, &SubOperationTotals)| {
            Some(totals.result(self.catalog.sub_operation(*number)?))
        };
        result.sub_operations = running.sub_operations.iter().filter_map(of).collect();
        self.samples_kept += result.samples.kept;
        Some(FinishedTask { task, result })
    }
}
