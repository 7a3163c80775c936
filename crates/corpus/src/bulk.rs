//! Bulk bodies of one client: the hot path of indexing. Nothing is allocated or searched again once it runs.

use std::ops::Range;
use std::sync::Arc;

use crate::error::CorpusError;
use crate::ids::IdActionLines;
use crate::line_file::LineFile;

/// Where the action line of each document comes from.
#[derive(Debug, Clone)]
pub enum ActionLines {
    /// The file has them: every document is two lines, action and source.
    InFile,
    /// The file has only sources; this line, newline included, goes before each of them.
    Constant(Vec<u8>),
    /// The file has only sources; actions have ids, some of which come again.
    WithIds(Box<IdActionLines>),
}

/// A stretch of one data file.
#[derive(Debug, Clone)]
pub struct DocumentRange {
    /// The data.
    pub file: Arc<LineFile>,
    /// First document of the stretch, from 0. Counted in documents, not lines.
    pub first_document: u64,
    /// Number of documents.
    pub documents: u64,
    /// Their action lines.
    pub action: ActionLines,
}

impl DocumentRange {
    /// Lines per document in the file.
    fn lines_each(&self) -> u64 {
        match self.action {
            ActionLines::InFile => 2,
            ActionLines::Constant(_) | ActionLines::WithIds(_) => 1,
        }
    }

    /// Byte offset of the first document.
    fn start(&self) -> Result<usize, CorpusError> {
        let path = || self.file.path().to_path_buf();
        if let ActionLines::Constant(action) = &self.action
            && memchr::memchr(b'\n', action).is_none_or(|newline| newline + 1 != action.len())
        {
            let reason = "the action must be exactly one line that ends with a newline";
            return Err(CorpusError::BadBulk { path: path(), reason });
        }
        let line = |document: u64| document.saturating_mul(self.lines_each());
        let (lines, needed) = (self.file.lines(), line(self.first_document.saturating_add(self.documents)));
        let start = self.file.line_start(line(self.first_document)).filter(|_| needed <= lines);
        start.and_then(|start| usize::try_from(start).ok()).ok_or_else(|| CorpusError::TooFewLines {
            path: path(),
            lines,
            needed,
        })
    }
}

/// One bulk body, reused from bulk to bulk.
///
/// Bodies whose action lines are in the file are a view into the map; the others are copied together.
#[derive(Debug, Default)]
pub struct BulkBody {
    copied: Vec<u8>,
    view: Option<(Arc<LineFile>, Range<usize>)>,
}

impl BulkBody {
    /// An empty body.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes to send. They end with a newline.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        match &self.view {
            Some((file, range)) => &file.bytes()[range.clone()],
            None => &self.copied,
        }
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// An empty buffer for a body of about so many bytes.
    fn begin(&mut self, usual: usize) -> &mut Vec<u8> {
        self.view = None;
        self.copied.clear();
        self.copied.reserve(usual);
        &mut self.copied
    }

    fn show(&mut self, file: &Arc<LineFile>, range: Range<usize>) {
        match &mut self.view {
            // Counting references up and down would bounce a cache line between all clients of the file.
            Some((shown, old)) if Arc::ptr_eq(shown, file) => *old = range,
            view => *view = Some((Arc::clone(file), range)),
        }
    }
}

/// The bulks of one client, in order, over stretches of files.
#[derive(Debug, Clone)]
pub struct BulkReader {
    parts: Vec<Source>,
    bulk_size: u32,
    part: usize,
    /// Next byte and documents left of the current part: the reason why no bulk searches its place.
    cursor: usize,
    left: u64,
}

#[derive(Debug, Clone)]
struct Source {
    part: DocumentRange,
    start: usize,
    /// Bytes to expect for a full bulk, reserved at once so that the first bulks do not grow step by step.
    usual_body: usize,
}

impl BulkReader {
    /// A reader over `parts` in this order with `bulk_size` documents per bulk. Finds the first byte of every part,
    /// so do it before the clock starts.
    ///
    /// # Errors
    ///
    /// [`CorpusError::TooFewLines`] if a part reaches beyond its file; [`CorpusError::BadBulk`] for a bulk size of
    /// 0 or an action that is not one line.
    pub fn new(parts: Vec<DocumentRange>, bulk_size: u32) -> Result<Self, CorpusError> {
        let mut sources = Vec::with_capacity(parts.len());
        for part in parts.into_iter().filter(|part| part.documents > 0) {
            if bulk_size == 0 {
                let reason = "the bulk size is 0; it must be at least 1";
                return Err(CorpusError::BadBulk { path: part.file.path().to_path_buf(), reason });
            }
            let start = part.start()?;
            let usual_body = usual_body(&part, bulk_size);
            sources.push(Source { part, start, usual_body });
        }
        let mut reader = Self { parts: sources, bulk_size, part: 0, cursor: 0, left: 0 };
        reader.rewind();
        Ok(reader)
    }

    /// Starts again with the first document of the first part.
    pub fn rewind(&mut self) {
        self.enter(0);
    }

    /// Documents not handed out yet.
    #[must_use]
    pub fn documents_left(&self) -> u64 {
        let later = self.parts.iter().skip(self.part + 1);
        self.left + later.map(|source| source.part.documents).sum::<u64>()
    }

    /// Bulks of one pass over all parts; bulks never span parts, so each part may end with a short one.
    #[must_use]
    pub fn bulks_total(&self) -> u64 {
        let bulk_size = u64::from(self.bulk_size);
        self.parts.iter().map(|source| source.part.documents.div_ceil(bulk_size)).sum()
    }

    /// Puts the next bulk into `body` and returns its number of documents; `None`, and `body` as it was, at the end.
    pub fn next_into(&mut self, body: &mut BulkBody) -> Option<u32> {
        let source = self.parts.get_mut(self.part)?;
        let documents = u32::try_from(self.left).unwrap_or(u32::MAX).min(self.bulk_size);
        let file = &source.part.file;
        let end = usize::try_from(file.end()).unwrap_or(usize::MAX);
        let rest = &file.bytes()[self.cursor..end];
        let used = match &mut source.part.action {
            ActionLines::Constant(action) => {
                interleave(action, rest, documents, body.begin(source.usual_body))
            }
            ActionLines::WithIds(ids) => identify(ids, rest, documents, body.begin(source.usual_body)),
            ActionLines::InFile => {
                let used = length_of(rest, 2 * documents as usize);
                if rest[..used].ends_with(b"\n") {
                    body.show(file, self.cursor..self.cursor + used);
                } else {
                    // Only the end of a file without its last newline is copied.
                    let copied = body.begin(used + 1);
                    copied.extend_from_slice(&rest[..used]);
                    copied.push(b'\n');
                }
                used
            }
        };
        self.cursor += used;
        self.left -= u64::from(documents);
        if self.left == 0 {
            self.enter(self.part + 1);
        }
        Some(documents)
    }

    fn enter(&mut self, part: usize) {
        let source = self.parts.get_mut(part);
        (self.cursor, self.left) = source.map_or((0, 0), |source| {
            if let ActionLines::WithIds(ids) = &mut source.part.action {
                ids.restart();
            }
            (source.start, source.part.documents)
        });
        self.part = part;
    }
}

/// What a body of `part` will take: the file's mean line, and a quarter more since lines differ.
fn usual_body(part: &DocumentRange, bulk_size: u32) -> usize {
    let added = match &part.action {
        ActionLines::InFile => return 0,
        ActionLines::Constant(action) => action.len(),
        ActionLines::WithIds(ids) => ids.overhead(),
    };
    let mean_line = part.file.end() / part.file.lines().max(1) + 1;
    let line = usize::try_from(mean_line + mean_line / 4).unwrap_or(0) + added;
    let documents = u64::from(bulk_size).min(part.documents);
    usize::try_from(documents).unwrap_or(0).saturating_mul(line)
}

/// Appends (action, line) for so many lines of `data`; returns the bytes of `data` used. The last line may lack its
/// newline; it gets one.
fn interleave(action: &[u8], data: &[u8], lines: u32, body: &mut Vec<u8>) -> usize {
    let (mut start, mut left) = (0, lines);
    for newline in memchr::memchr_iter(b'\n', data).take(lines as usize) {
        body.extend_from_slice(action);
        body.extend_from_slice(&data[start..=newline]);
        start = newline + 1;
        left -= 1;
    }
    if left > 0 {
        body.extend_from_slice(action);
        body.extend_from_slice(&data[start..]);
        body.push(b'\n');
        start = data.len();
    }
    start
}

/// Appends so many documents of `data`, each with its action; returns the bytes of `data` used.
fn identify(ids: &mut IdActionLines, data: &[u8], documents: u32, body: &mut Vec<u8>) -> usize {
    let (mut start, mut left) = (0, documents);
    for newline in memchr::memchr_iter(b'\n', data).take(documents as usize) {
        ids.append(&data[start..newline], body);
        start = newline + 1;
        left -= 1;
    }
    if left > 0 {
        ids.append(&data[start..], body);
        start = data.len();
    }
    start
}

/// Bytes of the first `lines` lines of `data`, whose last line may lack its newline.
fn length_of(data: &[u8], lines: usize) -> usize {
    let last = lines.checked_sub(1).and_then(|last| memchr::memchr_iter(b'\n', data).nth(last));
    last.map_or(data.len(), |newline| newline + 1)
}
