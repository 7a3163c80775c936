//! Flight Recorder recordings: allocations, samples of methods, locks, pauses and I/O.
//!
//! A recording consists of chunks, which are read one at a time. A chunk describes its own types, and has constants to
//! which its events refer by ids. A first pass over the sizes of its events finds the description and the constants, a
//! second one decodes the events. The descriptions of types are compiled into layouts, which are kept for the next chunk
//! if that has the same description. Events are grouped by ids, so that each stack is decoded once per chunk.
//!
//! Nothing in a file is trusted, because another user may have written it. Memory is allocated for what was read, not for
//! what a size announces; chunks, constants and descriptions have limits, and so has what is returned, in bytes, for all
//! windows together. Names are kept once, and referred to by indexes. No function calls itself more often than a constant:
//! elements, types in types and arrays have a depth, and a text refers to one constant at most. What is left out is a
//! problem of the file. The formats are 1.0 to 2.1, those of JDK 9 and newer.
//!
//! | file | contains |
//! | --- | --- |
//! | `chunk.rs` | the chunks of a file, and the clock of a chunk |
//! | `metadata.rs`, `layout.rs`, `types.rs` | the types of a chunk, how their values are encoded, and what is read of them |
//! | `repeats.rs`, `jvms.rs`, `settings.rs` | chunks that occur several times, the JVMs that wrote them, and how often they took events |
//! | `constants.rs`, `constant_fields.rs` | stacks, methods, classes, threads and texts |
//! | `events.rs` | the events that are read |
//! | `decoder.rs` | decodes and groups the events of a chunk |
//! | `gauges.rs` | what the JVM reads at intervals |
//! | `tables.rs`, `builder.rs` | merge the groups of chunks and files |
//! | `recording.rs` | [`Recording`] |
//! | `bytes.rs`, `hash.rs` | integers and texts, and maps of them |

mod builder;
mod bytes;
mod chunk;
mod constant_fields;
mod constants;
mod decoder;
mod events;
mod gauges;
mod hash;
#[cfg(test)]
mod hostile_tests;
mod jvms;
mod layout;
mod metadata;
mod recording;
mod repeats;
mod settings;
mod tables;
#[cfg(test)]
mod test_chunk;
#[cfg(test)]
mod tests;
mod types;

use std::ops::ControlFlow;
use std::path::PathBuf;

pub use recording::{
    AllocationGroup, EventSetting, EventState, EventType, GaugeKind, GaugeValues, IoGroup, IoKind, LockGroup,
    LockKind, RecordedCollection, RecordedGauge, RecordedJvm, RecordedPause, RecordedStack, RecordedThread,
    RecordedValues, Recording, RecordingFile, RepeatedChunks, SampleGroup, SampleKind, StackFrame,
    ThreadAllocation, ThreadState, VmOperationGroup,
};

use crate::error::EvidenceError;
use crate::source::Source;
use builder::RecordingBuilder;
use chunk::{Chunk, ChunkReader};
use decoder::ChunkDecoder;
use repeats::{ChunkPlace, ChunkPlaces, Readable, add_repeated};
use tables::MemoryBudget;

/// Reads recordings of one JVM, plain or compressed with gzip, as one recording, as [`read_recording_windows`] does for one
/// window.
///
/// # Errors
///
/// Those of [`read_recording_windows`].
pub fn read_recordings(
    paths: &[PathBuf],
    window_ns: Option<(i64, i64)>,
    progress: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Recording, EvidenceError> {
    let mut found = read_recording_windows(paths, &[window_ns], progress)?;
    Ok(found.remove(0))
}

/// Reads recordings of one JVM, plain or compressed with gzip, as one recording, and returns it once for each window: with
/// the events that begin between two times in ns since 1970, or with all events for `None`. `progress` is called after
/// each chunk and can end the reading.
///
/// The files are decoded once. The events of a chunk are decoded for the first window, and again for each other one in
/// which some of them begin. A chunk that occurs several times, as in two dumps of a recording that is still running, is
/// read where it can be read to its end, else where most of its events can, or where it occurs first if there is a
/// single file, and is one of [`RecordingFile::repeated`] elsewhere. [`Recording::jvms`] has all JVMs that wrote chunks: their events are added up.
///
/// What cannot be read of a file is named in [`RecordingFile::problems`]; the rest is read.
///
/// # Errors
///
/// [`EvidenceError::Read`] and [`EvidenceError::NotAFile`] if a file cannot be read at all, and
/// [`EvidenceError::Interrupted`] if `progress` ended the reading.
pub fn read_recording_windows(
    paths: &[PathBuf],
    windows_ns: &[Option<(i64, i64)>],
    progress: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Vec<Recording>, EvidenceError> {
    read_within(paths, windows_ns, &MemoryBudget::default(), progress)
}

/// Reads recordings as [`read_recording_windows`] does; what it returns takes no more memory than `budget` has.
fn read_within(
    paths: &[PathBuf],
    windows_ns: &[Option<(i64, i64)>],
    budget: &MemoryBudget,
    progress: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Vec<Recording>, EvidenceError> {
    let new = |window_ns: &Option<(i64, i64)>| RecordingBuilder::new(*window_ns, budget);
    let mut builders: Vec<_> = windows_ns.iter().map(new).collect();
    let mut decoder = ChunkDecoder::default();
    let mut places = find_chunks(paths, progress)?;
    for (file, path) in (0..).zip(paths) {
        let mut reader = ChunkReader::new(Source::open(path)?);
        let (mut chunks, mut events, mut repeated, mut unnamed) = (0, 0, Vec::new(), 0_u64);
        let mut buffer = Vec::new();
        while let Some(chunk) = reader.next(buffer)? {
            let number = reader.chunks();
            let (place, bytes) = (ChunkPlace { file, number }, chunk.bytes.len());
            if let Some(read) = places.instead_of(&chunk, place) {
                if read.file == file && places.is_shorter(chunk.id, bytes) {
                    reader.problem(longer_copy(number, read.number));
                }
                unnamed += u64::from(!add_repeated(&mut repeated, number, read));
            } else {
                let summary = decoder.read(&chunk, &mut builders);
                chunk.problem.into_iter().for_each(|problem| reader.problem(problem));
                for problem in summary.problems {
                    reader.problem(format!("chunk {number} {problem}"));
                }
                chunks += u64::from(summary.events.is_some());
                events += summary.events.unwrap_or(0);
            }
            buffer = chunk.bytes;
            if progress().is_break() {
                return Err(EvidenceError::Interrupted { path: path.clone() });
            }
        }
        if unnamed > 0 {
            reader.problem(format!("{unnamed} further chunks were left out, because they were read before"));
        }
        let path = path.to_string_lossy().into_owned();
        for builder in &mut builders {
            let (repeated, problems) = (repeated.clone(), reader.problems.clone());
            let file =
                RecordingFile { path: path.clone(), chunks, repeated, events, jvms: Vec::new(), problems };
            builder.add_file(file);
        }
    }
    Ok(builders.into_iter().map(RecordingBuilder::build).collect())
}

/// Finds where each chunk of several files is read. In a single file, it is read where it occurs first.
fn find_chunks(
    paths: &[PathBuf],
    progress: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<ChunkPlaces, EvidenceError> {
    let mut places = ChunkPlaces::default();
    if paths.len() < 2 {
        return Ok(places);
    }
    each_chunk(paths, progress, &mut |chunk, place| places.add(chunk, place))?;
    if places.have_differing() {
        each_chunk(paths, progress, &mut |chunk, place| {
            if places.is_differing(chunk.id) {
                places.rank(chunk.id, place, readable(chunk));
            }
        })?;
    }
    Ok(places)
}

/// Calls `visit` with each chunk of several files and its place.
fn each_chunk(
    paths: &[PathBuf],
    progress: &mut dyn FnMut() -> ControlFlow<()>,
    visit: &mut dyn FnMut(&Chunk, ChunkPlace),
) -> Result<(), EvidenceError> {
    for (file, path) in (0..).zip(paths) {
        let mut reader = ChunkReader::new(Source::open(path)?);
        let mut buffer = Vec::new();
        while let Some(chunk) = reader.next(buffer)? {
            visit(&chunk, ChunkPlace { file, number: reader.chunks() });
            buffer = chunk.bytes;
            if progress().is_break() {
                return Err(EvidenceError::Interrupted { path: path.clone() });
            }
        }
    }
    Ok(())
}

/// Decodes a chunk by itself, to find out how much of it can be read.
fn readable(chunk: &Chunk) -> Readable {
    let mut builder = RecordingBuilder::new(None, &MemoryBudget::default());
    let summary = ChunkDecoder::default().read(chunk, std::slice::from_mut(&mut builder));
    Readable {
        is_whole: chunk.problem.is_none() && summary.problems.is_empty(),
        events: summary.events.unwrap_or(0),
        bytes: chunk.bytes.len(),
    }
}

fn longer_copy(number: u64, read: u64) -> String {
    format!(
        "chunk {number} is a longer copy of chunk {read}, which was read instead; remove chunk {read} from the file"
    )
}
