//! The error type of this crate.

use std::io;
use std::path::{Path, PathBuf};

/// An error from reading, writing or generating a corpus. Every message is one line that names the file and gives the
/// next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// A file cannot be opened or read.
    #[error("cannot read {}: {cause}; check that the file exists and that you may read it", path.display())]
    Read {
        /// The file that cannot be read.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        cause: io::Error,
    },
    /// A data file has become shorter since it was opened, or has fewer lines.
    #[error(
        "{} has changed since it was opened: bytes or lines are missing at byte {end} of {expected}; restore it, and \
         do not change data files during a race",
        path.display()
    )]
    Changed {
        /// The data file.
        path: PathBuf,
        /// Offset at which bytes or lines are missing.
        end: u64,
        /// Size of the file when it was opened, in bytes.
        expected: u64,
    },
    /// A file or folder cannot be written.
    #[error(
        "cannot write {}: {cause}; check that the folder exists, that you may write to it and that \
         the disk has room",
        path.display()
    )]
    Write {
        /// The file that cannot be written (its final name, not the temporary one).
        path: PathBuf,
        /// The operating system's error.
        #[source]
        cause: io::Error,
    },
    /// An archive ends too early, or its content does not match its name.
    #[error("{} is truncated or corrupt ({cause}); delete it and fetch it again", path.display())]
    Corrupt {
        /// The archive.
        path: PathBuf,
        /// The error from the decoder.
        #[source]
        cause: io::Error,
    },
    /// An archive does not contain the data file, or contains it in a format that Pacenote cannot read.
    #[error(
        "{} cannot be unpacked: {reason}; unpack it yourself and specify the data file instead",
        path.display()
    )]
    Unsupported {
        /// The archive.
        path: PathBuf,
        /// The reason why it cannot be unpacked.
        reason: String,
    },
    /// An archive has a member that does not belong in an archive of data: a path outside the folder, a link, a device.
    #[error("{} is rejected: its member \"{member}\" {reason}; do not trust the archive", path.display())]
    Refused {
        /// The archive.
        path: PathBuf,
        /// Name of the member.
        member: String,
        /// What is wrong with the member.
        reason: &'static str,
    },
    /// An archive unpacks to more than the caller allows.
    #[error(
        "{}: {member} unpacks to more than the allowed {limit} bytes; raise the limit (a track's \
         uncompressed-bytes) if this size is right; otherwise do not trust the archive",
        path.display()
    )]
    TooLarge {
        /// The archive.
        path: PathBuf,
        /// The data file in the archive.
        member: String,
        /// The largest size allowed, in bytes.
        limit: u64,
    },
    /// Writing more would fill the disk.
    #[error(
        "stopped writing {}: the disk has {} MiB left and {} MiB must stay free; make room or choose \
         another folder",
        path.display(), free >> 20, keep.div_ceil(1 << 20)
    )]
    DiskFull {
        /// The file that was being written.
        path: PathBuf,
        /// Free bytes on its file system.
        free: u64,
        /// Bytes that must stay free, including those that may be written before the next check.
        keep: u64,
    },
    /// The caller asked to stop.
    #[error("writing {} was interrupted and the partial file was deleted; run the command again", path.display())]
    Interrupted {
        /// The file that was being written.
        path: PathBuf,
    },
    /// A range of documents extends beyond the end of its file.
    #[error(
        "{} has {lines} lines but the corpus needs {needed}; correct its document-count or use the \
         right file",
        path.display()
    )]
    TooFewLines {
        /// The data file.
        path: PathBuf,
        /// Lines in the file.
        lines: u64,
        /// Lines that the range needs.
        needed: u64,
    },
    /// The settings of a bulk reader are invalid: a bulk size of 0, or an action line that is not exactly one line.
    #[error("cannot build bulks from {}: {reason}", path.display())]
    BadBulk {
        /// The data file.
        path: PathBuf,
        /// What is wrong, and how to correct it.
        reason: &'static str,
    },
    /// A line of a data file is too long for a request.
    #[error(
        "{} has a line of more than {limit} MiB; it must have one JSON document per line, as `jq -c` writes them",
        path.display()
    )]
    TooLongLine {
        /// The data file.
        path: PathBuf,
        /// The length of the longest line, in MiB.
        limit: usize,
    },
    /// The documents of a bulk are too large for a request.
    #[error("a bulk of {} has more than {limit} MiB; send smaller bulks", path.display())]
    TooLargeBulk {
        /// The data file.
        path: PathBuf,
        /// The size of the largest bulk, in MiB.
        limit: usize,
    },
    /// The name of a file to generate is invalid.
    #[error("cannot generate {}: {reason}; correct the name", path.display())]
    BadFileName {
        /// The file, in its folder.
        path: PathBuf,
        /// What is wrong with its name.
        reason: &'static str,
    },
    /// A generator wrote a different number of documents than it announced, which is a bug in the generator.
    #[error(
        "{} should contain {announced} documents, but {written} were generated; please report this \
         bug",
        path.display()
    )]
    WrongCount {
        /// The file that was being generated.
        path: PathBuf,
        /// Documents announced.
        announced: u64,
        /// Documents written.
        written: u64,
    },
}

impl CorpusError {
    pub(crate) fn read(path: &Path, cause: io::Error) -> Self {
        Self::Read { path: path.to_path_buf(), cause }
    }

    pub(crate) fn write(path: &Path, cause: io::Error) -> Self {
        Self::Write { path: path.to_path_buf(), cause }
    }

    pub(crate) fn corrupt(path: &Path, cause: io::Error) -> Self {
        Self::Corrupt { path: path.to_path_buf(), cause }
    }

    pub(crate) fn refused(path: &Path, member: String, reason: &'static str) -> Self {
        Self::Refused { path: path.to_path_buf(), member, reason }
    }

    /// Returns the file that the error is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. }
            | Self::Changed { path, .. }
            | Self::Write { path, .. }
            | Self::Corrupt { path, .. }
            | Self::Unsupported { path, .. }
            | Self::Refused { path, .. }
            | Self::TooLarge { path, .. }
            | Self::DiskFull { path, .. }
            | Self::Interrupted { path }
            | Self::TooFewLines { path, .. }
            | Self::BadBulk { path, .. }
            | Self::TooLongLine { path, .. }
            | Self::TooLargeBulk { path, .. }
            | Self::BadFileName { path, .. }
            | Self::WrongCount { path, .. } => path,
        }
    }
}
