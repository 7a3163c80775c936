//! The interface of generators.

use std::io::{self, Write};

/// One file of a corpus, as its generator announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSpec {
    /// File name, without a folder.
    pub name: String,
    /// Number of documents.
    pub documents: u64,
}

/// The files of a corpus that consists of one file.
pub(super) fn single_file(name: &str, documents: u64) -> Vec<FileSpec> {
    vec![FileSpec { name: name.to_owned(), documents }]
}

/// Generates the documents of a corpus from a seed.
pub trait Generator: Sync {
    /// Name of the corpus that the generated data stands in for, as tracks spell it.
    fn name(&self) -> &'static str;

    /// Version of the data; raised whenever the same [`CorpusSpec`](super::CorpusSpec) gives other bytes than before.
    fn version(&self) -> u32;

    /// The files of a corpus of `documents` documents, as the public track declares them. Their documents add up to
    /// exactly that number.
    fn files(&self, documents: u64) -> Vec<FileSpec>;

    /// Writes one file in large pieces.
    ///
    /// The bytes depend on the file's name, its number of documents and the seed, never on `threads`, the number of
    /// threads that may work on it. Where a corpus has several files or kinds of files the name selects one; any other
    /// name is accepted as well.
    ///
    /// # Errors
    ///
    /// Only those of `sink`.
    fn write(&self, file: &FileSpec, seed: u64, threads: usize, sink: &mut dyn Write) -> io::Result<()>;
}
