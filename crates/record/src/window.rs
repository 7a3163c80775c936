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
}

impl MeasuredWindow {
    /// Returns whether the work of an operation counts.
    pub(crate) fn contains(self, sample: &Sample) -> bool {
        match self {
            Self::Time { begin_ns, end_ns } => (begin_ns..end_ns).contains(&sample.times.done_ns),
            Self::Operations => sample.sample_type == SampleType::Measured,
        }
    }
}
