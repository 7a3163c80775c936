//! Unpacks corpora in one streaming pass that also counts the lines.
//!
//! [`ArchiveKind`] determines the kind of a file from its name; `tar`, `zip` and `parallel_bzip2` read the file,
//! `members` selects the data file in it, and `writer_thread` writes the data.

mod archive_file;
mod fill;
#[cfg(test)]
mod header_tests;
mod members;
mod parallel_bzip2;
mod tar;
#[cfg(test)]
mod tests;
mod writer_thread;
mod zip;
mod zstd_frames;

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive_file::{ArchiveFile, RangeReader};
use fill::fill;
use members::{MemberSelector, RefusedMember};
use parallel_bzip2::BlockReader;
use tar::{TarEntry, TarReader};
use writer_thread::WriterPipe;

use crate::error::CorpusError;
use crate::writer::{CorpusWriter, FreeSpace, REPORT_EVERY, free_space};

/// Number of compressed bytes per read.
const READ_SIZE: usize = 1 << 20;

/// Number of decompressed bytes per write.
const WRITE_SIZE: usize = 256 << 10;

/// Number of bytes read at a time of what is not written, such as other members, of which an archive may have many.
const SKIP_SIZE: usize = 16 << 10;

/// Limits for an archive whose unpacked size is unknown: this many bytes or this many times the size of the archive,
/// whichever is more. The corpora of public tracks compress to between a tenth and a fiftieth of their size.
const MAX_GROWTH_BYTES: u64 = 1 << 30;
const MAX_GROWTH_FACTOR: u64 = 1000;

/// Number of headers that a tar archive may have. One of a corpus has few.
const MAX_TAR_HEADERS: u64 = 100_000;

/// How a stream of bytes is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not compressed.
    None,
    /// gzip, with one or more members.
    Gzip,
    /// bzip2, with one or more streams (as pbzip2 writes them).
    Bzip2,
    /// zstd, with one or more frames (as pzstd writes them).
    Zstd,
}

/// The kind of an archive, determined from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveKind {
    /// Only the data file, possibly compressed.
    Stream(Compression),
    /// A tar archive, possibly compressed.
    Tar(Compression),
    /// A zip archive.
    Zip,
}

/// File name extensions; an extension comes before any that it ends with.
const ENDINGS: [(&str, ArchiveKind); 12] = [
    (".tar.gz", ArchiveKind::Tar(Compression::Gzip)),
    (".tar.bz2", ArchiveKind::Tar(Compression::Bzip2)),
    (".tar.zst", ArchiveKind::Tar(Compression::Zstd)),
    (".tgz", ArchiveKind::Tar(Compression::Gzip)),
    (".tbz", ArchiveKind::Tar(Compression::Bzip2)),
    (".tbz2", ArchiveKind::Tar(Compression::Bzip2)),
    (".tzst", ArchiveKind::Tar(Compression::Zstd)),
    (".tar", ArchiveKind::Tar(Compression::None)),
    (".zip", ArchiveKind::Zip),
    (".gz", ArchiveKind::Stream(Compression::Gzip)),
    (".bz2", ArchiveKind::Stream(Compression::Bzip2)),
    (".zst", ArchiveKind::Stream(Compression::Zstd)),
];

impl ArchiveKind {
    /// Returns the kind of an archive, determined from its name in upper or lower case.
    #[must_use]
    pub fn of(file: &Path) -> Self {
        Self::split_name(file).0
    }

    /// Splits the name of an archive into its kind and the name of the data file, which is the archive's name without
    /// its extension.
    fn split_name(file: &Path) -> (Self, String) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let lower = name.to_ascii_lowercase();
        let known = ENDINGS.iter().find(|(ending, _)| lower.ends_with(ending));
        match known {
            Some((ending, kind)) => (*kind, name[..name.len() - ending.len()].to_owned()),
            None => (Self::Stream(Compression::None), name),
        }
    }
}

/// Progress of unpacking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnpackProgress {
    /// Number of bytes of the archive read so far.
    pub bytes_in: u64,
    /// Size of the archive in bytes.
    pub bytes_in_total: u64,
    /// Number of bytes unpacked so far; the last of them may not be written yet.
    pub bytes_out: u64,
}

/// An unpacked data file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// The data file; if the given file is not an archive, that file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its number of lines, including a last one without a newline; `None` if the given file is not an archive and is
    /// therefore not read.
    pub lines: Option<u64>,
}

/// Unpacks `archive` into `folder` under the archive's name without its extension, and writes the offset table next to
/// the data file. A file that is not an archive is returned as it is. From an archive of several files, the file with
/// that name is unpacked, whatever its folder in the archive; if no file has that name, the archive must contain only
/// one file.
///
/// The data is written to a temporary file, synced to the disk and renamed, so a file with the final name is always
/// complete. After an error, no file is left behind. `progress` is called about every 8 MiB of output and at the end;
/// if it returns `Break`, unpacking stops. The output is limited to `max_bytes` (by default 1 GiB or 1000 times the
/// size of the archive, whichever is more), and 64 MiB of the file system stay free, so an archive bomb cannot fill the
/// disk.
///
/// # Errors
///
/// [`CorpusError::Read`], [`CorpusError::Write`], [`CorpusError::Corrupt`] (also for a truncated or empty archive),
/// [`CorpusError::Unsupported`], [`CorpusError::Refused`], [`CorpusError::TooLarge`], [`CorpusError::DiskFull`],
/// [`CorpusError::Interrupted`].
pub fn unpack(
    archive: &Path,
    folder: &Path,
    max_bytes: Option<u64>,
    progress: &mut dyn FnMut(UnpackProgress) -> ControlFlow<()>,
) -> Result<Unpacked, CorpusError> {
    let limits = UnpackLimits {
        max_bytes,
        default_max_bytes: MAX_GROWTH_BYTES,
        max_tar_headers: MAX_TAR_HEADERS,
        free_space,
        thread_count: parallel_bzip2::thread_count(),
    };
    unpack_within(archive, folder, limits, progress)
}

#[derive(Clone, Copy)]
struct UnpackLimits {
    max_bytes: Option<u64>,
    /// The limit without `max_bytes`: [`MAX_GROWTH_BYTES`].
    default_max_bytes: u64,
    max_tar_headers: u64,
    free_space: FreeSpace,
    /// Number of threads that decompress bzip2.
    thread_count: usize,
}

fn unpack_within(
    archive: &Path,
    folder: &Path,
    limits: UnpackLimits,
    progress: &mut dyn FnMut(UnpackProgress) -> ControlFlow<()>,
) -> Result<Unpacked, CorpusError> {
    let file = ArchiveFile::open(archive).map_err(|cause| CorpusError::read(archive, cause))?;
    let archive_size = file.size();
    let (kind, name) = ArchiveKind::split_name(archive);
    if kind == ArchiveKind::Stream(Compression::None) {
        return Ok(Unpacked { path: archive.to_path_buf(), bytes: archive_size, lines: None });
    }
    if archive_size == 0 {
        // The decoders accept empty input as an empty archive, but an empty file is a failed download.
        let cause = io::Error::new(io::ErrorKind::UnexpectedEof, "the file is empty");
        return Err(CorpusError::Corrupt { path: archive.to_path_buf(), cause });
    }
    let mut unpacker = Unpacker {
        archive,
        file: Arc::new(file),
        target: folder.join(&name),
        name,
        archive_size,
        limits,
        archive_bytes_read: &Cell::new(0),
        bytes_out: 0,
        report_at: 0,
        progress,
    };
    let mut result = unpacker.unpack(kind);
    if let Err(CorpusError::Corrupt { cause, .. }) = &result
        && cause.kind() == io::ErrorKind::InvalidData
        && matches!(kind, ArchiveKind::Stream(Compression::Bzip2) | ArchiveKind::Tar(Compression::Bzip2))
        && unpacker.limits.thread_count > 1
    {
        // Data may contain the bytes of a block marker; the sequential decoder does not search for markers.
        unpacker.limits.thread_count = 1;
        result = unpacker.unpack(kind);
    }
    let output = result.map_err(zstd_frames::explained)?;
    let bytes = output.bytes_written();
    let synced = output.sync()?;
    let lines = Some(synced.line_count());
    Ok(Unpacked { path: synced.persist()?, bytes, lines })
}

/// Unpacks one archive.
struct Unpacker<'a> {
    archive: &'a Path,
    file: Arc<ArchiveFile>,
    /// Name of the data file.
    name: String,
    /// Path of the data file.
    target: PathBuf,
    archive_size: u64,
    limits: UnpackLimits,
    archive_bytes_read: &'a Cell<u64>,
    /// Number of bytes unpacked so far, including those of other members and of headers.
    bytes_out: u64,
    /// Number of unpacked bytes at which progress is reported next.
    report_at: u64,
    progress: &'a mut dyn FnMut(UnpackProgress) -> ControlFlow<()>,
}

impl Unpacker<'_> {
    fn unpack(&mut self, kind: ArchiveKind) -> Result<CorpusWriter, CorpusError> {
        (self.bytes_out, self.report_at) = (0, 0);
        let output = match kind {
            ArchiveKind::Stream(compression) => {
                let mut stream = self.open_stream(compression)?;
                let (mut output, name) = (self.create_output()?, self.name.clone());
                self.copy(&name, &mut *stream, Some(&mut output))?;
                output
            }
            ArchiveKind::Tar(compression) => self.unpack_tar(compression)?,
            ArchiveKind::Zip => self.unpack_zip()?,
        };
        self.file.check_unchanged().map_err(|cause| CorpusError::corrupt(self.archive, cause))?;
        self.archive_bytes_read.set(self.archive_size);
        self.report()?;
        Ok(output)
    }

    fn create_output(&self) -> Result<CorpusWriter, CorpusError> {
        CorpusWriter::create(&self.target, self.limits.free_space)
    }

    fn unpack_tar(&mut self, compression: Compression) -> Result<CorpusWriter, CorpusError> {
        let (archive, name) = (self.archive, self.name.clone());
        let refused = |member: RefusedMember| CorpusError::refused(archive, member.name, member.reason);
        let mut tar = TarReader::new(self.open_stream(compression)?);
        let (mut selector, mut selected_output) = (MemberSelector::new(&name), None);
        let mut header_count = 0;
        while let Some(entry) = tar.next_entry().map_err(|cause| CorpusError::corrupt(archive, cause))? {
            header_count += 1;
            self.count_header(header_count, tar.take_overhead())?;
            let TarEntry::Member(member) = entry else { continue };
            let selected = selector.try_select(&member.name, member.kind);
            let selected = selected.map_err(refused)?;
            if selected {
                // The previous file is removed first, because the disk may not have room for both.
                drop(selected_output.take());
                selected_output = Some(self.create_output()?);
            }
            if member.size > 0 {
                self.copy(&member.name, &mut tar, selected_output.as_mut().filter(|_| selected))?;
            }
        }
        // The rest is padding and, in some formats, the checksum of the entire stream.
        self.copy(&name, &mut tar.into_rest(), None)?;
        self.selected(&selector, selected_output)
    }

    /// Counts a header of a tar archive, with what belongs to it, within the limits.
    fn count_header(&mut self, number: u64, bytes: u64) -> Result<(), CorpusError> {
        let limit = self.limits.max_tar_headers;
        if number > limit {
            return Err(self.unsupported(format!("it has more than {limit} tar headers")));
        }
        self.bytes_out += bytes;
        self.check_limit(&self.name, self.bytes_out, self.archive_limit())?;
        self.report_when_due()
    }

    fn unpack_zip(&mut self) -> Result<CorpusWriter, CorpusError> {
        let (archive, name) = (self.archive, self.name.clone());
        let corrupt = |cause| CorpusError::corrupt(archive, cause);
        let refused = |member: RefusedMember| CorpusError::refused(archive, member.name, member.reason);
        let (mut selector, mut selected_member) = (MemberSelector::new(&name), None);
        for member in zip::ZipDirectory::of(&self.file).map_err(corrupt)? {
            let member = member.map_err(corrupt)?;
            let selected = selector.try_select(&member.name, member.kind);
            if selected.map_err(refused)? {
                selected_member = Some(member);
            }
        }
        let member = self.selected(&selector, selected_member)?;
        let range = member.data_range(&self.file).map_err(corrupt)?;
        self.archive_bytes_read.set(range.start);
        let source = RangeReader::new(&self.file, range);
        let source = CountingReader { source, archive_bytes_read: self.archive_bytes_read };
        let stream = match (member.encrypted, member.method) {
            (false, zip::STORED) => decoder(Compression::None, source),
            (false, zip::DEFLATE) => {
                let source = BufReader::with_capacity(READ_SIZE, source);
                Ok(Box::new(flate2::bufread::DeflateDecoder::new(source)) as Box<dyn Read + '_>)
            }
            (false, zip::BZIP2) => decoder(Compression::Bzip2, source),
            (false, zip::ZSTD) => decoder(Compression::Zstd, source),
            (true, _) => return Err(self.unsupported("it is encrypted".to_owned())),
            (false, method) => {
                return Err(self.unsupported(format!("its compression method {method} is not supported")));
            }
        };
        let mut output = self.create_output()?;
        self.copy(&member.name, &mut member.checked(stream.map_err(corrupt)?), Some(&mut output))?;
        Ok(output)
    }

    /// Returns the selected member, or an error with the reason why there is none.
    fn selected<T>(&self, selector: &MemberSelector, selected: Option<T>) -> Result<T, CorpusError> {
        selector.finish().map_err(|reason| self.unsupported(reason))?;
        selected.ok_or_else(|| self.unsupported("it contains no file".to_owned()))
    }

    fn unsupported(&self, reason: String) -> CorpusError {
        CorpusError::Unsupported { path: self.archive.to_path_buf(), reason }
    }

    /// Copies `stream`, the data of the member `name`, to `output`; without an output, the data is read and discarded.
    fn copy(
        &mut self,
        name: &str,
        stream: &mut dyn Read,
        output: Option<&mut CorpusWriter>,
    ) -> Result<(), CorpusError> {
        match output {
            Some(output) => writer_thread::write_through(output, WRITE_SIZE, |pipe| {
                self.copy_within_limits(name, stream, Some(pipe))
            }),
            None => self.copy_within_limits(name, stream, None),
        }
    }

    /// Copies `stream` to the writer, if there is one, within the limits.
    fn copy_within_limits(
        &mut self,
        name: &str,
        stream: &mut dyn Read,
        pipe: Option<&WriterPipe>,
    ) -> Result<(), CorpusError> {
        let member_limit = self.limits.max_bytes.unwrap_or(self.growth_limit());
        let buffer_size = if pipe.is_some() { WRITE_SIZE } else { SKIP_SIZE };
        let (mut buffer, mut member_bytes) = (vec![0; buffer_size], 0);
        loop {
            let filled =
                fill(stream, &mut buffer).map_err(|cause| CorpusError::corrupt(self.archive, cause))?;
            let buffer_full = filled == buffer.len();
            self.bytes_out += filled as u64;
            member_bytes += if pipe.is_some() { filled as u64 } else { 0 };
            self.check_limit(name, member_bytes, member_limit)?;
            self.check_limit(name, self.bytes_out, self.archive_limit())?;
            if pipe.is_some_and(|pipe| !pipe.send(&mut buffer, filled)) {
                return Ok(()); // the writer returns the error
            }
            self.report_when_due()?;
            if !buffer_full {
                return Ok(());
            }
        }
    }

    fn growth_limit(&self) -> u64 {
        self.limits.default_max_bytes.max(self.archive_size.saturating_mul(MAX_GROWTH_FACTOR))
    }

    /// Returns how many bytes the archive may have in all: those of members that are not selected also count.
    fn archive_limit(&self) -> u64 {
        self.growth_limit().saturating_add(self.limits.max_bytes.unwrap_or(0))
    }

    fn check_limit(&self, member: &str, bytes: u64, limit: u64) -> Result<(), CorpusError> {
        if bytes <= limit {
            return Ok(());
        }
        let member = member.escape_debug().collect();
        Err(CorpusError::TooLarge { path: self.archive.to_path_buf(), member, limit })
    }

    fn report_when_due(&mut self) -> Result<(), CorpusError> {
        if self.bytes_out < self.report_at {
            return Ok(());
        }
        self.report_at = self.bytes_out + REPORT_EVERY;
        self.report()
    }

    fn report(&mut self) -> Result<(), CorpusError> {
        let (bytes_in, bytes_in_total) =
            (self.archive_bytes_read.get().min(self.archive_size), self.archive_size);
        match (self.progress)(UnpackProgress { bytes_in, bytes_in_total, bytes_out: self.bytes_out }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(CorpusError::Interrupted { path: self.target.clone() }),
        }
    }
}

impl<'a> Unpacker<'a> {
    /// Returns a reader of the decompressed archive.
    fn open_stream(&self, compression: Compression) -> Result<Box<dyn Read + 'a>, CorpusError> {
        let (archive, archive_bytes_read) = (self.archive, self.archive_bytes_read);
        let (file, thread_count) = (&self.file, self.limits.thread_count);
        let read_error = |cause| CorpusError::read(archive, cause);
        if compression == Compression::Bzip2 && thread_count > 1 {
            return Ok(Box::new(
                BlockReader::new(file, thread_count, archive_bytes_read).map_err(read_error)?,
            ));
        }
        archive_bytes_read.set(0);
        let source = RangeReader::new(file, 0..file.size());
        decoder(compression, CountingReader { source, archive_bytes_read }).map_err(read_error)
    }
}

fn decoder<'a>(compression: Compression, source: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let source = BufReader::with_capacity(READ_SIZE, source);
    Ok(match compression {
        Compression::None => Box::new(source),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(source)),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(source)),
        Compression::Zstd => Box::new(zstd_frames::decoder(source)?),
    })
}

/// Counts the bytes that are read from the archive, before they are buffered.
struct CountingReader<'a, R> {
    source: R,
    archive_bytes_read: &'a Cell<u64>,
}

impl<R: Read> Read for CountingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.archive_bytes_read.set(self.archive_bytes_read.get() + read as u64);
        Ok(read)
    }
}
