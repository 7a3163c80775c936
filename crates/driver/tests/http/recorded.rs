//! Replies of real engines, recorded with head and framing by `fuzz/record.py`: each comes out the same whole, byte by
//! byte and cut anywhere.

use std::collections::BTreeMap;
use std::path::Path;

use pacenote_driver::transport::http::ResponseReader;
use serde_json::{Value, json};

/// What a reply came to.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    status: u16,
    close: bool,
    body: Vec<u8>,
}

/// Feeds the pieces; nothing may come out before the last of them, and everything then.
fn receive<'a>(bodiless: bool, pieces: impl IntoIterator<Item = &'a [u8]>) -> Seen {
    let mut reader = ResponseReader::default();
    reader.reset(bodiless);
    let mut reply = None;
    for piece in pieces {
        assert_eq!(reply, None, "bytes are left over");
        reader.read_buffer().extend_from_slice(piece);
        reply = reader.advance().unwrap();
    }
    let reply = reader.decompress(reply.expect("all bytes make a reply")).unwrap();
    Seen { status: reply.status, close: reply.close, body: reader.body(&reply).to_vec() }
}

/// Every recorded reply by its name.
fn recorded(engine: &str) -> BTreeMap<String, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(engine);
    let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    files.map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())).collect()
}

#[test]
fn replies_of_real_engines_are_read_whole_wherever_they_are_cut() {
    for engine in ["opensearch", "elasticsearch"] {
        let mut replies = recorded(engine);
        let expected: Value = serde_json::from_slice(&replies.remove("expected.json").unwrap()).unwrap();
        assert_eq!(replies.len(), expected.as_object().unwrap().len());
        assert!(replies.len() >= 20, "{engine}: {}", replies.len());
        for (name, bytes) in &replies {
            let bodiless = name.starts_with("head-");
            let whole = receive(bodiless, [bytes.as_slice()]);
            let mut crc = flate2::Crc::new();
            crc.update(&whole.body);
            let seen = json!({"status": whole.status, "length": whole.body.len(), "crc32": crc.sum()});
            assert_eq!(seen, expected[name], "{engine}: {name}");
            assert_eq!(receive(bodiless, bytes.chunks(1)), whole, "{engine}: {name} byte by byte");
            for cut in 1..bytes.len() {
                let (first, last) = bytes.split_at(cut);
                assert_eq!(receive(bodiless, [first, last]), whole, "{engine}: {name} cut at {cut}");
            }
        }
    }
}
