//! The work of the operations of a task.

use serde::{Deserialize, Serialize};

use crate::bulk::BulkWork;
use crate::call::CallSequence;

/// The work of the operations of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TaskWork {
    /// Posts the next documents of a corpus.
    Bulk(BulkWork),
    /// Runs calls one after another.
    Calls(CallSequence),
    /// Waits without sending a request.
    Sleep {
        /// Duration in seconds.
        seconds: f64,
    },
    /// Every operation is supplied while the race runs, by a parameter source written in Python
    /// ([`crate::SuppliedOperation`]).
    #[serde(rename = "supplied")]
    PythonSource {
        /// Number of operations per client that the source may supply in advance, at least 1.
        ahead: u32,
    },
    /// Every operation is executed by a runner written in Python, which sends its requests through the driver.
    PythonRunner {},
}
