//! Evidence: reads the files that a JVM writes while it runs, and computes statistics from them.
//!
//! All code is synchronous and depends only on the files: there is no clock, no network and no async code. Files are
//! streamed, so that memory use depends on the number of events, not on the size of the files.
//!
//! # Layout
//!
//! | file or folder | contains |
//! | --- | --- |
//! | [`source`] | [`Source`]: a plain or gzip file as a stream, which may be cut off |
//! | [`lines`] | [`read_lines`]: the lines of a source |
//! | [`gc`] | GC logs: [`read_gc_logs`] and the statistics of any window of time |
//! | [`jfr`] | Flight Recorder recordings: [`read_recordings`](jfr::read_recordings) |
//! | [`openj9`] | [`OpenJ9Reader`]: the verbose GC logs of OpenJ9, and the figures of GCMV's summary table |
//! | [`error`] | [`EvidenceError`] |

pub mod error;
pub mod gc;
pub mod jfr;
pub mod lines;
pub mod openj9;
pub mod source;

pub use error::EvidenceError;
pub use gc::{GcLog, GcLogs, read_gc_logs};
pub use lines::read_lines;
pub use openj9::OpenJ9Reader;
pub use source::Source;
