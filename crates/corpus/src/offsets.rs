//! The offset table of a data file: the offset of every 50,000th line, and the number of lines.
//!
//! The table is stored next to the data as `<file>.offset`, in Rally's text format: one `line;byteoffset` per row,
//! where the offset is that of the first byte after that many lines. Pacenote adds a row for the total, which Rally
//! ignores and a table written by Rally lacks. The lines after the last full stride are counted when a table is read,
//! and compared with that row.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::OFlags;

use crate::byte_source::ByteSource;
use crate::error::CorpusError;

/// Number of lines between two rows, as in Rally.
pub(crate) const STRIDE: u64 = 50_000;

/// Size in bytes of the chunks in which newlines are counted. A chunk fits into the L1 cache; it is searched line by
/// line only if it contains the start of a row.
const CHUNK_SIZE: usize = 16 * 1024;

/// Number of rows that are checked against the data when a table is read, by counting the lines of the stride before
/// each. Checking every row would read the whole file.
const CHECKED_ROWS: usize = 32;

/// Size in bytes of the largest table that is read, that of about a hundred billion lines.
const MAX_TABLE_BYTES: u64 = 64 << 20;

/// The offsets of the lines of a data file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct OffsetTable {
    /// Entry `i` is the byte offset of line `(i + 1) * STRIDE`.
    stride_ends: Vec<u64>,
    /// Number of lines in the file, without blank lines at its end.
    line_count: u64,
    /// Offset of the first byte after the last counted line.
    end_offset: u64,
}

/// The start of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LineStart {
    /// Number of the line, from 0.
    pub(crate) line: u64,
    /// Offset of its first byte.
    pub(crate) offset: u64,
}

impl OffsetTable {
    /// Counts the lines of `data`.
    ///
    /// # Errors
    ///
    /// If the data cannot be read.
    pub(crate) fn scan(data: &impl ByteSource) -> Result<Self, CorpusError> {
        Self::scan_from(0, data)
    }

    /// Counts the lines of `data` from `start` on; all offsets are relative to `start`.
    fn scan_from(start: u64, data: &impl ByteSource) -> Result<Self, CorpusError> {
        let mut counter = LineCounter::default();
        data.visit(start, data.size(), |piece| {
            counter.update(piece);
            true
        })?;
        Ok(counter.finish())
    }

    pub(crate) fn line_count(&self) -> u64 {
        self.line_count
    }

    pub(crate) fn end_offset(&self) -> u64 {
        self.end_offset
    }

    /// Returns the last known start of a line at or before `line`.
    pub(crate) fn nearest(&self, line: u64) -> LineStart {
        if line >= self.line_count {
            return LineStart { line: self.line_count, offset: self.end_offset };
        }
        let rows = line / STRIDE;
        let row = rows.checked_sub(1).and_then(|row| self.stride_ends.get(usize::try_from(row).ok()?));
        row.map_or(LineStart::default(), |offset| LineStart { line: rows * STRIDE, offset: *offset })
    }

    /// Returns the path of a data file's offset table.
    pub(crate) fn path_of(data: &Path) -> PathBuf {
        let mut name = OsString::from(data);
        name.push(".offset");
        PathBuf::from(name)
    }

    /// Loads the stored table of `data_file`, or returns `None` if it is older than the file or does not match its
    /// `data`.
    ///
    /// # Errors
    ///
    /// If the data cannot be read.
    pub(crate) fn load(data_file: &Path, data: &impl ByteSource) -> Result<Option<Self>, CorpusError> {
        let side = Self::path_of(data_file);
        let Ok(data_written) = fs::metadata(data_file).and_then(|meta| meta.modified()) else {
            return Ok(None);
        };
        match read_table(&side) {
            Ok((side_written, text)) if side_written >= data_written => Self::parse(&text, data),
            _ => Ok(None),
        }
    }

    /// Stores the table next to `data_file`, atomically.
    pub(crate) fn store(&self, data_file: &Path) -> io::Result<()> {
        let side = Self::path_of(data_file);
        let mut temp = crate::temporary::create_beside(&side)?;
        temp.write_all(self.to_text().as_bytes())?;
        temp.persist(&side).map(|_| ()).map_err(|failed| failed.error)
    }

    fn to_text(&self) -> String {
        let rows = (1..).map(|row| row * STRIDE).zip(self.stride_ends.iter().copied());
        let total = (!self.line_count.is_multiple_of(STRIDE)).then_some((self.line_count, self.end_offset));
        rows.chain(total).fold(String::new(), |mut text, (line, start)| {
            text.extend([&line.to_string(), ";", &start.to_string(), "\n"]);
            text
        })
    }

    fn parse(text: &str, data: &impl ByteSource) -> Result<Option<Self>, CorpusError> {
        let Some(rows) = Rows::parse(text) else { return Ok(None) };
        // The lines after the last full stride are counted, because the row for the total may belong to another file.
        let last_start = rows.stride_ends.last().copied().unwrap_or(0);
        if last_start > data.size() {
            return Ok(None);
        }
        let tail = Self::scan_from(last_start, data)?;
        let line_count = rows.stride_ends.len() as u64 * STRIDE + tail.line_count;
        let end_offset = last_start + tail.end_offset;
        let wrong_total = rows.total.is_some_and(|total| total != (line_count, end_offset));
        // With too many lines after the last row, the table belongs to another, shorter file.
        if tail.line_count >= STRIDE || wrong_total {
            return Ok(None);
        }
        let table = Self { stride_ends: rows.stride_ends, line_count, end_offset };
        Ok(table.matches(data)?.then_some(table))
    }

    /// Returns whether all rows follow the end of a line, and whether the sampled strides between rows have the
    /// expected number of lines. With wrong offsets, documents would be silently repeated, skipped or cut.
    fn matches(&self, data: &impl ByteSource) -> Result<bool, CorpusError> {
        for row_offset in &self.stride_ends {
            let mut before = [0];
            data.read_exact_at(&mut before, row_offset - 1)?;
            // A last line may have no newline.
            if before != *b"\n" && *row_offset != data.size() {
                return Ok(false);
            }
        }
        let step = self.stride_ends.len().div_ceil(CHECKED_ROWS).max(1);
        for row in (0..self.stride_ends.len()).step_by(step) {
            let begin = row.checked_sub(1).map_or(0, |before| self.stride_ends[before]);
            let end = self.stride_ends[row];
            let (mut lines, mut ended) = (0, false);
            data.visit(begin, end, |piece| {
                lines += memchr::memchr_iter(b'\n', piece).count() as u64;
                ended = piece.ends_with(b"\n");
                true
            })?;
            if lines + u64::from(!ended) != STRIDE || !(ended || end == data.size()) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns when a table was written, and its text.
///
/// In a folder that users share, one could have put a pipe or a device there, which could be read for ever.
fn read_table(side: &Path) -> io::Result<(SystemTime, String)> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(side)?;
    let status = file.metadata()?;
    if !status.is_file() || status.len() > MAX_TABLE_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = String::new();
    file.take(MAX_TABLE_BYTES).read_to_string(&mut text)?;
    Ok((status.modified()?, text))
}

/// The rows of a stored table.
struct Rows {
    stride_ends: Vec<u64>,
    /// The number of lines and the end of the last one, if the table has a row for them.
    total: Option<(u64, u64)>,
}

impl Rows {
    /// Parses the rows; returns `None` if they cannot be those of a table.
    fn parse(text: &str) -> Option<Self> {
        let (mut line, mut start) = (0_u64, 0_u64);
        let mut stride_ends = Vec::new();
        for row in text.lines() {
            let (next_line, next_start) = row.split_once(';')?;
            let (next_line, next_start): (u64, u64) = (next_line.parse().ok()?, next_start.parse().ok()?);
            // Only the last row, the total, need not be a multiple of the stride.
            if !line.is_multiple_of(STRIDE)
                || next_line <= line
                || next_line > line + STRIDE
                || next_start <= start
            {
                return None;
            }
            (line, start) = (next_line, next_start);
            if line.is_multiple_of(STRIDE) {
                stride_ends.push(start);
            }
        }
        Some(Self { stride_ends, total: (!line.is_multiple_of(STRIDE)).then_some((line, start)) })
    }
}

/// Counts the lines in data that arrives in chunks of any size.
#[derive(Debug, Default)]
pub(crate) struct LineCounter {
    stride_ends: Vec<u64>,
    newlines: u64,
    bytes: u64,
    /// Number of newlines at the end of the data so far.
    trailing_newlines: u64,
}

impl LineCounter {
    /// Returns the number of complete lines so far.
    pub(crate) fn newline_count(&self) -> u64 {
        self.newlines
    }

    /// Returns the number of bytes so far.
    pub(crate) fn byte_count(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn update(&mut self, data: &[u8]) {
        for chunk in data.chunks(CHUNK_SIZE) {
            let found = memchr::memchr_iter(b'\n', chunk).count() as u64;
            // A chunk has fewer than STRIDE lines, so it contains the start of at most one row.
            let lines_to_row = STRIDE - self.newlines % STRIDE;
            if found >= lines_to_row {
                let nth = usize::try_from(lines_to_row - 1).unwrap_or(usize::MAX);
                let at = memchr::memchr_iter(b'\n', chunk).nth(nth).unwrap_or_default();
                self.stride_ends.push(self.bytes + at as u64 + 1);
            }
            self.newlines += found;
            self.bytes += chunk.len() as u64;
        }
        let trailing_newlines = data.iter().rev().take_while(|byte| **byte == b'\n').count();
        let before = if trailing_newlines == data.len() { self.trailing_newlines } else { 0 };
        self.trailing_newlines = before + trailing_newlines as u64;
    }

    pub(crate) fn finish(mut self) -> OffsetTable {
        let open_line = u64::from(self.trailing_newlines == 0 && self.bytes > 0);
        // A file that consists only of newlines has no lines; otherwise the first trailing newline ends the last line.
        let blank = if self.trailing_newlines == self.bytes {
            self.trailing_newlines
        } else {
            self.trailing_newlines.saturating_sub(1)
        };
        let lines = self.newlines + open_line - blank;
        self.stride_ends.truncate(usize::try_from(lines / STRIDE).unwrap_or(usize::MAX));
        let mut table =
            OffsetTable { stride_ends: self.stride_ends, line_count: lines, end_offset: self.bytes - blank };
        if open_line == 1 && lines.is_multiple_of(STRIDE) {
            table.stride_ends.push(table.end_offset);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ByteSource for Vec<u8> {
        fn size(&self) -> u64 {
            self.len() as u64
        }

        fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), CorpusError> {
            let start = usize::try_from(offset).unwrap();
            buffer.copy_from_slice(&self[start..start + buffer.len()]);
            Ok(())
        }
    }

    fn scan(data: &[u8]) -> OffsetTable {
        OffsetTable::scan(&data.to_vec()).unwrap()
    }

    fn parse(text: &str, data: &Vec<u8>) -> Option<OffsetTable> {
        OffsetTable::parse(text, data).unwrap()
    }

    fn numbered(lines: u64) -> Vec<u8> {
        (0..lines).flat_map(|line| format!("{line}\n").into_bytes()).collect()
    }

    #[test]
    fn lines_are_counted_in_chunks_of_any_size() {
        let data = numbered(120_000);
        let whole = scan(&data);
        assert_eq!(
            (whole.line_count, whole.end_offset, whole.stride_ends.len()),
            (120_000, data.len() as u64, 2)
        );
        for (row, start) in whole.stride_ends.iter().enumerate() {
            let rest = &data[usize::try_from(*start).unwrap()..];
            assert!(rest.starts_with(format!("{}\n", (row + 1) * 50_000).as_bytes()));
        }
        for size in [1, 7, 4096, 16_384, 100_001] {
            let mut counter = LineCounter::default();
            data.chunks(size).for_each(|chunk| counter.update(chunk));
            assert_eq!(counter.finish(), whole, "chunks of {size}");
        }
    }

    #[test]
    fn blank_lines_at_the_end_do_not_count() {
        for (text, lines, end) in [
            ("", 0, 0),
            ("\n", 0, 0),
            ("\n\n", 0, 0),
            ("a", 1, 1),
            ("a\n", 1, 2),
            ("a\n\n\n", 1, 2),
            ("a\n\nb", 3, 4),
        ] {
            let table = scan(text.as_bytes());
            assert_eq!((table.line_count, table.end_offset), (lines, end), "{text:?}");
        }
    }

    #[test]
    fn a_stored_table_is_read_back() {
        for lines in [0, 1, 49_999, 50_000, 50_001, 100_000, 123_456] {
            for cut in [0, 1] {
                let mut data = numbered(lines);
                data.truncate(data.len().saturating_sub(cut)); // without the last newline
                let table = scan(&data);
                assert_eq!(table.line_count, lines);
                assert_eq!(parse(&table.to_text(), &data), Some(table), "{lines} lines, {cut} bytes cut off");
            }
        }
    }

    #[test]
    fn a_table_written_by_rally_is_read_although_it_has_no_total() {
        let data = numbered(120_000);
        let table = scan(&data);
        let text = format!("50000;{}\n100000;{}\n", table.stride_ends[0], table.stride_ends[1]);
        assert_eq!(parse(&text, &data), Some(table));
    }

    #[test]
    fn a_row_in_the_middle_of_a_line_is_rejected_although_its_stride_is_not_sampled() {
        let data = b"ab\n".repeat(40 * 50_000);
        let table = scan(&data);
        assert!(table.stride_ends.len() > CHECKED_ROWS);
        assert_eq!(parse(&table.to_text(), &data), Some(table.clone()));
        for row in 0..40 {
            let mut wrong = table.clone();
            wrong.stride_ends[row] -= 1;
            assert_eq!(parse(&wrong.to_text(), &data), None, "row {row}");
        }
    }

    fn nth_line(data: &[u8], line: usize) -> usize {
        memchr::memchr_iter(b'\n', data).nth(line - 1).unwrap() + 1
    }

    #[test]
    fn tables_of_another_file_are_rejected() {
        let data = numbered(120_000);
        let table = scan(&data);
        let (one, two) = (table.stride_ends[0], table.stride_ends[1]);
        for text in [
            String::new(),                                                 // too few rows
            format!("50000;{one}\n"),                                      // a row is missing
            format!("50000;{}\n100000;{two}\n", one + 1),                  // not at the start of a line
            format!("50000;{}\n100000;{two}\n", nth_line(&data, 40_000)),  // at the wrong line
            format!("100000;{two}\n"),                                     // not a multiple of the stride
            format!("50000;{one}\n100000;{two}\n110000;{}\n", two + 10),   // the total is not at the end
            format!("50000;{one}\n100000;{two}\n110000;{}\n", data.len()), // the total is too small
            format!("50000;{one}\n100000;{two}\n120001;{}\n", data.len()), // the total is too large
            format!("40000;{}\n", data.len()),                             // shorter than one stride
            format!("50000;{two}\n100000;{one}\n"),                        // decreasing offsets
            "50000\n".to_owned(),
            format!("50000;{}\n", data.len() * 2),
        ] {
            assert_eq!(parse(&text, &data), None, "{text:?}");
        }
    }

    fn start(line: u64, offset: u64) -> LineStart {
        LineStart { line, offset }
    }

    #[test]
    fn the_nearest_line_start_is_at_or_before_the_line() {
        let table = scan(&numbered(120_000));
        assert_eq!(table.nearest(49_999), start(0, 0));
        assert_eq!(table.nearest(50_000), start(50_000, table.stride_ends[0]));
        assert_eq!(table.nearest(119_999), start(100_000, table.stride_ends[1]));
        assert_eq!(table.nearest(120_000), start(120_000, table.end_offset));
    }
}
