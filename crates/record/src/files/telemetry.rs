//! `telemetry.parquet`: one row per value of engine and hosts that was sampled, in the order of their series.
//!
//! The rows are converted from the [journal](super::telemetry_lines) when the race ends, or is found to have been
//! killed. Within a row group, the rows of a series follow one another, which makes the file small. The footer contains
//! the times of the tasks.

use std::collections::{BTreeMap, HashMap};
use std::fs::TryLockError;
use std::io::{self, ErrorKind};
use std::path::Path;

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};

use crate::error::RecordError;
use crate::files::columns::{self, write};
use crate::files::durable::{self, OutputFile};
use crate::files::losses::add_losses;
use crate::files::telemetry_lines::{JOURNAL, JournalLosses, TelemetryLine, read_lines};
use crate::files::telemetry_texts::{JournalSeries, SeriesTexts};
use crate::telemetry::{SeriesNumber, TaskWindow};

/// Name of the file.
pub const PARQUET: &str = "telemetry.parquet";

/// Key in the footer of the times of the tasks, as JSON.
pub const TASKS: &str = "pacenote.tasks";

/// Number of rows of a row group.
pub const ROW_GROUP_ROWS: usize = 1 << 17;
/// Length of the texts of all rows of a row group, in bytes; one that has a single row may have more. The rows of a
/// cluster with long names have half of them.
pub const ROW_GROUP_TEXTS: usize = 48 << 20;

/// Largest number of tasks whose times are kept: a track has some hundred.
const MAX_TASKS: usize = 10_000;
/// Largest length of the names of all tasks that run at a time, in bytes.
const MAX_TASK_BYTES: usize = 64 << 10;
/// Largest length of all distinct values of the column `task`, in bytes. Rows with further ones have none.
const MAX_NAME_BYTES: usize = 64 << 20;

/// The columns.
const SCHEMA: &str = "message telemetry {
    required int64 time;
    optional binary task (STRING);
    required binary source (STRING);
    required binary name (STRING);
    optional double value;
    required binary unit (STRING);
    required binary kind (STRING);
    required binary labels (STRING);
}";

/// Completes the telemetry of a race that was killed. Returns the number of rows, or `None` if there is nothing to
/// complete or the race is still running.
///
/// # Errors
///
/// An error if a file cannot be read or written; the journal is then kept.
pub fn recover_telemetry(folder: &Path) -> Result<Option<u64>, RecordError> {
    let path = folder.join(JOURNAL);
    let journal = match durable::open_regular(&path) {
        Ok(journal) => journal,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(RecordError::file(&path, source)),
    };
    if matches!(journal.try_lock(), Err(TryLockError::WouldBlock)) {
        return Ok(None);
    }
    complete_telemetry(folder).map(Some)
}

/// Converts the journal to the Parquet file, removes the journal, and returns the number of rows. What the journal has
/// lost is stored, and a journal that is damaged or lacks its end is kept under another name. A complete file with more
/// rows than the journal remains.
///
/// # Errors
///
/// An error if a file cannot be read or written; the journal is then kept.
pub fn complete_telemetry(folder: &Path) -> Result<u64, RecordError> {
    let (path, target) = (folder.join(JOURNAL), folder.join(PARQUET));
    let journal_error = |source| RecordError::file(&path, source);
    if !path.try_exists().map_err(journal_error)? {
        return Ok(0);
    }
    let journal = Journal::read(&path).map_err(journal_error)?;
    let present = durable::open_regular(&target).ok().and_then(|file| columns::rows_if_complete(&file));
    let mut losses = journal.losses();
    if let Some(present) = present.filter(|rows| *rows > journal.values) {
        let (values, file) = (journal.values, PARQUET);
        losses.push(format!("{JOURNAL} has {values} of the {present} rows of {file}, which is kept"));
    } else {
        let converted = durable::replace(&target, |file| journal.convert(&path, file));
        let unnamed = converted.map_err(|source| RecordError::file(&target, source))?;
        if unnamed > 0 {
            losses.push(format!(
                "{unnamed} values of {JOURNAL} lack their tasks, because too many ran at their times"
            ));
        }
    }
    add_losses(folder, &losses).map_err(journal_error)?;
    let removed = if losses.is_empty() { durable::remove(&path) } else { durable::set_aside(&path) };
    removed.map_err(journal_error)?;
    Ok(present.unwrap_or_default().max(journal.values))
}

/// A journal without its samples.
#[derive(Debug, Default)]
struct Journal {
    series: JournalSeries,
    tasks: Vec<TaskWindow>,
    /// Number of times of tasks that are not kept.
    tasks_left_out: u64,
    /// Number of values with a series.
    values: u64,
    /// Number of values whose series is not in the journal.
    orphans: u64,
    lines: JournalLosses,
}

/// A row of the file.
#[derive(Debug, Clone, Copy)]
struct Row {
    series: SeriesNumber,
    time_ns: i64,
    /// Position of its tasks in [`TaskNames`].
    task: Option<usize>,
    value: Option<f64>,
}

/// Which tasks ran at a time.
#[derive(Clone, Copy, Debug)]
enum RunningTasks {
    None,
    /// Their names are the value at this position.
    Named(usize),
    /// Their names are too long.
    Unnamed,
}

/// The distinct values of the column `task`.
#[derive(Debug)]
struct TaskNames<'a> {
    tasks: &'a [TaskWindow],
    /// The times at which a task begins, or has ended, in their order: the same tasks run between two of them.
    changes: Vec<i64>,
    /// What runs from the change before a position on, as far as it was asked for.
    running: HashMap<usize, RunningTasks>,
    names: Vec<ByteArray>,
    positions: HashMap<String, usize>,
    /// Length of all names, in bytes.
    bytes: usize,
}

impl<'a> TaskNames<'a> {
    fn new(tasks: &'a [TaskWindow]) -> Self {
        let times = |task: &TaskWindow| [task.begin_ns, task.end_ns.saturating_add(1)];
        let mut changes: Vec<i64> = tasks.iter().flat_map(times).collect();
        changes.sort_unstable();
        changes.dedup();
        let (running, positions) = (HashMap::new(), HashMap::new());
        Self { tasks, changes, running, names: Vec::new(), positions, bytes: 0 }
    }

    /// Returns the tasks that ran at a time.
    fn at(&mut self, time_ns: i64) -> RunningTasks {
        let part = self.changes.partition_point(|change| *change <= time_ns);
        if let Some(known) = self.running.get(&part) {
            return *known;
        }
        let found = self.find(time_ns);
        self.running.insert(part, found);
        found
    }

    fn find(&mut self, time_ns: i64) -> RunningTasks {
        let running =
            || self.tasks.iter().filter(|task| task.contains(time_ns)).map(|task| task.task.as_str());
        let length: usize = running().map(|name| name.len() + 2).sum();
        if length == 0 {
            return RunningTasks::None;
        }
        if length > MAX_TASK_BYTES {
            return RunningTasks::Unnamed;
        }
        let name = running().collect::<Vec<_>>().join(", ");
        if let Some(known) = self.positions.get(&name) {
            return RunningTasks::Named(*known);
        }
        if self.bytes + name.len() > MAX_NAME_BYTES {
            return RunningTasks::Unnamed;
        }
        self.bytes += name.len();
        self.names.push(name.as_str().into());
        self.positions.insert(name, self.names.len() - 1);
        RunningTasks::Named(self.names.len() - 1)
    }
}

/// The times of tasks, of which the last one of a name counts.
#[derive(Debug, Default)]
struct TaskTimes {
    positions: HashMap<String, u64>,
    /// Those that were not replaced, by their position in the journal.
    tasks: BTreeMap<u64, TaskWindow>,
    /// Number of times that were added.
    added: u64,
    /// Number of times that are not kept.
    left_out: u64,
}

impl TaskTimes {
    fn add(&mut self, task: TaskWindow) {
        let is_new = !self.positions.contains_key(&task.task);
        if (is_new && self.positions.len() >= MAX_TASKS) || task.task.len() > MAX_TASK_BYTES {
            self.left_out += 1;
            return;
        }
        self.added += 1;
        if let Some(earlier) = self.positions.insert(task.task.clone(), self.added) {
            self.tasks.remove(&earlier);
        }
        self.tasks.insert(self.added, task);
    }

    fn into_tasks(self) -> Vec<TaskWindow> {
        self.tasks.into_values().collect()
    }
}

impl Journal {
    fn read(path: &Path) -> io::Result<Self> {
        let (mut journal, mut times) = (Self::default(), TaskTimes::default());
        let lines = read_lines(path, |line| {
            match line {
                TelemetryLine::Series { number, series } => {
                    journal.series.add(number, &series)?;
                }
                TelemetryLine::Samples { values, .. } => {
                    let known = values.iter().filter(|(number, _)| journal.series.get(*number).is_some());
                    let known = known.count() as u64;
                    journal.values += known;
                    journal.orphans += values.len() as u64 - known;
                }
                TelemetryLine::Task(task) => {
                    // Its times when it ended are replaced by more exact ones at the end of the race.
                    times.add(task);
                }
            }
            Ok(())
        })?;
        journal.lines = lines;
        journal.tasks_left_out = times.left_out;
        journal.tasks = times.into_tasks();
        Ok(journal)
    }

    /// Returns a sentence for each part of the journal that is not in the file.
    fn losses(&self) -> Vec<String> {
        let JournalLosses { damaged, damaged_bytes, incomplete_bytes } = self.lines;
        let mut losses = Vec::new();
        if incomplete_bytes > 0 {
            losses.push(format!(
                "the incomplete last line of {JOURNAL} ({incomplete_bytes} bytes) is not in {PARQUET}"
            ));
        }
        if damaged > 0 {
            let lines = if damaged == 1 { "line is" } else { "lines are" };
            losses.push(format!(
                "{damaged} damaged {lines} of {JOURNAL} ({damaged_bytes} bytes) not in {PARQUET}"
            ));
        }
        if self.tasks_left_out > 0 {
            losses.push(format!(
                "{} times of tasks of {JOURNAL} are not in {PARQUET}, which has those of at most {MAX_TASKS} tasks",
                self.tasks_left_out
            ));
        }
        if self.orphans > 0 {
            losses.push(format!(
                "{} values of {JOURNAL} are not in {PARQUET}, because the lines with their names are damaged or too many",
                self.orphans
            ));
        }
        losses
    }

    /// Writes the values to a file, and returns it with the number of values whose tasks have too long names.
    fn convert(&self, path: &Path, target: OutputFile) -> io::Result<(OutputFile, u64)> {
        let tasks = KeyValue::new(TASKS.to_owned(), serde_json::to_string(&self.tasks)?);
        let properties = columns::properties().set_key_value_metadata(Some(vec![tasks])).build();
        let mut pending = PendingRows {
            writer: columns::begin(target, SCHEMA, properties)?,
            series: &self.series,
            names: TaskNames::new(&self.tasks),
            rows: Vec::new(),
            bytes: 0,
        };
        let mut unnamed = 0;
        read_lines(path, |line| {
            let TelemetryLine::Samples { time, values } = line else { return Ok(()) };
            let running = pending.names.at(time);
            let task = if let RunningTasks::Named(position) = running { Some(position) } else { None };
            for (series, value) in values {
                let is_row = pending.add(Row { series, time_ns: time, task, value })?;
                unnamed += u64::from(is_row && matches!(running, RunningTasks::Unnamed));
            }
            Ok(())
        })?;
        pending.write()?;
        Ok((pending.writer.into_inner()?, unnamed))
    }
}

/// The rows of the next row group.
struct PendingRows<'a> {
    writer: SerializedFileWriter<OutputFile>,
    series: &'a JournalSeries,
    names: TaskNames<'a>,
    rows: Vec<Row>,
    /// Length of their texts.
    bytes: usize,
}

impl PendingRows<'_> {
    /// Adds a row, after those before it are written if they are enough. Returns whether its series is known.
    fn add(&mut self, row: Row) -> Result<bool, ParquetError> {
        let Some(texts) = self.series.get(row.series) else { return Ok(false) };
        let task = row.task.and_then(|position| self.names.names.get(position));
        let bytes = texts.len() + task.map_or(0, ByteArray::len);
        if self.rows.len() >= ROW_GROUP_ROWS || self.bytes + bytes > ROW_GROUP_TEXTS {
            self.write()?;
        }
        self.bytes += bytes;
        self.rows.push(row);
        Ok(true)
    }

    fn write(&mut self) -> Result<(), ParquetError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let (rows, series) = (&mut self.rows, self.series);
        rows.sort_by_key(|row| (row.series, row.time_ns));
        let mut row_group = self.writer.next_row_group()?;
        let times: Vec<i64> = rows.iter().map(|row| row.time_ns).collect();
        write::<Int64Type, _>(&mut row_group, "time", &times, None)?;
        let tasks = &self.names.names;
        let levels: Vec<i16> = rows.iter().map(|row| i16::from(row.task.is_some())).collect();
        let present: Vec<ByteArray> = rows.iter().filter_map(|row| tasks.get(row.task?).cloned()).collect();
        write::<ByteArrayType, _>(&mut row_group, "task", &present, Some(&levels))?;
        write_texts(&mut row_group, "source", rows, series, |series| &series.source)?;
        write_texts(&mut row_group, "name", rows, series, |series| &series.name)?;
        let levels: Vec<i16> = rows.iter().map(|row| i16::from(row.value.is_some())).collect();
        let values: Vec<f64> = rows.iter().filter_map(|row| row.value).collect();
        write::<DoubleType, _>(&mut row_group, "value", &values, Some(&levels))?;
        write_texts(&mut row_group, "unit", rows, series, |series| &series.unit)?;
        write_texts(&mut row_group, "kind", rows, series, |series| &series.kind)?;
        write_texts(&mut row_group, "labels", rows, series, |series| &series.labels)?;
        row_group.close()?;
        rows.clear();
        self.bytes = 0;
        Ok(())
    }
}

fn write_texts(
    row_group: &mut SerializedRowGroupWriter<'_, OutputFile>,
    column: &str,
    rows: &[Row],
    series: &JournalSeries,
    text: fn(&SeriesTexts) -> &ByteArray,
) -> Result<(), ParquetError> {
    let values: Vec<ByteArray> =
        rows.iter().filter_map(|row| series.get(row.series)).map(|series| text(series).clone()).collect();
    write::<ByteArrayType, _>(row_group, column, &values, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_times_of_a_task_only_the_last_ones_are_kept() {
        let mut times = TaskTimes::default();
        let window = |task: &str, end_ns| TaskWindow { task: task.to_owned(), begin_ns: 0, end_ns };
        times.add(window("a", 1));
        times.add(window("b", 2));
        for end_ns in 3..1_000 {
            times.add(window("a", end_ns));
        }
        assert_eq!((times.positions.len(), times.tasks.len(), times.left_out), (2, 2, 0));
        assert_eq!(times.into_tasks(), [window("b", 2), window("a", 999)]);
    }

    #[test]
    fn tasks_are_looked_for_once_between_two_changes() {
        let window = |task: &str, begin_ns, end_ns| TaskWindow { task: task.to_owned(), begin_ns, end_ns };
        let tasks =
            [window("a", 10, 30), window("b", 20, 30), window("c", 31, 31), window("d", 40, i64::MAX)];
        let mut names = TaskNames::new(&tasks);
        for _ in 0..2 {
            for time_ns in (0..50).chain([i64::MAX - 1]) {
                let running = tasks.iter().filter(|task| task.contains(time_ns));
                let expected = running.map(|task| task.task.as_str()).collect::<Vec<_>>().join(", ");
                let name = match names.at(time_ns) {
                    RunningTasks::Named(position) => names.names[position].as_utf8().unwrap().to_owned(),
                    RunningTasks::None | RunningTasks::Unnamed => String::new(),
                };
                assert_eq!(name, expected, "at {time_ns}");
            }
        }
        // None, a, b with a, c, none, and d.
        assert_eq!((names.running.len(), names.names.len()), (6, 4));
    }
}
