//! File operations that leave a readable race folder wherever they are interrupted: by a kill, a full disk or a power
//! failure.
//!
//! A file is written beside its target, synced and renamed, and what it replaces is removed only after that. Every
//! operation that changes a folder is in this module, so that the tests can interrupt each of them.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, BufRead, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{OFlags, SeekFrom as Whence, seek};
use rustix::io::Errno;

/// Mode of files that only their owner may read.
const PRIVATE_FILE: u32 = 0o600;
/// What follows the name of a damaged file that is kept.
pub const DAMAGED: &str = ".damaged";
/// What follows the name of a file whose end cannot be read, in the name of the file that keeps this end.
pub const UNREADABLE: &str = ".unreadable";

/// Size from which on a file is refused that consists of holes but for a part of it, in bytes.
const MAX_HOLES: u64 = 1 << 30;
/// The least part of such a file that must be on the disk, as a divisor of its size: file systems may compress.
const LEAST_STORED: u64 = 16;
/// Size of the blocks in which the system counts what is on the disk.
const BLOCK_BYTES: u64 = 512;

/// Largest length of a line of a journal, in bytes; a longer one is damaged.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// Number of bytes of a file that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// How often a file is locked at most, while another process tests the lock.
const LOCK_ATTEMPTS: u32 = 100;
/// Time between two attempts.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// A file that is being written, with the length and the checksum of what was written to it.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    length: u64,
    checksum: u32,
}

impl OutputFile {
    /// Creates a file that only its owner may read, or truncates the existing one.
    ///
    /// # Errors
    ///
    /// An error if the file cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::open(path, File::options().create(true).truncate(true))
    }

    /// Creates a file that only its owner may read, instead of the one that an interrupted recovery has left.
    fn create_part(path: &Path) -> io::Result<Self> {
        if path.symlink_metadata().is_ok() {
            step(|| fs::remove_file(path))?;
        }
        Self::open(path, File::options().create_new(true))
    }

    fn open(path: &Path, options: &mut OpenOptions) -> io::Result<Self> {
        let file = step(|| options.write(true).mode(PRIVATE_FILE).open(path))?;
        Ok(Self { file, length: 0, checksum: 0 })
    }

    /// Truncates an existing file to `length` bytes, to which further bytes are appended.
    ///
    /// # Errors
    ///
    /// An error if the file cannot be opened or truncated, and if it has other names: in a folder that was copied
    /// from others, it may be a file of another race.
    pub fn truncate(path: &Path, length: u64) -> io::Result<Self> {
        let file = open_existing(path, File::options().append(true))?;
        if file.metadata()?.nlink() > 1 {
            return Err(io::Error::other("it has other names, too (hard links); put a copy in its place"));
        }
        step(|| file.set_len(length))?;
        Ok(Self { file, length: 0, checksum: 0 })
    }

    /// Returns the CRC-32C of the bytes that were written through this value.
    #[must_use]
    pub fn checksum(&self) -> u32 {
        self.checksum
    }

    /// Returns an error unless the file still has its name.
    ///
    /// # Errors
    ///
    /// An error if the file was removed, renamed or replaced by another one.
    pub fn check_name(&self, path: &Path) -> io::Result<()> {
        let identity = |status: &Metadata| (status.dev(), status.ino());
        let own = identity(&self.file.metadata()?);
        match fs::metadata(path) {
            Ok(named) if identity(&named) == own => Ok(()),
            Ok(_) => Err(io::Error::other("it was replaced by another file")),
            Err(error) => Err(error),
        }
    }

    /// Returns an error unless the file, which was created through this value and has its name, contains what was
    /// written to it. Reads it once; what is not a regular file cannot be compared.
    ///
    /// # Errors
    ///
    /// An error if the file was changed, or if it cannot be read.
    pub fn check_content(&self, path: &Path) -> io::Result<()> {
        let status = self.file.metadata()?;
        if !status.is_file() {
            return Ok(());
        }
        if status.len() != self.length {
            let problem = format!(
                "another program has changed it: it has {} bytes, but {} were written",
                status.len(),
                self.length
            );
            return Err(io::Error::other(problem));
        }
        let (mut file, mut chunk, mut checksum) = (open_regular(path)?, vec![0; CHUNK_BYTES], 0);
        loop {
            match file.read(&mut chunk)? {
                0 if checksum == self.checksum => return Ok(()),
                0 => return Err(io::Error::other("another program has changed it: its checksum is wrong")),
                length => checksum = crc32c::crc32c_append(checksum, &chunk[..length]),
            }
        }
    }

    /// Locks the file until it is closed, as soon as a process that only tests the lock has released it; without effect
    /// on a file system without locks.
    ///
    /// # Errors
    ///
    /// An error if another process keeps it locked.
    pub fn lock(&self) -> io::Result<()> {
        for _ in 0..LOCK_ATTEMPTS {
            if !matches!(self.file.try_lock(), Err(TryLockError::WouldBlock)) {
                return Ok(());
            }
            thread::sleep(LOCK_PAUSE);
        }
        Err(io::Error::new(io::ErrorKind::WouldBlock, "another process keeps it locked"))
    }

    /// Gives the file to the owner of the folder of `path`, so that root can complete the races of others.
    fn give_to_owner_of(&self, path: &Path) {
        if let Some(Ok(folder)) = path.parent().map(fs::metadata) {
            let _ = fchown(&self.file, Some(folder.uid()), Some(folder.gid()));
        }
    }

    /// Returns when all bytes are on the disk.
    ///
    /// # Errors
    ///
    /// An error if the disk does not accept them.
    pub fn sync(&self) -> io::Result<()> {
        step(|| self.file.sync_all())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..writable(bytes.len())?];
        let written = self.file.write(bytes)?;
        self.length += written as u64;
        self.checksum = crc32c::crc32c_append(self.checksum, &bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Reads the next line of a journal, with its end. A longer one than `MAX_LINE_BYTES` is read in parts without an end,
/// so that a file cannot fill the memory. Returns 0 at the end of the file.
///
/// # Errors
///
/// An error if the file cannot be read.
pub fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    reader.take(MAX_LINE_BYTES as u64).read_until(b'\n', line)
}

/// Opens a file for reading, unless it is a pipe or a device, which could be read for ever, or a link, which may lead
/// out of the race folder.
///
/// # Errors
///
/// An error if there is no such file, or if it is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_existing(path, File::options().read(true))
}

fn open_existing(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file = options.custom_flags(flags.bits().cast_signed()).open(path).map_err(|error| {
        let is_link = error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
        if is_link { io::Error::other("it is a symbolic link; replace it with the file") } else { error }
    })?;
    let status = file.metadata()?;
    if !status.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    // A few bytes can be a file of many terabytes, which would be read, or copied to the disk, for hours.
    if status.len() > MAX_HOLES
        && status.len() / LEAST_STORED > status.blocks().saturating_mul(BLOCK_BYTES)
        && has_hole(&mut file, status.len())?
    {
        return Err(io::Error::other(format!("it has {} bytes, nearly all of them in holes", status.len())));
    }
    Ok(file)
}

/// Returns whether a file has a hole, if its file system tells. The file is then read from its beginning.
fn has_hole(file: &mut File, length: u64) -> io::Result<bool> {
    let hole = seek(&*file, Whence::Hole(0)).unwrap_or(length);
    file.rewind()?;
    Ok(hole < length)
}

/// Returns the name under which a damaged file is kept.
#[must_use]
pub fn damaged_name(path: &Path) -> PathBuf {
    with_suffix(path, DAMAGED)
}

/// Returns the name under which the end of a file is kept that cannot be read.
#[must_use]
pub fn unreadable_name(path: &Path) -> PathBuf {
    with_suffix(path, UNREADABLE)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Creates or replaces a file: `write` writes it beside its target, and it gets its name when it is on the disk.
///
/// # Errors
///
/// The first error; the old file then remains, and the new one is removed.
pub fn replace<T>(
    path: &Path,
    write: impl FnOnce(OutputFile) -> io::Result<(OutputFile, T)>,
) -> io::Result<T> {
    let part = with_suffix(path, ".part");
    let written = OutputFile::create_part(&part).and_then(write).and_then(|(file, result)| {
        file.give_to_owner_of(path);
        file.sync()?;
        rename(&part, path)?;
        Ok(result)
    });
    written.inspect_err(|_| {
        // On a full disk, the incomplete file would take up space that other files need.
        let _ = step(|| fs::remove_file(&part));
    })
}

/// Renames a file, durably.
///
/// # Errors
///
/// An error if the file cannot be renamed.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step(|| fs::rename(from, to))?;
    sync_folder_of(to)
}

/// Keeps a damaged file under another name, unless a file of that name exists.
///
/// # Errors
///
/// An error if the file cannot be renamed.
pub fn set_aside(path: &Path) -> io::Result<()> {
    let kept = damaged_name(path);
    if kept.symlink_metadata().is_ok() {
        return Err(exists_already(&kept));
    }
    rename(path, &kept)
}

/// Returns the error for a name under which a file was to be kept, and which another file has.
#[must_use]
pub fn exists_already(kept: &Path) -> io::Error {
    let problem = format!("{} exists; move it to another folder", kept.display());
    io::Error::new(io::ErrorKind::AlreadyExists, problem)
}

/// Removes a file, durably.
///
/// # Errors
///
/// An error if the file cannot be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    step(|| fs::remove_file(path))?;
    sync_folder_of(path)
}

/// Returns when the names in the folder of `path` are on the disk, on file systems that can sync a folder.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        step(|| {
            let _ = File::open(folder)?.sync_all();
            Ok(())
        })?;
    }
    Ok(())
}

/// Performs an operation that changes the disk.
fn step<T>(operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    #[cfg(test)]
    faults::check(faults::Operation::Other)?;
    operation()
}

/// Returns how many of `length` bytes are to be written: all, unless a test interrupts the write.
#[cfg_attr(not(test), allow(clippy::unnecessary_wraps, reason = "fails only in tests"))]
fn writable(length: usize) -> io::Result<usize> {
    #[cfg(test)]
    let length = faults::writable(length)?;
    Ok(length)
}

/// Interrupts the operations of this module on the thread of a test.
#[cfg(test)]
pub mod faults {
    use std::cell::Cell;
    use std::io;

    /// What happens at the interrupted operation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Fault {
        /// The process is killed: nothing happens after it.
        Kill,
        /// The disk is full: writes fail.
        DiskFull,
    }

    /// Kind of an operation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Operation {
        /// A write, which needs room.
        Write,
        /// Any other operation.
        Other,
    }

    thread_local! {
        static PLANNED: Cell<Option<(Fault, usize)>> = const { Cell::new(None) };
    }

    /// Calls `action`, and interrupts it after `operations` operations. Returns its result and whether it was
    /// interrupted.
    pub fn interrupt<T>(fault: Fault, operations: usize, action: impl FnOnce() -> T) -> (T, bool) {
        PLANNED.set(Some((fault, operations)));
        let result = action();
        let interrupted = PLANNED.take() == Some((fault, 0));
        (result, interrupted)
    }

    /// Counts a write, and returns how many of `length` bytes are to be written: half of them if the next operation is
    /// interrupted.
    pub fn writable(length: usize) -> io::Result<usize> {
        let is_last = matches!(PLANNED.get(), Some((_, 1)));
        check(Operation::Write)?;
        Ok(if is_last { length.div_ceil(2) } else { length })
    }

    /// Counts an operation, and returns an error if it is interrupted.
    pub fn check(operation: Operation) -> io::Result<()> {
        match PLANNED.get() {
            Some((Fault::Kill, 0)) => Err(io::Error::other("killed")),
            Some((Fault::DiskFull, 0)) if operation == Operation::Write => {
                Err(io::ErrorKind::StorageFull.into())
            }
            None | Some((_, 0)) => Ok(()),
            Some((fault, left)) => {
                PLANNED.set(Some((fault, left - 1)));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_other_names_is_not_truncated() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["samples", "other"].map(|name| folder.path().join(name));
        fs::write(&path, b"samples").unwrap();
        fs::hard_link(&path, &other).unwrap();
        let error = OutputFile::truncate(&path, 3).unwrap_err();
        assert!(error.to_string().contains("put a copy in its place"), "{error}");
        assert_eq!(fs::read(&other).unwrap(), b"samples");
        fs::remove_file(&other).unwrap();
        OutputFile::truncate(&path, 3).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"sam");
    }

    #[test]
    fn a_file_is_locked_when_a_process_that_tests_the_lock_has_released_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = OutputFile::create(&path).unwrap();
        let other = File::open(&path).unwrap();
        other.try_lock_shared().unwrap();
        assert_eq!(journal.lock().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let released = thread::spawn(move || {
            thread::sleep(LOCK_PAUSE * 3);
            drop(other);
        });
        journal.lock().unwrap();
        released.join().unwrap();
        assert!(matches!(File::open(&path).unwrap().try_lock(), Err(TryLockError::WouldBlock)));
    }
}
