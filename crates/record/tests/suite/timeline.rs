//! What a race did over time equals what was recorded: operations, durations, arrivals.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use pacenote_record::{
    EndedBy, ErrorClass, RaceTimeline, Sample, SampleType, TaskArrivals, TaskInfo, TaskResult, arrivals,
    race_timeline,
};
use tempfile::TempDir;

use crate::support::{MS, Race, SECOND, close_files, end, failing, failure, info, paced, record, sample};

/// Records twenty operations per second for ten seconds, of which each takes 5 ms; in the fourth second, all operations
/// take two seconds more, and one fails. The first two seconds are warm-up.
fn race() -> (TempDir, TaskResult) {
    let mut race = Race::new(TaskInfo { paced: true, ..info() }, 1);
    let mut recorder = race.recorder(true);
    for number in 0..200_u64 {
        let due = number * 50 * MS;
        let slow = if (60..80).contains(&number) { 2 * SECOND } else { 0 };
        let mut each = paced(due, 0, sample(due + MS, due + 6 * MS + slow));
        if number < 40 {
            each = Sample { sample_type: SampleType::Warmup, ..each };
        }
        if number == 70 {
            each = failing(ErrorClass::Timeout, 0, each);
            recorder.begin_operation(0, each.sample_type);
            recorder.record(each, None, [failure(ErrorClass::Timeout, "slow")]);
            continue;
        }
        record(&mut recorder, each);
    }
    end(&mut recorder, EndedBy::Source, 200);
    let result = race.result();
    let Race { collector, folder, .. } = race;
    close_files(collector);
    (folder, result)
}

fn timeline(folder: &Path, most_points: u64) -> RaceTimeline {
    race_timeline(&folder.join("series.parquet"), most_points).unwrap()
}

#[test]
fn each_second_has_the_operations_that_ended_in_it() {
    let (folder, result) = race();
    let found = timeline(folder.path(), 600);
    assert_eq!(found.length_s, 1);
    let task = &found.tasks["index"];
    assert_eq!(task.operations, [20, 20, 20, 0, 20, 40, 20, 20, 20, 20]);
    assert_eq!(task.operations.iter().sum::<u64>(), result.operation_totals.begun);
    assert!(task.has_latency);
    assert_eq!(task.measured_from_s, Some(2));
    let at = |second: u64| task.points.iter().find(|point| point.from_s == second);
    assert!(at(3).is_none(), "nothing ended in this second");
    let point = at(5).unwrap();
    assert_eq!((point.operations, point.errors, point.work), (40, 1, 390));
    let [p50, p90, p99, max] =
        [point.times.p50_ms, point.times.p90_ms, point.times.p99_ms, point.times.max_ms]
            .map(Option::unwrap_or_default);
    assert!((6.0..6.01).contains(&p50), "{p50}");
    assert!((2_006.0..2_008.0).contains(&p90) && (2_006.0..2_008.0).contains(&max), "{p90} and {max}");
    assert!(p99.abs() < f64::EPSILON, "39 successes are too few for p99");
    let late = point.lateness.as_ref().unwrap();
    assert!((1.0..1.01).contains(&late.max_ms.unwrap()));
    // Levels begin at 10^6.6 and 10^9.2 ns: 4 ms and 1.6 s.
    assert_eq!(point.levels, [(33, 20), (46, 19)]);
}

#[test]
fn longer_points_have_the_slowest_and_the_fastest_second() {
    let (folder, _) = race();
    let found = timeline(folder.path(), 2);
    assert_eq!(found.length_s, 5);
    let points = &found.tasks["index"].points;
    let counts: Vec<_> = points.iter().map(|point| (point.from_s, point.operations, point.errors)).collect();
    assert_eq!(counts, [(0, 80, 0), (5, 120, 1)]);
    let work: Vec<_> = points.iter().map(|point| (point.work, point.least_work, point.most_work)).collect();
    assert_eq!(work, [(800, 0, 200), (1_190, 200, 390)]);
}

#[test]
fn the_curve_has_the_percentiles_of_the_result() {
    let (folder, result) = race();
    let curve = &timeline(folder.path(), 600).tasks["index"].curve;
    let latency = result.latency.unwrap();
    assert_eq!(latency.count, 159);
    let median = latency.percentiles.iter().find(|each| (each.q - 50.0).abs() < 1e-9).unwrap();
    let same = curve.iter().find(|each| (each.q - 50.0).abs() < 1e-9).unwrap();
    assert!((median.ms - same.ms).abs() < 1e-9);
    assert!(curve.is_sorted_by(|one, other| one.q < other.q && one.ms <= other.ms));
    assert!(curve.last().unwrap().q < 99.0, "159 operations are too few for p99");
}

#[test]
fn arrivals_are_counted_when_they_are_due_and_when_they_are_done() {
    let (folder, _) = race();
    let file = folder.path().join("samples.parquet");
    let tasks = BTreeSet::from(["index".to_owned(), "none".to_owned()]);
    let found = arrivals(&file, &tasks, 1, 1_000).unwrap().unwrap();
    let done = vec![20, 20, 20, 0, 20, 40, 20, 20, 20, 20];
    assert_eq!(found["index"], TaskArrivals { due: vec![20; 10], done });
    assert_eq!(found["none"], TaskArrivals::default());
    assert_eq!(arrivals(&file, &tasks, 1, 199).unwrap(), None);
}

#[test]
fn files_that_cannot_be_read_are_errors() {
    let (folder, _) = race();
    let [series, samples] = ["series.parquet", "samples.parquet"].map(|name| folder.path().join(name));
    for file in [&series, &samples] {
        let bytes = fs::read(file).unwrap();
        fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
    }
    let damaged = race_timeline(&series, 600).unwrap_err().to_string();
    assert!(damaged.contains("is damaged: ") && !damaged.contains('\n'), "{damaged}");
    let damaged = arrivals(&samples, &BTreeSet::new(), 1, 10).unwrap_err().to_string();
    assert!(damaged.contains("is damaged: "), "{damaged}");
    let missing = race_timeline(&folder.path().join("none"), 600).unwrap_err().to_string();
    assert!(missing.contains("does not exist"), "{missing}");
}
