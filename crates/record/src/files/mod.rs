//! The files of a race folder: `samples.parquet`, and `series.parquet` with its journal.
//!
//! The collector formats each finished second as a line of the journal ([`series::journal_line`]) and sends it,
//! together with the samples, to the [`writer`], which runs on a separate thread. `samples` and `series` each write one
//! file; `columns` has functions that write whole columns. [`recover_files`] completes the files of a race that was
//! killed. This module neither merges nor summarizes data.

mod columns;
mod samples;
pub mod series;
pub mod writer;

use std::path::Path;

use crate::error::RecordError;
use crate::files::samples::complete_samples;
use crate::files::series::{JournalState, complete_series, journal_state};

/// Completes the files of a race that was killed, or that could not complete them itself, with all the rows that
/// reached the kernel. Returns the number of rows, or `None` if there is nothing to complete or the race is still
/// running.
///
/// # Errors
///
/// An error if the folder cannot be read or written; its files are then unchanged.
pub fn recover_files(folder: &Path) -> Result<Option<u64>, RecordError> {
    let journal = journal_state(folder)?;
    if journal == JournalState::Locked {
        return Ok(None);
    }
    let samples = complete_samples(folder)?;
    let seconds = (journal == JournalState::Abandoned).then(|| complete_series(folder)).transpose()?;
    Ok(seconds.or(samples))
}
