//! Counts and histograms of operations, for a whole task or for one second of it.

use crate::catalog::SubOperationNumber;
use crate::error::RecordError;
use crate::histogram::DurationHistogram;
use crate::sample::{Sample, SampleType};
use crate::window::MeasuredWindow;

/// Counts and histograms of operations. Those of several workers or several seconds can be added.
#[derive(Debug, Clone)]
pub struct OperationStats {
    /// Counters.
    pub counts: OperationCounts,
    /// Service time of successful operations.
    pub service_time: DurationHistogram,
    /// Latency of successful operations; `None` if there is no schedule, where it equals service time.
    pub latency: Option<DurationHistogram>,
    /// Lateness of all operations, except those whose connection could not be opened; `None` if there is no schedule.
    pub lateness: Option<DurationHistogram>,
    /// Processing time of successful operations; `None` for sub-operations.
    pub processing_time: Option<DurationHistogram>,
    /// Service time of failed operations; created with the first one.
    pub failed_service_time: Option<DurationHistogram>,
}

/// The statistics that one worker recorded for one second of a task.
#[derive(Debug, Clone)]
pub struct SecondStats {
    /// Position of the task in the plan.
    pub task_index: u32,
    /// The sub-operation; `None` for the whole operation.
    pub sub_operation: Option<SubOperationNumber>,
    /// Index of the second in which the operations ended, from the start of the task.
    pub second_index: u64,
    /// Whether the operations belong to the warm-up or are measured.
    pub sample_type: SampleType,
    /// Counts and histograms of the operations that ended in the second.
    pub stats: OperationStats,
}

/// Counters, summed over operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationCounts {
    /// Operations that ended.
    pub ended: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Operations that failed with an error that the engine itself reported; see [`crate::ErrorClass::is_reported`].
    pub reported: u64,
    /// The part of `reported` that failed only because the engine, or a proxy before it, could not keep up; see
    /// [`crate::Failure::is_overload`].
    pub overloaded: u64,
    /// Number of requests, including every attempt.
    pub requests: u64,
    /// Work done, in the task's unit.
    pub weight: u64,
    /// Work that was attempted and failed, in the task's unit.
    pub failed_weight: u64,
    /// Bytes written to sockets.
    pub bytes_out: u64,
    /// Bytes read from sockets.
    pub bytes_in: u64,
    /// Bytes of request bodies before compression.
    pub content_out: u64,
    /// Bytes of response bodies after decompression.
    pub content_in: u64,
    /// Connections that were opened again.
    pub reconnects: u64,
    /// The part of `weight` that was done within the measured window; see [`MeasuredWindow`].
    pub window_weight: u64,
    /// The part of `failed_weight` that was attempted within the measured window.
    pub window_failed_weight: u64,
    /// The part of `ended` that ended within the measured window.
    pub window_ended: u64,
    /// The part of `window_ended` that succeeded.
    pub window_succeeded: u64,
    /// The part of `ended` that was due before a planned window.
    pub due_before_window: u64,
    /// When the first operation was due that ended within the measured window, in nanoseconds since the task began;
    /// `u64::MAX` if there is none with a due time.
    pub window_first_due_ns: u64,
    /// When the last operation was due that ended within the measured window, in nanoseconds since the task began; `None`
    /// if there is none with a due time.
    pub window_last_due_ns: Option<u64>,
    /// Attempts after the first.
    pub retries: u64,
    /// Operations that were due before a client was free for them.
    pub waited: u64,
    /// When the earliest operation was sent, in nanoseconds since the task began; `u64::MAX` if there is none.
    pub earliest_sent_ns: u64,
    /// When the last operation ended, in nanoseconds since the task began; 0 if there is none.
    pub last_done_ns: u64,
}

impl Default for OperationCounts {
    fn default() -> Self {
        Self {
            ended: 0,
            failed: 0,
            reported: 0,
            overloaded: 0,
            requests: 0,
            weight: 0,
            failed_weight: 0,
            bytes_out: 0,
            bytes_in: 0,
            content_out: 0,
            content_in: 0,
            reconnects: 0,
            window_weight: 0,
            window_failed_weight: 0,
            window_ended: 0,
            window_succeeded: 0,
            due_before_window: 0,
            window_first_due_ns: u64::MAX,
            window_last_due_ns: None,
            retries: 0,
            waited: 0,
            earliest_sent_ns: u64::MAX,
            last_done_ns: 0,
        }
    }
}

impl OperationCounts {
    fn add(&mut self, sample: &Sample) {
        let Sample { times, result, traffic, .. } = sample;
        self.ended += 1;
        self.failed += u64::from(!sample.is_success());
        self.reported += u64::from(result.error_class.is_reported());
        self.requests += u64::from(traffic.requests);
        // A plug-in may return any weight.
        self.weight = self.weight.saturating_add(result.weight);
        self.failed_weight = self.failed_weight.saturating_add(result.failed_weight);
        self.bytes_out += traffic.bytes_out;
        self.bytes_in += traffic.bytes_in;
        self.content_out += traffic.content_out;
        self.content_in += traffic.content_in;
        self.reconnects += u64::from(traffic.reconnects);
        self.retries += u64::from(result.retries);
        self.waited += u64::from(times.waited());
        self.earliest_sent_ns = self.earliest_sent_ns.min(times.first_sent_ns);
        self.last_done_ns = self.last_done_ns.max(times.done_ns);
    }

    /// Adds an operation that ended within the measured window.
    fn add_to_window(&mut self, sample: &Sample) {
        let (weight, failed_weight) = (sample.result.weight, sample.result.failed_weight);
        self.window_weight = self.window_weight.saturating_add(weight);
        self.window_failed_weight = self.window_failed_weight.saturating_add(failed_weight);
        self.window_ended += 1;
        self.window_succeeded += u64::from(sample.is_success());
        if sample.times.paced {
            let due_ns = sample.times.due_ns;
            self.window_first_due_ns = self.window_first_due_ns.min(due_ns);
            self.window_last_due_ns = self.window_last_due_ns.max(Some(due_ns));
        }
    }

    /// Returns the time that the schedule gives to the operations of the window, in nanoseconds; `end_ns` is when they
    /// have had their time, or 0 if only the due times are known.
    pub(crate) fn due_span_ns(&self, end_ns: u64) -> u64 {
        let Some(last_ns) = self.window_last_due_ns else { return 0 };
        if end_ns > 0 {
            return end_ns.saturating_sub(self.window_first_due_ns);
        }
        // n operations have n - 1 intervals between them, and need n.
        let between_ns = last_ns.saturating_sub(self.window_first_due_ns);
        between_ns.saturating_add(between_ns / self.window_ended.saturating_sub(1).max(1))
    }

    /// Returns the fraction of operations that failed, or `None` if there are no operations.
    #[must_use]
    pub fn error_rate(&self) -> Option<f64> {
        (self.ended > 0).then(|| self.failed as f64 / self.ended as f64)
    }

    /// Adds the counters of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.ended += other.ended;
        self.failed += other.failed;
        self.reported += other.reported;
        self.overloaded += other.overloaded;
        self.requests += other.requests;
        self.weight = self.weight.saturating_add(other.weight);
        self.failed_weight = self.failed_weight.saturating_add(other.failed_weight);
        self.bytes_out += other.bytes_out;
        self.bytes_in += other.bytes_in;
        self.content_out += other.content_out;
        self.content_in += other.content_in;
        self.reconnects += other.reconnects;
        self.window_weight = self.window_weight.saturating_add(other.window_weight);
        self.window_failed_weight = self.window_failed_weight.saturating_add(other.window_failed_weight);
        self.window_ended += other.window_ended;
        self.window_succeeded += other.window_succeeded;
        self.due_before_window += other.due_before_window;
        self.window_first_due_ns = self.window_first_due_ns.min(other.window_first_due_ns);
        self.window_last_due_ns = self.window_last_due_ns.max(other.window_last_due_ns);
        self.retries += other.retries;
        self.waited += other.waited;
        self.earliest_sent_ns = self.earliest_sent_ns.min(other.earliest_sent_ns);
        self.last_done_ns = self.last_done_ns.max(other.last_done_ns);
    }
}

impl OperationStats {
    /// Creates empty statistics for the operations of a task; `paced` is whether the task has a schedule.
    ///
    /// # Errors
    ///
    /// The errors from [`DurationHistogram::new`].
    pub fn for_task(paced: bool) -> Result<Self, RecordError> {
        let if_paced = || paced.then(DurationHistogram::new).transpose();
        Ok(Self {
            latency: if_paced()?,
            lateness: if_paced()?,
            processing_time: Some(DurationHistogram::new()?),
            ..Self::service_time_only()?
        })
    }

    /// Creates empty statistics for sub-operations, with counts and service times only.
    ///
    /// # Errors
    ///
    /// The errors from [`DurationHistogram::new`].
    pub fn service_time_only() -> Result<Self, RecordError> {
        Ok(Self {
            counts: OperationCounts::default(),
            service_time: DurationHistogram::new()?,
            latency: None,
            lateness: None,
            processing_time: None,
            failed_service_time: None,
        })
    }

    /// Adds one operation; `window` is the measured window of the task.
    pub fn add(&mut self, sample: &Sample, window: MeasuredWindow) {
        self.counts.add(sample);
        self.counts.due_before_window += u64::from(window.begins_after_due(sample));
        if window.contains(sample) {
            self.counts.add_to_window(sample);
        }
        // The failure of a source has no due time, and one to open a connection sends nothing: neither has a lateness.
        if let Some(lateness) =
            self.lateness.as_mut().filter(|_| sample.times.paced && !sample.is_unconnected())
        {
            lateness.record(sample.times.lateness_ns());
        }
        if !sample.is_success() {
            self.add_failure(sample);
            return;
        }
        self.service_time.record(sample.times.service_ns());
        if let Some(processing_time) = &mut self.processing_time {
            processing_time.record(sample.times.processing_ns);
        }
        if let Some(latency) = &mut self.latency {
            latency.record(sample.times.latency_ns());
        }
    }

    fn add_failure(&mut self, sample: &Sample) {
        if sample.traffic.requests == 0 {
            // An operation without a request has no service time.
            return;
        }
        if self.failed_service_time.is_none() {
            self.failed_service_time = DurationHistogram::new().ok();
        }
        if let Some(failed) = &mut self.failed_service_time {
            failed.record(sample.times.service_ns());
        }
    }

    /// Adds the statistics of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        self.service_time.merge(&other.service_time);
        merge_optional(&mut self.processing_time, other.processing_time.as_ref());
        merge_optional(&mut self.latency, other.latency.as_ref());
        merge_optional(&mut self.lateness, other.lateness.as_ref());
        merge_optional(&mut self.failed_service_time, other.failed_service_time.as_ref());
    }

    /// Resets the counts and histograms, but keeps their memory.
    pub fn clear(&mut self) {
        self.counts = OperationCounts::default();
        self.service_time.clear();
        let optional =
            [&mut self.latency, &mut self.lateness, &mut self.processing_time, &mut self.failed_service_time];
        optional.into_iter().flatten().for_each(DurationHistogram::clear);
    }

    /// Returns whether nothing has been recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.ended == 0
    }
}

fn merge_optional(into: &mut Option<DurationHistogram>, from: Option<&DurationHistogram>) {
    match (into.as_mut(), from) {
        (Some(into), Some(from)) => into.merge(from),
        (None, Some(from)) => *into = Some(from.clone()),
        (_, None) => {}
    }
}
