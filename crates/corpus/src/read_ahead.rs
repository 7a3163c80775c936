//! Reads data files into the page cache before their readers need them, so that a thread that sends requests does not
//! wait for the disk.

use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::line_file::LineFile;

/// Number of bytes that are read ahead for all readers together, unless there are many.
const TOTAL_WINDOW: u64 = 64 << 20;

/// Smallest and largest number of bytes that are read ahead for one reader.
const READER_WINDOW: Range<u64> = 256 << 10..16 << 20;

/// The position of a reader, which its thread sets after each bulk.
///
/// The two values are not changed together. A thread that reads one of them too early only gives a useless hint.
#[derive(Debug, Default)]
pub struct ReadPosition {
    range_index: AtomicUsize,
    offset: AtomicU64,
}

/// A reader whose position the read-ahead follows.
#[derive(Debug)]
pub struct FollowedReader {
    position: Arc<ReadPosition>,
    ranges: Vec<FollowedRange>,
    /// What has been read ahead: the index of the range, and the bytes.
    ahead: (usize, Range<u64>),
}

/// A range of a file that a reader reads.
#[derive(Debug)]
pub struct FollowedRange {
    /// The file.
    pub file: Arc<LineFile>,
    /// The bytes; their end is an estimate.
    pub bytes: Range<u64>,
}

/// Reads ahead for all readers of a step.
#[derive(Debug)]
pub struct ReadAhead {
    readers: Vec<FollowedReader>,
    /// Number of bytes that are read ahead for each reader.
    window: u64,
}

impl ReadPosition {
    /// Sets the offset of the next document.
    pub(crate) fn advance(&self, offset: u64) {
        self.offset.store(offset, Ordering::Relaxed);
    }

    /// Sets the range and the offset of its first document.
    pub(crate) fn start_range(&self, range_index: usize, offset: u64) {
        self.range_index.store(range_index, Ordering::Relaxed);
        self.advance(offset);
    }
}

impl FollowedReader {
    pub(crate) fn new(position: Arc<ReadPosition>, ranges: Vec<FollowedRange>) -> Self {
        Self { position, ranges, ahead: (usize::MAX, 0..0) }
    }

    /// Reads ahead unless at least half a window is left.
    fn advance(&mut self, window: u64) {
        let index = self.position.range_index.load(Ordering::Relaxed);
        let Some(range) = self.ranges.get(index) else { return };
        let offset = self.position.offset.load(Ordering::Relaxed);
        let (known_index, known) = &self.ahead;
        let is_known = *known_index == index && known.contains(&offset);
        let begin = if is_known { known.end } else { offset };
        // The range may end later than estimated, if its lines are longer than those of the rest of the file.
        let file_end = range.file.len();
        if begin >= offset.saturating_add(window / 2) || begin >= file_end {
            return;
        }
        let end = offset.saturating_add(window).min(file_end);
        range.read_ahead(begin..end);
        let was_near_end = is_known && known.end >= range.bytes.end;
        self.ahead = (index, offset..end);
        if end >= range.bytes.end
            && !was_near_end
            && let Some(next) = self.ranges.get(index + 1)
        {
            next.read_ahead(next.bytes.start..next.bytes.end.min(next.bytes.start + window));
        }
    }
}

impl FollowedRange {
    fn read_ahead(&self, bytes: Range<u64>) {
        if let Some(length) = NonZeroU64::new(bytes.end.saturating_sub(bytes.start)) {
            self.file.read_ahead(bytes.start, length);
        }
    }
}

impl ReadAhead {
    /// Creates the read-ahead of these readers.
    #[must_use]
    pub fn new(readers: Vec<FollowedReader>) -> Self {
        let share = TOTAL_WINDOW / (readers.len() as u64).max(1);
        Self { readers, window: share.clamp(READER_WINDOW.start, READER_WINDOW.end) }
    }

    /// Has the kernel read what the readers need next. Must be called repeatedly. It does not wait until the bytes have
    /// been read, except for room in the disk's queue.
    pub fn advance(&mut self) {
        for reader in &mut self.readers {
            reader.advance(self.window);
        }
    }
}
