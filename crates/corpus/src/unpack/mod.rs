//! Unpacking of corpora, in one streaming pass that also counts the lines.

mod fill;
mod members;
mod parallel_bzip2;
mod tar;
mod writer_thread;
mod zip;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use fill::fill;
use members::Choice;
use parallel_bzip2::Blocks;
use tar::Tar;
use writer_thread::Belt;

use crate::error::CorpusError;
use crate::line_file::map;
use crate::writer::{FreeSpace, Output, REPORT_EVERY, free_space};

/// Compressed bytes read at once.
const READ_SIZE: usize = 1 << 20;

/// Decompressed bytes written at once.
const WRITE_SIZE: usize = 256 << 10;

/// Largest window of a zstd frame that is accepted, as a power of two: what `zstd --long=31` writes.
const ZSTD_WINDOW: u32 = 31;

/// An archive of unknown size may grow to so many bytes, or to so many times its own: data of the field packs 10 to 50
/// times.
const MOST_BYTES: u64 = 1 << 30;
const MOST_TIMES: u64 = 1000;

/// How a stream of bytes is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, one member or many.
    Gzip,
    /// bzip2, one stream or many (as pbzip2 writes).
    Bzip2,
    /// zstd, one frame or many (as pzstd writes).
    Zstd,
}

/// What a file's name says about how it is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Archive {
    /// Only the data file, perhaps packed.
    Stream(Compression),
    /// A tar archive, perhaps packed.
    Tar(Compression),
    /// A zip archive.
    Zip,
}

/// Endings of names; those that contain others come first.
const ENDINGS: [(&str, Archive); 12] = [
    (".tar.gz", Archive::Tar(Compression::Gzip)),
    (".tar.bz2", Archive::Tar(Compression::Bzip2)),
    (".tar.zst", Archive::Tar(Compression::Zstd)),
    (".tgz", Archive::Tar(Compression::Gzip)),
    (".tbz", Archive::Tar(Compression::Bzip2)),
    (".tbz2", Archive::Tar(Compression::Bzip2)),
    (".tzst", Archive::Tar(Compression::Zstd)),
    (".tar", Archive::Tar(Compression::None)),
    (".zip", Archive::Zip),
    (".gz", Archive::Stream(Compression::Gzip)),
    (".bz2", Archive::Stream(Compression::Bzip2)),
    (".zst", Archive::Stream(Compression::Zstd)),
];

impl Archive {
    /// Reads the kind off the name; the case of letters does not matter.
    #[must_use]
    pub fn of(file: &Path) -> Self {
        Self::split(file).0
    }

    /// The kind, and the name of the data file: that of the archive without its ending.
    fn split(file: &Path) -> (Self, String) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let lower = name.to_ascii_lowercase();
        let known = ENDINGS.iter().find(|(ending, _)| lower.ends_with(ending));
        match known {
            Some((ending, kind)) => (*kind, name[..name.len() - ending.len()].to_owned()),
            None => (Self::Stream(Compression::None), name),
        }
    }
}

/// How far unpacking has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnpackProgress {
    /// Bytes of the archive read so far.
    pub bytes_in: u64,
    /// Size of the archive in bytes.
    pub bytes_in_total: u64,
    /// Bytes unpacked so far; all but the last few are written.
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

/// Unpacks `archive` into `folder`, under the archive's name without its ending, and writes the `.offset` side file
/// with it. A file that is not packed is returned as it is, wherever it lies. Of an archive of several files the one
/// with that name is unpacked, in whatever folder it lies, or else the only one.
///
/// The data is written beside its target under a temporary name, brought to the disk and renamed, so a file of the
/// target's name is always whole; on any error nothing is left. `progress` is called about every 8 MiB of output
/// and at the end; `Break` stops the work. Output stops at `max_bytes` (without: at 1 GiB or 1000 times the size of
/// the archive, whichever is more) and before the file system has less than 64 MiB left, so that an archive made to
/// expand without end does no harm.
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
    let limits = Limits { max_bytes, unknown: MOST_BYTES, free_space, threads: parallel_bzip2::threads() };
    unpack_within(archive, folder, limits, progress)
}

#[derive(Clone, Copy)]
struct Limits {
    max_bytes: Option<u64>,
    /// [`MOST_BYTES`], without `max_bytes`.
    unknown: u64,
    free_space: FreeSpace,
    threads: usize,
}

fn unpack_within(
    archive: &Path,
    folder: &Path,
    limits: Limits,
    progress: &mut dyn FnMut(UnpackProgress) -> ControlFlow<()>,
) -> Result<Unpacked, CorpusError> {
    let file = File::open(archive).map_err(|cause| CorpusError::read(archive, cause))?;
    let size = file.metadata().map_err(|cause| CorpusError::read(archive, cause))?.len();
    let (kind, name) = Archive::split(archive);
    if kind == Archive::Stream(Compression::None) {
        return Ok(Unpacked { path: archive.to_path_buf(), bytes: size, lines: None });
    }
    if size == 0 {
        // The decoders take an empty input for an archive of nothing; here it is a download that never began.
        let cause = io::Error::new(io::ErrorKind::UnexpectedEof, "the file is empty");
        return Err(CorpusError::Corrupt { path: archive.to_path_buf(), cause });
    }
    let mut job = Job {
        archive,
        target: folder.join(&name),
        name,
        size,
        limits,
        read: &Cell::new(0),
        passed: 0,
        report_at: 0,
        progress,
    };
    let mut unpacked = job.unpack(kind);
    if let Err(CorpusError::Corrupt { cause, .. }) = &unpacked
        && cause.kind() == io::ErrorKind::InvalidData
        && matches!(kind, Archive::Stream(Compression::Bzip2) | Archive::Tar(Compression::Bzip2))
        && job.limits.threads > 1
    {
        // A guess where its blocks begin may have been wrong; the ordinary decoder makes none.
        job.limits.threads = 1;
        unpacked = job.unpack(kind);
    }
    let output = unpacked?;
    let bytes = output.bytes();
    let sealed = output.seal()?;
    let lines = Some(sealed.lines());
    Ok(Unpacked { path: sealed.publish()?, bytes, lines })
}

/// One archive on its way.
struct Job<'a> {
    archive: &'a Path,
    /// Name of the data file, and where it goes.
    name: String,
    target: PathBuf,
    size: u64,
    limits: Limits,
    /// Bytes of the archive read so far.
    read: &'a Cell<u64>,
    /// Unpacked bytes so far, also of members that are not wanted.
    passed: u64,
    /// When progress is told next.
    report_at: u64,
    progress: &'a mut dyn FnMut(UnpackProgress) -> ControlFlow<()>,
}

impl Job<'_> {
    fn unpack(&mut self, kind: Archive) -> Result<Output, CorpusError> {
        (self.passed, self.report_at) = (0, 0);
        let output = match kind {
            Archive::Stream(packing) => {
                let mut stream = self.stream(packing)?;
                let (mut output, name) = (self.output()?, self.name.clone());
                self.copy(&name, &mut *stream, Some(&mut output))?;
                output
            }
            Archive::Tar(packing) => self.tar(packing)?,
            Archive::Zip => self.zip()?,
        };
        self.read.set(self.size);
        self.report()?;
        Ok(output)
    }

    fn output(&self) -> Result<Output, CorpusError> {
        Output::create(&self.target, self.limits.free_space)
    }

    fn tar(&mut self, packing: Compression) -> Result<Output, CorpusError> {
        let (archive, name) = (self.archive, self.name.clone());
        let mut tar = Tar::new(self.stream(packing)?);
        let (mut choice, mut kept) = (Choice::new(&name), None);
        while let Some(member) = tar.next_member().map_err(|cause| CorpusError::corrupt(archive, cause))? {
            let takes = choice.takes(&member.name, member.kind);
            let takes = takes.map_err(|refusal| CorpusError::refused(archive, refusal))?;
            if takes {
                // The one before goes first, so that the disk need not hold both.
                drop(kept.take());
                kept = Some(self.output()?);
            }
            self.copy(&member.name, &mut tar, kept.as_mut().filter(|_| takes))?;
        }
        // What follows is padding and, where there is one, the checksum of the whole stream.
        self.copy(&name, &mut tar.into_rest(), None)?;
        self.chosen(&choice, kept)
    }

    fn zip(&mut self) -> Result<Output, CorpusError> {
        let (archive, name) = (self.archive, self.name.clone());
        let corrupt = |cause| CorpusError::corrupt(archive, cause);
        let map = map(archive)?;
        let (mut choice, mut kept) = (Choice::new(&name), None);
        for member in zip::Members::of(&map).map_err(corrupt)? {
            let member = member.map_err(corrupt)?;
            let takes = choice.takes(&member.name, member.kind);
            if takes.map_err(|refusal| CorpusError::refused(archive, refusal))? {
                kept = Some(member);
            }
        }
        let member = self.chosen(&choice, kept)?;
        let (start, data) = member.data(&map).map_err(corrupt)?;
        self.read.set(start);
        let source = Counting { source: data, read: self.read };
        let stream = match (member.encrypted, member.method) {
            (false, zip::STORED) => decoder(Compression::None, source),
            (false, zip::DEFLATE) => {
                Ok(Box::new(flate2::read::DeflateDecoder::new(source)) as Box<dyn Read + '_>)
            }
            (false, zip::BZIP2) => decoder(Compression::Bzip2, source),
            (false, zip::ZSTD) => decoder(Compression::Zstd, source),
            (true, _) => return Err(self.unsupported("it is encrypted".to_owned())),
            (false, method) => {
                return Err(self.unsupported(format!("it is packed by method {method} of zip")));
            }
        };
        let mut output = self.output()?;
        self.copy(&member.name, &mut member.checked(stream.map_err(corrupt)?), Some(&mut output))?;
        Ok(output)
    }

    /// What was kept, if it is what the choice settled on.
    fn chosen<T>(&self, choice: &Choice, kept: Option<T>) -> Result<T, CorpusError> {
        choice.settle().map_err(|reason| self.unsupported(reason))?;
        kept.ok_or_else(|| self.unsupported("it holds no file".to_owned()))
    }

    fn unsupported(&self, reason: String) -> CorpusError {
        CorpusError::Unsupported { path: self.archive.to_path_buf(), reason }
    }

    /// Moves all of `stream`, the data of the member `name`, into `output`; without one it is only read.
    fn copy(
        &mut self,
        name: &str,
        stream: &mut dyn Read,
        output: Option<&mut Output>,
    ) -> Result<(), CorpusError> {
        match output {
            Some(output) => {
                writer_thread::write(output, WRITE_SIZE, |belt| self.pass(name, stream, Some(belt)))
            }
            None => self.pass(name, stream, None),
        }
    }

    /// Moves all of `stream` to the writer, if there is one, within the limits.
    fn pass(&mut self, name: &str, stream: &mut dyn Read, belt: Option<&Belt>) -> Result<(), CorpusError> {
        let bound = self.limits.unknown.max(self.size.saturating_mul(MOST_TIMES));
        let most = self.limits.max_bytes.unwrap_or(bound);
        let most_in_all = bound.saturating_add(self.limits.max_bytes.unwrap_or(0));
        let (mut buffer, mut kept) = (vec![0; WRITE_SIZE], 0);
        loop {
            let filled =
                fill(stream, &mut buffer).map_err(|cause| CorpusError::corrupt(self.archive, cause))?;
            let whole = filled == buffer.len();
            self.passed += filled as u64;
            kept += if belt.is_some() { filled as u64 } else { 0 };
            for (bytes, limit) in [(kept, most), (self.passed, most_in_all)] {
                if bytes > limit {
                    let member = name.escape_debug().collect();
                    return Err(CorpusError::TooLarge { path: self.archive.to_path_buf(), member, limit });
                }
            }
            if belt.is_some_and(|belt| !belt.pass(&mut buffer, filled)) {
                return Ok(()); // the writer says why
            }
            if self.passed >= self.report_at {
                self.report_at = self.passed + REPORT_EVERY;
                self.report()?;
            }
            if !whole {
                return Ok(());
            }
        }
    }

    fn report(&mut self) -> Result<(), CorpusError> {
        let (bytes_in, bytes_in_total) = (self.read.get().min(self.size), self.size);
        match (self.progress)(UnpackProgress { bytes_in, bytes_in_total, bytes_out: self.passed }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(CorpusError::Interrupted { path: self.target.clone() }),
        }
    }
}

impl<'a> Job<'a> {
    /// The archive without its packing.
    fn stream(&self, packing: Compression) -> Result<Box<dyn Read + 'a>, CorpusError> {
        let (archive, read, threads) = (self.archive, self.read, self.limits.threads);
        let unread = |cause| CorpusError::read(archive, cause);
        if packing == Compression::Bzip2 && threads > 1 {
            return Ok(Box::new(Blocks::new(map(archive)?, threads, read).map_err(unread)?));
        }
        read.set(0);
        let source = File::open(archive).map_err(unread)?;
        decoder(packing, Counting { source, read }).map_err(unread)
    }
}

fn decoder<'a>(packing: Compression, source: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let source = BufReader::with_capacity(READ_SIZE, source);
    Ok(match packing {
        Compression::None => Box::new(source),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(source)),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(source)),
        Compression::Zstd => {
            let mut frames = zstd::Decoder::with_buffer(source)?;
            frames.window_log_max(ZSTD_WINDOW)?;
            Box::new(frames)
        }
    })
}

/// Counts what is read from the archive, below the buffer.
struct Counting<'a, R> {
    source: R,
    read: &'a Cell<u64>,
}

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.read.set(self.read.get() + read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const LIMITS: Limits = Limits { max_bytes: None, unknown: MOST_BYTES, free_space, threads: 1 };

    #[test]
    fn stops_before_the_disk_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("data.json.gz");
        let mut packed =
            flate2::write::GzEncoder::new(File::create(&archive).unwrap(), flate2::Compression::fast());
        packed.write_all(b"{}\n").unwrap();
        packed.finish().unwrap();
        let limits = Limits { free_space: |_| Ok(50 << 20), ..LIMITS };
        let error =
            unpack_within(&archive, folder.path(), limits, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(error, CorpusError::DiskFull { free: 52_428_800, .. }), "{error}");
        assert!(error.to_string().contains("data.json: the disk has 52428800 bytes left"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the archive is left");
    }

    #[test]
    fn stops_when_the_disk_fills_while_it_unpacks() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let archive = from.path().join("data.json.zst");
        std::fs::write(&archive, zstd::encode_all(&vec![b'x'; 64 << 20][..], 1).unwrap()).unwrap();
        // Room for what is looked for at the beginning, and none once something is written.
        let free_space: FreeSpace = |folder| {
            let size = |file: io::Result<std::fs::DirEntry>| file?.metadata().map(|file| file.len());
            let used: u64 = std::fs::read_dir(folder)?.map(size).sum::<io::Result<_>>()?;
            Ok((100_u64 << 20).saturating_sub(used))
        };
        let limits = Limits { free_space, ..LIMITS };
        let mut most = 0;
        let error = unpack_within(&archive, to.path(), limits, &mut |now| {
            most = now.bytes_out;
            ControlFlow::Continue(())
        })
        .unwrap_err();
        assert!(matches!(error, CorpusError::DiskFull { free: 70_000_000..84_000_000, .. }), "{error}");
        assert!(most < 48 << 20, "unpacking went on to {most}");
        assert_eq!(std::fs::read_dir(to.path()).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn kinds_and_data_files_by_name() {
        for (name, kind, data) in [
            ("a.json", Archive::Stream(Compression::None), "a.json"),
            ("a", Archive::Stream(Compression::None), "a"),
            ("a.json.gz", Archive::Stream(Compression::Gzip), "a.json"),
            ("a.json.BZ2", Archive::Stream(Compression::Bzip2), "a.json"),
            ("a.ndjson.zst", Archive::Stream(Compression::Zstd), "a.ndjson"),
            ("a.json.tar.gz", Archive::Tar(Compression::Gzip), "a.json"),
            ("a.json.tar.bz2", Archive::Tar(Compression::Bzip2), "a.json"),
            ("a.json.tar.zst", Archive::Tar(Compression::Zstd), "a.json"),
            ("a.json.tgz", Archive::Tar(Compression::Gzip), "a.json"),
            ("a.json.tar", Archive::Tar(Compression::None), "a.json"),
            ("a.json.Zip", Archive::Zip, "a.json"),
        ] {
            assert_eq!(Archive::split(Path::new(name)), (kind, data.to_owned()), "{name}");
        }
    }

    #[test]
    fn without_a_limit_an_archive_may_grow_a_thousand_times() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("data.json.zst");
        let unpack_of = |data: &[u8]| {
            std::fs::write(&archive, zstd::encode_all(data, 3).unwrap()).unwrap();
            let limits = Limits { unknown: 1000, ..LIMITS };
            unpack_within(&archive, folder.path(), limits, &mut |_| ControlFlow::Continue(()))
        };
        let noise = noise(5000);
        assert_eq!(unpack_of(&noise).unwrap().bytes, 5000, "more than the floor, but not out of nothing");
        assert_eq!(unpack_of(&noise[..900]).unwrap().bytes, 900);
        assert!(matches!(unpack_of(&vec![b'x'; 1 << 20]).unwrap_err(), CorpusError::TooLarge { .. }));
    }

    /// Noise that packs badly, so that several blocks of the smallest size are needed.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        std::iter::repeat_with(&mut next).take(bytes).collect()
    }

    #[test]
    fn bzip2_is_the_same_on_any_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("data.json.bz2");
        let pack = |data: &[u8]| {
            let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            packed.write_all(data).unwrap();
            packed.finish().unwrap()
        };
        // One stream of many blocks; runs of bytes, which grow most; one stream per block; an empty one between.
        let data = [noise(150_000), vec![b'x'; 400_000], noise(50_000)].concat();
        let streams: Vec<Vec<u8>> = data.chunks(90_000).map(pack).collect();
        let streams = [streams.concat(), pack(b""), pack(b"{}\n")].concat();
        let mut behind = data.clone();
        behind.extend_from_slice(b"{}\n");
        let mut seen_all = true;
        for (bytes, expected) in [(pack(&data), &data), (streams, &behind), (pack(b""), &Vec::new())] {
            std::fs::write(&archive, &bytes).unwrap();
            for threads in [1, 3] {
                let limits = Limits { threads, ..LIMITS };
                let unpacked =
                    unpack_within(&archive, folder.path(), limits, &mut |_| ControlFlow::Continue(()));
                seen_all &= std::fs::read(unpacked.unwrap().path).unwrap() == *expected;
            }
            let read = Cell::new(0);
            let blocks = Blocks::new(map(&archive).unwrap(), 2, &read).unwrap();
            let mut unpacked = Vec::new();
            io::BufReader::new(blocks).read_to_end(&mut unpacked).unwrap();
            seen_all &= unpacked == *expected;
        }
        assert!(seen_all, "unpacked data differs");
    }

    #[test]
    fn bzip2_that_is_cut_anywhere_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("data.json.bz2");
        let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        packed.write_all(&noise(110_000)).unwrap();
        let whole = packed.finish().unwrap();
        let ends = (1..40).chain((40..whole.len()).step_by(19_919)).chain(whole.len() - 15..whole.len());
        for end in ends {
            std::fs::write(&archive, &whole[..end]).unwrap();
            let read = Cell::new(0);
            let mut blocks = Blocks::new(map(&archive).unwrap(), 2, &read).unwrap();
            let error = io::copy(&mut blocks, &mut io::sink()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{end}: {error}");
        }
        for at in (0..whole.len()).step_by(19_973) {
            let mut wrong = whole.clone();
            wrong[at] ^= 0x10;
            std::fs::write(&archive, &wrong).unwrap();
            let read = Cell::new(0);
            let mut blocks = Blocks::new(map(&archive).unwrap(), 2, &read).unwrap();
            io::copy(&mut blocks, &mut io::sink()).unwrap_err();
        }
    }
}
