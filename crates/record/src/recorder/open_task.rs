//! What one thread has recorded of a task since its last delivery.

use crate::buffers::MissingSamples;
use crate::catalog::{SubOperationInfo, SubOperationName};
use crate::delivery::{Delivery, TaskEnded};
use crate::error::RecordError;
use crate::failure::FailureGroups;
use crate::result::EndedBy;
use crate::sample::{Sample, SampleType};
use crate::sender::RecordSender;
use crate::units::SECOND_NS;
use crate::window::{MeasuredWindow, Window};

/// Service times of one thread's successes in a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServiceTotals {
    /// Position of the task in the plan.
    pub task: u32,
    /// Operations that succeeded.
    pub operations: u64,
    /// Sum of their service times, nanoseconds.
    pub service_ns: u64,
}

/// A task that has not ended on this thread.
#[derive(Debug)]
pub struct OpenTask {
    /// Position of the task in the plan.
    pub task: u32,
    /// Clients that have not ended it.
    pub clients: u32,
    /// Which work counts for its throughput.
    pub measured: MeasuredWindow,
    /// One per sample type, by its index.
    pub windows: [Window; 2],
    /// Failures since the last delivery.
    pub failures: FailureGroups,
    sub_operations: Vec<OpenSubOperation>,
    /// Whether its samples are kept.
    pub keeping: bool,
    /// Samples kept that the buffer pool has not counted yet.
    pub unreported: u64,
    /// Samples since the last delivery that are in no buffer.
    pub missing: MissingSamples,
    /// Operations that the schedules of its clients planned.
    pub planned: u64,
    /// Planned operations that are not due any more.
    pub cancelled: u64,
    /// Operations begun.
    pub begun: u64,
    /// Operations ended.
    pub ended: u64,
    /// Operations that were due and will not be sent.
    pub unsent: u64,
    /// Operations that their source supplied too late.
    pub underruns: u64,
    /// How long clients waited for them, nanoseconds.
    pub underrun_ns: u64,
    /// Service times of its successes.
    pub service: ServiceTotals,
    /// Why its clients ended it; the weightiest reason counts.
    pub by: EndedBy,
}

impl OpenTask {
    /// A task with one client, of which nothing has been recorded.
    ///
    /// # Errors
    ///
    /// As [`Window::new`].
    pub fn new(task: u32, paced: bool, measured: MeasuredWindow, keeping: bool) -> Result<Self, RecordError> {
        let [warmup, normal] = SampleType::ALL.map(|sample_type| Window::new(task, sample_type, paced));
        Ok(Self {
            task,
            clients: 1,
            measured,
            windows: [warmup?, normal?],
            failures: FailureGroups::default(),
            sub_operations: Vec::new(),
            keeping,
            unreported: 0,
            missing: MissingSamples::default(),
            planned: 0,
            cancelled: 0,
            begun: 0,
            ended: 0,
            unsent: 0,
            underruns: 0,
            underrun_ns: 0,
            service: ServiceTotals { task, ..ServiceTotals::default() },
            by: EndedBy::Source,
        })
    }

    /// Whether a sample is kept; counts it either way.
    pub fn keeps(&mut self, sample: &Sample) -> bool {
        if self.keeping {
            self.unreported += 1;
        } else {
            self.missing.merge(MissingSamples::left_out(sample.times.done_ns));
        }
        self.keeping
    }

    /// Delivers everything recorded since the last delivery, except samples.
    pub fn deliver(&mut self, sender: &RecordSender) {
        let of_sub_operations =
            self.sub_operations.iter_mut().flat_map(|open| open.windows.iter_mut().flatten());
        for window in self.windows.iter_mut().chain(of_sub_operations) {
            deliver_window(window, sender);
        }
        let task = self.task;
        if self.missing != MissingSamples::default() {
            sender.send(Delivery::Missing { task, missing: std::mem::take(&mut self.missing) });
        }
        let of_sub_operations = self.sub_operations.iter_mut().map(|open| (open.number, &mut open.failures));
        for (sub_operation, failures) in std::iter::once((0, &mut self.failures)).chain(of_sub_operations) {
            if !failures.is_empty() {
                let failures = std::mem::take(failures);
                sender.send(Delivery::Failures { task, sub_operation, failures });
            }
        }
    }

    /// How the thread's clients ended the task; without a known plan, as clients were dropped while they worked.
    pub fn ended(&self, by: EndedBy, started_ns: u64, plan_is_known: bool) -> TaskEnded {
        let planned = (self.planned + self.unsent).saturating_sub(self.cancelled);
        TaskEnded {
            task: self.task,
            by,
            planned: plan_is_known.then_some(planned),
            begun: self.begun,
            unanswered: self.begun.saturating_sub(self.ended),
            unsent: self.unsent,
            underruns: self.underruns,
            underrun_ns: self.underrun_ns,
            started_ns,
        }
    }

    /// What is open of a sub-operation; its number is requested when this thread sees it first.
    pub fn sub_operation(
        &mut self,
        name: SubOperationName<'_>,
        sender: &RecordSender,
    ) -> &mut OpenSubOperation {
        let SubOperationName { operation, operation_type } = name;
        let known = |open: &OpenSubOperation| {
            open.info.operation == operation && open.info.operation_type == operation_type
        };
        let position = self.sub_operations.iter().position(known).unwrap_or_else(|| {
            let (operation, operation_type) = (operation.to_owned(), operation_type.to_owned());
            let info = SubOperationInfo { task: self.task, operation, operation_type };
            let number = sender.sub_operation(&info);
            // Beyond the limit, one number stands for several names.
            self.sub_operations.iter().position(|open| open.number == number).unwrap_or_else(|| {
                self.sub_operations.push(OpenSubOperation::new(number, info));
                self.sub_operations.len() - 1
            })
        });
        &mut self.sub_operations[position]
    }
}

/// What one thread has recorded of a sub-operation since its last delivery.
#[derive(Debug)]
pub struct OpenSubOperation {
    /// Its number.
    pub number: u32,
    info: SubOperationInfo,
    /// One per sample type, by its index; created with the first sample.
    windows: [Option<Window>; 2],
    /// Failures since the last delivery.
    pub failures: FailureGroups,
}

impl OpenSubOperation {
    fn new(number: u32, info: SubOperationInfo) -> Self {
        Self { number, info, windows: [None, None], failures: FailureGroups::default() }
    }

    /// The window of a sample type.
    ///
    /// # Errors
    ///
    /// As [`Window::new`].
    pub fn window(&mut self, sample_type: SampleType) -> Result<&mut Window, RecordError> {
        let window = &mut self.windows[sample_type.index()];
        match window {
            Some(window) => Ok(window),
            none => Ok(none.insert(Window::of_sub_operation(self.info.task, self.number, sample_type)?)),
        }
    }
}

/// Adds a sample to the window of its second; delivers the window of the second before.
pub fn add_to_window(window: &mut Window, sample: &Sample, measured: MeasuredWindow, sender: &RecordSender) {
    let second = sample.times.done_ns / SECOND_NS;
    if window.second != second {
        deliver_window(window, sender);
        window.second = second;
    }
    window.add(sample, measured);
}

/// Sends a copy of the window, so that the thread keeps its memory, and clears it.
fn deliver_window(window: &mut Window, sender: &RecordSender) {
    if !window.is_empty() {
        sender.send(Delivery::Window(Box::new(window.clone())));
        window.clear();
    }
}
