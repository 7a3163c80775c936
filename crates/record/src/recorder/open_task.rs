//! What one thread has of a task since its last delivery.

use crate::buffers::Missing;
use crate::catalog::PartInfo;
use crate::delivery::Delivery;
use crate::error::RecordError;
use crate::failure::ErrorTally;
use crate::sample::{Sample, SampleType};
use crate::sender::Outgoing;
use crate::window::{MeasuredWindow, Window};

/// A task that has not ended on this thread.
#[derive(Debug)]
pub struct OpenTask {
    /// Position of the task in the plan.
    pub task: u32,
    /// Which work counts for its throughput.
    pub measured: MeasuredWindow,
    /// One per sample type, by its index.
    pub windows: [Window; 2],
    /// Its failures.
    pub errors: ErrorTally,
    parts: Vec<OpenPart>,
    /// Whether its samples are kept.
    pub keeping: bool,
    /// Samples kept since the last full buffer.
    pub fresh: u64,
    /// Samples that are in no buffer.
    pub missing: Missing,
}

impl OpenTask {
    /// Nothing recorded yet.
    ///
    /// # Errors
    ///
    /// As [`Window::new`].
    pub fn new(task: u32, paced: bool, measured: MeasuredWindow, keeping: bool) -> Result<Self, RecordError> {
        let [warmup, normal] = SampleType::ALL.map(|sample_type| Window::new(task, sample_type, paced));
        Ok(Self {
            task,
            measured,
            windows: [warmup?, normal?],
            errors: ErrorTally::default(),
            parts: Vec::new(),
            keeping,
            fresh: 0,
            missing: Missing::default(),
        })
    }

    /// Whether a sample is kept; counts it either way.
    pub fn keeps(&mut self, sample: &Sample) -> bool {
        if self.keeping {
            self.fresh += 1;
        } else {
            self.missing.add(Missing::left_out(sample.done_ns));
        }
        self.keeping
    }

    /// Delivers everything recorded since the last delivery.
    pub fn deliver(&mut self, outgoing: &Outgoing) {
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
    pub fn part(&mut self, name: (&str, &str), outgoing: &Outgoing) -> &mut OpenPart {
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
pub fn note_in(window: &mut Window, sample: &Sample, measured: MeasuredWindow, outgoing: &Outgoing) {
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
    pub fn window(&mut self, sample_type: SampleType) -> Result<&mut Window, RecordError> {
        let slot = &mut self.windows[sample_type.index()];
        match slot {
            Some(window) => Ok(window),
            none => Ok(none.insert(Window::of_part(self.info.task, self.number, sample_type)?)),
        }
    }
}
