//! Reads `telemetry.parquet`: its series, and what they say about each task.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::path::Path;

use parquet::data_type::ByteArray;
use parquet::file::reader::RowGroupReader;
use serde::Serialize;

use crate::bounded_file::{BoundedFile, TELEMETRY_ROWS};
use crate::column_reader::{ReadError, Rows, TextReader, apart};
use crate::error::RecordError;
use crate::files::telemetry::TASKS;
use crate::node_restarts::NodeRestarts;
use crate::telemetry::{Point, SeriesKind, SeriesPoints, TaskWindow, TelemetrySeries};
use crate::telemetry_cut::{CutWindow, SeriesCut, cuts, points_within};

/// The series of a race, cut to its tasks.
#[derive(Debug, Serialize)]
pub struct TelemetryCuts {
    /// The tasks that ended while telemetry was recorded, in this order, with the times to which series are cut.
    pub tasks: Vec<TaskWindow>,
    /// The series, in the order of their sources, names and labels.
    pub series: Vec<SeriesCuts>,
}

/// A series, cut to the tasks.
#[derive(Debug, Serialize)]
pub struct SeriesCuts {
    /// The series.
    #[serde(flatten)]
    pub series: TelemetrySeries,
    /// What it says about each task; `null` if it says nothing.
    pub cuts: Vec<Option<SeriesCut>>,
}

/// When the measured window of a task began, and how long it was, in seconds since the task began.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredPart {
    /// Its beginning.
    pub from_s: f64,
    /// Its length.
    pub length_s: f64,
}

impl MeasuredPart {
    /// Returns the window of a task: all of it if the part has no time within the task.
    #[allow(clippy::cast_possible_truncation, reason = "a longer time than 292 years is the longest")]
    fn of(self, task: &TaskWindow) -> CutWindow {
        let ns = |seconds: f64| (seconds.max(0.0) * 1e9).round() as i64;
        let begin_ns = task.begin_ns.saturating_add(ns(self.from_s)).min(task.end_ns);
        let end_ns = begin_ns.saturating_add(ns(self.length_s)).min(task.end_ns);
        if end_ns <= begin_ns {
            CutWindow::of(task)
        } else {
            CutWindow { begin_ns, end_ns, ..CutWindow::of(task) }
        }
    }
}

/// Returns the series of a `telemetry.parquet` file, cut to the tasks of the race, or to the parts of them in which they
/// were measured. The counters of a node begin again where it restarted.
///
/// # Errors
///
/// An error if the file does not exist, cannot be read or is damaged.
pub fn telemetry_cuts<S: BuildHasher>(
    path: &Path,
    measured: &HashMap<String, MeasuredPart, S>,
) -> Result<TelemetryCuts, RecordError> {
    let telemetry = apart(|| read(path, |_| true, MOST_POINTS).and_then(checked));
    let Telemetry { mut tasks, series } = telemetry.map_err(|error| unread(path, &error))?;
    let window = |task: &TaskWindow| {
        measured.get(&task.task).map_or_else(|| CutWindow::of(task), |part| part.of(task))
    };
    let windows: Vec<CutWindow> = tasks.iter().map(window).collect();
    for (task, CutWindow { begin_ns, end_ns, .. }) in tasks.iter_mut().zip(&windows) {
        (task.begin_ns, task.end_ns) = (*begin_ns, *end_ns);
    }
    let restarts = NodeRestarts::of(&series);
    let cut_series = |series: SeriesPoints| SeriesCuts {
        cuts: cuts(series.series.kind, &series.points, &windows, restarts.of_series(&series.series)),
        series: series.series,
    };
    let series = series.into_iter().map(cut_series).collect();
    Ok(TelemetryCuts { tasks, series })
}

/// Returns telemetry whose tasks do not overlap so often that cutting it takes long.
fn checked(telemetry: Telemetry) -> Result<Telemetry, ReadError> {
    let Telemetry { tasks, series } = &telemetry;
    if tasks.len().saturating_mul(series.len()) > MOST_CUTS {
        let counts = format!("{} series and {} tasks", series.len(), tasks.len());
        return Err(ReadError::TooLarge(format!("has {counts}, too many to be compared")));
    }
    let points: usize = series.iter().map(|series| points_within(&series.points, tasks)).sum();
    if points > MOST_VISITS {
        return Err(ReadError::TooLarge("has too many tasks at the same time, and is not read".into()));
    }
    Ok(telemetry)
}

/// Returns the values of those series of a `telemetry.parquet` file that `is_wanted` selects: all, or if there are more
/// than `most_points`, each second, fourth, eighth… one of each series.
///
/// # Errors
///
/// An error if the file does not exist, cannot be read or is damaged.
pub fn telemetry_points(
    path: &Path,
    is_wanted: impl Fn(&TelemetrySeries) -> bool + Send,
    most_points: usize,
) -> Result<Vec<SeriesPoints>, RecordError> {
    let telemetry = apart(|| read(path, is_wanted, most_points)).map_err(|error| unread(path, &error))?;
    Ok(telemetry.series)
}

fn unread(path: &Path, error: &ReadError) -> RecordError {
    RecordError::Unread { path: path.display().to_string(), reason: error.to_string() }
}

struct Telemetry {
    tasks: Vec<TaskWindow>,
    series: Vec<SeriesPoints>,
}

/// The columns of the texts that identify the series of a row.
const TEXTS: [&str; 5] = ["source", "name", "unit", "kind", "labels"];

/// The values of these columns.
type SeriesKey = [ByteArray; 5];

/// The series found so far.
struct Found {
    /// Positions in `series`, or `None` for those that are not wanted.
    positions: HashMap<Vec<u8>, Option<usize>>,
    /// Bytes of the keys of `positions`.
    key_bytes: usize,
    series: Vec<SeriesPoints>,
    /// Number of rows of each of `series` that have been read.
    rows: Vec<usize>,
    points: usize,
    most_points: usize,
    /// Of each series, the rows are kept whose number is a multiple of it.
    step: usize,
}

/// Values that are kept in memory, of 24 bytes each: those of 28 hours with 161 values per second.
pub const MOST_POINTS: usize = 1 << 24;
/// Series of a file, wanted or not: those of 2,000 nodes with all default devices, which have about 250 each.
pub const MOST_SERIES: usize = 1 << 19;
/// Bytes of the texts of all series.
pub const MOST_KEY_BYTES: usize = 96 << 20;
/// Characters of the name of a series in a message.
const SHOWN_CHARACTERS: usize = 80;
/// Product of the numbers of tasks and series: those of 500 nodes and 60 tasks.
const MOST_CUTS: usize = 1 << 23;
/// Values of all tasks together: if they overlap, the same value belongs to several.
const MOST_VISITS: usize = 1 << 30;
/// The largest value: a larger one, and one that is not finite, is taken as one that could not be read.
const LARGEST_VALUE: f64 = 1e30;

fn read(
    path: &Path,
    is_wanted: impl Fn(&TelemetrySeries) -> bool,
    most_points: usize,
) -> Result<Telemetry, ReadError> {
    let file = BoundedFile::open(path, TELEMETRY_ROWS)?;
    let tasks: Option<Vec<TaskWindow>> = file
        .footer_text(TASKS)
        .map(serde_json::from_str)
        .transpose()
        .map_err(|error| ReadError::Damaged(format!("the times of its tasks: {error}")))?;
    let mut tasks = tasks.unwrap_or_default();
    tasks.retain(|task| (0..=task.end_ns).contains(&task.begin_ns));
    let mut found = Found::new(most_points);
    for number in 0..file.row_groups() {
        found.add(file.row_group(number)?.as_ref(), &is_wanted)?;
    }
    let mut series = found.series;
    for each in &mut series {
        each.points.sort_by_key(|point| point.time_ns);
    }
    series.sort_by(|one, other| one.series.cmp(&other.series));
    Ok(Telemetry { tasks, series })
}

impl Found {
    fn new(most_points: usize) -> Self {
        Self {
            positions: HashMap::new(),
            key_bytes: 0,
            series: Vec::new(),
            rows: Vec::new(),
            points: 0,
            most_points: most_points.max(1),
            step: 1,
        }
    }

    fn add(
        &mut self,
        row_group: &dyn RowGroupReader,
        is_wanted: &impl Fn(&TelemetrySeries) -> bool,
    ) -> Result<(), ReadError> {
        let rows = Rows::all(row_group)?;
        let times = rows.integers("time")?;
        let values = rows.doubles("value")?;
        if times.iter().any(|time_ns| *time_ns < 0) {
            return Err(ReadError::Damaged("a value is of a time before 1970".into()));
        }
        let plausible = |value: &f64| value.abs() <= LARGEST_VALUE;
        let mut points = times
            .iter()
            .zip(values)
            .map(|(&time_ns, value)| Point { time_ns, value: value.filter(plausible) });
        for run in runs(row_group, &times)? {
            let of_run = points.by_ref().take(run.rows);
            match self.position(&run.texts, is_wanted)? {
                Some(position) => {
                    let first = self.rows[position];
                    self.rows[position] += run.rows;
                    let skipped = first.next_multiple_of(self.step) - first;
                    let kept = &mut self.series[position].points;
                    let before = kept.len();
                    // Reads all of the run: the next one begins after it.
                    let mut of_run = of_run;
                    kept.extend(of_run.by_ref().skip(skipped).step_by(self.step));
                    of_run.for_each(drop);
                    self.points += kept.len() - before;
                    self.thin();
                }
                None => of_run.for_each(drop),
            }
        }
        Ok(())
    }

    /// Removes every other point while there are too many.
    fn thin(&mut self) {
        while self.points > self.most_points && self.step < 1 << 32 {
            self.step *= 2;
            self.points = 0;
            for series in &mut self.series {
                let mut number = 0_usize;
                series.points.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.points += series.points.len();
            }
        }
    }

    /// Returns the position of the series with these texts, or `None` if it is not wanted.
    fn position(
        &mut self,
        texts: &SeriesKey,
        is_wanted: &impl Fn(&TelemetrySeries) -> bool,
    ) -> Result<Option<usize>, ReadError> {
        let key = texts.each_ref().map(ByteArray::data).join(&0);
        if let Some(position) = self.positions.get(&key) {
            return Ok(*position);
        }
        self.key_bytes = self.key_bytes.saturating_add(key.len());
        if self.positions.len() >= MOST_SERIES || self.key_bytes > MOST_KEY_BYTES {
            return Err(ReadError::TooLarge("has too many series, and is not read".into()));
        }
        let series = series_of(texts)?;
        let position = is_wanted(&series).then_some(self.series.len());
        if position.is_some() {
            self.series.push(SeriesPoints { series, points: Vec::new() });
            self.rows.push(0);
        }
        self.positions.insert(key, position);
        Ok(position)
    }
}

/// Consecutive rows of one series.
struct Run {
    texts: SeriesKey,
    rows: usize,
}

/// Returns the rows by series.
fn runs(row_group: &dyn RowGroupReader, times: &[i64]) -> Result<Vec<Run>, ReadError> {
    match runs_by_time(row_group, times)? {
        Some(runs) => Ok(runs),
        None => runs_by_text(row_group),
    }
}

/// Returns the rows by series, of which it reads only the first and the last text: within a row group, the rows of a
/// series follow one another in the order of time, so that another series begins where time goes back. `None` if one
/// also begins elsewhere.
fn runs_by_time(row_group: &dyn RowGroupReader, times: &[i64]) -> Result<Option<Vec<Run>>, ReadError> {
    let [source, name, unit, kind, labels] = TEXTS.map(|name| TextReader::open(row_group, name));
    let mut columns = [source?, name?, unit?, kind?, labels?];
    let is_later = |one: &i64, next: &i64| one < next;
    // Beginnings of series are read one by one, which takes longer than reading all texts if there are many.
    if times.chunk_by(is_later).count() > times.len() / 8 + 1_024 {
        return Ok(None);
    }
    let mut runs = Vec::new();
    for rows in times.chunk_by(is_later).map(<[i64]>::len) {
        let texts = next_texts(&mut columns)?;
        if rows > 1 {
            for column in &mut columns {
                column.skip(rows - 2)?;
            }
            if next_texts(&mut columns)? != texts {
                return Ok(None);
            }
        }
        runs.push(Run { texts, rows });
    }
    Ok(Some(runs))
}

fn next_texts(columns: &mut [TextReader; 5]) -> Result<SeriesKey, ReadError> {
    let [source, name, unit, kind, labels] = columns;
    Ok([source.next()?, name.next()?, unit.next()?, kind.next()?, labels.next()?])
}

/// Returns the rows by series, of which it reads all texts.
fn runs_by_text(row_group: &dyn RowGroupReader) -> Result<Vec<Run>, ReadError> {
    let rows = Rows::all(row_group)?;
    let [source, name, unit, kind, labels] = TEXTS.map(|name| rows.byte_arrays(name));
    let others = name?.into_iter().zip(unit?).zip(kind?).zip(labels?);
    let mut runs: Vec<Run> = Vec::new();
    for (source, (((name, unit), kind), labels)) in source?.into_iter().zip(others) {
        let texts =
            [source, name, unit, kind, labels].map(|text| text.unwrap_or_else(|| ByteArray::from("")));
        match runs.last_mut() {
            Some(last) if last.texts == texts => last.rows += 1,
            _ => runs.push(Run { texts, rows: 1 }),
        }
    }
    Ok(runs)
}

fn series_of(texts: &SeriesKey) -> Result<TelemetrySeries, ReadError> {
    let [source, name, unit, kind, labels] =
        texts.each_ref().map(|text| String::from_utf8_lossy(text.data()));
    let shown: String = name.chars().take(SHOWN_CHARACTERS).collect();
    let damaged = |what: &str| ReadError::Damaged(format!("a row of {shown} has no valid {what}"));
    Ok(TelemetrySeries {
        kind: SeriesKind::of_name(&kind).ok_or_else(|| damaged("kind"))?,
        labels: serde_json::from_str(&labels).map_err(|_| damaged("labels"))?,
        source: source.into_owned(),
        name: name.clone().into_owned(),
        unit: unit.into_owned(),
    })
}
