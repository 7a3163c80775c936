//! Builds the bulk bodies of one client. This is the hot path of indexing: it does not search for the start of a
//! document, and it allocates only for a body that is longer than all earlier ones, or expected to be.

use std::cell::RefCell;
use std::sync::Arc;

use crate::byte_source::to_usize;
use crate::error::CorpusError;
use crate::ids::IdActionLines;
use crate::line_file::LineFile;
use crate::read_ahead::{FollowedRange, FollowedReader, ReadPosition};

/// Largest number of bytes that are read at once, unless a line is longer: they stay in the processor's cache until
/// they have been copied.
const PIECE: usize = 64 << 10;

/// Largest number of bytes that a new reader reads from the beginning of its documents, so that its first bulk does not
/// wait for the disk.
const WARMED_BYTES: u64 = 1 << 20;

/// The longest line, with its line break: by default, engines reject a request that is larger.
pub(crate) const MAX_LINE_BYTES: usize = 100 << 20;

/// The most bytes of a file in one bulk: no engine can be set to accept more (`http.max_content_length`).
pub(crate) const MAX_BULK_BYTES: usize = 2 << 30;

/// The largest body for which room is reserved by the mean length of lines: those that are read may be far shorter.
const MAX_RESERVED_BYTES: usize = 128 << 20;

thread_local! {
    /// The bytes that the thread's readers have read last.
    static PIECE_BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Where the action line of each document comes from.
#[derive(Debug, Clone)]
pub enum ActionLines {
    /// The file contains them: every document is two lines, its action line and its source.
    InFile,
    /// The file contains sources only; this line, newline included, precedes each of them.
    Line(Vec<u8>),
    /// The file contains sources only; action lines get ids, some of which repeat.
    WithIds(Box<IdActionLines>),
}

/// A range of documents of a data file.
#[derive(Debug, Clone)]
pub struct DocumentRange {
    /// The data file.
    pub file: Arc<LineFile>,
    /// Index of the first document, from 0; documents are counted, not lines.
    pub first_document: u64,
    /// Number of documents.
    pub documents: u64,
    /// Where the action lines of these documents come from.
    pub action_lines: ActionLines,
}

impl DocumentRange {
    /// Returns the number of lines per document in the file.
    fn lines_per_document(&self) -> u64 {
        match self.action_lines {
            ActionLines::InFile => 2,
            ActionLines::Line(_) | ActionLines::WithIds(_) => 1,
        }
    }

    /// Checks the action line and the range, and returns the byte offset of the first document.
    fn validated_start_offset(&self) -> Result<u64, CorpusError> {
        let path = || self.file.path().to_path_buf();
        if let ActionLines::Line(line) = &self.action_lines
            && memchr::memchr(b'\n', line).is_none_or(|newline| newline + 1 != line.len())
        {
            let reason = "the action line must be exactly one line that ends with a newline";
            return Err(CorpusError::BadBulk { path: path(), reason });
        }
        let line = |document: u64| document.saturating_mul(self.lines_per_document());
        let (lines, needed) =
            (self.file.line_count(), line(self.first_document.saturating_add(self.documents)));
        let start = if needed <= lines { self.file.line_start(line(self.first_document))? } else { None };
        start.ok_or_else(|| CorpusError::TooFewLines { path: path(), lines, needed })
    }

    /// Returns the expected number of bytes of `documents` documents in the file.
    fn expected_bytes(&self, documents: u64) -> u64 {
        let lines = documents.saturating_mul(self.lines_per_document());
        lines.saturating_mul(self.file.mean_line() as u64)
    }
}

/// A bulk body, reused for every bulk.
#[derive(Debug, Default)]
pub struct BulkBody {
    /// The body, and bytes after it that are left from reading further or from earlier bulks.
    buffer: Vec<u8>,
    /// Length of the body in bytes.
    length: usize,
}

impl BulkBody {
    /// Creates an empty body.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the bytes to send, which end with a newline.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Clears the buffer and reserves room for a body of about `expected` bytes.
    fn clear_and_reserve(&mut self, expected: usize) -> &mut Vec<u8> {
        self.length = 0;
        self.buffer.clear();
        self.buffer.reserve(expected.min(MAX_RESERVED_BYTES));
        &mut self.buffer
    }
}

impl AsRef<[u8]> for BulkBody {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

/// Reads the bulks of one client in order.
#[derive(Debug)]
pub struct BulkReader {
    ranges: Vec<PositionedRange>,
    bulk_size: u32,
    /// Index of the current range.
    range_index: usize,
    /// Offset of the next document in its file, so that no bulk has to search for it.
    cursor: u64,
    /// Documents left in the current range.
    documents_left: u64,
    /// The position, for the read-ahead.
    position: Arc<ReadPosition>,
}

#[derive(Debug)]
struct PositionedRange {
    range: DocumentRange,
    /// Byte offset of the first document.
    start_offset: u64,
    /// Expected length of a line in the file, in bytes: an eighth more than the mean.
    expected_line: usize,
    /// Expected size of a full bulk in bytes, which is reserved so that the buffer does not have to grow repeatedly.
    expected_size: usize,
}

impl BulkReader {
    /// Creates a reader of `ranges`, in this order, with `bulk_size` documents per bulk. It searches for the start of
    /// every range and reads the first documents, and must therefore be created before the time is measured.
    ///
    /// # Errors
    ///
    /// [`CorpusError::TooFewLines`] if a range extends beyond the end of its file; [`CorpusError::BadBulk`] for a bulk
    /// size of 0, or an action line that is not exactly one line; the errors from [`LineFile::line_start`].
    pub fn new(ranges: Vec<DocumentRange>, bulk_size: u32) -> Result<Self, CorpusError> {
        let mut positioned = Vec::with_capacity(ranges.len());
        for range in ranges.into_iter().filter(|range| range.documents > 0) {
            if bulk_size == 0 {
                let reason = "the bulk size is 0; it must be at least 1";
                return Err(CorpusError::BadBulk { path: range.file.path().to_path_buf(), reason });
            }
            let start_offset = range.validated_start_offset()?;
            let expected_size = expected_size(&range, bulk_size);
            let expected_line = range.file.mean_line() * 9 / 8;
            positioned.push(PositionedRange { range, start_offset, expected_line, expected_size });
        }
        let mut reader = Self {
            ranges: positioned,
            bulk_size,
            range_index: 0,
            cursor: 0,
            documents_left: 0,
            position: Arc::default(),
        };
        reader.rewind();
        reader.warm_up()?;
        Ok(reader)
    }

    /// Starts again at the first document of the first range.
    pub fn rewind(&mut self) {
        self.start_range(0);
    }

    /// Returns the position and the ranges of this reader, for the read-ahead.
    #[must_use]
    pub fn followed(&self) -> FollowedReader {
        let followed = |positioned: &PositionedRange| {
            let PositionedRange { range, start_offset, .. } = positioned;
            let end = start_offset + range.expected_bytes(range.documents);
            FollowedRange { file: Arc::clone(&range.file), bytes: *start_offset..end }
        };
        FollowedReader::new(Arc::clone(&self.position), self.ranges.iter().map(followed).collect())
    }

    /// Reads the first bulk and discards it.
    fn warm_up(&self) -> Result<(), CorpusError> {
        let Some(PositionedRange { range, start_offset, .. }) = self.ranges.first() else { return Ok(()) };
        let file = &range.file;
        let bulk_bytes = range.expected_bytes(u64::from(self.bulk_size).min(range.documents));
        let end = start_offset.saturating_add(bulk_bytes.min(WARMED_BYTES)).min(file.end_offset());
        PIECE_BUFFER.with_borrow_mut(|buffer| {
            buffer.resize(buffer.len().max(PIECE), 0);
            let mut offset = *start_offset;
            while offset < end {
                let piece = &mut buffer[..to_usize((end - offset).min(PIECE as u64))];
                file.read_exact_at(piece, offset)?;
                offset += piece.len() as u64;
            }
            Ok(())
        })
    }

    /// Builds the next bulk in `body` and returns its number of documents, or returns `None` at the end and leaves
    /// `body` unchanged. A bulk never spans two ranges, so the last bulk of each range may be short.
    ///
    /// # Errors
    ///
    /// [`CorpusError::Read`] or [`CorpusError::Changed`] if the file cannot be read, and [`CorpusError::TooLongLine`] or
    /// [`CorpusError::TooLargeBulk`] if it would take too much memory; the body is then undefined.
    pub fn next_into(&mut self, body: &mut BulkBody) -> Result<Option<u32>, CorpusError> {
        let documents = self.next_document_count();
        let Some(current) = self.ranges.get_mut(self.range_index) else { return Ok(None) };
        let lines =
            FileLines { file: &current.range.file, expected_line: current.expected_line, start: self.cursor };
        let consumed = match &mut current.range.action_lines {
            ActionLines::InFile => lines.read_into(body, 2 * documents as usize)?,
            ActionLines::Line(line) => {
                let buffer = body.clear_and_reserve(current.expected_size);
                let consumed =
                    lines.visit(documents, |piece, lines| append_with_line(line, piece, lines, buffer))?;
                body.length = buffer.len();
                consumed
            }
            ActionLines::WithIds(action_lines) => {
                let buffer = body.clear_and_reserve(current.expected_size);
                let consumed = lines
                    .visit(documents, |piece, lines| append_with_ids(action_lines, piece, lines, buffer))?;
                body.length = buffer.len();
                consumed
            }
        };
        self.cursor += consumed;
        self.documents_left -= u64::from(documents);
        if self.documents_left == 0 {
            self.start_range(self.range_index + 1);
        } else {
            self.position.advance(self.cursor);
        }
        Ok(Some(documents))
    }

    /// Returns the number of documents of the next bulk; 0 after the last document.
    #[must_use]
    pub fn next_document_count(&self) -> u32 {
        u32::try_from(self.documents_left).unwrap_or(u32::MAX).min(self.bulk_size)
    }

    /// Returns the number of documents of the first bulk of a pass; 0 without documents.
    #[must_use]
    pub fn first_document_count(&self) -> u32 {
        let documents = self.ranges.first().map_or(0, |first| first.range.documents);
        u32::try_from(documents).unwrap_or(u32::MAX).min(self.bulk_size)
    }

    fn start_range(&mut self, index: usize) {
        let current = self.ranges.get_mut(index);
        (self.cursor, self.documents_left) = current.map_or((0, 0), |current| {
            if let ActionLines::WithIds(action_lines) = &mut current.range.action_lines {
                action_lines.restart();
            }
            (current.start_offset, current.range.documents)
        });
        self.range_index = index;
        self.position.start_range(index, self.cursor);
    }
}

/// The lines of a file from an offset on.
#[derive(Clone, Copy)]
struct FileLines<'a> {
    file: &'a LineFile,
    /// Expected length of a line in bytes.
    expected_line: usize,
    /// Offset of the first line.
    start: u64,
}

/// A piece of a file.
#[derive(Clone, Copy)]
struct Piece<'a> {
    bytes: &'a [u8],
    /// Whether the last line of the file ends with this piece, possibly without a newline.
    ends_file: bool,
}

/// The whole lines at the beginning of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WholeLines {
    /// Their number.
    count: u32,
    /// Their length in bytes.
    bytes: usize,
}

impl FileLines<'_> {
    /// Returns how many bytes to read at `offset` to get about this number of lines. Returns an error at the end of the
    /// last line.
    fn piece_length(&self, offset: u64, lines: usize) -> Result<usize, CorpusError> {
        let expected = lines.saturating_mul(self.expected_line).saturating_add(512);
        match self.file.end_offset().saturating_sub(offset) {
            0 => Err(self.file.lines_are_missing()),
            left => Ok(to_usize(left.min(expected.min(PIECE) as u64))),
        }
    }

    /// Calls `append` with pieces of the file and the number of lines that are left, until it has consumed `lines`
    /// lines. Returns the number of bytes consumed.
    fn visit(
        self,
        lines: u32,
        mut append: impl FnMut(Piece<'_>, u32) -> WholeLines,
    ) -> Result<u64, CorpusError> {
        let (mut offset, mut lines_left) = (self.start, lines);
        PIECE_BUFFER.with_borrow_mut(|buffer| {
            let mut min_length = 1;
            while lines_left > 0 {
                let length = self.piece_length(offset, lines_left as usize)?.max(min_length);
                if buffer.len() < length {
                    buffer.resize(length.max(PIECE), 0);
                }
                let bytes = &mut buffer[..length];
                self.file.read_exact_at(bytes, offset)?;
                let ends_file = offset + length as u64 == self.file.end_offset();
                let whole = append(Piece { bytes, ends_file }, lines_left);
                offset += whole.bytes as u64;
                lines_left -= whole.count;
                self.check_lengths(to_usize(offset - self.start), if whole.count == 0 { length } else { 0 })?;
                // A line that is longer than the piece is read again as a whole.
                let longer = to_usize(self.file.end_offset() - offset).min((2 * length).min(MAX_LINE_BYTES));
                min_length = if whole.count == 0 { longer } else { 1 };
            }
            Ok(offset - self.start)
        })
    }

    /// Returns an error if the bytes of a bulk, or of a line that has not ended yet, would take too much memory.
    fn check_lengths(&self, bulk: usize, line: usize) -> Result<(), CorpusError> {
        let path = || self.file.path().to_path_buf();
        if line >= MAX_LINE_BYTES {
            return Err(CorpusError::TooLongLine { path: path(), limit: MAX_LINE_BYTES >> 20 });
        }
        if bulk > MAX_BULK_BYTES {
            return Err(CorpusError::TooLargeBulk { path: path(), limit: MAX_BULK_BYTES >> 20 });
        }
        Ok(())
    }

    /// Reads `lines` lines into `body`. Adds a newline to a last line that has none. Returns the number of bytes
    /// consumed.
    fn read_into(self, body: &mut BulkBody, lines: usize) -> Result<u64, CorpusError> {
        let (mut filled, mut lines_left, mut line_start) = (0, lines, 0);
        body.length = 0;
        while lines_left > 0 {
            let offset = self.start + filled as u64;
            let length = self.piece_length(offset, lines_left)?;
            if body.buffer.len() < filled + length {
                body.buffer.resize(filled + length, 0);
            }
            let bytes = &mut body.buffer[filled..filled + length];
            self.file.read_exact_at(bytes, offset)?;
            let mut last = None;
            for newline in memchr::memchr_iter(b'\n', bytes).take(lines_left) {
                last = Some(newline);
                lines_left -= 1;
            }
            line_start = last.map_or(line_start, |newline| filled + newline + 1);
            filled += last.filter(|_| lines_left == 0).map_or(length, |newline| newline + 1);
            self.check_lengths(filled, filled.saturating_sub(line_start))?;
            let ends_file = self.start + filled as u64 == self.file.end_offset();
            if lines_left == 1 && ends_file && body.buffer[filled - 1] != b'\n' {
                body.buffer.truncate(filled);
                body.buffer.push(b'\n');
                body.length = filled + 1;
                return Ok(filled as u64);
            }
        }
        body.length = filled;
        Ok(filled as u64)
    }
}

/// Returns the expected size of a full bulk from `range` in bytes: the size computed from the mean line length, plus a
/// quarter because line lengths vary.
fn expected_size(range: &DocumentRange, bulk_size: u32) -> usize {
    let added = match &range.action_lines {
        ActionLines::InFile => return 0,
        ActionLines::Line(line) => line.len(),
        ActionLines::WithIds(action_lines) => action_lines.max_overhead(),
    };
    let mean_line = range.file.mean_line();
    let line = mean_line + mean_line / 4 + added;
    let documents = u64::from(bulk_size).min(range.documents);
    usize::try_from(documents).unwrap_or(0).saturating_mul(line)
}

/// Appends up to `lines` whole lines of `piece`, each preceded by the action line. Adds a newline to a last line that
/// has none.
fn append_with_line(action_line: &[u8], piece: Piece<'_>, lines: u32, body: &mut Vec<u8>) -> WholeLines {
    let (data, mut start, mut count) = (piece.bytes, 0, 0);
    for newline in memchr::memchr_iter(b'\n', data).take(lines as usize) {
        body.extend_from_slice(action_line);
        body.extend_from_slice(&data[start..=newline]);
        start = newline + 1;
        count += 1;
    }
    if count < lines && piece.ends_file && start < data.len() {
        body.extend_from_slice(action_line);
        body.extend_from_slice(&data[start..]);
        body.push(b'\n');
        start = data.len();
        count += 1;
    }
    WholeLines { count, bytes: start }
}

/// Appends up to `documents` whole lines of `piece`, each preceded by an action line with an id.
fn append_with_ids(
    action_lines: &mut IdActionLines,
    piece: Piece<'_>,
    documents: u32,
    body: &mut Vec<u8>,
) -> WholeLines {
    let (data, mut start, mut count) = (piece.bytes, 0, 0);
    for newline in memchr::memchr_iter(b'\n', data).take(documents as usize) {
        action_lines.write_document(&data[start..newline], body);
        start = newline + 1;
        count += 1;
    }
    if count < documents && piece.ends_file && start < data.len() {
        action_lines.write_document(&data[start..], body);
        start = data.len();
        count += 1;
    }
    WholeLines { count, bytes: start }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_mean_length_of_lines_reserves_little_memory() {
        let mut body = BulkBody::new();
        assert_eq!(body.clear_and_reserve(1 << 50).capacity(), MAX_RESERVED_BYTES);
    }
}
