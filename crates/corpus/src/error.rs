//! The one error type of this crate.

use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong with a corpus. Every message is one line that names the file and says what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// A file cannot be opened, mapped or read.
    #[error("cannot read {}: {cause}; check that the file exists and that you may read it", path.display())]
    Read {
        /// The file that was to be read.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// A file or folder cannot be written.
    #[error(
        "cannot write {}: {cause}; check that the folder exists, that you may write to it and that \
         the disk has room",
        path.display()
    )]
    Write {
        /// The file that was to be written (its final name, not the temporary one).
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// An archive ends too early or does not hold what its name says.
    #[error("{} is truncated or corrupt ({cause}); delete it and fetch it again", path.display())]
    Corrupt {
        /// The archive.
        path: PathBuf,
        /// What the decoder said.
        #[source]
        cause: io::Error,
    },
    /// An archive in which the data file is not found, or is packed in a way that is not known here.
    #[error(
        "{} cannot be unpacked here: {reason}; unpack it yourself and name the data file itself",
        path.display()
    )]
    Unsupported {
        /// The archive.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// An archive with a member that no archive of data has: one that would be written elsewhere, a link, a device.
    #[error("{} is refused: its member \"{member}\" {reason}; do not trust the archive", path.display())]
    Refused {
        /// The archive.
        path: PathBuf,
        /// Name of the member.
        member: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An archive grows beyond what the caller allowed.
    #[error(
        "{}: {member} unpacks to more than the allowed {limit} bytes; raise the limit (a track's \
         uncompressed-bytes) if this size is right, else do not trust the archive",
        path.display()
    )]
    TooLarge {
        /// The archive.
        path: PathBuf,
        /// The data file in it.
        member: String,
        /// The largest size allowed, in bytes.
        limit: u64,
    },
    /// Going on would fill the disk.
    #[error(
        "stopped writing {}: the disk has {free} bytes left and {keep} must stay free; make room or \
         choose another folder",
        path.display()
    )]
    DiskFull {
        /// The file being written.
        path: PathBuf,
        /// Bytes left on its file system.
        free: u64,
        /// Bytes that must stay free, including what would be written before the next check.
        keep: u64,
    },
    /// The caller asked to stop.
    #[error("writing {} was interrupted and nothing of it is kept; run it again", path.display())]
    Interrupted {
        /// The file being written.
        path: PathBuf,
    },
    /// A part asks for documents that the file does not hold.
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
        /// Lines that were asked for.
        needed: u64,
    },
    /// A bulk source that cannot work: a bulk size of zero, an action that is not one line.
    #[error("cannot build bulks from {}: {reason}", path.display())]
    BadBulk {
        /// The data file of the offending part.
        path: PathBuf,
        /// What is wrong and how to put it right.
        reason: &'static str,
    },
    /// A file that is to be generated has a name that will not do.
    #[error("cannot generate {}: {reason}; correct the name", path.display())]
    BadFileName {
        /// The file, in its folder.
        path: PathBuf,
        /// What is wrong with its name.
        reason: &'static str,
    },
    /// A generator wrote another number of documents than it had announced: a defect of the generator.
    #[error(
        "{} was announced with {announced} documents but {written} were generated; please report \
         this defect",
        path.display()
    )]
    WrongCount {
        /// The file being generated.
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

    pub(crate) fn refused(path: &Path, (member, reason): (String, &'static str)) -> Self {
        Self::Refused { path: path.to_path_buf(), member, reason }
    }

    /// The file the error is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. }
            | Self::Write { path, .. }
            | Self::Corrupt { path, .. }
            | Self::Unsupported { path, .. }
            | Self::Refused { path, .. }
            | Self::TooLarge { path, .. }
            | Self::DiskFull { path, .. }
            | Self::Interrupted { path }
            | Self::TooFewLines { path, .. }
            | Self::BadBulk { path, .. }
            | Self::BadFileName { path, .. }
            | Self::WrongCount { path, .. } => path,
        }
    }
}
