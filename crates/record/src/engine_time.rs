//! How much of the service time the engine reports as its own (`took`), from the samples of a race.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::bounded_file::{BoundedFile, SAMPLE_ROWS};
use crate::column_reader::{ReadError, Rows, apart};
use crate::error::RecordError;

/// Times of the measured operations of a task that succeeded and for which the engine reported `took`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EngineTime {
    /// Number of operations.
    pub operations: u64,
    /// Number of replies with a `took`, without those of bulks that were sent again: one for each page of a search with
    /// several, otherwise one for each operation.
    pub replies: u64,
    /// Sum of what the engine reports, in whole milliseconds of each reply.
    pub took_ms: u64,
    /// Sum of their service times in nanoseconds.
    pub service_ns: u64,
}

/// The unit of operations whose work is the number of their pages: each page has a `took`.
const PAGES: &[u8] = b"pages";

/// How many samples are read at most: an hour of operations need not be read to know a mean.
#[derive(Debug, Clone, Copy)]
pub struct SampleLimit {
    /// Row groups, which are spread evenly over the file.
    pub row_groups: usize,
    /// Samples in all; of each row group, as many are read, spread evenly over it.
    pub samples: usize,
}

/// Returns the times of each task in `samples.parquet`.
///
/// # Errors
///
/// An error if the file does not exist, cannot be read or is damaged.
pub fn engine_times(path: &Path, limit: SampleLimit) -> Result<BTreeMap<String, EngineTime>, RecordError> {
    let read = apart(|| read(path, limit));
    read.map_err(|error| RecordError::Unread { path: path.display().to_string(), reason: error.to_string() })
}

fn read(path: &Path, limit: SampleLimit) -> Result<BTreeMap<String, EngineTime>, ReadError> {
    let file = BoundedFile::open(path, SAMPLE_ROWS)?;
    let groups = file.row_groups();
    let chosen = groups.min(limit.row_groups);
    let mut found = BTreeMap::new();
    for number in 0..chosen {
        let row_group = file.row_group(number * groups / chosen)?;
        add(&Rows::spread(row_group.as_ref(), limit.samples.div_ceil(chosen))?, &mut found)?;
    }
    Ok(found)
}

fn add(rows: &Rows<'_>, found: &mut BTreeMap<String, EngineTime>) -> Result<(), ReadError> {
    let took = rows.integers("took_ms")?;
    let sent = rows.integers("sent_ns")?;
    let done = rows.integers("done_ns")?;
    let parts = rows.booleans("part")?;
    let successes = rows.booleans("success")?;
    let kinds = rows.texts("sample_type")?;
    let names = rows.texts("task")?;
    let units = rows.texts("unit")?;
    let weights = rows.integers("weight")?;
    for row in 0..rows.count() {
        let Ok(took_ms) = u64::try_from(took[row]) else { continue };
        if parts[row] || !successes[row] || kinds.get(row) != b"normal" {
            continue;
        }
        let Ok(name) = std::str::from_utf8(names.get(row)) else { continue };
        let time = match found.get_mut(name) {
            Some(time) => time,
            None => found.entry(name.to_owned()).or_default(),
        };
        time.operations += 1;
        let pages = if units.get(row) == PAGES { u64::try_from(weights[row]).unwrap_or(1) } else { 1 };
        time.replies = time.replies.saturating_add(pages.max(1));
        time.took_ms = time.took_ms.saturating_add(took_ms);
        let service_ns = u64::try_from(done[row].saturating_sub(sent[row])).unwrap_or(0);
        time.service_ns = time.service_ns.saturating_add(service_ns);
    }
    Ok(())
}
