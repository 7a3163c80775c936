//! Functions shared by the tests of the generators.

use pacenote_corpus::{FileSpec, Generator, generator};
use serde_json::Value;

/// Returns the generator of a corpus.
pub fn of(corpus: &str) -> &'static dyn Generator {
    generator(corpus).expect("the generator is registered")
}

/// Generates one file, and returns its bytes.
pub fn bytes(corpus: &str, file: &FileSpec, seed: u64, threads: usize) -> Vec<u8> {
    let mut sink = Vec::new();
    of(corpus).write(file, seed, threads, &mut sink).unwrap();
    sink
}

/// Generates a whole corpus and returns the parsed documents. Checks that each document is one line and that the last
/// line ends with a newline.
pub fn parsed(corpus: &str, documents: u64, seed: u64) -> Vec<Value> {
    let mut all = Vec::new();
    for file in of(corpus).files(documents) {
        let bytes = bytes(corpus, &file, seed, 1);
        assert!(file.documents == 0 || bytes.ends_with(b"\n"));
        let text = String::from_utf8(bytes).unwrap();
        let before = all.len() as u64;
        all.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).expect(line)));
        assert_eq!(all.len() as u64 - before, file.documents, "{corpus}: {}", file.name);
    }
    all
}
