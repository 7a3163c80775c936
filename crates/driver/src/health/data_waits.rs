//! Waits of the workers for the disk while they read data files.

use std::time::Duration;

use pacenote_corpus::LineFile;
use serde::Serialize;

use crate::units::nanos;

/// How long the workers waited for the disk because bytes of a data file were not in the page cache. A worker that waits
/// also reads the responses of its other clients late.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataWaits {
    /// Name of the step.
    pub step: String,
    /// Name of the file.
    pub file: String,
    /// Number of waits of all workers.
    pub waits: u64,
    /// Their total duration in seconds.
    pub waited_s: f64,
    /// Duration of the longest wait in milliseconds.
    pub longest_ms: f64,
    /// `waited_s` / (length of the step × number of workers).
    pub share: f64,
}

impl DataWaits {
    /// Returns the waits for a file since its waits were last set to zero, or `None` if there were none. The step took
    /// `length` on `worker_count` workers.
    pub fn of(file: &LineFile, step: &str, length: Duration, worker_count: usize) -> Option<Self> {
        let waits = file.disk_waits();
        let worker_ns = (nanos(length) as f64 * worker_count as f64).max(1.0);
        (waits.count > 0).then(|| Self {
            step: step.to_owned(),
            file: file.path().file_name().unwrap_or_default().to_string_lossy().into_owned(),
            waits: waits.count,
            waited_s: waits.total_ns as f64 / 1e9,
            longest_ms: waits.longest_ns as f64 / 1e6,
            share: waits.total_ns as f64 / worker_ns,
        })
    }
}
