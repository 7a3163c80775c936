//! Verbose GC logs of OpenJ9: XML with one element per event.
//!
//! The format is described in the documentation of OpenJ9 ("Verbose garbage collection logs"). A log with times in
//! local time and without a time zone is all that the JVM writes, so the time zone is the caller's to know.
//!
//! | file | contains |
//! | --- | --- |
//! | `tags.rs` | finds the tags of a stream of bytes |
//! | `values.rs` | numbers, durations and timestamps |
//! | `settings.rs` | [`OpenJ9Settings`]: the configuration of the JVM |
//! | `counts.rs` | [`OpenJ9Stop`] and [`OpenJ9Counts`]: pauses and sums |
//! | `log.rs` | [`OpenJ9Log`]: everything that is read from a log |
//! | `state.rs` | the meaning of the tags |
//! | `stop_ids.rs` | pauses that are missing or repeated |
//! | `reader.rs` | [`OpenJ9Reader`] |
//! | `files.rs` | [`read_openj9_logs`]: reads the files of a log |
//! | `summary.rs` | [`OpenJ9Summary`]: the figures of GCMV's summary table |
//! | `report.rs` | [`OpenJ9Report`]: the summary and other figures of a window |

mod counts;
mod files;
mod log;
mod reader;
mod report;
mod settings;
mod state;
mod stop_ids;
mod summary;
mod tags;
mod values;

#[cfg(test)]
mod tests;

pub use counts::{
    OpenJ9Copied, OpenJ9Counts, OpenJ9Cycles, OpenJ9Incidents, OpenJ9Increments, OpenJ9Stop, OpenJ9StopKind,
    OpenJ9Trigger,
};
pub use files::{OpenJ9Files, read_openj9_logs};
pub use log::{MOST_STOPS, OpenJ9Gap, OpenJ9Log, OpenJ9Problems};
pub use reader::OpenJ9Reader;
pub use report::OpenJ9Report;
pub use settings::OpenJ9Settings;
pub use summary::{OpenJ9Counting, OpenJ9Summary};
