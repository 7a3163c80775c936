//! Reads the files of a verbose GC log.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use memchr::memchr_iter;

use super::log::OpenJ9Log;
use super::reader::OpenJ9Reader;
use crate::error::EvidenceError;
use crate::source::Source;

/// Bytes that are read at a time.
const BLOCK: usize = 256 << 10;
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
    let mut block = vec![0; BLOCK];
    for path in files {
        let mut source = Source::open(path)?;
        loop {
            let length = source.fill(&mut block)?;
            bytes += length as u64;
            lines += memchr_iter(b'\n', &block[..length]).count() as u64;
            reader.feed(&block[..length]);
            if length < block.len() {
                break;
            }
            if proceed().is_break() {
                return Err(EvidenceError::Interrupted { path: path.clone() });
            }
        }
        reader.end_file();
        if let Some(damage) = source.damage() {
            problems.push(format!("{}: {damage}", path.display()));
        }
    }
    let logs = reader.finish();
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
