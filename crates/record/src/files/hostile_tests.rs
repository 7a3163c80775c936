//! Files of an interrupted race that its driver did not write, and that end a recovery all the same.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::durable::{MAX_LINE_BYTES, open_regular};
use super::recover_files;
use crate::bounded_file::{BoundedFile, TELEMETRY_ROWS, check_footer};

/// Makes a file that begins with some bytes and has this size; the rest is a hole.
fn sparse(path: &Path, begin: &[u8], size: u64) {
    fs::write(path, begin).unwrap();
    File::options().write(true).open(path).unwrap().set_len(size).unwrap();
}

/// Returns a file whose schema has so many groups in each other.
fn nested(levels: u32) -> Vec<u8> {
    let mut footer = vec![0x15, 2, 0x19, 0xfc];
    let mut count = levels + 1;
    while count > 0x7f {
        footer.push(count.to_le_bytes()[0] | 0x80);
        count >>= 7;
    }
    footer.push(count.to_le_bytes()[0]);
    for _ in 0..levels {
        footer.extend(b"\x35\0\x18\x01a\x15\x02\0");
    }
    footer.extend(b"\x15\x04\x25\0\x18\x01x\0\x16\0\x19\x0c\0");
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    [b"PAR1", &footer[..], &length, b"PAR1"].concat()
}

#[test]
fn files_of_holes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.parquet");
    for name in ["samples.directory", "series.jsonl", "telemetry.jsonl"] {
        sparse(&folder.path().join(name), b"{", 1 << 40);
    }
    sparse(&path, b"PAR1", 1 << 40);
    let error = recover_files(folder.path()).unwrap_err().to_string();
    assert!(error.contains("nearly all of them in holes"), "{error}");
    assert!(open_regular(&path).is_err());
    sparse(&path, b"PAR1", 1 << 20);
    assert!(open_regular(&path).is_ok());
}

#[test]
fn the_end_of_a_file_is_copied_only_if_it_is_one_of_a_row_group() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.parquet");
    fs::write(folder.path().join("samples.directory"), "{\"rows\":5,").unwrap();
    // So much is on the disk that the file does not count as one of holes.
    sparse(&path, &vec![1; 70 << 20], (1 << 30) + 1);
    recover_files(folder.path()).unwrap();
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["recovery.json", "samples.directory.damaged", "samples.parquet.damaged"]);
}

#[test]
fn a_line_without_end_does_not_fill_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.jsonl");
    sparse(&path, b"{", 3 * MAX_LINE_BYTES as u64 + 5);
    recover_files(folder.path()).unwrap();
    let losses = fs::read_to_string(folder.path().join("recovery.json")).unwrap();
    assert!(losses.contains("3 damaged lines of series.jsonl"), "{losses}");
}

#[test]
fn what_was_lost_before_is_read_up_to_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let losses = folder.path().join("recovery.json");
    for (spaces, is_read) in [(1 << 20, true), (MAX_LINE_BYTES, false)] {
        let text = [&vec![b' '; spaces][..], br#"{"losses":["an earlier one"]}"#].concat();
        fs::write(&losses, &text).unwrap();
        fs::write(folder.path().join("series.jsonl"), "damaged\n").unwrap();
        recover_files(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(&losses).unwrap().contains("an earlier one"), is_read);
        assert_eq!(folder.path().join("recovery.json.damaged").exists(), !is_read);
        fs::remove_file(folder.path().join("series.jsonl.damaged")).unwrap();
    }
}

#[test]
fn few_of_many_tasks_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = BufWriter::new(File::create(folder.path().join("telemetry.jsonl")).unwrap());
    let series = r#"{"source":"s","name":"n","unit":"u","kind":"gauge","labels":{}}"#;
    writeln!(journal, r#"{{"series":{{"number":0,"series":{series}}}}}"#).unwrap();
    for number in 0..20_000 {
        let times = format!(r#""begin_ns":{number},"end_ns":9999999"#);
        writeln!(journal, r#"{{"task":{{"task":"t{number}",{times}}}}}"#).unwrap();
    }
    for number in (0..10_000).step_by(4) {
        writeln!(journal, r#"{{"samples":{{"time":{number},"values":[[0,1.0]]}}}}"#).unwrap();
    }
    journal.flush().unwrap();
    recover_files(folder.path()).unwrap();
    let path = folder.path().join("telemetry.parquet");
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), 2_500);
    // Each of 10,000 tasks began while those before it ran: their names would take hundreds of megabytes.
    let column = reader.metadata().row_group(0).column(1);
    assert!(column.uncompressed_size() < 80 << 20, "{}", column.uncompressed_size());
    let losses = fs::read_to_string(folder.path().join("recovery.json")).unwrap();
    assert!(losses.contains("10000 times of tasks"), "{losses}");
    assert!(losses.contains("values of telemetry.jsonl lack their tasks"), "{losses}");
}

#[test]
fn schemas_of_many_levels_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("telemetry.parquet");
    fs::write(&path, nested(100)).unwrap();
    assert!(BoundedFile::open(&path, TELEMETRY_ROWS).is_ok());
    let deep = nested(300_000);
    fs::write(&path, &deep).unwrap();
    let error = BoundedFile::open(&path, TELEMETRY_ROWS).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "has a schema of 300001 elements; at most 256 are read");
    // The same in an index, and in a file that may be complete.
    fs::write(folder.path().join("samples.parquet"), &deep).unwrap();
    let line = format!("{{\"end\":54,\"footer\":\"{}\"}}\n", BASE64.encode(&deep[4..]));
    fs::write(folder.path().join("samples.directory"), line).unwrap();
    recover_files(folder.path()).unwrap();
    assert!(folder.path().join("samples.directory.damaged").exists());
}

#[test]
fn what_ends_a_file_without_a_footer_is_not_read_as_its_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.parquet");
    let mut bytes = nested(300_000);
    fs::write(&path, &bytes).unwrap();
    assert!(check_footer(&File::open(&path).unwrap()).is_err());
    *bytes.last_mut().unwrap() = b'2';
    fs::write(&path, &bytes).unwrap();
    assert!(check_footer(&File::open(&path).unwrap()).is_ok());
    assert!(BoundedFile::open(&path, TELEMETRY_ROWS).is_err());
}
