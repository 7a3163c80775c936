//! Generating, unpacking and counting data files.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pacenote_corpus::{CorpusSpec, FileSpec, GenerateProgress, LineFile, UnpackProgress};
use pyo3::prelude::*;

use crate::error::core_error;

/// Interval at which progress is reported and signals are checked.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Name, documents and bytes of a generated file.
type FileRow = (String, u64, u64);

/// Reports progress to a Python callback, and keeps the exception that it raised.
struct ProgressReporter {
    callback: Py<PyAny>,
    last: Instant,
    raised: Option<PyErr>,
}

impl ProgressReporter {
    fn new(callback: Py<PyAny>) -> Self {
        Self { callback, last: Instant::now(), raised: None }
    }

    fn report(&mut self, done: u64, total: u64) -> ControlFlow<()> {
        if self.last.elapsed() < PROGRESS_INTERVAL {
            return ControlFlow::Continue(());
        }
        self.last = Instant::now();
        let reported = Python::attach(|py| {
            py.check_signals()?;
            self.callback.call1(py, (done, total)).map(|_| ())
        });
        match reported {
            Ok(()) => ControlFlow::Continue(()),
            Err(raised) => {
                self.raised = Some(raised);
                ControlFlow::Break(())
            }
        }
    }

    /// The result of the call; an exception of the callback takes precedence.
    fn finish<T>(self, result: Result<T, pacenote_corpus::CorpusError>) -> PyResult<T> {
        match self.raised {
            Some(raised) => Err(raised),
            None => result.map_err(core_error),
        }
    }
}

/// Names of the corpora that can be generated.
#[pyfunction]
pub fn generators() -> Vec<&'static str> {
    pacenote_corpus::generate::names().collect()
}

/// Version of a generator; another version generates other bytes for the same files and seed.
#[pyfunction]
pub fn generator_version(name: &str) -> PyResult<u32> {
    Ok(find(name)?.version())
}

fn find(name: &str) -> PyResult<&'static dyn pacenote_corpus::Generator> {
    pacenote_corpus::generator(name)
        .ok_or_else(|| core_error(format!("there is no generator for the corpus {name}")))
}

/// The files, as (name, documents), of a generated corpus of `documents` documents; the numbers of the files add up to
/// it.
#[pyfunction]
pub fn generator_files(name: &str, documents: u64) -> PyResult<Vec<(String, u64)>> {
    let files = find(name)?.files(documents);
    Ok(files.into_iter().map(|file| (file.name, file.documents)).collect())
}

/// Generates files, given as (name, documents), of a corpus into `folder`. `progress(done, total)` is called with
/// numbers of documents. Returns the version of the generator and the files as (name, documents, bytes).
#[pyfunction]
pub fn generate(
    name: &str,
    files: Vec<(String, u64)>,
    seed: u64,
    folder: PathBuf,
    progress: Bound<'_, PyAny>,
) -> PyResult<(u32, Vec<FileRow>)> {
    let generator = find(name)?;
    let files = files.into_iter().map(|(name, documents)| FileSpec { name, documents }).collect();
    let spec = CorpusSpec { files, seed };
    let py = progress.py();
    let mut reporter = ProgressReporter::new(progress.unbind());
    let made = py.detach(|| {
        let mut report = |at: GenerateProgress| reporter.report(at.documents, at.documents_total);
        pacenote_corpus::generate(generator, &spec, &folder, &mut report)
    });
    let made = reporter.finish(made)?;
    let files = made.files.into_iter().map(|file| (file.name, file.documents, file.bytes)).collect();
    Ok((made.version, files))
}

/// Unpacks an archive into `folder`. `progress(done, total)` is called with numbers of bytes of the archive. Returns
/// the path of the unpacked file and its length in bytes.
#[pyfunction]
pub fn unpack(
    py: Python<'_>,
    archive: PathBuf,
    folder: PathBuf,
    max_bytes: Option<u64>,
    progress: Py<PyAny>,
) -> PyResult<(PathBuf, u64)> {
    let mut reporter = ProgressReporter::new(progress);
    let unpacked = py.detach(|| {
        let mut report = |at: UnpackProgress| reporter.report(at.bytes_in, at.bytes_in_total);
        pacenote_corpus::unpack(&archive, &folder, max_bytes, &mut report)
    });
    let unpacked = reporter.finish(unpacked)?;
    Ok((unpacked.path, unpacked.bytes))
}

/// Number of lines of an unpacked file; writes its `.offset` file unless a valid one exists.
#[pyfunction]
pub fn count_lines(py: Python<'_>, file: PathBuf) -> PyResult<u64> {
    let count = |file: &Path| LineFile::open(file).map(|file| file.line_count());
    py.detach(|| count(&file)).map_err(core_error)
}

/// The CRC-32C of a file.
#[pyfunction]
pub fn crc32c(py: Python<'_>, file: PathBuf) -> PyResult<u32> {
    py.detach(|| pacenote_corpus::crc32c(&file)).map_err(core_error)
}
