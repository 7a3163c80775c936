//! Chunks that occur several times: dumps of a recording that is still running have those of the dumps before them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::chunk::{Chunk, ChunkId};
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

/// How much of a copy of a chunk can be read: the largest one has most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Readable {
    /// Whether it can be read to its end, without a problem.
    pub(super) is_whole: bool,
    /// Number of its events up to the first problem.
    pub(super) events: u64,
    /// Its bytes.
    pub(super) bytes: usize,
}

/// The copy of a chunk that is read.
#[derive(Clone, Copy, Debug)]
struct ReadCopy {
    place: ChunkPlace,
    bytes: usize,
    hash: u64,
    /// How much of it can be read; `None` unless it was decoded, because other copies differ from it.
    readable: Option<Readable>,
}

/// Where each chunk is read, if it occurs several times.
#[derive(Debug, Default)]
pub(super) struct ChunkPlaces {
    copies: HashMap<ChunkId, ReadCopy>,
    /// The chunks whose copies differ.
    differing: HashSet<ChunkId>,
}

impl ChunkPlaces {
    /// Adds a place with a chunk, which is read where it occurs first, unless its copies differ and are ranked.
    pub(super) fn add(&mut self, chunk: &Chunk, place: ChunkPlace) {
        let (bytes, mut hasher) = (chunk.bytes.len(), DefaultHasher::new());
        chunk.bytes.hash(&mut hasher);
        let copy = ReadCopy { place, bytes, hash: hasher.finish(), readable: None };
        let is_full = self.copies.len() >= MAX_CHUNKS;
        match self.copies.entry(chunk.id) {
            Entry::Occupied(known) if (known.get().bytes, known.get().hash) != (bytes, copy.hash) => {
                self.differing.insert(chunk.id);
            }
            Entry::Vacant(entry) if !is_full => _ = entry.insert(copy),
            _ => {}
        }
    }

    /// Returns whether copies of any chunk differ.
    pub(super) fn have_differing(&self) -> bool {
        !self.differing.is_empty()
    }

    /// Returns whether copies of this chunk differ.
    pub(super) fn is_differing(&self, id: ChunkId) -> bool {
        self.differing.contains(&id)
    }

    /// Reads a chunk at a place if more of it can be read there than at the places before. One that can be read to its
    /// end is better than any that cannot: a copy from the time when the JVM was writing it has fewer events, and one
    /// that was damaged may be longer than it was.
    pub(super) fn rank(&mut self, id: ChunkId, place: ChunkPlace, readable: Readable) {
        if let Some(copy) = self.copies.get_mut(&id)
            && copy.readable.is_none_or(|best| best < readable)
        {
            (copy.place, copy.bytes, copy.readable) = (place, readable.bytes, Some(readable));
        }
    }

    /// Returns where a chunk is read instead of at this place, or `None` if it is read here. One that was not added is
    /// read where it occurs first.
    pub(super) fn instead_of(&mut self, chunk: &Chunk, place: ChunkPlace) -> Option<ChunkPlace> {
        if !self.copies.contains_key(&chunk.id) {
            self.add(chunk, place);
        }
        self.copies.get(&chunk.id).map(|copy| copy.place).filter(|&read| read != place)
    }

    /// Returns whether a chunk has fewer bytes than these where it is read, without having been compared.
    pub(super) fn is_shorter(&self, id: ChunkId, bytes: usize) -> bool {
        self.copies.get(&id).is_some_and(|copy| copy.readable.is_none() && copy.bytes < bytes)
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
