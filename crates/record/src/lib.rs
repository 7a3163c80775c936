//! Records a race: samples, per-second statistics, totals, and the files that store them.
//!
//! Every worker owns a [`Recorder`], which counts its clients' operations and collects their times. Once a second, and
//! when a buffer is full, it sends [`Delivery`] messages to the [`Collector`]. The collector merges them, passes them
//! to the thread that writes the race folder, and turns each finished task into a [`TaskResult`]. This crate reads no
//! clock and opens no socket, and it does not allocate, lock or send anything per successful operation.
//!
//! The files, in the order in which an operation's data passes through them:
//!
//! | file or folder | contains |
//! | --- | --- |
//! | `sample.rs` | [`Sample`]: the measurements of one operation; [`ErrorClass`] |
//! | `failure.rs` | [`Failure`], [`FailureGroup`]: failures with their count, first and last time, and an example |
//! | `histogram.rs` | [`DurationHistogram`]: the configuration of all histograms, merging, values at ranks, encoding |
//! | `window.rs`, `window_counts.rs` | [`MeasuredWindow`]: which work counts for throughput, and how much that is |
//! | `operation_stats.rs` | [`OperationStats`]: counts and histograms of operations; [`SecondStats`]: those of one second |
//! | `catalog.rs` | [`TaskInfo`]: names of tasks and operations, by their numbers |
//! | `recorder/` | [`Recorder`]: one per worker |
//! | `delivery.rs` | [`Delivery`]: messages from recorders |
//! | `details.rs` | [`Details`]: what an operation reports besides its measurements, if the track asks for it |
//! | `buffers.rs`, `sender.rs` | [`BufferPool`], [`RecordSender`]: the buffers of samples, and the channel through which they are sent |
//! | `collector/` | [`Collector`]: merges, checks that the counts add up, computes results |
//! | `result.rs` | [`TaskResult`]: the result of a task, as written to `race.json` |
//! | `files/` | the thread that writes `samples.parquet` and `series.parquet` with its journal; `telemetry.parquet`; the recovery of these files after a kill |
//! | `stretches.rs` | the measured operations of a task by time, for intervals that allow for dependent ones |
//! | `merged_histogram.rs`, `merged_series.rs` | [`merged_percentiles`]: percentiles of the series of one race or of several |
//! | `telemetry.rs`, `telemetry_reader.rs`, `telemetry_cut.rs`, `node_restarts.rs` | [`TelemetrySeries`]: values sampled over time; reading them, and cutting them per task |
//! | `race_timeline.rs`, `arrivals.rs`, `telemetry_timeline.rs` | [`race_timeline`]: operations, arrivals and telemetry over time, in few points |
//! | `engine_time.rs` | [`engine_times`]: what the engine reports as `took`, and the service times |
//! | `sample_reader.rs` | [`SampleReader`]: the samples of a race, one row group at a time |
//! | `bounded_file.rs`, `page_headers.rs`, `column_reader.rs` | opening Parquet files within limits, and reading their columns |
//! | `table_file.rs` | [`TableFile`]: a Parquet file with any columns, for exports |
//! | `overhead.rs` | [`ClientOverhead`]: what the clients of a task did besides its operations |
//! | `client_span.rs` | [`ClientSpan`]: when a client was in a task |
//! | `surplus.rs` | what a window did beyond its own schedule, because the warm-up left it |
//! | `unsent.rs` | [`UnsentOperations`]: operations that were due, but did not begin |
//! | `error.rs`, `units.rs` | [`RecordError`]; conversion of nanoseconds to other units |
//!
//! Steady-state labels and percentile intervals are computed by `crates/stats`.

mod arrivals;
mod bounded_file;
mod buffers;
mod catalog;
mod client_span;
mod collector;
mod column_reader;
mod delivery;
mod details;
mod driver_time;
mod engine_time;
mod error;
mod failure;
mod files;
mod flights;
mod histogram;
mod merged_histogram;
mod merged_series;
mod node_restarts;
mod operation_stats;
mod overhead;
mod page_headers;
mod race_timeline;
mod recorder;
mod result;
mod sample;
mod sample_reader;
mod sender;
mod stretches;
mod surplus;
mod table_file;
mod telemetry;
mod telemetry_cut;
mod telemetry_reader;
mod telemetry_timeline;
mod units;
mod unsent;
mod warmup_backlog;
mod window;
mod window_counts;

pub use arrivals::{TaskArrivals, arrivals};
pub use buffers::{BufferPool, LostSamples, MissingSamples, RetentionPolicy, SampleDecision};
pub use catalog::{SubOperationInfo, SubOperationName, SubOperationNumber, TaskInfo};
pub use client_span::ClientSpan;
pub use collector::accounting::file_contradiction;
pub use collector::{Collector, FinishedTask};
pub use column_reader::SERIES_READER;
pub use delivery::{Delivery, WorkerTaskEnd};
pub use details::{Details, ReservedDetails, SampleBatch, SampleDetails};
pub use driver_time::{DriverTime, DriverTimeSummary};
pub use engine_time::{EngineTime, SampleLimit, engine_times};
pub use error::RecordError;
pub use failure::{Failure, FailureGroup, FailureGroups, FailureUnit};
pub use files::recover_files;
pub use files::telemetry_journal::TelemetryFile;
pub use files::writer::ClosedFiles;
pub use flights::FlightLog;
pub use histogram::DurationHistogram;
pub use merged_series::{
    MergedPercentile, MergedSeries, MergedTask, MergedTimes, UnreadSeries, merged_percentiles,
};
pub use operation_stats::{OperationCounts, OperationStats, SecondStats};
pub use overhead::{CleanUpSummary, CleanUps, ClientOverhead, UnsolicitedData};
pub use race_timeline::{PointTimes, RaceTimeline, TaskTimeline, TimelinePoint, race_timeline};
pub use recorder::{ClientEnd, Recorder, RecordingSettings, ServiceTimeTotals};
pub use result::{
    CensoredPercentile, DurationSummary, EndedBy, OperationTotals, Percentile, SampleCounts,
    SubOperationResult, TaskProgress, TaskResult, Throughput, WorkTotals,
};
pub use sample::{ErrorClass, OperationTimes, Sample, SampleResult, SampleType, Traffic};
pub use sample_reader::{SampleReader, StoredSample};
pub use sender::RecordSender;
pub use table_file::{ColumnKind, ColumnValues, TableColumn, TableFile};
pub use telemetry::{Point, SeriesKind, SeriesNumber, SeriesPoints, TaskWindow, TelemetrySeries};
pub use telemetry_cut::{CounterCut, CutWindow, GaugeCut, SeriesCut, cuts};
pub use telemetry_reader::{MeasuredPart, SeriesCuts, TelemetryCuts, telemetry_cuts, telemetry_points};
pub use telemetry_timeline::{SeriesTimeline, TimeGrid, telemetry_timeline};
pub use unsent::UnsentOperations;
pub use warmup_backlog::{
    ClientBacklogEnd, DrainSummary, DrainedWindow, WarmupBacklog, WarmupBacklogSummary,
};
pub use window::MeasuredWindow;
