//! `samples.directory`: the positions of the complete row groups of a samples file that has no footer yet.
//!
//! A line begins with the number of rows, which is written before the row group, so that a recovery knows what a kill
//! has cut off. After the row group, the line is completed with a footer for it, and with a checksum of everything up
//! to its end, so that a recovery knows whether line and row groups are as they were written. Indexes of earlier
//! versions have neither. The last line is followed by [`FOOTER_BEGIN`] before the race writes the footer of the file.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData,
};
use serde::{Deserialize, Serialize};

use crate::files::{columns, durable};
use crate::page_headers::check_schema;

/// Number of bytes of a file that are read at once.
const CHUNK_BYTES: usize = 1 << 20;
/// Number of bytes at the end of a footer that are not metadata: its length and the magic number.
const FOOTER_END_BYTES: usize = 8;
/// Number of bytes at the beginning of a file, before its first row group.
const MAGIC_BYTES: u64 = 4;

/// How a line begins, before the number of rows.
const LINE_BEGIN: &str = "{\"rows\":";
/// What follows the last line before the footer of the file is written.
pub const FOOTER_BEGIN: &str = "{\"footer\":";
/// How a line of an earlier version begins.
const EARLIER_LINE_BEGIN: &str = "{\"end\":";

/// A row group, as a line of the index.
#[derive(Debug, Serialize, Deserialize)]
struct IndexLine {
    /// Number of its rows. Written first, see [`line_begin`].
    #[serde(default, skip_serializing)]
    rows: Option<u64>,
    /// Offset of the end of the row group in the file.
    #[serde(rename = "end")]
    end_offset: u64,
    /// The footer of a file that contains only this row group, in base64.
    footer: String,
    /// The CRC-32C of the file up to `end_offset`, continued with the footer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crc32c: Option<u32>,
}

/// A row group of the file.
#[derive(Debug)]
pub struct IndexedRowGroup {
    /// Offset of its end in the file.
    pub end_offset: u64,
    /// The metadata for the footer of the file.
    pub metadata: RowGroupMetaData,
}

/// Returns the beginning of the line for a row group that is about to be written.
pub fn line_begin(rows: usize) -> String {
    format!("{LINE_BEGIN}{rows},")
}

/// Returns the rest of the line for a row group; `file_checksum` is the CRC-32C of the file up to its end.
pub fn line_end(
    metadata: &RowGroupMetaData,
    end_offset: u64,
    file_checksum: u32,
) -> Result<String, ParquetError> {
    let footer = footer([metadata.clone()].to_vec())?;
    let crc32c = Some(crc32c::crc32c_append(file_checksum, &footer));
    let line = IndexLine { rows: None, end_offset, footer: BASE64.encode(footer), crc32c };
    let json = serde_json::to_string(&line).map_err(|error| ParquetError::External(Box::new(error)))?;
    Ok(json[1..].to_owned() + "\n")
}

/// Returns the footer of a file that contains these row groups, at least one.
pub fn footer(groups: Vec<RowGroupMetaData>) -> Result<Vec<u8>, ParquetError> {
    let schema = groups.first().map(RowGroupMetaData::schema_descr_ptr);
    let schema = schema.ok_or_else(|| ParquetError::General("there are no row groups".into()))?;
    let rows = groups.iter().map(RowGroupMetaData::num_rows).sum();
    let file = FileMetaData::new(1, rows, Some(columns::CREATED_BY.into()), None, schema, None);
    let metadata = ParquetMetaDataBuilder::new(file).set_row_groups(groups).build();
    let mut footer = Vec::new();
    // Written to memory first, because the library ignores an error when it writes the last bytes.
    ParquetMetaDataWriter::new(&mut footer, &metadata).finish()?;
    Ok(footer)
}

/// The content of an index.
#[derive(Debug)]
pub struct RowGroupIndex {
    /// The row groups, in the order of the file; the last ones may be behind its end.
    pub groups: Vec<IndexedRowGroup>,
    /// What may follow the last row group in the file.
    pub unfinished: Unfinished,
}

/// What the end of an index says about a row group that was not completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    /// There is none.
    Nothing,
    /// It has this number of rows.
    Rows(u64),
    /// There is none, but the footer of the file.
    Footer,
    /// There may be one: earlier versions do not tell.
    Unknown,
}

/// Reads an index and compares it with its file. The inner error says what is damaged: the text of a line, or a row
/// group that is in the file.
///
/// # Errors
///
/// An error if a file cannot be read.
pub fn read_index(index: &File, samples: &mut File) -> io::Result<Result<RowGroupIndex, String>> {
    let (mut groups, mut contents) = (Vec::new(), FileContents::new(samples)?);
    let (mut reader, mut text) = (BufReader::new(index), Vec::new());
    while durable::read_line(&mut reader, &mut text)? > 0 && text.last() == Some(&b'\n') {
        match contents.check(&text)? {
            Ok(group) => groups.push(group),
            Err(problem) => return Ok(Err(format!("line {} {problem}", groups.len() + 1))),
        }
    }
    let unfinished = unfinished(&text, contents.is_of_earlier_version);
    let problem = || format!("line {} is not readable", groups.len() + 1);
    Ok(unfinished.ok_or_else(problem).map(|unfinished| RowGroupIndex { groups, unfinished }))
}

/// Returns what an incomplete last line says, or `None` if it is damaged.
fn unfinished(line: &[u8], is_of_earlier_version: bool) -> Option<Unfinished> {
    let begins = |begin: &str| line.starts_with(begin.as_bytes()) || begin.as_bytes().starts_with(line);
    if line.is_empty() {
        return Some(if is_of_earlier_version { Unfinished::Unknown } else { Unfinished::Nothing });
    }
    if line == FOOTER_BEGIN.as_bytes() {
        return Some(Unfinished::Footer);
    }
    if !begins(LINE_BEGIN) && FOOTER_BEGIN.as_bytes().starts_with(line) {
        return Some(Unfinished::Nothing);
    }
    if !begins(LINE_BEGIN) {
        return begins(EARLIER_LINE_BEGIN).then_some(Unfinished::Unknown);
    }
    let rest = line.get(LINE_BEGIN.len()..).unwrap_or_default();
    match rest.iter().position(|byte| *byte == b',') {
        // The row group is written after the comma.
        None => rest.iter().all(u8::is_ascii_digit).then_some(Unfinished::Nothing),
        Some(digits) => str::from_utf8(&rest[..digits]).ok()?.parse().ok().map(Unfinished::Rows),
    }
}

/// Compares the lines of an index with its file, from the beginning to the end.
struct FileContents<'a> {
    samples: &'a mut File,
    length: u64,
    /// Offset up to which the lines are checked.
    checked: u64,
    /// Offset up to which `checksum` is computed.
    summed: u64,
    checksum: u32,
    /// Whether a line has no checksum.
    is_of_earlier_version: bool,
}

impl<'a> FileContents<'a> {
    fn new(samples: &'a mut File) -> io::Result<Self> {
        let length = samples.metadata()?.len();
        samples.seek(SeekFrom::Start(0))?;
        Ok(Self { samples, length, checked: 0, summed: 0, checksum: 0, is_of_earlier_version: false })
    }

    fn check(&mut self, line: &[u8]) -> io::Result<Result<IndexedRowGroup, &'static str>> {
        const UNREADABLE: &str = "is not readable";
        let Ok(line) = serde_json::from_slice::<IndexLine>(line) else { return Ok(Err(UNREADABLE)) };
        let Ok(footer) = BASE64.decode(&line.footer) else { return Ok(Err(UNREADABLE)) };
        let begin = std::mem::replace(&mut self.checked, line.end_offset);
        if line.end_offset <= begin {
            return Ok(Err("does not follow the line before it"));
        }
        self.is_of_earlier_version |= line.crc32c.is_none();
        if line.end_offset <= self.length && !self.matches(&line, &footer)? {
            return Ok(Err("does not have the checksum of the file"));
        }
        let metadata = row_group(&footer).filter(|metadata| line.is_for(metadata, begin));
        Ok(metadata
            .map(|metadata| IndexedRowGroup { end_offset: line.end_offset, metadata })
            .ok_or("does not describe the row group that follows the one before it"))
    }

    /// Returns whether the file up to the end of the row group, and its footer, have the checksum of the line.
    fn matches(&mut self, line: &IndexLine, footer: &[u8]) -> io::Result<bool> {
        let Some(expected) = line.crc32c else { return Ok(true) };
        let mut chunk = vec![0; CHUNK_BYTES];
        while self.summed < line.end_offset {
            let left = usize::try_from(line.end_offset - self.summed).unwrap_or(CHUNK_BYTES);
            let read = self.samples.read(&mut chunk[..left.min(CHUNK_BYTES)])?;
            if read == 0 {
                return Ok(false);
            }
            self.checksum = crc32c::crc32c_append(self.checksum, &chunk[..read]);
            self.summed += read as u64;
        }
        Ok(crc32c::crc32c_append(self.checksum, footer) == expected)
    }
}

/// Returns the row group in a footer written by [`footer`], or `None` if it does not contain exactly one.
fn row_group(footer: &[u8]) -> Option<RowGroupMetaData> {
    let thrift = &footer[..footer.len().checked_sub(FOOTER_END_BYTES)?];
    check_schema(thrift).ok()?;
    let metadata = ParquetMetaDataReader::decode_metadata(thrift).ok()?;
    match metadata.row_groups() {
        [group] => Some(group.clone()),
        _ => None,
    }
}

impl IndexLine {
    /// Returns whether the line describes this row group, and its columns fill the file from `begin` to its end.
    fn is_for(&self, group: &RowGroupMetaData, begin: u64) -> bool {
        let Ok(rows) = u64::try_from(group.num_rows()) else { return false };
        let mut position = begin.max(MAGIC_BYTES);
        let columns_follow_each_other = group.columns().iter().all(|column| {
            let first = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
            let follows = u64::try_from(first) == Ok(position);
            position = position.saturating_add(u64::try_from(column.compressed_size()).unwrap_or(u64::MAX));
            follows
        });
        columns_follow_each_other
            && position == self.end_offset
            && self.rows.is_none_or(|expected| expected == rows)
    }
}

/// Copies `length` bytes of a file, from the offset `start`.
///
/// # Errors
///
/// An error if the file is shorter or cannot be read, or if the copy cannot be written.
pub fn copy_range(from: &mut File, start: u64, length: u64, to: &mut impl Write) -> io::Result<()> {
    from.seek(SeekFrom::Start(start))?;
    let mut reader = BufReader::with_capacity(CHUNK_BYTES, from).take(length);
    let copied = io::copy(&mut reader, to)?;
    if copied == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Returns the last `length` bytes of a file, or all of them if it is shorter.
///
/// # Errors
///
/// An error if the file cannot be read.
pub fn read_end(file: &mut File, length: u64) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(length)))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}
