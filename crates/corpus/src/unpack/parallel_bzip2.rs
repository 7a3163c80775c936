//! Decompresses bzip2 on all cores.
//!
//! bzip2 is slow, but its blocks are independent of each other, and each begins with a 48-bit mark at an arbitrary bit.
//! The stream is split at these marks, and each block is decompressed as a separate stream. The bzip2 crate is not
//! enough, because it decompresses on one core only.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::num::NonZero;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use memchr::memmem::Finder;

use super::archive_file::ArchiveFile;

/// The marks at the start of a block and at the end of a stream.
const BLOCK_MARK: u64 = 0x3141_5926_5359;
const END_MARK: u64 = 0x1772_4538_5090;
const MARK_BITS: u64 = 48;
const CRC_BITS: u64 = 32;

/// Number of bytes that are searched for marks at a time. In tests, a block extends over many of these pieces.
const SEARCHED_BYTES: u64 = if cfg!(test) { 1000 } else { 1 << 20 };

/// Number of bits of the longest block that is accepted: the 900,000 symbols of the largest block, at 20 bits each, and
/// its tables take up less.
const MAX_BLOCK_BITS: u64 = 8 * (4 << 20);

/// Returns the number of threads that decompress: one per core. On a single core, the ordinary decoder is as fast.
pub(super) fn thread_count() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Reads the decompressed data in order.
///
/// About once in ten thousand terabytes, data looks like a mark and the archive seems invalid. After an error of the
/// kind `InvalidData`, the caller therefore tries again with the ordinary decoder; an error of the kind `UnexpectedEof`
/// is certain.
pub(super) struct BlockReader<'a> {
    shared: Arc<SharedState>,
    threads: Vec<JoinHandle<()>>,
    /// Offset in the archive up to which data has been returned.
    archive_bytes_read: &'a Cell<u64>,
    archive_size: u64,
    /// Data of the current block.
    block_data: Vec<u8>,
    /// Number of its bytes that have been returned.
    position: usize,
    ended: bool,
}

struct SharedState {
    /// Number of the next block, and the splitter that finds it.
    splitter: Mutex<(u64, Splitter)>,
    finished: Mutex<FinishedBlocks>,
    changed: Condvar,
    /// Number of blocks that may be decompressed ahead of the reader.
    lookahead: u64,
}

/// The data of a block, and the offset of its end in the archive; `None` at the end of the archive.
type BlockResult = io::Result<Option<(Vec<u8>, u64)>>;

#[derive(Default)]
struct FinishedBlocks {
    /// Results by block number.
    results: BTreeMap<u64, BlockResult>,
    /// Number of the block that the reader takes next.
    next_number: u64,
    /// Whether the reader has been dropped.
    stop: bool,
    /// Whether a thread has panicked.
    thread_died: bool,
}

impl SharedState {
    fn lock_finished(&self) -> MutexGuard<'_, FinishedBlocks> {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, finished: MutexGuard<'a, FinishedBlocks>) -> MutexGuard<'a, FinishedBlocks> {
        self.changed.wait(finished).unwrap_or_else(PoisonError::into_inner)
    }

    /// Decompresses blocks until the archive ends or the reader is dropped. Each thread calls this once.
    fn decompress_blocks(&self) {
        let _guard = PanicGuard(self);
        loop {
            let (number, block) = {
                let mut splitter = self.splitter.lock().unwrap_or_else(PoisonError::into_inner);
                splitter.0 += 1;
                (splitter.0 - 1, splitter.1.next_block())
            };
            let decompress = |block: Block| Ok(Some((block.decompress()?, block.end_offset)));
            let result = block.and_then(|block| block.map_or(Ok(None), decompress));
            let last = !matches!(result, Ok(Some(_)));
            let mut finished = self.lock_finished();
            while !finished.stop && number >= finished.next_number + self.lookahead {
                finished = self.wait(finished);
            }
            if finished.stop {
                return;
            }
            finished.results.insert(number, result);
            self.changed.notify_all();
            if last {
                return;
            }
        }
    }
}

/// Wakes the reader when a thread panics, so that it does not wait for that thread's block.
struct PanicGuard<'a>(&'a SharedState);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock_finished().thread_died = true;
            self.0.changed.notify_all();
        }
    }
}

impl<'a> BlockReader<'a> {
    pub(super) fn new(
        archive: &Arc<ArchiveFile>,
        thread_count: usize,
        archive_bytes_read: &'a Cell<u64>,
    ) -> io::Result<Self> {
        let archive_size = archive.size();
        let shared = Arc::new(SharedState {
            splitter: Mutex::new((0, Splitter::new(archive))),
            finished: Mutex::default(),
            changed: Condvar::new(),
            lookahead: 2 * thread_count as u64,
        });
        let mut blocks = Self {
            shared,
            threads: Vec::new(),
            archive_bytes_read,
            archive_size,
            block_data: Vec::new(),
            position: 0,
            ended: false,
        };
        for _ in 0..thread_count {
            let shared = Arc::clone(&blocks.shared);
            let thread =
                thread::Builder::new().name("bzip2".into()).spawn(move || shared.decompress_blocks())?;
            blocks.threads.push(thread);
        }
        Ok(blocks)
    }

    /// Waits for the next block.
    fn take_next_block(&mut self) -> io::Result<()> {
        let mut finished = self.shared.lock_finished();
        let number = finished.next_number;
        let result = loop {
            if let Some(result) = finished.results.remove(&number) {
                break result;
            }
            if finished.thread_died {
                break Err(io::Error::other("a thread panicked"));
            }
            finished = self.shared.wait(finished);
        };
        finished.next_number += 1;
        drop(finished);
        self.shared.changed.notify_all();
        self.ended = !matches!(result, Ok(Some(_)));
        let (data, end) = result?.unwrap_or((Vec::new(), self.archive_size));
        self.archive_bytes_read.set(end);
        (self.block_data, self.position) = (data, 0);
        Ok(())
    }
}

impl Read for BlockReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.position == self.block_data.len() && !self.ended {
            self.take_next_block()?;
        }
        let read = (&self.block_data[self.position..]).read(buffer)?;
        self.position += read;
        Ok(read)
    }
}

impl Drop for BlockReader<'_> {
    fn drop(&mut self) {
        self.shared.lock_finished().stop = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // Errors have been returned with the blocks.
            let _joined = thread.join();
        }
    }
}

/// A block of the archive.
struct Block {
    /// The bytes that contain it, from the one in which its first bit is.
    bytes: Vec<u8>,
    /// Position of its first bit in the first byte.
    shift: u64,
    /// Number of its bits.
    length: u64,
    /// Offset of its end in the archive.
    end_offset: u64,
    /// Block size of its stream, an ASCII digit.
    level: u8,
    crc: u32,
}

impl Block {
    /// Decompresses the block as a stream of one block.
    fn decompress(&self) -> io::Result<Vec<u8>> {
        let (whole, rest) = (to_usize(self.length / 8), self.length % 8);
        let mut stream = Vec::with_capacity(whole + 16);
        stream.extend_from_slice(&[b'B', b'Z', b'h', self.level]);
        let at = |position: usize| self.bytes.get(position).copied().unwrap_or(0);
        let byte = |position: usize| {
            (u16::from_be_bytes([at(position), at(position + 1)]) << self.shift).to_be_bytes()[0]
        };
        stream.extend((0..whole).map(byte));
        // The last bits of the block, the end mark, and the checksum of the stream, which is that of its only block.
        let mut tail = if rest > 0 { u128::from(byte(whole) >> (8 - rest)) } else { 0 };
        tail = (tail << MARK_BITS | u128::from(END_MARK)) << CRC_BITS | u128::from(self.crc);
        let tail_bits = rest + MARK_BITS + CRC_BITS;
        let tail = tail << (128 - tail_bits);
        stream.extend_from_slice(&tail.to_be_bytes()[..to_usize(tail_bits.div_ceil(8))]);
        let mut data = Vec::new();
        let unpacked = bzip2::bufread::BzDecoder::new(&stream[..]).read_to_end(&mut data);
        unpacked.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(data)
    }
}

/// The bytes of the archive from the current block to the end of what was searched for marks.
struct SlidingWindow {
    archive: Arc<ArchiveFile>,
    /// Offset of the first byte.
    start: u64,
    bytes: Vec<u8>,
}

impl SlidingWindow {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Reads the archive up to this offset, or to its end.
    fn extend_to(&mut self, end: u64) -> io::Result<()> {
        let (end, mut position) = (end.min(self.archive.size()), self.end());
        self.bytes.resize(self.bytes.len() + to_usize(end.saturating_sub(position)), 0);
        while position < end {
            let buffer = &mut self.bytes[to_usize(position - self.start)..];
            position += self.archive.read_at(buffer, position)? as u64;
        }
        Ok(())
    }

    /// Removes the bytes before this offset, if they are many.
    fn remove_before(&mut self, offset: u64) {
        if offset - self.start >= SEARCHED_BYTES {
            self.bytes.drain(..to_usize(offset - self.start).min(self.bytes.len()));
            self.start = offset;
        }
    }

    /// Returns the bytes from one offset to another, as far as they have been read.
    fn slice(&self, range: Range<u64>) -> &[u8] {
        let index = |offset: u64| to_usize(offset.saturating_sub(self.start)).min(self.bytes.len());
        &self.bytes[index(range.start)..index(range.end)]
    }

    /// Returns the 64 bits from `bit` on, with zeros after the last byte that was read. Unless `bit` is the first bit
    /// of a byte, up to 7 of the last bits are also zero.
    fn bits(&self, bit: u64) -> u64 {
        let mut bytes = [0; 8];
        let found = self.slice(bit / 8..bit / 8 + 8);
        bytes[..found.len()].copy_from_slice(found);
        u64::from_be_bytes(bytes) << (bit % 8)
    }
}

/// Splits an archive into blocks, from start to end.
struct Splitter {
    window: SlidingWindow,
    marks: MarkFinder,
    /// Bit offset of the next mark or, between streams, of the next header.
    next_bit: u64,
    /// Level and checksum of the current stream.
    stream: Option<(u8, u32)>,
}

impl Splitter {
    fn new(archive: &Arc<ArchiveFile>) -> Self {
        let window = SlidingWindow { archive: Arc::clone(archive), start: 0, bytes: Vec::new() };
        Self { window, marks: MarkFinder::default(), next_bit: 0, stream: None }
    }

    fn next_block(&mut self) -> io::Result<Option<Block>> {
        let end = self.window.archive.size() * 8;
        loop {
            self.window.remove_before(self.next_bit / 8);
            // The header of a stream, or a mark and a checksum, which may begin within a byte.
            self.window.extend_to(self.next_bit / 8 + 16)?;
            let Some((level, crc)) = self.stream else {
                if self.next_bit == end && end > 0 {
                    return Ok(None);
                }
                let header = self.window.slice(self.next_bit / 8..self.next_bit / 8 + 4);
                let header: [u8; 4] = header.try_into().map_err(|_| truncated())?;
                if !header.starts_with(b"BZh") || !(b'1'..=b'9').contains(&header[3]) {
                    return Err(invalid("the bzip2 header is missing"));
                }
                self.stream = Some((header[3], 0));
                self.next_bit += 32;
                continue;
            };
            let mark = self.window.bits(self.next_bit) >> 16;
            let sum = self.window.bits(self.next_bit + MARK_BITS) >> 32;
            if self.next_bit + MARK_BITS + CRC_BITS > end {
                return Err(truncated());
            }
            if mark == END_MARK && sum == u64::from(crc) {
                self.stream = None;
                self.next_bit = (self.next_bit + MARK_BITS + CRC_BITS).next_multiple_of(8);
            } else if mark == BLOCK_MARK {
                let block_crc = u32::try_from(sum).unwrap_or(0);
                self.stream = Some((level, crc.rotate_left(1) ^ block_crc));
                return self.take_block(level, block_crc).map(Some);
            } else {
                return Err(invalid("bzip2 data is invalid"));
            }
        }
    }

    /// Returns the block that begins at the next bit, and advances to its end.
    fn take_block(&mut self, level: u8, crc: u32) -> io::Result<Block> {
        let first = self.next_bit;
        let next = self.marks.next(&mut self.window, first + MARK_BITS)?.ok_or_else(truncated)?;
        self.next_bit = next;
        Ok(Block {
            bytes: self.window.slice(first / 8..next.div_ceil(8)).to_vec(),
            shift: first % 8,
            length: next - first,
            end_offset: next / 8,
            level,
            crc,
        })
    }
}

/// Finds marks, piece by piece.
struct MarkFinder {
    /// A finder for each mark and bit shift, which searches for the five bytes that the shifted mark fills completely.
    finders: Vec<(Finder<'static>, u64, u64)>,
    /// Bit offsets of marks that were found but not returned yet.
    found: VecDeque<u64>,
    /// Number of bytes searched so far.
    searched: u64,
}

impl Default for MarkFinder {
    fn default() -> Self {
        let finder = |(mark, shift): (u64, u64)| {
            let bytes = (mark << (16 - shift)).to_be_bytes();
            (Finder::new(&bytes[1..6]).into_owned(), shift, mark)
        };
        let shifts = (0..8).flat_map(|shift| [(BLOCK_MARK, shift), (END_MARK, shift)]);
        Self { finders: shifts.map(finder).collect(), found: VecDeque::new(), searched: 0 }
    }
}

impl MarkFinder {
    /// Returns the bit at which the first mark at or after `from` begins, or `None` if the archive ends before it. The
    /// window must begin before `from`.
    fn next(&mut self, window: &mut SlidingWindow, from: u64) -> io::Result<Option<u64>> {
        loop {
            while let Some(bit) = self.found.pop_front() {
                if bit >= from {
                    self.found.push_front(bit);
                    return Ok(Some(bit));
                }
            }
            if self.searched >= window.archive.size() {
                return Ok(None);
            }
            if self.searched * 8 > from + MAX_BLOCK_BITS {
                return Err(invalid("a bzip2 block is too long"));
            }
            self.search_piece(window)?;
        }
    }

    fn search_piece(&mut self, window: &mut SlidingWindow) -> io::Result<()> {
        // A mark is found at its second byte, so its first one is in the window.
        let start = self.searched.max(window.start + 1);
        let end = (start + SEARCHED_BYTES).min(window.archive.size());
        window.extend_to(end + 8)?;
        let piece = window.slice(start..end + 4); // a mark may begin in this piece and end after it
        for (finder, shift, mark) in &self.finders {
            for position in finder.find_iter(piece) {
                // These five bytes are the second to the sixth of the mark.
                let bit = (start + position as u64) * 8 + shift - 8;
                self.found.extend(Some(bit).filter(|bit| window.bits(*bit) >> 16 == *mark));
            }
        }
        self.found.make_contiguous().sort_unstable();
        self.searched = end;
        Ok(())
    }
}

/// Converts a length within a window to an index.
fn to_usize(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn truncated() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the archive ends within a block")
}
