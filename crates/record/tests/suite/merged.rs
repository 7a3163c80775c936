//! Percentiles of the files of races equal those of the results, and those of several races are of all operations.

use std::fs;
use std::path::PathBuf;

use pacenote_record::{
    DurationSummary, EndedBy, ErrorClass, MergedPercentile, MergedSeries, MergedTimes, Sample, SampleType,
    TaskInfo, TaskResult, merged_percentiles,
};
use tempfile::TempDir;

use crate::support::{MS, Race, close_files, end, failing, failure, info, paced, record, sample};

/// Records 5,000 operations of a paced task, with `slow_ms` for one in fifty, and a warm-up and failures of 90 s.
fn race(slow_ms: u64) -> (TempDir, PathBuf, TaskResult) {
    let mut race = Race::new(TaskInfo { paced: true, ..info() }, 1);
    let mut recorder = race.recorder(true);
    for number in 0..6_000_u64 {
        let (due, sent) = (number * MS, number * MS + number % 7 * MS / 10);
        let slow = if number % 50 == 0 { slow_ms * MS } else { 0 };
        let mut each = paced(due, 0, sample(sent, sent + MS + number * 131 + slow));
        if number < 500 {
            each = Sample { sample_type: SampleType::Warmup, ..paced(0, 0, sample(0, 90_000 * MS)) };
        } else if number < 1_000 {
            each = failing(ErrorClass::Timeout, 0, paced(0, 0, sample(0, 90_000 * MS)));
            recorder.begin_operation(0, each.sample_type);
            recorder.record(each, None, [failure(ErrorClass::Timeout, "slow")]);
            continue;
        }
        record(&mut recorder, each);
    }
    end(&mut recorder, EndedBy::Source, 6_000);
    let result = race.result();
    let Race { collector, folder, .. } = race;
    close_files(collector);
    let file = folder.path().join("series.parquet");
    (folder, file, result)
}

/// Returns the supported percentiles of a result.
fn supported(times: &DurationSummary) -> Vec<MergedPercentile> {
    let percentiles = times.percentiles.iter().filter(|each| each.supported && each.q < 100.0);
    percentiles.map(|each| MergedPercentile { q: each.q, ms: each.ms }).collect()
}

/// Returns percentiles that do not exceed the exact longest duration.
fn limited(times: &MergedTimes, summary: &DurationSummary) -> Vec<MergedPercentile> {
    let limit = |each: &MergedPercentile| MergedPercentile { ms: each.ms.min(summary.max_ms), ..*each };
    times.percentiles.iter().map(limit).collect()
}

#[test]
fn the_percentiles_of_one_file_are_those_of_its_race() {
    let (_folder, file, result) = race(40);
    let merged = merged_percentiles(&[file]);
    assert!(merged.unread.is_empty(), "{:?}", merged.unread);
    let (task, [service_time, latency]) =
        (&merged.tasks["index"], [result.service_time.unwrap(), result.latency.unwrap()]);
    assert_eq!((task.service_time.count, service_time.count, latency.count), (5_000, 5_000, 5_000));
    assert_eq!(limited(&task.service_time, &service_time), supported(&service_time));
    assert_eq!(limited(&task.latency, &latency), supported(&latency));
    assert_ne!(supported(&service_time), supported(&latency));
    assert_eq!(task.latency.percentiles.len(), 4, "5,000 operations are not enough for p99.99");
}

#[test]
fn files_that_cannot_be_read_are_named_and_leave_out_nothing_else() {
    let ((_one, first, _), (other, second, _)) = (race(40), race(400));
    let alone = merged_percentiles(std::slice::from_ref(&first));
    let both = merged_percentiles(&[first.clone(), second.clone()]);
    assert_eq!(both.tasks["index"].service_time.count, 10_000);
    let p99 = |merged: &MergedSeries| merged.tasks["index"].service_time.percentiles[2].ms;
    assert!(p99(&both) > 40.0 && p99(&alone) < 45.0, "{} and {}", p99(&both), p99(&alone));

    let bytes = fs::read(&second).unwrap();
    let missing = other.path().join("none.parquet");
    for (content, reason) in [
        (None, "does not exist"),
        (Some(&bytes[..bytes.len() / 2]), "is damaged: "),
        (Some(&[][..]), "is damaged: "),
    ] {
        let path = if let Some(content) = content {
            fs::write(&second, content).unwrap();
            second.clone()
        } else {
            missing.clone()
        };
        let found = merged_percentiles(&[path, first.clone()]);
        let unread = &found.unread[0];
        assert_eq!(unread.index, 0);
        assert!(unread.reason.starts_with(reason) && !unread.reason.contains('\n'), "{}", unread.reason);
        assert_eq!(p99(&found).to_bits(), p99(&alone).to_bits());
    }
    let folder = merged_percentiles(&[other.path().to_owned()]);
    assert!(folder.unread[0].reason.starts_with("cannot be read: "), "{}", folder.unread[0].reason);
}

#[test]
fn a_damaged_file_is_left_out_or_has_no_more_operations_than_before() {
    let (_folder, file, _) = race(40);
    let bytes = fs::read(&file).unwrap();
    let (mut noticed, footer) = (0, bytes.len() - 600);
    // In the footer, the library panics for some positions. Histograms have checksums, but names have none.
    for position in (4..footer).step_by(211).chain((footer..bytes.len()).step_by(13)) {
        let mut damaged = bytes.clone();
        damaged[position] ^= 0x55;
        fs::write(&file, damaged).unwrap();
        let found = merged_percentiles(std::slice::from_ref(&file));
        if let [unread] = &found.unread[..] {
            assert!(unread.reason.starts_with("is damaged: ") && found.tasks.is_empty(), "{}", unread.reason);
            noticed += 1;
        } else {
            let operations = found.tasks.values().map(|task| task.service_time.count).sum::<u64>();
            assert!(operations <= 6_000, "{operations} operations, byte {position}");
        }
    }
    assert!(noticed > 10, "{noticed}");
}
