//! Merges what recorders deliver, hands it on to be written and finishes tasks.

pub mod accounting;
mod sub_operation_totals;
mod task_totals;

use std::collections::BTreeMap;
use std::path::Path;

use crate::buffers::Spare;
use crate::catalog::{Names, TaskInfo};
use crate::collector::accounting::Rows;
use crate::collector::sub_operation_totals::PartTotals;
use crate::collector::task_totals::Totals;
use crate::delivery::Delivery;
use crate::error::RecordError;
use crate::files::series::line;
use crate::files::writer::Writer;
use crate::result::{EndedBy, SamplesKept, TaskProgress, TaskResult};
use crate::sample::Sample;
use crate::window::Window;

/// Seconds a window waits for the parts of slower threads before it is written. Parts that come later make a row of
/// their own; rows of one second add up.
const PATIENCE: u64 = 2;

/// A task that has ended.
#[derive(Debug)]
pub struct TaskEnd {
    /// Position in the plan.
    pub task: u32,
    /// What it came to.
    pub result: TaskResult,
}

/// See the crate documentation. Lives on one thread, which feeds it deliveries.
#[derive(Debug)]
pub struct Collector {
    names: Names,
    running: BTreeMap<u32, Running>,
    writer: Writer,
    /// A file could not be written; results are still summed up.
    mute: bool,
    /// Samples of finished tasks that are to be in the file.
    kept: u64,
    contradictions: Vec<String>,
}

#[derive(Debug)]
struct Running {
    totals: Totals,
    /// By number.
    parts: BTreeMap<u32, PartTotals>,
    /// Threads that have clients of the task and have not ended it.
    threads: u32,
    started_ns: u64,
    /// Seconds of which slower threads may still tell.
    pending: Pending,
}

/// Windows not yet written, by second, sample type and part.
type Pending = BTreeMap<(u64, usize, u32), Window>;

impl Running {
    /// Where its samples went.
    fn rows(&self) -> Rows {
        let within = self.parts.values().map(PartTotals::ended).sum::<u64>();
        let SamplesKept { kept, left_out, lost, .. } = self.totals.samples();
        Rows { ended: self.totals.ended() + within, kept, left_out, lost }
    }

    /// Takes down what only whole seconds can say.
    fn settle(&mut self, ready: &Pending) {
        for window in ready.values().filter(|window| window.part == 0) {
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
        let names = Names { tasks, parts: Vec::new() };
        let writer = Writer::start(folder, names.clone())?;
        Ok(Self { names, running: BTreeMap::new(), writer, mute: false, kept: 0, contradictions: Vec::new() })
    }

    /// Takes a delivery. Returns the task that has ended with it.
    ///
    /// # Errors
    ///
    /// When a file could not be written.
    pub fn receive(&mut self, delivery: Delivery, spare: &Spare) -> Result<Option<TaskEnd>, RecordError> {
        let end = self.take(delivery, spare)?;
        // What a task came to is told first; the failure waits.
        if end.is_none() {
            self.writer.check()?;
        }
        Ok(end)
    }

    fn take(&mut self, delivery: Delivery, spare: &Spare) -> Result<Option<TaskEnd>, RecordError> {
        match delivery {
            Delivery::Begin { task, threads, started_ns } => {
                let totals = Totals::new(task, self.names.tasks[task as usize].clone())?;
                let (parts, pending) = (BTreeMap::new(), BTreeMap::new());
                self.running.insert(task, Running { totals, parts, threads, started_ns, pending });
            }
            Delivery::Window(window) => self.add(*window)?,
            Delivery::Samples(samples) => {
                self.count(&samples);
                self.writer.samples(samples, spare);
            }
            Delivery::Missing(task, missing) => {
                if let Some(running) = self.running.get_mut(&task) {
                    running.totals.add_missing(missing);
                }
            }
            Delivery::Unit(task, unit) => {
                if let Some(running) = self.running.get_mut(&task) {
                    running.totals.has_unit(unit.clone());
                }
                self.names.tasks[task as usize].unit.clone_from(&unit);
                self.writer.unit(task, unit);
            }
            Delivery::Part(part) => {
                self.names.parts.push(part.clone());
                self.writer.part(part);
            }
            Delivery::Errors { task, part, errors } => match (self.running.get_mut(&task), part) {
                (Some(running), 0) => running.totals.add_errors(errors),
                (Some(running), part) => running.parts.entry(part).or_default().add_errors(errors),
                (None, _) => {}
            },
            Delivery::Ended(end) => {
                let Some(running) = self.running.get_mut(&end.task) else { return Ok(None) };
                running.totals.end(&end);
                running.started_ns = running.started_ns.max(end.started_ns);
                running.threads = running.threads.saturating_sub(1);
                if running.threads == 0 {
                    let wrong = [running.totals.ledger().contradiction(), running.rows().contradiction()];
                    let task = &self.names.tasks[end.task as usize].task;
                    let wrong = wrong.into_iter().flatten();
                    self.contradictions.extend(wrong.map(|wrong| format!("task '{task}': {wrong}")));
                    return Ok(self.finish_task(end.task));
                }
            }
        }
        Ok(None)
    }

    /// Writes no more, after a file could not be written; deliveries are still taken and tasks finished.
    pub fn stop_writing(&mut self) {
        self.mute = true;
    }

    /// Finishes one of the tasks whose threads died before they could end it, with what was seen of it.
    pub fn finish_orphan(&mut self) -> Option<TaskEnd> {
        let mut orphan = self.running.first_entry()?;
        orphan.get_mut().totals.end_by(EndedBy::Aborted);
        let task = *orphan.key();
        self.finish_task(task)
    }

    /// What does not add up in tasks that have ended: defects of the driver, not of the race.
    #[must_use]
    pub fn contradictions(&self) -> &[String] {
        &self.contradictions
    }

    /// Samples of finished tasks that are to be in the file; [`Collector::close`] tells how many are.
    #[must_use]
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// How running tasks are doing; `elapsed_ns` counts from the race's first step.
    #[must_use]
    pub fn progress(&self, elapsed_ns: u64) -> Vec<TaskProgress> {
        let since = |running: &Running| elapsed_ns.saturating_sub(running.started_ns);
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
        for window in windows.filter(|_| !self.mute) {
            self.writer.row(line(self.names.of(window.task, window.part), window)?)?;
        }
        Ok(())
    }

    fn add(&mut self, window: Window) -> Result<(), RecordError> {
        let Some(running) = self.running.get_mut(&window.task) else { return Ok(()) };
        match window.part {
            0 => running.totals.add(&window),
            part => running.parts.entry(part).or_default().add(&window),
        }
        let ripe = window.second.saturating_sub(PATIENCE);
        let key = (window.second, window.sample_type.index(), window.part);
        match running.pending.get_mut(&key) {
            Some(pending) => pending.merge(&window),
            None => drop(running.pending.insert(key, window)),
        }
        let later = running.pending.split_off(&(ripe, 0, 0));
        let ready = std::mem::replace(&mut running.pending, later);
        running.settle(&ready);
        self.write(ready.values())
    }

    fn finish_task(&mut self, task: u32) -> Option<TaskEnd> {
        let mut running = self.running.remove(&task)?;
        let pending = std::mem::take(&mut running.pending);
        running.settle(&pending);
        if let Err(error) = self.write(pending.values()) {
            self.writer.fail(error);
        }
        self.writer.flush();
        let mut result = running.totals.result(running.started_ns);
        let parts = running.parts.iter();
        result.parts =
            parts.filter_map(|(number, part)| Some(part.result(self.names.part(*number)?))).collect();
        self.kept += result.samples.kept;
        Some(TaskEnd { task, result })
    }
}
