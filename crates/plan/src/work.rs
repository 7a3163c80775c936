//! What one operation of a task does.

use serde::{Deserialize, Serialize};

use crate::bulk::Bulk;
use crate::call::{Call, Retry};

/// What one operation of a task does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Work {
    /// Posts the next documents of a corpus.
    Bulk(Bulk),
    /// Makes calls one after another; the operation ends with the first failure.
    Calls {
        /// Never empty.
        calls: Vec<Call>,
        /// When and how often the whole sequence is tried again.
        retry: Retry,
    },
    /// Waits without any request.
    Sleep {
        /// Seconds.
        seconds: f64,
    },
    /// Every operation is handed over while the race runs, by a parameter source written in Python ([`crate::Supply`]).
    Supplied {
        /// How many operations per client the source may be ahead; at least 1.
        ahead: u32,
    },
    /// Every operation is carried out by a runner written in Python, which sends its requests through the driver.
    Lane {},
}
