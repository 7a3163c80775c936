//! The telemetry of a running race: a journal to which any thread appends samples.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::RecordError;
use crate::files::durable::OutputFile;
use crate::files::telemetry::{PARQUET, complete_telemetry};
use crate::files::telemetry_lines::{JOURNAL, TelemetryLine};
use crate::telemetry::{SeriesNumber, TaskWindow, TelemetrySeries};

/// Largest number of series of a race: those of a large cluster with statistics of each shard.
const MAX_SERIES: usize = 1 << 17;

/// The telemetry of a running race. Any thread may write to it.
///
/// After an error, what is written later is discarded; [`TelemetryFile::close`] returns the error.
#[derive(Debug)]
pub struct TelemetryFile {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// `None` when the file is closed.
    journal: Option<BufWriter<OutputFile>>,
    numbers: HashMap<TelemetrySeries, SeriesNumber>,
    /// Values that were written.
    values: u64,
    error: Option<RecordError>,
}

impl TelemetryFile {
    /// Creates the journal and locks it, so that other processes know that the race is running.
    ///
    /// # Errors
    ///
    /// An error if the file cannot be created or locked.
    pub fn create(folder: &Path) -> Result<Self, RecordError> {
        let path = folder.join(JOURNAL);
        let journal = OutputFile::create(&path).map_err(|source| RecordError::file(&path, source))?;
        journal.lock().map_err(|source| RecordError::file(&path, source))?;
        let state = State { journal: Some(BufWriter::new(journal)), ..State::default() };
        Ok(Self { folder: folder.to_owned(), state: Mutex::new(state) })
    }

    /// Returns the number of a series, which is the same for the same series.
    pub fn number(&self, series: &TelemetrySeries) -> SeriesNumber {
        let mut state = self.state();
        if let Some(number) = state.numbers.get(series) {
            return *number;
        }
        let number = SeriesNumber(u32::try_from(state.numbers.len()).unwrap_or(u32::MAX));
        if state.numbers.len() >= MAX_SERIES {
            let problem = io::Error::other(format!("there are more than {MAX_SERIES} series"));
            state.fail(RecordError::file(&self.folder.join(JOURNAL), problem));
            return number;
        }
        state.append(&self.folder, &TelemetryLine::Series { number, series: series.clone() });
        state.numbers.insert(series.clone(), number);
        number
    }

    /// Appends the samples of one instant, in nanoseconds since 1970.
    pub fn write(&self, time: i64, values: Vec<(SeriesNumber, Option<f64>)>) {
        let count = values.len() as u64;
        let mut state = self.state();
        if state.append(&self.folder, &TelemetryLine::Samples { time, values }) {
            state.values += count;
        }
    }

    /// Appends the times of a task that has ended.
    pub fn add_task(&self, task: TaskWindow) {
        self.state().append(&self.folder, &TelemetryLine::Task(task));
    }

    /// Converts the journal to `telemetry.parquet` and returns the number of rows; later calls return 0.
    ///
    /// # Errors
    ///
    /// The first error of a write; what could be written is then converted. An error if the file cannot be converted,
    /// or if another program has changed the journal.
    pub fn close(&self) -> Result<u64, RecordError> {
        let (journal, values, error) = {
            let mut state = self.state();
            (state.journal.take(), state.values, state.error.take())
        };
        let Some(mut journal) = journal else { return error.map_or(Ok(0), Err) };
        let path = self.folder.join(JOURNAL);
        let file_error = |source| RecordError::file(&path, source);
        let named = journal.flush().and_then(|()| journal.get_ref().check_name(&path)).map_err(file_error);
        let rows = named.and_then(|()| complete_telemetry(&self.folder));
        let lost = |rows: u64| {
            let problem =
                format!("another program has changed it: {rows} of {values} values are in {PARQUET}");
            file_error(io::Error::other(problem))
        };
        match (error, rows) {
            (Some(error), _) | (None, Err(error)) => Err(error),
            (None, Ok(rows)) if rows < values => Err(lost(rows)),
            (None, Ok(rows)) => Ok(rows),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Appends a line to the file at once, and returns whether it was written.
    fn append(&mut self, folder: &Path, line: &TelemetryLine) -> bool {
        let Some(journal) = self.journal.as_mut().filter(|_| self.error.is_none()) else { return false };
        let written = serde_json::to_writer(&mut *journal, line).map_err(io::Error::from);
        let written = written.and_then(|()| journal.write_all(b"\n")).and_then(|()| journal.flush());
        match written {
            Ok(()) => true,
            Err(source) => {
                self.fail(RecordError::file(&folder.join(JOURNAL), source));
                false
            }
        }
    }

    fn fail(&mut self, error: RecordError) {
        self.error.get_or_insert(error);
    }
}
