//! What an operation does on the wire, call by call, and how its replies are judged.

use serde::{Deserialize, Serialize};

/// One step of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Call {
    /// One request.
    Request(Request),
    /// A request and those that fetch what follows its first page.
    Pages(Pages),
    /// A pause between calls.
    Wait {
        /// Seconds.
        seconds: f64,
    },
    /// Operations within the operation, some beside one another.
    Composite(Composite),
}

/// A request and those that fetch what follows its first page. Its work is the number of pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// Fetches the first page; its body is a JSON object.
    pub first: Request,
    /// How the next page is asked for.
    pub next: Next,
    /// Pages to fetch at most; `null`: all there are.
    pub pages: Option<u32>,
    /// Entries of a full page: a page with fewer is the last. `null`: only an empty page is.
    pub page_size: Option<u32>,
    /// Fewer pages than asked for are a failure.
    pub strict: bool,
}

/// How the next page is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Next {
    /// The same search after the sort values of the last hit (`search_after`). A point in time that the reply renews
    /// (`pit_id`) takes the place of the one in the body.
    SearchAfter {},
    /// A scroll, cleared after the last page.
    Scroll {
        /// How long the engine keeps it between pages, for example `10s`.
        keep_alive: String,
    },
    /// The same aggregation after the key of its last bucket (`after_key`).
    AfterKey {
        /// Names of aggregations from the outermost to the composite one.
        path: Vec<String>,
    },
    /// The cursor of the reply (SQL), closed if pages are left.
    Cursor {},
}

/// Operations within an operation. An operation waits for the streams before it; streams that follow one another run
/// beside one another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Composite {
    /// Never empty.
    pub items: Vec<Item>,
    /// Requests under way at a time at most; `null`: as many as there are streams.
    pub max_connections: Option<u32>,
}

/// A part of a composite operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Item {
    /// An operation, recorded under its own name within the task.
    Operation {
        /// Its name.
        name: String,
        /// Its type, such as `search`.
        operation_type: String,
        /// Never empty.
        calls: Vec<Call>,
        /// When and how often they are tried again.
        retry: Retry,
    },
    /// Items one after another, beside the streams next to it.
    Stream {
        /// Never empty.
        items: Vec<Item>,
    },
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
    /// What the reply must hold beyond its check, by the track's own word; a miss ends the race.
    pub assertions: Vec<Assertion>,
    /// Keeps a value of the reply for later requests of the same operation.
    pub remember: Option<Remember>,
    /// Puts a value that was remembered into path and body.
    pub recall: Option<Recall>,
}

/// What the track says a reply must hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assertion {
    /// The property as the track calls it, for messages.
    pub property: String,
    /// Keys of the reply joined by dots; where the first path leads nowhere, the next is tried. Never empty.
    pub paths: Vec<String>,
    /// How the value found compares with the expected one.
    pub condition: Comparison,
    /// A number, a string or a boolean.
    pub value: serde_json::Value,
}

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// Less.
    #[serde(rename = "<")]
    Less,
    /// Less or equal.
    #[serde(rename = "<=")]
    LessOrEqual,
    /// Equal.
    #[serde(rename = "==")]
    Equal,
    /// Greater or equal.
    #[serde(rename = ">=")]
    GreaterOrEqual,
    /// Greater.
    #[serde(rename = ">")]
    Greater,
}

/// A value of a reply that later requests need, such as the id of a point in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// Under which name; lives as long as the operation of the task.
    pub name: String,
    /// Keys of the reply joined by dots; the value is a string. Where a reply lacks it, requests that recall it in their
    /// path have nothing to be about and are left out, those that recall it in their body fail.
    pub path: String,
}

/// Where a remembered value goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recall {
    /// The name under which it was remembered.
    pub name: String,
    /// This text in path and body is replaced: percent-encoded in the path, escaped for JSON in the body.
    pub marker: String,
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
        /// Keys joined by dots, for example `_all.total.merges.current`; in a list a key is a position.
        path: String,
        /// Expected value as text.
        expected: String,
    },
    /// An ES|QL reply: not partial.
    Esql {},
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
