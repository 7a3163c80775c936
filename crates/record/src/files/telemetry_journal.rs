//! The telemetry of a running race: a journal to which any thread appends samples.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::RecordError;
use crate::files::durable::OutputFile;
use crate::files::telemetry::{PARQUET, complete_telemetry};
use crate::files::telemetry_lines::{JOURNAL, TelemetryLine};
use crate::files::telemetry_texts::{SeriesCounts, SeriesLimit, joined};
use crate::telemetry::{SeriesNumber, TaskWindow, TelemetrySeries};

/// The number of each series that is not kept. No series of the file has it: it has fewer.
const NOT_KEPT: SeriesNumber = SeriesNumber(u32::MAX);

/// The telemetry of a running race. Any thread may write to it.
///
/// After an error, what is written later is discarded; [`TelemetryFile::close`] returns the error. It does so too if
/// there are too many series, of which those that came first are recorded to the end.
#[derive(Debug)]
pub struct TelemetryFile {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// `None` when the file is closed.
    journal: Option<BufWriter<OutputFile>>,
    /// Numbers by the texts of the series.
    numbers: HashMap<Box<[u8]>, SeriesNumber>,
    counts: SeriesCounts,
    /// What was reached by the first series that is not kept.
    limit: Option<&'static SeriesLimit>,
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

    /// Returns the number of a series, which is the same for the same series. Values under the number of a series that
    /// is not kept are not written.
    pub fn number(&self, series: &TelemetrySeries) -> SeriesNumber {
        let mut state = self.state();
        let key = match joined(series) {
            Ok(key) => key,
            Err(source) => {
                state.fail(RecordError::file(&self.folder.join(JOURNAL), source));
                return NOT_KEPT;
            }
        };
        if let Some(number) = state.numbers.get(key.as_slice()) {
            return *number;
        }
        if let Err(limit) = state.counts.add(&series.source, key.len()) {
            state.limit.get_or_insert(limit);
            return NOT_KEPT;
        }
        let number = SeriesNumber(u32::try_from(state.numbers.len()).unwrap_or(u32::MAX));
        state.append(&self.folder, &TelemetryLine::Series { number, series: series.clone() });
        state.numbers.insert(key.into_boxed_slice(), number);
        number
    }

    /// Appends the samples of one instant, in nanoseconds since 1970.
    pub fn write(&self, time: i64, mut values: Vec<(SeriesNumber, Option<f64>)>) {
        values.retain(|(number, _)| *number != NOT_KEPT);
        if values.is_empty() {
            return;
        }
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
    /// The first error of a write, or that there were too many series; what could be written is then converted. An
    /// error if the file cannot be converted, or if another program has changed the journal.
    pub fn close(&self) -> Result<u64, RecordError> {
        let (journal, values, error, limit) = {
            let mut state = self.state();
            // The conversion needs the memory.
            state.numbers = HashMap::new();
            (state.journal.take(), state.values, state.error.take(), state.limit.take())
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
        let rows = match (error, rows) {
            (Some(error), _) | (None, Err(error)) => return Err(error),
            (None, Ok(rows)) if rows < values => return Err(lost(rows)),
            (None, Ok(rows)) => rows,
        };
        limit.map_or(Ok(rows), |limit| Err(file_error(limit.reached())))
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
