//! [`OperationRecorder`]: records the outcomes of a client's operations as samples.

use std::cell::RefCell;
use std::time::Instant;

use pacenote_record::{
    OperationTimes, RecordError, Recorder, Sample, SampleResult, SampleType, SubOperationName,
};

use crate::cancel::Cancellation;
use crate::operation::outcome::{OperationOutcome, SubOperation};
use crate::task_client_id::TaskClientId;
use crate::units::nanos_since;

/// Records the operations of one client in one task.
#[derive(Debug, Clone, Copy)]
pub struct OperationRecorder<'a> {
    /// The recorder of the worker.
    pub recorder: &'a RefCell<Recorder>,
    /// The id of the client.
    pub client: TaskClientId,
    /// When the task started; the times of samples are relative to this.
    pub origin: Instant,
    /// Determines whether another task has completed the step.
    pub cancellation: Cancellation<'a>,
}

/// The times of an operation that are not part of its outcome.
#[derive(Debug, Clone, Copy)]
pub struct LoopTimes {
    /// When it was due, in nanoseconds since the task started, or `None` without a schedule.
    pub due_ns: Option<u64>,
    /// When the client was free for it, in nanoseconds since the task started.
    pub free_since_ns: u64,
    /// Start of the processing time: when the execution began or, without a schedule, when the preparation began.
    pub processing_start: Instant,
    /// When the whole operation ended according to its runner in Python, or `None` if the driver executed it.
    pub processing_end: Option<Instant>,
    /// Whether the warm-up delayed the operation.
    pub is_delayed: bool,
}

impl OperationRecorder<'_> {
    /// Records an operation that has ended, its sub-operations first. `now` is the end of its processing time if the
    /// driver executed it.
    #[inline]
    pub fn record(
        &self,
        sample_type: SampleType,
        times: &LoopTimes,
        now: Instant,
        mut outcome: OperationOutcome,
    ) {
        if !outcome.sub_operations.is_empty() {
            for sub_operation in std::mem::take(&mut outcome.sub_operations) {
                if let Err(error) = self.record_sub_operation(sample_type, sub_operation) {
                    self.cancellation.race_state.abort_at(error.to_string(), now);
                }
            }
        }
        let service_start_ns = self.task_time_ns(outcome.service_start);
        let operation_times = OperationTimes {
            paced: times.due_ns.is_some(),
            due_ns: times.due_ns.unwrap_or(service_start_ns),
            free_since_ns: times.free_since_ns,
            first_sent_ns: self.task_time_ns(outcome.first_sent),
            service_start_ns,
            done_ns: self.task_time_ns(outcome.done),
            processing_ns: nanos_since(times.processing_start, times.processing_end.unwrap_or(now)),
        };
        let sample = self.build_sample(sample_type, operation_times, &outcome);
        let mut recorder = self.recorder.borrow_mut();
        if self.cancellation.step.is_completed()
            && let Some(completed) = self.cancellation.step.completed_at()
        {
            recorder.complete_window(sample.task_index, self.task_time_ns(completed));
        }
        // A runner works in Python, and opening a connection is not the driver's own work.
        if times.processing_end.is_none()
            && sample_type == SampleType::Measured
            && sample.is_success()
            && sample.traffic.reconnects == 0
        {
            let freed_ns = self.task_time_ns(outcome.freed);
            let outside_ns = freed_ns.saturating_sub(sample.times.first_sent_ns);
            let driver_ns = sample.times.processing_ns.saturating_sub(outside_ns);
            recorder.record_driver_time(sample.task_index, driver_ns, sample.times.service_ns());
        }
        if times.is_delayed {
            recorder.record_warmup_delay(&sample);
        }
        recorder.record(sample, outcome.details, outcome.result.failures);
    }

    /// Records a sub-operation. The sample of the whole operation contains the weight and the lateness.
    fn record_sub_operation(
        &self,
        sample_type: SampleType,
        sub_operation: SubOperation,
    ) -> Result<(), RecordError> {
        let SubOperation { label, outcome } = sub_operation;
        let (service_start_ns, done_ns) =
            (self.task_time_ns(outcome.service_start), self.task_time_ns(outcome.done));
        let first_sent_ns = self.task_time_ns(outcome.first_sent);
        let times = OperationTimes {
            paced: false,
            due_ns: service_start_ns,
            free_since_ns: first_sent_ns,
            first_sent_ns,
            service_start_ns,
            done_ns,
            processing_ns: done_ns.saturating_sub(first_sent_ns),
        };
        let sample = self.build_sample(sample_type, times, &outcome);
        let result = SampleResult { weight: 0, failed_weight: 0, ..sample.result };
        let sample = Sample { result, ..sample };
        let name = SubOperationName { operation: &label.operation, operation_type: &label.operation_type };
        let OperationOutcome { details, result, .. } = outcome;
        self.recorder.borrow_mut().record_sub_operation(name, sample, details, result.failures)
    }

    /// Returns the sample of an operation or of a sub-operation.
    fn build_sample(
        &self,
        sample_type: SampleType,
        times: OperationTimes,
        outcome: &OperationOutcome,
    ) -> Sample {
        let TaskClientId { task_index, client_number } = self.client;
        let OperationOutcome { result, status, retries, traffic, .. } = outcome;
        let sample_result = SampleResult {
            error_class: result.error_class,
            status: *status,
            retries: *retries,
            weight: result.weight,
            failed_weight: result.failed_weight,
            took_ms: result.took_ms.and_then(|took_ms| i64::try_from(took_ms).ok()).unwrap_or(-1),
        };
        Sample {
            task_index,
            sub_operation: None,
            client_number,
            sample_type,
            times,
            result: sample_result,
            traffic: *traffic,
        }
    }

    /// Returns the nanoseconds from the start of the task to `instant`.
    fn task_time_ns(&self, instant: Instant) -> u64 {
        nanos_since(self.origin, instant)
    }
}
