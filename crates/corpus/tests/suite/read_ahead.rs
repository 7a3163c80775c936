//! Reads files that are not in the page cache.
#![allow(clippy::print_stderr, reason = "a test says that it was skipped")]

use std::fs::{self, File};
use std::io::IoSliceMut;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pacenote_corpus::{
    ActionLines, BulkBody, BulkReader, DiskWaits, DocumentRange, LineFile, ReadAhead, take_disk_waits,
};
use rustix::fs::{Advice, fadvise};
use rustix::io::{ReadWriteFlags, preadv2};

const LINE: usize = 1000;
const LINES: u64 = 8_000;

/// Returns whether a byte of a file is in the page cache.
fn is_cached(file: &File, offset: u64) -> bool {
    let mut byte = [0];
    preadv2(file, &mut [IoSliceMut::new(&mut byte)], offset, ReadWriteFlags::NOWAIT).is_ok()
}

/// Removes a file from the page cache. Returns `false` if its file system cannot do that, as in memory.
fn evict(path: &Path) -> bool {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    // The kernel keeps pages that a processor has not yet put on its lists, or that something else is using.
    let evicted = (0..100).any(|attempt| {
        thread::sleep(Duration::from_millis(attempt));
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        !is_cached(&file, 0) && !is_cached(&file, LINE as u64 * LINES - 1)
    });
    if !evicted {
        eprintln!("waits for the disk cannot be tested: {} cannot be removed from memory", path.display());
    }
    evicted
}

/// Returns the number of bytes that this thread has had the kernel read from disks.
fn bytes_from_disk() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("read_bytes: ")).unwrap().parse().unwrap()
}

fn reader(file: &Arc<LineFile>) -> BulkReader {
    let range = |first_document, documents| DocumentRange {
        file: Arc::clone(file),
        first_document,
        documents,
        action_lines: ActionLines::Line(b"{}\n".to_vec()),
    };
    BulkReader::new(vec![range(0, LINES / 2), range(LINES / 2, LINES / 2)], 100).unwrap()
}

fn read_all(reader: &mut BulkReader) -> u32 {
    let mut body = BulkBody::new();
    std::iter::from_fn(|| reader.next_into(&mut body).unwrap()).sum()
}

#[test]
fn waits_for_the_disk_are_counted_and_reading_ahead_prevents_them() {
    // The folder of the tests is not in memory, whereas `/tmp` may be.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("data.json");
    fs::write(&path, ("x".repeat(LINE - 1) + "\n").repeat(usize::try_from(LINES).unwrap())).unwrap();
    let file = Arc::new(LineFile::open(&path).unwrap());
    let mut cold = reader(&file);
    if !evict(&path) {
        return;
    }
    take_disk_waits();
    assert_eq!(u64::from(read_all(&mut cold)), LINES);
    // Another thread has its own waits.
    assert_eq!(thread::spawn(take_disk_waits).join().unwrap().count, 0);
    let waits = take_disk_waits();
    assert!(waits.count > 0 && waits.total_ns >= waits.longest_ns && waits.longest_ns > 0, "{waits:?}");
    assert_eq!(waits.path.as_ref(), Some(&path));
    assert_eq!(take_disk_waits(), DiskWaits::default());

    // A busy system may evict a page again, or make a read wait for something else.
    assert!(
        (0..5).any(|_| disk_waits_after_reading_ahead(&path, &mut reader(&file), 0) == 0),
        "reads waited for the disk"
    );
}

#[test]
fn a_range_whose_lines_are_longer_than_the_mean_is_read_ahead_to_its_end() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("data.json");
    let lines = |length: usize| ("x".repeat(length - 1) + "\n").repeat(usize::try_from(LINES / 2).unwrap());
    fs::write(&path, lines(LINE / 10) + &lines(LINE * 19 / 10)).unwrap();
    if !evict(&path) {
        return;
    }
    let long_lines = DocumentRange {
        file: Arc::new(LineFile::open(&path).unwrap()),
        first_document: LINES / 2,
        documents: LINES / 2,
        action_lines: ActionLines::Line(b"{}\n".to_vec()),
    };
    let mut reader = BulkReader::new(vec![long_lines], 100).unwrap();
    let begin = LINES / 2 * LINE as u64 / 10;
    assert!(
        (0..5).any(|_| disk_waits_after_reading_ahead(&path, &mut reader, begin) == 0),
        "reads waited for the disk"
    );
}

/// Reads a file ahead that is not cached, from `begin` to its end, then reads its documents. Returns how often that
/// waited for the disk.
fn disk_waits_after_reading_ahead(path: &Path, reader: &mut BulkReader, begin: u64) -> u64 {
    reader.rewind();
    assert!(evict(path));
    take_disk_waits();
    // The window of a single reader is longer than the file.
    let mut ahead = ReadAhead::new(vec![reader.followed()]);
    let before = bytes_from_disk();
    ahead.advance();
    let end = LINE as u64 * LINES;
    assert!(bytes_from_disk() - before >= (end - begin) * 9 / 10, "too little was read ahead");
    let bytes = File::open(path).unwrap();
    for offset in (begin..end).step_by(4096) {
        let loaded = (0..10_000).any(|_| {
            is_cached(&bytes, offset) || {
                thread::sleep(Duration::from_millis(1));
                false
            }
        });
        assert!(loaded, "byte {offset} was not read ahead");
    }
    assert!(read_all(reader) > 0);
    take_disk_waits().count
}
