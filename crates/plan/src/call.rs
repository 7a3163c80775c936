//! The calls of an operation, and the conditions that their responses must meet.

use serde::{Deserialize, Serialize};

/// Calls that run one after another; after the first failure, only those that clean up are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallSequence {
    /// Never empty.
    pub calls: Vec<Call>,
    /// When the entire sequence is retried.
    pub retry: RetryPolicy,
}

/// One step of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Call {
    /// One request.
    Request(Request),
    /// A request for the first page, and those for the following pages.
    Pages(PagedRequest),
    /// A pause between calls.
    Wait {
        /// Duration in seconds.
        seconds: f64,
    },
    /// Operations within the operation, some of them concurrent.
    Composite(Composite),
}

/// A request for the first page, and those for the following pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PagedRequest {
    /// Fetches the first page; its body is a JSON object.
    pub first: Request,
    /// How the next page is requested.
    pub next: NextPage,
    /// Maximum number of pages to fetch; `null` for all pages.
    pub pages: Option<u32>,
    /// Number of entries on a full page: a page with fewer is the last one. If `null`, only an empty page is the last
    /// one.
    pub page_size: Option<u32>,
    /// Whether it is a failure if there are fewer pages than `pages`.
    pub strict: bool,
}

/// How the next page is requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum NextPage {
    /// Repeats the search after the sort values of the last hit (`search_after`). If the response renews the point in
    /// time (`pit_id`), it replaces the one in the body.
    SearchAfter {},
    /// Requests the next page of a scroll, and clears the scroll after the last page.
    Scroll {
        /// Time for which the engine keeps the scroll between two pages, such as `10s`.
        keep_alive: String,
    },
    /// Repeats the aggregation after the key of its last bucket (`after_key`).
    AfterKey {
        /// Names of the aggregations, from the outermost to the composite one.
        path: Vec<String>,
    },
    /// Requests the page at the cursor in the previous response (SQL), and closes the cursor if pages remain.
    Cursor {},
}

/// Operations within an operation. Adjacent streams run concurrently; an operation waits for the streams before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Composite {
    /// Never empty.
    pub items: Vec<CompositeItem>,
    /// Maximum number of requests in flight; `null` for one per stream.
    pub max_connections: Option<u32>,
}

/// One element of a composite operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CompositeItem {
    /// An operation, recorded under its own name within the task.
    Operation {
        /// The operation's name.
        name: String,
        /// The operation's type, such as `search`.
        operation_type: String,
        /// Calls that run one after another; never empty.
        calls: Vec<Call>,
        /// When the calls are retried.
        retry: RetryPolicy,
    },
    /// Items that run one after another, and concurrently with adjacent streams.
    Stream {
        /// Never empty.
        items: Vec<CompositeItem>,
    },
}

/// One request and the conditions that its response must meet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// `GET`, `POST`, `PUT`, `DELETE` or `HEAD`.
    pub method: String,
    /// Path with query string, percent-encoded, starting with `/`.
    pub path: String,
    /// Headers sent in addition to those of the target.
    pub headers: Vec<(String, String)>,
    /// The body, whose `content-type` is in the headers.
    pub body: Option<String>,
    /// How a successful response is recognized.
    pub check: Check,
    /// HTTP statuses outside 2xx that are not failures.
    pub ignore: Vec<u16>,
    /// Work done by a response with status 2xx, in the task's unit.
    pub weight: u64,
    /// Work done by a response with an ignored status, in the task's unit.
    pub ignored_weight: u64,
    /// Overrides the target's timeout, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Repeats the request until its check holds; `null` if the request is sent once.
    pub poll: Option<PollPolicy>,
    /// Assertions of the track about the response, beyond its check; a failed assertion ends the race.
    pub assertions: Vec<Assertion>,
    /// Captures a value from the response for later requests of the same operation.
    pub capture: Option<Capture>,
    /// Inserts a captured value into the path and body.
    pub placeholder: Option<Placeholder>,
    /// Whether the request is sent even if an earlier request of the sequence or operation of the composite failed, to
    /// undo what came before.
    pub cleanup: bool,
    /// The details of the response that are kept with the sample; `null` for none.
    pub details: Option<DetailsKind>,
}

/// What is kept of a response beside the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DetailsKind {
    /// Of a search: its hits, shards and clusters.
    Search,
    /// Of an ES|QL query: what it found and when it ran.
    Esql,
    /// Of an ES|QL query with a profile: the times of its phases, drivers and plans.
    EsqlProfile,
}

/// An assertion of the track about a response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assertion {
    /// Name of the property in the track, for messages.
    pub property: String,
    /// Paths in the response, each with its keys joined by dots; the first path that exists is used. Never empty.
    pub paths: Vec<String>,
    /// Whether the paths are those of the details instead of the response; a path may also be a single key with dots.
    #[serde(default)]
    pub in_details: bool,
    /// How the value compares with the expected one.
    pub condition: Comparison,
    /// The expected value: a number, a string or a boolean.
    pub value: serde_json::Value,
}

/// How an assertion compares a value in the response with the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// The value is less than the expected one.
    #[serde(rename = "<")]
    Less,
    /// The value is less than or equal to the expected one.
    #[serde(rename = "<=")]
    LessOrEqual,
    /// The values are equal.
    #[serde(rename = "==")]
    Equal,
    /// The value is greater than or equal to the expected one.
    #[serde(rename = ">=")]
    GreaterOrEqual,
    /// The value is greater than the expected one.
    #[serde(rename = ">")]
    Greater,
}

/// Captures a string from a response that later requests need, such as the id of a point in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The name of the captured value, which is kept until the operation ends.
    pub name: String,
    /// Keys in the response, joined by dots. If the response lacks the value, requests with the placeholder fail unless
    /// it is optional.
    pub path: String,
}

/// Text in the path and body that is replaced by a captured value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placeholder {
    /// The name of the captured value.
    pub name: String,
    /// The text to replace; the value is percent-encoded in the path and escaped for JSON in the body.
    pub marker: String,
    /// Whether the response may lack the value. A request with the marker in its path is then not sent, because there is
    /// nothing to refer to; a marker in the body remains as it is, and if there was no response, the request is not sent.
    pub optional: bool,
}

/// How a request is repeated until its check holds. It is also repeated after a response with status 429, 502, 503 or
/// 504, up to ten times in a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PollPolicy {
    /// Seconds between a response whose check does not hold and the next request.
    pub every_s: f64,
}

/// How a successful response is recognized, beyond its HTTP status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    /// Any 2xx status is a success.
    Status {},
    /// The response reports no `error`.
    NoError {},
    /// A search: `timed_out` is false, and no shard failed or is missing.
    Search {},
    /// Cluster health: at least this status, and no relocating shards if required.
    Health {
        /// The minimum status; `null` for any status.
        status: Option<HealthStatus>,
        /// Whether relocating shards are a failure.
        no_relocating_shards: bool,
    },
    /// The value at a path, converted to text, equals the expected text.
    Condition {
        /// Keys joined by dots, for example `_all.total.merges.current`; the key of a list element is its position.
        path: String,
        /// The expected value as text.
        expected: String,
    },
    /// An ES|QL response that is not partial.
    Esql {},
    /// The object or list at a path is empty or absent, and the response has no `node_failures` or `task_failures`.
    Empty {
        /// Keys joined by dots.
        path: String,
    },
    /// The result of an asynchronous search: it has ended, as the text at a path says, and its response is that of a
    /// successful search.
    AsyncSearch {
        /// Keys joined by dots.
        path: String,
        /// The value at the path, as text, if the search has ended.
        expected: String,
    },
    /// The response to a request that submits an asynchronous search: that of a successful search if the search has
    /// ended.
    SubmittedSearch {},
    /// A change: neither `acknowledged` nor `shards_acknowledged` is false.
    Acknowledged {},
    /// No shard failed, according to the object at a path, such as `_shards`.
    Shards {
        /// Keys joined by dots.
        path: String,
    },
    /// A task of the engine that has ended without an error or a failed shard.
    Task {},
}

/// Cluster health. The variants are ordered from worst to best, so that comparing them compares health.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// Primary shards are missing.
    Red,
    /// Replica shards are missing.
    Yellow,
    /// All shards are assigned.
    Green,
}

/// When a sequence of calls is retried (Rally's `retries`, `retry-until-success` and related parameters).
///
/// A 2xx response whose check does not hold counts as unsuccessful; connection errors, timeouts and status 408 count as
/// timeouts. Statuses 429, 502, 503 and 504 are retried up to ten times in a row with `until_success`; other statuses
/// are never retried. Every attempt is sent and counted; the sample is that of the last
/// attempt.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryPolicy {
    /// Maximum number of attempts after the first.
    pub retries: u64,
    /// Whether to retry until the calls succeed, regardless of `retries`.
    pub until_success: bool,
    /// With `until_success`, no attempt begins later than this many seconds after the first one.
    pub limit_s: f64,
    /// Seconds between two attempts.
    pub wait_s: f64,
    /// Whether to retry after a timeout or a connection error.
    pub on_timeout: bool,
    /// Whether to retry after a response whose check does not hold.
    pub on_unsuccess: bool,
}
