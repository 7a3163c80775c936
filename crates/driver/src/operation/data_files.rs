//! The data files of bulk tasks.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pacenote_corpus::{FollowedReader, LineFile, ReadAhead};
use pacenote_plan::{BulkFile, PlannedActionLines, PlannedTask, TaskWork};

use crate::error::DriveError;
use crate::race_state::lock;

/// The data files of a step, opened once and shared by all clients.
#[derive(Debug, Default)]
pub struct DataFiles {
    opened: HashMap<PathBuf, Arc<LineFile>>,
    /// The readers of the step's clients, for the read-ahead.
    readers: Mutex<Vec<FollowedReader>>,
}

impl DataFiles {
    /// Opens the files of a task and checks their numbers of documents.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or contains a different number of documents than planned.
    pub fn open(&mut self, task: &PlannedTask) -> Result<(), DriveError> {
        let TaskWork::Bulk(bulk) = &task.work else { return Ok(()) };
        for planned in &bulk.files {
            let file = match self.opened.get(&planned.path) {
                Some(file) => Arc::clone(file),
                None => self.open_file(&planned.path)?,
            };
            let (found, expected) =
                (file.line_count(), planned.documents.saturating_mul(lines_per_document(planned)));
            if found != expected {
                let path = planned.path.display().to_string();
                let documents = planned.documents;
                return Err(DriveError::Lines { path, documents, expected, found });
            }
        }
        Ok(())
    }

    /// Returns a file of a task that was opened.
    ///
    /// # Errors
    ///
    /// If the file was not opened, which is a bug in the driver.
    pub fn get(&self, path: &Path) -> Result<Arc<LineFile>, DriveError> {
        let missing = || DriveError::Internal(format!("{} was not opened before its task", path.display()));
        self.opened.get(path).cloned().ok_or_else(missing)
    }

    /// Adds the reader of a client, for the read-ahead.
    pub fn follow(&self, reader: FollowedReader) {
        lock(&self.readers).push(reader);
    }

    /// Returns the read-ahead of the readers added so far, or `None` if there are none.
    pub fn take_read_ahead(&self) -> Option<ReadAhead> {
        let readers = std::mem::take(&mut *lock(&self.readers));
        (!readers.is_empty()).then(|| ReadAhead::new(readers))
    }

    fn open_file(&mut self, path: &Path) -> Result<Arc<LineFile>, DriveError> {
        let file = Arc::new(LineFile::open(path)?);
        self.opened.insert(path.to_owned(), Arc::clone(&file));
        Ok(file)
    }
}

fn lines_per_document(file: &BulkFile) -> u64 {
    if matches!(file.action_lines, PlannedActionLines::InFile {}) { 2 } else { 1 }
}
