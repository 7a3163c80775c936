//! Percentiles of the histograms of whole series: those of one race, or of several races together.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;

use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use serde::Serialize;

use crate::error::RecordError;
use crate::files::durable;
use crate::merged_histogram::{HistogramDecoder, MergedHistogram};
use crate::result::QUANTILES;
use crate::sample::SampleType;
use crate::units::ms;

/// Name of the threads that read a file. A panic of the Parquet library in one of them is a damaged file.
pub const SERIES_READER: &str = "pacenote-series";

/// The merged times of the tasks of several series.
#[derive(Debug, Serialize)]
pub struct MergedSeries {
    /// The tasks that any of the series has, by name.
    pub tasks: BTreeMap<String, MergedTask>,
    /// The series that could not be read; none of their rows are merged.
    pub unread: Vec<UnreadSeries>,
}

/// The merged times of the measured operations of a task that succeeded.
#[derive(Debug, Serialize)]
pub struct MergedTask {
    /// Service time.
    pub service_time: MergedTimes,
    /// Latency; empty in a task without a target rate.
    pub latency: MergedTimes,
}

/// The percentiles of merged durations.
#[derive(Debug, Serialize)]
pub struct MergedTimes {
    /// Number of durations.
    pub count: u64,
    /// The percentiles 50, 90, 99, 99.9 and 99.99, without those that the count is too low for.
    pub percentiles: Vec<MergedPercentile>,
}

/// A percentile of merged durations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MergedPercentile {
    /// The percentile, from 0 to 100.
    pub q: f64,
    /// Its value, in milliseconds: the longest duration with the same three significant digits.
    pub ms: f64,
}

/// A series that could not be read.
#[derive(Debug, Serialize)]
pub struct UnreadSeries {
    /// Its position among the files.
    pub index: usize,
    /// The reason; one line.
    pub reason: String,
}

/// Returns the merged percentiles of `series.parquet` files. They equal those of a race if there is one file, except
/// that a race knows its exact longest duration, which none of its percentiles exceeds.
#[must_use]
pub fn merged_percentiles(files: &[PathBuf]) -> MergedSeries {
    let (mut tasks, mut unread) = (Tasks::new(), Vec::new());
    let mut decoder = HistogramDecoder::new();
    for (index, file) in files.iter().enumerate() {
        match apart(|| read_series(file, &mut decoder)) {
            Ok(found) => {
                for (task, times) in found {
                    tasks.entry(task).or_default().add(&times);
                }
            }
            Err(error) => unread.push(UnreadSeries { index, reason: error.to_string() }),
        }
    }
    let tasks = tasks.into_iter().map(|(task, times)| (task, MergedTask::of(&times))).collect();
    MergedSeries { tasks, unread }
}

type Tasks = BTreeMap<String, TaskTimes>;

#[derive(Debug, Default)]
struct TaskTimes {
    service_time: MergedHistogram,
    latency: MergedHistogram,
}

impl TaskTimes {
    fn add(&mut self, other: &Self) {
        self.service_time.add(&other.service_time);
        self.latency.add(&other.latency);
    }
}

impl MergedTask {
    fn of(times: &TaskTimes) -> Self {
        Self { service_time: MergedTimes::of(&times.service_time), latency: MergedTimes::of(&times.latency) }
    }
}

impl MergedTimes {
    fn of(merged: &MergedHistogram) -> Self {
        let percentile =
            |q: &f64| merged.quantile(*q).map(|ns| MergedPercentile { q: *q * 100.0, ms: ms(ns) });
        let below_100 = QUANTILES.iter().filter(|q| **q < 1.0);
        Self { count: merged.count(), percentiles: below_100.filter_map(percentile).collect() }
    }
}

/// Why a series could not be read.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("does not exist")]
    Missing,
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("is damaged: {0}")]
    Damaged(String),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::NotFound { Self::Missing } else { Self::Unreadable(error) }
    }
}

impl From<ParquetError> for ReadError {
    fn from(error: ParquetError) -> Self {
        Self::Damaged(error.to_string().replace('\n', " "))
    }
}

impl From<RecordError> for ReadError {
    fn from(error: RecordError) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// Reads on a thread of its own, because the Parquet library panics for some damaged files.
fn apart<T: Send>(read: impl FnOnce() -> Result<T, ReadError> + Send) -> Result<T, ReadError> {
    thread::scope(|scope| {
        let reader = thread::Builder::new().name(SERIES_READER.into()).spawn_scoped(scope, read)?;
        reader.join().unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
            Err(ReadError::Damaged(format!("reading it failed: {}", text.replace('\n', " "))))
        })
    })
}

/// Reads the measured whole operations of a series, one row group after the other.
fn read_series(path: &Path, decoder: &mut HistogramDecoder) -> Result<Tasks, ReadError> {
    let reader = SerializedFileReader::new(durable::open_regular(path)?)?;
    let mut tasks = Tasks::new();
    for number in 0..reader.num_row_groups() {
        let row_group = reader.get_row_group(number)?;
        let names = byte_arrays(row_group.as_ref(), "task")?;
        let sample_types = byte_arrays(row_group.as_ref(), "sample_type")?;
        let parts = booleans(row_group.as_ref(), "part")?;
        let service_times = byte_arrays(row_group.as_ref(), "service_time")?;
        let latencies = byte_arrays(row_group.as_ref(), "latency")?;
        let columns = names.iter().zip(sample_types).zip(parts).zip(service_times.iter().zip(latencies));
        for (((name, sample_type), is_sub_operation), (service_time, latency)) in columns {
            let is_measured =
                sample_type.is_some_and(|name| name.data() == SampleType::Measured.name().as_bytes());
            let (Some(name), Some(service_time)) = (name, service_time) else {
                return Err(ReadError::Damaged("a row has no task or no service time".into()));
            };
            if !is_measured || is_sub_operation {
                continue;
            }
            let name = String::from_utf8_lossy(name.data());
            if !tasks.contains_key(name.as_ref()) {
                tasks.insert(name.to_string(), TaskTimes::default());
            }
            if let Some(times) = tasks.get_mut(name.as_ref()) {
                decoder.add(service_time.data(), &mut times.service_time)?;
                if let Some(latency) = latency {
                    decoder.add(latency.data(), &mut times.latency)?;
                }
            }
        }
    }
    Ok(tasks)
}

/// Returns the reader of a column, the highest definition level of its values, and the number of rows.
fn column(row_group: &dyn RowGroupReader, name: &str) -> Result<(ColumnReader, i16, usize), ReadError> {
    let metadata = row_group.metadata();
    let index = metadata.schema_descr().columns().iter().position(|column| column.name() == name);
    let index = index.ok_or_else(|| ReadError::Damaged(format!("there is no column {name}")))?;
    let level = metadata.schema_descr().column(index).max_def_level();
    let rows = usize::try_from(metadata.num_rows()).map_err(|error| ReadError::Damaged(error.to_string()))?;
    Ok((row_group.get_column_reader(index)?, level, rows))
}

fn byte_arrays(row_group: &dyn RowGroupReader, name: &str) -> Result<Vec<Option<ByteArray>>, ReadError> {
    let (reader, level, rows) = column(row_group, name)?;
    let ColumnReader::ByteArrayColumnReader(mut reader) = reader else { return Err(wrong_type(name)) };
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let (read, ..) = reader.read_records(rows, (level > 0).then_some(&mut levels), None, &mut values)?;
    check_rows(name, read, rows)?;
    if level == 0 {
        return Ok(values.into_iter().map(Some).collect());
    }
    let mut values = values.into_iter();
    Ok(levels.iter().map(|own| if *own == level { values.next() } else { None }).collect())
}

fn booleans(row_group: &dyn RowGroupReader, name: &str) -> Result<Vec<bool>, ReadError> {
    let (reader, level, rows) = column(row_group, name)?;
    let (ColumnReader::BoolColumnReader(mut reader), 0) = (reader, level) else {
        return Err(wrong_type(name));
    };
    let mut values = Vec::new();
    let (read, ..) = reader.read_records(rows, None, None, &mut values)?;
    check_rows(name, read, rows)?;
    Ok(values)
}

fn wrong_type(name: &str) -> ReadError {
    ReadError::Damaged(format!("column {name} has another type"))
}

fn check_rows(name: &str, read: usize, rows: usize) -> Result<(), ReadError> {
    if read == rows {
        return Ok(());
    }
    Err(ReadError::Damaged(format!("column {name} has {read} of {rows} rows")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_a_reader_is_a_damaged_file_with_its_message() {
        let rows = |count: usize| format!("{count}\nrows");
        let failed = apart::<()>(|| panic!("{}", rows(3))).unwrap_err();
        assert_eq!(failed.to_string(), "is damaged: reading it failed: 3 rows");
        let failed = apart::<()>(|| panic!("out of bounds")).unwrap_err();
        assert_eq!(failed.to_string(), "is damaged: reading it failed: out of bounds");
    }
}
