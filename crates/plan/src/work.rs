//! What one operation does on the wire, and how its reply is judged.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What one operation of a task does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Work {
    /// Posts the next documents of a corpus.
    Bulk(Bulk),
    /// Sends requests one after another; the operation ends with the first failure.
    Requests {
        /// Never empty.
        requests: Vec<Request>,
        /// When and how often the whole sequence is tried again.
        retry: Retry,
    },
    /// Waits without any request.
    Sleep {
        /// Seconds.
        seconds: f64,
    },
}

/// The bulk source of a task. Every client owns one contiguous range of every file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Path with query string, for example `/_bulk?pipeline=x`.
    pub path: String,
    /// Sent beside the target's headers.
    pub headers: Vec<(String, String)>,
    /// Read in this order by client 0; client i starts with file i modulo their number.
    pub files: Vec<BulkFile>,
    /// Documents per request; at least 1. The last request of a range may carry fewer.
    pub bulk_size: u32,
    /// Share of the requests to send, in (0, 1]; Rally's `ingest-percentage` / 100.
    pub share: f64,
    /// Starts over when the range is exhausted, so that the source never ends.
    pub looped: bool,
    /// Overrides the target's timeout, in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// One data file of a bulk source: newline-delimited JSON, not compressed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BulkFile {
    /// Absolute path.
    pub path: PathBuf,
    /// Documents in the file; the file must hold exactly as many.
    pub documents: u64,
    /// Action line put before every document, without newline; `null`: the file holds its own.
    pub action: Option<String>,
}

/// One request, ready to be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// `GET`, `POST`, `PUT`, `DELETE` or `HEAD`.
    pub method: String,
    /// Path with query string, percent-encoded, starting with `/`.
    pub path: String,
    /// Sent beside the target's headers.
    pub headers: Vec<(String, String)>,
    /// Sent as it is; its `content-type` is among the headers.
    pub body: Option<String>,
    /// What a good reply looks like.
    pub check: Check,
    /// HTTP statuses outside 2xx that are no failure.
    pub ignore: Vec<u16>,
    /// Work done by a reply with status 2xx, in the task's unit.
    pub weight: u64,
    /// Work done by a reply with an ignored status.
    pub ignored_weight: u64,
    /// Overrides the target's timeout, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Sends the request again until its check holds; `null`: the check's answer stands.
    pub poll: Option<Poll>,
}

/// How a polling request waits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Poll {
    /// Seconds between a reply whose check does not hold and the next request.
    pub every_s: f64,
}

/// What a good reply looks like, beyond its HTTP status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    /// The status decides.
    Status {},
    /// A search: `timed_out` is false and no shard failed.
    Search {},
    /// Cluster health: at least this status, and no relocating shards if asked for.
    Health {
        /// `null`: any status.
        status: Option<HealthStatus>,
        /// No shard may be moving.
        no_relocating_shards: bool,
    },
    /// The value at a dotted path, written as text, equals this text.
    Condition {
        /// Keys joined by dots, for example `_all.total.merges.current`.
        path: String,
        /// Expected value as text.
        expected: String,
    },
    /// The object or list at a dotted path is empty or absent.
    Empty {
        /// Keys joined by dots.
        path: String,
    },
}

/// Cluster health, worst first so that the order of the variants is the order of health.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// Primaries are missing.
    Red,
    /// Replicas are missing.
    Yellow,
    /// All shards are there.
    Green,
}

/// When an operation is tried again (Rally's `retries`, `retry-until-success` and relatives).
///
/// A 2xx reply whose check does not hold counts as unsuccessful, connection errors, timeouts and status 408 as a
/// timeout. Other statuses are never retried. Every attempt is on the wire and counted; only the last makes the sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Attempts after the first.
    pub retries: u64,
    /// Tries for ever, whatever `retries` says.
    pub until_success: bool,
    /// Seconds between attempts.
    pub wait_s: f64,
    /// Retries after a timeout.
    pub on_timeout: bool,
    /// Retries after an unsuccessful reply.
    pub on_unsuccess: bool,
}
