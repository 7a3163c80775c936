//! Completes the samples of a race that was killed, or whose disk was full.
//!
//! Nothing is removed before what replaces it is on the disk, so that a recovery that is interrupted can be repeated.
//! What cannot be recovered is counted and stored. Damaged files are not used, but kept under other names, and so is the
//! end of a file that cannot be read.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::RecordError;
use crate::files::columns;
use crate::files::durable::{self, OutputFile};
use crate::files::losses::add_losses;
use crate::files::row_group_index::{
    IndexedRowGroup, RowGroupIndex, Unfinished, copy_range, footer, read_end, read_index,
};
use crate::files::samples_schema::{PARQUET, ROW_GROUP_INDEX, ROW_GROUP_ROWS, empty_file};

/// Bytes of a file system that a copy of the samples must leave free for others.
const KEEP_FREE: u64 = 1 << 20;

/// Largest end of a file that is copied to a file of its own, in bytes: that of a row group has some 10 MiB. With a larger
/// one, the index does not fit the file.
const MOST_UNREADABLE: u64 = 1 << 30;

/// Where the completed samples are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FooterPlacement {
    /// In a new file that replaces the old one; at the end of the old one if there is no room for a copy.
    Beside,
    /// At the end of the file, which needs only a few kB: by the race itself.
    AtItsEnd {
        /// Number of samples that the race has lost for any reason, with those of the row group that was cut off: the
        /// sum over its tasks.
        lost: u64,
    },
}

/// Completes the samples with a footer that is created from the row group index, and removes the index. Returns the
/// number of rows, or `None` if the file is already complete or another process completes it.
///
/// # Errors
///
/// An error if a file cannot be read or written; the index is then kept.
pub fn complete_samples(folder: &Path, place: FooterPlacement) -> Result<Option<u64>, RecordError> {
    let index_path = folder.join(ROW_GROUP_INDEX);
    let Some(index) = open_index(&index_path).map_err(|source| RecordError::file(&index_path, source))?
    else {
        return Ok(None);
    };
    let samples = IncompleteSamples { folder, path: folder.join(PARQUET), index_path };
    let rows = samples.complete(&index, place);
    rows.map(Some).map_err(|source| RecordError::file(&samples.path, source))
}

/// Opens and locks the index. Returns `None` if there is none, or if another process has locked it.
fn open_index(path: &Path) -> io::Result<Option<File>> {
    let index = match durable::open_regular(path) {
        Ok(index) => index,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if matches!(index.try_lock(), Err(TryLockError::WouldBlock)) {
        return Ok(None);
    }
    // Another process may have completed the file before the index was locked.
    let unchanged =
        fs::metadata(path).is_ok_and(|now| index.metadata().is_ok_and(|own| own.ino() == now.ino()));
    Ok(Some(index).filter(|_| unchanged))
}

/// The samples file of a race that was killed.
struct IncompleteSamples<'a> {
    folder: &'a Path,
    path: PathBuf,
    index_path: PathBuf,
}

/// How a samples file becomes complete.
struct Completion {
    /// Number of bytes of the file that are kept.
    kept_bytes: u64,
    /// What follows them.
    end: Vec<u8>,
    /// Number of samples in the completed file.
    rows: u64,
    /// Number of bytes after them that are not part of the end of a complete file.
    unreadable_bytes: u64,
    /// Whether row groups of the index are not in the file.
    lost_groups: bool,
    /// Sentences about what is not kept.
    losses: Vec<String>,
}

impl IncompleteSamples<'_> {
    fn complete(&self, index: &File, place: FooterPlacement) -> io::Result<u64> {
        let mut file = match durable::open_regular(&self.path) {
            // The recovery was interrupted after it had renamed the first of both files.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.is_set_aside() => {
                return durable::set_aside(&self.index_path).map(|()| 0);
            }
            opened => opened?,
        };
        if let Some(rows) = columns::rows_if_complete(&file) {
            return durable::remove(&self.index_path).map(|()| rows);
        }
        let completion = match read_index(index, &mut file)? {
            Ok(mut index) => {
                if let (Unfinished::Rows(rows), FooterPlacement::AtItsEnd { lost }) =
                    (&mut index.unfinished, place)
                {
                    *rows = lost.max(*rows);
                }
                completion(index, &mut file, place)?
            }
            Err(problem) => Err(problem),
        };
        match completion {
            Ok(completion) => {
                self.write(&mut file, &completion, place)?;
                durable::remove(&self.index_path).map(|()| completion.rows)
            }
            Err(problem) => self.set_aside(&problem).map(|()| 0),
        }
    }

    fn write(&self, file: &mut File, completion: &Completion, place: FooterPlacement) -> io::Result<()> {
        if place == FooterPlacement::Beside && completion.unreadable_bytes > 0 {
            // Without room for a copy, it is not cut either: a damaged index may not name row groups that are in it.
            add_losses(self.folder, &completion.losses)?;
            self.keep_end(file, completion)?;
        }
        let mut written = add_losses(self.folder, &completion.losses);
        if written.is_ok() && (place == FooterPlacement::Beside || completion.lost_groups) {
            written = self.write_beside(file, completion);
            if written.is_ok() {
                return written;
            }
        }
        match written {
            // What is cut makes room. If row groups are missing, the footer could later be mistaken for them.
            Err(error) if !is_full(&error) || completion.lost_groups => return Err(error),
            _ => {}
        }
        let mut file = OutputFile::truncate(&self.path, completion.kept_bytes)?;
        add_losses(self.folder, &completion.losses)?;
        file.write_all(&completion.end)?;
        file.sync()
    }

    fn write_beside(&self, file: &mut File, completion: &Completion) -> io::Result<()> {
        let disk = rustix::fs::statvfs(self.folder)?;
        if disk.f_bavail.saturating_mul(disk.f_frsize) < completion.kept_bytes + KEEP_FREE {
            return Err(io::ErrorKind::StorageFull.into());
        }
        durable::replace(&self.path, |mut copy| {
            copy_range(file, 0, completion.kept_bytes, &mut copy)?;
            copy.write_all(&completion.end)?;
            Ok((copy, ()))
        })
    }

    /// Copies the end of the file that is not kept in it to a file of its own, unless an interrupted recovery has done
    /// that.
    fn keep_end(&self, file: &mut File, completion: &Completion) -> io::Result<()> {
        let kept = durable::unreadable_name(&self.path);
        match durable::open_regular(&kept) {
            Ok(copy) if is_end(&copy, file, completion)? => return Ok(()),
            Ok(_) => return Err(durable::exists_already(&kept)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) => {}
        }
        durable::replace(&kept, |mut copy| {
            copy_range(file, completion.kept_bytes, completion.unreadable_bytes, &mut copy)?;
            Ok((copy, ()))
        })
    }

    /// Keeps the file and its index under other names, because one of them is damaged.
    fn set_aside(&self, problem: &str) -> io::Result<()> {
        let [samples, index] = [PARQUET, ROW_GROUP_INDEX].map(|name| format!("{name}{}", durable::DAMAGED));
        let loss = format!(
            "{PARQUET} cannot be completed, because {ROW_GROUP_INDEX} does not fit it ({problem}); both are kept, \
             as {samples} and {index}"
        );
        add_losses(self.folder, &[loss])?;
        durable::set_aside(&self.path)?;
        durable::set_aside(&self.index_path)
    }

    fn is_set_aside(&self) -> bool {
        durable::damaged_name(&self.path).exists()
    }
}

/// Returns how to complete a file, or what is damaged.
fn completion(
    index: RowGroupIndex,
    file: &mut File,
    place: FooterPlacement,
) -> io::Result<Result<Completion, String>> {
    let length = file.metadata()?.len();
    let mut present = index.groups;
    let lost = present.split_off(present.partition_point(|group| group.end_offset <= length));
    let kept_bytes = present.last().map_or(0, |group| group.end_offset);
    let (rows, lost_rows, lost_groups) = (count_rows(&present), count_rows(&lost), !lost.is_empty());
    let end = match present.len() {
        0 => empty_file()?,
        _ => footer(present.into_iter().map(|group| group.metadata).collect())?,
    };
    let mut losses = Vec::new();
    if lost_groups {
        let samples = samples_are(lost_rows);
        losses.push(format!("{lost_rows} {samples} lost, because {PARQUET} ends before them"));
    }
    // What follows is a part of a lost row group, or a part of the end that an interrupted recovery has written, or the
    // row group that the race was writing.
    let cut_bytes = length - kept_bytes;
    let is_end =
        !lost_groups && cut_bytes <= end.len() as u64 && end.starts_with(&read_end(file, cut_bytes)?);
    let unreadable_bytes = if is_end || index.unfinished == Unfinished::Footer { 0 } else { cut_bytes };
    if place == FooterPlacement::Beside && unreadable_bytes > MOST_UNREADABLE {
        return Ok(Err(format!("{unreadable_bytes} bytes follow the last row group that it names")));
    }
    match index.unfinished {
        _ if is_end && cut_bytes > 0 => {}
        Unfinished::Rows(rows) => losses.push(format!(
            "{rows} {samples} lost, because {PARQUET} did not contain them completely when the race ended",
            samples = samples_are(rows)
        )),
        Unfinished::Nothing if !lost_groups && cut_bytes > 0 => {
            return Ok(Err(format!("it ends at byte {kept_bytes} of {length}")));
        }
        Unfinished::Unknown if cut_bytes > 0 => losses.push(format!(
            "at most {ROW_GROUP_ROWS} samples are lost, because {PARQUET} did not contain them completely when the \
             race ended"
        )),
        _ => {}
    }
    if unreadable_bytes > 0 && place == FooterPlacement::Beside {
        losses.push(format!(
            "what follows byte {kept_bytes} of {PARQUET} ({unreadable_bytes} bytes) is not readable and is kept as \
             {PARQUET}{}",
            durable::UNREADABLE
        ));
    }
    Ok(Ok(Completion { kept_bytes, end, rows, unreadable_bytes, lost_groups, losses }))
}

/// Returns whether a file contains what follows the kept bytes of another one.
fn is_end(copy: &File, file: &mut File, completion: &Completion) -> io::Result<bool> {
    if copy.metadata()?.len() != completion.unreadable_bytes {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(completion.kept_bytes))?;
    let mut copied = BufReader::new(copy).bytes();
    for byte in BufReader::new(file).take(completion.unreadable_bytes).bytes() {
        if copied.next().transpose()? != Some(byte?) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn count_rows(groups: &[IndexedRowGroup]) -> u64 {
    groups.iter().map(|group| group.metadata.num_rows().cast_unsigned()).sum()
}

fn samples_are(count: u64) -> &'static str {
    if count == 1 { "sample is" } else { "samples are" }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), FileTooLarge | QuotaExceeded | StorageFull)
}
