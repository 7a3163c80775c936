//! No file that Pacenote writes is too large for its own reader, whatever a server reports.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use super::durable::MAX_LINE_BYTES;
use super::fixtures::{catalog, sample};
use super::pending_details::ROW_GROUP_DETAILS;
use super::samples::SamplesFile;
use super::samples_schema::{PARQUET, ROW_GROUP_NAMES, ROW_GROUP_ROWS};
use super::telemetry_journal::TelemetryFile;
use super::telemetry_texts::{HOST_LIMIT, OTHER_LIMIT};
use super::{series, telemetry};
use crate::bounded_file::{DICTIONARY_BYTES, GROUP_BYTES, GROUP_ROWS, TELEMETRY_ROWS};
use crate::buffers::BUFFER_CAPACITY;
use crate::column_reader::MOST_COLUMN_BYTES;
use crate::details::{Details, DetailsMemory, MAX_WAITING_BYTES, SampleBatch, SampleDetails};
use crate::sample_reader::SampleReader;
use crate::telemetry::{SeriesKind, TelemetrySeries};
use crate::telemetry_reader::{MOST_KEY_BYTES, MOST_SERIES, telemetry_cuts};

/// Bytes of the numbers in a row of a file: of times, counts and the lengths of texts.
const ROW_NUMBERS: usize = 150;
/// Length of the longest name of a task or operation.
const NAME_BYTES: usize = 1 << 10;

#[test]
fn the_limits_of_writers_are_within_those_of_readers() {
    let sample_rows = ROW_GROUP_ROWS + BUFFER_CAPACITY;
    let sample_names = ROW_GROUP_NAMES + 4 * BUFFER_CAPACITY * NAME_BYTES;
    // Of each row group: its rows, the bytes of its longest column, and those of all columns of texts.
    let groups = [
        (sample_rows, ROW_GROUP_DETAILS.max(MAX_WAITING_BYTES), ROW_GROUP_DETAILS + sample_names),
        (sample_rows, ROW_GROUP_NAMES + BUFFER_CAPACITY * NAME_BYTES, ROW_GROUP_DETAILS + sample_names),
        (series::ROW_GROUP_BYTES / 256, series::ROW_GROUP_BYTES, series::ROW_GROUP_BYTES),
        (telemetry::ROW_GROUP_ROWS, telemetry::ROW_GROUP_TEXTS, telemetry::ROW_GROUP_TEXTS),
        // A single row whose line is as long as one can be.
        (1, MAX_LINE_BYTES, MAX_LINE_BYTES),
    ];
    for (rows, column, texts) in groups {
        assert!(rows as u64 <= GROUP_ROWS, "{rows} rows");
        assert!(column <= MOST_COLUMN_BYTES, "{column} bytes of a column");
        assert!((texts + rows * ROW_NUMBERS) as u64 <= GROUP_BYTES, "{texts} bytes of {rows} rows");
    }
    const {
        assert!(HOST_LIMIT.series + OTHER_LIMIT.series <= MOST_SERIES);
        assert!(HOST_LIMIT.bytes + OTHER_LIMIT.bytes <= MOST_KEY_BYTES);
        assert!(256 * NAME_BYTES as u64 <= DICTIONARY_BYTES);
    }
}

fn long_series(source: &str, number: usize, bytes: usize) -> TelemetrySeries {
    TelemetrySeries {
        source: source.into(),
        name: format!("{number}{}", "n".repeat(bytes)),
        unit: "ms".into(),
        kind: SeriesKind::Gauge,
        labels: BTreeMap::from([("node".to_owned(), format!("{number}{}", "é".repeat(bytes / 2)))]),
    }
}

#[test]
fn telemetry_with_long_names_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = TelemetryFile::create(folder.path()).unwrap();
    let numbers: Vec<_> =
        (0..20).map(|number| file.number(&long_series("node-stats", number, 40_000))).collect();
    for time in 0..100 {
        file.write(time, numbers.iter().map(|number| (*number, Some(1.0))).collect());
    }
    assert_eq!(file.close().unwrap(), 2_000);
    let cuts = telemetry_cuts(&folder.path().join(telemetry::PARQUET), &HashMap::new()).unwrap();
    assert_eq!(cuts.series.len(), 20);
}

#[derive(Debug)]
struct LongDetails;

impl Details for LongDetails {
    fn size(&self) -> usize {
        1
    }

    fn to_json(&self) -> Option<String> {
        Some("x".repeat(24 << 20))
    }
}

#[test]
fn long_details_that_arrive_together_can_be_read() {
    let (folder, catalog) = (tempfile::tempdir().unwrap(), catalog());
    let memory = DetailsMemory::default();
    let details =
        |position| SampleDetails { position, details: memory.reserve(Box::new(LongDetails)).unwrap() };
    let batch = SampleBatch { samples: vec![sample(); 9], details: [1, 3, 7].map(details).into() };
    let mut file = SamplesFile::create(folder.path()).unwrap();
    file.append(&batch, &catalog).unwrap();
    assert_eq!(file.close(&catalog, 0).rows, 9);
    let mut reader = SampleReader::open(&folder.path().join(PARQUET)).unwrap();
    let mut detailed = Vec::new();
    for row in 0..9 {
        let rows = reader.next_rows(1).unwrap();
        detailed.extend(rows[0].details.as_ref().map(|text| (row, text.len())));
    }
    assert_eq!(detailed, [1, 3, 7].map(|row| (row, 24 << 20)));
}

#[test]
fn telemetry_that_never_changes_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = TelemetryFile::create(folder.path()).unwrap();
    let numbers: Vec<_> = (0..1_000).map(|number| file.number(&long_series("s", number, 0))).collect();
    for time in 0..131 {
        file.write(time, numbers.iter().map(|number| (*number, None)).collect());
    }
    let rows = file.close().unwrap();
    let bytes = fs::metadata(folder.path().join(telemetry::PARQUET)).unwrap().len();
    // Other series may be told apart by fewer bytes.
    assert!(2 * rows / bytes <= TELEMETRY_ROWS.per_byte, "{rows} rows in {bytes} bytes");
}

#[test]
fn a_server_with_too_many_series_does_not_end_the_telemetry_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let file = TelemetryFile::create(folder.path()).unwrap();
    let few = file.number(&long_series("node-stats", 0, 10));
    let too_long = TelemetrySeries { name: "n".repeat(65 << 20), ..long_series("node-stats", 1, 10) };
    let too_long = file.number(&too_long);
    file.write(1, vec![(few, Some(1.0)), (too_long, Some(1.0))]);
    let host = file.number(&long_series("host", 0, 10));
    for time in 2..5 {
        file.write(time, vec![(few, Some(1.0)), (host, Some(1.0))]);
    }
    let error = file.close().unwrap_err().to_string();
    assert!(
        error.contains("67108864 bytes of their names and labels; the values of further ones"),
        "{error}"
    );
    let cuts = telemetry_cuts(&folder.path().join(telemetry::PARQUET), &HashMap::new()).unwrap();
    let sources: Vec<_> = cuts.series.iter().map(|series| series.series.source.as_str()).collect();
    assert_eq!((sources.len(), sources[0], sources[1]), (2, "host", "node-stats"));
}
