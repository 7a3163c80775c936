//! What the operations of a race did over time, from its per-second series, in few enough points for a chart.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use pacenote_stats::rank;
use parquet::data_type::ByteArray;
use parquet::file::reader::RowGroupReader;
use serde::Serialize;

use crate::bounded_file::{BoundedFile, SERIES_ROWS};
use crate::column_reader::{ReadError, Rows, apart};
use crate::error::RecordError;
use crate::merged_histogram::{HistogramDecoder, MergedHistogram, highest_in};
use crate::merged_series::{MOST_BUCKETS, MOST_TASKS, MergedPercentile, too_many_tasks};
use crate::sample::SampleType;
use crate::units::ms;

/// Lengths that points may have, in seconds; longer ones are multiples of the last.
const LENGTHS_S: [u64; 17] = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, 120, 300, 600, 1_200, 3_600];
/// Number of levels of durations for each power of ten.
const LEVELS_PER_DECADE: f64 = 5.0;
/// The last second of a task: a year after its beginning.
const LAST_SECOND: u64 = 366 * 24 * 3_600;
/// Seconds of all tasks whose operations are listed one by one.
const MOST_LISTED: u64 = 1 << 23;
/// Counts of all points, which have some thousands each in a race of many different durations.
const MOST_POINT_COUNTS: usize = 1 << 23;
/// Number of percentiles of a distribution for each power of ten of the share above them.
const CURVE_PER_DECADE: i32 = 8;
/// Powers of ten of that share.
const CURVE_DECADES: i32 = 5;

/// The operations of a race over time.
#[derive(Debug, Serialize)]
pub struct RaceTimeline {
    /// Length of a point, in seconds.
    pub length_s: u64,
    /// Number of levels of durations for each power of ten.
    pub levels_per_decade: f64,
    /// The tasks, by name.
    pub tasks: BTreeMap<String, TaskTimeline>,
}

/// The operations of a task over time, without sub-operations.
#[derive(Debug, Default, Serialize)]
pub struct TaskTimeline {
    /// Whether its durations are latencies; they are service times in a task without a schedule.
    pub has_latency: bool,
    /// The first second in which an operation of the measured part ended; `None` if there is none.
    pub measured_from_s: Option<u64>,
    /// Operations that ended in each second since the task began.
    pub operations: Vec<u64>,
    /// What happened in each part of the task in which operations ended.
    pub points: Vec<TimelinePoint>,
    /// Percentiles of the durations of measured operations, as far as there are enough of them.
    pub curve: Vec<MergedPercentile>,
}

/// The operations of a task that ended in a few seconds.
#[derive(Debug, Serialize)]
pub struct TimelinePoint {
    /// Its beginning, in seconds since the task began.
    pub from_s: u64,
    /// Operations that ended, including failed ones.
    pub operations: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Work done.
    pub work: u64,
    /// Work done in the second with the least of it.
    pub least_work: u64,
    /// Work done in the second with the most of it.
    pub most_work: u64,
    /// Durations of the operations that succeeded.
    pub times: PointTimes,
    /// Lateness of all operations; `None` in a task without a schedule.
    pub lateness: Option<PointTimes>,
    /// Number of successes by level of their duration: level `n` begins at 10^(n / `levels_per_decade`) ns.
    pub levels: Vec<(u32, u64)>,
}

/// Durations in a point, in milliseconds. A percentile is one of the observed durations; it is `None` unless at least
/// one of them is above it.
#[derive(Debug, Default, Serialize)]
pub struct PointTimes {
    /// The median.
    pub p50_ms: Option<f64>,
    /// The 90th percentile.
    pub p90_ms: Option<f64>,
    /// The 99th percentile.
    pub p99_ms: Option<f64>,
    /// The longest; `None` if there are none.
    pub max_ms: Option<f64>,
}

/// Returns the operations of a race over time from its `series.parquet`, in at most `most_points` points, unless there
/// are more tasks.
///
/// # Errors
///
/// An error if the file does not exist, cannot be read or is damaged.
pub fn race_timeline(path: &Path, most_points: u64) -> Result<RaceTimeline, RecordError> {
    let read = apart(|| read(path, most_points));
    read.map_err(|error| RecordError::Unread { path: path.display().to_string(), reason: error.to_string() })
}

fn read(path: &Path, most_points: u64) -> Result<RaceTimeline, ReadError> {
    let file = BoundedFile::open(path, SERIES_ROWS)?;
    let mut tasks = BTreeMap::<String, Task>::new();
    for number in 0..file.row_groups() {
        count(file.row_group(number)?.as_ref(), &mut tasks)?;
    }
    let length_s = length_of_points(tasks.values().map(Task::length_s), most_points);
    let (mut decoder, mut room) = (HistogramDecoder::new(), Room::default());
    for number in 0..file.row_groups() {
        add_times(file.row_group(number)?.as_ref(), length_s, &mut tasks, &mut decoder, &mut room)?;
    }
    let listed: u64 =
        tasks.values().map(Task::length_s).filter(|seconds| *seconds <= MOST_SECONDS as u64).sum();
    if listed > MOST_LISTED {
        return Err(ReadError::TooLarge(format!(
            "has {listed} seconds of all tasks; at most {MOST_LISTED} are read"
        )));
    }
    let tasks = tasks.into_iter().map(|(name, task)| (name, task.finish(length_s))).collect();
    Ok(RaceTimeline { length_s, levels_per_decade: LEVELS_PER_DECADE, tasks })
}

/// Returns the shortest length with which tasks of these lengths have at most `most` points, or one for each task.
fn length_of_points(lengths_s: impl Iterator<Item = u64>, most: u64) -> u64 {
    let lengths_s: Vec<u64> = lengths_s.collect();
    let longest = lengths_s.iter().copied().max().unwrap_or(0);
    let fits = |length: u64| {
        let points: u64 = lengths_s.iter().map(|each| each.div_ceil(length)).sum();
        points <= most || length >= longest
    };
    let multiples = (2..).map(|factor| factor * LENGTHS_S[LENGTHS_S.len() - 1]);
    LENGTHS_S.into_iter().chain(multiples).find(|length| fits(*length)).unwrap_or(longest.max(1))
}

/// The whole operations of a second.
#[derive(Debug, Default, Clone, Copy)]
struct Second {
    operations: u64,
    errors: u64,
    work: u64,
}

/// What is known of a task while its rows are read.
#[derive(Debug, Default)]
struct Task {
    has_latency: bool,
    measured_from_s: Option<u64>,
    seconds: BTreeMap<u64, Second>,
    times: BTreeMap<u64, Counts>,
    lateness: BTreeMap<u64, Counts>,
    measured: MergedHistogram,
}

/// What has been decoded.
#[derive(Debug, Default)]
struct Room {
    /// Counts of all points.
    counts: usize,
    /// Buckets of the measured operations of all tasks.
    buckets: usize,
}

/// Numbers of durations by bucket.
type Counts = HashMap<usize, u64>;

/// A row without its histograms.
struct Row {
    task: String,
    second: u64,
    is_measured: bool,
}

/// Returns the rows of a row group; `None` for those of sub-operations.
fn tasks_of(rows: &Rows<'_>) -> Result<Vec<Option<Row>>, ReadError> {
    let names = rows.byte_arrays("task")?;
    let sample_types = rows.byte_arrays("sample_type")?;
    let parts = rows.booleans("part")?;
    let seconds = rows.integers("second")?;
    let columns = names.into_iter().zip(sample_types).zip(parts.into_iter().zip(seconds));
    let row = |columns: ((Option<ByteArray>, Option<ByteArray>), (bool, i64))| {
        let ((name, sample_type), (is_sub_operation, second)) = columns;
        let (Some(name), Some(sample_type), Ok(second)) = (name, sample_type, u64::try_from(second)) else {
            return Err(ReadError::Damaged("a row has no task or no second".into()));
        };
        if second > LAST_SECOND {
            return Err(ReadError::Damaged(format!("a row is of second {second} of its task")));
        }
        let is_measured = sample_type.data() == SampleType::Measured.name().as_bytes();
        let task = String::from_utf8_lossy(name.data()).into_owned();
        Ok((!is_sub_operation).then_some(Row { task, second, is_measured }))
    };
    columns.map(row).collect()
}

/// Adds the counts of all rows of a row group.
fn count(row_group: &dyn RowGroupReader, tasks: &mut BTreeMap<String, Task>) -> Result<(), ReadError> {
    let rows = Rows::all(row_group)?;
    let columns = ["operations", "errors", "weight"].map(|name| rows.integers(name));
    let [operations, errors, work] = columns;
    let (operations, errors, work) = (operations?, errors?, work?);
    for (index, row) in tasks_of(&rows)?.into_iter().enumerate() {
        let Some(row) = row else { continue };
        let task = tasks.entry(row.task).or_default();
        let second = task.seconds.entry(row.second).or_default();
        for (total, values) in
            [(&mut second.operations, &operations), (&mut second.errors, &errors), (&mut second.work, &work)]
        {
            let added = values.get(index).and_then(|value| u64::try_from(*value).ok()).unwrap_or_default();
            *total = total.saturating_add(added);
        }
        if row.is_measured {
            let first = task.measured_from_s.unwrap_or(row.second);
            task.measured_from_s = Some(first.min(row.second));
        }
    }
    if tasks.len() > MOST_TASKS { Err(too_many_tasks()) } else { Ok(()) }
}

/// Adds the histograms of all rows of a row group.
fn add_times(
    row_group: &dyn RowGroupReader,
    length_s: u64,
    tasks: &mut BTreeMap<String, Task>,
    decoder: &mut HistogramDecoder,
    room: &mut Room,
) -> Result<(), ReadError> {
    let rows = Rows::all(row_group)?;
    let service_times = rows.byte_arrays("service_time")?;
    let latencies = rows.byte_arrays("latency")?;
    let lateness = rows.byte_arrays("lateness")?;
    let columns = service_times.into_iter().zip(latencies).zip(lateness);
    for (row, ((service_time, latency), lateness)) in tasks_of(&rows)?.into_iter().zip(columns) {
        let Some(row) = row else { continue };
        let task = tasks.entry(row.task).or_default();
        task.has_latency |= latency.is_some();
        let point = row.second / length_s;
        let before = task.measured.room();
        if let Some(encoded) = latency.or(service_time) {
            let counts = task.times.entry(point).or_default();
            let known = counts.len();
            decoder.visit(encoded.data(), |bucket, count| add(counts, bucket, count))?;
            room.counts += counts.len() - known;
            if row.is_measured {
                decoder.add(encoded.data(), &mut task.measured)?;
            }
        }
        if let Some(encoded) = lateness {
            let counts = task.lateness.entry(point).or_default();
            let known = counts.len();
            decoder.visit(encoded.data(), |bucket, count| add(counts, bucket, count))?;
            room.counts += counts.len() - known;
        }
        room.buckets += task.measured.room() - before;
        if room.counts > MOST_POINT_COUNTS || room.buckets > MOST_BUCKETS {
            return Err(too_many_tasks());
        }
    }
    Ok(())
}

fn add(counts: &mut Counts, bucket: usize, count: u64) -> Option<()> {
    let total = counts.entry(bucket).or_default();
    *total = total.checked_add(count)?;
    Some(())
}

impl Task {
    /// Returns the number of seconds until the last one in which an operation ended.
    fn length_s(&self) -> u64 {
        self.seconds.last_key_value().map_or(0, |(second, _)| second + 1)
    }

    fn finish(self, length_s: u64) -> TaskTimeline {
        let mut operations = Vec::new();
        let mut points = BTreeMap::<u64, TimelinePoint>::new();
        for (second, counted) in &self.seconds {
            if let Some(position) = usize::try_from(*second).ok().filter(|position| *position < MOST_SECONDS)
            {
                operations.resize(position, 0);
                operations.push(counted.operations);
            }
            let number = second / length_s;
            let point = points.entry(number).or_insert_with(|| TimelinePoint::new(number * length_s));
            point.add(counted);
        }
        let end_s = self.length_s();
        for (number, point) in &mut points {
            let seconds = self.seconds.range(point.from_s..point.from_s + length_s).count() as u64;
            if seconds < length_s.min(end_s - point.from_s) {
                // There is no row for a second in which nothing ended.
                point.least_work = 0;
            }
            point.finish(self.times.get(number), self.lateness.get(number));
        }
        TaskTimeline {
            has_latency: self.has_latency,
            measured_from_s: self.measured_from_s,
            operations,
            points: points.into_values().collect(),
            curve: curve(&self.measured),
        }
    }
}

/// Seconds of a task whose operations are listed one by one: those of a month.
const MOST_SECONDS: usize = 31 * 24 * 3_600;

impl TimelinePoint {
    fn new(from_s: u64) -> Self {
        Self {
            from_s,
            operations: 0,
            errors: 0,
            work: 0,
            least_work: u64::MAX,
            most_work: 0,
            times: PointTimes::default(),
            lateness: None,
            levels: Vec::new(),
        }
    }

    fn add(&mut self, second: &Second) {
        self.operations = self.operations.saturating_add(second.operations);
        self.errors = self.errors.saturating_add(second.errors);
        self.work = self.work.saturating_add(second.work);
        self.least_work = self.least_work.min(second.work);
        self.most_work = self.most_work.max(second.work);
    }

    fn finish(&mut self, times: Option<&Counts>, lateness: Option<&Counts>) {
        let times = sorted(times);
        self.times = PointTimes::of(&times);
        self.lateness = lateness.map(|counts| PointTimes::of(&sorted(Some(counts))));
        let mut levels = BTreeMap::<u32, u64>::new();
        for (bucket, count) in times {
            let total = levels.entry(level(highest_in(bucket))).or_default();
            *total = total.saturating_add(count);
        }
        self.levels = levels.into_iter().collect();
    }
}

fn sorted(counts: Option<&Counts>) -> Vec<(usize, u64)> {
    let mut sorted: Vec<_> = counts.into_iter().flatten().map(|(bucket, count)| (*bucket, *count)).collect();
    sorted.sort_unstable();
    sorted
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the logarithm of 24 h is 13.9")]
fn level(ns: u64) -> u32 {
    ((ns.max(1) as f64).log10() * LEVELS_PER_DECADE).floor() as u32
}

impl PointTimes {
    fn of(counts: &[(usize, u64)]) -> Self {
        let count = counts.iter().fold(0_u64, |total, (_, count)| total.saturating_add(*count));
        let at = |q: f64| {
            let place = rank(count, q);
            (place < count).then(|| duration_at(counts, place))
        };
        Self {
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            max_ms: counts.last().map(|(bucket, _)| ms(highest_in(*bucket))),
        }
    }
}

/// Returns the duration at a rank (1 = shortest), in milliseconds.
fn duration_at(counts: &[(usize, u64)], place: u64) -> f64 {
    let mut seen = 0_u64;
    let found = counts.iter().find(|(_, count)| {
        seen = seen.saturating_add(*count);
        seen >= place
    });
    found.map_or(0.0, |(bucket, _)| ms(highest_in(*bucket)))
}

/// Returns percentiles at even distances on an axis of the share above them, and those that every report has.
fn curve(measured: &MergedHistogram) -> Vec<MergedPercentile> {
    let steps = (1..=CURVE_PER_DECADE * CURVE_DECADES).map(|step| {
        let share = 10_f64.powf(-f64::from(step) / f64::from(CURVE_PER_DECADE));
        1.0 - share
    });
    let mut shares: Vec<f64> = steps.chain([0.5]).collect();
    shares.sort_by(f64::total_cmp);
    let percentile = |q: f64| measured.quantile(q).map(|ns| MergedPercentile { q: q * 100.0, ms: ms(ns) });
    shares.into_iter().filter_map(percentile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_as_short_as_their_number_allows() {
        for (lengths, most, expected) in [
            (vec![3_600], 600, 6),
            (vec![3_600], 3_600, 1),
            (vec![1_800, 1_800, 1], 600, 10),
            (vec![86_400], 600, 300),
            (vec![10_000_000], 600, 18_000),
            (vec![40; 100], 50, 60),
            (vec![], 600, 1),
        ] {
            assert_eq!(length_of_points(lengths.iter().copied(), most), expected, "{lengths:?}");
        }
    }

    #[test]
    fn a_percentile_needs_a_duration_above_it() {
        let times = |count: u64| PointTimes::of(&[(1_000, count - 1), (2_000, 1)]);
        assert_eq!(times(1).p50_ms, None);
        assert_eq!(times(2).p50_ms, Some(0.001_000));
        assert_eq!((times(9).p90_ms, times(10).p90_ms), (None, Some(0.001_000)));
        assert_eq!((times(99).p99_ms, times(100).p99_ms), (None, Some(0.001_000)));
        assert_eq!(times(100).max_ms, Some(0.002_000));
        assert_eq!(PointTimes::of(&[]).max_ms, None);
    }

    #[test]
    fn levels_are_logarithmic() {
        assert_eq!([0, 1, 9, 10, 100, 158, 159, 1_000_000].map(level), [0, 0, 4, 5, 10, 10, 11, 30]);
    }
}
