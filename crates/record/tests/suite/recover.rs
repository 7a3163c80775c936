//! Completes the files of races that were killed.

use std::fs;
use std::io::Write;
use std::path::Path;

use pacenote_record::{EndedBy, Sample, SampleResult, recover_files};
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::support::{MS, Race, SECOND, end, info, record, rows, sample};

/// Appends bytes to a file of a race folder.
fn append(folder: &Path, name: &str, bytes: &[u8]) {
    fs::OpenOptions::new().append(true).open(folder.join(name)).unwrap().write_all(bytes).unwrap();
}

#[test]
fn a_killed_race_is_readable_up_to_its_last_finished_second() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    for second in 0..10 {
        record(&mut recorder, sample(second * SECOND, second * SECOND + MS));
        recorder.flush();
    }
    race.collect();
    let folder = race.folder;
    assert_eq!(recover_files(folder.path()).unwrap(), None, "the files of a running race have changed");
    // The race is killed: no file is completed, and the last line is incomplete.
    drop(race.collector);
    let journal = folder.path().join("series.jsonl");
    let mut text = fs::read(&journal).unwrap();
    text.extend_from_slice("{\"task\": \"inde\u{fc}".as_bytes().split_last().unwrap().1);
    fs::write(&journal, text).unwrap();
    let seconds = recover_files(folder.path()).unwrap().unwrap();
    assert!(seconds >= 7, "{seconds}");
    assert_eq!(rows(&folder.path().join("series.parquet")).len() as u64, seconds);
    assert_eq!(recover_files(folder.path()).unwrap(), None);
}

#[test]
fn samples_that_a_race_could_not_complete_are_completed_later() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    (0..10).for_each(|number| record(&mut recorder, sample(number * MS, number * MS + MS)));
    end(&mut recorder, EndedBy::Iterations, 10);
    race.collect();
    let folder = race.folder.path();
    let (samples, hidden) = (folder.join("samples.parquet"), folder.join("hidden"));
    // The race is killed while it writes its second row group. The series can be completed, but the samples cannot yet.
    drop(race.collector);
    fs::remove_file(folder.join("series.jsonl")).unwrap();
    append(folder, "samples.directory", b"{\"rows\":5,");
    append(folder, "samples.parquet", b"torn");
    fs::rename(&samples, &hidden).unwrap();
    assert!(recover_files(folder).is_err());
    fs::rename(&hidden, &samples).unwrap();
    assert_eq!(recover_files(folder).unwrap(), Some(10));
    assert_eq!(rows(&samples).len(), 10);
    assert_eq!(recover_files(folder).unwrap(), None);
}

#[test]
fn samples_of_a_killed_race_are_readable_up_to_its_last_row_group() {
    let mut race = Race::new(info(), 2);
    let [mut one, mut other] = [race.recorder(false), race.recorder(false)];
    // More than one row group of 131,072 rows, and some rows that are only collected.
    for number in 0..140_000_u64 {
        let ok = sample(number, number + MS);
        let result = SampleResult { status: if number % 7 == 0 { 201 } else { 200 }, ..ok.result };
        record(&mut one, Sample { result, ..ok });
    }
    record(&mut other, sample(0, MS));
    one.flush();
    race.collect();
    drop((race.collector, one, other));
    let path = race.folder.path().join("samples.parquet");
    assert!(
        SerializedFileReader::try_from(path.as_path()).is_err(),
        "the file of a killed race has a footer"
    );
    append(race.folder.path(), "samples.directory", b"{\"rows\":131072,\"end\":9");
    append(race.folder.path(), "samples.parquet", b"a torn row group");
    recover_files(race.folder.path()).unwrap().unwrap();
    let reader = SerializedFileReader::try_from(path.as_path()).unwrap();
    let found = reader.metadata().file_metadata().num_rows();
    assert!((131_072..136_000).contains(&found), "{found}");
    let mut statuses = [0, 0];
    for row in reader.get_row_iter(None).unwrap().map(Result::unwrap) {
        statuses[usize::from(row.to_string().contains("status: 201"))] += 1;
    }
    assert_eq!((statuses[0] + statuses[1], statuses[1]), (found, (found + 6) / 7));
    assert!(!race.folder.path().join("samples.directory").exists());
    let losses = fs::read_to_string(race.folder.path().join("recovery.json")).unwrap();
    assert!(losses.contains("131072 samples are lost"), "{losses}");
}

#[test]
fn files_that_vanish_while_a_race_runs_are_an_error() {
    for name in ["series.jsonl", "samples.parquet", "samples.directory"] {
        let mut race = Race::new(info(), 1);
        let mut recorder = race.recorder(false);
        (0..10).for_each(|number| record(&mut recorder, sample(number * MS, number * MS + MS)));
        end(&mut recorder, EndedBy::Iterations, 10);
        race.collect();
        fs::remove_file(race.folder.path().join(name)).unwrap();
        let error = race.collector.close().error.unwrap().to_string();
        assert!(error.contains(name), "{error}");
    }
}
