//! The files of a race folder: `samples.parquet`, and `series.parquet` and `telemetry.parquet` with their journals.
//!
//! The collector formats each finished second as a line of the journal ([`series::journal_line`]) and sends it,
//! together with the samples, to the [`writer`], which runs on a separate thread. `samples` and `series` each write one
//! file; `columns` has functions that write whole columns. [`recover_files`] completes the files of a race that was
//! killed, `durable` has the file operations that can be interrupted at any point, and `losses` stores what could not
//! be recovered. `telemetry_journal` is written by the threads that sample; `telemetry` converts it when the race ends.
//! This module neither merges nor summarizes data.

pub mod columns;
pub mod durable;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod limits_tests;
mod losses;
mod pending_details;
#[cfg(test)]
mod recovery_tests;
mod row_group_index;
mod samples;
mod samples_recovery;
mod samples_schema;
pub mod series;
pub mod telemetry;
pub mod telemetry_journal;
mod telemetry_lines;
mod telemetry_texts;
pub mod writer;

use std::path::Path;

use crate::error::RecordError;
use crate::files::samples_recovery::{FooterPlacement, complete_samples};
use crate::files::series::{JournalState, complete_series, open_journal};
use crate::files::telemetry::recover_telemetry;

/// Completes the files of a race that was killed, or that could not complete them itself, with all the rows that
/// reached the kernel. Returns the number of rows, or `None` if there is nothing to complete or the race is still
/// running.
///
/// # Errors
///
/// An error if the folder cannot be read or written; what could be read or recovered before can be so after it.
pub fn recover_files(folder: &Path) -> Result<Option<u64>, RecordError> {
    let (journal, _lock) = open_journal(folder)?;
    if journal == JournalState::Locked {
        return Ok(None);
    }
    // Samples or telemetry that cannot be completed do not keep the series from being completed.
    let samples = complete_samples(folder, FooterPlacement::Beside);
    let telemetry = recover_telemetry(folder);
    let seconds = (journal == JournalState::Abandoned).then(|| complete_series(folder, None)).transpose()?;
    Ok(seconds.or(samples?).or(telemetry?))
}
