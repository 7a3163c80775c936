//! The recorder of one driver thread.

use std::sync::mpsc::Sender;

use crate::RecordError;
use crate::buffers::{BATCH, Keep, Missing, Spare};
use crate::errors::{ErrorNote, ErrorTally};
use crate::parts::{OpenPart, PartInfo, Parts};
use crate::sample::{Sample, SampleType};
use crate::summary::EndedBy;
use crate::window::{MeasuredWindow, Window};

/// What a recorder hands over, once a second or when a buffer is full.
#[derive(Debug)]
pub enum Delivery {
    /// So many threads are about to run a task. Sent before any of them starts it.
    Begin {
        /// Position of the task in the plan.
        task: u32,
        /// Threads that have clients of it.
        threads: u32,
        /// When its step began, nanoseconds since the race's first step.
        started_ns: u64,
    },
    /// A part of a second of a task.
    Window(Box<Window>),
    /// Samples in the order of their ends.
    Samples(Vec<Sample>),
    /// The unit of a task's work, where it is only known once the task runs.
    Unit(u32, String),
    /// An operation within an operation that was not seen before; gets the next number.
    Part(PartInfo),
    /// Samples of a task that are in no buffer.
    Missing(u32, Missing),
    /// Failures since the last delivery.
    Errors {
        /// Position of the task in the plan.
        task: u32,
        /// Number of the operation within, 0 for the whole operation.
        part: u32,
        /// The failures.
        errors: ErrorTally,
    },
    /// All clients of this thread have ended the task; everything recorded was delivered before.
    Ended(TaskEnded),
}

/// How a thread's clients ended a task.
#[derive(Debug, Clone, Copy)]
pub struct TaskEnded {
    /// Position of the task in the plan.
    pub task: u32,
    /// Why the last of its clients ended.
    pub by: EndedBy,
    /// Operations that the clients were to do, sent or not; `None` when clients were dropped at work.
    pub planned: Option<u64>,
    /// Operations begun.
    pub begun: u64,
    /// Operations begun whose reply never came.
    pub unanswered: u64,
    /// Operations that were due within the task's time and never sent.
    pub unsent: u64,
    /// Operations whose source handed them over too late.
    pub underruns: u64,
    /// How long they were waited for.
    pub underrun_ns: u64,
    /// When the task began, nanoseconds since the race's first step.
    pub started_ns: u64,
}

/// The way from recorders to the collector.
#[derive(Debug, Clone)]
pub struct Outgoing {
    sender: Sender<Delivery>,
    spare: Spare,
    parts: Parts,
}

impl Outgoing {
    /// A way that ends in the given channel; of samples it takes those that are to be kept.
    #[must_use]
    pub fn new(sender: Sender<Delivery>, keep: Keep) -> Self {
        Self { sender, spare: Spare::new(keep), parts: Parts::default() }
    }

    /// Where the collector gives buffers back.
    #[must_use]
    pub fn spare(&self) -> Spare {
        self.spare.clone()
    }

    /// Hands a delivery over. When nobody listens any more the race is over and there is nothing to record.
    pub fn send(&self, delivery: Delivery) {
        let _ = self.sender.send(delivery);
    }

    /// The number of an operation within an operation. The collector hears of it before anything is delivered under it.
    #[must_use]
    pub fn part(&self, part: &PartInfo) -> u32 {
        self.parts.number(part, |new| self.send(Delivery::Part(new)))
    }
}

/// Takes down what one thread's clients see. Owned by that thread; never shared.
#[derive(Debug)]
pub struct Recorder {
    outgoing: Outgoing,
    open: Vec<OpenTask>,
    samples: Vec<Sample>,
}

#[derive(Debug)]
struct OpenTask {
    task: u32,
    measured: MeasuredWindow,
    /// One per sample type, by its index.
    windows: [Window; 2],
    errors: ErrorTally,
    parts: Vec<OpenPart>,
    /// Whether its samples are kept.
    keeping: bool,
    /// Samples kept since the last full buffer.
    fresh: u64,
    missing: Missing,
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
        let [warmup, normal] = SampleType::ALL.map(|sample_type| Window::new(task, sample_type, paced));
        let windows = [warmup?, normal?];
        self.open.push(OpenTask {
            task,
            measured,
            windows,
            errors: ErrorTally::default(),
            parts: Vec::new(),
            keeping: self.outgoing.spare.keeps(task, 0),
            fresh: 0,
            missing: Missing::default(),
        });
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

impl OpenTask {
    /// Whether a sample is kept; counts it either way.
    fn keeps(&mut self, sample: &Sample) -> bool {
        if self.keeping {
            self.fresh += 1;
        } else {
            self.missing.add(Missing::left_out(sample.done_ns));
        }
        self.keeping
    }

    fn deliver(&mut self, outgoing: &Outgoing) {
        let parts = &mut self.parts;
        let of_parts = parts.iter_mut().flat_map(|part| part.windows.iter_mut().flatten());
        for window in self.windows.iter_mut().chain(of_parts) {
            deliver(outgoing, window);
        }
        let task = self.task;
        if self.missing != Missing::default() {
            outgoing.send(Delivery::Missing(task, std::mem::take(&mut self.missing)));
        }
        let of_parts = self.parts.iter_mut().map(|part| (part.number, &mut part.errors));
        for (part, errors) in std::iter::once((0, &mut self.errors)).chain(of_parts) {
            if !errors.is_empty() {
                outgoing.send(Delivery::Errors { task, part, errors: std::mem::take(errors) });
            }
        }
    }

    /// What is open of a part; its number is asked for when this thread sees it first.
    fn part(&mut self, name: (&str, &str), outgoing: &Outgoing) -> &mut OpenPart {
        let (operation, operation_type) = name;
        let known =
            |part: &OpenPart| part.info.operation == operation && part.info.operation_type == operation_type;
        let position = self.parts.iter().position(known).unwrap_or_else(|| {
            let (operation, operation_type) = (operation.to_owned(), operation_type.to_owned());
            let info = PartInfo { task: self.task, operation, operation_type };
            let number = outgoing.part(&info);
            // Of too many names one number stands for several.
            self.parts.iter().position(|part| part.number == number).unwrap_or_else(|| {
                self.parts.push(OpenPart::new(number, info));
                self.parts.len() - 1
            })
        });
        &mut self.parts[position]
    }
}

/// Takes a sample down in the window of its second; delivers the one before.
fn note_in(window: &mut Window, sample: &Sample, measured: MeasuredWindow, outgoing: &Outgoing) {
    let second = sample.done_ns / 1_000_000_000;
    if window.second != second {
        deliver(outgoing, window);
        window.second = second;
    }
    window.note(sample, measured);
}

/// Sends a copy of the window, so that the thread keeps its memory, and empties it.
fn deliver(outgoing: &Outgoing, window: &mut Window) {
    if !window.is_empty() {
        outgoing.send(Delivery::Window(Box::new(window.clone())));
        window.clear();
    }
}
