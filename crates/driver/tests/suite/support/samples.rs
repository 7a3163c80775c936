//! Reads `samples.parquet` and compares it with the server's log.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::Value;

use super::LoggedRequest;

/// A row of `samples.parquet`. Times are in nanoseconds since the start of the task.
#[derive(Debug, Clone)]
pub struct Sample {
    pub task: String,
    pub client: i64,
    pub warmup: bool,
    pub due: i64,
    pub sent: i64,
    pub done: i64,
    pub weight: i64,
    pub success: bool,
    pub status: i64,
    pub error_class: String,
    pub took: i64,
    pub bytes_out: i64,
    pub bytes_in: i64,
    pub part: bool,
    pub details: Option<Value>,
}

impl Sample {
    fn of(row: &Row) -> Self {
        let fields: BTreeMap<&str, &Field> =
            row.get_column_iter().map(|(name, field)| (name.as_str(), field)).collect();
        let text = |name: &str| match fields[name] {
            Field::Str(text) => text.clone(),
            other => panic!("{name} is {other}"),
        };
        let number = |name: &str| match fields[name] {
            Field::Long(number) => *number,
            Field::UInt(number) => i64::from(*number),
            Field::UShort(number) => i64::from(*number),
            other => panic!("{name} is {other}"),
        };
        Self {
            task: text("task"),
            client: number("client"),
            warmup: text("sample_type") == "warmup",
            due: number("due_ns"),
            sent: number("sent_ns"),
            done: number("done_ns"),
            weight: number("weight"),
            success: *fields["success"] == Field::Bool(true),
            status: number("status"),
            error_class: text("error_class"),
            took: number("took_ms"),
            bytes_out: number("bytes_out"),
            bytes_in: number("bytes_in"),
            part: *fields["part"] == Field::Bool(true),
            details: match fields["details"] {
                Field::Null => None,
                Field::Str(text) => Some(serde_json::from_str(text).unwrap()),
                other => panic!("details is {other}"),
            },
        }
    }

    pub fn service(&self) -> i64 {
        self.done - self.sent
    }

    pub fn latency(&self) -> i64 {
        self.done - self.due
    }
}

/// Reads the samples of a race. Returns an empty list if the race's folder has no such file.
pub fn read(folder: &Path) -> Vec<Sample> {
    let path = folder.join("samples.parquet");
    if !path.exists() {
        return Vec::new();
    }
    let reader = SerializedFileReader::try_from(path.as_path()).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| Sample::of(&row.unwrap())).collect()
}

/// Returns the range of times, on the server's clock, at which the task can have started, given all of its samples.
///
/// A request arrives after it was sent and before its response is sent. The response is complete after its last byte
/// was sent and before the next request on the connection arrives. Each sample whose request is known, because its
/// response was created by [`super::server::response_with_took`], bounds the start of the task from both sides. If
/// recorded times are wrong, no start satisfies all bounds. On an idle machine the range is about 50 µs wide.
pub fn beginning(samples: &[Sample], seen: &[LoggedRequest]) -> RangeInclusive<i64> {
    let of = |sample: &Sample| usize::try_from(sample.took).ok();
    let known: BTreeMap<usize, &Sample> =
        samples.iter().filter_map(|sample| of(sample).map(|number| (number, sample))).collect();
    assert!(known.len() > 1, "too few samples have a known request");
    let (mut earliest, mut latest) = (i64::MIN, i64::MAX);
    let mut before: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
    for (number, request) in seen.iter().enumerate() {
        let arrived = request.arrived.cast_signed();
        let Some(sample) = known.get(&number) else { continue };
        let responded =
            request.responded.expect("the server did not respond to an answered request").cast_signed();
        latest = latest.min(arrived - sample.sent);
        earliest = earliest.max(responded - sample.done);
        // The client sends after it has received the previous response.
        if let Some((responded, done)) = before.insert(request.connection, (responded, sample.done)) {
            earliest = earliest.max(responded - sample.sent);
            latest = latest.min(arrived - done);
        }
    }
    assert!(
        earliest <= latest,
        "no start of the task satisfies all bounds: they are {} µs apart",
        (earliest - latest) / 1000
    );
    earliest..=latest
}
