//! Fits levels or a straight line to a series, to find its change points.
//!
//! The levels are found exactly, by optimal partitioning (Jackson et al., 2005): the segmentation with the smallest sum
//! of the squared error and a fixed penalty for each change of level. The straight line is preferred if it does better
//! at the cost of one change.

/// Minimum number of values in a segment.
pub const MIN_SEGMENT: usize = 5;

/// The model that fits a series best.
pub enum Fit {
    /// A straight line: the series drifts.
    Line(Line),
    /// One or more levels.
    Levels(Vec<Segment>),
}

/// A straight line, given by its values at both ends of the series.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// Value at the beginning of the series.
    pub from: f64,
    /// Value at the end of the series.
    pub to: f64,
}

/// A section of the series with a single level.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// Index of the first value.
    pub first: usize,
    /// Mean of the values.
    pub level: f64,
}

impl Fit {
    /// Fits levels and a line to the values. A change of level must reduce the squared error by more than `penalty`.
    pub fn of(values: &[f64], penalty: f64) -> Self {
        let sums = PrefixSums::of(values);
        let partition = sums.partition(penalty);
        let line = sums.line();
        if partition.segments.len() > 1 && line.cost + penalty < partition.cost {
            Self::Line(line.line)
        } else {
            Self::Levels(partition.segments)
        }
    }
}

/// The best segmentation of the series.
struct Partition {
    segments: Vec<Segment>,
    /// The squared error plus the penalties.
    cost: f64,
}

/// The best segmentation of the first values of the series.
#[derive(Debug, Clone, Copy)]
struct BestPrefix {
    /// The squared error plus the penalties.
    cost: f64,
    /// Index of the first value of the last segment.
    last_first: usize,
}

/// The straight line that fits best.
struct LineFit {
    line: Line,
    /// The squared error.
    cost: f64,
}

/// Prefix sums, from which the squared error of any segment is computed in constant time.
struct PrefixSums {
    values: Vec<f64>,
    squares: Vec<f64>,
    /// Sums of the values times their positions.
    weighted: Vec<f64>,
}

impl PrefixSums {
    fn of(values: &[f64]) -> Self {
        let running = |value: &dyn Fn(usize) -> f64| {
            let mut sum = 0.0;
            let mut sums = vec![0.0];
            sums.extend((0..values.len()).map(|index| {
                sum += value(index);
                sum
            }));
            sums
        };
        Self {
            values: running(&|index| values[index]),
            squares: running(&|index| values[index].powi(2)),
            weighted: running(&|index| index as f64 * values[index]),
        }
    }

    fn len(&self) -> usize {
        self.values.len() - 1
    }

    fn mean(&self, from: usize, to: usize) -> f64 {
        (self.values[to] - self.values[from]) / (to - from) as f64
    }

    /// Returns the squared error of a single level over `from..to`.
    fn error(&self, from: usize, to: usize) -> f64 {
        let sum = self.values[to] - self.values[from];
        (self.squares[to] - self.squares[from] - sum * sum / (to - from) as f64).max(0.0)
    }

    fn partition(&self, penalty: f64) -> Partition {
        let count = self.len();
        // For each `end`, the best segmentation of the values before it.
        let mut best = vec![BestPrefix { cost: f64::INFINITY, last_first: 0 }; count + 1];
        best[0].cost = -penalty;
        for end in MIN_SEGMENT..=count {
            for first in (0..=end - MIN_SEGMENT).filter(|first| *first == 0 || *first >= MIN_SEGMENT) {
                let cost = best[first].cost + penalty + self.error(first, end);
                if cost < best[end].cost {
                    best[end] = BestPrefix { cost, last_first: first };
                }
            }
        }
        let (mut segments, mut end) = (Vec::new(), count);
        while end > 0 {
            let first = best[end].last_first;
            segments.push(Segment { first, level: self.mean(first, end) });
            end = first;
        }
        segments.reverse();
        Partition { segments, cost: best[count].cost }
    }

    /// Returns the straight line with the smallest squared error.
    fn line(&self) -> LineFit {
        let count = self.len();
        let n = count as f64;
        let (middle, mean) = ((n - 1.0) / 2.0, self.mean(0, count));
        let covariance = self.weighted[count] - middle * self.values[count];
        let spread = n * (n * n - 1.0) / 12.0;
        let slope = covariance / spread;
        let cost = (self.error(0, count) - slope * covariance).max(0.0);
        // The line runs from the beginning of the first bin to the end of the last, not between their midpoints.
        let line = Line { from: mean - slope * n / 2.0, to: mean + slope * n / 2.0 };
        LineFit { line, cost }
    }
}
