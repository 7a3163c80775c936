//! Reads the samples of a race, one row group at a time, so that memory does not depend on their number.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec;

use parquet::file::reader::RowGroupReader;

use crate::bounded_file::{BoundedFile, SAMPLE_ROWS};
use crate::column_reader::{ReadError, Rows, TextColumn, apart};
use crate::error::RecordError;

/// A row of `samples.parquet`, without its traffic and its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSample {
    /// Name of the task.
    pub task: Arc<str>,
    /// Name of its operation.
    pub operation: Arc<str>,
    /// Type of the operation.
    pub operation_type: Arc<str>,
    /// Whether it is a sub-operation of a composite operation.
    pub part: bool,
    /// Number of the client within the task.
    pub client: u32,
    /// `warmup` or `normal`.
    pub sample_type: Arc<str>,
    /// When the operation was due, in nanoseconds since its task began.
    pub due_ns: i64,
    /// When its first request was sent, in nanoseconds since its task began.
    pub sent_ns: i64,
    /// When the last byte of its last response had arrived, in nanoseconds since its task began.
    pub done_ns: i64,
    /// Duration of the whole operation in the driver, in nanoseconds.
    pub processing_ns: i64,
    /// Whether the operation succeeded.
    pub success: bool,
    /// HTTP status of the last response, or 0 if there was none.
    pub status: u32,
    /// The class of its failure; empty for a success.
    pub error_class: Arc<str>,
    /// What the operation reported besides, as the text of a JSON object.
    pub details: Option<String>,
}

/// A `samples.parquet` file that is being read.
pub struct SampleReader {
    path: PathBuf,
    file: BoundedFile,
    /// Number of row groups that have been read.
    row_groups: usize,
    /// What is left of the last one.
    rows: vec::IntoIter<StoredSample>,
}

impl SampleReader {
    /// Opens the file.
    ///
    /// # Errors
    ///
    /// An error if the file does not exist, cannot be read or is damaged.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let file = apart(|| BoundedFile::open(path, SAMPLE_ROWS));
        let file = file.map_err(|error| unread(path, &error))?;
        Ok(Self { path: path.to_owned(), file, row_groups: 0, rows: Vec::new().into_iter() })
    }

    /// Returns the next rows, at most so many; none at the end of the file.
    ///
    /// # Errors
    ///
    /// An error if they cannot be read or are damaged.
    pub fn next_rows(&mut self, most: usize) -> Result<Vec<StoredSample>, RecordError> {
        while self.rows.len() == 0 && self.row_groups < self.file.row_groups() {
            let rows = apart(|| read(self.file.row_group(self.row_groups)?.as_ref()));
            self.rows = rows.map_err(|error| unread(&self.path, &error))?.into_iter();
            self.row_groups += 1;
        }
        Ok(self.rows.by_ref().take(most).collect())
    }
}

fn unread(path: &Path, error: &ReadError) -> RecordError {
    RecordError::Unread { path: path.display().to_string(), reason: error.to_string() }
}

fn read(row_group: &dyn RowGroupReader) -> Result<Vec<StoredSample>, ReadError> {
    let rows = Rows::all(row_group)?;
    let mut tasks = SharedTexts::read(&rows, "task")?;
    let mut operations = SharedTexts::read(&rows, "operation")?;
    let mut operation_types = SharedTexts::read(&rows, "operation_type")?;
    let mut sample_types = SharedTexts::read(&rows, "sample_type")?;
    let mut error_classes = SharedTexts::read(&rows, "error_class")?;
    let parts = rows.booleans("part")?;
    let successes = rows.booleans("success")?;
    let clients = rows.unsigned_integers("client")?;
    let statuses = rows.unsigned_integers("status")?;
    let due = rows.integers("due_ns")?;
    let sent = rows.integers("sent_ns")?;
    let done = rows.integers("done_ns")?;
    let processing = rows.integers("processing_ns")?;
    let details = rows.byte_arrays("details")?;
    // Every column has as many rows as the row group: the functions that read them check that.
    let rows = details.into_iter().enumerate().map(|(row, details)| StoredSample {
        task: tasks.next(row),
        operation: operations.next(row),
        operation_type: operation_types.next(row),
        part: parts[row],
        client: clients[row],
        sample_type: sample_types.next(row),
        due_ns: due[row],
        sent_ns: sent[row],
        done_ns: done[row],
        processing_ns: processing[row],
        success: successes[row],
        status: statuses[row],
        error_class: error_classes.next(row),
        details: details.map(|text| String::from_utf8_lossy(text.data()).into_owned()),
    });
    Ok(rows.collect())
}

/// A column of texts of which most equal the one before.
struct SharedTexts {
    texts: TextColumn,
    last: Arc<str>,
}

impl SharedTexts {
    fn read(rows: &Rows<'_>, name: &str) -> Result<Self, ReadError> {
        Ok(Self { texts: rows.texts(name)?, last: Arc::from("") })
    }

    fn next(&mut self, row: usize) -> Arc<str> {
        let text = self.texts.get(row);
        if text != self.last.as_bytes() {
            self.last = Arc::from(String::from_utf8_lossy(text));
        }
        Arc::clone(&self.last)
    }
}
