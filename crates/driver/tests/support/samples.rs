//! `samples.parquet` as it was recorded, and whether it agrees with what the server saw.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

use super::Seen;

/// A row. Times are nanoseconds since the task began.
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
        }
    }

    pub fn service(&self) -> i64 {
        self.done - self.sent
    }

    pub fn latency(&self) -> i64 {
        self.done - self.due
    }
}

/// The samples of a race; none if its folder has no file of them.
pub fn read(folder: &Path) -> Vec<Sample> {
    let path = folder.join("samples.parquet");
    if !path.exists() {
        return Vec::new();
    }
    let reader = SerializedFileReader::try_from(path.as_path()).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| Sample::of(&row.unwrap())).collect()
}

/// The moments of the server's clock at which the task can have begun, for all its samples to be true.
///
/// A request arrives after it was sent and before the reply to it leaves; that reply is complete after its last byte
/// left and before the next request on the connection arrives. Every sample that says with [`super::server::numbered`]
/// which request it is about bounds the task's beginning from both sides, and if the recorded clocks are wrong, no
/// beginning is left. On a machine that has nothing else to do it is known to some 50 µs.
pub fn beginning(samples: &[Sample], seen: &[Seen]) -> RangeInclusive<i64> {
    let of = |sample: &Sample| usize::try_from(sample.took).ok();
    let known: BTreeMap<usize, &Sample> =
        samples.iter().filter_map(|sample| of(sample).map(|number| (number, sample))).collect();
    assert!(known.len() > 1, "too few samples say which request they are about");
    let (mut earliest, mut latest) = (i64::MIN, i64::MAX);
    let mut before: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
    for (number, request) in seen.iter().enumerate() {
        let arrived = request.arrived.cast_signed();
        let Some(sample) = known.get(&number) else { continue };
        let replied = request.replied.expect("an answered request was replied to").cast_signed();
        latest = latest.min(arrived - sample.sent);
        earliest = earliest.max(replied - sample.done);
        // A client sends when it has the reply before, and has it when it sends.
        if let Some((replied, done)) = before.insert(request.connection, (replied, sample.done)) {
            earliest = earliest.max(replied - sample.sent);
            latest = latest.min(arrived - done);
        }
    }
    assert!(earliest <= latest, "no beginning of the task fits: {} µs apart", (earliest - latest) / 1000);
    earliest..=latest
}
