//! The scanner of JSON on the texts that fuzzing has found, and on damaged responses.

#[path = "../../../../fuzz/src/json_scan.rs"]
mod invariants;

use std::fs;
use std::path::Path;

const RESPONSE: &str = r#" {"took":12, "timed_out":false,"_shards":{"total":5,"failed":0}, "hits":{"hits":[{"_id":"a\"}","sort":[1,"b"]},
    {"sort":[-2.5e3,null]}], "max":1e400},"a\u0062": [ ],"":true} "#;

#[test]
fn texts_that_fuzzing_has_found_are_scanned_as_serde_json_parses_them() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/kept/json_scan.lines");
    let corpus = fs::read_to_string(corpus).unwrap();
    let mut texts = 0;
    for line in corpus.lines() {
        let text: String = serde_json::from_str(line).unwrap();
        // Each character stands for one byte.
        let bytes: Vec<u8> =
            text.chars().map(|character| u8::try_from(u32::from(character)).unwrap()).collect();
        invariants::check(&bytes);
        texts += 1;
    }
    assert!(texts > 100, "{texts}");
}

#[test]
fn damaged_responses_are_scanned_as_serde_json_parses_them() {
    for end in 0..=RESPONSE.len() {
        let text = &RESPONSE.as_bytes()[..end];
        invariants::check(text);
        for byte in *b"{}[]\",:\\ 0x\xff\x0c" {
            let mut damaged = text.to_vec();
            damaged.push(byte);
            invariants::check(&damaged);
            let mut replaced = RESPONSE.as_bytes().to_vec();
            replaced.insert(end, byte);
            invariants::check(&replaced);
        }
    }
}
