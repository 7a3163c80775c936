//! Percentiles of the histograms of whole series: those of one race, or of several races together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::bounded_file::{BoundedFile, SERIES_ROWS};
use crate::column_reader::{ReadError, Rows, apart};
use crate::merged_histogram::{HistogramDecoder, MergedHistogram};
use crate::result::QUANTILES;
use crate::sample::SampleType;
use crate::units::ms;

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
            Ok(found) if room(&tasks) + room(&found) > MOST_BUCKETS => {
                let reason = "has too many tasks to be merged with the others".to_owned();
                unread.push(UnreadSeries { index, reason });
            }
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

/// Tasks of a file.
pub const MOST_TASKS: usize = 10_000;

/// Buckets of all histograms that are merged, of 8 bytes each; a task has up to 77,824.
pub const MOST_BUCKETS: usize = 1 << 25;

/// Returns the number of buckets of tasks.
fn room(tasks: &Tasks) -> usize {
    tasks.values().map(|times| times.service_time.room() + times.latency.room()).sum()
}

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

/// Reads the measured whole operations of a series, one row group after the other.
fn read_series(path: &Path, decoder: &mut HistogramDecoder) -> Result<Tasks, ReadError> {
    let file = BoundedFile::open(path, SERIES_ROWS)?;
    let mut tasks = Tasks::new();
    let mut buckets = 0;
    decoder.begin_file();
    for number in 0..file.row_groups() {
        let row_group = file.row_group(number)?;
        let rows = Rows::all(row_group.as_ref())?;
        let names = rows.byte_arrays("task")?;
        let sample_types = rows.byte_arrays("sample_type")?;
        let parts = rows.booleans("part")?;
        let service_times = rows.byte_arrays("service_time")?;
        let latencies = rows.byte_arrays("latency")?;
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
            if tasks.len() > MOST_TASKS || buckets > MOST_BUCKETS {
                return Err(too_many_tasks());
            }
            if let Some(times) = tasks.get_mut(name.as_ref()) {
                let before = times.service_time.room() + times.latency.room();
                decoder.add(service_time.data(), &mut times.service_time)?;
                if let Some(latency) = latency {
                    decoder.add(latency.data(), &mut times.latency)?;
                }
                buckets += times.service_time.room() + times.latency.room() - before;
            }
        }
    }
    Ok(tasks)
}

/// Returns the error for a file whose tasks do not fit into memory.
pub fn too_many_tasks() -> ReadError {
    ReadError::TooLarge("has durations of too many tasks, and is not read".into())
}
