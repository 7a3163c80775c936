//! The interface of generators.

use std::io::{self, Write};

/// A file of a corpus, and the number of documents to generate for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSpec {
    /// File name, without a folder.
    pub name: String,
    /// Number of documents.
    pub documents: u64,
}

/// Returns the files of a corpus that consists of a single file.
pub(super) fn single_file(name: &str, documents: u64) -> Vec<FileSpec> {
    vec![FileSpec { name: name.to_owned(), documents }]
}

/// Generates the documents of a corpus from a seed.
pub trait Generator: Sync {
    /// Returns the name of the corpus that the generated data replaces, as tracks spell it.
    fn name(&self) -> &'static str;

    /// Returns the version of the data, which is raised whenever the same [`CorpusSpec`](super::CorpusSpec) gives
    /// different bytes.
    fn version(&self) -> u32;

    /// Returns the files of a corpus of `documents` documents, as the public track declares them. Their numbers of
    /// documents add up to exactly `documents`.
    fn files(&self, documents: u64) -> Vec<FileSpec>;

    /// Writes one file, in large pieces.
    ///
    /// The bytes depend on the file's name, its number of documents and the seed, never on `threads`, the number of
    /// threads that may be used. In a corpus with several files or formats, the file name selects one; any other name
    /// is also accepted.
    ///
    /// # Errors
    ///
    /// Only errors from `sink`.
    fn write(&self, file: &FileSpec, seed: u64, threads: usize, sink: &mut dyn Write) -> io::Result<()>;
}
