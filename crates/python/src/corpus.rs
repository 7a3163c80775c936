//! Generates, unpacks and counts data files.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pacenote_corpus::{CorpusSpec, FileSpec, GenerateProgress, GeneratedFile, LineFile, UnpackProgress};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::core_error;

/// Interval at which progress is reported and signals are checked.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// A generated file.
#[pyclass(frozen, get_all, name = "GeneratedFile")]
pub struct PyGeneratedFile {
    name: String,
    documents: u64,
    bytes: u64,
}

/// The files of a generated corpus, and the version of its generator.
#[pyclass(frozen, get_all, name = "GeneratedFiles")]
pub struct PyGeneratedFiles {
    version: u32,
    files: Vec<Py<PyGeneratedFile>>,
}

/// An unpacked data file.
#[pyclass(frozen, get_all, name = "UnpackedFile")]
pub struct PyUnpackedFile {
    path: PathBuf,
    bytes: u64,
}

/// Reports progress to a Python callback, and keeps an exception that the callback raises.
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

    /// Returns the result of the call; an exception from the callback takes precedence.
    fn finish<T>(self, result: Result<T, pacenote_corpus::CorpusError>) -> PyResult<T> {
        match self.raised {
            Some(raised) => Err(raised),
            None => result.map_err(core_error),
        }
    }
}

/// Returns the names of the corpora that can be generated.
#[pyfunction]
pub fn generators() -> Vec<&'static str> {
    pacenote_corpus::generate::names().collect()
}

/// Returns the version of a generator. Different versions generate different bytes for the same files and seed.
#[pyfunction]
pub fn generator_version(name: &str) -> PyResult<u32> {
    Ok(find(name)?.version())
}

fn find(name: &str) -> PyResult<&'static dyn pacenote_corpus::Generator> {
    pacenote_corpus::generator(name)
        .ok_or_else(|| core_error(format!("there is no generator for the corpus {name}")))
}

/// Returns the number of documents in each file of a generated corpus, keyed by file name; they add up to `documents`.
#[pyfunction]
pub fn generator_files<'py>(py: Python<'py>, name: &str, documents: u64) -> PyResult<Bound<'py, PyDict>> {
    let counts = PyDict::new(py);
    for file in find(name)?.files(documents) {
        counts.set_item(file.name, file.documents)?;
    }
    Ok(counts)
}

/// Generates the files of a corpus in `folder`; `files` maps each file name to its number of documents. `progress(done,
/// total)` is called with numbers of documents.
#[pyfunction]
pub fn generate(
    name: &str,
    files: Bound<'_, PyDict>,
    seed: u64,
    folder: PathBuf,
    progress: Bound<'_, PyAny>,
) -> PyResult<PyGeneratedFiles> {
    let generator = find(name)?;
    let spec_of = |(name, documents): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        Ok(FileSpec { name: name.extract()?, documents: documents.extract()? })
    };
    let spec = CorpusSpec { files: files.iter().map(spec_of).collect::<PyResult<_>>()?, seed };
    let py = progress.py();
    let mut reporter = ProgressReporter::new(progress.unbind());
    let made = py.detach(|| {
        let mut report = |at: GenerateProgress| reporter.report(at.documents, at.documents_total);
        pacenote_corpus::generate(generator, &spec, &folder, &mut report)
    });
    let made = reporter.finish(made)?;
    let file_object = |file: GeneratedFile| {
        Py::new(py, PyGeneratedFile { name: file.name, documents: file.documents, bytes: file.bytes })
    };
    let files = made.files.into_iter().map(file_object).collect::<PyResult<_>>()?;
    Ok(PyGeneratedFiles { version: made.version, files })
}

/// Unpacks an archive into `folder`. `progress(done, total)` is called with the numbers of bytes read from the archive
/// and in it.
#[pyfunction]
pub fn unpack(
    py: Python<'_>,
    archive: PathBuf,
    folder: PathBuf,
    max_bytes: Option<u64>,
    progress: Py<PyAny>,
) -> PyResult<PyUnpackedFile> {
    let mut reporter = ProgressReporter::new(progress);
    let unpacked = py.detach(|| {
        let mut report = |at: UnpackProgress| reporter.report(at.bytes_in, at.bytes_in_total);
        pacenote_corpus::unpack(&archive, &folder, max_bytes, &mut report)
    });
    let unpacked = reporter.finish(unpacked)?;
    Ok(PyUnpackedFile { path: unpacked.path, bytes: unpacked.bytes })
}

/// Returns the number of lines of an unpacked file, and writes its `.offset` file unless a valid one exists.
#[pyfunction]
pub fn count_lines(py: Python<'_>, file: PathBuf) -> PyResult<u64> {
    let count = |file: &Path| LineFile::open(file).map(|file| file.line_count());
    py.detach(|| count(&file)).map_err(core_error)
}

/// Returns the CRC-32C of a file.
#[pyfunction]
pub fn crc32c(py: Python<'_>, file: PathBuf) -> PyResult<u32> {
    py.detach(|| pacenote_corpus::crc32c(&file)).map_err(core_error)
}
