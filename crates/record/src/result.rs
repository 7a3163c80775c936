//! The result of a task, as it is written to `race.json`, and its progress while it runs.

use pacenote_stats::{RankInterval, Steadiness, is_supported, rank, rank_interval};
use serde::Serialize;

use crate::failure::{ErrorGroup, ErrorTally};
use crate::histogram::Latencies;
use crate::sample::ErrorClass;

/// The percentiles every distribution carries.
const QUANTILES: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0];

/// Everything a task's numbers are made of. Only measured operations count where nothing else is said.
#[derive(Debug, Clone, Serialize)]
pub struct TaskResult {
    /// Name of the task.
    pub task: String,
    /// Name of the operation.
    pub operation: String,
    /// Type of the operation.
    pub operation_type: String,
    /// Position of the task in the plan.
    pub index: u32,
    /// Unit of the work.
    pub unit: String,
    /// Clients of the task.
    pub clients: u32,
    /// When the task began, seconds since the race's first step began.
    pub started_s: f64,
    /// From the task's beginning to its last reply, seconds, warm-up included.
    pub duration_s: f64,
    /// Length of the measured window, seconds.
    pub window_s: f64,
    /// Whether the task has a schedule.
    pub paced: bool,
    /// Whether its clients share their schedule: they are the most connections that may be in use.
    pub open_loop: bool,
    /// `null` when no work was done in the window.
    pub throughput: Option<Throughput>,
    /// Of successes.
    pub service_time: Option<Distribution>,
    /// Of successes; `null` without a schedule, where it equals service time.
    pub latency: Option<Distribution>,
    /// Of successes.
    pub processing_time: Option<Distribution>,
    /// Of all operations; `null` without a schedule.
    pub lateness: Option<Distribution>,
    /// Service time of failures.
    pub failed_service_time: Option<Distribution>,
    /// Where every operation went, warm-up included.
    pub accounting: Accounting,
    /// Warm-up included.
    pub work: Work,
    /// Bytes written to sockets for requests, what TLS adds included, warm-up too.
    pub bytes_out: u64,
    /// Bytes read from sockets for replies, likewise.
    pub bytes_in: u64,
    /// Bytes of request bodies before compression and TLS, warm-up included.
    pub content_out: u64,
    /// Bytes of reply bodies after TLS and unpacking, warm-up included.
    pub content_in: u64,
    /// Failed measured operations / measured operations.
    pub error_rate: f64,
    /// Most frequent first, warm-up included.
    pub errors: Vec<ErrorSummary>,
    /// Why the task ended.
    pub ended_by: EndedBy,
    /// Operations that waited for a parameter source in Python, warm-up included.
    pub underruns: u64,
    /// How long they waited, seconds, all clients added up.
    pub underrun_s: f64,
    /// Whether it was warm when it was measured, and stayed so.
    pub steady: Steadiness,
    /// What of it is in `samples.parquet`.
    pub samples: SamplesKept,
    /// The operations within its operation, in the order in which they were first seen.
    pub parts: Vec<PartResult>,
}

/// Samples of a task, those of operations within its operation included: in the file, and not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SamplesKept {
    /// In the file.
    pub kept: u64,
    /// Left out as asked for.
    pub left_out: u64,
    /// Lost because the disk was too slow.
    pub lost: u64,
    /// When the first ended that is not in the file, seconds since the task began; `null` if all are.
    pub from_s: Option<f64>,
}

/// What an operation within an operation came to. Those that were cut short by the failure of another are not counted.
#[derive(Debug, Clone, Serialize)]
pub struct PartResult {
    /// Its name.
    pub operation: String,
    /// Its type.
    pub operation_type: String,
    /// Of measured successes.
    pub service_time: Option<Distribution>,
    /// Of measured failures.
    pub failed_service_time: Option<Distribution>,
    /// How often it ended, warm-up included.
    pub operations: u64,
    /// How often it failed, warm-up included.
    pub failed: u64,
    /// Attempts after the first, warm-up included.
    pub retried: u64,
    /// Requests on the wire, warm-up included.
    pub requests: u64,
    /// Failed / ended, measured.
    pub error_rate: f64,
    /// Most frequent first, warm-up included.
    pub errors: Vec<ErrorSummary>,
}

/// Work per second in one-second windows of the measured window; `mean` is all work / its length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Throughput {
    /// Slowest second.
    pub min: f64,
    /// All work / length of the window.
    pub mean: f64,
    /// Middle second.
    pub median: f64,
    /// Fastest second.
    pub max: f64,
}

/// A distribution of durations in milliseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Distribution {
    /// How many.
    pub count: u64,
    /// Smallest, exact.
    pub min_ms: f64,
    /// Arithmetic mean, exact.
    pub mean_ms: f64,
    /// Largest, exact.
    pub max_ms: f64,
    /// 50, 90, 99, 99.9, 99.99 and 100.
    pub percentiles: Vec<Percentile>,
}

/// One percentile with the interval that 95 % certainty allows.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Percentile {
    /// In percent.
    pub q: f64,
    /// The value.
    pub ms: f64,
    /// Lower bound of its 95 % interval; `null` when there are too few values for one.
    pub low_ms: Option<f64>,
    /// Upper bound, likewise.
    pub high_ms: Option<f64>,
    /// Whether enough values carry it; see [`pacenote_stats::is_supported`].
    pub supported: bool,
}

/// Where operations went: `operations = succeeded + failed + unanswered`; a schedule planned `operations + unsent`.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Accounting {
    /// Begun.
    pub operations: u64,
    /// Succeeded.
    pub succeeded: u64,
    /// Failed.
    pub failed: u64,
    /// Begun, but the race ended before the reply came.
    pub unanswered: u64,
    /// Due within the task's time, but no client was free before it was over.
    pub unsent: u64,
    /// Sent late because no client was free when they were due.
    pub waited: u64,
    /// Attempts after the first.
    pub retried: u64,
    /// Ended during warm-up's share of the schedule.
    pub warmup: u64,
    /// Measured.
    pub normal: u64,
    /// Requests on the wire.
    pub requests: u64,
    /// Connections opened again while the task ran, because the host had closed the one before or it was broken.
    pub reconnects: u64,
}

/// Work in the task's unit.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Work {
    /// Done.
    pub done: u64,
    /// Attempted and failed, for example rejected documents.
    pub failed: u64,
}

/// Failures of one class, status and kind.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorSummary {
    /// For example `http-status`.
    pub error_class: String,
    /// The engine's error type and an example reason.
    pub reason: String,
    /// HTTP status, `null` if there was none.
    pub status: Option<u16>,
    /// Failed operations; for a bulk, rejected documents.
    pub count: u64,
    /// First time, seconds since the task began.
    pub first_s: f64,
    /// Last time, likewise.
    pub last_s: f64,
}

/// Why a task ended, by ascending precedence: the last that holds for any client is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// Its source was exhausted.
    Source,
    /// All its operations were done.
    Iterations,
    /// Its time was over.
    Time,
    /// Another task completed the step.
    CompletedBy,
    /// The user stopped the race.
    Stopped,
    /// An error ended the race.
    Aborted,
}

/// How a running task is doing.
#[derive(Debug, Clone, Serialize)]
pub struct TaskProgress {
    /// Name of the task.
    pub task: String,
    /// Unit of `rate`.
    pub unit: String,
    /// Nothing measured yet.
    pub warming_up: bool,
    /// 0 to 1, `null` when nobody can know.
    pub done_share: Option<f64>,
    /// Work per second in the last whole second.
    pub rate: f64,
    /// Median service time in the last whole second.
    pub p50_ms: Option<f64>,
    /// 99th percentile of the same.
    pub p99_ms: Option<f64>,
    /// Operations ended so far.
    pub operations: u64,
    /// Failed so far.
    pub errors: u64,
    /// Seconds left at the present pace.
    pub eta_s: Option<f64>,
}

impl Distribution {
    /// What a histogram says; `None` when it is empty.
    #[must_use]
    pub fn of(latencies: &Latencies) -> Option<Self> {
        let count = latencies.count();
        (count > 0).then(|| Self {
            count,
            min_ms: ms(latencies.min_ns()),
            mean_ms: latencies.mean_ns() / 1e6,
            max_ms: ms(latencies.max_ns()),
            percentiles: QUANTILES.iter().map(|q| Percentile::of(latencies, *q)).collect(),
        })
    }
}

impl Percentile {
    fn of(latencies: &Latencies, q: f64) -> Self {
        let count = latencies.count();
        let at = |rank| ms(latencies.at_rank(rank));
        // The largest value is what it is; it estimates no percentile of anything.
        let unbounded = RankInterval { low: None, high: None };
        let RankInterval { low, high } = if q < 1.0 { rank_interval(count, q) } else { unbounded };
        Self {
            q: q * 100.0,
            ms: at(rank(count, q)),
            low_ms: low.map(at),
            high_ms: high.map(at),
            supported: is_supported(count, q),
        }
    }
}

/// Nanoseconds as milliseconds.
#[must_use]
pub fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Nanoseconds as seconds.
#[must_use]
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Failures as they are written to `race.json`.
pub fn error_summaries(errors: &ErrorTally) -> Vec<ErrorSummary> {
    let summary = |(class, status, kind, group): (ErrorClass, u16, &str, &ErrorGroup)| ErrorSummary {
        error_class: class.name().to_owned(),
        reason: if kind.is_empty() { group.example.clone() } else { format!("{kind}: {}", group.example) },
        status: (status != 0).then_some(status),
        count: group.count,
        first_s: seconds(group.first_ns),
        last_s: seconds(group.last_ns),
    };
    errors.groups().into_iter().map(summary).collect()
}
