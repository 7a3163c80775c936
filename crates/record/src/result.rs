//! The result of a task, as written to `race.json`, and its progress while it runs.

use pacenote_stats::{RankInterval, Steadiness, dependent_rank_interval, is_supported, rank, rank_interval};
use serde::Serialize;

use crate::driver_time::DriverTimeSummary;
use crate::failure::FailureGroup;
use crate::histogram::DurationHistogram;
use crate::operation_stats::OperationStats;
use crate::overhead::{CleanUpSummary, UnsolicitedData};
use crate::stretches::{Kind, Stretches};
use crate::units::ms;
use crate::warmup_backlog::WarmupBacklogSummary;

/// The quantiles in every summary.
pub(crate) const QUANTILES: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0];

/// The result of a task, as written to `race.json`. Only measured operations count unless a field says otherwise.
#[derive(Debug, Clone, Serialize)]
pub struct TaskResult {
    /// Name of the task.
    pub task: String,
    /// Name of the operation.
    pub operation: String,
    /// Type of the operation.
    pub operation_type: String,
    /// Position of the task in the plan.
    #[serde(rename = "index")]
    pub task_index: u32,
    /// Unit of the work.
    pub unit: String,
    /// Number of clients of the task.
    pub clients: u32,
    /// When the task began, in seconds since the race's first step began.
    pub started_s: f64,
    /// Time from the start of the task to its last response, in seconds, warm-up included.
    pub duration_s: f64,
    /// Length of the measured window, in seconds.
    pub window_s: f64,
    /// When it began, in seconds since the task began.
    pub window_from_s: f64,
    /// Whether the task has a schedule.
    pub paced: bool,
    /// Whether its clients share their schedule; `clients` is then the maximum number of connections in use.
    pub open_loop: bool,
    /// Number of queues from which its clients took operations: 1 if they share their schedule, the number of clients
    /// if each has its own; `null` without a schedule.
    #[serde(rename = "queues")]
    pub queue_count: Option<u32>,
    /// Work per second; `null` if no work was done in the window.
    pub throughput: Option<Throughput>,
    /// Service time of successful operations.
    pub service_time: Option<DurationSummary>,
    /// Latency of successful operations; `null` without a schedule, where it equals service time.
    pub latency: Option<DurationSummary>,
    /// Percentiles of latency in which operations that did not succeed rank as infinitely long; empty without a
    /// schedule.
    pub latency_with_failures: Vec<CensoredPercentile>,
    /// Processing time of successful operations.
    pub processing_time: Option<DurationSummary>,
    /// Lateness of all operations; `null` without a schedule.
    pub lateness: Option<DurationSummary>,
    /// Service time of failed operations.
    pub failed_service_time: Option<DurationSummary>,
    /// The outcomes of all operations, warm-up included.
    #[serde(rename = "accounting")]
    pub operation_totals: OperationTotals,
    /// Operations that ended in the measured window, whatever their outcome.
    pub window_operations: u64,
    /// The part of these that succeeded.
    pub window_succeeded: u64,
    /// Measured operations that failed with an error that the engine itself reported, such as status 429 or a rejected
    /// document; a slow driver cannot cause these.
    pub reported_failures: u64,
    /// The part of `reported_failures` that failed only because the engine, or a proxy before it, could not keep up, for
    /// example with status 429.
    pub overload_failures: u64,
    /// Work done and failed, warm-up included.
    pub work: WorkTotals,
    /// Bytes written to sockets for requests, with TLS, warm-up included.
    pub bytes_out: u64,
    /// Bytes read from sockets for responses, with TLS, warm-up included.
    pub bytes_in: u64,
    /// Bytes of request bodies before compression and TLS, warm-up included.
    pub content_out: u64,
    /// Bytes of response bodies after TLS and decompression, warm-up included.
    pub content_in: u64,
    /// Failed measured operations / measured operations, 0 to 1; `null` if none was measured.
    pub error_rate: Option<f64>,
    /// Design effect of the failures: how many times as many operations as independent ones say the same about the error
    /// rate; `null` if too few stretches of time were measured. See [`pacenote_stats::design_effect`].
    pub error_design_effect: Option<f64>,
    /// Groups of failures, the most frequent first, warm-up included.
    pub errors: Vec<FailureGroup>,
    /// Why the task ended.
    pub ended_by: EndedBy,
    /// Operations that waited for a parameter source in Python, warm-up included.
    pub underruns: u64,
    /// Time that clients waited for them, in seconds, summed over all clients.
    pub underrun_s: f64,
    /// The driver's own work on its operations, compared with their service times; `null` if there is no operation to
    /// compare.
    pub driver_time: Option<DriverTimeSummary>,
    /// Time that requests waited for a connection to be opened, warm-up included, in seconds, summed over all clients.
    pub connecting_s: f64,
    /// Time of the measured window in which clients had left the task or, unless the window begins at a planned time, had
    /// not begun to be measured, in seconds, summed over all clients.
    pub absent_s: f64,
    /// Requests that clean up what its operations left in the engine, warm-up included.
    #[serde(rename = "cleanup")]
    pub clean_ups: CleanUpSummary,
    /// Data that servers sent without a request, warm-up included.
    pub unsolicited: UnsolicitedData,
    /// Whether the task was in a steady state while it was measured.
    pub steady: Steadiness,
    /// Measured operations that waited for operations of the warm-up.
    pub warmup_backlog: WarmupBacklogSummary,
    /// Counts of its samples that are in `samples.parquet`, and of those that are not.
    pub samples: SampleCounts,
    /// Its sub-operations, in the order in which they were first recorded.
    #[serde(rename = "parts")]
    pub sub_operations: Vec<SubOperationResult>,
}

/// Counts of the samples of a task, including those of sub-operations, that are in the file and that are not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SampleCounts {
    /// Samples sent to the file.
    pub kept: u64,
    /// Samples that were not kept because the race was configured so.
    pub left_out: u64,
    /// Samples dropped because the disk was too slow.
    pub lost: u64,
    /// Samples in the file without their details, because the disk was too slow.
    pub details_lost: u64,
    /// When the first operation whose sample is not in the file ended, in seconds since the task began; `null` if all
    /// samples are in the file.
    #[serde(rename = "from_s")]
    pub missing_from_s: Option<f64>,
}

/// The result of a sub-operation. Executions that were cancelled because a different sub-operation failed are not
/// counted.
#[derive(Debug, Clone, Serialize)]
pub struct SubOperationResult {
    /// Name of the sub-operation.
    pub operation: String,
    /// Type of the sub-operation.
    pub operation_type: String,
    /// Service time of measured successes.
    pub service_time: Option<DurationSummary>,
    /// Service time of measured failures.
    pub failed_service_time: Option<DurationSummary>,
    /// Number of times it ended, warm-up included.
    #[serde(rename = "operations")]
    pub ended: u64,
    /// Number of times it failed, warm-up included.
    pub failed: u64,
    /// Attempts after the first, warm-up included.
    pub retried: u64,
    /// Number of requests, including every attempt and the warm-up.
    pub requests: u64,
    /// Measured failures / measured executions, 0 to 1; `null` if none was measured.
    pub error_rate: Option<f64>,
    /// Groups of failures, the most frequent first, warm-up included.
    pub errors: Vec<FailureGroup>,
}

/// Work per second, in the task's unit, over the whole seconds of the measured window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Throughput {
    /// Work of the slowest second.
    pub min: f64,
    /// All work / length of the measured window.
    pub mean: f64,
    /// Median over the seconds.
    pub median: f64,
    /// Work of the fastest second.
    pub max: f64,
}

/// The distribution of one kind of duration.
#[derive(Debug, Clone, Serialize)]
pub struct DurationSummary {
    /// Number of durations.
    pub count: u64,
    /// The smallest duration, exact, in milliseconds.
    pub min_ms: f64,
    /// Arithmetic mean, exact, in milliseconds.
    pub mean_ms: f64,
    /// The largest duration, exact, in milliseconds.
    pub max_ms: f64,
    /// The percentiles 50, 90, 99, 99.9, 99.99 and 100.
    pub percentiles: Vec<Percentile>,
}

/// A percentile with its 95 % order-statistic interval, which allows for operations that depend on each other.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Percentile {
    /// The percentile, from 0 to 100.
    pub q: f64,
    /// Its value, in milliseconds.
    pub ms: f64,
    /// Lower bound of the interval, in milliseconds; `null` if there are too few values, or too few stretches of time to
    /// see how they depend on each other.
    pub low_ms: Option<f64>,
    /// Upper bound of the interval, in milliseconds; `null` if there are too few values, or too few stretches of time.
    pub high_ms: Option<f64>,
    /// Whether there would be enough values for this percentile if they were independent; see
    /// [`pacenote_stats::is_supported`].
    pub supported: bool,
}

/// A percentile of durations of which some never ended (they are *censored*), with the upper bound of its 95 %
/// order-statistic interval for independent durations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CensoredPercentile {
    /// The percentile, above 0 and below 100.
    pub q: f64,
    /// Its value, in milliseconds; `null` if it is a duration that never ended.
    pub ms: Option<f64>,
    /// Upper bound of the interval, in milliseconds; `null` if it is a duration that never ended, or if there are too
    /// few durations.
    pub high_ms: Option<f64>,
    /// Whether there are enough durations for this percentile; see [`pacenote_stats::is_supported`].
    pub supported: bool,
}

/// The outcomes of operations: `begun = succeeded + failed + unanswered`. `begun + unsent` operations were scheduled.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct OperationTotals {
    /// Operations that began.
    #[serde(rename = "operations")]
    pub begun: u64,
    /// Operations that succeeded.
    pub succeeded: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Operations that began but had received no response when their task was stopped.
    pub unanswered: u64,
    /// Operations that were due before the end of the task, whatever ended it, but did not begin.
    pub unsent: u64,
    /// Operations sent late because no client was free when they were due.
    pub waited: u64,
    /// Attempts after the first.
    pub retried: u64,
    /// Warm-up operations that ended.
    pub warmup: u64,
    /// Measured operations that ended.
    #[serde(rename = "normal")]
    pub measured: u64,
    /// Number of requests, including every attempt.
    pub requests: u64,
    /// Connections opened again while the task ran, because the host had closed the previous one or because it broke.
    pub reconnects: u64,
}

/// Work in the task's unit.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct WorkTotals {
    /// Work done.
    #[serde(rename = "done")]
    pub weight: u64,
    /// Work that was attempted and failed, for example rejected documents.
    #[serde(rename = "failed")]
    pub failed_weight: u64,
}

/// The reason why a task ended. The variants are in ascending precedence; of all the clients' reasons, the highest is
/// reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// Its source was exhausted.
    Source,
    /// All its operations were done.
    Iterations,
    /// Its time was over.
    Time,
    /// A different task completed the step.
    CompletedBy,
    /// The user stopped the race.
    Stopped,
    /// An error ended the race.
    Aborted,
}

/// Progress of a running task.
#[derive(Debug, Clone, Serialize)]
pub struct TaskProgress {
    /// Name of the task.
    pub task: String,
    /// Unit of `rate`.
    pub unit: String,
    /// Whether the task is still in its warm-up.
    pub warming_up: bool,
    /// Share of the task that is done, 0 to 1; `null` if it is unknown.
    pub done_share: Option<f64>,
    /// Work per second in the last whole second.
    pub rate: f64,
    /// Whether the task has a schedule, so that its percentiles are those of latency; otherwise they are those of
    /// service time.
    pub has_latency: bool,
    /// Median latency or service time in the last whole second, in milliseconds.
    pub p50_ms: Option<f64>,
    /// 99th percentile of latency or service time in the last whole second, in milliseconds.
    pub p99_ms: Option<f64>,
    /// 99th percentile of lateness in the last whole second, in milliseconds; `null` without a schedule.
    pub late_p99_ms: Option<f64>,
    /// Operations that have ended so far.
    #[serde(rename = "operations")]
    pub ended: u64,
    /// Operations that have failed so far.
    #[serde(rename = "errors")]
    pub failed: u64,
    /// Estimated remaining time in seconds.
    pub eta_s: Option<f64>,
}

impl DurationSummary {
    /// Returns the summary of one kind of duration of `stats`, or `None` if there is none. `stretches` has the same
    /// operations, by time.
    #[must_use]
    pub(crate) fn of(stats: &OperationStats, stretches: &Stretches, kind: Kind) -> Option<Self> {
        let histogram = kind.histogram(stats)?;
        let count = histogram.count();
        (count > 0).then(|| Self {
            count,
            min_ms: ms(histogram.min_ns()),
            mean_ms: histogram.mean_ns() / 1e6,
            max_ms: ms(histogram.max_ns()),
            percentiles: QUANTILES.iter().map(|q| Percentile::of(histogram, stretches, kind, *q)).collect(),
        })
    }
}

impl CensoredPercentile {
    /// Returns the percentiles below 100 of a histogram's durations and of `endless` more, which rank above all others.
    /// Empty without any duration.
    #[must_use]
    pub fn all(histogram: &DurationHistogram, endless: u64) -> Vec<Self> {
        let count = histogram.count() + endless;
        let at = |rank| (rank <= histogram.count()).then(|| ms(histogram.at_rank(rank)));
        let percentile = |q: f64| Self {
            q: q * 100.0,
            ms: at(rank(count, q)),
            high_ms: rank_interval(count, q).high.and_then(at),
            supported: is_supported(count, q),
        };
        let wanted = QUANTILES.iter().filter(|q| count > 0 && **q < 1.0);
        wanted.map(|q| percentile(*q)).collect()
    }
}

impl Percentile {
    fn of(histogram: &DurationHistogram, stretches: &Stretches, kind: Kind, q: f64) -> Self {
        let count = histogram.count();
        let at = |rank| ms(histogram.at_rank(rank));
        // The largest value is exact; it is not an estimate.
        let bounded = q < 1.0 && count > 0;
        let effect =
            bounded.then(|| stretches.effect_above(kind, histogram.bucket_end(rank(count, q)))).flatten();
        let unbounded = RankInterval { low: None, high: None };
        let RankInterval { low, high } =
            effect.map_or(unbounded, |effect| dependent_rank_interval(count, q, effect));
        Self {
            q: q * 100.0,
            ms: at(rank(count, q)),
            low_ms: low.map(|rank| ms(histogram.at_or_below_rank(rank))),
            high_ms: high.map(at),
            supported: is_supported(count, q),
        }
    }
}
