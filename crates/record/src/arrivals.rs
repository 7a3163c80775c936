//! When operations were due and when they were done, from the samples of a race.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use crate::bounded_file::{BoundedFile, SAMPLE_ROWS};
use crate::column_reader::{ReadError, Rows, apart};
use crate::error::RecordError;
use crate::units::SECOND_NS;

/// Operations of a task that were due, and that were done, in each of its parts of the same length.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskArrivals {
    /// Operations that were due.
    pub due: Vec<u64>,
    /// Operations that ended.
    pub done: Vec<u64>,
}

/// Returns the arrivals of these tasks from `samples.parquet`, in parts of `length_s`; `None` if the file has more than
/// `most_rows`.
///
/// # Errors
///
/// An error if the file does not exist, cannot be read or is damaged.
pub fn arrivals(
    path: &Path,
    tasks: &BTreeSet<String>,
    length_s: u64,
    most_rows: u64,
) -> Result<Option<BTreeMap<String, TaskArrivals>>, RecordError> {
    let read = apart(|| read(path, tasks, length_s, most_rows));
    read.map_err(|error| RecordError::Unread { path: path.display().to_string(), reason: error.to_string() })
}

fn read(
    path: &Path,
    tasks: &BTreeSet<String>,
    length_s: u64,
    most_rows: u64,
) -> Result<Option<BTreeMap<String, TaskArrivals>>, ReadError> {
    let file = BoundedFile::open(path, SAMPLE_ROWS)?;
    if file.checked_rows()? > most_rows {
        return Ok(None);
    }
    let part_ns = length_s.max(1).saturating_mul(SECOND_NS);
    let mut left = MOST_PARTS;
    let mut found: BTreeMap<_, _> =
        tasks.iter().map(|task| (task.clone(), TaskArrivals::default())).collect();
    for number in 0..file.row_groups() {
        let row_group = file.row_group(number)?;
        let rows = Rows::all(row_group.as_ref())?;
        let names = rows.texts("task")?;
        let parts = rows.booleans("part")?;
        let due = rows.integers("due_ns")?;
        let done = rows.integers("done_ns")?;
        for (row, (due, done)) in due.into_iter().zip(done).enumerate() {
            let name = std::str::from_utf8(names.get(row)).ok();
            let task = name.filter(|_| !parts[row]).and_then(|name| found.get_mut(name));
            if let Some(task) = task {
                count(&mut task.due, due, part_ns, &mut left)?;
                count(&mut task.done, done, part_ns, &mut left)?;
            }
        }
    }
    Ok(Some(found))
}

/// Parts of all tasks together; a time in a damaged file may be any number.
const MOST_PARTS: usize = 1 << 22;

/// Counts an operation in its part; `left` is the number of parts that may be added.
fn count(parts: &mut Vec<u64>, time_ns: i64, length_ns: u64, left: &mut usize) -> Result<(), ReadError> {
    let part = usize::try_from(u64::try_from(time_ns).unwrap_or_default() / length_ns);
    let part = part.map_err(|error| ReadError::Damaged(error.to_string()))?;
    if part >= parts.len() {
        let rest = left.checked_sub(part - parts.len() + 1);
        *left = rest.ok_or_else(|| {
            ReadError::TooLarge(format!(
                "has an operation {time_ns} ns after its task began, and is not read"
            ))
        })?;
        parts.resize(part + 1, 0);
    }
    parts[part] += 1;
    Ok(())
}
