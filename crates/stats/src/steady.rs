//! Determines whether a task was steady: looks for changes of level, and for drift, in its per-second values.
//!
//! 1. Seconds are grouped into at most 120 bins, each wide enough for several operations. CPU time and memory therefore
//!    do not grow with the length of the task, and anything shorter than a fiftieth of the task is not a change.
//! 2. Logarithms are taken, so that changes are relative. Outliers of one or two bins are replaced by the median of the
//!    values around them: a garbage collection is not a change of level.
//! 3. The noise is estimated from differences between neighbouring values, which neither a change nor a drift affects
//!    much. The estimate includes the correlation of neighbouring values; treating them as independent would find
//!    changes in mere noise.
//! 4. The levels that fit the values best are found exactly; each additional level costs [`PENALTY`]. A straight line is
//!    preferred if it does better at the cost of one level.
//! 5. The remaining changes are compared with [`MIN_EFFECT`], the smallest change that matters. If the noise could hide
//!    a change of [`MAX_HIDDEN`], the label is [`SteadyState::Unknown`].
//!
//! The constants come from a simulation, `examples/steady.rs`; `docs/measuring.md` shows its results.

use serde::Serialize;

use crate::noise::{long_run_variance, without_outliers};
use crate::quantile::median;
use crate::segments::{Fit, Line, Segment};

/// With fewer whole seconds or fewer bins than this, the label is unknown.
const MIN_SECONDS: usize = 20;
/// Maximum number of bins.
const MAX_BINS: usize = 120;
/// Minimum mean number of operations per bin.
const OPERATIONS_PER_BIN: u64 = 5;
/// The smallest change that matters, as a fraction of the level.
const MIN_EFFECT: f64 = 0.05;
/// If the noise could hide a lasting change of this fraction, the label is unknown.
const MAX_HIDDEN: f64 = 0.20;
/// A task has settled at its last level if that level lasts for at least this fraction of the window.
const SETTLED: f64 = 0.25;
/// The cost of a change of level, in units of the noise times the logarithm of the number of bins.
const PENALTY: f64 = 4.0;

/// The label of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SteadyState {
    /// The task had no change that matters.
    Steady,
    /// The task became faster.
    Warming,
    /// The task became slower.
    Slowing,
    /// The task became both faster and slower.
    NotSteady,
    /// The task was too short, had too few operations or too much noise for a label.
    Unknown,
}

/// The result of the steady-state check of a task; the module documentation describes the method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Steadiness {
    /// The label.
    pub state: SteadyState,
    /// Time from which there was no change that matters, in seconds since the task began; `null` if the task never
    /// settled.
    pub since_s: Option<f64>,
    /// The changes, in the order in which they occurred; empty for a steady task.
    pub changes: Vec<LevelChange>,
    /// The metric that determined the label: the first that changed, or otherwise the first for which there was enough
    /// data.
    pub by: Option<SteadinessMetric>,
    /// The smallest lasting change in the middle of the window that would have been detected, as a fraction of the
    /// level.
    pub smallest_share: Option<f64>,
}

/// A change of level, or a drift.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LevelChange {
    /// Time at which the change began, in seconds since the task began.
    pub from_s: f64,
    /// Time at which the change ended, in seconds since the task began; equals `from_s` for a change of level.
    pub to_s: f64,
    /// The level before, in the unit of the metric.
    pub before: f64,
    /// The level after, in the unit of the metric.
    pub after: f64,
    /// Relative change: `after / before - 1`.
    pub share: f64,
}

/// A per-second value that is checked for steadiness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SteadinessMetric {
    /// Work per second, in the task's unit.
    Throughput,
    /// Median service time, in milliseconds.
    ServiceTime,
    /// Median latency, in milliseconds.
    Latency,
}

/// The values of one second of a task.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaskSecond {
    /// Operations that ended in this second, warm-up included.
    pub operations: u64,
    /// Work done in this second, in the task's unit, warm-up included.
    pub weight: u64,
    /// The part of `weight` that was done in the measured window.
    pub window_weight: u64,
    /// Successful operations, from which the medians are computed.
    pub timed: u64,
    /// Median service time in milliseconds; `None` if no operation succeeded.
    pub service_ms: Option<f64>,
    /// Median latency in milliseconds; `None` for a task without a schedule or if no operation succeeded.
    pub latency_ms: Option<f64>,
}

impl Steadiness {
    /// Returns the result for too little data.
    fn unknown() -> Self {
        Self {
            state: SteadyState::Unknown,
            since_s: None,
            changes: Vec::new(),
            by: None,
            smallest_share: None,
        }
    }

    /// Checks the steadiness of a task from its values per second. `window` contains the indices of the seconds that
    /// are measured and complete.
    ///
    /// A schedule determines the throughput of its task, so only times are checked; without a schedule, work per second
    /// is checked too. The first metric that is not steady determines the label.
    #[must_use]
    pub fn of(seconds: &[TaskSecond], window: std::ops::Range<usize>, paced: bool) -> Self {
        let metrics: &[SteadinessMetric] = if paced {
            &[SteadinessMetric::ServiceTime, SteadinessMetric::Latency]
        } else {
            &[SteadinessMetric::Throughput, SteadinessMetric::ServiceTime]
        };
        let (begin, end) = (window.start, window.end.min(seconds.len()));
        let judgments =
            metrics.iter().filter_map(|metric| Judgment::of(seconds.get(begin..end)?, begin, *metric));
        let Some(Judgment { metric, trend, smallest }) = first_that_changes(judgments) else {
            return Self::unknown();
        };
        let mut since_s = trend.since.map(|since| since as f64);
        if trend.state == SteadyState::Steady && begin > 0 {
            // The steady part may have begun before the window.
            let whole = seconds.get(..end).and_then(|whole| Judgment::of(whole, 0, metric));
            since_s =
                since_s.zip(whole.and_then(|whole| whole.trend.since)).map(|(now, all)| now.min(all as f64));
        }
        Self {
            state: trend.state,
            since_s,
            changes: trend.changes,
            by: Some(metric),
            smallest_share: Some(smallest.exp_m1()),
        }
    }

    /// Returns the result for a task whose first measured operations waited for its warm-up until `gone_s`, in seconds
    /// since the task began. Its latency became shorter then, even if too few seconds show it.
    ///
    /// `None` is a backlog that lasted until the task ended. Whether such a queue became longer or shorter or stayed as
    /// it was is not known from the backlog, but from the latency of each second, which is already judged.
    #[must_use]
    pub fn with_backlog(self, gone_s: Option<f64>) -> Self {
        let Some(gone_s) = gone_s else { return self };
        let since_s = self.since_s.map(|since_s| since_s.max(gone_s));
        match self.state {
            SteadyState::Steady | SteadyState::Unknown => {
                Self { state: SteadyState::Warming, since_s, by: Some(SteadinessMetric::Latency), ..self }
            }
            SteadyState::Warming | SteadyState::Slowing | SteadyState::NotSteady => Self { since_s, ..self },
        }
    }
}

/// Returns the first judgment that is not steady, or otherwise the first one whose label is known.
fn first_that_changes(judgments: impl Iterator<Item = Judgment>) -> Option<Judgment> {
    let mut best: Option<Judgment> = None;
    for judgment in judgments {
        if !matches!(judgment.trend.state, SteadyState::Steady | SteadyState::Unknown) {
            return Some(judgment);
        }
        if best.as_ref().is_none_or(|best| best.trend.state == SteadyState::Unknown) {
            best = Some(judgment);
        }
    }
    best
}

/// The judgment of one metric.
struct Judgment {
    metric: SteadinessMetric,
    trend: Trend,
    /// Logarithm of the smallest relative change that would have been detected.
    smallest: f64,
}

/// The label and the changes of a series.
struct Trend {
    state: SteadyState,
    /// Start of the steady part: the index of a bin, later converted to a second.
    since: Option<usize>,
    changes: Vec<LevelChange>,
}

impl Judgment {
    /// Judges one metric, or returns `None` if there is too little data. `offset` is the index of the first second.
    fn of(seconds: &[TaskSecond], offset: usize, metric: SteadinessMetric) -> Option<Self> {
        let Bins { width, bins } = Bins::of(seconds, metric)?;
        let typical = median(bins.iter().map(|bin| bin.value).collect())?;
        let logs: Vec<f64> = bins.iter().map(|bin| bin.value.max(typical / 100.0).ln()).collect();
        if typical <= 0.0 {
            return None;
        }
        let filtered = without_outliers(&logs);
        let count = filtered.len() as f64;
        let penalty = long_run_variance(&filtered) * PENALTY * count.ln();
        // The smallest change of level in the middle of the series that outweighs its penalty.
        let smallest = 2.0 * (penalty / count).sqrt();
        let second = |bin: usize| offset + bins[bin].first;
        let direction = if metric == SteadinessMetric::Throughput { 1.0 } else { -1.0 };
        let trend = match Fit::of(&filtered, penalty) {
            Fit::Line(line) => {
                let end = offset + bins.last()?.first + width;
                Trend::drift(line, direction, second(0)..end)
            }
            Fit::Levels(levels) => Trend::steps(&levels, direction, logs.len(), &second),
        };
        let trend = match trend.state {
            SteadyState::Steady if smallest > MAX_HIDDEN.ln_1p() => {
                Trend { state: SteadyState::Unknown, since: None, ..trend }
            }
            _ => Trend { since: trend.since.map(second), ..trend },
        };
        Some(Self { metric, trend, smallest })
    }
}

impl Trend {
    fn steady() -> Self {
        Self { state: SteadyState::Steady, since: Some(0), changes: Vec::new() }
    }

    /// Returns the trend of logarithms that follow a line over these seconds; `direction` is 1 if larger values are
    /// faster, otherwise -1.
    fn drift(line: Line, direction: f64, seconds: std::ops::Range<usize>) -> Self {
        let rise = (line.to - line.from) * direction;
        if rise.abs() < MIN_EFFECT.ln_1p() {
            return Self::steady();
        }
        let state = if rise > 0.0 { SteadyState::Warming } else { SteadyState::Slowing };
        let change = LevelChange {
            to_s: seconds.end as f64,
            ..LevelChange::at(seconds.start as f64, line.from.exp(), line.to.exp())
        };
        Self { state, since: None, changes: vec![change] }
    }

    /// Returns the trend of logarithms with these levels; `second` returns the second in which a bin begins.
    fn steps(levels: &[Segment], direction: f64, bins: usize, second: &dyn Fn(usize) -> usize) -> Self {
        let Swings { rise, fall } = Swings::of(levels.iter().map(|segment| segment.level * direction));
        let state = match (rise >= MIN_EFFECT.ln_1p(), fall >= MIN_EFFECT.ln_1p()) {
            (false, false) => return Self::steady(),
            (true, false) => SteadyState::Warming,
            (false, true) => SteadyState::Slowing,
            (true, true) => SteadyState::NotSteady,
        };
        let settled = settled_at(levels);
        let since = ((bins - settled) as f64 >= SETTLED * bins as f64).then_some(settled);
        let changes = levels.windows(2).map(|pair| {
            LevelChange::at(second(pair[1].first) as f64, pair[0].level.exp(), pair[1].level.exp())
        });
        Self { state, since, changes: changes.collect() }
    }
}

impl LevelChange {
    fn at(second: f64, before: f64, after: f64) -> Self {
        Self { from_s: second, to_s: second, before, after, share: after / before - 1.0 }
    }
}

/// The values of a metric, in bins of equal width.
struct Bins {
    /// Width of a bin in seconds.
    width: usize,
    /// The bins that have a value.
    bins: Vec<Bin>,
}

struct Bin {
    /// Index of the first second of the bin.
    first: usize,
    value: f64,
}

impl Bins {
    /// Groups the seconds into bins, or returns `None` if there are too few.
    fn of(seconds: &[TaskSecond], metric: SteadinessMetric) -> Option<Self> {
        let operations: u64 = seconds.iter().map(|second| second.operations).sum();
        let count = seconds.len();
        if count < MIN_SECONDS {
            return None;
        }
        let for_operations = (count as u64 * OPERATIONS_PER_BIN).div_ceil(operations.max(1));
        let width = count.div_ceil(MAX_BINS).max(usize::try_from(for_operations).unwrap_or(usize::MAX));
        // The remainder is shorter than a bin. It is left out at the end, which cannot be warm-up.
        let bins = seconds.chunks_exact(width).enumerate().filter_map(|(bin, chunk)| {
            let times =
                |value: fn(&TaskSecond) -> Option<f64>| median(chunk.iter().filter_map(value).collect());
            let value = match metric {
                SteadinessMetric::Throughput => {
                    Some(chunk.iter().map(|second| second.weight).sum::<u64>() as f64 / width as f64)
                }
                SteadinessMetric::ServiceTime => times(|second| second.service_ms),
                SteadinessMetric::Latency => times(|second| second.latency_ms),
            };
            Some(Bin { first: bin * width, value: value? })
        });
        let bins: Vec<Bin> = bins.collect();
        (bins.len() >= MIN_SECONDS).then_some(Self { width, bins })
    }
}

/// The largest rise and the largest fall from any level to a later one.
struct Swings {
    rise: f64,
    fall: f64,
}

impl Swings {
    fn of(levels: impl Iterator<Item = f64>) -> Self {
        let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut swings = Self { rise: 0.0, fall: 0.0 };
        for level in levels {
            lowest = lowest.min(level);
            highest = highest.max(level);
            swings.rise = swings.rise.max(level - lowest);
            swings.fall = swings.fall.max(highest - level);
        }
        swings
    }
}

/// Returns the first bin of the last levels, those whose differences are too small to matter.
fn settled_at(levels: &[Segment]) -> usize {
    let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut first = 0;
    for segment in levels.iter().rev() {
        lowest = lowest.min(segment.level);
        highest = highest.max(segment.level);
        if highest - lowest >= MIN_EFFECT.ln_1p() {
            break;
        }
        first = segment.first;
    }
    first
}
