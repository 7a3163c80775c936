//! The bulk source: which documents are posted, and how.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::call::Assertion;

/// Posts the documents of one or more corpora. Every client has one contiguous range of each file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BulkWork {
    /// Path with query string, for example `/_bulk?pipeline=x`.
    pub path: String,
    /// Headers sent in addition to those of the target.
    pub headers: Vec<(String, String)>,
    /// Data files, grouped by corpus. Client i starts with corpus i modulo the number of corpora, and the corpora
    /// alternate file by file.
    pub files: Vec<BulkFile>,
    /// Documents per request, at least 1. The last request for a range may have fewer.
    pub bulk_size: u32,
    /// The part of the corpora to send.
    pub limit: IngestLimit,
    /// Whether the source starts again when its range is exhausted, and therefore never ends.
    pub looped: bool,
    /// Assigns ids to documents, some of them repeatedly; `null` if documents have no ids, or have ids in the files.
    pub conflicts: Option<ConflictSettings>,
    /// Number of times that documents are sent again after the engine has rejected them with status 429.
    pub retries_on_429: u32,
    /// Overrides the target's timeout, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Whether the details of the responses are kept with the samples.
    #[serde(default)]
    pub detailed_results: bool,
    /// Assertions of the track about the details; a failed assertion ends the race.
    #[serde(default)]
    pub assertions: Vec<Assertion>,
}

/// The part of its corpora that a bulk operation sends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum IngestLimit {
    /// A fraction of the requests; Rally's `ingest-percentage` / 100.
    Share {
        /// The fraction, above 0 and up to 1 (everything).
        share: f64,
    },
    /// A number of documents, summed over all clients; Rally's `ingest-doc-count`.
    Documents {
        /// Number of documents, a multiple of the bulk size times the number of clients.
        documents: u64,
    },
}

/// Assigns ids to documents, some of them repeatedly (Rally's `conflicts`, `conflict-probability`, `on-conflict`,
/// `recency`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConflictSettings {
    /// The order in which new ids are assigned.
    pub ids: IdOrder,
    /// Fraction of documents that get an id that was sent before, from 0 to 1.
    pub probability: f64,
    /// How a document with an id that was sent before is sent.
    pub on_conflict: OnConflict,
    /// Preference for recent ids, from 0 (every earlier id is equally likely) to 1 (recent ids are much more likely).
    pub recency: f64,
}

/// The order in which new ids are assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdOrder {
    /// Ascending.
    Sequential,
    /// Shuffled.
    Random,
}

/// How a document with an id that was sent before is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// The document replaces the earlier one.
    Index,
    /// The document updates the earlier one.
    Update,
}

/// A data file for bulk requests: newline-delimited JSON, not compressed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BulkFile {
    /// Absolute path.
    pub path: PathBuf,
    /// Number of documents in the file, which must be exact.
    pub documents: u64,
    /// Where the action line of every document comes from.
    #[serde(rename = "action")]
    pub action_lines: PlannedActionLines,
    /// Position of the corpus among those of the operation, from 0.
    pub corpus: u32,
}

/// Where the action lines of a file come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PlannedActionLines {
    /// The file contains the action line of every document.
    InFile {},
    /// Every document has the same action line.
    Line {
        /// The action line, without a newline.
        line: String,
    },
    /// The action lines have ids that [`ConflictSettings`] determines.
    #[serde(rename = "with_id")]
    WithIds {
        /// The index to which the documents are written.
        index: String,
    },
}
