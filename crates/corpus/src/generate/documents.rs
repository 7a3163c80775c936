//! Writes files whose documents are generated independently of each other, on one thread or many.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::generator::FileSpec;
use super::random::{Random, Streams, stream_of};

/// Approximate size of a chunk of documents that is written to the sink, in bytes.
const CHUNK_SIZE: usize = 256 * 1024;

/// Number of chunks that a thread may be ahead of the sink.
const LOOKAHEAD: usize = 2;

/// The documents of a file. A document depends only on its index and its own stream of random numbers, so the bytes are
/// the same for any number of threads.
pub(crate) trait Documents: Sync {
    /// Appends document `index` as one line.
    fn append(&self, index: u64, random: &mut Random, out: &mut Vec<u8>);
}

/// Selects every `period`-th document of a file, which then contains what a query of the track searches for.
///
/// The periods are chosen so that even a file of 1,000 documents, as in test mode, contains a few matches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Periodic {
    /// Distance between two selected documents.
    pub(crate) period: u64,
    /// Index of the first selected document.
    pub(crate) first: u64,
}

impl Periodic {
    /// Returns the number of selected documents before this one, or `None` if this document is not selected.
    #[inline]
    pub(crate) fn occurrence(self, index: u64) -> Option<u64> {
        (index % self.period == self.first).then(|| index / self.period)
    }

    /// Returns whether the document is selected.
    #[inline]
    pub(crate) fn matches(self, index: u64) -> bool {
        index % self.period == self.first
    }
}

/// Returns the random number streams for the documents of a file, given the `version` of its generator.
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
    let work = FileWriter {
        documents,
        count,
        streams,
        documents_per_chunk: documents_per_chunk(documents, count, streams),
    };
    let chunks = count.div_ceil(work.documents_per_chunk);
    let workers = u64::try_from(threads).unwrap_or(u64::MAX).min(chunks);
    if workers > 1 {
        return work.write_parallel(workers, sink);
    }
    let mut chunk = Vec::new();
    for number in 0..chunks {
        work.generate_chunk(number, &mut chunk);
        sink.write_all(&chunk)?;
    }
    Ok(())
}

/// Estimates from the first documents how many documents fill a chunk.
fn documents_per_chunk(documents: &dyn Documents, count: u64, streams: Streams) -> u64 {
    let (mut sample, tried) = (Vec::new(), count.min(4));
    (0..tried).for_each(|index| documents.append(index, &mut streams.stream(index), &mut sample));
    CHUNK_SIZE as u64 * tried / (sample.len() as u64).max(1) + 1
}

struct FileWriter<'a> {
    documents: &'a dyn Documents,
    count: u64,
    streams: Streams,
    documents_per_chunk: u64,
}

impl FileWriter<'_> {
    fn range(&self, chunk: u64) -> Range<u64> {
        let start = chunk * self.documents_per_chunk;
        start..(start + self.documents_per_chunk).min(self.count)
    }

    fn generate_chunk(&self, number: u64, chunk: &mut Vec<u8>) {
        chunk.clear();
        for index in self.range(number) {
            self.documents.append(index, &mut self.streams.stream(index), chunk);
        }
    }

    /// Generates every `workers`-th chunk on each worker, while this thread writes the chunks in order.
    fn write_parallel(&self, workers: u64, sink: &mut dyn Write) -> io::Result<()> {
        let chunks = self.count.div_ceil(self.documents_per_chunk);
        thread::scope(|scope| {
            let lines = (0..workers).map(|worker| {
                let (full, filled) = sync_channel(LOOKAHEAD);
                let (empty, emptied) = sync_channel(LOOKAHEAD + 1);
                let numbers = (worker..chunks).step_by(usize::try_from(workers).unwrap_or(1));
                scope.spawn(move || self.worker(numbers, &full, &emptied));
                (filled, empty)
            });
            // A worker ends once the receiver of its chunks is dropped.
            let lines: Vec<_> = lines.collect();
            for (filled, empty) in lines.iter().cycle().take(usize::try_from(chunks).unwrap_or(usize::MAX)) {
                let chunk = filled.recv().map_err(|_| io::Error::other("a generator thread panicked"))?;
                sink.write_all(&chunk)?;
                let _not_needed = empty.try_send(chunk);
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
            let mut chunk = emptied.try_recv().unwrap_or_default();
            self.generate_chunk(number, &mut chunk);
            if full.send(chunk).is_err() {
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
    fn the_bytes_are_the_same_for_any_number_of_threads() {
        for count in [0, 1, 2, 20_000] {
            let alone = file(count, 1);
            assert_eq!(alone.split(|byte| *byte == b'\n').count() as u64, count + 1);
            for threads in [2, 3, 16] {
                assert!(
                    file(count, threads) == alone,
                    "different bytes with {threads} threads and {count} documents"
                );
            }
        }
        assert!(
            file(20_000, 1).starts_with(&file(20, 1)),
            "the first documents depend on the number of documents"
        );
    }

    #[test]
    fn an_error_from_the_sink_ends_all_threads() {
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
