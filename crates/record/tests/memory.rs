//! Memory that files of a race take which someone else has written. The tests are in a program of their own, because
//! the kernel knows only the peak of a whole process.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pacenote_record::{arrivals, recover_files};
use parquet::basic::Encoding;
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{
    SerializedFileWriter, SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite,
};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnDescPtr;

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

type RowGroup<'a> = SerializedRowGroupWriter<'a, File>;

/// Writes samples of so many rows, whose first column, the task, the function writes.
fn write_samples(path: &Path, rows: usize, write_tasks: impl FnOnce(&mut RowGroup<'_>, ColumnDescPtr)) {
    let schema =
        "message samples { required binary task (STRING); required boolean part; required int64 due_ns;
        required int64 done_ns; }";
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_column_encoding("task".into(), Encoding::DELTA_BYTE_ARRAY)
        .build();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties)).unwrap();
    let task = writer.schema_descr().column(0);
    let mut group = writer.next_row_group().unwrap();
    write_tasks(&mut group, task);
    let mut parts = group.next_column().unwrap().unwrap();
    parts.typed::<BoolType>().write_batch(&vec![false; rows], None, None).unwrap();
    parts.close().unwrap();
    for _ in ["due_ns", "done_ns"] {
        let mut times = group.next_column().unwrap().unwrap();
        times.typed::<Int64Type>().write_batch(&vec![1; rows], None, None).unwrap();
        times.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

/// Writes a column with one row, whose dictionary states to have so many values, and has one.
fn write_dictionary(group: &mut RowGroup<'_>, column: ColumnDescPtr, values: u32) {
    let dictionary = Page::DictionaryPage {
        buf: vec![1, 0, 0, 0, b't'].into(),
        num_values: values,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    };
    let data = Page::DataPage {
        buf: vec![1, 2, 0].into(),
        num_values: 1,
        encoding: Encoding::RLE_DICTIONARY,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    let mut chunk = TrackedWrite::new(Vec::new());
    let mut pages = SerializedPageWriter::new(&mut chunk);
    let dictionary = pages.write_page(CompressedPage::new(dictionary, 5)).unwrap();
    let data = pages.write_page(CompressedPage::new(data, 3)).unwrap();
    let chunk = bytes::Bytes::from(chunk.into_inner().unwrap());
    let size = i64::try_from(chunk.len()).unwrap();
    let metadata = ColumnChunkMetaData::builder(column)
        .set_encodings(vec![Encoding::PLAIN, Encoding::RLE_DICTIONARY])
        .set_total_compressed_size(size)
        .set_total_uncompressed_size(size)
        .set_num_values(1)
        .set_dictionary_page_offset(Some(i64::try_from(dictionary.offset).unwrap()))
        .set_data_page_offset(i64::try_from(data.offset).unwrap())
        .build()
        .unwrap();
    let close = ColumnCloseResult {
        bytes_written: chunk.len() as u64,
        rows_written: 1,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    group.append_column(&chunk, close).unwrap();
}

/// Returns why a file of samples is not read.
fn refusal(path: &Path) -> String {
    let tasks = BTreeSet::from(["t".to_owned()]);
    arrivals(path, &tasks, 1, 1 << 20).expect_err("the file is refused").to_string()
}

#[test]
fn texts_that_repeat_the_one_before_take_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.parquet");
    write_samples(&path, 1_024, |group, _| {
        let texts = vec![ByteArray::from(vec![b'x'; 256 << 10]); 1_024];
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
        column.close().unwrap();
    });
    assert!(path.metadata().unwrap().len() < 1 << 20);
    let text = refusal(&path);
    assert_little_memory_was_used();
    assert!(text.contains("has a page in Parquet's encoding 7"), "{text}");
}

#[test]
fn a_dictionary_takes_no_memory_for_the_values_that_it_states_to_have() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.parquet");
    write_samples(&path, 1, |group, column| write_dictionary(group, column, 1));
    let tasks = BTreeSet::from(["t".to_owned()]);
    let due = arrivals(&path, &tasks, 1, 9).unwrap().unwrap().remove("t").unwrap().due;
    assert_eq!(due, [1], "a dictionary that states what it has is read");
    write_samples(&path, 1, |group, column| write_dictionary(group, column, 1 << 25));
    let text = refusal(&path);
    assert_little_memory_was_used();
    assert!(text.contains("has a dictionary of 33554432 values and 5 bytes"), "{text}");
}
