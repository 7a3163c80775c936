//! Chunks that occur several times: dumps of a recording that is still running have those of the dumps before them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::chunk::ChunkId;
use super::recording::RepeatedChunks;

/// Largest number of chunks that are told apart. Those of a JVM have some MB each.
const MAX_CHUNKS: usize = 1 << 18;

/// Largest number of groups of consecutive chunks of a file that are named.
const MAX_REPEATED: usize = 1000;

/// Where a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkPlace {
    /// Index of the file.
    pub(super) file: u32,
    /// Number in the file, from 1.
    pub(super) number: u64,
}

/// Where each chunk is read, if it occurs several times.
#[derive(Debug, Default)]
pub(super) struct ChunkPlaces {
    places: HashMap<ChunkId, (ChunkPlace, usize)>,
}

impl ChunkPlaces {
    /// Adds a place with a chunk of so many bytes. The chunk will be read where it has most bytes: a copy from the time
    /// when the JVM was writing it has fewer events.
    pub(super) fn add(&mut self, id: ChunkId, place: ChunkPlace, bytes: usize) {
        let is_full = self.places.len() >= MAX_CHUNKS;
        match self.places.entry(id) {
            Entry::Occupied(mut known) if known.get().1 < bytes => _ = known.insert((place, bytes)),
            Entry::Vacant(entry) if !is_full => _ = entry.insert((place, bytes)),
            _ => {}
        }
    }

    /// Returns where a chunk of so many bytes is read instead of at this place, or `None` if it is read here. One that
    /// was not added is read where it occurs first.
    pub(super) fn instead_of(&mut self, id: ChunkId, place: ChunkPlace, bytes: usize) -> Option<ChunkPlace> {
        if !self.places.contains_key(&id) {
            self.add(id, place, bytes);
        }
        self.places.get(&id).map(|&(read, _)| read).filter(|&read| read != place)
    }

    /// Returns whether a chunk has fewer bytes than these where it is read.
    pub(super) fn is_shorter(&self, id: ChunkId, bytes: usize) -> bool {
        self.places.get(&id).is_some_and(|&(_, read)| read < bytes)
    }
}

/// Adds a chunk that was left out, together with the one before it if that is possible. Returns whether it was added.
pub(super) fn add_repeated(repeated: &mut Vec<RepeatedChunks>, number: u64, read: ChunkPlace) -> bool {
    if let Some(last) = repeated.last_mut()
        && last.file == read.file
        && last.first + last.count == number
        && last.original + last.count == read.number
    {
        last.count += 1;
        return true;
    }
    let is_kept = repeated.len() < MAX_REPEATED;
    if is_kept {
        repeated.push(RepeatedChunks { first: number, count: 1, file: read.file, original: read.number });
    }
    is_kept
}
