//! Waits of a thread for the disk while it reads data files.

use std::time::Duration;

use pacenote_corpus::DiskWaits;
use serde::Serialize;

use crate::units::nanos;

/// How long a thread waited for the disk because bytes of data files were not in the page cache. Meanwhile, it did not
/// read the responses of its other clients.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataWaits {
    /// Name of the step.
    pub step: String,
    /// Name of the file with the longest wait.
    pub file: String,
    /// Number of waits.
    pub waits: u64,
    /// Their total duration in seconds.
    pub waited_s: f64,
    /// Duration of the longest wait in milliseconds.
    pub longest_ms: f64,
    /// `waited_s` / time for which the thread ran clients in the step.
    pub share: f64,
}

impl DataWaits {
    /// Returns the waits of a thread whose clients ran for `length` in a step, or `None` if there were none.
    pub fn of_step(step: &str, length: Duration, waits: &DiskWaits) -> Option<Self> {
        let name = waits.path.as_deref()?.file_name().unwrap_or_default();
        Some(Self {
            step: step.to_owned(),
            file: name.to_string_lossy().into_owned(),
            waits: waits.count,
            waited_s: waits.total_ns as f64 / 1e9,
            longest_ms: waits.longest_ns as f64 / 1e6,
            share: waits.total_ns as f64 / nanos(length).max(1) as f64,
        })
    }
}
