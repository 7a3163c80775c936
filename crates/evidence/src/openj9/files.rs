//! Reads the files of a verbose GC log.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::counts::OpenJ9Stop;
use super::log::OpenJ9Log;
use super::reader::OpenJ9Reader;
use crate::error::EvidenceError;
use crate::gc::container::ContainerReader;
use crate::lines::read_lines;
use crate::source::Source;

/// Policies whose elements the reader knows. Those of metronome and nogc are different or missing.
const KNOWN_POLICIES: [&str; 4] = ["gencon", "balanced", "optthruput", "optavgpause"];

/// What was read from the files of a log.
#[derive(Debug)]
pub struct OpenJ9Files {
    /// One log for each JVM that wrote to the files; at least one.
    pub logs: Vec<OpenJ9Log>,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
    /// What is missing or was not understood, one sentence each.
    pub problems: Vec<String>,
}

/// Reads the files of a log in the given order. `proceed` is called about every 256 KiB.
///
/// # Errors
///
/// [`EvidenceError::Read`] and [`EvidenceError::NotAFile`]; [`EvidenceError::Unrecognized`] if the log has no pause, and
/// is in a format that is not supported; [`EvidenceError::Interrupted`] if `proceed` returns `Break`.
pub fn read_openj9_logs(
    files: &[PathBuf],
    proceed: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<OpenJ9Files, EvidenceError> {
    let mut reader = OpenJ9Reader::new();
    let (mut bytes, mut lines, mut problems) = (0, 0, Vec::new());
    let mut containers = ContainerReader::default();
    // The container whose lines are read: elements of several JVMs cannot be told apart.
    let mut container: Option<Vec<u8>> = None;
    let mut of_others: u64 = 0;
    for path in files {
        let mut source = Source::open(path)?;
        let mut feed = |line: &[u8]| {
            lines += 1;
            let found = containers.read(line);
            if container.get_or_insert_with(|| found.container.to_vec()) == found.container {
                reader.feed(found.text);
                reader.feed(b"\n");
            } else {
                of_others += 1;
            }
        };
        bytes += read_lines(&mut source, &mut feed, proceed)?.bytes;
        reader.end_file();
        if let Some(damage) = source.damage() {
            problems.push(format!("{}: {damage}", path.display()));
        }
    }
    if of_others > 0 {
        problems.push(format!(
            "{of_others} lines of other containers were skipped; save the output of each container separately"
        ));
    }
    let mut logs = reader.finish();
    leave_out_repeated(&mut logs);
    let has_stops = logs.iter().any(|log| !log.stops.is_empty());
    if !has_stops && logs.iter().any(|log| log.problems.has_old_format) {
        let first = files.first().map_or(Path::new(""), PathBuf::as_path);
        let reason = "it has the format of J9 5.0 and earlier, which is not supported; use a newer JVM";
        return Err(EvidenceError::unrecognized(first, reason));
    }
    for log in &logs {
        add_problems(log, &mut problems);
    }
    Ok(OpenJ9Files { logs, bytes, lines, problems })
}

/// Leaves out the pauses of each JVM that are in the log of an earlier start, too: the same file was read twice.
fn leave_out_repeated(logs: &mut Vec<OpenJ9Log>) {
    let mut later = 1;
    while later < logs.len() {
        let is_in = |stop: &OpenJ9Stop, log: &OpenJ9Log| {
            let is_same = |known: &OpenJ9Stop| {
                (known.start_ms, known.end_ms, known.duration_us)
                    == (stop.start_ms, stop.end_ms, stop.duration_us)
            };
            stop.start_ms.is_some() && log.stops.iter().any(is_same)
        };
        let stops = &logs[later].stops;
        let found = logs[..later].iter().position(|log| stops.first().is_some_and(|stop| is_in(stop, log)));
        let end_ms = found.and_then(|earlier| logs[earlier].last_ms);
        let (Some(earlier), Some(end_ms)) = (found, end_ms) else {
            later += 1;
            continue;
        };
        let before = logs[later].stops.len();
        logs[later].stops.retain(|stop| stop.end_ms.is_none_or(|ended| ended > end_ms));
        let repeated = (before - logs[later].stops.len()) as u64;
        if logs[later].stops.is_empty() {
            logs.remove(later);
            logs[earlier].problems.repeated_stops += repeated;
        } else {
            let log = &mut logs[later];
            log.first_ms = log.first_ms.map(|first| first.max(end_ms));
            log.problems.repeated_stops += repeated;
            later += 1;
        }
    }
}

fn add_problems(log: &OpenJ9Log, problems: &mut Vec<String>) {
    let found = &log.problems;
    if found.cut_files > 0 {
        let files = if found.cut_files == 1 { "file has" } else { "files have" };
        problems.push(format!(
            "{} {files} no end: the JVM was still running, or was killed; what precedes is counted",
            found.cut_files
        ));
    }
    if found.cut_stops > 0 {
        let pauses = if found.cut_stops == 1 { "pause has" } else { "pauses have" };
        problems.push(format!("{} {pauses} no end, and cannot be counted", found.cut_stops));
    }
    if found.cut_tags > 0 {
        let elements = if found.cut_tags == 1 { "element is" } else { "elements are" };
        problems.push(format!("{} {elements} cut off and not counted", found.cut_tags));
    }
    if found.repeated_stops > 0 {
        let pauses = if found.repeated_stops == 1 { "pause is" } else { "pauses are" };
        problems.push(format!(
            "{} {pauses} there twice: the files have the same elements, each of which is counted once",
            found.repeated_stops
        ));
    }
    if !found.gaps.is_empty() {
        let ids: u64 = found.gaps.iter().fold(0, |sum, gap| sum.saturating_add(gap.ids));
        problems.push(format!(
            "elements with {ids} ids are missing: numbers and sums are at least those shown, and shares, rates and means \
             are not available; name all files of a rotated log"
        ));
    }
    if found.is_limited {
        problems.push("the log has too many pauses: the last ones are not counted".to_owned());
    }
    if found.has_declaration {
        problems.push("a document type declaration was ignored: OpenJ9 does not write any".to_owned());
    }
    for name in &found.unknown_types {
        problems.push(format!(
            "\"{name}\" is an unknown type of increment, which is neither a nursery nor a global collection here"
        ));
    }
    if let Some(policy) = log.settings.policy.as_deref().filter(|policy| !KNOWN_POLICIES.contains(policy)) {
        problems.push(format!(
            "the policy \"{policy}\" is unknown, or does not collect in pauses; only elements that other policies \
             write, too, are counted"
        ));
    }
    if found.has_old_format {
        problems.push("elements of J9 5.0 and earlier were ignored".to_owned());
    }
}
