//! Bulks of a corpus: each client posts its own range of every file.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pacenote_corpus::{
    ActionLines, BulkBody, BulkReader, DocumentRange, IdActionLines, IdConflicts, IdSeed, LineFile, bounds,
    reading_order, share_of_bulks,
};
use pacenote_plan::{
    Bulk, BulkAction, BulkFile, IdOrder, IngestLimit, OnConflict, Plan, PlannedTask, TaskWork,
};
use pacenote_record::ErrorClass;

use crate::cancel::Cancellation;
use crate::error::DriveError;
use crate::operation::bulk_retry;
use crate::operation::compression::{coding, pack_in_slices};
use crate::operation::outcome::Outcome;
use crate::response::check::judge_bulk;
use crate::transport::http::RequestHead;
use crate::transport::pool::{PooledConnection, RequestBody};

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
    pub fn open(&mut self, task: &PlannedTask) -> Result<(), DriveError> {
        let TaskWork::Bulk(bulk) = &task.work else { return Ok(()) };
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
    if matches!(file.action, BulkAction::InFile {}) { 2 } else { 1 }
}

/// How many bulks of the task's data each client sends, summed over its clients; `None` when they never end.
pub fn planned_bulks(task: &PlannedTask, bulk: &Bulk) -> Option<u64> {
    let bulks = |documents: u64| documents.div_ceil(u64::from(bulk.bulk_size));
    let of_client =
        |client| shares(task, bulk, client).into_iter().map(|share| bulks(share.documents)).sum::<u64>();
    (!bulk.looped).then(|| (0..task.clients).map(of_client).sum())
}

/// What a client sends of one file.
struct FileShare {
    /// Position of the file in the plan.
    file: usize,
    /// The client's range.
    range: Range<u64>,
    /// How many documents from the beginning of the range are sent.
    documents: u64,
}

/// What a client sends in one pass, in the order in which it does.
fn shares(task: &PlannedTask, bulk: &Bulk, client: u32) -> Vec<FileShare> {
    let corpora: Vec<u32> = bulk.files.iter().map(|file| file.corpus).collect();
    let share = |file: usize| {
        let range = bounds(bulk.files[file].documents, client, task.clients);
        FileShare { file, documents: range.end - range.start, range }
    };
    let mut shares: Vec<FileShare> = reading_order(&corpora, client).into_iter().map(share).collect();
    let mut left = match bulk.limit {
        IngestLimit::Share { share } => {
            let documents: Vec<u64> = shares.iter().map(|share| share.documents).collect();
            share_of_bulks(&documents, bulk.bulk_size, share)
        }
        IngestLimit::Documents { documents } => {
            let range = bounds(documents, client, task.clients);
            range.end - range.start
        }
    };
    for share in &mut shares {
        share.documents = share.documents.min(left);
        left -= share.documents;
    }
    shares
}

/// The first id of a file: files of one index follow each other, so that no id stands for documents of two of them.
fn first_id(bulk: &Bulk, file: usize) -> u64 {
    let of_same_index = |earlier: &&BulkFile| earlier.action == bulk.files[file].action;
    bulk.files[..file].iter().filter(of_same_index).map(|earlier| earlier.documents).sum()
}

/// The action lines of a client's share of a file.
fn action_lines(
    plan: &Plan,
    task: &PlannedTask,
    bulk: &Bulk,
    (client, share): (u32, &FileShare),
) -> ActionLines {
    match (&bulk.files[share.file].action, bulk.conflicts) {
        (BulkAction::InFile {}, _) => ActionLines::InFile,
        (BulkAction::Line { line }, _) => ActionLines::Constant(format!("{line}\n").into()),
        (BulkAction::WithId { index }, conflicts) => {
            let conflicts = conflicts.map_or(IdConflicts::default(), |conflicts| IdConflicts {
                shuffled: conflicts.ids == IdOrder::Random,
                probability: conflicts.probability,
                update: conflicts.on_conflict == OnConflict::Update,
                recency: conflicts.recency,
            });
            let first = first_id(bulk, share.file);
            let ids = first + share.range.start..first + share.range.end;
            let seed = IdSeed { seed: plan.seed, task: &task.name, client, file: share.file };
            let index = serde_json::Value::from(index.as_str()).to_string();
            ActionLines::WithIds(Box::new(IdActionLines::new(&index, &ids, conflicts, seed)))
        }
    }
}

/// The bulk source of one client.
#[derive(Debug)]
pub struct BulkSource {
    reader: BulkReader,
    body: BulkBody,
    /// The body compressed, if it is sent so, or why it is not.
    packed: Option<io::Result<Vec<u8>>>,
    documents: u32,
    head: RequestHead,
    timeout: Duration,
    looped: bool,
    retries_on_429: u32,
}

impl BulkSource {
    /// The range of client `place.0`, to be posted to host `place.1`.
    ///
    /// # Errors
    ///
    /// When the request cannot be written as HTTP or a file is shorter than planned.
    pub fn new(
        plan: &Plan,
        task: &PlannedTask,
        bulk: &Bulk,
        place: (u32, usize),
        files: &DataFiles,
    ) -> Result<Self, DriveError> {
        let (client, host) = place;
        let part = |share: FileShare| {
            Ok(DocumentRange {
                file: files.get(&bulk.files[share.file].path)?,
                first_document: share.range.start,
                documents: share.documents,
                action: action_lines(plan, task, bulk, (client, &share)),
            })
        };
        let parts: Result<Vec<DocumentRange>, DriveError> =
            shares(task, bulk, client).into_iter().map(part).collect();
        let headers = plan.target.headers.iter().chain(&bulk.headers);
        let coding = coding(&plan.target, true, headers.clone());
        let head = RequestHead::new(&plan.target.hosts[host], "POST", &bulk.path, headers.chain(&coding))
            .map_err(|source| DriveError::Request { task: task.name.clone(), source })?;
        Ok(Self {
            reader: BulkReader::new(parts?, bulk.bulk_size)?,
            body: BulkBody::new(),
            packed: coding.map(|_| Ok(Vec::new())),
            documents: 0,
            head,
            timeout: Duration::from_millis(bulk.timeout_ms.unwrap_or(plan.target.timeout_ms)),
            looped: bulk.looped,
            retries_on_429: bulk.retries_on_429,
        })
    }

    /// Builds the next body. Returns `false` when the range is exhausted.
    pub fn prepare(&mut self) -> bool {
        let mut built = self.reader.next_into(&mut self.body);
        if built.is_none() && self.looped {
            self.reader.rewind();
            built = self.reader.next_into(&mut self.body);
        }
        self.documents = built.unwrap_or(0);
        built.is_some()
    }

    /// Compresses the body, if it is sent so, before it is due if there is time.
    pub async fn pack(&mut self) {
        if let Some(packed) = &mut self.packed {
            renew(packed, self.body.as_slice()).await;
        }
    }

    /// Posts the body, and again those of its documents that the engine had no room for, as often as the operation
    /// asks for that, unless the race or the step ends.
    pub async fn execute(&mut self, link: &mut PooledConnection, cancellation: &Cancellation<'_>) -> Outcome {
        let (mut outcome, mut no_room) = self.post(link, None, u64::from(self.documents)).await;
        let mut body: Option<Vec<u8>> = None;
        for _ in 0..self.retries_on_429 {
            if no_room.is_empty() || cancellation.stop_reason().is_some() {
                break;
            }
            let (whole, documents) = (body.as_deref().unwrap_or(self.body.as_slice()), no_room.len() as u64);
            let picked = bulk_retry::pick(whole, &no_room);
            let (next, still_no_room) = self.post(link, Some(&picked), documents).await;
            outcome = bulk_retry::join(bulk_retry::without(outcome, documents), next);
            (body, no_room) = (Some(picked), still_no_room);
        }
        outcome
    }

    /// Posts these documents, or the prepared ones; returns also the positions of those without room, if they may be
    /// sent again.
    async fn post(
        &mut self,
        link: &mut PooledConnection,
        again: Option<&[u8]>,
        documents: u64,
    ) -> (Outcome, Vec<usize>) {
        let retries = self.retries_on_429;
        let content = again.unwrap_or(self.body.as_slice());
        if let Some(packed) = self.packed.as_mut().filter(|_| again.is_some()) {
            renew(packed, content).await;
        }
        let bytes = match &self.packed {
            None => content,
            Some(Ok(packed)) => packed,
            Some(Err(error)) => return (Outcome::unsent(error.to_string()), Vec::new()),
        };
        let body = RequestBody { bytes, uncompressed_len: content.len() };
        let mut no_room = Vec::new();
        let judge = |status, reply: &[u8]| {
            let result = judge_bulk(status, reply, documents);
            if retries > 0 && result.class == ErrorClass::BulkItem {
                no_room = bulk_retry::no_room(reply, documents);
            }
            result
        };
        let exchange = link.exchange(&mut self.head, body, self.timeout, judge).await;
        let mut outcome = Outcome::from(exchange);
        let result = &mut outcome.result;
        if !result.is_success() && result.class != ErrorClass::BulkItem {
            // Without a reply about each document none of them is known to be in the index.
            (result.accepted, result.rejected) = (0, documents);
        }
        (outcome, no_room)
    }
}

/// Compresses a body in the place of the one before.
async fn renew(packed: &mut io::Result<Vec<u8>>, body: &[u8]) {
    let mut bytes = std::mem::replace(packed, Ok(Vec::new())).unwrap_or_default();
    *packed = pack_in_slices(body, &mut bytes).await.map(|()| bytes);
}
