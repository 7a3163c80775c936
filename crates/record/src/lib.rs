//! What happened in a race: samples, per-second windows, totals and the files that keep them.
//!
//! Every driver thread owns a [`Recorder`]; it changes. Full buffers travel to one [`Collector`], which merges them,
//! appends them to the race folder and turns a finished task into a [`TaskResult`]; that does not change. Nothing here
//! reads a clock or opens a socket, and nothing is allocated, locked or sent per request: buffers are handed over when
//! full or once a second, and come back empty.
//!
//! # Layout
//!
//! | file | holds |
//! | --- | --- |
//! | `sample.rs` | [`Sample`], [`SampleType`], [`ErrorClass`]: one operation as it was seen |
//! | `histogram.rs` | the one histogram configuration, merging, values at ranks, encoding |
//! | `interval.rs` | which ranks bound a percentile, and whether enough samples carry it |
//! | `window.rs` | [`Window`]: counts and histograms of one second of one task; [`MeasuredWindow`] |
//! | `errors.rs` | [`ErrorTally`]: error classes with count, first and last time, example reason |
//! | `ledger.rs` | [`Ledger`], [`Rows`]: do the figures add up? |
//! | `parts.rs` | operations within an operation, and their totals |
//! | `recorder.rs` | [`Recorder`], [`Delivery`]: one per thread |
//! | `totals.rs` | a task's totals over all threads |
//! | `steady.rs` | [`Steadiness`]: whether a task was steady, from its seconds |
//! | `summary.rs` | [`TaskResult`] and its parts, as they are written to `race.json` |
//! | `collector.rs` | [`Collector`]: merges deliveries, finishes tasks |
//! | `buffers.rs` | [`Spare`]: buffers of samples; [`Keep`]: which samples are kept |
//! | `writer.rs` | the thread that writes the files |
//! | `columns.rs` | what both Parquet files share |
//! | `samples_file.rs` | `samples.parquet` |
//! | `series_file.rs` | `series.parquet`, and the journal that survives a kill |

mod buffers;
mod collector;
mod columns;
mod errors;
mod histogram;
mod interval;
mod ledger;
mod parts;
mod recorder;
mod sample;
mod samples_file;
mod series_file;
mod steady;
mod summary;
mod totals;
mod window;
mod writer;

pub use buffers::{Keep, Missing, Spare};
pub use collector::{Collector, TaskEnd, TaskInfo};
pub use errors::{ErrorNote, ErrorTally};
pub use histogram::Latencies;
pub use ledger::{Ledger, Rows, on_disk};
pub use parts::PartInfo;
pub use recorder::{Delivery, Outgoing, Recorder, TaskEnded};
pub use sample::{ErrorClass, Sample, SampleType};
pub use steady::{Change, Measure, Second, State, Steadiness};
pub use summary::{
    Accounting, Distribution, EndedBy, ErrorSummary, PartResult, Percentile, SamplesKept, TaskProgress,
    TaskResult, Throughput, Work,
};
pub use window::{MeasuredWindow, Window};

use series_file::Journal;

/// Why something could not be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A file of the race folder could not be written or read.
    #[error("cannot record to {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A Parquet file could not be written or read.
    #[error("cannot record to {path}: {source}")]
    Parquet {
        /// The file.
        path: String,
        /// What the Parquet library said.
        source: parquet::errors::ParquetError,
    },
    /// The system refused a thread.
    #[error("cannot record: the system refused a thread: {0}")]
    Thread(std::io::Error),
    /// The thread that writes has died. This is a defect of the driver.
    #[error("cannot record: the writing thread ended unexpectedly")]
    Died,
    /// The disk takes nothing.
    #[error("cannot record: the disk is so slow that the seconds of a whole hour wait for it")]
    Stalled,
    /// A histogram could not be encoded or decoded.
    #[error("a histogram cannot be {0}")]
    Histogram(&'static str),
}

impl RecordError {
    fn file(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), source }
    }

    fn parquet(path: &std::path::Path, source: parquet::errors::ParquetError) -> Self {
        Self::Parquet { path: path.display().to_string(), source }
    }
}

/// Completes the files of a race that was killed, or could not complete them itself, up to what was handed to the kernel;
/// tells how many rows were completed, or `None` when there is nothing to complete or the race still runs.
///
/// # Errors
///
/// When the folder cannot be read or written; what is there then stays as it is.
pub fn recover_series(folder: &std::path::Path) -> Result<Option<u64>, RecordError> {
    let journal = series_file::journal(folder)?;
    if journal == Journal::Held {
        return Ok(None);
    }
    let samples = samples_file::restore(folder)?;
    let seconds = (journal == Journal::Left).then(|| series_file::complete(folder)).transpose()?;
    Ok(seconds.or(samples))
}
