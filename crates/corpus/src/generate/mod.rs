//! Seeded generators: corpora that need no download.
//!
//! A generator is one file (or folder) here and one line in the table `GENERATORS`. Its bytes depend on its version, the
//! file's name, its number of documents and the seed, and on nothing else: no clock, no platform, no number of threads,
//! no library whose update could change them (random numbers are our own, arithmetic is in integers). Whoever changes
//! the bytes raises the version.
//!
//! Each says in its own documentation what the operations of the track look for and how it is there. None holds data of
//! the real corpora: fields, shapes, sizes and the literals that queries ask for are facts of the tracks, everything
//! else is made of vocabularies of our own.

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
use crate::writer::{Output, REPORT_EVERY, SyncedFile, free_space};

/// What to generate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorpusSpec {
    /// The files, each by its own name: a track's own, or those of [`Generator::files`].
    pub files: Vec<FileSpec>,
    /// Seed of all randomness.
    pub seed: u64,
}

/// All generators.
static GENERATORS: &[&dyn Generator] = &[
    &geonames::Geonames,
    &http_logs::Weeks { unparsed: false },
    &http_logs::Weeks { unparsed: true },
    &nyc_taxis::Taxis,
    &nyc_taxis::lookups::PAYMENT_TYPES,
    &nyc_taxis::lookups::RATE_CODES,
    &nyc_taxis::lookups::TRIP_TYPES,
    &nyc_taxis::lookups::VENDORS,
    &pmc::Pmc,
    &geopoint::Points { shape: false },
    &geopoint::Points { shape: true },
    &noaa::Noaa { name: "noaa" },
    &noaa::Noaa { name: "noaa-sql" },
    &stackoverflow::nested::Nested,
    &percolator::Percolator,
    &stackoverflow::so::So,
    &big5::Big5,
];

/// The generator for the corpus `name`.
#[must_use]
pub fn generator(name: &str) -> Option<&'static dyn Generator> {
    GENERATORS.iter().copied().find(|generator| generator.name() == name)
}

/// The names of all generators.
pub fn names() -> impl Iterator<Item = &'static str> {
    GENERATORS.iter().map(|generator| generator.name())
}

/// How far generating has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GenerateProgress {
    /// Documents written so far, in all files.
    pub documents: u64,
    /// Documents to write.
    pub documents_total: u64,
    /// Bytes written so far, in all files.
    pub bytes: u64,
}

/// One file that was generated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// File name, without a folder.
    pub name: String,
    /// Its documents, one per line.
    pub documents: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A corpus that was generated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedCorpus {
    /// The generator's name.
    pub generator: &'static str,
    /// The generator's version: same version and recipe, same bytes.
    pub version: u32,
    /// The files, in the recipe's order.
    pub files: Vec<GeneratedFile>,
}

/// Generates the files of a recipe into `folder`, each with its `.offset` side file.
///
/// The files get their names only when all of them are whole; on an error before that nothing is left. `progress` is
/// called about every 8 MiB and at the end of each file; `Break` stops the work.
///
/// # Errors
///
/// [`CorpusError::Write`], [`CorpusError::DiskFull`] (64 MiB always stay free), [`CorpusError::Interrupted`];
/// [`CorpusError::BadFileName`] for names that do not name one file each in `folder`; [`CorpusError::WrongCount`] for
/// a defective generator.
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
    let (mut files, mut whole) = (Vec::new(), Vec::new());
    for spec in &recipe.files {
        let target = folder.join(&spec.name);
        let output = Output::create(&target, free_space)?;
        let mut sink = Sink { output, before: so_far, progress, report_at: REPORT_EVERY, failure: None };
        let written = generator.write(spec, recipe.seed, threads, &mut sink).and_then(|()| sink.flush());
        if let Err(cause) = written {
            return Err(sink.failure.unwrap_or_else(|| CorpusError::write(&target, cause)));
        }
        so_far = sink.so_far();
        let bytes = sink.output.bytes();
        let sealed = sink.output.seal()?;
        if sealed.lines() != spec.documents {
            let (announced, written) = (spec.documents, sealed.lines());
            return Err(CorpusError::WrongCount { path: target, announced, written });
        }
        files.push(GeneratedFile { name: spec.name.clone(), documents: spec.documents, bytes });
        whole.push(sealed);
    }
    whole.into_iter().try_for_each(|file| SyncedFile::publish(file).map(|_| ()))?;
    Ok(GeneratedCorpus { generator: generator.name(), version: generator.version(), files })
}

/// Each name is one of a file, and of another file than the others.
fn check_names(files: &[FileSpec], folder: &Path) -> Result<(), CorpusError> {
    let bad = |name: &str, reason| Err(CorpusError::BadFileName { path: folder.join(name), reason });
    for (index, FileSpec { name, .. }) in files.iter().enumerate() {
        let mut parts = Path::new(name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(only)), None) if only == name.as_str())
        {
            return bad(name, "it is not the plain name of a file");
        }
        if files[..index].iter().any(|earlier| earlier.name == *name) {
            return bad(name, "two files have this name");
        }
    }
    Ok(())
}

/// Takes a generator's bytes to the file and reports; a failure is kept aside, as `io::Error` could not carry it.
struct Sink<'a> {
    output: Output,
    before: GenerateProgress,
    progress: &'a mut dyn FnMut(GenerateProgress) -> ControlFlow<()>,
    report_at: u64,
    failure: Option<CorpusError>,
}

impl Sink<'_> {
    fn so_far(&self) -> GenerateProgress {
        let (documents, bytes) = (self.output.lines(), self.output.bytes());
        let before = self.before;
        GenerateProgress { documents: before.documents + documents, bytes: before.bytes + bytes, ..before }
    }

    fn report(&mut self) -> Result<(), CorpusError> {
        self.report_at = self.output.bytes() + REPORT_EVERY;
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
        self.output.push(data).map_err(|failure| self.stop(failure))?;
        if self.output.bytes() >= self.report_at {
            self.report().map_err(|failure| self.stop(failure))?;
        }
        Ok(data.len())
    }

    /// The end of a file.
    fn flush(&mut self) -> io::Result<()> {
        self.report().map_err(|failure| self.stop(failure))
    }
}
