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
use memmap2::Mmap;

/// The marks at the start of a block and at the end of a stream.
const BLOCK_MARK: u64 = 0x3141_5926_5359;
const END_MARK: u64 = 0x1772_4538_5090;
const MARK_BITS: usize = 48;

/// Number of bytes that are searched for marks at a time.
const WINDOW: usize = 1 << 20;

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
    archive: Mmap,
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
                (splitter.0 - 1, splitter.1.next_block(&self.archive))
            };
            let decompress =
                |block: Block| Ok(Some((block.decompress(&self.archive)?, (block.bits.end / 8) as u64)));
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
        archive: Mmap,
        thread_count: usize,
        archive_bytes_read: &'a Cell<u64>,
    ) -> io::Result<Self> {
        let archive_size = archive.len() as u64;
        let shared = Arc::new(SharedState {
            archive,
            splitter: Mutex::new((0, Splitter::default())),
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

/// A block in the archive.
struct Block {
    bits: Range<usize>,
    /// Block size of its stream, an ASCII digit.
    level: u8,
    crc: u32,
}

impl Block {
    /// Decompresses the block as a stream of one block.
    fn decompress(&self, archive: &[u8]) -> io::Result<Vec<u8>> {
        let (first, shift) = (self.bits.start / 8, self.bits.start % 8);
        let (whole, rest) = (self.bits.len() / 8, self.bits.len() % 8);
        let mut stream = Vec::with_capacity(whole + 16);
        stream.extend_from_slice(&[b'B', b'Z', b'h', self.level]);
        let after = |position: usize| archive.get(position + 1).copied().unwrap_or(0);
        let byte = |position: usize| {
            (u16::from_be_bytes([archive[position], after(position)]) << shift).to_be_bytes()[0]
        };
        stream.extend((first..first + whole).map(byte));
        // The last bits of the block, the end mark, and the checksum of the stream, which is that of its only block.
        let mut tail = if rest > 0 { u128::from(byte(first + whole) >> (8 - rest)) } else { 0 };
        tail = (tail << MARK_BITS | u128::from(END_MARK)) << 32 | u128::from(self.crc);
        let tail = tail << (128 - rest - MARK_BITS - 32);
        stream.extend_from_slice(&tail.to_be_bytes()[..(rest + MARK_BITS + 32).div_ceil(8)]);
        let mut data = Vec::new();
        let unpacked = bzip2::bufread::BzDecoder::new(&stream[..]).read_to_end(&mut data);
        unpacked.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(data)
    }
}

/// Splits an archive into blocks, from start to end.
#[derive(Default)]
struct Splitter {
    marks: MarkFinder,
    /// Bit offset of the next mark or, between streams, of the next header.
    next_bit: usize,
    /// Level and checksum of the current stream.
    stream: Option<(u8, u32)>,
}

impl Splitter {
    fn next_block(&mut self, archive: &[u8]) -> io::Result<Option<Block>> {
        let end = archive.len() * 8;
        loop {
            let Some((level, crc)) = self.stream else {
                if self.next_bit == end && end > 0 {
                    return Ok(None);
                }
                let header = archive.get(self.next_bit / 8..self.next_bit / 8 + 4).ok_or_else(truncated)?;
                if !header.starts_with(b"BZh") || !(b'1'..=b'9').contains(&header[3]) {
                    return Err(invalid("the bzip2 header is missing"));
                }
                self.stream = Some((header[3], 0));
                self.next_bit += 32;
                continue;
            };
            let (mark, sum) =
                (bits(archive, self.next_bit) >> 16, bits(archive, self.next_bit + MARK_BITS) >> 32);
            if self.next_bit + MARK_BITS + 32 > end {
                return Err(truncated());
            }
            if mark == END_MARK && sum == u64::from(crc) {
                self.stream = None;
                self.next_bit = (self.next_bit + MARK_BITS + 32).next_multiple_of(8);
            } else if mark == BLOCK_MARK {
                let next = self.marks.next(archive, self.next_bit + MARK_BITS).ok_or_else(truncated)?;
                let block_crc = u32::try_from(sum).unwrap_or(0);
                self.stream = Some((level, crc.rotate_left(1) ^ block_crc));
                let bits = std::mem::replace(&mut self.next_bit, next)..next;
                return Ok(Some(Block { bits, level, crc: block_crc }));
            } else {
                return Err(invalid("bzip2 data is invalid"));
            }
        }
    }
}

/// Finds marks, one window at a time.
struct MarkFinder {
    /// A finder for each mark and bit shift, which searches for the five bytes that the shifted mark fills completely.
    finders: Vec<(Finder<'static>, usize, u64)>,
    /// Bit offsets of marks that were found but not returned yet.
    found: VecDeque<usize>,
    /// Number of bytes searched so far.
    searched: usize,
}

impl Default for MarkFinder {
    fn default() -> Self {
        let finder = |(mark, shift): (u64, usize)| {
            let bytes = (mark << (16 - shift)).to_be_bytes();
            (Finder::new(&bytes[1..6]).into_owned(), shift, mark)
        };
        let shifts = (0..8).flat_map(|shift| [(BLOCK_MARK, shift), (END_MARK, shift)]);
        Self { finders: shifts.map(finder).collect(), found: VecDeque::new(), searched: 0 }
    }
}

impl MarkFinder {
    /// Returns the bit at which the first mark at or after `from` begins.
    fn next(&mut self, archive: &[u8], from: usize) -> Option<usize> {
        loop {
            while let Some(bit) = self.found.pop_front() {
                if bit >= from {
                    self.found.push_front(bit);
                    return Some(bit);
                }
            }
            if self.searched >= archive.len() {
                return None;
            }
            self.search_window(archive);
        }
    }

    fn search_window(&mut self, archive: &[u8]) {
        let (start, end) = (self.searched, archive.len().min(self.searched + WINDOW));
        let window = &archive[start..archive.len().min(end + 4)]; // a mark may begin in this window and end after it
        for (finder, shift, mark) in &self.finders {
            for position in finder.find_iter(window) {
                // These five bytes are the second to the sixth of the mark.
                let bit = ((start + position) * 8 + shift).checked_sub(8);
                self.found.extend(bit.filter(|bit| bits(archive, *bit) >> 16 == *mark));
            }
        }
        self.found.make_contiguous().sort_unstable();
        self.searched = end;
    }
}

/// Returns the 64 bits from `bit` on, with zeros after the end of the archive. Unless `bit` is the first bit of a byte,
/// up to 7 of the last bits are also zero.
fn bits(archive: &[u8], bit: usize) -> u64 {
    let mut bytes = [0; 8];
    let rest = archive.get(bit / 8..).unwrap_or_default();
    let length = rest.len().min(8);
    bytes[..length].copy_from_slice(&rest[..length]);
    u64::from_be_bytes(bytes) << (bit % 8)
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn truncated() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the archive ends within a block")
}
