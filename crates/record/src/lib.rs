//! What happened in a race: samples, per-second windows, totals and the files that keep them.
//!
//! Every driver thread owns a [`Recorder`]; it changes. Full buffers travel to one [`Collector`], which merges them,
//! appends them to the race folder and turns a finished task into a [`TaskResult`]; that does not change. Nothing here
//! reads a clock or opens a socket, and nothing is allocated, locked or sent per request: buffers are handed over when
//! full or once a second, and come back empty.
//!
//! # Layout
//!
//! | file or folder | holds |
//! | --- | --- |
//! | `sample.rs` | [`Sample`], [`SampleType`], [`ErrorClass`]: one operation as it was seen |
//! | `failure.rs` | failures of one kind with count, first and last time, example reason |
//! | `histogram.rs` | the one histogram configuration, merging, values at ranks, encoding |
//! | `window.rs` | [`Window`]: counts and histograms of one second of one task; [`MeasuredWindow`] |
//! | `catalog.rs` | what tasks and the operations within their operations are called |
//! | `result.rs` | [`TaskResult`] and what it consists of, as written to `race.json` |
//! | `buffers.rs` | buffers of samples, and which samples are kept |
//! | `delivery.rs`, `sender.rs` | what recorders send to the collector, and the way there |
//! | `recorder/` | [`Recorder`]: one per thread |
//! | `collector/` | [`Collector`]: merges deliveries, checks that they add up, finishes tasks |
//! | `files/` | the thread that writes; `samples.parquet`, `series.parquet` and its journal |
//!
//! Whether a task was steady, and how far a percentile can be trusted, is computed by `crates/stats`.

mod buffers;
mod catalog;
mod collector;
mod delivery;
mod error;
mod failure;
mod files;
mod histogram;
mod recorder;
mod result;
mod sample;
mod sender;
mod window;

pub use buffers::{Keep, Missing, Spare};
pub use catalog::{PartInfo, TaskInfo};
pub use collector::accounting::{Ledger, Rows, on_disk};
pub use collector::{Collector, TaskEnd};
pub use delivery::{Delivery, TaskEnded};
pub use error::RecordError;
pub use failure::{ErrorNote, ErrorTally};
pub use files::recover_series;
pub use histogram::Latencies;
pub use recorder::Recorder;
pub use result::{
    Accounting, Distribution, EndedBy, ErrorSummary, PartResult, Percentile, SamplesKept, TaskProgress,
    TaskResult, Throughput, Work,
};
pub use sample::{ErrorClass, Sample, SampleType};
pub use sender::Outgoing;
pub use window::{MeasuredWindow, Window};
