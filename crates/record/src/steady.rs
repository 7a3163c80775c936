//! Whether a task was steady: changes of level, and drift, in its per-second values.
//!
//! 1. Seconds are put into at most 120 bins, each wide enough for some operations, so that effort and memory do not
//!    grow with the task and what is shorter than a fiftieth of it is no change.
//! 2. Logarithms are taken, so that changes are shares, and outliers of one or two bins are replaced by the median
//!    around them: a collection of garbage is no change of level.
//! 3. The noise is estimated from differences of neighbours, which neither a change nor a drift disturbs much, with
//!    what neighbouring values have in common: they are not independent, and treating them so finds changes in noise.
//! 4. The levels that explain the values best are found exactly (optimal partitioning), each further level at the price
//!    of [`PENALTY`]. A straight line competes with them at the price of one.
//! 5. What is left is judged by [`EFFECT`], the smallest change that matters. Where the noise would have hidden a change
//!    of [`HIDDEN`], nothing is said.
//!
//! The constants come from a simulation, `examples/steady.rs`; `docs/measuring.md` has its outcome.

use serde::Serialize;

/// Fewer whole seconds than these, or fewer bins, are too few to tell.
const LEAST: usize = 20;
/// Most bins.
const MOST_BINS: usize = 120;
/// Operations that a bin should have, on average.
const OPERATIONS_PER_BIN: u64 = 5;
/// Bins of the shortest level.
const SHORTEST: usize = 5;
/// The smallest change that matters: a share of the level.
const EFFECT: f64 = 0.05;
/// Noise in which a lasting change of this share would not be noticed lets nobody tell.
const HIDDEN: f64 = 0.20;
/// The last level is what a task settled at if it holds for this share of the window.
const SETTLED: f64 = 0.25;
/// The price of a change, in units of the noise and of the logarithm of the number of bins.
const PENALTY: f64 = 4.0;
/// Neighbours are never taken to share more than this of their noise.
const MOST_COMMON: f64 = 0.8;
/// So many blocks of bins are compared by their means, to see the noise of slow waves.
const BLOCKS: usize = 12;
/// Noise is never taken to be below this share: recorded times have three digits.
const FINEST: f64 = 0.002;
/// Deviations beyond so many typical ones are outliers.
const OUTLIER: f64 = 3.0;
/// Typical deviation of a normal distribution / its median absolute deviation.
const NORMAL: f64 = 1.4826;

/// What a task's per-second values say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// No change that matters.
    Steady,
    /// It became faster.
    Warming,
    /// It became slower.
    Slowing,
    /// It became faster and slower.
    NotSteady,
    /// Too short, too few operations or too much noise to tell.
    Unknown,
}

/// Whether a task was steady; see the module documentation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Steadiness {
    /// The label.
    pub state: State,
    /// From when on nothing changed any more that matters, seconds since the task began; `null` if it never settled.
    pub since_s: Option<f64>,
    /// What changed, in order of time; empty for a steady task.
    pub changes: Vec<Change>,
    /// What it was judged by: the measure that changed, or else the first that could be judged.
    pub by: Option<Measure>,
    /// The smallest share by which its level could have changed for good, halfway, and been noticed.
    pub smallest_share: Option<f64>,
}

/// A change of level, or a drift.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// When it began, seconds since the task began.
    pub from_s: f64,
    /// When it was over; equals `from_s` for a change of level.
    pub to_s: f64,
    /// The level before, in the unit of the measure.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// `after / before - 1`.
    pub share: f64,
}

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Work per second, in the task's unit.
    Throughput,
    /// Median service time, milliseconds.
    ServiceTime,
    /// Median latency, milliseconds.
    Latency,
}

/// One second of a task.
#[derive(Debug, Clone, Copy, Default)]
pub struct Second {
    /// Operations that ended in it, warm-up included.
    pub operations: u64,
    /// Work done in it, likewise.
    pub work: u64,
    /// The part of `work` that was done in the measured window.
    pub window_work: u64,
    /// Operations that succeeded, of which the medians are.
    pub timed: u64,
    /// Median service time, `None` when nothing succeeded.
    pub service_ms: Option<f64>,
    /// Median latency of a task with a schedule, likewise.
    pub latency_ms: Option<f64>,
}

impl Steadiness {
    /// Nothing can be said.
    fn unknown() -> Self {
        Self { state: State::Unknown, since_s: None, changes: Vec::new(), by: None, smallest_share: None }
    }

    /// Judges a task by its seconds, of which those from `window.0` to `window.1` are measured and whole.
    ///
    /// With a schedule throughput is what the schedule says, and times decide; without one, work per second too. The
    /// measures are asked in turn, and the first that is not steady decides.
    #[must_use]
    pub fn of(seconds: &[Second], window: (usize, usize), paced: bool) -> Self {
        let measures: &[Measure] = if paced {
            &[Measure::ServiceTime, Measure::Latency]
        } else {
            &[Measure::Throughput, Measure::ServiceTime]
        };
        let (begin, end) = (window.0, window.1.min(seconds.len()));
        let judged = measures.iter().filter_map(|measure| {
            let course = Course::of(seconds.get(begin..end)?, begin, *measure)?;
            Some((*measure, course))
        });
        let Some((by, course)) = first_that_changes(judged) else { return Self::unknown() };
        let Course { state, since, changes, smallest } = course;
        let mut since_s = since.map(|since| since as f64);
        if state == State::Steady && begin > 0 {
            // How long it had been steady already.
            let whole = seconds.get(..end).and_then(|whole| Course::of(whole, 0, by));
            since_s = since_s.zip(whole.and_then(|whole| whole.since)).map(|(now, all)| now.min(all as f64));
        }
        Self { state, since_s, changes, by: Some(by), smallest_share: Some(smallest.exp_m1()) }
    }
}

/// The first that is not steady; otherwise the first of which that is known.
fn first_that_changes(judged: impl Iterator<Item = (Measure, Course)>) -> Option<(Measure, Course)> {
    let mut best: Option<(Measure, Course)> = None;
    for one in judged {
        if !matches!(one.1.state, State::Steady | State::Unknown) {
            return Some(one);
        }
        if best.as_ref().is_none_or(|best| best.1.state == State::Unknown) {
            best = Some(one);
        }
    }
    best
}

/// What one measure says.
struct Course {
    state: State,
    /// The second from which on it was steady.
    since: Option<usize>,
    changes: Vec<Change>,
    /// Logarithm of the smallest change that would have been noticed.
    smallest: f64,
}

impl Course {
    /// `None` when there is too little to tell; `offset` is the place of the first second.
    fn of(seconds: &[Second], offset: usize, measure: Measure) -> Option<Self> {
        let (width, bins) = bins(seconds, measure)?;
        let middle = median(bins.iter().map(|bin| bin.1).collect())?;
        let logs: Vec<f64> = bins.iter().map(|bin| bin.1.max(middle / 100.0).ln()).collect();
        if middle <= 0.0 {
            return None;
        }
        let (fit, smallest) = Fit::of(&without_outliers(&logs));
        let second = |bin: usize| offset + bins[bin].0;
        let better = if measure == Measure::Throughput { 1.0 } else { -1.0 };
        let end = (offset + bins.last()?.0 + width) as f64;
        let (state, since, changes) = match fit {
            Fit::Line { from, to } => drift((second(0) as f64, end), (from, to), better),
            Fit::Levels(levels) => steps(&levels, better, (logs.len(), &second)),
        };
        Some(match state {
            State::Steady if smallest > HIDDEN.ln_1p() => {
                Self { state: State::Unknown, since: None, changes, smallest }
            }
            _ => Self { state, since: since.map(second), changes, smallest },
        })
    }
}

/// State, bin since which it is steady, and changes.
type Judged = (State, Option<usize>, Vec<Change>);

fn drift(span: (f64, f64), ends: (f64, f64), better: f64) -> Judged {
    let rise = (ends.1 - ends.0) * better;
    if rise.abs() < EFFECT.ln_1p() {
        return (State::Steady, Some(0), Vec::new());
    }
    let state = if rise > 0.0 { State::Warming } else { State::Slowing };
    (state, None, vec![Change::new(span, (ends.0.exp(), ends.1.exp()))])
}

fn steps(levels: &[Level], better: f64, (bins, second): (usize, &dyn Fn(usize) -> usize)) -> Judged {
    let matters = EFFECT.ln_1p();
    let (rise, fall) = swings(levels.iter().map(|level| level.log * better));
    let state = match (rise >= matters, fall >= matters) {
        (false, false) => return (State::Steady, Some(0), Vec::new()),
        (true, false) => State::Warming,
        (false, true) => State::Slowing,
        (true, true) => State::NotSteady,
    };
    let settled = settled_at(levels);
    let since = ((bins - settled) as f64 >= SETTLED * bins as f64).then_some(settled);
    let changes = levels.windows(2).map(|pair| {
        let at = second(pair[1].first) as f64;
        Change::new((at, at), (pair[0].log.exp(), pair[1].log.exp()))
    });
    (state, since, changes.collect())
}

impl Change {
    fn new((from_s, to_s): (f64, f64), (before, after): (f64, f64)) -> Self {
        Self { from_s, to_s, before, after, share: after / before - 1.0 }
    }
}

/// The values of a measure in bins of equal width, each with the second it begins at; `None` when they are too few.
fn bins(seconds: &[Second], measure: Measure) -> Option<(usize, Vec<(usize, f64)>)> {
    let operations: u64 = seconds.iter().map(|second| second.operations).sum();
    let count = seconds.len();
    if count < LEAST {
        return None;
    }
    let for_operations = (count as u64 * OPERATIONS_PER_BIN).div_ceil(operations.max(1));
    let width = count.div_ceil(MOST_BINS).max(usize::try_from(for_operations).unwrap_or(usize::MAX));
    // What is left over is shorter than a bin; it is left out at the beginning only if that is warm-up, so at the end.
    let values = seconds.chunks_exact(width).enumerate().filter_map(|(bin, chunk)| {
        let times = |value: fn(&Second) -> Option<f64>| median(chunk.iter().filter_map(value).collect());
        let value = match measure {
            Measure::Throughput => {
                Some(chunk.iter().map(|second| second.work).sum::<u64>() as f64 / width as f64)
            }
            Measure::ServiceTime => times(|second| second.service_ms),
            Measure::Latency => times(|second| second.latency_ms),
        };
        Some((bin * width, value?))
    });
    let values: Vec<_> = values.collect();
    (values.len() >= LEAST).then_some((width, values))
}

/// Replaces what stands out from the two values on either side.
fn without_outliers(values: &[f64]) -> Vec<f64> {
    let around = |place: usize| &values[place.saturating_sub(2)..(place + 3).min(values.len())];
    let middles: Vec<f64> =
        (0..values.len()).map(|place| median(around(place).to_vec()).unwrap_or_default()).collect();
    let deviations = values.iter().zip(&middles).map(|(value, middle)| (value - middle).abs());
    let typical = NORMAL * median(deviations.collect()).unwrap_or_default();
    let most = OUTLIER * typical.max(FINEST);
    let kept = |(value, middle): (&f64, &f64)| if (value - middle).abs() > most { *middle } else { *value };
    values.iter().zip(&middles).map(kept).collect()
}

/// The variance that a sum of many values has per value: that of one value, and what neighbours have in common.
///
/// The larger of two estimates. One fits neighbours that have a share of each other (an autoregressive process of the
/// first order): from squared differences over one and over two places. The other compares means of neighbouring blocks,
/// which sees slower waves. Both leave out large differences: there the level changed.
fn noise(values: &[f64]) -> f64 {
    let apart = |places: usize| {
        let squares = values.windows(places + 1).map(|pair| (pair[places] - pair[0]).powi(2));
        trimmed_mean(&squares.collect::<Vec<_>>())
    };
    let (one, two) = (apart(1), apart(2));
    let common = if one > 0.0 { (two / one - 1.0).clamp(0.0, MOST_COMMON) } else { 0.0 };
    let neighbours = one * (1.0 + common) / (2.0 * (1.0 - common).powi(2));
    let mean = |block: &[f64]| block.iter().sum::<f64>() / block.len() as f64;
    let block = (values.len() / BLOCKS).max(SHORTEST);
    let blocks = values.windows(2 * block).map(|pair| (mean(&pair[block..]) - mean(&pair[..block])).powi(2));
    let waves = median(blocks.collect()).unwrap_or_default() * NORMAL.powi(2) * block as f64 / 2.0;
    neighbours.max(waves).max(FINEST.powi(2))
}

/// The mean of squared deviations without those of outliers.
fn trimmed_mean(squares: &[f64]) -> f64 {
    let Some(typical) = median(squares.to_vec()) else { return 0.0 };
    let most = typical * (NORMAL * OUTLIER).powi(2);
    let usual = squares.iter().filter(|square| **square <= most);
    let (sum, count) = usual.fold((0.0, 0.0), |(sum, count), square| (sum + square, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

/// What explains the values best.
enum Fit {
    Line { from: f64, to: f64 },
    Levels(Vec<Level>),
}

/// A stretch of bins with one level.
struct Level {
    first: usize,
    log: f64,
}

impl Fit {
    /// The fit, and the smallest change of level halfway that is worth its price.
    fn of(values: &[f64]) -> (Self, f64) {
        let sums = Sums::of(values);
        let count = values.len() as f64;
        let price = noise(values) * PENALTY * count.ln();
        let smallest = 2.0 * (price / count).sqrt();
        let (levels, cost) = sums.partition(price);
        let (line, off) = sums.line();
        if levels.len() > 1 && off + price < cost {
            return (Self::Line { from: line.0, to: line.1 }, smallest);
        }
        (Self::Levels(levels), smallest)
    }
}

/// Sums up to every place, for the squared error of any stretch in one step.
struct Sums {
    values: Vec<f64>,
    squares: Vec<f64>,
    weighted: Vec<f64>,
}

impl Sums {
    fn of(values: &[f64]) -> Self {
        let running = |value: &dyn Fn(usize) -> f64| {
            let mut sum = 0.0;
            let mut sums = vec![0.0];
            sums.extend((0..values.len()).map(|place| {
                sum += value(place);
                sum
            }));
            sums
        };
        Self {
            values: running(&|place| values[place]),
            squares: running(&|place| values[place].powi(2)),
            weighted: running(&|place| place as f64 * values[place]),
        }
    }

    fn len(&self) -> usize {
        self.values.len() - 1
    }

    fn mean(&self, from: usize, to: usize) -> f64 {
        (self.values[to] - self.values[from]) / (to - from) as f64
    }

    /// Squared error of one level from `from` up to `to`.
    fn error(&self, from: usize, to: usize) -> f64 {
        let sum = self.values[to] - self.values[from];
        (self.squares[to] - self.squares[from] - sum * sum / (to - from) as f64).max(0.0)
    }

    /// The levels with the smallest squared error, every change at a price; and that error with the prices.
    fn partition(&self, price: f64) -> (Vec<Level>, f64) {
        let count = self.len();
        // Best cost of the first `place` values, and where their last level begins.
        let mut best = vec![(f64::INFINITY, 0); count + 1];
        best[0] = (-price, 0);
        for place in SHORTEST..=count {
            for first in (0..=place - SHORTEST).filter(|first| *first == 0 || *first >= SHORTEST) {
                let cost = best[first].0 + price + self.error(first, place);
                if cost < best[place].0 {
                    best[place] = (cost, first);
                }
            }
        }
        let (mut levels, mut place) = (Vec::new(), count);
        while place > 0 {
            let first = best[place].1;
            levels.push(Level { first, log: self.mean(first, place) });
            place = first;
        }
        levels.reverse();
        (levels, best[count].0)
    }

    /// The straight line with the smallest squared error, by its ends; and that error.
    fn line(&self) -> ((f64, f64), f64) {
        let count = self.len();
        let n = count as f64;
        let (middle, mean) = ((n - 1.0) / 2.0, self.mean(0, count));
        let across = self.weighted[count] - middle * self.values[count];
        let spread = n * (n * n - 1.0) / 12.0;
        let slope = across / spread;
        let off = (self.error(0, count) - slope * across).max(0.0);
        // The ends are those of the first and the last bin, not their middles.
        ((mean - slope * n / 2.0, mean + slope * n / 2.0), off)
    }
}

/// The largest rise and the largest fall between any two levels, the earlier first.
fn swings(levels: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut rise, mut fall) = (0.0_f64, 0.0_f64);
    for level in levels {
        lowest = lowest.min(level);
        highest = highest.max(level);
        rise = rise.max(level - lowest);
        fall = fall.max(highest - level);
    }
    (rise, fall)
}

/// The first bin of the last levels that differ by less than what matters.
fn settled_at(levels: &[Level]) -> usize {
    let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut first = 0;
    for level in levels.iter().rev() {
        lowest = lowest.min(level.log);
        highest = highest.max(level.log);
        if highest - lowest >= EFFECT.ln_1p() {
            break;
        }
        first = level.first;
    }
    first
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    let count = values.len();
    if count == 0 {
        return None;
    }
    let (lower, upper) = ((count - 1) / 2, count / 2);
    let (_, high, _) = values.select_nth_unstable_by(upper, f64::total_cmp);
    let high = *high;
    let (_, low, _) = values.select_nth_unstable_by(lower, f64::total_cmp);
    Some(f64::midpoint(*low, high))
}
