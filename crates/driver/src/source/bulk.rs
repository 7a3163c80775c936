//! Bulks of a corpus: each client posts its own range of every file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pacenote_corpus::{ActionLines, BulkBody, BulkReader, LineFile, Part, bounds};
use pacenote_plan::{Action, Bulk, BulkFile, Limit, Plan, Task, Work};
use pacenote_record::ErrorClass;

use crate::error::DriveError;
use crate::http::Head;
use crate::judge::judge_bulk;
use crate::link::Link;
use crate::outcome::Outcome;

/// The data files of a step, mapped once and shared by all clients.
#[derive(Debug, Clone, Default)]
pub struct DataFiles {
    open: HashMap<PathBuf, Arc<LineFile>>,
}

impl DataFiles {
    /// Opens the files of a task and checks that they hold what the plan says.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or holds another number of documents.
    pub fn open(&mut self, task: &Task) -> Result<(), DriveError> {
        let Work::Bulk(bulk) = &task.work else { return Ok(()) };
        for data in &bulk.files {
            let file = match self.open.get(&data.path) {
                Some(file) => Arc::clone(file),
                None => self.map(&data.path)?,
            };
            let (found, left_over) = (file.lines() / lines_each(data), file.lines() % lines_each(data));
            if found != data.documents || left_over > 0 {
                let path = data.path.display().to_string();
                return Err(DriveError::Documents { path, expected: data.documents, found });
            }
        }
        Ok(())
    }

    fn map(&mut self, path: &Path) -> Result<Arc<LineFile>, DriveError> {
        let file = Arc::new(LineFile::open(path)?);
        // Every client reads its range from front to back: the kernel may read ahead, so that few bulks wait for a disk.
        file.advise_sequential();
        self.open.insert(path.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    fn get(&self, path: &Path) -> Result<Arc<LineFile>, DriveError> {
        let missing = || DriveError::ThreadDied(format!("{} was not opened before its task", path.display()));
        self.open.get(path).cloned().ok_or_else(missing)
    }
}

fn lines_each(file: &BulkFile) -> u64 {
    if matches!(file.action, Action::InFile {}) { 2 } else { 1 }
}

/// How many bulks of the task's data each client sends, summed over its clients; `None` when they never end.
pub fn planned_bulks(task: &Task, bulk: &Bulk) -> Option<u64> {
    let of_client = |client| {
        let documents = |file: &BulkFile| {
            let range = bounds(file.documents, client, task.clients);
            range.end - range.start
        };
        let all = bulk.files.iter().map(|file| documents(file).div_ceil(u64::from(bulk.bulk_size))).sum();
        cut(all, bulk.limit)
    };
    (!bulk.looped).then(|| (0..task.clients).map(of_client).sum())
}

/// The share of `bulks` to be sent, rounded up as Rally does.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count is no larger")]
fn cut(bulks: u64, limit: Limit) -> u64 {
    match limit {
        Limit::Share { share } if share < 1.0 => (bulks as f64 * share).ceil() as u64,
        _ => bulks,
    }
}

/// The bulk source of one client.
#[derive(Debug)]
pub struct BulkSource {
    reader: BulkReader,
    body: BulkBody,
    documents: u32,
    head: Head,
    timeout: Duration,
    looped: bool,
    /// Bulks still to be sent.
    left: u64,
    bulks: u64,
}

impl BulkSource {
    /// The range of client `place.0`, to be posted to host `place.1`.
    ///
    /// # Errors
    ///
    /// When the request cannot be written as HTTP or a file is shorter than planned.
    pub fn new(
        plan: &Plan,
        task: &Task,
        bulk: &Bulk,
        place: (u32, usize),
        files: &DataFiles,
    ) -> Result<Self, DriveError> {
        let (client, host) = place;
        let parts: Result<Vec<Part>, DriveError> = bulk
            .files
            .iter()
            .map(|data| {
                let range = bounds(data.documents, client, task.clients);
                Ok(Part {
                    file: files.get(&data.path)?,
                    first_document: range.start,
                    documents: range.end - range.start,
                    action: match &data.action {
                        Action::InFile {} => ActionLines::InFile,
                        Action::Line { line } => ActionLines::Constant(format!("{line}\n").into()),
                        Action::WithId { .. } => {
                            return Err(DriveError::Unsupported("documents with ids cannot be sent".into()));
                        }
                    },
                })
            })
            .collect();
        let mut parts = parts?;
        // Clients start with different files, so that all files grow from the beginning.
        let first = client as usize % parts.len();
        parts.rotate_left(first);
        let reader = BulkReader::new(parts, bulk.bulk_size)?;
        let headers = plan.target.headers.iter().chain(&bulk.headers);
        let head = Head::new(&plan.target.hosts[host], "POST", &bulk.path, headers)
            .map_err(|source| DriveError::Request { task: task.name.clone(), source })?;
        let bulks = cut(reader.bulks_total(), bulk.limit);
        Ok(Self {
            reader,
            body: BulkBody::new(),
            documents: 0,
            head,
            timeout: Duration::from_millis(bulk.timeout_ms.unwrap_or(plan.target.timeout_ms)),
            looped: bulk.looped,
            left: bulks,
            bulks,
        })
    }

    /// Builds the next body. Returns `false` when the range is exhausted.
    pub fn prepare(&mut self) -> bool {
        if self.left == 0 && self.looped && self.bulks > 0 {
            self.reader.rewind();
            self.left = self.bulks;
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        match self.reader.next_into(&mut self.body) {
            Some(documents) => {
                self.documents = documents;
                true
            }
            None => false,
        }
    }

    /// Posts the body.
    pub async fn execute(&mut self, link: &mut Link) -> Outcome {
        let documents = u64::from(self.documents);
        let body = self.body.as_slice();
        let judge = |status, reply: &[u8]| judge_bulk(status, reply, documents);
        let mut outcome = link.call(&mut self.head, body, self.timeout, judge).await;
        let verdict = &mut outcome.verdict;
        if !verdict.is_success() && verdict.class != ErrorClass::BulkItem {
            // Without a reply about each document none of them is known to be in the index.
            (verdict.accepted, verdict.rejected) = (0, documents);
        }
        outcome
    }
}
