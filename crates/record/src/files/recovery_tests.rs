//! Recoveries that are interrupted at every operation, and recoveries of damaged files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use tempfile::TempDir;

use super::durable::faults::{Fault, interrupt};
use super::fixtures::{catalog, sample};
use super::recover_files;
use super::samples::SamplesFile;
use super::samples_recovery::{FooterPlacement, complete_samples};
use super::series::{SeriesFile, journal_line};
use super::telemetry_journal::TelemetryFile;
use crate::catalog::Catalog;
use crate::details::SampleBatch;
use crate::operation_stats::{OperationStats, SecondStats};
use crate::sample::{OperationTimes, Sample, SampleType};
use crate::telemetry::{SeriesKind, TelemetrySeries};

const GROUPS: u64 = 3;
const GROUP_ROWS: u64 = 100;
const SECONDS: u64 = 5;

type Files = BTreeMap<String, Vec<u8>>;

fn numbered_sample(number: u64) -> Sample {
    let times = OperationTimes { done_ns: number * number, ..OperationTimes::default() };
    Sample { times, ..sample() }
}

/// Returns a folder in memory if possible, where syncing takes no time.
fn new_folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Writes all samples, but not the footer.
fn written_samples(folder: &Path, catalog: &Catalog) -> SamplesFile {
    let mut samples = SamplesFile::create(folder).unwrap();
    for group in 0..GROUPS {
        let rows: Vec<_> = (0..GROUP_ROWS).map(|row| numbered_sample(group * GROUP_ROWS + row)).collect();
        samples.append(&SampleBatch { samples: rows, details: Vec::new() }, catalog).unwrap();
        samples.flush(catalog).unwrap();
    }
    samples
}

/// Writes the journal of the series.
fn written_series(folder: &Path, catalog: &Catalog) -> SeriesFile {
    let mut series = SeriesFile::create(folder).unwrap();
    for second in 0..SECONDS {
        let second = SecondStats {
            task_index: 0,
            sub_operation: None,
            second_index: second,
            sample_type: SampleType::Measured,
            stats: OperationStats::for_task(false).unwrap(),
        };
        series.append(&journal_line(catalog.names(0, None), &second).unwrap()).unwrap();
    }
    series
}

/// Returns the files of a race that was killed while it wrote its fourth row group.
fn killed_race() -> TempDir {
    let (folder, catalog) = (new_folder(), catalog());
    let samples = written_samples(folder.path(), &catalog);
    let series = written_series(folder.path(), &catalog);
    drop((samples, series));
    append(folder.path(), "samples.directory", b"{\"rows\":777,\"end\":");
    append(folder.path(), "samples.parquet", &[7; 5000]);
    folder
}

fn append(folder: &Path, name: &str, bytes: &[u8]) {
    let mut content = fs::read(folder.join(name)).unwrap();
    content.extend_from_slice(bytes);
    fs::write(folder.join(name), content).unwrap();
}

fn files(folder: &Path) -> Files {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

fn copy(files: &Files) -> TempDir {
    let folder = new_folder();
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

fn losses(folder: &Path) -> Vec<String> {
    let text = fs::read(folder.join("recovery.json")).unwrap_or_else(|_| b"{\"losses\":[]}".to_vec());
    let mut document: BTreeMap<String, Vec<String>> = serde_json::from_slice(&text).unwrap();
    document.remove("losses").unwrap()
}

/// Returns the end times of the samples, which tell them apart.
fn done_times(folder: &Path) -> Vec<u64> {
    let path = folder.join("samples.parquet");
    let reader = SerializedFileReader::try_from(path.as_path()).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string());
    let value =
        |row: String| row.split_once("done_ns: ").unwrap().1.split_once(',').unwrap().0.parse().unwrap();
    rows.map(value).collect()
}

fn expected_done_times(groups: u64) -> Vec<u64> {
    (0..groups * GROUP_ROWS).map(|number| number * number).collect()
}

/// Interrupts a recovery at each of its operations, repeats it, and passes the folder to `check` after that.
fn interrupt_everywhere(killed: &Files, recover: impl Fn(&Path) -> bool, check: impl Fn(&Path)) {
    for fault in [Fault::Kill, Fault::DiskFull] {
        let mut interruptions = 0;
        loop {
            let folder = copy(killed);
            let (_, interrupted) = interrupt(fault, interruptions, || recover(folder.path()));
            recover_files(folder.path()).unwrap();
            check(folder.path());
            let repeated = files(folder.path());
            assert_eq!(recover_files(folder.path()).unwrap(), None, "{fault:?} {interruptions}");
            assert_eq!(files(folder.path()), repeated, "{fault:?} {interruptions}");
            if !interrupted {
                break;
            }
            interruptions += 1;
        }
        assert!(interruptions > 8, "{fault:?}: only {interruptions} operations");
    }
}

#[test]
fn a_recovery_that_is_interrupted_anywhere_can_be_repeated() {
    let killed = files(killed_race().path());
    interrupt_everywhere(
        &killed,
        |folder| recover_files(folder).is_ok(),
        |folder| {
            assert_eq!(done_times(folder), expected_done_times(GROUPS));
            let series = SerializedFileReader::try_from(folder.join("series.parquet").as_path()).unwrap();
            assert_eq!(series.metadata().file_metadata().num_rows().cast_unsigned(), SECONDS);
            let names: Vec<_> = files(folder).into_keys().collect();
            assert_eq!(
                names,
                ["recovery.json", "samples.parquet", "samples.parquet.unreadable", "series.parquet"]
            );
            assert_eq!(files(folder)["samples.parquet.unreadable"], [7; 5000]);
            let [loss, kept] = &losses(folder)[..] else { panic!("{:?}", losses(folder)) };
            assert!(loss.starts_with("777 samples are lost"), "{loss}");
            assert!(kept.ends_with("kept as samples.parquet.unreadable"), "{kept}");
        },
    );
}

#[test]
fn no_sample_is_lost_when_the_race_is_interrupted_while_it_writes_the_footer() {
    let catalog = catalog();
    let check = |folder: &Path, what: &str| {
        recover_files(folder).unwrap();
        assert_eq!(done_times(folder), expected_done_times(GROUPS), "{what}");
        assert_eq!(losses(folder), Vec::<String>::new(), "{what}");
    };
    for fault in [Fault::Kill, Fault::DiskFull] {
        for interruptions in 0.. {
            let folder = new_folder();
            let samples = written_samples(folder.path(), &catalog);
            let (_, interrupted) = interrupt(fault, interruptions, || samples.close(&catalog, 0));
            check(folder.path(), &format!("{fault:?} {interruptions}"));
            if !interrupted {
                assert!(interruptions > 2, "{fault:?}: only {interruptions} operations");
                break;
            }
        }
    }
    let (killed, complete) = (new_folder(), new_folder());
    let samples = written_samples(killed.path(), &catalog);
    // The first operation writes to the index, and the second is interrupted in the middle.
    assert!(interrupt(Fault::Kill, 2, || samples.close(&catalog, 0)).1);
    assert!(written_samples(complete.path(), &catalog).close(&catalog, 0).error.is_none());
    let (killed, complete) = (files(killed.path()), files(complete.path())["samples.parquet"].clone());
    let footer = killed["samples.parquet"].len()..complete.len();
    assert!(footer.len() > 1000);
    for length in footer.step_by(97).chain([complete.len() - 1]) {
        let folder = copy(&killed);
        fs::write(folder.path().join("samples.parquet"), &complete[..length]).unwrap();
        check(folder.path(), &format!("{length} of {} bytes", complete.len()));
    }
}

#[test]
fn a_completion_in_place_that_is_interrupted_anywhere_can_be_repeated() {
    let killed = files(killed_race().path());
    interrupt_everywhere(
        &killed,
        |folder| complete_samples(folder, FooterPlacement::AtItsEnd { lost: 777 }).is_ok(),
        |folder| {
            assert_eq!(done_times(folder), expected_done_times(GROUPS));
            assert!(!folder.join("samples.directory").exists());
            let (lost, kept) = (losses(folder)[0].clone(), losses(folder).split_off(1));
            assert!(lost.starts_with("777 samples are lost"), "{lost}");
            assert!(kept.iter().all(|loss| loss.ends_with("kept as samples.parquet.unreadable")), "{kept:?}");
        },
    );
}

#[test]
fn a_row_group_that_did_not_reach_the_disk_is_counted() {
    let mut killed = files(killed_race().path());
    for (name, cut) in [("samples.directory", 18), ("samples.parquet", 5000 + 1)] {
        let content = killed.get_mut(name).unwrap();
        content.truncate(content.len() - cut);
    }
    interrupt_everywhere(
        &killed,
        |folder| recover_files(folder).is_ok(),
        |folder| {
            assert_eq!(done_times(folder), expected_done_times(GROUPS - 1));
            assert_eq!(losses(folder)[0], "100 samples are lost, because samples.parquet ends before them");
            assert_nothing_is_lost(folder, &killed);
        },
    );
}

/// Asserts that the bytes of the samples that the race had written are in the files that a recovery has left.
fn assert_nothing_is_lost(folder: &Path, race: &Files) {
    let (kept, written) = (files(folder), &race["samples.parquet"]);
    if let Some(whole) = kept.get("samples.parquet.damaged") {
        assert_eq!(whole, written);
        return;
    }
    let end = kept.get("samples.parquet.unreadable").map_or(&[][..], Vec::as_slice);
    let (readable, rest) = written.split_at(written.len() - end.len());
    assert_eq!(rest, end);
    assert!(kept["samples.parquet"].starts_with(readable) || readable.is_empty());
}

#[test]
fn what_a_truncated_file_does_not_describe_is_kept() {
    let race = files(killed_race().path());
    for name in ["samples.directory", "samples.parquet"] {
        let length = race[name].len();
        for length in (0..length).step_by(length / 40).chain([9, 10, 11, 14, 15, length - 1]) {
            let mut truncated = race.clone();
            truncated.insert(name.to_owned(), race[name][..length].to_vec());
            let folder = copy(&truncated);
            recover_files(folder.path()).unwrap();
            assert_nothing_is_lost(folder.path(), &truncated);
            assert!(!losses(folder.path()).is_empty(), "{name} of {length} bytes");
        }
    }
    // The first line lacks its end: no row group is known, and the samples are kept as they are.
    let mut truncated = race.clone();
    truncated.insert("samples.directory".to_owned(), race["samples.directory"][..14].to_vec());
    interrupt_everywhere(
        &truncated,
        |folder| recover_files(folder).is_ok(),
        |folder| assert_eq!(files(folder)["samples.parquet.unreadable"], race["samples.parquet"]),
    );
}

#[test]
fn an_end_that_an_earlier_recovery_has_kept_is_not_replaced() {
    let race = killed_race();
    let before = files(race.path());
    fs::write(race.path().join("samples.parquet.unreadable"), [8; 5000]).unwrap();
    let error = recover_files(race.path()).unwrap_err().to_string();
    assert!(error.contains("samples.parquet.unreadable exists; move it to another folder"), "{error}");
    assert_eq!(files(race.path())["samples.parquet"], before["samples.parquet"]);
    assert_eq!(files(race.path())["samples.parquet.unreadable"], [8; 5000]);
}

#[test]
fn damaged_losses_are_kept() {
    let race = killed_race();
    fs::write(race.path().join("recovery.json"), b"{\"losses\":[\"earlier").unwrap();
    recover_files(race.path()).unwrap();
    assert_eq!(losses(race.path()).len(), 2);
    assert_eq!(files(race.path())["recovery.json.damaged"], b"{\"losses\":[\"earlier");
}

#[test]
fn damaged_files_are_kept_and_not_used() {
    let race = files(killed_race().path());
    let index = &race["samples.directory"];
    let lines: Vec<_> = index.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let flipped = |name: &str, position: usize| {
        let mut content = race[name].clone();
        content[position] ^= 1;
        (name.to_owned(), content)
    };
    let index_with = |content: Vec<u8>| ("samples.directory".to_owned(), content);
    let changes = [
        index_with(b"garbage\n".to_vec()),
        index_with(b"garbage".to_vec()),
        index_with(Vec::new()),
        index_with(lines[1..].concat()),
        index_with([&lines[0][..], &lines[2]].concat()),
        index_with(lines[..2].concat()),
        index_with([&lines[1][..], &lines[0], &lines[2]].concat()),
        index_with([&lines[0][..], &[0; 100]].concat()),
        flipped("samples.directory", lines[0].len() + 10),
        flipped("samples.directory", lines[0].len() / 2),
        flipped("samples.parquet", 200),
        flipped("samples.parquet", 1),
    ];
    let last = changes.len() - 1;
    for (number, (name, content)) in changes.into_iter().enumerate() {
        let mut damaged = race.clone();
        damaged.insert(name, content);
        let check = |folder: &Path| {
            let kept = files(folder);
            let names: Vec<_> = kept.keys().map(String::as_str).collect();
            assert_eq!(
                names,
                ["recovery.json", "samples.directory.damaged", "samples.parquet.damaged", "series.parquet"]
            );
            assert_eq!(kept["samples.parquet.damaged"], damaged["samples.parquet"]);
            assert_eq!(kept["samples.directory.damaged"], damaged["samples.directory"]);
            let [loss] = &losses(folder)[..] else { panic!("{:?}", losses(folder)) };
            assert!(loss.contains("samples.directory does not fit it"), "{loss}");
        };
        let folder = copy(&damaged);
        assert_eq!(recover_files(folder.path()).unwrap(), Some(SECONDS), "change {number}");
        check(folder.path());
        if [0, last].contains(&number) {
            interrupt_everywhere(&damaged, |folder| recover_files(folder).is_ok(), check);
        }
    }
}

#[test]
fn damaged_lines_of_the_series_are_counted_and_kept() {
    let mut race = files(killed_race().path());
    let journal = String::from_utf8(race["series.jsonl"].clone()).unwrap();
    let mut lines: Vec<_> = journal.lines().map(ToOwned::to_owned).collect();
    lines[1] = lines[1].replace("\"service_time\":\"H", "\"service_time\":\"!");
    lines[3] = "garbage".into();
    race.insert("series.jsonl".into(), (lines.join("\n") + "\nincomplete").into_bytes());
    interrupt_everywhere(
        &race,
        |folder| recover_files(folder).is_ok(),
        |folder| {
            let series = SerializedFileReader::try_from(folder.join("series.parquet").as_path()).unwrap();
            assert_eq!(series.metadata().file_metadata().num_rows().cast_unsigned(), SECONDS - 2);
            assert_eq!(files(folder)["series.jsonl.damaged"], race["series.jsonl"]);
            assert!(losses(folder)[2].starts_with("2 damaged lines of series.jsonl"), "{:?}", losses(folder));
        },
    );
}

#[test]
fn an_incomplete_last_line_of_the_series_is_stated_and_kept() {
    let mut race = files(killed_race().path());
    race.get_mut("series.jsonl").unwrap().extend(b"{\"task\"");
    interrupt_everywhere(
        &race,
        |folder| recover_files(folder).is_ok(),
        |folder| {
            assert_eq!(files(folder)["series.jsonl.damaged"], race["series.jsonl"]);
            let cut = "the incomplete last line of series.jsonl (7 bytes) is not in series.parquet; the journal \
                       is kept as series.jsonl.damaged";
            assert_eq!(losses(folder).iter().filter(|loss| *loss == cut).count(), 1, "{:?}", losses(folder));
        },
    );
}

#[test]
fn a_complete_series_is_not_replaced_by_a_journal_with_fewer_rows() {
    let mut race = files(killed_race().path());
    let journal = race["series.jsonl"].clone();
    let finished = copy(&race);
    recover_files(finished.path()).unwrap();
    let complete = files(finished.path())["series.parquet"].clone();
    race.insert("series.parquet".into(), complete.clone());
    let half = journal[..journal.len() / 2].to_vec();
    for (partial, readable) in [(half, 2), (Vec::new(), 0), (b"\0\0\0\n".to_vec(), 0), (vec![0; 99], 0)] {
        race.insert("series.jsonl".into(), partial.clone());
        interrupt_everywhere(
            &race,
            |folder| recover_files(folder).is_ok(),
            |folder| {
                let kept = files(folder);
                assert_eq!(kept["series.parquet"], complete);
                assert_eq!(kept["series.jsonl.damaged"], partial);
                let expected = format!("series.jsonl has {readable} of the {SECONDS} rows of series.parquet");
                assert!(losses(folder)[2].starts_with(&expected), "{:?}", losses(folder));
            },
        );
    }
    // A journal with all rows is not kept, and one with more rows than the file replaces it.
    race.insert("series.jsonl".into(), journal.clone());
    let folder = copy(&race);
    assert_eq!(recover_files(folder.path()).unwrap(), Some(SECONDS));
    assert!(!files(folder.path()).contains_key("series.jsonl.damaged"));
    let line = journal.iter().position(|byte| *byte == b'\n').unwrap();
    race.insert("series.jsonl".into(), [&journal[..], &journal[..=line]].concat());
    assert_eq!(recover_files(copy(&race).path()).unwrap(), Some(SECONDS + 1));
}

#[test]
fn a_journal_that_was_changed_while_the_race_ran_is_an_error() {
    let cut = |content: &mut Vec<u8>| content.truncate(content.len() / 2);
    let zeros = |content: &mut Vec<u8>| content[..100].fill(0);
    let appended = |content: &mut Vec<u8>| content.extend(b"garbage\n");
    let changes = [cut as fn(&mut Vec<u8>), zeros, appended];
    for (change, rows) in changes.into_iter().zip([2, SECONDS - 1, SECONDS]) {
        let folder = new_folder();
        let series = written_series(folder.path(), &catalog());
        let path = folder.path().join("series.jsonl");
        let mut content = fs::read(&path).unwrap();
        change(&mut content);
        fs::write(&path, &content).unwrap();
        let error = series.close().unwrap_err().to_string();
        assert!(error.contains("series.jsonl: another program has changed it: it"), "{error}");
        assert!(error.ends_with(&format!("; {rows} of {SECONDS} lines are in series.parquet")), "{error}");
        let complete =
            SerializedFileReader::try_from(folder.path().join("series.parquet").as_path()).unwrap();
        assert_eq!(complete.metadata().file_metadata().num_rows().cast_unsigned(), rows);
        assert_eq!(files(folder.path())["series.jsonl.damaged"], content);
        let losses = losses(folder.path());
        let expected = if rows == SECONDS {
            "1 damaged line of series.jsonl (8 bytes) is not in series.parquet".to_owned()
        } else {
            format!("only {rows} of {SECONDS} lines of series.jsonl are in series.parquet")
        };
        assert_eq!(losses.iter().filter(|loss| loss.starts_with(&expected)).count(), 1, "{losses:?}");
    }
}

#[test]
fn an_index_without_checksums_is_read() {
    let mut race = files(killed_race().path());
    let index = String::from_utf8(race["samples.directory"].clone()).unwrap();
    let complete = index.lines().filter_map(|line| {
        let mut line: BTreeMap<String, serde_json::Value> = serde_json::from_str(line).ok()?;
        line.retain(|key, _| key == "end" || key == "footer");
        Some(serde_json::to_string(&line).unwrap() + "\n")
    });
    let lines: Vec<_> = complete.collect();
    assert_eq!(lines.len() as u64, GROUPS);
    for unfinished in ["", "{\"e", "{\"end\":8800,\"foot"] {
        race.insert("samples.directory".into(), (lines.concat() + unfinished).into_bytes());
        let folder = copy(&race);
        recover_files(folder.path()).unwrap();
        assert_eq!(done_times(folder.path()), expected_done_times(GROUPS));
        assert!(losses(folder.path())[0].starts_with("at most 131072 samples are lost"));
    }
}

#[test]
fn files_are_private_and_only_one_process_completes_them() {
    use std::os::unix::fs::PermissionsExt;

    let race = killed_race();
    for name in ["samples.parquet", "samples.directory", "series.jsonl"] {
        // `append` has kept their modes.
        assert_eq!(
            fs::metadata(race.path().join(name)).unwrap().permissions().mode() & 0o777,
            0o600,
            "{name}"
        );
    }
    let index = fs::File::open(race.path().join("samples.directory")).unwrap();
    index.lock().unwrap();
    assert_eq!(complete_samples(race.path(), FooterPlacement::Beside).unwrap(), None);
    drop(index);
    assert_eq!(recover_files(race.path()).unwrap(), Some(SECONDS));
    for name in ["samples.parquet", "series.parquet", "recovery.json"] {
        assert_eq!(
            fs::metadata(race.path().join(name)).unwrap().permissions().mode() & 0o777,
            0o600,
            "{name}"
        );
    }
}

#[test]
fn what_is_no_regular_file_is_neither_read_nor_written() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    for name in ["samples.parquet", "samples.directory", "series.jsonl"] {
        let (race, outside) = (killed_race(), new_folder());
        let (path, target) = (race.path().join(name), outside.path().join(name));
        fs::rename(&path, &target).unwrap();
        let content = fs::read(&target).unwrap();
        let is_refused = |expected: &str| {
            let error = recover_files(race.path()).unwrap_err().to_string();
            assert!(error.contains(name) && error.ends_with(expected), "{error}");
        };
        std::os::unix::fs::symlink(&target, &path).unwrap();
        is_refused("it is a symbolic link; replace it with the file");
        assert_eq!(fs::read(&target).unwrap(), content);
        fs::remove_file(&path).unwrap();
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        is_refused("it is not a regular file");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        is_refused("it is not a regular file");
    }
}

#[test]
fn a_recovery_does_not_write_through_links() {
    let (race, outside) = (killed_race(), new_folder());
    let target = outside.path().join("target");
    fs::write(&target, b"content").unwrap();
    for name in [
        "samples.parquet.part",
        "series.parquet.part",
        "series.parquet",
        "recovery.json.part",
        "recovery.json",
    ] {
        std::os::unix::fs::symlink(&target, race.path().join(name)).unwrap();
    }
    assert_eq!(recover_files(race.path()).unwrap(), Some(SECONDS));
    assert_eq!(fs::read(&target).unwrap(), b"content");
    assert_eq!(done_times(race.path()), expected_done_times(GROUPS));
    assert_eq!(losses(race.path()).len(), 2);
}

#[test]
fn a_recovery_of_telemetry_that_is_interrupted_anywhere_can_be_repeated() {
    let folder = new_folder();
    let telemetry = TelemetryFile::create(folder.path()).unwrap();
    let (source, name) = ("host".to_owned(), "cpu.user".to_owned());
    let (unit, kind, labels) = ("ms".to_owned(), SeriesKind::Counter, BTreeMap::new());
    let number = telemetry.number(&TelemetrySeries { source, name, unit, kind, labels });
    for time in 0..100_i32 {
        telemetry.write(i64::from(time), vec![(number, Some(f64::from(time)))]);
    }
    drop(telemetry);
    append(folder.path(), "telemetry.jsonl", b"{\"samples\":{");
    interrupt_everywhere(
        &files(folder.path()),
        |folder| recover_files(folder).is_ok(),
        |folder| {
            let path = folder.join("telemetry.parquet");
            let telemetry = SerializedFileReader::try_from(path.as_path()).unwrap();
            assert_eq!(telemetry.metadata().file_metadata().num_rows(), 100);
            let names: Vec<_> = files(folder).into_keys().collect();
            assert_eq!(names, ["recovery.json", "telemetry.jsonl.damaged", "telemetry.parquet"]);
            let [loss] = &losses(folder)[..] else { panic!("{:?}", losses(folder)) };
            assert!(loss.starts_with("the incomplete last line of telemetry.jsonl"), "{loss}");
        },
    );
}
