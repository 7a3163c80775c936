//! The bulks of a corpus: which documents each client sends, and the source that sends them.

use std::ops::Range;
use std::time::Duration;

use pacenote_corpus::{
    ActionLines, BulkBody, BulkReader, CorpusError, DocumentRange, IdActionLines, IdConflicts, IdStreamKey,
    client_range, documents_in_share, reading_order,
};
use pacenote_plan::{BulkFile, BulkWork, IdOrder, IngestLimit, OnConflict, PlannedActionLines, PlannedTask};

use super::bulk_request::{BulkOptions, BulkRequest};
use super::context::Destination;
use super::data_files::DataFiles;
use super::outcome::OperationOutcome;
use super::prepared::{PreparedRequest, RequestSpec};
use crate::cancel::Cancellation;
use crate::error::DriveError;
use crate::response::bulk::SentBulk;
use crate::response::selection::filters_fields;
use crate::transport::pool::ConnectionPool;

/// Returns the total number of bulks that the clients of a task send, or `None` if it is unlimited.
pub fn planned_bulks(task: &PlannedTask, bulk: &BulkWork) -> Option<u64> {
    let bulks_of = |client_number| {
        let ranges = ClientPartition { task, bulk, client_number }.ranges();
        ranges.iter().map(|range| range.documents.div_ceil(u64::from(bulk.bulk_size))).sum::<u64>()
    };
    (!bulk.looped).then(|| (0..task.clients).map(bulks_of).sum())
}

/// Returns the total number of documents that the clients of a task send, or `None` if it is unlimited.
pub fn planned_documents(task: &PlannedTask, bulk: &BulkWork) -> Option<u64> {
    let documents_of = |client_number| {
        let ranges = ClientPartition { task, bulk, client_number }.ranges();
        ranges.iter().map(|range| range.documents).sum::<u64>()
    };
    (!bulk.looped).then(|| (0..task.clients).map(documents_of).sum())
}

/// The documents that one client of a bulk task sends.
#[derive(Debug, Clone, Copy)]
pub struct ClientPartition<'a> {
    /// The task.
    pub task: &'a PlannedTask,
    /// The work of the task.
    pub bulk: &'a BulkWork,
    /// Number of the client in the task.
    pub client_number: u32,
}

/// The documents of one file that a client sends.
struct FileRange {
    /// Position of the file in the plan.
    file_index: usize,
    /// Positions, in the file, of the documents that only this client may send.
    assigned: Range<u64>,
    /// Number of documents to send, starting with the first assigned one.
    documents: u64,
}

impl ClientPartition<'_> {
    /// Returns the documents of one pass, in sending order.
    fn ranges(&self) -> Vec<FileRange> {
        let Self { task, bulk, client_number } = *self;
        let corpus_of_file: Vec<u32> = bulk.files.iter().map(|file| file.corpus).collect();
        let range_of = |file_index: usize| {
            let assigned = client_range(bulk.files[file_index].documents, client_number, task.clients);
            FileRange { file_index, documents: assigned.end - assigned.start, assigned }
        };
        let mut ranges: Vec<FileRange> =
            reading_order(&corpus_of_file, client_number).into_iter().map(range_of).collect();
        let mut documents_left = match bulk.limit {
            IngestLimit::Share { share } => {
                let range_lengths: Vec<u64> = ranges.iter().map(|range| range.documents).collect();
                documents_in_share(&range_lengths, bulk.bulk_size, share)
            }
            IngestLimit::Documents { documents } => {
                let range = client_range(documents, client_number, task.clients);
                range.end - range.start
            }
        };
        for range in &mut ranges {
            range.documents = range.documents.min(documents_left);
            documents_left -= range.documents;
        }
        ranges
    }

    /// Creates the action lines of a range; `seed` is the plan's seed.
    fn action_lines(&self, range: &FileRange, seed: u64) -> ActionLines {
        match (&self.bulk.files[range.file_index].action_lines, self.bulk.conflicts) {
            (PlannedActionLines::InFile {}, _) => ActionLines::InFile,
            (PlannedActionLines::Line { line }, _) => ActionLines::Line(format!("{line}\n").into()),
            (PlannedActionLines::WithIds { index }, conflicts) => {
                let conflicts = conflicts.map_or(IdConflicts::default(), |conflicts| IdConflicts {
                    shuffled: conflicts.ids == IdOrder::Random,
                    probability: conflicts.probability,
                    update: conflicts.on_conflict == OnConflict::Update,
                    recency: conflicts.recency,
                });
                let first = first_id(self.bulk, range.file_index);
                let ids = first + range.assigned.start..first + range.assigned.end;
                let key = IdStreamKey {
                    seed,
                    task: &self.task.name,
                    client_number: self.client_number,
                    file_index: range.file_index,
                };
                let index = serde_json::Value::from(index.as_str()).to_string();
                ActionLines::WithIds(Box::new(IdActionLines::new(&index, &ids, conflicts, key)))
            }
        }
    }
}

/// Returns the first id of a file. Ids are consecutive across the files of an index, so that all its documents have
/// different ids.
fn first_id(bulk: &BulkWork, file_index: usize) -> u64 {
    let of_same_index = |earlier: &&BulkFile| earlier.action_lines == bulk.files[file_index].action_lines;
    bulk.files[..file_index].iter().filter(of_same_index).map(|earlier| earlier.documents).sum()
}

/// Sends the documents of one client, bulk by bulk.
#[derive(Debug)]
pub struct BulkSource {
    reader: BulkReader,
    request: BulkRequest<BulkBody>,
    looped: bool,
    /// The reason why a data file could not be read.
    failure: Option<String>,
}

impl BulkSource {
    /// Prepares the source of one client; `seed` is the plan's seed.
    ///
    /// # Errors
    ///
    /// If the request cannot be written as HTTP or a file is shorter than planned.
    pub fn new(
        partition: ClientPartition<'_>,
        seed: u64,
        files: &DataFiles,
        to: Destination<'_>,
    ) -> Result<Self, DriveError> {
        let bulk = partition.bulk;
        let document_range = |range: FileRange| {
            Ok(DocumentRange {
                file: files.get(&bulk.files[range.file_index].path)?,
                first_document: range.assigned.start,
                documents: range.documents,
                action_lines: partition.action_lines(&range, seed),
            })
        };
        let ranges: Result<Vec<_>, DriveError> = partition.ranges().into_iter().map(document_range).collect();
        let spec = RequestSpec {
            method: "POST",
            path: &bulk.path,
            headers: bulk.headers.iter(),
            has_body: true,
            timeout: bulk.timeout_ms.map(Duration::from_millis),
        };
        let request =
            PreparedRequest::new(spec, BulkBody::new(), to).map_err(|error| to.head_error(error))?;
        let sent = SentBulk { documents: 0, filters_fields: filters_fields(&bulk.path) };
        let options = BulkOptions {
            retries_on_429: bulk.retries_on_429,
            detailed_results: bulk.detailed_results,
            assertions: bulk.assertions.clone(),
        };
        let reader = BulkReader::new(ranges?, bulk.bulk_size)?;
        files.follow(reader.followed());
        Ok(Self {
            reader,
            request: BulkRequest::new(request, sent, options),
            looped: bulk.looped,
            failure: None,
        })
    }

    /// Builds the next body. Returns `false` after the last document, or if a file cannot be read.
    pub fn prepare_next(&mut self) -> bool {
        let documents = self.read_next().unwrap_or_else(|error| {
            self.failure = Some(error.to_string());
            None
        });
        self.request.set_document_count(documents.unwrap_or(0).into());
        documents.is_some()
    }

    /// Returns the number of documents of the next body, or `None` if there is none.
    pub fn next_document_count(&self) -> Option<u64> {
        let documents = match self.reader.next_document_count() {
            0 if self.looped => self.reader.first_document_count(),
            documents => documents,
        };
        Some(documents).filter(|documents| *documents > 0).map(u64::from)
    }

    /// Returns the number of documents in the body.
    pub fn document_count(&self) -> u64 {
        self.request.document_count()
    }

    /// Returns the reason why a file could not be read.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    fn read_next(&mut self) -> Result<Option<u32>, CorpusError> {
        let body = self.request.body_mut();
        let documents = self.reader.next_into(body)?;
        if documents.is_some() || !self.looped {
            return Ok(documents);
        }
        self.reader.rewind();
        self.reader.next_into(body)
    }

    /// Compresses the body if it is sent compressed.
    pub async fn compress(&mut self) {
        self.request.compress_in_slices().await;
    }

    /// Sends the body; see [`BulkRequest::execute`].
    pub fn execute(
        &mut self,
        connections: &ConnectionPool,
        cancellation: &Cancellation<'_>,
    ) -> impl Future<Output = OperationOutcome> {
        self.request.execute(connections, cancellation)
    }
}
