//! Responses from real engines, recorded with head and framing by `fuzz/record.py`: each gives the same result in one
//! piece, byte by byte, and split at any position.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pacenote_driver::transport::http::ResponseReader;
use serde_json::{Value, json};

/// A complete response, as returned by the reader.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    status: u16,
    close: bool,
    body: Vec<u8>,
}

/// Runs a future that needs neither sockets nor timers.
fn without_io<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Feeds the pieces to a reader. Asserts that the response is complete with the last piece and not before.
fn receive<'a>(bodiless: bool, pieces: impl IntoIterator<Item = &'a [u8]>) -> Seen {
    let mut reader = ResponseReader::default();
    reader.reset(bodiless);
    let mut response = None;
    for piece in pieces {
        assert_eq!(response, None, "the response is complete before the last piece");
        reader.receive_buffer().extend_from_slice(piece);
        response = reader.advance().unwrap();
    }
    let response = response.expect("the response is incomplete");
    let response = without_io(reader.decompress(response)).unwrap();
    Seen { status: response.status, close: response.close, body: reader.body(&response).to_vec() }
}

/// Returns the folder with the recorded responses of each engine.
fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds")
}

/// Returns the names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    files.map(|file| file.file_name().into_string().unwrap()).collect()
}

/// Returns the recorded responses of an engine by name.
fn recorded(engine: &str) -> BTreeMap<String, Vec<u8>> {
    let folder = seeds().join(engine);
    names(&folder).into_iter().map(|name| (name.clone(), std::fs::read(folder.join(name)).unwrap())).collect()
}

#[test]
fn responses_of_real_engines_are_read_however_they_are_split() {
    let mut engines = names(&seeds());
    // The seeds of other fuzz targets are beside them.
    engines.retain(|name| seeds().join(name).join("expected.json").is_file());
    assert!(engines.len() >= 2);
    for engine in engines {
        let mut responses = recorded(&engine);
        let expected: Value = serde_json::from_slice(&responses.remove("expected.json").unwrap()).unwrap();
        assert_eq!(responses.len(), expected.as_object().unwrap().len());
        assert!(responses.len() >= 20, "{engine}: {}", responses.len());
        for (name, bytes) in &responses {
            let bodiless = name.starts_with("head-");
            let whole = receive(bodiless, [bytes.as_slice()]);
            let mut crc = flate2::Crc::new();
            crc.update(&whole.body);
            let seen = json!({"status": whole.status, "length": whole.body.len(), "crc32": crc.sum()});
            assert_eq!(seen, expected[name], "{engine}: {name}");
            assert_eq!(receive(bodiless, bytes.chunks(1)), whole, "{engine}: {name} byte by byte");
            for position in 1..bytes.len() {
                let (first, last) = bytes.split_at(position);
                assert_eq!(receive(bodiless, [first, last]), whole, "{engine}: {name} split at {position}");
            }
        }
    }
}
