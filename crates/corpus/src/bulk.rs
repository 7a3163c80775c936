//! Builds the bulk bodies of one client. This is the hot path of indexing: it does not search for the start of a
//! document, and it allocates only for a body that is longer than all earlier ones, or expected to be.

use std::ops::Range;
use std::sync::Arc;

use crate::error::CorpusError;
use crate::ids::IdActionLines;
use crate::line_file::LineFile;

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
    fn validated_start_offset(&self) -> Result<usize, CorpusError> {
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
        let start = self.file.line_start(line(self.first_document)).filter(|_| needed <= lines);
        start.and_then(|start| usize::try_from(start).ok()).ok_or_else(|| CorpusError::TooFewLines {
            path: path(),
            lines,
            needed,
        })
    }
}

/// A bulk body, reused for every bulk.
///
/// A body whose action lines are in the file is a view of the memory-mapped file; any other body is assembled in a
/// buffer.
#[derive(Debug, Default)]
pub struct BulkBody {
    buffer: Vec<u8>,
    view: Option<FileView>,
}

/// A range of a memory-mapped file.
#[derive(Debug)]
struct FileView {
    file: Arc<LineFile>,
    /// Byte offsets in the file.
    range: Range<usize>,
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
        match &self.view {
            Some(view) => &view.file.bytes()[view.range.clone()],
            None => &self.buffer,
        }
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Returns whether there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// Clears the buffer and reserves room for a body of about `expected` bytes.
    fn clear_and_reserve(&mut self, expected: usize) -> &mut Vec<u8> {
        self.view = None;
        self.buffer.clear();
        self.buffer.reserve(expected);
        &mut self.buffer
    }

    /// Makes the body a view of a range of `file`.
    fn set_view(&mut self, file: &Arc<LineFile>, range: Range<usize>) {
        match &mut self.view {
            // Cloning and dropping the `Arc` would move a cache line between all the clients that read the file.
            Some(view) if Arc::ptr_eq(&view.file, file) => view.range = range,
            view => *view = Some(FileView { file: Arc::clone(file), range }),
        }
    }
}

impl AsRef<[u8]> for BulkBody {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

/// Reads the bulks of one client in order.
#[derive(Debug, Clone)]
pub struct BulkReader {
    ranges: Vec<PositionedRange>,
    bulk_size: u32,
    /// Index of the current range.
    range_index: usize,
    /// Offset of the next document in its file, so that no bulk has to search for it.
    cursor: usize,
    /// Documents left in the current range.
    documents_left: u64,
}

#[derive(Debug, Clone)]
struct PositionedRange {
    range: DocumentRange,
    /// Byte offset of the first document.
    start_offset: usize,
    /// Expected size of a full bulk in bytes, which is reserved so that the buffer does not have to grow repeatedly.
    expected_size: usize,
}

impl BulkReader {
    /// Creates a reader of `ranges`, in this order, with `bulk_size` documents per bulk. It searches for the start of
    /// every range and must therefore be created before the time is measured.
    ///
    /// # Errors
    ///
    /// [`CorpusError::TooFewLines`] if a range extends beyond the end of its file; [`CorpusError::BadBulk`] for a bulk
    /// size of 0, or an action line that is not exactly one line.
    pub fn new(ranges: Vec<DocumentRange>, bulk_size: u32) -> Result<Self, CorpusError> {
        let mut positioned = Vec::with_capacity(ranges.len());
        for range in ranges.into_iter().filter(|range| range.documents > 0) {
            if bulk_size == 0 {
                let reason = "the bulk size is 0; it must be at least 1";
                return Err(CorpusError::BadBulk { path: range.file.path().to_path_buf(), reason });
            }
            let start_offset = range.validated_start_offset()?;
            let expected_size = expected_size(&range, bulk_size);
            positioned.push(PositionedRange { range, start_offset, expected_size });
        }
        let mut reader = Self { ranges: positioned, bulk_size, range_index: 0, cursor: 0, documents_left: 0 };
        reader.rewind();
        Ok(reader)
    }

    /// Starts again at the first document of the first range.
    pub fn rewind(&mut self) {
        self.start_range(0);
    }

    /// Builds the next bulk in `body` and returns its number of documents, or returns `None` at the end and leaves
    /// `body` unchanged. A bulk never spans two ranges, so the last bulk of each range may be short.
    pub fn next_into(&mut self, body: &mut BulkBody) -> Option<u32> {
        let current = self.ranges.get_mut(self.range_index)?;
        let documents = u32::try_from(self.documents_left).unwrap_or(u32::MAX).min(self.bulk_size);
        let file = &current.range.file;
        let end = usize::try_from(file.end_offset()).unwrap_or(usize::MAX);
        let rest = &file.bytes()[self.cursor..end];
        let consumed = match &mut current.range.action_lines {
            ActionLines::Line(line) => {
                append_with_line(line, rest, documents, body.clear_and_reserve(current.expected_size))
            }
            ActionLines::WithIds(action_lines) => {
                append_with_ids(action_lines, rest, documents, body.clear_and_reserve(current.expected_size))
            }
            ActionLines::InFile => {
                let consumed = length_of_lines(rest, 2 * documents as usize);
                if rest[..consumed].ends_with(b"\n") {
                    body.set_view(file, self.cursor..self.cursor + consumed);
                } else {
                    // The last line of the file has no newline: it is copied so that one can be appended.
                    let copied = body.clear_and_reserve(consumed + 1);
                    copied.extend_from_slice(&rest[..consumed]);
                    copied.push(b'\n');
                }
                consumed
            }
        };
        self.cursor += consumed;
        self.documents_left -= u64::from(documents);
        if self.documents_left == 0 {
            self.start_range(self.range_index + 1);
        }
        Some(documents)
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
    let mean_line = range.file.end_offset() / range.file.line_count().max(1) + 1;
    let line = usize::try_from(mean_line + mean_line / 4).unwrap_or(0) + added;
    let documents = u64::from(bulk_size).min(range.documents);
    usize::try_from(documents).unwrap_or(0).saturating_mul(line)
}

/// Appends `lines` lines of `data`, each preceded by the action line, and returns how many bytes of `data` were
/// consumed. Adds a newline to a last line that has none.
fn append_with_line(action_line: &[u8], data: &[u8], lines: u32, body: &mut Vec<u8>) -> usize {
    let (mut start, mut remaining) = (0, lines);
    for newline in memchr::memchr_iter(b'\n', data).take(lines as usize) {
        body.extend_from_slice(action_line);
        body.extend_from_slice(&data[start..=newline]);
        start = newline + 1;
        remaining -= 1;
    }
    if remaining > 0 {
        body.extend_from_slice(action_line);
        body.extend_from_slice(&data[start..]);
        body.push(b'\n');
        start = data.len();
    }
    start
}

/// Appends `documents` lines of `data`, each preceded by an action line with an id, and returns how many bytes of
/// `data` were consumed.
fn append_with_ids(
    action_lines: &mut IdActionLines,
    data: &[u8],
    documents: u32,
    body: &mut Vec<u8>,
) -> usize {
    let (mut start, mut remaining) = (0, documents);
    for newline in memchr::memchr_iter(b'\n', data).take(documents as usize) {
        action_lines.write_document(&data[start..newline], body);
        start = newline + 1;
        remaining -= 1;
    }
    if remaining > 0 {
        action_lines.write_document(&data[start..], body);
        start = data.len();
    }
    start
}

/// Returns the length in bytes of the first `lines` lines of `data`; the last line may have no newline.
fn length_of_lines(data: &[u8], lines: usize) -> usize {
    let last = lines.checked_sub(1).and_then(|last| memchr::memchr_iter(b'\n', data).nth(last));
    last.map_or(data.len(), |newline| newline + 1)
}
