//! Series of telemetry over time, as means and maxima of the parts of a race.

use std::path::Path;

use serde::Serialize;

use crate::error::RecordError;
use crate::node_restarts::{NodeRestarts, began_again, is_uptime};
use crate::telemetry::{SeriesKind, SeriesPoints, TelemetrySeries};
use crate::telemetry_cut::longest_known_ns;
use crate::telemetry_reader::{MOST_POINTS, telemetry_points};
use crate::units::SECOND_NS;

/// Parts of a race that have the same length and follow one another.
#[derive(Debug, Clone, Copy)]
pub struct TimeGrid {
    /// Beginning of the first part, in nanoseconds since 1970.
    pub begin_ns: i64,
    /// Length of each part, in nanoseconds; not 0.
    pub length_ns: u64,
    /// Number of parts.
    pub parts: usize,
}

/// A series in the parts of a race.
#[derive(Debug, Serialize)]
pub struct SeriesTimeline {
    /// The series.
    #[serde(flatten)]
    pub series: TelemetrySeries,
    /// Mean of a gauge in each part, or growth of a counter per second; `None` where it is not known.
    pub mean: Vec<Option<f64>>,
    /// Largest value of a gauge in each part, or largest growth of a counter per second between two samples.
    pub max: Vec<Option<f64>>,
}

/// Returns the series of a `telemetry.parquet` file that `is_wanted` selects, in the parts of a race. Between two
/// samples that are not much further apart than usual, a value is assumed to change evenly; a counter has begun again
/// that becomes smaller, or whose node restarted.
///
/// # Errors
///
/// An error if the file does not exist, cannot be read or is damaged.
pub fn telemetry_timeline(
    path: &Path,
    grid: TimeGrid,
    is_wanted: impl Fn(&TelemetrySeries) -> bool + Send + Sync,
) -> Result<Vec<SeriesTimeline>, RecordError> {
    let found = telemetry_points(path, |series| is_wanted(series) || is_uptime(series), MOST_POINTS)?;
    let restarts = NodeRestarts::of(&found);
    let wanted = found.into_iter().filter(|each| is_wanted(&each.series));
    Ok(wanted.map(|each| in_parts(each, grid, &restarts)).collect())
}

/// What is known of a series in one part.
#[derive(Debug, Default, Clone, Copy)]
struct Part {
    total: f64,
    covered_s: f64,
    max: Option<f64>,
}

fn in_parts(series: SeriesPoints, grid: TimeGrid, restarts: &NodeRestarts) -> SeriesTimeline {
    let SeriesPoints { series, points } = series;
    let restarts_ns = restarts.of_series(&series);
    let mut parts = vec![Part::default(); grid.parts];
    let longest_ns = longest_known_ns(&points).unwrap_or_default();
    for pair in points.windows(2) {
        let (Some(old), Some(new)) = (pair[0].value, pair[1].value) else { continue };
        let is_counter = series.kind == SeriesKind::Counter;
        let length_ns = pair[1].time_ns.saturating_sub(pair[0].time_ns);
        let is_reset = || began_again(restarts_ns, (pair[0].time_ns, old), (pair[1].time_ns, new));
        if length_ns <= 0 || length_ns > longest_ns || (is_counter && is_reset()) {
            continue;
        }
        let (mean, max) = if is_counter {
            let rate = (new - old) / seconds_between(pair[0].time_ns, pair[1].time_ns);
            (rate, rate)
        } else {
            (f64::midpoint(old, new), old.max(new))
        };
        for (number, seconds) in grid.overlaps(pair[0].time_ns, pair[1].time_ns) {
            let part = &mut parts[number];
            part.total += mean * seconds;
            part.covered_s += seconds;
            part.max = Some(part.max.map_or(max, |known| known.max(max)));
        }
    }
    let mean = |part: &Part| (part.covered_s > 0.0).then(|| part.total / part.covered_s);
    SeriesTimeline {
        series,
        mean: parts.iter().map(mean).collect(),
        max: parts.iter().map(|part| part.max).collect(),
    }
}

fn seconds_between(begin_ns: i64, end_ns: i64) -> f64 {
    end_ns.saturating_sub(begin_ns) as f64 / SECOND_NS as f64
}

impl TimeGrid {
    /// Yields the parts that an interval overlaps with, each with the length of the overlap in seconds.
    fn overlaps(self, begin_ns: i64, end_ns: i64) -> impl Iterator<Item = (usize, f64)> {
        let part_of = |time_ns: i64| {
            let since = u64::try_from(time_ns.saturating_sub(self.begin_ns)).unwrap_or_default();
            usize::try_from(since / self.length_ns).unwrap_or(usize::MAX).min(self.parts)
        };
        let end = (part_of(end_ns).saturating_add(1)).min(self.parts);
        (part_of(begin_ns)..end).filter_map(move |number| {
            let offset = u64::try_from(number).ok()?.saturating_mul(self.length_ns);
            let begin = self.begin_ns.saturating_add(i64::try_from(offset).ok()?);
            let end = begin.saturating_add(i64::try_from(self.length_ns).ok()?);
            let seconds = seconds_between(begin.max(begin_ns), end.min(end_ns));
            (seconds > 0.0).then_some((number, seconds))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::telemetry::Point;

    const S: i64 = 1_000_000_000;

    fn found(kind: SeriesKind, points: &[(f64, Option<f64>)]) -> SeriesTimeline {
        let series = TelemetrySeries {
            source: "host".into(),
            name: "x".into(),
            unit: String::new(),
            kind,
            labels: BTreeMap::new(),
        };
        #[allow(clippy::cast_possible_truncation, reason = "the times of the tests are short")]
        let at = |seconds: f64| 100 * S + (seconds * 1e9) as i64;
        let points: Vec<_> =
            points.iter().map(|(seconds, value)| Point { time_ns: at(*seconds), value: *value }).collect();
        let grid = TimeGrid { begin_ns: 100 * S, length_ns: 2 * SECOND_NS, parts: 3 };
        in_parts(SeriesPoints { series, points }, grid, &NodeRestarts::default())
    }

    #[test]
    fn a_counter_has_its_growth_per_second_in_each_part() {
        let counter = |points: &[(f64, Option<f64>)]| found(SeriesKind::Counter, points);
        let whole = counter(&[(-1.0, Some(0.0)), (1.0, Some(20.0)), (3.0, Some(20.0)), (7.0, Some(60.0))]);
        assert_eq!(whole.mean, [Some(5.0), Some(5.0), Some(10.0)]);
        assert_eq!(whole.max, [Some(10.0), Some(10.0), Some(10.0)]);
        let reset =
            counter(&[(0.0, Some(50.0)), (2.0, Some(0.0)), (4.0, Some(4.0)), (5.0, None), (6.0, Some(9.0))]);
        assert_eq!(reset.mean, [None, Some(2.0), None]);
    }

    #[test]
    fn minutes_without_samples_are_not_known() {
        let points: Vec<_> = [(-3.0, 1.0), (-2.0, 1.0), (-1.0, 1.0), (0.0, 1.0), (1.0, 1.0), (200.0, 90.0)]
            .map(|(seconds, value)| (seconds, Some(value)))
            .to_vec();
        for kind in [SeriesKind::Counter, SeriesKind::Gauge] {
            let timeline = found(kind, &points);
            assert!(timeline.mean[0].is_some() && timeline.mean[1..] == [None, None], "{timeline:?}");
        }
    }

    #[test]
    fn a_gauge_has_its_mean_and_its_largest_value_in_each_part() {
        let gauge = |points: &[(f64, Option<f64>)]| found(SeriesKind::Gauge, points);
        let whole = gauge(&[(0.0, Some(1.0)), (2.0, Some(3.0)), (3.0, Some(7.0)), (6.0, Some(7.0))]);
        assert_eq!(whole.mean, [Some(2.0), Some(6.0), Some(7.0)]);
        assert_eq!(whole.max, [Some(3.0), Some(7.0), Some(7.0)]);
        assert_eq!(gauge(&[(10.0, Some(1.0)), (12.0, Some(1.0))]).mean, [None; 3]);
        assert_eq!(gauge(&[(1.0, Some(1.0))]).mean, [None; 3]);
    }
}
