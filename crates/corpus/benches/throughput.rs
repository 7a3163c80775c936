//! Measures the speed of the hot paths. Run all benchmarks with `cargo bench -p pacenote-corpus` (they need about 700
//! MB in the temporary folder), or some of them with `cargo bench -p pacenote-corpus -- unpack`.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // the program prints its results, and a failure should stop it

use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pacenote_corpus::{
    ActionLines, BulkBody, BulkReader, CorpusSpec, DocumentRange, IdActionLines, IdConflicts, IdStreamKey,
    LineFile, generate, generator, unpack,
};

const DOCUMENTS: u64 = 3_000_000;
const ROUNDS: usize = 5;

fn main() {
    // Cargo adds the argument `--bench`.
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
    if wanted("generate") {
        generating();
    }
    let folder = tempfile::tempdir().unwrap();
    let logs = generator("http_logs").unwrap();
    let recipe = CorpusSpec { files: logs.files(DOCUMENTS), seed: 1 };
    generate(logs, &recipe, folder.path(), &mut |_| ControlFlow::Continue(())).unwrap();
    let data = folder.path().join("documents-241998.json");
    if wanted("open") {
        opening(&data);
    }
    if wanted("bulk") {
        building(&data);
    }
    if wanted("unpack") {
        unpacking(&data);
    }
}

fn building(data: &Path) {
    let file = Arc::new(LineFile::open(data).unwrap());
    let action_lines = ActionLines::Line(b"{\"index\":{\"_index\":\"logs-241998\"}}\n".to_vec());
    bulks("bulk, one action line", &file, action_lines, file.line_count());
    for (what, update, recency) in [("index", false, 0.0), ("update", true, 0.0), ("recent", true, 0.5)] {
        let conflicts = IdConflicts { shuffled: true, probability: 0.25, update, recency };
        let seed = IdStreamKey { seed: 1, task: "index", client_number: 0, file_index: 0 };
        let ids = IdActionLines::new("\"logs-241998\"", &(0..file.line_count()), conflicts, seed);
        let action_lines = ActionLines::WithIds(Box::new(ids));
        bulks(&format!("bulk, ids, {what}"), &file, action_lines, file.line_count());
    }
    // Any two lines can serve as action line and source, because only the line ends matter.
    bulks("bulk, action lines in file", &file, ActionLines::InFile, file.line_count() / 2);
}

/// Returns the shortest duration of a few rounds, the one least disturbed by other load on the machine.
fn best(mut work: impl FnMut()) -> Duration {
    std::iter::repeat_with(|| timed(&mut work)).take(ROUNDS).min().unwrap()
}

fn timed(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

fn say(what: &str, took: Duration, documents: u64, bytes: u64) {
    let seconds = took.as_secs_f64();
    let (nanos, rate) = (seconds * 1e9 / documents as f64, documents as f64 / seconds / 1e6);
    let (speed, mean) = (bytes as f64 / seconds / 1e6, bytes as f64 / documents as f64);
    println!("{what:<24} {nanos:7.1} ns/doc {rate:7.1} M docs/s {speed:7.0} MB/s ({mean:.1} bytes/doc)");
}

/// A sink that counts bytes and costs almost nothing.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0 += data.len() as u64;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Measures every generator on one thread.
fn generating() {
    for name in generate::names() {
        let made = generator(name).unwrap();
        let mut sink = Count(0);
        let mut run = |documents| {
            let file = made.files(documents).into_iter().max_by_key(|file| file.documents).unwrap();
            let took = best(|| {
                sink.0 = 0;
                made.write(&file, 1, 1, &mut sink).unwrap();
            });
            (took, file.documents, sink.0)
        };
        // A round generates about 200 MB, regardless of the size of a document.
        let (_, documents, bytes) = run(1000);
        let (took, documents, bytes) = run(200_000_000 * documents / bytes);
        say(&format!("generate {name}"), took, documents, bytes);
    }
}

fn opening(data: &Path) {
    let mut side = data.as_os_str().to_owned();
    side.push(".offset");
    let mut file = LineFile::open(data).unwrap();
    let indexed = best(|| file = LineFile::open(data).unwrap());
    say("open, offset table", indexed, file.line_count(), file.len());
    let scanned = best(|| {
        std::fs::remove_file(&side).unwrap();
        file = LineFile::open(data).unwrap();
    });
    say("open, scan", scanned, file.line_count(), file.len());
}

fn bulks(what: &str, file: &Arc<LineFile>, action_lines: ActionLines, documents: u64) {
    let part = DocumentRange { file: Arc::clone(file), first_document: 0, documents, action_lines };
    let mut reader = BulkReader::new(vec![part], 5000).unwrap();
    let (mut body, mut bytes) = (BulkBody::new(), 0);
    let took = best(|| {
        reader.rewind();
        bytes = 0;
        while reader.next_into(&mut body).unwrap().is_some() {
            bytes += body.len() as u64;
        }
    });
    say(what, took, documents, bytes);
}

fn unpacking(data: &Path) {
    let (lines, text) = (LineFile::open(data).unwrap(), std::fs::read(data).unwrap());
    let folder = tempfile::tempdir().unwrap();
    // Unpacking this much data takes much longer than syncing a file to disk, which takes time even for a small file.
    for (kind, documents) in [("gz", 1_000_000), ("bz2", 300_000), ("zst", 2_000_000)] {
        let documents = lines.line_count().min(documents);
        let part = &text[..usize::try_from(lines.line_start(documents).unwrap().unwrap()).unwrap()];
        let bytes = packed(kind, part);
        let archive = folder.path().join(format!("data.json.{kind}"));
        std::fs::write(&archive, &bytes).unwrap();
        let ratio = part.len() as f64 / bytes.len() as f64;
        let round = || {
            // Replacing the files of the previous round would take additional time.
            let to = tempfile::tempdir_in(folder.path()).unwrap();
            timed(|| {
                unpack(&archive, to.path(), None, &mut |_| ControlFlow::Continue(())).unwrap();
            })
        };
        let took = std::iter::repeat_with(round).take(ROUNDS).min().unwrap();
        say(&format!("unpack .{kind}, 1:{ratio:.1}"), took, documents, part.len() as u64);
        // The library reads into buffers of the same size: with the small pieces of `io::copy`, gzip takes a third
        // longer.
        let mut buffer = vec![0; 256 << 10];
        let alone = best(|| {
            let (mut library, mut bytes) = (library(kind, &bytes), 0);
            while let Some(read) = Some(library.read(&mut buffer).unwrap()).filter(|read| *read > 0) {
                bytes += read;
            }
            assert_eq!(bytes, part.len());
        });
        say(&format!("library alone, .{kind}"), alone, documents, part.len() as u64);
        let share = alone.as_secs_f64() / took.as_secs_f64();
        println!("{:<24} {share:7.2} x library alone", format!("unpack .{kind}"));
    }
}

fn packed(kind: &str, data: &[u8]) -> Vec<u8> {
    match kind {
        "gz" => {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            gzip.write_all(data).unwrap();
            gzip.finish().unwrap()
        }
        "bz2" => {
            let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
            bzip2.write_all(data).unwrap();
            bzip2.finish().unwrap()
        }
        _ => zstd::encode_all(data, 3).unwrap(),
    }
}

/// Returns a reader that only decompresses, without writing, counting or additional threads.
fn library<'a>(kind: &str, bytes: &'a [u8]) -> Box<dyn Read + 'a> {
    match kind {
        "gz" => Box::new(flate2::bufread::MultiGzDecoder::new(bytes)),
        "bz2" => Box::new(bzip2::bufread::MultiBzDecoder::new(bytes)),
        _ => Box::new(zstd::Decoder::with_buffer(bytes).unwrap()),
    }
}
