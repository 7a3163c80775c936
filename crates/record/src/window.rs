//! The measured window of a task.

use crate::sample::{Sample, SampleType};

/// Which work counts for throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasuredWindow {
    /// Work that ended within these bounds, nanoseconds since the task began, whenever it began: what is in flight at
    /// the window's beginning makes up for what is in flight at its end.
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
    /// Whether the work of an operation counts.
    pub(crate) fn contains(self, sample: &Sample) -> bool {
        match self {
            Self::Time { begin_ns, end_ns } => (begin_ns..end_ns).contains(&sample.times.done_ns),
            Self::Operations => sample.sample_type == SampleType::Measured,
        }
    }
}
