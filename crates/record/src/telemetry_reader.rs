//! Reads `telemetry.parquet`: its series, and what they say about each task.

use std::collections::HashMap;
use std::path::Path;

use parquet::data_type::ByteArray;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use serde::Serialize;

use crate::column_reader::{ReadError, Rows, TextReader, apart};
use crate::error::RecordError;
use crate::files::durable;
use crate::files::telemetry::TASKS;
use crate::telemetry::{Point, SeriesKind, TaskWindow, TelemetrySeries};
use crate::telemetry_cut::{SeriesCut, cut};

/// The series of a race, cut to its tasks.
#[derive(Debug, Serialize)]
pub struct TelemetryCuts {
    /// The tasks that ended while telemetry was recorded, in this order.
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

/// A series with its values.
#[derive(Debug)]
pub struct SeriesPoints {
    /// The series.
    pub series: TelemetrySeries,
    /// Its values, in the order of time.
    pub points: Vec<Point>,
}

/// Returns the series of a `telemetry.parquet` file, cut to the tasks of the race.
///
/// # Errors
///
/// An error if the file does not exist, cannot be read or is damaged.
pub fn telemetry_cuts(path: &Path) -> Result<TelemetryCuts, RecordError> {
    let Telemetry { tasks, series } = apart(|| read(path, |_| true)).map_err(|error| unread(path, &error))?;
    let cut_series = |series: SeriesPoints| {
        let cuts = tasks.iter().map(|task| cut(series.series.kind, &series.points, task)).collect();
        SeriesCuts { series: series.series, cuts }
    };
    let series = series.into_iter().map(cut_series).collect();
    Ok(TelemetryCuts { tasks, series })
}

/// Returns the values of those series of a `telemetry.parquet` file that `is_wanted` selects.
///
/// # Errors
///
/// An error if the file does not exist, cannot be read or is damaged.
pub fn telemetry_points(
    path: &Path,
    is_wanted: impl Fn(&TelemetrySeries) -> bool + Send,
) -> Result<Vec<SeriesPoints>, RecordError> {
    let telemetry = apart(|| read(path, is_wanted)).map_err(|error| unread(path, &error))?;
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
#[derive(Default)]
struct Found {
    /// Positions in `series`, or `None` for those that are not wanted.
    positions: HashMap<Vec<u8>, Option<usize>>,
    series: Vec<SeriesPoints>,
}

fn read(path: &Path, is_wanted: impl Fn(&TelemetrySeries) -> bool) -> Result<Telemetry, ReadError> {
    let reader = SerializedFileReader::new(durable::open_regular(path)?)?;
    let metadata = reader.metadata().file_metadata().key_value_metadata();
    let tasks = metadata.into_iter().flatten().find(|entry| entry.key == TASKS);
    let tasks = tasks.and_then(|entry| entry.value.as_deref()).map(serde_json::from_str).transpose();
    let tasks = tasks.map_err(|error| ReadError::Damaged(format!("the times of its tasks: {error}")))?;
    let mut found = Found::default();
    for number in 0..reader.num_row_groups() {
        found.add(reader.get_row_group(number)?.as_ref(), &is_wanted)?;
    }
    let mut series = found.series;
    for each in &mut series {
        each.points.sort_by_key(|point| point.time_ns);
    }
    series.sort_by(|one, other| one.series.cmp(&other.series));
    Ok(Telemetry { tasks: tasks.unwrap_or_default(), series })
}

impl Found {
    fn add(
        &mut self,
        row_group: &dyn RowGroupReader,
        is_wanted: &impl Fn(&TelemetrySeries) -> bool,
    ) -> Result<(), ReadError> {
        let rows = Rows::all(row_group)?;
        let times = rows.integers("time")?;
        let values = rows.doubles("value")?;
        let mut points = times.iter().zip(values).map(|(&time_ns, value)| Point { time_ns, value });
        for run in runs(row_group, &times)? {
            let of_run = points.by_ref().take(run.rows);
            match self.position(&run.texts, is_wanted)? {
                Some(position) => self.series[position].points.extend(of_run),
                None => of_run.for_each(drop),
            }
        }
        Ok(())
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
        let series = series_of(texts)?;
        let position = is_wanted(&series).then_some(self.series.len());
        if position.is_some() {
            self.series.push(SeriesPoints { series, points: Vec::new() });
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
    let mut runs = Vec::new();
    for rows in times.chunk_by(|one, next| one < next).map(<[i64]>::len) {
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
    let damaged = |what: &str| ReadError::Damaged(format!("a row of {name} has no valid {what}"));
    Ok(TelemetrySeries {
        kind: SeriesKind::of_name(&kind).ok_or_else(|| damaged("kind"))?,
        labels: serde_json::from_str(&labels).map_err(|_| damaged("labels"))?,
        source: source.into_owned(),
        name: name.clone().into_owned(),
        unit: unit.into_owned(),
    })
}
