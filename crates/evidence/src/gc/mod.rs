//! GC logs: reads them, and computes the statistics of any window of time.
//!
//! | file or folder | contains |
//! | --- | --- |
//! | `files` | [`read_gc_logs`]: recognizes the format of files, and orders those of a rotated log |
//! | `hotspot` | the reader of HotSpot's unified logs |
//! | [`log`] | [`GcLog`]: the records of one run of a JVM, which all readers fill |
//! | [`names`] | names that occur in a log |
//! | [`statistics`] | [`Statistics`]: what happened in a window of time |
//! | [`mmu`] | minimum mutator utilisation |

mod files;
mod hotspot;
pub mod log;
pub mod mmu;
pub mod names;
pub mod statistics;

pub use files::{GcLogs, read_gc_logs};
pub use log::GcLog;
pub use statistics::Statistics;
