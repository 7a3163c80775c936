//! Memory that files of a race take which someone else has written. The tests are in a program of their own, because
//! the kernel knows only the peak of a whole process.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use std::fs;
use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pacenote_record::recover_files;

/// Most memory that this process may ever have had, in bytes: some times what reading usual files takes.
const MOST_BYTES: u64 = 200 << 20;

/// Asserts that this process has never had more memory.
fn assert_little_memory_was_used() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel knows the peak");
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib << 10 < MOST_BYTES, "{kib} KiB");
}

/// Returns an encoded histogram that states this length of its counts, and has none.
fn histogram_of_length(length: u32) -> String {
    let words = [0x1c84_9313, length, 0, 3].map(u32::to_be_bytes).concat();
    let numbers = [1, 24 * 3_600 * 1_000_000_000, 1.0_f64.to_bits()].map(u64::to_be_bytes).concat();
    let mut deflate = ZlibEncoder::new(Vec::new(), Compression::best());
    deflate.write_all(&[words, numbers].concat()).unwrap();
    let compressed = deflate.finish().unwrap();
    let size = u32::try_from(compressed.len()).unwrap();
    BASE64.encode([&0x1c84_9314_u32.to_be_bytes()[..], &size.to_be_bytes(), &compressed].concat())
}

#[test]
fn a_histogram_in_a_journal_takes_no_memory_for_the_length_that_it_states() {
    let folder = tempfile::tempdir().unwrap();
    let line = |length| {
        let counts = r#""operations":1,"requests":1,"errors":0,"weight":1,"failed_weight":0"#;
        let rest = r#""bytes_out":1,"bytes_in":1,"latency":null,"lateness":null,"failed_service_time":null"#;
        let names = r#""task":"t","operation":"o","part":false,"driver":0,"second":0,"sample_type":"normal""#;
        format!("{{{names},{counts},{rest},\"service_time\":\"{}\"}}\n", histogram_of_length(length))
    };
    fs::write(folder.path().join("series.jsonl"), line(0) + &line(1 << 30)).unwrap();
    assert_eq!(recover_files(folder.path()).unwrap(), Some(1), "a histogram may be empty");
    let losses = fs::read_to_string(folder.path().join("recovery.json")).unwrap();
    assert!(losses.contains("1 damaged line of series.jsonl"), "{losses}");
    assert_little_memory_was_used();
}
