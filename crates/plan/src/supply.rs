//! Operations that are handed over while a race runs.

use serde::{Deserialize, Serialize};

use crate::call::{Call, Retry};

/// One operation of a task whose work is [`crate::Work::Supplied`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Supply {
    /// Calls one after another.
    Calls {
        /// Never empty.
        calls: Vec<Call>,
        /// When and how often they are tried again.
        retry: Retry,
    },
    /// One bulk request; its body comes beside this document.
    Bulk {
        /// Path with query string.
        path: String,
        /// Sent beside the target's headers.
        headers: Vec<(String, String)>,
        /// Work of the request in the task's unit: the documents in its body.
        documents: u64,
        /// Overrides the target's timeout, in milliseconds.
        timeout_ms: Option<u64>,
    },
}
