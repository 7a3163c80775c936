//! Files whose documents are made one by one, by one thread or by many.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::generator::FileSpec;
use super::random::{Random, Streams, stream_of};

/// Bytes handed to the sink at once, about.
const PIECE: usize = 256 * 1024;

/// Pieces that a thread may be ahead of the sink.
const AHEAD: usize = 2;

/// What a file holds. A document depends on its number and its own stream of random numbers alone, so any number of
/// threads makes the same bytes.
pub(crate) trait Documents: Sync {
    /// Appends document `index`, one line.
    fn append(&self, index: u64, random: &mut Random, out: &mut Vec<u8>);
}

/// A place in a file that every `period`-th document has, for what a query looks for.
///
/// The periods of a corpus are near 1000 divided by how often it is wanted in the small file of the test mode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Periodic {
    pub(crate) period: u64,
    pub(crate) first: u64,
}

impl Periodic {
    /// Of a document that has this place, how many had it before.
    #[inline]
    pub(crate) fn turn(self, index: u64) -> Option<u64> {
        (index % self.period == self.first).then(|| index / self.period)
    }

    /// Whether a document has this place.
    #[inline]
    pub(crate) fn has(self, index: u64) -> bool {
        index % self.period == self.first
    }
}

/// The streams of the documents of a file of a generator's `version`.
pub(crate) fn streams(seed: u64, version: u32, file: &FileSpec) -> Streams {
    Streams::new(seed, &[u64::from(version), stream_of(&file.name)])
}

/// Writes `count` documents.
pub(crate) fn write(
    documents: &dyn Documents,
    count: u64,
    streams: Streams,
    threads: usize,
    sink: &mut dyn Write,
) -> io::Result<()> {
    let work = Work { documents, count, streams, per_piece: per_piece(documents, count, streams) };
    let pieces = count.div_ceil(work.per_piece);
    let workers = u64::try_from(threads).unwrap_or(u64::MAX).min(pieces);
    if workers > 1 {
        return work.together(workers, sink);
    }
    let mut piece = Vec::new();
    for number in 0..pieces {
        work.make(number, &mut piece);
        sink.write_all(&piece)?;
    }
    Ok(())
}

/// Documents that fill a piece, about, by the first ones.
fn per_piece(documents: &dyn Documents, count: u64, streams: Streams) -> u64 {
    let (mut sample, tried) = (Vec::new(), count.min(4));
    (0..tried).for_each(|index| documents.append(index, &mut streams.stream(index), &mut sample));
    PIECE as u64 * tried / (sample.len() as u64).max(1) + 1
}

struct Work<'a> {
    documents: &'a dyn Documents,
    count: u64,
    streams: Streams,
    per_piece: u64,
}

impl Work<'_> {
    fn range(&self, piece: u64) -> Range<u64> {
        let start = piece * self.per_piece;
        start..(start + self.per_piece).min(self.count)
    }

    fn make(&self, number: u64, piece: &mut Vec<u8>) {
        piece.clear();
        for index in self.range(number) {
            self.documents.append(index, &mut self.streams.stream(index), piece);
        }
    }

    /// Each worker makes every `workers`-th piece; the sink takes them in turn, on this thread.
    fn together(&self, workers: u64, sink: &mut dyn Write) -> io::Result<()> {
        let pieces = self.count.div_ceil(self.per_piece);
        thread::scope(|scope| {
            let lines = (0..workers).map(|worker| {
                let (full, filled) = sync_channel(AHEAD);
                let (empty, emptied) = sync_channel(AHEAD + 1);
                let numbers = (worker..pieces).step_by(usize::try_from(workers).unwrap_or(1));
                scope.spawn(move || self.worker(numbers, &full, &emptied));
                (filled, empty)
            });
            // A worker ends by itself as soon as nobody takes its pieces any more.
            let lines: Vec<_> = lines.collect();
            for (filled, empty) in lines.iter().cycle().take(usize::try_from(pieces).unwrap_or(usize::MAX)) {
                let piece = filled.recv().map_err(|_| io::Error::other("a generating thread died"))?;
                sink.write_all(&piece)?;
                let _not_needed = empty.try_send(piece);
            }
            Ok(())
        })
    }

    fn worker(
        &self,
        numbers: impl Iterator<Item = u64>,
        full: &SyncSender<Vec<u8>>,
        emptied: &Receiver<Vec<u8>>,
    ) {
        for number in numbers {
            let mut piece = emptied.try_recv().unwrap_or_default();
            self.make(number, &mut piece);
            if full.send(piece).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Lines;

    impl Documents for Lines {
        fn append(&self, index: u64, random: &mut Random, out: &mut Vec<u8>) {
            let width = random.below(300) as usize;
            out.extend_from_slice(format!("{index} {:width$}\n", random.next()).as_bytes());
        }
    }

    fn file(count: u64, threads: usize) -> Vec<u8> {
        let mut sink = Vec::new();
        write(&Lines, count, Streams::new(3, &[]), threads, &mut sink).unwrap();
        sink
    }

    #[test]
    fn any_number_of_threads_makes_the_same_bytes() {
        for count in [0, 1, 2, 20_000] {
            let alone = file(count, 1);
            assert_eq!(alone.split(|byte| *byte == b'\n').count() as u64, count + 1);
            for threads in [2, 3, 16] {
                assert!(file(count, threads) == alone, "{threads} threads, {count} documents");
            }
        }
        assert!(file(20_000, 1).starts_with(&file(20, 1)), "the first documents stay the same");
    }

    #[test]
    fn a_sink_that_fails_ends_all_threads() {
        struct Full(usize);
        impl Write for Full {
            fn write(&mut self, data: &[u8]) -> io::Result<usize> {
                self.0 = self.0.checked_sub(data.len()).ok_or(io::ErrorKind::StorageFull)?;
                Ok(data.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for threads in [1, 3] {
            let error = write(&Lines, 50_000, Streams::new(3, &[]), threads, &mut Full(1 << 20)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }
}
