//! Operations that a parameter source supplies while a race runs.

use serde::{Deserialize, Serialize};

use crate::call::{Assertion, CallSequence};

/// One operation of a task whose work is [`crate::TaskWork::PythonSource`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SuppliedOperation {
    /// Calls that run one after another.
    Calls(CallSequence),
    /// One bulk request.
    Bulk(SuppliedBulk),
}

/// One bulk request; its body is passed separately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuppliedBulk {
    /// Path with query string.
    pub path: String,
    /// Headers sent in addition to those of the target.
    pub headers: Vec<(String, String)>,
    /// Work of the request in the task's unit: the documents in its body.
    pub documents: u64,
    /// Overrides the target's timeout, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Whether the details of the response are kept with the sample.
    #[serde(default)]
    pub detailed_results: bool,
    /// Assertions of the track about the details; a failed assertion ends the race.
    #[serde(default)]
    pub assertions: Vec<Assertion>,
}
