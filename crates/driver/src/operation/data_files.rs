//! The data files of bulk tasks, mapped into memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pacenote_corpus::LineFile;
use pacenote_plan::{BulkFile, PlannedActionLines, PlannedTask, TaskWork};

use crate::error::DriveError;

/// The data files of a step, mapped once and shared by all clients.
#[derive(Debug, Clone, Default)]
pub struct DataFiles {
    mapped: HashMap<PathBuf, Arc<LineFile>>,
}

impl DataFiles {
    /// Maps the files of a task into memory and checks their numbers of documents.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or contains a different number of documents than planned.
    pub fn open(&mut self, task: &PlannedTask) -> Result<(), DriveError> {
        let TaskWork::Bulk(bulk) = &task.work else { return Ok(()) };
        for planned in &bulk.files {
            let file = match self.mapped.get(&planned.path) {
                Some(file) => Arc::clone(file),
                None => self.map(&planned.path)?,
            };
            let lines = lines_per_document(planned);
            let (found, remainder) = (file.line_count() / lines, file.line_count() % lines);
            if found != planned.documents || remainder > 0 {
                let path = planned.path.display().to_string();
                return Err(DriveError::Documents { path, expected: planned.documents, found });
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
        self.mapped.get(path).cloned().ok_or_else(missing)
    }

    fn map(&mut self, path: &Path) -> Result<Arc<LineFile>, DriveError> {
        let file = Arc::new(LineFile::open(path)?);
        // Every client reads its range sequentially, so the kernel should read ahead; few bulks then have to wait for a
        // disk.
        file.advise_sequential();
        self.mapped.insert(path.to_owned(), Arc::clone(&file));
        Ok(file)
    }
}

fn lines_per_document(file: &BulkFile) -> u64 {
    if matches!(file.action_lines, PlannedActionLines::InFile {}) { 2 } else { 1 }
}
