//! The data that one worker records for a running task: counts of the entire task, and the current seconds until they
//! are delivered.

use crate::buffers::{BufferPool, MissingSamples, SampleDecision};
use crate::catalog::{SubOperationInfo, SubOperationName, SubOperationNumber};
use crate::client_span::ClientSpan;
use crate::delivery::{Delivery, WorkerTaskEnd};
use crate::details::{Details, ReservedDetails};
use crate::driver_time::DriverTime;
use crate::error::RecordError;
use crate::failure::FailureGroups;
use crate::flights::FlightLog;
use crate::histogram::DurationHistogram;
use crate::operation_stats::{OperationStats, SecondStats};
use crate::overhead::ClientOverhead;
use crate::result::EndedBy;
use crate::sample::{Sample, SampleType, Traffic};
use crate::sender::RecordSender;
use crate::units::SECOND_NS;
use crate::unsent::UnsentOperations;
use crate::warmup_backlog::{DrainedWindow, WarmupBacklog};
use crate::window::MeasuredWindow;

/// Service times of the operations of a task that succeeded on one worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServiceTimeTotals {
    /// Position of the task in the plan.
    pub task_index: u32,
    /// Operations that succeeded.
    pub succeeded: u64,
    /// Sum of their service times, in nanoseconds.
    pub service_ns: u64,
}

/// How a recorder records a task.
#[derive(Debug, Clone, Copy)]
pub struct RecordingSettings {
    /// Position of the task in the plan.
    pub task_index: u32,
    /// Whether it has a schedule.
    pub paced: bool,
    /// Whether it has a warm-up.
    pub has_warmup: bool,
    /// Which work counts towards its throughput.
    pub measured_window: MeasuredWindow,
}

/// A task that has not ended on this worker.
#[derive(Debug)]
pub struct OpenTask {
    /// Position of the task in the plan.
    pub task_index: u32,
    /// Number of clients that have not ended it.
    pub clients_left: u32,
    /// Which work counts towards its throughput.
    pub measured_window: MeasuredWindow,
    /// Statistics of the current second for each sample type, indexed by [`SampleType::index`].
    pub current_second_by_type: [SecondStats; 2],
    /// Failures since the last delivery.
    pub failures: FailureGroups,
    sub_operations: Vec<OpenSubOperation>,
    /// Whether its next samples are kept.
    pub sample_decision: SampleDecision,
    /// Number of samples kept but not yet reported to the buffer pool.
    pub kept_since_decision: u64,
    /// Samples since the last delivery that were not put into a buffer.
    pub missing: MissingSamples,
    /// Operations that the schedules of its clients admitted and that were not withdrawn, except those left unsent.
    pub admitted: u64,
    /// Operations that began.
    pub begun: u64,
    /// The part of `begun` that is warm-up.
    pub warmup_begun: u64,
    /// Operations that have begun but not ended, and were due before a client was free for them.
    pub open_waited: u64,
    /// Operations that have ended.
    pub ended_operations: u64,
    /// Operations that were due but will not be sent.
    pub unsent: UnsentOperations,
    /// Measured operations that the warm-up delayed.
    pub warmup_backlog: WarmupBacklog,
    /// Latency of those that succeeded; `None` without a schedule.
    pub delayed_latency: Option<DurationHistogram>,
    /// The operations around the begin of its window; `None` without a schedule or without a warm-up, which then left
    /// nothing in flight.
    pub flights: Option<FlightLog>,
    /// Its window, if it waits for the backlog of the warm-up.
    pub drained_window: Option<DrainedWindow>,
    /// Operations that their source supplied too late.
    pub underruns: u64,
    /// Time that clients waited for these operations, in nanoseconds.
    pub underrun_ns: u64,
    /// The driver's own work on its operations.
    pub driver_time: DriverTime,
    /// What its clients did besides its operations.
    pub overhead: ClientOverhead,
    /// When its clients that have left it were in it.
    pub client_spans: Vec<ClientSpan>,
    /// Service times of its successful operations.
    pub service_time_totals: ServiceTimeTotals,
    /// Traffic that belongs to no operation that has ended.
    pub other_traffic: Traffic,
    /// When another task completed the step, in nanoseconds since the task began.
    pub completed_ns: Option<u64>,
    /// The reason with the highest precedence why its clients ended.
    pub ended_by: EndedBy,
}

impl OpenTask {
    /// Creates the empty record of a task with one client.
    ///
    /// # Errors
    ///
    /// The errors from [`crate::DurationHistogram::new`].
    pub fn new(task: RecordingSettings, sample_decision: SampleDecision) -> Result<Self, RecordError> {
        let RecordingSettings { task_index, paced, has_warmup, measured_window } = task;
        let empty_second = |sample_type| {
            let stats = OperationStats::for_task(paced)?;
            Ok(SecondStats { task_index, sub_operation: None, second_index: 0, sample_type, stats })
        };
        let [warmup, measured] = SampleType::ALL.map(empty_second);
        let mut flights = (paced && has_warmup).then(FlightLog::default);
        flights.iter_mut().for_each(FlightLog::add_client);
        Ok(Self {
            task_index,
            clients_left: 1,
            measured_window,
            current_second_by_type: [warmup?, measured?],
            failures: FailureGroups::default(),
            sub_operations: Vec::new(),
            sample_decision,
            kept_since_decision: 0,
            missing: MissingSamples::default(),
            admitted: 0,
            begun: 0,
            warmup_begun: 0,
            open_waited: 0,
            ended_operations: 0,
            unsent: UnsentOperations::default(),
            warmup_backlog: WarmupBacklog::default(),
            delayed_latency: paced.then(DurationHistogram::of_fixed_size).transpose()?,
            flights,
            drained_window: None,
            underruns: 0,
            underrun_ns: 0,
            driver_time: DriverTime::default(),
            overhead: ClientOverhead::default(),
            client_spans: Vec::new(),
            service_time_totals: ServiceTimeTotals { task_index, ..ServiceTimeTotals::default() },
            other_traffic: Traffic::default(),
            completed_ns: None,
            ended_by: EndedBy::Source,
        })
    }

    /// Counts a sample as kept or left out; returns whether it is kept.
    pub fn retain_sample(&mut self, sample: &Sample) -> bool {
        let keep = self.sample_decision == SampleDecision::Keep;
        if keep {
            self.kept_since_decision += 1;
        } else {
            self.missing.merge(MissingSamples::left_out(sample.times.done_ns));
        }
        keep
    }

    /// Reserves memory for the details of a sample that is kept; counts them as lost if there is none.
    pub fn reserve_details(
        &mut self,
        details: Option<Box<dyn Details>>,
        buffers: &BufferPool,
    ) -> Option<ReservedDetails> {
        let reserved = buffers.reserve_details(details?);
        self.missing.details_lost += u64::from(reserved.is_none());
        reserved
    }

    /// Delivers everything recorded since the last delivery, except samples.
    pub fn deliver(&mut self, sender: &RecordSender) {
        let of_sub_operations =
            self.sub_operations.iter_mut().flat_map(|open| open.current_second_by_type.iter_mut().flatten());
        for second in self.current_second_by_type.iter_mut().chain(of_sub_operations) {
            deliver_second(second, sender);
        }
        let task_index = self.task_index;
        if self.missing != MissingSamples::default() {
            sender.send(Delivery::Missing { task_index, missing: std::mem::take(&mut self.missing) });
        }
        let of_sub_operations =
            self.sub_operations.iter_mut().map(|open| (Some(open.number), &mut open.failures));
        for (sub_operation, failures) in std::iter::once((None, &mut self.failures)).chain(of_sub_operations)
        {
            if !failures.is_empty() {
                let failures = std::mem::take(failures);
                sender.send(Delivery::Failures { task_index, sub_operation, failures });
            }
        }
    }

    /// Returns the number of operations that the schedules of its clients admitted and that were not withdrawn, plus
    /// unsent ones.
    pub fn scheduled(&self) -> u64 {
        self.admitted.saturating_add(self.unsent.total)
    }

    /// Converts the record to a description of how the worker's clients ended the task, which began at `task_began_ns`;
    /// `scheduled` is `None` if they were dropped before they ended.
    pub fn into_end(self, scheduled: Option<u64>, task_began_ns: u64) -> WorkerTaskEnd {
        WorkerTaskEnd {
            task_index: self.task_index,
            ended_by: self.ended_by,
            scheduled,
            begun: self.begun,
            warmup_begun: self.warmup_begun,
            unanswered: self.begun.saturating_sub(self.ended_operations),
            unanswered_waited: self.open_waited,
            unsent: self.unsent,
            warmup_backlog: self.warmup_backlog,
            drained_window: self.drained_window,
            underruns: self.underruns,
            underrun_ns: self.underrun_ns,
            driver_time: self.driver_time,
            other_traffic: self.other_traffic,
            completed_ns: self.completed_ns,
            task_began_ns,
        }
    }

    /// Returns the open record of a sub-operation; requests its number if this worker records it for the first time.
    pub fn open_sub_operation(
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
            let info = SubOperationInfo { task_index: self.task_index, operation, operation_type };
            let number = sender.sub_operation_number(&info);
            // Beyond the limit, several names share one number.
            self.sub_operations.iter().position(|open| open.number == number).unwrap_or_else(|| {
                self.sub_operations.push(OpenSubOperation::new(number, info));
                self.sub_operations.len() - 1
            })
        });
        &mut self.sub_operations[position]
    }
}

/// The data that one worker has recorded for a sub-operation since the last delivery.
#[derive(Debug)]
pub struct OpenSubOperation {
    /// Number of the sub-operation.
    pub number: SubOperationNumber,
    info: SubOperationInfo,
    /// Statistics of the current second for each sample type, by its index; created with the first sample.
    current_second_by_type: [Option<SecondStats>; 2],
    /// Failures since the last delivery.
    pub failures: FailureGroups,
}

impl OpenSubOperation {
    fn new(number: SubOperationNumber, info: SubOperationInfo) -> Self {
        Self { number, info, current_second_by_type: [None, None], failures: FailureGroups::default() }
    }

    /// Returns the statistics of the current second of a sample type, and creates them for the first sample.
    ///
    /// # Errors
    ///
    /// The errors from [`crate::DurationHistogram::new`].
    pub fn current_second(&mut self, sample_type: SampleType) -> Result<&mut SecondStats, RecordError> {
        match &mut self.current_second_by_type[sample_type.index()] {
            Some(second) => Ok(second),
            none => Ok(none.insert(SecondStats {
                task_index: self.info.task_index,
                sub_operation: Some(self.number),
                second_index: 0,
                sample_type,
                stats: OperationStats::service_time_only()?,
            })),
        }
    }
}

/// Adds a sample to its second; if the sample begins a new second, delivers the previous one first.
pub fn add_to_second(
    current: &mut SecondStats,
    sample: &Sample,
    measured_window: MeasuredWindow,
    sender: &RecordSender,
) {
    let second_index = sample.times.done_ns / SECOND_NS;
    if current.second_index != second_index {
        deliver_second(current, sender);
        current.second_index = second_index;
    }
    current.stats.add(sample, measured_window);
}

/// Sends a copy of the second and clears the original, whose memory the worker keeps.
fn deliver_second(second: &mut SecondStats, sender: &RecordSender) {
    if !second.stats.is_empty() {
        sender.send(Delivery::Second(Box::new(second.clone())));
        second.stats.clear();
    }
}
