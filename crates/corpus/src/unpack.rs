//! Decompression of corpora, in one streaming pass that also counts the lines.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::error::CorpusError;
use crate::output::{FreeSpace, Output, REPORT_EVERY, free_space};

/// Compressed bytes read at once.
const READ_SIZE: usize = 1 << 20;

/// Decompressed bytes written at once.
const WRITE_SIZE: usize = 1 << 20;

/// Largest window of a zstd frame that is accepted, as a power of two: what `zstd --long=31` writes.
const ZSTD_WINDOW: u32 = 31;

/// What a file's name says about how it is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Archive {
    /// Not packed.
    Plain,
    /// `.gz`, one member or many.
    Gzip,
    /// `.bz2`, one stream or many (as pbzip2 writes).
    Bzip2,
    /// `.zst`, one frame or many (as pzstd writes).
    Zstd,
    /// `.zip`, `.tar` and its packed forms: several files in one, not unpacked here.
    Several,
}

impl Archive {
    /// Reads the kind off the name; the case of letters does not matter.
    #[must_use]
    pub fn of(file: &Path) -> Self {
        let extension = |file: &Path| file.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        let kind = match extension(file).as_deref() {
            Some("gz") => Self::Gzip,
            Some("bz2") => Self::Bzip2,
            Some("zst") => Self::Zstd,
            Some("zip" | "tar" | "tgz" | "tbz" | "tbz2" | "tzst") => return Self::Several,
            _ => return Self::Plain,
        };
        let inner = file.with_extension("");
        if extension(&inner).as_deref() == Some("tar") { Self::Several } else { kind }
    }
}

/// How far unpacking has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnpackProgress {
    /// Bytes of the archive read so far.
    pub bytes_in: u64,
    /// Size of the archive in bytes.
    pub bytes_in_total: u64,
    /// Bytes written so far.
    pub bytes_out: u64,
}

/// A data file ready for use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// The data file; the given file itself if it was not packed.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its lines (a last one without newline counts); `None` if the file was not packed, thus not read.
    pub lines: Option<u64>,
}

/// Unpacks `archive` into `folder`, under the archive's name without its last extension, and writes the `.offset`
/// side file with it. A file that is not packed is returned as it is, wherever it lies.
///
/// The data is written beside its target under a temporary name, brought to the disk and renamed, so a file of the
/// target's name is always whole; on any error nothing is left. `progress` is called about every 8 MiB of output
/// and at the end; `Break` stops the work. Output stops at `max_bytes` and before the file system has less than
/// 64 MiB left, so that an archive made to expand without end does no harm.
///
/// # Errors
///
/// [`CorpusError::Read`], [`CorpusError::Write`], [`CorpusError::Corrupt`] (also for a truncated or empty archive),
/// [`CorpusError::Unsupported`], [`CorpusError::TooLarge`], [`CorpusError::DiskFull`], [`CorpusError::Interrupted`].
pub fn unpack(
    archive: &Path,
    folder: &Path,
    max_bytes: Option<u64>,
    progress: &mut dyn FnMut(UnpackProgress) -> ControlFlow<()>,
) -> Result<Unpacked, CorpusError> {
    let limits = Limits { max_bytes: max_bytes.unwrap_or(u64::MAX), free_space };
    unpack_within(archive, folder, limits, progress)
}

#[derive(Clone, Copy)]
struct Limits {
    max_bytes: u64,
    free_space: FreeSpace,
}

fn unpack_within(
    archive: &Path,
    folder: &Path,
    limits: Limits,
    progress: &mut dyn FnMut(UnpackProgress) -> ControlFlow<()>,
) -> Result<Unpacked, CorpusError> {
    let file = File::open(archive).map_err(|cause| CorpusError::read(archive, cause))?;
    let size = file.metadata().map_err(|cause| CorpusError::read(archive, cause))?.len();
    let kind = Archive::of(archive);
    if kind == Archive::Plain {
        return Ok(Unpacked { path: archive.to_path_buf(), bytes: size, lines: None });
    }
    let read = Cell::new(0);
    let source = BufReader::with_capacity(READ_SIZE, Counting { file, read: &read });
    let mut stream = decoder(kind, source)
        .map_err(|cause| CorpusError::read(archive, cause))?
        .ok_or_else(|| CorpusError::Unsupported { path: archive.to_path_buf() })?;
    if size == 0 {
        // The decoders take an empty input for an archive of nothing; here it is a download that never began.
        let cause = io::Error::new(io::ErrorKind::UnexpectedEof, "the file is empty");
        return Err(CorpusError::Corrupt { path: archive.to_path_buf(), cause });
    }
    let target = folder.join(Path::new(archive.file_stem().unwrap_or_default()));
    let mut output = Output::create(&target, limits.free_space)?;
    let mut report = |bytes_out| {
        let at = UnpackProgress { bytes_in: read.get(), bytes_in_total: size, bytes_out };
        progress(at)
    };
    copy(archive, &mut *stream, &mut output, (limits.max_bytes, &mut report))?;
    let bytes = output.bytes();
    let sealed = output.seal()?;
    let lines = Some(sealed.lines());
    Ok(Unpacked { path: sealed.publish()?, bytes, lines })
}

/// Moves all of `stream` into `output`, within (largest size, progress).
fn copy(
    archive: &Path,
    stream: &mut dyn Read,
    output: &mut Output,
    (max_bytes, report): (u64, &mut dyn FnMut(u64) -> ControlFlow<()>),
) -> Result<(), CorpusError> {
    let mut buffer = vec![0; WRITE_SIZE];
    let mut report_at = 0;
    loop {
        let filled = fill(stream, &mut buffer)
            .map_err(|cause| CorpusError::Corrupt { path: archive.to_path_buf(), cause })?;
        if output.bytes() + filled as u64 > max_bytes {
            return Err(CorpusError::TooLarge { path: archive.to_path_buf(), limit: max_bytes });
        }
        output.push(&buffer[..filled])?;
        let last = filled < buffer.len();
        if last || output.bytes() >= report_at {
            report_at = output.bytes() + REPORT_EVERY;
            if report(output.bytes()).is_break() {
                return Err(CorpusError::Interrupted { path: output.target().to_path_buf() });
            }
        }
        if last {
            return Ok(());
        }
    }
}

/// Reads until the buffer is full or the stream ends; decoders hand out small pieces.
fn fill(stream: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn decoder<'a>(kind: Archive, source: impl BufRead + 'a) -> io::Result<Option<Box<dyn Read + 'a>>> {
    Ok(match kind {
        Archive::Gzip => Some(Box::new(flate2::bufread::MultiGzDecoder::new(source))),
        Archive::Bzip2 => Some(Box::new(bzip2::bufread::MultiBzDecoder::new(source))),
        Archive::Zstd => {
            let mut frames = zstd::Decoder::with_buffer(source)?;
            frames.window_log_max(ZSTD_WINDOW)?;
            Some(Box::new(frames))
        }
        Archive::Plain | Archive::Several => None,
    })
}

/// Counts what is read from the archive, below the buffer.
struct Counting<'a> {
    file: File,
    read: &'a Cell<u64>,
}

impl Read for Counting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read.set(self.read.get() + read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn stops_before_the_disk_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("data.json.gz");
        let mut packed =
            flate2::write::GzEncoder::new(File::create(&archive).unwrap(), flate2::Compression::fast());
        packed.write_all(b"{}\n").unwrap();
        packed.finish().unwrap();
        let limits = Limits { max_bytes: u64::MAX, free_space: |_| Ok(50 << 20) };
        let error =
            unpack_within(&archive, folder.path(), limits, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(error, CorpusError::DiskFull { free: 52_428_800, .. }), "{error}");
        assert!(error.to_string().contains("data.json: the disk has 52428800 bytes left"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the archive is left");
    }

    #[test]
    fn kinds_by_name() {
        for (name, kind) in [
            ("a.json", Archive::Plain),
            ("a", Archive::Plain),
            ("a.json.gz", Archive::Gzip),
            ("a.json.BZ2", Archive::Bzip2),
            ("a.ndjson.zst", Archive::Zstd),
            ("a.tar.gz", Archive::Several),
            ("a.zip", Archive::Several),
            ("a.tgz", Archive::Several),
        ] {
            assert_eq!(Archive::of(Path::new(name)), kind, "{name}");
        }
    }
}
