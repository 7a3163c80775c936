//! Unpacks corpora in one streaming pass that also counts the lines.
//!
//! [`ArchiveKind`] determines the kind of a file from its name; `tar`, `zip` and `parallel_bzip2` read the file,
//! `members` selects the data file in it, and `writer_thread` writes the data.

mod archive_file;
mod fill;
mod members;
mod parallel_bzip2;
mod tar;
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
use tar::TarReader;
use writer_thread::WriterPipe;

use crate::error::CorpusError;
use crate::writer::{CorpusWriter, FreeSpace, REPORT_EVERY, free_space};

/// Number of compressed bytes per read.
const READ_SIZE: usize = 1 << 20;

/// Number of decompressed bytes per write.
const WRITE_SIZE: usize = 256 << 10;

/// Limits for an archive whose unpacked size is unknown: this many bytes or this many times the size of the archive,
/// whichever is more. The corpora of public tracks compress to between a tenth and a fiftieth of their size.
const MAX_GROWTH_BYTES: u64 = 1 << 30;
const MAX_GROWTH_FACTOR: u64 = 1000;

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
    /// Number of bytes unpacked so far, including those of other members.
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
        while let Some(member) = tar.next_member().map_err(|cause| CorpusError::corrupt(archive, cause))? {
            let selected = selector.try_select(&member.name, member.kind);
            let selected = selected.map_err(refused)?;
            if selected {
                // The previous file is removed first, because the disk may not have room for both.
                drop(selected_output.take());
                selected_output = Some(self.create_output()?);
            }
            self.copy(&member.name, &mut tar, selected_output.as_mut().filter(|_| selected))?;
        }
        // The rest is padding and, in some formats, the checksum of the entire stream.
        self.copy(&name, &mut tar.into_rest(), None)?;
        self.selected(&selector, selected_output)
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
        let growth_limit =
            self.limits.default_max_bytes.max(self.archive_size.saturating_mul(MAX_GROWTH_FACTOR));
        let member_limit = self.limits.max_bytes.unwrap_or(growth_limit);
        let archive_limit = growth_limit.saturating_add(self.limits.max_bytes.unwrap_or(0));
        let (mut buffer, mut member_bytes) = (vec![0; WRITE_SIZE], 0);
        loop {
            let filled =
                fill(stream, &mut buffer).map_err(|cause| CorpusError::corrupt(self.archive, cause))?;
            let buffer_full = filled == buffer.len();
            self.bytes_out += filled as u64;
            member_bytes += if pipe.is_some() { filled as u64 } else { 0 };
            for (bytes, limit) in [(member_bytes, member_limit), (self.bytes_out, archive_limit)] {
                if bytes > limit {
                    let member = name.escape_debug().collect();
                    return Err(CorpusError::TooLarge { path: self.archive.to_path_buf(), member, limit });
                }
            }
            if pipe.is_some_and(|pipe| !pipe.send(&mut buffer, filled)) {
                return Ok(()); // the writer returns the error
            }
            if self.bytes_out >= self.report_at {
                self.report_at = self.bytes_out + REPORT_EVERY;
                self.report()?;
            }
            if !buffer_full {
                return Ok(());
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    const LIMITS: UnpackLimits =
        UnpackLimits { max_bytes: None, default_max_bytes: MAX_GROWTH_BYTES, free_space, thread_count: 1 };

    #[test]
    fn unpacking_stops_before_the_disk_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("data.json.gz");
        let mut packed =
            flate2::write::GzEncoder::new(File::create(&archive).unwrap(), flate2::Compression::fast());
        packed.write_all(b"{}\n").unwrap();
        packed.finish().unwrap();
        let limits = UnpackLimits { free_space: |_| Ok(50 << 20), ..LIMITS };
        let error =
            unpack_within(&archive, folder.path(), limits, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(error, CorpusError::DiskFull { free: 52_428_800, .. }), "{error}");
        assert!(error.to_string().contains("data.json: the disk has 50 MiB left"), "{error}");
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "a file was left beside the archive"
        );
    }

    #[test]
    fn unpacking_stops_when_the_disk_fills_meanwhile() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let archive = from.path().join("data.json.zst");
        std::fs::write(&archive, zstd::encode_all(&vec![b'x'; 64 << 20][..], 1).unwrap()).unwrap();
        // There is enough room at the first check, but too little after some data has been written.
        let free_space: FreeSpace = |folder| {
            let size = |file: io::Result<std::fs::DirEntry>| file?.metadata().map(|file| file.len());
            let used: u64 = std::fs::read_dir(folder)?.map(size).sum::<io::Result<_>>()?;
            Ok((100_u64 << 20).saturating_sub(used))
        };
        let limits = UnpackLimits { free_space, ..LIMITS };
        let mut most = 0;
        let error = unpack_within(&archive, to.path(), limits, &mut |now| {
            most = now.bytes_out;
            ControlFlow::Continue(())
        })
        .unwrap_err();
        assert!(matches!(error, CorpusError::DiskFull { free: 70_000_000..84_000_000, .. }), "{error}");
        assert!(most < 48 << 20, "unpacking continued to {most} bytes");
        assert_eq!(std::fs::read_dir(to.path()).unwrap().count(), 0, "a file was left behind");
    }

    #[test]
    fn names_determine_the_kind_and_the_data_file() {
        for (name, kind, data) in [
            ("a.json", ArchiveKind::Stream(Compression::None), "a.json"),
            ("a", ArchiveKind::Stream(Compression::None), "a"),
            ("a.json.gz", ArchiveKind::Stream(Compression::Gzip), "a.json"),
            ("a.json.BZ2", ArchiveKind::Stream(Compression::Bzip2), "a.json"),
            ("a.ndjson.zst", ArchiveKind::Stream(Compression::Zstd), "a.ndjson"),
            ("a.json.tar.gz", ArchiveKind::Tar(Compression::Gzip), "a.json"),
            ("a.json.tar.bz2", ArchiveKind::Tar(Compression::Bzip2), "a.json"),
            ("a.json.tar.zst", ArchiveKind::Tar(Compression::Zstd), "a.json"),
            ("a.json.tgz", ArchiveKind::Tar(Compression::Gzip), "a.json"),
            ("a.json.tar", ArchiveKind::Tar(Compression::None), "a.json"),
            ("a.json.Zip", ArchiveKind::Zip, "a.json"),
        ] {
            assert_eq!(ArchiveKind::split_name(Path::new(name)), (kind, data.to_owned()), "{name}");
        }
    }

    #[test]
    fn without_a_limit_an_archive_may_expand_to_a_thousand_times_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("data.json.zst");
        let unpack_of = |data: &[u8]| {
            std::fs::write(&archive, zstd::encode_all(data, 3).unwrap()).unwrap();
            let limits = UnpackLimits { default_max_bytes: 1000, ..LIMITS };
            unpack_within(&archive, folder.path(), limits, &mut |_| ControlFlow::Continue(()))
        };
        let noise = noise(5000);
        assert_eq!(
            unpack_of(&noise).unwrap().bytes,
            5000,
            "the output is above the smallest limit, but not above what the archive allows"
        );
        assert_eq!(unpack_of(&noise[..900]).unwrap().bytes, 900);
        assert!(matches!(unpack_of(&vec![b'x'; 1 << 20]).unwrap_err(), CorpusError::TooLarge { .. }));
    }

    fn opened(archive: &Path) -> Arc<ArchiveFile> {
        Arc::new(ArchiveFile::open(archive).unwrap())
    }

    /// Returns data that compresses poorly, so that it fills several blocks of the smallest size.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        std::iter::repeat_with(&mut next).take(bytes).collect()
    }

    #[test]
    fn bzip2_gives_the_same_data_on_any_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("data.json.bz2");
        let pack = |data: &[u8]| {
            let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            packed.write_all(data).unwrap();
            packed.finish().unwrap()
        };
        // One stream of many blocks; runs of bytes, which expand the most; one stream per block; an empty stream
        // between others.
        let data = [noise(150_000), vec![b'x'; 400_000], noise(50_000)].concat();
        let streams: Vec<Vec<u8>> = data.chunks(90_000).map(pack).collect();
        let streams = [streams.concat(), pack(b""), pack(b"{}\n")].concat();
        let mut behind = data.clone();
        behind.extend_from_slice(b"{}\n");
        let mut all_equal = true;
        for (bytes, expected) in [(pack(&data), &data), (streams, &behind), (pack(b""), &Vec::new())] {
            std::fs::write(&archive, &bytes).unwrap();
            for thread_count in [1, 3] {
                let limits = UnpackLimits { thread_count, ..LIMITS };
                let unpacked =
                    unpack_within(&archive, folder.path(), limits, &mut |_| ControlFlow::Continue(()));
                all_equal &= std::fs::read(unpacked.unwrap().path).unwrap() == *expected;
            }
            let archive_bytes_read = Cell::new(0);
            let blocks = BlockReader::new(&opened(&archive), 2, &archive_bytes_read).unwrap();
            let mut unpacked = Vec::new();
            io::BufReader::new(blocks).read_to_end(&mut unpacked).unwrap();
            all_equal &= unpacked == *expected;
        }
        assert!(all_equal, "the unpacked data differs");
    }

    #[test]
    fn truncated_bzip2_is_detected_wherever_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("data.json.bz2");
        let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        packed.write_all(&noise(110_000)).unwrap();
        let whole = packed.finish().unwrap();
        let ends = (1..40).chain((40..whole.len()).step_by(19_919)).chain(whole.len() - 15..whole.len());
        for end in ends {
            std::fs::write(&archive, &whole[..end]).unwrap();
            let archive_bytes_read = Cell::new(0);
            let mut blocks = BlockReader::new(&opened(&archive), 2, &archive_bytes_read).unwrap();
            let error = io::copy(&mut blocks, &mut io::sink()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{end}: {error}");
        }
        for at in (0..whole.len()).step_by(19_973) {
            let mut wrong = whole.clone();
            wrong[at] ^= 0x10;
            std::fs::write(&archive, &wrong).unwrap();
            let archive_bytes_read = Cell::new(0);
            let mut blocks = BlockReader::new(&opened(&archive), 2, &archive_bytes_read).unwrap();
            io::copy(&mut blocks, &mut io::sink()).unwrap_err();
        }
    }
}
