//! bzip2 on all cores. It is slow, but its blocks do not depend on each other, and each begins with a mark of 48 bits
//! that stands at any bit: a stream is cut there, and every block unpacked as a stream of its own.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::num::NonZero;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use memchr::memmem::Finder;
use memmap2::Mmap;

/// The marks of a block and of the end of a stream.
const BLOCK: u64 = 0x3141_5926_5359;
const END: u64 = 0x1772_4538_5090;
const MARK_BITS: usize = 48;

/// Bytes looked through at once.
const WINDOW: usize = 1 << 20;

/// The threads of this machine; with one there is nothing to gain here.
pub(super) fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// The unpacked data, in order.
///
/// What looks broken may, once in ten thousand terabytes, be data that looks like a mark: an error of the kind
/// `InvalidData` calls for a second look by the ordinary decoder, one of the kind `UnexpectedEof` is sure.
pub(super) struct Blocks<'a> {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Where in the archive the data handed out so far ends.
    read: &'a Cell<u64>,
    size: u64,
    current: Vec<u8>,
    at: usize,
    over: bool,
}

struct Shared {
    archive: Mmap,
    /// Gives out blocks with their numbers.
    splitter: Mutex<(u64, Splitter)>,
    board: Mutex<Board>,
    changed: Condvar,
    /// How many blocks may be ahead of the reader.
    ahead: u64,
}

/// The data of a block and where it ends in the archive; `None` is the end of everything.
type Done = io::Result<Option<(Vec<u8>, u64)>>;

#[derive(Default)]
struct Board {
    /// By number.
    done: BTreeMap<u64, Done>,
    wanted: u64,
    stop: bool,
    /// A thread has died.
    dead: bool,
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, board: MutexGuard<'a, Board>) -> MutexGuard<'a, Board> {
        self.changed.wait(board).unwrap_or_else(PoisonError::into_inner)
    }

    /// The work of one thread.
    fn work(&self) {
        let _obituary = Obituary(self);
        loop {
            let (number, block) = {
                let mut splitter = self.splitter.lock().unwrap_or_else(PoisonError::into_inner);
                splitter.0 += 1;
                (splitter.0 - 1, splitter.1.next_block(&self.archive))
            };
            let unpack = |block: Block| Ok(Some((block.unpack(&self.archive)?, (block.bits.end / 8) as u64)));
            let done = block.and_then(|block| block.map_or(Ok(None), unpack));
            let last = !matches!(done, Ok(Some(_)));
            let mut board = self.board();
            while !board.stop && number >= board.wanted + self.ahead {
                board = self.wait(board);
            }
            if board.stop {
                return;
            }
            board.done.insert(number, done);
            self.changed.notify_all();
            if last {
                return;
            }
        }
    }
}

/// Tells when a thread dies, since nobody must wait for its block.
struct Obituary<'a>(&'a Shared);

impl Drop for Obituary<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.board().dead = true;
            self.0.changed.notify_all();
        }
    }
}

impl<'a> Blocks<'a> {
    pub(super) fn new(archive: Mmap, threads: usize, read: &'a Cell<u64>) -> io::Result<Self> {
        let size = archive.len() as u64;
        let shared = Arc::new(Shared {
            archive,
            splitter: Mutex::new((0, Splitter::default())),
            board: Mutex::default(),
            changed: Condvar::new(),
            ahead: 2 * threads as u64,
        });
        let mut blocks =
            Self { shared, threads: Vec::new(), read, size, current: Vec::new(), at: 0, over: false };
        for _ in 0..threads {
            let shared = Arc::clone(&blocks.shared);
            let thread = thread::Builder::new().name("bzip2".into()).spawn(move || shared.work())?;
            blocks.threads.push(thread);
        }
        Ok(blocks)
    }

    /// Waits for the next block.
    fn next_block(&mut self) -> io::Result<()> {
        let mut board = self.shared.board();
        let number = board.wanted;
        let done = loop {
            if let Some(done) = board.done.remove(&number) {
                break done;
            }
            if board.dead {
                break Err(io::Error::other("a thread died"));
            }
            board = self.shared.wait(board);
        };
        board.wanted += 1;
        drop(board);
        self.shared.changed.notify_all();
        self.over = !matches!(done, Ok(Some(_)));
        let (data, end) = done?.unwrap_or((Vec::new(), self.size));
        self.read.set(end);
        (self.current, self.at) = (data, 0);
        Ok(())
    }
}

impl Read for Blocks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.current.len() && !self.over {
            self.next_block()?;
        }
        let read = (&self.current[self.at..]).read(buffer)?;
        self.at += read;
        Ok(read)
    }
}

impl Drop for Blocks<'_> {
    fn drop(&mut self) {
        self.shared.board().stop = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // It has nothing to say any more.
            let _joined = thread.join();
        }
    }
}

/// A block as it lies in the archive.
struct Block {
    bits: Range<usize>,
    /// Size of the blocks of its stream, a digit.
    level: u8,
    crc: u32,
}

impl Block {
    /// Unpacks the block as a stream that holds nothing else.
    fn unpack(&self, archive: &[u8]) -> io::Result<Vec<u8>> {
        let (first, shift) = (self.bits.start / 8, self.bits.start % 8);
        let (whole, rest) = (self.bits.len() / 8, self.bits.len() % 8);
        let mut stream = Vec::with_capacity(whole + 16);
        stream.extend_from_slice(&[b'B', b'Z', b'h', self.level]);
        let after = |at: usize| archive.get(at + 1).copied().unwrap_or(0);
        let byte = |at: usize| (u16::from_be_bytes([archive[at], after(at)]) << shift).to_be_bytes()[0];
        stream.extend((first..first + whole).map(byte));
        // The bits that are no whole byte, the mark of the end and the checksum of the stream: that of its block.
        let mut tail = if rest > 0 { u128::from(byte(first + whole) >> (8 - rest)) } else { 0 };
        tail = (tail << MARK_BITS | u128::from(END)) << 32 | u128::from(self.crc);
        let tail = tail << (128 - rest - MARK_BITS - 32);
        stream.extend_from_slice(&tail.to_be_bytes()[..(rest + MARK_BITS + 32).div_ceil(8)]);
        let mut data = Vec::new();
        let unpacked = bzip2::bufread::BzDecoder::new(&stream[..]).read_to_end(&mut data);
        unpacked.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(data)
    }
}

/// Cuts an archive into blocks, from front to back.
#[derive(Default)]
struct Splitter {
    marks: Marks,
    /// Where the next mark or, between streams, the next header is.
    bit: usize,
    /// Level and checksum of the current stream.
    stream: Option<(u8, u32)>,
}

impl Splitter {
    fn next_block(&mut self, archive: &[u8]) -> io::Result<Option<Block>> {
        let end = archive.len() * 8;
        loop {
            let Some((level, crc)) = self.stream else {
                if self.bit == end && end > 0 {
                    return Ok(None);
                }
                let header = archive.get(self.bit / 8..self.bit / 8 + 4).ok_or_else(cut)?;
                if !header.starts_with(b"BZh") || !(b'1'..=b'9').contains(&header[3]) {
                    return Err(broken("bzip2 header missing"));
                }
                self.stream = Some((header[3], 0));
                self.bit += 32;
                continue;
            };
            let (mark, sum) = (bits(archive, self.bit) >> 16, bits(archive, self.bit + MARK_BITS) >> 32);
            if self.bit + MARK_BITS + 32 > end {
                return Err(cut());
            }
            if mark == END && sum == u64::from(crc) {
                self.stream = None;
                self.bit = (self.bit + MARK_BITS + 32).next_multiple_of(8);
            } else if mark == BLOCK {
                let next = self.marks.next(archive, self.bit + MARK_BITS).ok_or_else(cut)?;
                let block_crc = u32::try_from(sum).unwrap_or(0);
                self.stream = Some((level, crc.rotate_left(1) ^ block_crc));
                let bits = std::mem::replace(&mut self.bit, next)..next;
                return Ok(Some(Block { bits, level, crc: block_crc }));
            } else {
                return Err(broken("bzip2 data wrong"));
            }
        }
    }
}

/// Finds marks, window by window.
struct Marks {
    /// For both marks and every shift of bits: the five bytes in the middle, which are whole.
    finders: Vec<(Finder<'static>, usize, u64)>,
    found: VecDeque<usize>,
    /// Bytes looked through.
    seen: usize,
}

impl Default for Marks {
    fn default() -> Self {
        let finder = |(mark, shift): (u64, usize)| {
            let bytes = (mark << (16 - shift)).to_be_bytes();
            (Finder::new(&bytes[1..6]).into_owned(), shift, mark)
        };
        let shifts = (0..8).flat_map(|shift| [(BLOCK, shift), (END, shift)]);
        Self { finders: shifts.map(finder).collect(), found: VecDeque::new(), seen: 0 }
    }
}

impl Marks {
    /// The bit at which the first mark at or after `from` begins.
    fn next(&mut self, archive: &[u8], from: usize) -> Option<usize> {
        loop {
            while let Some(bit) = self.found.pop_front() {
                if bit >= from {
                    self.found.push_front(bit);
                    return Some(bit);
                }
            }
            if self.seen >= archive.len() {
                return None;
            }
            self.look(archive);
        }
    }

    fn look(&mut self, archive: &[u8]) {
        let (start, end) = (self.seen, archive.len().min(self.seen + WINDOW));
        let window = &archive[start..archive.len().min(end + 4)]; // a mark may begin in this window and end behind it
        for (finder, shift, mark) in &self.finders {
            for at in finder.find_iter(window) {
                // The five bytes are the second to the sixth.
                let bit = ((start + at) * 8 + shift).checked_sub(8);
                self.found.extend(bit.filter(|bit| bits(archive, *bit) >> 16 == *mark));
            }
        }
        self.found.make_contiguous().sort_unstable();
        self.seen = end;
    }
}

/// 64 bits from `bit` on; zeros behind the end. The last 7 of them are zeros, too, where the bit begins no byte.
fn bits(archive: &[u8], bit: usize) -> u64 {
    let mut bytes = [0; 8];
    let rest = archive.get(bit / 8..).unwrap_or_default();
    let length = rest.len().min(8);
    bytes[..length].copy_from_slice(&rest[..length]);
    u64::from_be_bytes(bytes) << (bit % 8)
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the archive ends in the middle")
}
