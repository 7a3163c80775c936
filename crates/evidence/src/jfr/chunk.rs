//! The chunks of a recording file. Each chunk has its own types and constants.

use std::io::Read;

use crate::error::EvidenceError;
use crate::source::Source;

/// Size of a chunk's header, in bytes.
const HEADER: usize = 68;

/// Position of the first event in a chunk.
pub(super) const FIRST_EVENT: usize = HEADER;

/// The first bytes of a chunk.
const MAGIC: &[u8; 4] = b"FLR\0";

/// Largest chunk that is read, in bytes. JVMs begin a new chunk after 12 MB, unless told otherwise.
const MAX_CHUNK: u64 = 128 << 20;

/// Number of problems of a file that are described.
const MAX_PROBLEMS: usize = 20;

/// What identifies a chunk, wherever it was copied: when it began, by two clocks of the JVM that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ChunkId {
    start_ns: u64,
    start_ticks: u64,
    ticks_per_second: u64,
}

/// A chunk in memory.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) id: ChunkId,
    /// What of it cannot be read, as a sentence.
    pub(super) problem: Option<String>,
    /// The clock of its events.
    pub(super) clock: ChunkClock,
    /// Its bytes including the header, which may be fewer than the header says.
    pub(super) bytes: Vec<u8>,
}

/// Converts ticks, the unit of times in a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkClock {
    /// Start of the chunk, in ns since 1970.
    pub(super) start_ns: i64,
    /// Duration of the chunk in ns; 0 if the JVM has not written it.
    pub(super) duration_ns: i64,
    start_ticks: i64,
    ticks_per_ns: f64,
}

impl ChunkClock {
    /// Returns the ticks between the start of the chunk and a time.
    #[expect(clippy::cast_possible_wrap, reason = "as the JDK converts times")]
    pub(super) fn since_start(&self, ticks: u64) -> i64 {
        (ticks as i64).wrapping_sub(self.start_ticks)
    }

    /// Returns a time in ns since 1970, given in ticks.
    pub(super) fn time_ns(&self, ticks: u64) -> i64 {
        self.time_after_start_ns(self.since_start(ticks))
    }

    /// Returns a time in ns since 1970, given in ticks since the start of the chunk.
    #[expect(clippy::cast_possible_truncation, reason = "as the JDK converts times")]
    pub(super) fn time_after_start_ns(&self, since_start: i64) -> i64 {
        self.start_ns.saturating_add((since_start as f64 / self.ticks_per_ns) as i64)
    }

    /// Returns how long an event took in ns, given when it began and its duration in ticks: like the JDK, the
    /// difference of its end and its start, each in whole ns. A negative one is 0.
    pub(super) fn elapsed_ns(&self, start: u64, duration: u64) -> u64 {
        let end_ns = self.time_ns(start.wrapping_add(duration));
        u64::try_from(end_ns.saturating_sub(self.time_ns(start))).unwrap_or(0)
    }

    /// Returns a duration in ns that is a value of an event; a negative one is 0.
    #[expect(
        clippy::cast_possible_wrap,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "as the JDK converts durations"
    )]
    pub(super) fn duration_ns(&self, ticks: u64) -> u64 {
        ((ticks as i64 as f64 / self.ticks_per_ns) as i64).max(0) as u64
    }
}

/// The header of a chunk.
struct Header {
    bytes: [u8; HEADER],
}

impl Header {
    fn u16_at(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    fn u64_at(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.bytes[at..at + 8]);
        u64::from_be_bytes(bytes)
    }

    fn has_magic(&self) -> bool {
        self.bytes.starts_with(MAGIC)
    }

    /// Returns the size of the chunk including the header, or 0 if the JVM has not written it.
    fn size(&self) -> u64 {
        self.u64_at(8)
    }

    /// Returns whether the JVM was still writing the chunk.
    fn is_in_progress(&self) -> bool {
        self.size() == 0 || self.bytes[64] != 0
    }

    fn id(&self) -> ChunkId {
        let [start_ns, start_ticks, ticks_per_second] = [32, 48, 56].map(|at| self.u64_at(at));
        ChunkId { start_ns, start_ticks, ticks_per_second }
    }

    fn clock(&self) -> ChunkClock {
        let ns = |at| i64::try_from(self.u64_at(at)).unwrap_or(0);
        ChunkClock {
            start_ns: ns(32),
            duration_ns: ns(40),
            start_ticks: ns(48),
            ticks_per_ns: self.u64_at(56).max(1) as f64 / 1e9,
        }
    }

    /// Returns why the chunk cannot be read.
    fn unsupported(&self) -> Option<String> {
        let (major, minor) = (self.u16_at(4), self.u16_at(6));
        if !(1..=2).contains(&major) {
            return Some(format!(
                "has the format {major}.{minor}; Pacenote reads 1.0 and 2.x (JDK 9 and newer)"
            ));
        }
        (self.bytes[67] & 1 == 0)
            .then(|| "does not compress integers; record it with compressed integers".to_owned())
    }
}

/// Reads the chunks of a file, one at a time.
#[derive(Debug)]
pub(super) struct ChunkReader {
    source: Source,
    /// Bytes of the next header that have been read.
    ahead: Vec<u8>,
    chunks: u64,
    /// What could not be read, as sentences.
    pub(super) problems: Vec<String>,
}

impl ChunkReader {
    pub(super) fn new(source: Source) -> Self {
        Self { source, ahead: Vec::new(), chunks: 0, problems: Vec::new() }
    }

    /// Returns the next chunk, or `None` at the end of what can be read. `buffer` is reused for its bytes.
    pub(super) fn next(&mut self, buffer: Vec<u8>) -> Result<Option<Chunk>, EvidenceError> {
        let Some(header) = self.header()? else { return Ok(None) };
        self.chunks += 1;
        if let Some(reason) = header.unsupported() {
            self.problem(format!("chunk {} {reason}", self.chunks));
            return Ok(None);
        }
        let mut bytes = buffer;
        bytes.clear();
        bytes.extend_from_slice(&header.bytes);
        // A chunk that has just been begun says that it is empty.
        let size = if header.size() < HEADER as u64 { u64::MAX } else { header.size() };
        self.read_until(&mut bytes, size)?;
        self.read_ahead()?;
        let mut problem = None;
        if header.is_in_progress() && !self.ahead.starts_with(MAGIC) {
            bytes.append(&mut self.ahead);
            self.read_until(&mut bytes, u64::MAX)?;
            problem = Some(format!(
                "chunk {} was still being written; events that are missing are not counted",
                self.chunks
            ));
        } else if (bytes.len() as u64) < size {
            problem = Some(format!("chunk {} is cut after {} of {size} bytes", self.chunks, bytes.len()));
        }
        if bytes.len() as u64 > MAX_CHUNK {
            if let Some(text) = problem {
                self.problem(text);
            }
            self.problem(format!(
                "chunk {} is larger than {MAX_CHUNK} bytes, and neither it nor what follows was read; record with a \
                 smaller maxchunksize",
                self.chunks
            ));
            return Ok(None);
        }
        Ok(Some(Chunk { id: header.id(), problem, clock: header.clock(), bytes }))
    }

    /// Adds a problem, unless the file has very many.
    pub(super) fn problem(&mut self, text: String) {
        match self.problems.len() {
            0..MAX_PROBLEMS => self.problems.push(text),
            MAX_PROBLEMS => self.problems.push("there are further problems".to_owned()),
            _ => {}
        }
    }

    /// Returns the number of the chunk that was read last, from 1.
    pub(super) fn chunks(&self) -> u64 {
        self.chunks
    }

    fn header(&mut self) -> Result<Option<Header>, EvidenceError> {
        self.read_ahead()?;
        let ahead = std::mem::take(&mut self.ahead);
        if ahead.is_empty() {
            if self.chunks == 0 {
                self.problem("the file is empty".to_owned());
            }
            return Ok(None);
        }
        let mut header = Header { bytes: [0; HEADER] };
        header.bytes[..ahead.len()].copy_from_slice(&ahead);
        if !header.has_magic() {
            self.problem(match self.chunks {
                0 => "the file is not a Flight Recorder recording: it does not begin with FLR".to_owned(),
                chunks => format!("what follows chunk {chunks} is not a chunk, and was not read"),
            });
            return Ok(None);
        }
        if ahead.len() < HEADER {
            self.problem(format!("the header of chunk {} is cut", self.chunks + 1));
            return Ok(None);
        }
        Ok(Some(header))
    }

    /// Reads the bytes of the next header, unless they have been read.
    fn read_ahead(&mut self) -> Result<(), EvidenceError> {
        if self.ahead.is_empty() {
            let mut bytes = [0; HEADER];
            let count = self.source.fill(&mut bytes)?;
            self.ahead.extend_from_slice(&bytes[..count]);
            if let Some(damage) = self.source.damage().map(str::to_owned)
                && !self.problems.contains(&damage)
            {
                self.problem(damage);
            }
        }
        Ok(())
    }

    /// Reads until `bytes` has `size` bytes, more than the largest chunk, or all of the file. What is allocated
    /// depends on what the file has, not on what a header says.
    fn read_until(&mut self, bytes: &mut Vec<u8>, size: u64) -> Result<(), EvidenceError> {
        let missing = size.min(MAX_CHUNK + 1).saturating_sub(bytes.len() as u64);
        let path = self.source.path().to_path_buf();
        self.source
            .by_ref()
            .take(missing)
            .read_to_end(bytes)
            .map(|_| ())
            .map_err(|cause| EvidenceError::read(&path, cause))
    }
}
