//! GC logs: reads them, and computes the statistics of any window of time.
//!
//! | file or folder | contains |
//! | --- | --- |
//! | `files` | [`read_gc_logs`]: recognizes the format of files, and orders those of a rotated log |
//! | `hotspot` | [`HotSpotReader`]: the reader of HotSpot's unified logs |
//! | `openj9` | turns a log of OpenJ9 into the records that all collectors have in common |
//! | `legacy` | recognizes logs of JDK 8 and older, which are not read |
//! | `container` | what containers write before each line |
//! | [`losses`] | [`Losses`](losses::Losses): what a log proves to be missing |
//! | `problems` | sentences about what is missing, mixed, repeated or cut |
//! | `repeated` | leaves out lines that are in several files |
//! | `span` | [`Span`](log::Span): an interval of time |
//! | [`log`] | [`GcLog`]: the records of one run of a JVM, which all readers fill |
//! | [`names`] | names that occur in a log |
//! | [`statistics`] | [`Statistics`]: what happened in a window of time |
//! | [`mmu`] | minimum mutator utilisation |

pub(crate) mod container;
mod files;
mod hotspot;
mod legacy;
pub mod log;
pub mod losses;
pub mod mmu;
pub mod names;
mod openj9;
mod problems;
mod repeated;
mod span;
pub mod statistics;

pub use files::{GcLogs, read_gc_logs};
pub use hotspot::HotSpotReader;
pub use log::GcLog;
pub use statistics::Statistics;
