//! Files of a race that someone else has written: a few kilobytes cannot take gigabytes of memory, or hours.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use pacenote_record::{
    SampleLimit, SampleReader, SeriesCut, arrivals, engine_times, merged_percentiles, race_timeline,
    telemetry_cuts, telemetry_points,
};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

const S: i64 = 1_000_000_000;
const TELEMETRY: &str = "message telemetry { required int64 time; required binary source (STRING);
    required binary name (STRING); optional double value; required binary unit (STRING);
    required binary kind (STRING); required binary labels (STRING); }";
const SERIES: &str = "message series { required binary task (STRING); required boolean part;
    required int64 second; required binary sample_type (STRING); required int64 operations;
    required int64 errors; required int64 weight; required binary service_time; optional binary latency;
    optional binary lateness; }";
const SAMPLES: &str = "message samples { required binary task (STRING); required boolean part;
    required int64 due_ns; required int64 done_ns; }";

/// The values of a column.
#[derive(Clone)]
enum Column {
    Texts(Vec<String>),
    Numbers(Vec<i64>),
    Doubles(Vec<f64>),
    Flags(Vec<bool>),
    Nothing(usize),
}

/// Writes a file whose row groups all have these columns.
fn write(path: &Path, schema: &str, columns: &[Column], row_groups: usize) {
    write_with(path, schema, columns, row_groups, WriterProperties::builder());
}

/// Writes a file with these columns in which one has this encoding.
fn write_as(path: &Path, schema: &str, columns: &[Column], encoded: (&str, Encoding)) {
    let (name, encoding) = (ColumnPath::from(encoded.0), encoded.1);
    let properties = WriterProperties::builder()
        .set_column_dictionary_enabled(name.clone(), false)
        .set_column_encoding(name, encoding);
    write_with(path, schema, columns, 1, properties);
}

fn write_with(
    path: &Path,
    schema: &str,
    columns: &[Column],
    row_groups: usize,
    properties: WriterPropertiesBuilder,
) {
    let tasks = r#"[{"task":"index","begin_ns":0,"end_ns":9000000000},
        {"task":"reversed","begin_ns":5,"end_ns":4},{"task":"early","begin_ns":-5,"end_ns":4}]"#;
    let tasks = KeyValue::new("pacenote.tasks".to_owned(), tasks.to_owned());
    let properties = properties
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(vec![tasks]))
        .build();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties)).unwrap();
    for _ in 0..row_groups {
        let mut group = writer.next_row_group().unwrap();
        for column in columns {
            let mut out = group.next_column().unwrap().unwrap();
            match column {
                Column::Texts(texts) => {
                    let texts: Vec<ByteArray> = texts.iter().map(|text| text.as_str().into()).collect();
                    out.typed::<ByteArrayType>().write_batch(&texts, None, None)
                }
                Column::Numbers(numbers) => out.typed::<Int64Type>().write_batch(numbers, None, None),
                Column::Doubles(doubles) => {
                    out.typed::<DoubleType>().write_batch(doubles, Some(&vec![1; doubles.len()]), None)
                }
                Column::Flags(flags) => out.typed::<BoolType>().write_batch(flags, None, None),
                Column::Nothing(rows) => {
                    out.typed::<ByteArrayType>().write_batch(&[], Some(&vec![0; *rows]), None)
                }
            }
            .unwrap();
            out.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn texts(text: &str, rows: usize) -> Column {
    Column::Texts(vec![text.to_owned(); rows])
}

/// Returns columns of telemetry: a row each second, of one counter.
fn telemetry(values: Vec<f64>) -> Vec<Column> {
    let rows = values.len();
    vec![
        Column::Numbers((0..).map(|second: i64| second * S).take(rows).collect()),
        texts("host", rows),
        texts("cpu.user", rows),
        Column::Doubles(values),
        texts("ms", rows),
        texts("counter", rows),
        texts("{}", rows),
    ]
}

fn series(task: &str, second: i64, rows: usize) -> Vec<Column> {
    let ones = Column::Numbers(vec![1; rows]);
    vec![
        texts(task, rows),
        Column::Flags(vec![false; rows]),
        Column::Numbers(vec![second; rows]),
        texts("normal", rows),
        ones.clone(),
        ones.clone(),
        ones,
        texts("no histogram", rows),
        Column::Nothing(rows),
        Column::Nothing(rows),
    ]
}

fn refusal<T>(result: Result<T, pacenote_record::RecordError>) -> String {
    let text = result.err().expect("the file is refused").to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn values_that_no_counter_has_are_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("telemetry.parquet");
    write(&path, TELEMETRY, &telemetry(vec![1.0, 2.0, f64::NAN, 4.0, f64::INFINITY, 1e308, -1e308, 9.0]), 1);
    let found = telemetry_cuts(&path, &HashMap::new()).unwrap();
    assert_eq!(found.tasks.len(), 1, "tasks that end before they begin are left out");
    let Some(SeriesCut::Counter(cut)) = found.series[0].cuts[0] else { panic!("{found:?}") };
    assert_eq!((cut.samples, cut.gaps, cut.increase.to_bits()), (4, 4, 8.0_f64.to_bits()));
}

#[test]
fn many_rows_in_few_bytes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("telemetry.parquet");
    let mut columns = telemetry(vec![1.0; 1 << 18]);
    columns[0] = Column::Numbers(vec![7; 1 << 18]);
    let few_pages = WriterProperties::builder()
        .set_data_page_row_count_limit(1 << 18)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true);
    write_with(&path, TELEMETRY, &columns, 5, few_pages);
    let text = refusal(telemetry_cuts(&path, &HashMap::new()));
    assert!(text.contains("has 1310720 rows in only "), "{text}");
    write(&path, TELEMETRY, &columns, 1);
    assert_eq!(telemetry_points(&path, |_| true, 1 << 24).unwrap()[0].points.len(), 1 << 18);
}

#[test]
fn a_large_row_group_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.parquet");
    write(&path, SERIES, &series("index", 1, (1 << 18) + 1), 1);
    for text in [
        refusal(race_timeline(&path, 600)),
        merged_percentiles(std::slice::from_ref(&path)).unread.remove(0).reason,
    ] {
        assert!(text.contains("has a row group of 262145 rows; at most 262144 are read"), "{text}");
    }
    // Each of the texts is long, and they are all equal.
    write(&path, SERIES, &series(&"x".repeat(1 << 20), 1, 65), 1);
    let text = refusal(race_timeline(&path, 600));
    assert!(text.contains("bytes in column task of one row group; at most 67108864 are read"), "{text}");
    // The pages are long.
    let mut columns = telemetry(vec![1.0; 33]);
    columns[6] = Column::Texts((0..33).map(|number| format!("{number}{}", "x".repeat(4 << 20))).collect());
    write(&path, TELEMETRY, &columns, 1);
    let text = refusal(telemetry_cuts(&path, &HashMap::new()));
    assert!(text.contains("has a row group with more than 134217728 bytes"), "{text}");
}

#[test]
fn no_reader_reads_encodings_that_repeat_texts_or_reserve_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.parquet");
    let samples = [
        texts("index", 2),
        Column::Flags(vec![false; 2]),
        Column::Numbers(vec![1; 2]),
        Column::Numbers(vec![2; 2]),
    ];
    let tasks = BTreeSet::from(["index".to_owned()]);
    let expected = |number: u32| format!("has a page in Parquet's encoding {number}; only plain values");
    for (encoding, number) in [(Encoding::DELTA_LENGTH_BYTE_ARRAY, 6), (Encoding::DELTA_BYTE_ARRAY, 7)] {
        let mut texts = Vec::new();
        write_as(&path, TELEMETRY, &telemetry(vec![1.0; 3]), ("labels", encoding));
        texts.push(refusal(telemetry_cuts(&path, &HashMap::new())));
        texts.push(refusal(telemetry_points(&path, |_| true, 9)));
        write_as(&path, SERIES, &series("index", 1, 2), ("service_time", encoding));
        texts.push(refusal(race_timeline(&path, 600)));
        texts.push(merged_percentiles(std::slice::from_ref(&path)).unread.remove(0).reason);
        write_as(&path, SAMPLES, &samples, ("task", encoding));
        texts.push(refusal(arrivals(&path, &tasks, 1, 1_000)));
        texts.push(refusal(engine_times(&path, SampleLimit { row_groups: 1, samples: 1 })));
        texts.push(refusal(SampleReader::open(&path).unwrap().next_rows(1)));
        assert!(texts.iter().all(|text| text.contains(&expected(number))), "{texts:?}");
    }
    write_as(&path, SAMPLES, &samples, ("due_ns", Encoding::DELTA_BINARY_PACKED));
    assert!(arrivals(&path, &tasks, 1, 1_000).unwrap().is_some());
}

#[test]
fn texts_of_which_only_some_rows_are_read_are_counted_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("telemetry.parquet");
    // A series begins in every row, and all have the same long unit, which is in the file once.
    let mut columns = telemetry(vec![1.0; 200]);
    columns[0] = Column::Numbers(vec![7; 200]);
    columns[4] = texts(&"x".repeat(1 << 19), 200);
    write(&path, TELEMETRY, &columns, 1);
    let text = refusal(telemetry_cuts(&path, &HashMap::new()));
    assert!(text.contains("bytes in column unit of one row group; at most 67108864 are read"), "{text}");
}

#[test]
fn times_far_outside_of_a_race_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.parquet");
    for second in [1 << 62, i64::MAX, 367 * 24 * 3_600] {
        write(&path, SERIES, &series("index", second, 2), 1);
        let text = refusal(race_timeline(&path, 600));
        assert!(text.contains(&format!("is damaged: a row is of second {second} of its task")), "{text}");
    }
    let samples = folder.path().join("samples.parquet");
    let [flags, times] = [Column::Flags(vec![false]), Column::Numbers(vec![i64::MAX])];
    write(&samples, SAMPLES, &[texts("index", 1), flags, times.clone(), times], 1);
    let text = refusal(arrivals(&samples, &BTreeSet::from(["index".to_owned()]), 1, 1_000));
    assert!(text.contains("has an operation 9223372036854775807 ns after its task began"), "{text}");
    let mut columns = telemetry(vec![1.0]);
    columns[0] = Column::Numbers(vec![i64::MIN]);
    write(&path, TELEMETRY, &columns, 1);
    assert!(refusal(telemetry_cuts(&path, &HashMap::new())).contains("a value is of a time before 1970"));
}

#[test]
fn more_series_than_any_race_has_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("telemetry.parquet");
    // A row group has at most 262,144 rows.
    let mut columns = telemetry(vec![1.0; 200_000]);
    columns[2] = Column::Texts((0..200_000).map(|number| format!("cpu.{number}")).collect());
    write(&path, TELEMETRY, &columns, 1);
    assert_eq!(telemetry_points(&path, |_| true, 1_000_000).unwrap().len(), 200_000);
    let long = |number: u32| format!("{number}{}", "x".repeat(540));
    let mut columns = telemetry(vec![1.0; 100_000]);
    columns[2] = Column::Texts((0..100_000).map(long).collect());
    columns[6] = Column::Texts((0..100_000).map(|at| format!("{{\"node\":\"{}\"}}", long(at))).collect());
    write(&path, TELEMETRY, &columns, 1);
    for text in
        [refusal(telemetry_cuts(&path, &HashMap::new())), refusal(telemetry_points(&path, |_| false, 1_000))]
    {
        assert!(text.contains("has too many series"), "{text}");
    }
}

#[test]
fn of_many_values_some_of_the_whole_time_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("telemetry.parquet");
    let values: Vec<f64> = (0..1_000).map(f64::from).collect();
    write(&path, TELEMETRY, &telemetry(values), 3);
    let seconds = |most: usize| -> Vec<i64> {
        let points = telemetry_points(&path, |_| true, most).unwrap().remove(0).points;
        points.iter().map(|point| point.time_ns / S).collect()
    };
    assert_eq!(seconds(3_000).len(), 3_000);
    let kept = seconds(500);
    assert_eq!(kept.len(), 375);
    let steps: BTreeSet<i64> = kept.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(steps, BTreeSet::from([0, 8]), "{kept:?}");
    assert_eq!((kept[0], kept[374]), (0, 992));
}
