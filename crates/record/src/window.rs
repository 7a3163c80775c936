//! The measured window of a task: the time to which its throughput refers.

use crate::sample::{Sample, SampleType};

/// The measured window of a task, which determines what work counts towards its throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasuredWindow {
    /// The work that ended within these bounds, in nanoseconds since the task began, no matter when it began.
    /// Operations in flight at the start of the window compensate for those in flight at its end.
    Time {
        /// First nanosecond of the window.
        begin_ns: u64,
        /// First nanosecond after the window.
        end_ns: u64,
    },
    /// The work of all measured operations, whose times determine the window.
    Operations,
    /// The work of the measured operations that ended before another task completed the step.
    OperationsUntil {
        /// First nanosecond after the window.
        end_ns: u64,
    },
}

impl MeasuredWindow {
    /// Returns the window of a task whose warm-up was drained until `begin_ns`, in nanoseconds since the task began.
    pub(crate) fn begun_at(self, begin_ns: u64) -> Self {
        match self {
            Self::Time { end_ns, .. } => Self::Time { begin_ns, end_ns },
            // Only operations that are due later are measured.
            Self::Operations | Self::OperationsUntil { .. } => self,
        }
    }

    /// Returns the window of a task whose step another task completed at `end_ns`, in nanoseconds since the task began.
    pub(crate) fn completed_at(self, end_ns: u64) -> Self {
        match self {
            Self::Time { begin_ns, end_ns: planned_ns } => {
                Self::Time { begin_ns, end_ns: end_ns.min(planned_ns) }
            }
            Self::Operations | Self::OperationsUntil { .. } => Self::OperationsUntil { end_ns },
        }
    }

    /// Returns whether the schedule of an operation asked for it before a planned window.
    pub(crate) fn begins_after_due(self, sample: &Sample) -> bool {
        let Self::Time { begin_ns, .. } = self else { return false };
        sample.times.paced && sample.times.due_ns < begin_ns
    }

    /// Returns whether the work of an operation counts.
    pub(crate) fn contains(self, sample: &Sample) -> bool {
        match self {
            Self::Time { begin_ns, end_ns } => (begin_ns..end_ns).contains(&sample.times.done_ns),
            Self::Operations => sample.sample_type == SampleType::Measured,
            Self::OperationsUntil { end_ns } => {
                sample.sample_type == SampleType::Measured && sample.times.done_ns < end_ns
            }
        }
    }
}
