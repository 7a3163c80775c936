//! One second of one task, as one thread saw it.

use crate::error::RecordError;
use crate::histogram::Latencies;
use crate::sample::{Sample, SampleType};

/// Counts and histograms of the operations that one thread finished in one second of a task.
///
/// Windows of the same task, second and sample type add up, whoever recorded them.
#[derive(Debug, Clone)]
pub struct Window {
    /// Position of the task in the plan.
    pub task: u32,
    /// Number of the operation within, 0 for the whole operation; see [`crate::PartInfo`].
    pub part: u32,
    /// Which second since the task began, by the operations' ends.
    pub second: u64,
    /// Warm-up or measured.
    pub sample_type: SampleType,
    /// Counters.
    pub counts: Counts,
    /// Service time of successes.
    pub service: Latencies,
    /// Latency of successes; only tasks with a schedule have one of its own.
    pub latency: Option<Latencies>,
    /// Lateness of all operations; only tasks with a schedule have one.
    pub lateness: Option<Latencies>,
    /// Processing time of successes; only whole operations have one.
    pub processing: Option<Latencies>,
    /// Service time of failures, made when the first one comes.
    pub failed: Option<Latencies>,
}

/// Which work counts for throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasuredWindow {
    /// Work that ended within these bounds, nanoseconds since the task began, whenever it was begun: what is under way
    /// at the window's beginning makes up for what is under way at its end.
    Time {
        /// First nanosecond of the window.
        begin_ns: u64,
        /// First nanosecond after it.
        end_ns: u64,
    },
    /// Work of measured operations: the window is where they are.
    Operations,
}

impl MeasuredWindow {
    fn holds(self, sample: &Sample) -> bool {
        match self {
            Self::Time { begin_ns, end_ns } => (begin_ns..end_ns).contains(&sample.done_ns),
            Self::Operations => sample.sample_type == SampleType::Normal,
        }
    }
}

/// What can be summed over operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Operations that ended.
    pub operations: u64,
    /// Those that failed.
    pub errors: u64,
    /// Requests on the wire, every attempt.
    pub requests: u64,
    /// Work done, in the task's unit.
    pub weight: u64,
    /// Work attempted and failed.
    pub failed_weight: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes of request bodies before they were compressed.
    pub content_out: u64,
    /// Bytes of reply bodies, unpacked.
    pub content_in: u64,
    /// Connections that were opened again.
    pub reconnects: u64,
    /// The part of `weight` that was done within the measured window.
    pub window_weight: u64,
    /// Attempts after the first.
    pub retries: u64,
    /// Those that were due while no client was free.
    pub waited: u64,
    /// Earliest start of an operation, nanoseconds since the task began; `u64::MAX` when there is none.
    pub first_sent_ns: u64,
    /// Latest end of an operation, likewise; 0 when there is none.
    pub last_done_ns: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            operations: 0,
            errors: 0,
            requests: 0,
            weight: 0,
            failed_weight: 0,
            bytes_out: 0,
            bytes_in: 0,
            content_out: 0,
            content_in: 0,
            reconnects: 0,
            window_weight: 0,
            retries: 0,
            waited: 0,
            first_sent_ns: u64::MAX,
            last_done_ns: 0,
        }
    }
}

impl Counts {
    fn note(&mut self, sample: &Sample) {
        self.operations += 1;
        self.errors += u64::from(!sample.success);
        self.requests += u64::from(sample.requests);
        self.weight += sample.weight;
        self.failed_weight += sample.failed_weight;
        self.bytes_out += sample.bytes_out;
        self.bytes_in += sample.bytes_in;
        self.content_out += sample.content_out;
        self.content_in += sample.content_in;
        self.reconnects += u64::from(sample.reconnects);
        self.retries += u64::from(sample.retries);
        self.waited += u64::from(sample.waited());
        self.first_sent_ns = self.first_sent_ns.min(sample.first_sent_ns);
        self.last_done_ns = self.last_done_ns.max(sample.done_ns);
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: &Self) {
        self.operations += other.operations;
        self.errors += other.errors;
        self.requests += other.requests;
        self.weight += other.weight;
        self.failed_weight += other.failed_weight;
        self.bytes_out += other.bytes_out;
        self.bytes_in += other.bytes_in;
        self.content_out += other.content_out;
        self.content_in += other.content_in;
        self.reconnects += other.reconnects;
        self.window_weight += other.window_weight;
        self.retries += other.retries;
        self.waited += other.waited;
        self.first_sent_ns = self.first_sent_ns.min(other.first_sent_ns);
        self.last_done_ns = self.last_done_ns.max(other.last_done_ns);
    }
}

impl Window {
    /// An empty window. It is used again for second after second.
    ///
    /// # Errors
    ///
    /// As [`Latencies::new`].
    pub fn new(task: u32, sample_type: SampleType, paced: bool) -> Result<Self, RecordError> {
        let when_paced = || paced.then(Latencies::new).transpose();
        Ok(Self {
            task,
            part: 0,
            second: 0,
            sample_type,
            counts: Counts::default(),
            service: Latencies::new()?,
            latency: when_paced()?,
            lateness: when_paced()?,
            processing: Some(Latencies::new()?),
            failed: None,
        })
    }

    /// An empty window of an operation within.
    ///
    /// # Errors
    ///
    /// As [`Latencies::new`].
    pub fn of_part(task: u32, part: u32, sample_type: SampleType) -> Result<Self, RecordError> {
        Ok(Self {
            task,
            part,
            second: 0,
            sample_type,
            counts: Counts::default(),
            service: Latencies::new()?,
            latency: None,
            lateness: None,
            processing: None,
            failed: None,
        })
    }

    /// Adds one operation; `measured` is the task's measured window.
    pub fn note(&mut self, sample: &Sample, measured: MeasuredWindow) {
        self.counts.note(sample);
        if measured.holds(sample) {
            self.counts.window_weight += sample.weight;
        }
        if let Some(lateness) = &mut self.lateness {
            lateness.record(sample.lateness_ns());
        }
        if !sample.success {
            self.note_failure(sample);
            return;
        }
        self.service.record(sample.service_ns());
        if let Some(processing) = &mut self.processing {
            processing.record(sample.processing_ns);
        }
        if let Some(latency) = &mut self.latency {
            latency.record(sample.latency_ns());
        }
    }

    fn note_failure(&mut self, sample: &Sample) {
        if sample.requests == 0 {
            // Nothing was sent, so nothing took any service time.
            return;
        }
        if self.failed.is_none() {
            self.failed = Latencies::new().ok();
        }
        if let Some(failed) = &mut self.failed {
            failed.record(sample.service_ns());
        }
    }

    /// Adds all that another window holds.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        self.service.merge(&other.service);
        merge_optional(&mut self.processing, other.processing.as_ref());
        merge_optional(&mut self.latency, other.latency.as_ref());
        merge_optional(&mut self.lateness, other.lateness.as_ref());
        merge_optional(&mut self.failed, other.failed.as_ref());
    }

    /// Forgets everything but what it is for.
    pub fn clear(&mut self) {
        self.counts = Counts::default();
        self.service.clear();
        let optional = [&mut self.latency, &mut self.lateness, &mut self.processing, &mut self.failed];
        optional.into_iter().flatten().for_each(Latencies::clear);
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.operations == 0
    }
}

fn merge_optional(into: &mut Option<Latencies>, from: Option<&Latencies>) {
    match (into.as_mut(), from) {
        (Some(into), Some(from)) => into.merge(from),
        (None, Some(from)) => *into = Some(from.clone()),
        (_, None) => {}
    }
}
