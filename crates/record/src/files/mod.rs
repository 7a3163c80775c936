//! The files of a race folder: `samples.parquet`, and `series.parquet` with its journal.
//!
//! The collector hands seconds and samples to the [`writer`], a thread of its own; nothing else calls this folder but
//! [`recover_series`] for the files of a race that was killed. What the figures mean is none of its business.

mod columns;
mod samples;
pub mod series;
pub mod writer;

use std::path::Path;

use crate::error::RecordError;
use crate::files::series::Journal;

/// Completes the files of a race that was killed, or could not complete them itself, up to what was handed to the kernel;
/// tells how many rows were completed, or `None` when there is nothing to complete or the race still runs.
///
/// # Errors
///
/// When the folder cannot be read or written; what is there then stays as it is.
pub fn recover_series(folder: &Path) -> Result<Option<u64>, RecordError> {
    let journal = series::journal(folder)?;
    if journal == Journal::Held {
        return Ok(None);
    }
    let samples = samples::restore(folder)?;
    let seconds = (journal == Journal::Left).then(|| series::complete(folder)).transpose()?;
    Ok(seconds.or(samples))
}
