//! The files of a log: recognizes their format and reads them in the order of time.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::EvidenceError;
use crate::gc::container::ContainerReader;
use crate::gc::hotspot::HotSpotReader;
use crate::gc::log::GcLog;
use crate::gc::problems;
use crate::gc::repeated::leave_out_repeated;
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
    for path in input.files.clone() {
        read_file(&path, &mut reader, &mut input, proceed)?;
    }
    let first = paths.first().map_or(Path::new(""), PathBuf::as_path);
    input.problems.extend(problems::of_lines(&reader));
    let is_mixed = reader.is_mixed();
    let legacy = reader.skipped.legacy;
    let mut logs = reader.finish();
    if legacy > 0 && !logs.iter().any(GcLog::states_collections) {
        return Err(EvidenceError::unrecognized(first, problems::LEGACY));
    }
    if logs.is_empty() {
        let reason = match (input.bytes, input.problems.first()) {
            (0, Some(damage)) => damage.trim_start_matches(&format!("{}: ", first.display())),
            (0, None) => "the file is empty",
            _ => "it has no line of a GC log of OpenJ9, or of HotSpot from JDK 9 on",
        };
        return Err(EvidenceError::unrecognized(
            first,
            format!("{reason}; write one with -Xlog:gc*,safepoint:file=gc.log:utctime,uptime,level,tags"),
        ));
    }
    input.problems.extend(problems::of_repetition(leave_out_repeated(&mut logs)));
    for log in &mut logs {
        if is_mixed {
            log.losses.add(0, u64::MAX);
        }
        input.problems.extend(problems::of_log(log));
    }
    Ok(GcLogs { logs, input })
}

/// Reads the lines of one file.
fn read_file(
    path: &Path,
    reader: &mut HotSpotReader,
    input: &mut InputFacts,
    proceed: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<(), EvidenceError> {
    let mut source = Source::open(path)?;
    let mut lines = 0;
    let mut line = |line: &[u8]| {
        lines += 1;
        reader.line(line);
    };
    let read = read_lines(&mut source, &mut line, proceed)?;
    input.bytes += read.bytes;
    input.lines += lines;
    if let Some(damage) = source.damage() {
        input.problems.push(format!("{}: {damage}", path.display()));
    } else if read.is_cut {
        input.problems.push(format!(
            "the last line of {} has no end: the log may have been cut off there",
            path.display()
        ));
    }
    Ok(())
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
        let head = &without_containers(&head[..length]);
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

/// Returns the lines of the beginning of a file without what containers add to them.
fn without_containers(head: &[u8]) -> Vec<u8> {
    let mut containers = ContainerReader::default();
    let mut text = Vec::with_capacity(head.len());
    for line in head.split(|byte| *byte == b'\n') {
        text.extend_from_slice(containers.read(line).text);
        text.push(b'\n');
    }
    text
}

/// Returns the wall-clock time and the uptime of the first line that has one of them.
fn first_time(head: &[u8]) -> Option<(i64, u64)> {
    head.split(|byte| *byte == b'\n').find_map(crate::gc::hotspot::line_time)
}
