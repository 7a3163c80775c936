//! Verbose GC logs that fuzzing has found, and damaged ones.

#[path = "../../../../fuzz/src/openj9.rs"]
mod invariants;

use std::fs;
use std::path::Path;

const LOG: &str = r#"<verbosegc><initialized id="1" timestamp="2021-03-16T09:00:00.000"><vmarg name="-Xa&lt;" /></initialized>
<exclusive-start timestamp="2021-03-16T09:00:01.000"><response-info timems="0.1" /></exclusive-start>
<af-start totalBytesRequested="8" /><cycle-start type="scavenge" intervalms="1.5" /><gc-start type="scavenge">
<mem-info free="1" total="9" /></gc-start><gc-op type="scavenge"><memory-copied type="tenure" bytes="7" /></gc-op>
<gc-end durationms="2"><mem-info free="5" total="9" /></gc-end><cycle-end type="scavenge" /><!-- > --><af-end />
<exclusive-end timestamp="2021-03-16T09:00:01.003" durationms="2.5" /><concurrent-end type="scavenge"><![CDATA[<]]>
"#;

#[test]
fn logs_that_fuzzing_has_found_are_read() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/kept/openj9.lines");
    let mut logs = 0;
    for line in fs::read_to_string(kept).unwrap().lines() {
        let text: String = serde_json::from_str(line).unwrap();
        // Each character stands for one byte.
        let bytes: Vec<u8> =
            text.chars().map(|character| u8::try_from(u32::from(character)).unwrap()).collect();
        invariants::check(&bytes);
        logs += 1;
    }
    assert!(logs > 50, "{logs}");
}

#[test]
fn damaged_logs_are_read() {
    for end in (0..=LOG.len()).step_by(4) {
        invariants::check(&LOG.as_bytes()[..end]);
        for byte in *b"<>\"!\n" {
            let mut damaged = LOG.as_bytes().to_vec();
            damaged.insert(end, byte);
            invariants::check(&damaged);
        }
    }
}
