//! The bulk source: which documents are posted, and how.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The bulk source of a task. Every client owns one contiguous range of every file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Path with query string, for example `/_bulk?pipeline=x`.
    pub path: String,
    /// Sent beside the target's headers.
    pub headers: Vec<(String, String)>,
    /// Grouped by corpus. Client i starts with corpus i modulo their number; the corpora take turns file by file.
    pub files: Vec<BulkFile>,
    /// Documents per request; at least 1. The last request of a range may carry fewer.
    pub bulk_size: u32,
    /// How much of the corpus is sent.
    pub limit: Limit,
    /// Starts over when the range is exhausted, so that the source never ends.
    pub looped: bool,
    /// Gives documents ids of which some come again; `null`: documents have no ids, or the files hold them.
    pub conflicts: Option<Conflicts>,
    /// How often documents that the engine rejected with status 429 are sent again, alone.
    pub retries_on_429: u32,
    /// Overrides the target's timeout, in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// How much of a corpus a bulk source sends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Limit {
    /// This share of the requests, in (0, 1]; Rally's `ingest-percentage` / 100.
    Share {
        /// 1 is everything.
        share: f64,
    },
    /// So many documents over all clients; Rally's `ingest-doc-count`.
    Documents {
        /// A multiple of bulk size and clients.
        documents: u64,
    },
}

/// Ids of which some come again (Rally's `conflicts`, `conflict-probability`, `on-conflict`, `recency`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conflicts {
    /// In which order new ids come.
    pub ids: IdOrder,
    /// Share of documents that get an id that came before, from 0 to 1.
    pub probability: f64,
    /// What is done with a document whose id came before.
    pub on_conflict: OnConflict,
    /// From 0 (any earlier id is as likely) to 1 (recent ids are much likelier).
    pub recency: f64,
}

/// In which order new ids come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdOrder {
    /// One after another.
    Sequential,
    /// Shuffled.
    Random,
}

/// What is done with a document whose id came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// The document replaces the earlier one.
    Index,
    /// The document updates the earlier one.
    Update,
}

/// One data file of a bulk source: newline-delimited JSON, not compressed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BulkFile {
    /// Absolute path.
    pub path: PathBuf,
    /// Documents in the file; the file must hold exactly as many.
    pub documents: u64,
    /// The action line of every document.
    pub action: Action,
    /// Which of the corpora of this bulk it belongs to, from 0.
    pub corpus: u32,
}

/// The action line of every document of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// The file holds its own.
    InFile {},
    /// The same for all.
    Line {
        /// Without newline.
        line: String,
    },
    /// With an id that [`Conflicts`] decides.
    WithId {
        /// The index the document goes to.
        index: String,
    },
}
