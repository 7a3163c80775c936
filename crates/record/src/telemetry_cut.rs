//! Cuts a series to a task, or to its measured window: what a counter has counted in it, and the values of a gauge.

use serde::Serialize;

use crate::node_restarts::began_again;
use crate::telemetry::{Point, SeriesKind, TaskWindow};

/// How much longer than the usual interval two samples may be apart for the time between them to be known.
const MAX_INTERVALS: i64 = 3;

/// How far two samples may be apart in any case, because devices that sample every few seconds also sample when a task
/// ends: after many short tasks, the usual interval is short.
const ALWAYS_KNOWN_NS: i64 = 30_000_000_000;

/// How long after the end of a task a gauge may be read to belong to it: devices that sample when a task ends do it a
/// little later.
const AFTER_END_NS: i64 = 50_000_000;

/// The part of the time that the samples around a window cover which the window must fill: otherwise, most of what was
/// counted between them was counted outside of it.
const LEAST_FILLED: f64 = 0.5;

/// What a series says about the time of a task; its serialized form has no tag, because the kind of the series is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SeriesCut {
    /// What a counter has counted.
    Counter(CounterCut),
    /// The values of a gauge.
    Gauge(GaugeCut),
}

/// What a counter has counted in the time of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct CounterCut {
    /// By how much it has grown, in its unit. Between two samples, it is assumed to grow evenly.
    pub increase: f64,
    /// The part of the task in which that is known, in seconds.
    pub covered_s: f64,
    /// The time between the samples from which that is known, in seconds: the part of it that is not in `covered_s` was
    /// before or after the task, and what was counted in it may belong to another task.
    pub span_s: f64,
    /// The largest growth per second between two samples within the task; `None` if there are none.
    pub peak_per_s: Option<f64>,
    /// Number of samples within the task.
    pub samples: u64,
    /// Number of times within the task at which it could not be read.
    pub gaps: u64,
    /// How often it has begun again; what it counted between these samples is not known.
    pub resets: u64,
}

/// The values of a gauge in the time of a task.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GaugeCut {
    /// The first value.
    pub first: f64,
    /// The last value.
    pub last: f64,
    /// The smallest value.
    pub min: f64,
    /// The mean of all values.
    pub mean: f64,
    /// The largest value.
    pub max: f64,
    /// Number of values within the task.
    pub samples: u64,
    /// Number of times within the task at which it could not be read.
    pub gaps: u64,
}

/// A time to which series are cut: a task, or a part of it.
#[derive(Debug, Clone, Copy)]
pub struct CutWindow {
    /// Its beginning, in nanoseconds since 1970.
    pub begin_ns: i64,
    /// Its end, in nanoseconds since 1970.
    pub end_ns: i64,
    /// The beginning of the task.
    pub task_begin_ns: i64,
    /// The end of the task.
    pub task_end_ns: i64,
}

impl CutWindow {
    /// Returns the whole time of a task.
    #[must_use]
    pub fn of(task: &TaskWindow) -> Self {
        let TaskWindow { begin_ns, end_ns, .. } = *task;
        Self { begin_ns, end_ns, task_begin_ns: begin_ns, task_end_ns: end_ns }
    }

    /// Returns the window from the sample before it to the sample after it, or to where the task begins or ends.
    fn between_samples(self, points: &[Point]) -> Self {
        let known = |point: &&Point| point.value.is_some();
        let before = points.partition_point(|point| point.time_ns <= self.begin_ns);
        let after = points.partition_point(|point| point.time_ns < self.end_ns);
        let last = points[..before].iter().rfind(known).map(|point| point.time_ns);
        let next = points[after..].iter().find(known).map(|point| point.time_ns);
        Self {
            begin_ns: last.map_or(self.task_begin_ns, |at| at.max(self.task_begin_ns)),
            end_ns: next.map_or(self.task_end_ns, |at| at.min(self.task_end_ns)),
            ..self
        }
    }
}

/// Cuts a series, whose points are in the order of time, to windows. A cut is `None` if it says nothing about the window.
/// A counter also began again at `restarts_ns`.
///
/// Of a window that is short for the interval of the samples, the cut is that of the time between the samples around it, as
/// far as the task ran: what was counted only in the window is not known.
#[must_use]
pub fn cuts(
    kind: SeriesKind,
    points: &[Point],
    windows: &[CutWindow],
    restarts_ns: &[i64],
) -> Vec<Option<SeriesCut>> {
    let longest_ns = longest_known_ns(points);
    let gauge = |window: &CutWindow| {
        cut_gauge(points, window).or_else(|| cut_gauge(points, &window.between_samples(points)))
    };
    let counter = |window: &CutWindow| {
        let cut = |window: &CutWindow| cut_counter(points, longest_ns?, window, restarts_ns);
        cut(window)
            .filter(|cut| cut.covered_s >= LEAST_FILLED * cut.span_s)
            .or_else(|| cut(&window.between_samples(points)))
    };
    let cut = |window: &CutWindow| match kind {
        SeriesKind::Gauge => gauge(window).map(SeriesCut::Gauge),
        SeriesKind::Counter => counter(window).map(SeriesCut::Counter),
    };
    windows.iter().map(cut).collect()
}

/// Returns how many points there are within tasks: one that is within several is counted for each.
#[must_use]
pub fn points_within(points: &[Point], tasks: &[TaskWindow]) -> usize {
    tasks.iter().map(|task| within(points, task.begin_ns, task.end_ns).len()).sum()
}

fn cut_gauge(points: &[Point], window: &CutWindow) -> Option<GaugeCut> {
    let within = within(points, window.begin_ns, window.end_ns.saturating_add(AFTER_END_NS));
    let values: Vec<f64> = within.iter().filter_map(|point| point.value).collect();
    let (first, last) = (*values.first()?, *values.last()?);
    Some(GaugeCut {
        first,
        last,
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        mean: values.iter().sum::<f64>() / values.len() as f64,
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        samples: values.len() as u64,
        gaps: (within.len() - values.len()) as u64,
    })
}

fn cut_counter(
    points: &[Point],
    longest_ns: i64,
    window: &CutWindow,
    restarts_ns: &[i64],
) -> Option<CounterCut> {
    let inside = within(points, window.begin_ns, window.end_ns);
    let samples = inside.iter().filter(|point| point.value.is_some()).count() as u64;
    let mut cut = CounterCut { samples, gaps: inside.len() as u64 - samples, ..CounterCut::default() };
    let begin = points.partition_point(|point| point.time_ns < window.begin_ns);
    let before = points[..begin].iter().rposition(|point| point.value.is_some()).unwrap_or(begin);
    let known = points[before..].iter().filter_map(|point| point.value.map(|value| (point.time_ns, value)));
    // A counter includes, at the next reading, what it counted while it could not be read.
    for ((from_ns, old), (to_ns, new)) in known.clone().zip(known.skip(1)) {
        if from_ns >= window.end_ns {
            break;
        }
        let length_ns = to_ns - from_ns;
        let overlap_ns = to_ns.min(window.end_ns) - from_ns.max(window.begin_ns);
        // How much of a long time outside and within the task it has counted is not known.
        if overlap_ns <= 0 || (overlap_ns < length_ns && length_ns > longest_ns) {
            continue;
        }
        if began_again(restarts_ns, (from_ns, old), (to_ns, new)) {
            cut.resets += 1;
            continue;
        }
        let per_s = (new - old) * 1e9 / length_ns as f64;
        let covered_s = overlap_ns as f64 / 1e9;
        cut.increase += per_s * covered_s;
        cut.covered_s += covered_s;
        cut.span_s += length_ns as f64 / 1e9;
        if overlap_ns == length_ns {
            cut.peak_per_s = Some(cut.peak_per_s.map_or(per_s, |peak| peak.max(per_s)));
        }
    }
    (cut.covered_s > 0.0 || cut.resets > 0).then_some(cut)
}

/// Returns how far two samples may be apart for the time between them to be known, or `None` if there are fewer than two.
pub(crate) fn longest_known_ns(points: &[Point]) -> Option<i64> {
    usual_interval_ns(points).map(|usual_ns| usual_ns.saturating_mul(MAX_INTERVALS).max(ALWAYS_KNOWN_NS))
}

/// Returns the median of the intervals between samples, or `None` if there are fewer than two.
fn usual_interval_ns(points: &[Point]) -> Option<i64> {
    let mut intervals: Vec<i64> =
        points.windows(2).map(|pair| pair[1].time_ns.saturating_sub(pair[0].time_ns)).collect();
    let middle = intervals.len() / 2;
    if intervals.is_empty() {
        return None;
    }
    Some(*intervals.select_nth_unstable(middle).1)
}

/// Returns the points from the first to the last of two times.
fn within(points: &[Point], begin_ns: i64, end_ns: i64) -> &[Point] {
    let begin = points.partition_point(|point| point.time_ns < begin_ns);
    let end = points.partition_point(|point| point.time_ns <= end_ns);
    &points[begin..end.max(begin)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn cut(kind: SeriesKind, points: &[Point], task: &TaskWindow) -> Option<SeriesCut> {
        cuts(kind, points, &[CutWindow::of(task)], &[]).remove(0)
    }

    /// Returns the points of a series that was read every second from 0 on.
    fn every_second(values: &[Option<f64>]) -> Vec<Point> {
        (0..).zip(values).map(|(second, value)| Point { time_ns: second * S, value: *value }).collect()
    }

    fn task(begin_s: f64, end_s: f64) -> TaskWindow {
        #[allow(clippy::cast_possible_truncation, reason = "seconds of a test")]
        let ns = |seconds: f64| (seconds * 1e9) as i64;
        TaskWindow { task: "index".into(), begin_ns: ns(begin_s), end_ns: ns(end_s) }
    }

    fn counter(values: &[Option<f64>], begin_s: f64, end_s: f64) -> Option<CounterCut> {
        match cut(SeriesKind::Counter, &every_second(values), &task(begin_s, end_s)) {
            Some(SeriesCut::Counter(cut)) => Some(cut),
            Some(SeriesCut::Gauge(gauge)) => panic!("{gauge:?}"),
            None => None,
        }
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn a_counter_is_cut_at_the_edges_of_the_task() {
        // Values by second, begin and end of the task, and: increase, covered seconds, span, peak, samples, gaps, resets.
        type Case<'a> = (&'a [Option<f64>], f64, f64, f64, [f64; 2], Option<f64>, [u64; 3]);
        let (some, none) = (Some, None);
        let steady = [some(0.0), some(10.0), some(20.0), some(30.0), some(40.0)];
        let reset = [some(100.0), some(110.0), some(5.0), some(25.0), some(35.0)];
        let gap = [some(0.0), some(10.0), none, some(90.0), some(100.0)];
        let cases: [Case<'_>; 10] = [
            (&steady, 1.0, 3.0, 20.0, [2.0, 2.0], some(10.0), [3, 0, 0]),
            // Both edges are between samples.
            (&steady, 0.5, 3.25, 27.5, [2.75, 4.0], some(10.0), [3, 0, 0]),
            // The whole task is between two samples.
            (&steady, 1.25, 1.75, 5.0, [0.5, 1.0], none, [0, 0, 0]),
            // Before the first and after the last sample, nothing is known.
            (&steady, -5.0, 9.0, 40.0, [4.0, 4.0], some(10.0), [5, 0, 0]),
            (&reset, 0.0, 4.0, 40.0, [3.0, 3.0], some(20.0), [5, 0, 1]),
            // What was counted while it could not be read is known afterwards.
            (&gap, 0.0, 4.0, 100.0, [4.0, 4.0], some(40.0), [4, 1, 0]),
            (&gap, 2.5, 4.0, 30.0, [1.5, 3.0], some(10.0), [2, 0, 0]),
            (&[some(7.0), some(7.0)], 0.0, 1.0, 0.0, [1.0, 1.0], some(0.0), [2, 0, 0]),
            // A counter above 2^53 is as exact as a double.
            (&[some(1e16), some(1e16 + 64.0)], 0.0, 1.0, 64.0, [1.0, 1.0], some(64.0), [2, 0, 0]),
            (&reset, 1.2, 1.8, 0.0, [0.0, 0.0], none, [0, 0, 1]),
        ];
        for (values, begin_s, end_s, increase, [covered_s, span_s], peak, [samples, gaps, resets]) in cases {
            let cut = counter(values, begin_s, end_s).unwrap();
            assert!(close(cut.increase, increase) && close(cut.covered_s, covered_s), "{cut:?}");
            assert!(close(cut.span_s, span_s), "{cut:?}");
            let is_peak = match (cut.peak_per_s, peak) {
                (Some(one), Some(other)) => close(one, other),
                (one, other) => one == other,
            };
            assert!(is_peak, "{cut:?} {peak:?}");
            assert_eq!((cut.samples, cut.gaps, cut.resets), (samples, gaps, resets), "{begin_s} {end_s}");
        }
        for (values, begin_s, end_s) in [
            (&steady[..], 4.0, 9.0),
            (&steady[..], -3.0, -1.0),
            (&steady[..1], 0.0, 1.0),
            (&[none, none][..], 0.0, 1.0),
            (&[][..], 0.0, 1.0),
        ] {
            assert_eq!(counter(values, begin_s, end_s), None, "{values:?} {begin_s} {end_s}");
        }
    }

    #[test]
    fn a_long_time_without_samples_is_covered_if_it_is_within_the_task() {
        let mut points = every_second(&[Some(0.0), Some(1.0), Some(2.0), Some(3.0)]);
        points.push(Point { time_ns: 60 * S, value: Some(1_000.0) });
        for (end_s, expected, covered_s) in [(60.0, 1_000.0, 60.0), (50.0, 3.0, 3.0)] {
            let Some(SeriesCut::Counter(cut)) = cut(SeriesKind::Counter, &points, &task(0.0, end_s)) else {
                panic!()
            };
            assert!(close(cut.increase, expected) && close(cut.covered_s, covered_s), "{cut:?}");
        }
    }

    #[test]
    fn rejections_while_the_statistics_failed_are_counted() {
        let mut values = vec![Some(0.0); 20];
        values.extend([None; 7]);
        values.extend([Some(1_000.0); 20]);
        let cut = counter(&values, 0.0, 46.0).unwrap();
        assert!(close(cut.increase, 1_000.0) && close(cut.covered_s, 46.0), "{cut:?}");
    }

    #[test]
    fn a_long_interval_after_many_short_ones_is_covered() {
        let mut points = every_second(&[Some(0.0); 20]);
        points.push(Point { time_ns: 30 * S, value: Some(110.0) });
        let Some(SeriesCut::Counter(cut)) = cut(SeriesKind::Counter, &points, &task(19.0, 30.0)) else {
            panic!()
        };
        assert!(close(cut.increase, 110.0) && close(cut.covered_s, 11.0), "{cut:?}");
    }

    #[test]
    fn the_parts_of_a_counter_add_up() {
        let values: Vec<Option<f64>> = (0..60).map(|second: i32| Some(f64::from(second * second))).collect();
        let parts = [0.0, 0.3, 7.7, 7.9, 31.5, 59.0];
        let increase = |begin_s, end_s| counter(&values, begin_s, end_s).unwrap().increase;
        let sum: f64 = parts.windows(2).map(|pair| increase(pair[0], pair[1])).sum();
        assert!((sum - 59.0 * 59.0).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn a_gauge_has_the_values_within_the_task() {
        let points = every_second(&[Some(9.0), Some(1.0), None, Some(4.0), Some(7.0)]);
        let Some(SeriesCut::Gauge(gauge)) = cut(SeriesKind::Gauge, &points, &task(0.5, 3.0)) else {
            panic!()
        };
        let expected = GaugeCut { first: 1.0, last: 4.0, min: 1.0, mean: 2.5, max: 4.0, samples: 2, gaps: 1 };
        assert_eq!(gauge, expected);
        let Some(SeriesCut::Gauge(gauge)) = cut(SeriesKind::Gauge, &points, &task(0.5, 3.96)) else {
            panic!()
        };
        assert_eq!((gauge.first, gauge.last), (1.0, 7.0), "the last value was read 40 ms after the end");
        for (begin_s, end_s) in [(1.2, 1.8), (2.0, 2.5), (5.0, 9.0)] {
            assert_eq!(cut(SeriesKind::Gauge, &points, &task(begin_s, end_s)), None);
        }
    }

    /// Returns the cut of a task from 0 to `end_s` to a window of it.
    fn cut_window(kind: SeriesKind, points: &[Point], window: [f64; 2], end_s: f64) -> Option<SeriesCut> {
        let (TaskWindow { begin_ns, end_ns, .. }, whole) = (task(window[0], window[1]), task(0.0, end_s));
        let window = CutWindow { begin_ns, end_ns, ..CutWindow::of(&whole) };
        cuts(kind, points, &[window], &[]).remove(0)
    }

    #[test]
    fn what_was_counted_in_the_warm_up_is_not_in_the_window() {
        // It grows by 100 per second until 8 s, then by 1.
        let values: Vec<Option<f64>> =
            (0..=10).map(|second| Some(f64::from(second.min(8) * 100 + (second - 8).max(0)))).collect();
        let points = every_second(&values);
        for (window, increase, covered_s) in [
            ([8.0, 10.0], 2.0, 2.0),
            ([8.5, 9.5], 1.0, 1.0),
            ([7.5, 10.0], 52.0, 2.5),
            ([8.2, 8.4], 1.0, 1.0),
        ] {
            let Some(SeriesCut::Counter(cut)) = cut_window(SeriesKind::Counter, &points, window, 10.0) else {
                panic!()
            };
            assert!(close(cut.increase, increase) && close(cut.covered_s, covered_s), "{window:?} {cut:?}");
        }
    }

    #[test]
    fn a_window_that_is_short_for_the_interval_has_what_its_task_had_around_it() {
        let points = [(-5, 0.0), (5, 100.0), (15, 300.0)]
            .map(|(at, value)| Point { time_ns: at * S, value: Some(value) });
        // The task began at 0: what was counted before is not known to be its own.
        for (window, increase, covered_s) in [([3.0, 4.0], 50.0, 5.0), ([6.0, 8.0], 200.0, 10.0)] {
            let Some(SeriesCut::Counter(cut)) = cut_window(SeriesKind::Counter, &points, window, 20.0) else {
                panic!()
            };
            assert!(close(cut.increase, increase) && close(cut.covered_s, covered_s), "{window:?} {cut:?}");
        }
        let Some(SeriesCut::Gauge(gauge)) = cut_window(SeriesKind::Gauge, &points, [6.0, 8.0], 20.0) else {
            panic!()
        };
        assert_eq!((gauge.first, gauge.last), (100.0, 300.0), "the readings before and after it");
        assert_eq!(cut_window(SeriesKind::Gauge, &points, [1.0, 2.0], 4.0), None, "none is of the task");
    }
}
