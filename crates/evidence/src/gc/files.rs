//! The files of a log: recognizes their format and reads them in the order of time.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::EvidenceError;
use crate::gc::hotspot::HotSpotReader;
use crate::gc::log::GcLog;
use crate::lines::read_lines;
use crate::openj9::{OpenJ9Reader, read_openj9_logs};
use crate::source::Source;

/// Bytes at the beginning of a file in which its first time is searched.
const HEAD: usize = 64 << 10;

/// The logs of all runs of a JVM in some files.
#[derive(Debug)]
pub struct GcLogs {
    /// One log for each run of a JVM, in the order of their first lines; at least one.
    pub logs: Vec<GcLog>,
    /// What was read.
    pub input: InputFacts,
}

/// What was read.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct InputFacts {
    /// The files, in the order in which they were read.
    pub files: Vec<PathBuf>,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
    /// What is missing or damaged, one sentence each.
    pub problems: Vec<String>,
}

/// Reads files that belong together: one log, or all files of a rotated one, in any order. `proceed` is called about every
/// 256 KiB.
///
/// # Errors
///
/// [`EvidenceError::Read`] and [`EvidenceError::NotAFile`]; [`EvidenceError::Unrecognized`] if no file has a line of a
/// GC log; [`EvidenceError::Interrupted`] if `proceed` returns `Break`.
pub fn read_gc_logs(
    paths: &[PathBuf],
    proceed: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<GcLogs, EvidenceError> {
    let (is_openj9, files) = in_order(paths)?;
    let mut input = InputFacts { files, ..InputFacts::default() };
    if is_openj9 {
        let read = read_openj9_logs(&input.files, proceed)?;
        input.bytes = read.bytes;
        input.lines = read.lines;
        input.problems = read.problems;
        return Ok(GcLogs { logs: GcLog::of_openj9(read.logs), input });
    }
    let mut reader = HotSpotReader::default();
    for path in &input.files {
        let mut source = Source::open(path)?;
        let mut lines = 0;
        let mut line = |line: &[u8]| {
            lines += 1;
            reader.line(line);
        };
        input.bytes += read_lines(&mut source, &mut line, proceed)?;
        input.lines += lines;
        if let Some(damage) = source.damage() {
            input.problems.push(format!("{}: {damage}", path.display()));
        }
    }
    if reader.unattributed > 0 {
        input.problems.push(format!(
            "{} lines were skipped: several JVMs wrote to the log without their process ids; add the decorator pid \
             to -Xlog",
            reader.unattributed
        ));
    }
    let logs = reader.finish();
    if logs.is_empty() {
        let first = paths.first().map_or(Path::new(""), PathBuf::as_path);
        let reason = match input.bytes {
            0 => "the file is empty",
            _ => "it has no line of a GC log of OpenJ9, or of HotSpot from JDK 9 on",
        };
        return Err(EvidenceError::unrecognized(
            first,
            format!("{reason}; write one with -Xlog:gc*,safepoint:file=gc.log:utctime,uptime,level,tags"),
        ));
    }
    if logs.iter().any(|log| log.is_limited) {
        input.problems.push("the log has too many events: the last ones are not counted".to_owned());
    }
    Ok(GcLogs { logs, input })
}

/// Returns whether the files are those of OpenJ9, and the files in the order of the times of their first lines; files
/// without times keep their places at the end.
fn in_order(paths: &[PathBuf]) -> Result<(bool, Vec<PathBuf>), EvidenceError> {
    let mut keyed = Vec::with_capacity(paths.len());
    let mut openj9 = 0;
    for path in paths {
        let mut head = vec![0; HEAD];
        let mut source = Source::open(path)?;
        let length = source.fill(&mut head)?;
        let head = &head[..length];
        let time = if OpenJ9Reader::recognizes(head) {
            openj9 += 1;
            OpenJ9Reader::first_timestamp(head).map(|time| (time, 0))
        } else {
            first_time(head)
        };
        keyed.push((time.is_none(), time, path));
    }
    if openj9 > 0 && openj9 < keyed.len() {
        let reason = "some files are logs of OpenJ9 and others are not; read the logs of each JVM separately";
        return Err(EvidenceError::unrecognized(keyed[0].2, reason));
    }
    keyed.sort_by_key(|(has_none, time, _)| (*has_none, *time));
    Ok((openj9 > 0, keyed.into_iter().map(|(_, _, path)| path.clone()).collect()))
}

/// Returns the wall-clock time and the uptime of the first line that has one of them.
fn first_time(head: &[u8]) -> Option<(i64, u64)> {
    head.split(|byte| *byte == b'\n').find_map(crate::gc::hotspot::line_time)
}
