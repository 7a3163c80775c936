//! Generates corpora from a seed, so that a race needs no download.
//!
//! Each generator is a file or folder of this module and an entry in `GENERATORS`. The bytes that it writes depend only
//! on its version, the file name, the number of documents and the seed, not on the clock, the platform or the number of
//! threads. Random numbers come from published algorithms (see `random`), and all arithmetic uses integers. A change to
//! the bytes requires a new version.
//!
//! The documentation of each generator says what the operations of its track search for, and how the generated data
//! provides it. No generator contains data from a public corpus: fields, shapes, sizes and the literals of queries are
//! facts about the tracks; everything else comes from Pacenote's own vocabularies.

mod append;
mod big5;
mod daily_load;
mod documents;
mod generator;
mod geonames;
mod geopoint;
mod http_logs;
mod noaa;
mod nyc_taxis;
mod percolator;
mod pmc;
mod prose;
pub(crate) mod random;
mod split;
mod stackoverflow;

use std::io::{self, Write};
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Component, Path};
use std::thread;

pub use generator::{FileSpec, Generator};

use crate::error::CorpusError;
use crate::writer::{CorpusWriter, REPORT_EVERY, SyncedFile, free_space};

/// The files to generate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorpusSpec {
    /// The files, as a track declares them or [`Generator::files`] returns them.
    pub files: Vec<FileSpec>,
    /// The seed of all random numbers.
    pub seed: u64,
}

/// All generators.
static GENERATORS: &[&dyn Generator] = &[
    &geonames::Geonames,
    &http_logs::HttpLogs { unparsed: false },
    &http_logs::HttpLogs { unparsed: true },
    &nyc_taxis::NycTaxis,
    &nyc_taxis::lookups::PAYMENT_TYPES,
    &nyc_taxis::lookups::RATE_CODES,
    &nyc_taxis::lookups::TRIP_TYPES,
    &nyc_taxis::lookups::VENDORS,
    &pmc::Pmc,
    &geopoint::Geopoints { shape: false },
    &geopoint::Geopoints { shape: true },
    &noaa::Noaa { name: "noaa" },
    &noaa::Noaa { name: "noaa-sql" },
    &stackoverflow::nested::NestedQuestions,
    &percolator::Percolator,
    &stackoverflow::so::StackOverflow,
    &big5::Big5,
];

/// Returns the generator for the corpus `name`, or `None` if there is none.
#[must_use]
pub fn generator(name: &str) -> Option<&'static dyn Generator> {
    GENERATORS.iter().copied().find(|generator| generator.name() == name)
}

/// Returns the names of all generators.
pub fn names() -> impl Iterator<Item = &'static str> {
    GENERATORS.iter().map(|generator| generator.name())
}

/// Progress of generating a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GenerateProgress {
    /// Documents written so far, in all files.
    pub documents: u64,
    /// Documents to write, in all files.
    pub documents_total: u64,
    /// Bytes written so far, in all files.
    pub bytes: u64,
}

/// A generated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// File name, without a folder.
    pub name: String,
    /// Number of documents, one per line.
    pub documents: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// A generated corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedCorpus {
    /// Name of the generator.
    pub generator: &'static str,
    /// Version of the generator; the same version and spec always give the same bytes.
    pub version: u32,
    /// The files, in the order of the spec.
    pub files: Vec<GeneratedFile>,
}

/// Generates the files of a [`CorpusSpec`] in `folder`, each with its offset table.
///
/// The files get their final names only when all of them are complete; after an error, no file is left behind.
/// `progress` is called about every 8 MiB and at the end of each file; if it returns `Break`, the generation stops.
///
/// # Errors
///
/// [`CorpusError::Write`], [`CorpusError::DiskFull`] (64 MiB are always kept free), [`CorpusError::Interrupted`];
/// [`CorpusError::BadFileName`] for names that are not distinct, plain file names; [`CorpusError::WrongCount`] if a
/// generator writes a different number of documents than announced.
pub fn generate(
    generator: &dyn Generator,
    recipe: &CorpusSpec,
    folder: &Path,
    progress: &mut dyn FnMut(GenerateProgress) -> ControlFlow<()>,
) -> Result<GeneratedCorpus, CorpusError> {
    check_names(&recipe.files, folder)?;
    let documents_total = recipe.files.iter().map(|file| file.documents).sum();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut so_far = GenerateProgress { documents: 0, documents_total, bytes: 0 };
    let (mut files, mut complete) = (Vec::new(), Vec::new());
    for spec in &recipe.files {
        let target = folder.join(&spec.name);
        let output = CorpusWriter::create(&target, free_space)?;
        let mut sink = Sink { output, before: so_far, progress, report_at: REPORT_EVERY, failure: None };
        let written = generator.write(spec, recipe.seed, threads, &mut sink).and_then(|()| sink.flush());
        if let Err(cause) = written {
            return Err(sink.failure.unwrap_or_else(|| CorpusError::write(&target, cause)));
        }
        so_far = sink.so_far();
        let bytes = sink.output.bytes_written();
        let synced = sink.output.sync()?;
        if synced.line_count() != spec.documents {
            let (announced, written) = (spec.documents, synced.line_count());
            return Err(CorpusError::WrongCount { path: target, announced, written });
        }
        files.push(GeneratedFile { name: spec.name.clone(), documents: spec.documents, bytes });
        complete.push(synced);
    }
    complete.into_iter().try_for_each(|file| SyncedFile::persist(file).map(|_| ()))?;
    Ok(GeneratedCorpus { generator: generator.name(), version: generator.version(), files })
}

/// Checks that all names are distinct, plain file names.
fn check_names(files: &[FileSpec], folder: &Path) -> Result<(), CorpusError> {
    let bad = |name: &str, reason| Err(CorpusError::BadFileName { path: folder.join(name), reason });
    for (index, FileSpec { name, .. }) in files.iter().enumerate() {
        let mut parts = Path::new(name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(only)), None) if only == name.as_str())
        {
            return bad(name, "it is not a plain file name");
        }
        if files[..index].iter().any(|earlier| earlier.name == *name) {
            return bad(name, "two files have this name");
        }
    }
    Ok(())
}

/// Writes the bytes of a generator to the file and reports progress. An error is stored in `failure`; the generator
/// only sees an `io::Error` that stands for it.
struct Sink<'a> {
    output: CorpusWriter,
    before: GenerateProgress,
    progress: &'a mut dyn FnMut(GenerateProgress) -> ControlFlow<()>,
    report_at: u64,
    failure: Option<CorpusError>,
}

impl Sink<'_> {
    fn so_far(&self) -> GenerateProgress {
        let (documents, bytes) = (self.output.newline_count(), self.output.bytes_written());
        let before = self.before;
        GenerateProgress { documents: before.documents + documents, bytes: before.bytes + bytes, ..before }
    }

    fn report(&mut self) -> Result<(), CorpusError> {
        self.report_at = self.output.bytes_written() + REPORT_EVERY;
        let so_far = self.so_far();
        match (self.progress)(so_far) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                Err(CorpusError::Interrupted { path: self.output.target().to_path_buf() })
            }
        }
    }

    fn stop(&mut self, failure: CorpusError) -> io::Error {
        self.failure = Some(failure);
        io::Error::other("stopped")
    }
}

impl Write for Sink<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.output.write(data).map_err(|failure| self.stop(failure))?;
        if self.output.bytes_written() >= self.report_at {
            self.report().map_err(|failure| self.stop(failure))?;
        }
        Ok(data.len())
    }

    /// Reports the progress at the end of a file.
    fn flush(&mut self) -> io::Result<()> {
        self.report().map_err(|failure| self.stop(failure))
    }
}
