//! Telemetry is written by several threads, completed at the end of a race or after a kill, and read back.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use pacenote_record::{
    MeasuredPart, SeriesCut, SeriesKind, TaskWindow, TelemetryFile, TelemetrySeries, TimeGrid, recover_files,
    telemetry_cuts, telemetry_points, telemetry_timeline,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use tempfile::TempDir;

const S: i64 = 1_000_000_000;

fn series(name: &str, kind: SeriesKind, node: &str) -> TelemetrySeries {
    TelemetrySeries {
        source: "node-counters".into(),
        name: name.into(),
        unit: "ms".into(),
        kind,
        labels: BTreeMap::from([("node".to_owned(), node.to_owned())]),
    }
}

fn task(name: &str, begin_s: i64, end_s: i64) -> TaskWindow {
    TaskWindow { task: name.into(), begin_ns: begin_s * S, end_ns: end_s * S }
}

/// Writes ten seconds of a counter and a gauge, and two tasks that overlap.
fn written(folder: &Path) -> TelemetryFile {
    let file = TelemetryFile::create(folder).unwrap();
    let counter = file.number(&series("gc.time", SeriesKind::Counter, "node-0"));
    let gauge = file.number(&series("heap", SeriesKind::Gauge, "node-0"));
    assert_eq!(file.number(&series("gc.time", SeriesKind::Counter, "node-0")), counter);
    for second in 0..10_i32 {
        let value = Some(f64::from(second * 5));
        let heap = if second == 3 { None } else { value };
        file.write(i64::from(second) * S, vec![(counter, value), (gauge, heap)]);
    }
    file.add_task(task("index", 0, 1));
    file.add_task(task("index", 1, 4));
    file.add_task(task("search \"a\"", 3, 8));
    file
}

/// Returns the rows as text, in the order of the file.
fn rows(folder: &Path) -> Vec<String> {
    let reader = SerializedFileReader::try_from(folder.join("telemetry.parquet").as_path()).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn losses(folder: &Path) -> String {
    fs::read_to_string(folder.join("recovery.json")).unwrap_or_default()
}

#[test]
fn rows_have_their_series_and_the_tasks_that_ran() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path());
    assert_eq!((file.close().unwrap(), file.close().unwrap()), (20, 0));
    assert_eq!(names(folder.path()), ["telemetry.parquet"]);
    let rows = rows(folder.path());
    assert_eq!(rows.len(), 20);
    let texts = "source: \"node-counters\", name: \"gc.time\", value: 15.0, unit: \"ms\", kind: \"counter\", labels: \"{\"node\":\"node-0\"}\"}";
    assert!(rows[3].starts_with("{time: 3000000000, task: \"index, search \"a\"\", "), "{}", rows[3]);
    assert!(rows[3].ends_with(texts), "{}", rows[3]);
    assert!(rows[0].contains("task: null") && rows[9].contains("task: null"), "{rows:?}");
    assert!(rows[13].contains("name: \"heap\", value: null"), "{}", rows[13]);
}

#[test]
fn series_are_cut_to_tasks() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path()).close().unwrap();
    let cuts = telemetry_cuts(&folder.path().join("telemetry.parquet"), &HashMap::new()).unwrap();
    assert_eq!(cuts.tasks, [task("index", 1, 4), task("search \"a\"", 3, 8)]);
    let [time, heap] = &cuts.series[..] else { panic!("{:?}", cuts.series) };
    assert_eq!((time.series.name.as_str(), heap.series.name.as_str()), ("gc.time", "heap"));
    let (Some(SeriesCut::Counter(grown)), Some(SeriesCut::Gauge(values))) = (time.cuts[0], heap.cuts[0])
    else {
        panic!("{:?} {:?}", time.cuts, heap.cuts)
    };
    assert!((grown.increase - 15.0).abs() < 1e-9 && (grown.covered_s - 3.0).abs() < 1e-9, "{grown:?}");
    assert_eq!((values.samples, values.gaps), (3, 1));
    let text = serde_json::to_string(&cuts).unwrap();
    assert!(text.contains("\"source\":\"node-counters\"") && text.contains("\"increase\":15.0"), "{text}");
    let is_heap = |series: &TelemetrySeries| series.name == "heap";
    let points = telemetry_points(&folder.path().join("telemetry.parquet"), is_heap, 1_000).unwrap();
    assert_eq!((points.len(), points[0].points.len(), points[0].points[3].value), (1, 10, None));
}

/// A part that the task does not have is not its window.
#[test]
fn series_are_cut_to_what_was_measured_of_a_task() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path()).close().unwrap();
    let path = folder.path().join("telemetry.parquet");
    for (from_s, length_s, begin, end) in
        [(1.0, 2.0, 2, 4), (1.0, 1.0, 2, 3), (1.0, 9.0, 2, 4), (3.0, 1.0, 1, 4)]
    {
        let measured = HashMap::from([("index".to_owned(), MeasuredPart { from_s, length_s })]);
        let cuts = telemetry_cuts(&path, &measured).unwrap();
        assert_eq!(cuts.tasks, [task("index", begin, end), task("search \"a\"", 3, 8)]);
        let Some(SeriesCut::Counter(grown)) = cuts.series[0].cuts[0] else { panic!("{cuts:?}") };
        assert!((grown.covered_s - (end - begin) as f64).abs() < 1e-9, "{grown:?}");
    }
}

#[test]
fn counters_of_a_node_begin_again_where_its_uptime_falls() {
    let folder = tempfile::tempdir().unwrap();
    let file = TelemetryFile::create(folder.path()).unwrap();
    // One node restarted at 25 s, and its counter is larger at 40 s than it was at 20 s; the other one ran on.
    let readings = [(0, 12, 9), (10, 22, 10), (20, 32, 11), (40, 15, 14), (50, 25, 15), (60, 35, 16)];
    for node in ["node-0", "node-1"] {
        let cpu = file.number(&series("process.cpu.total", SeriesKind::Counter, node));
        let uptime = file.number(&series("jvm.uptime", SeriesKind::Gauge, node));
        for (at_s, uptime_s, cpu_s) in readings {
            let uptime_s = if node == "node-0" { uptime_s } else { 100 + at_s };
            let values = [(cpu, cpu_s), (uptime, uptime_s)];
            let values = values.map(|(number, seconds)| (number, Some(f64::from(seconds) * 1e3)));
            file.write(i64::from(at_s) * S, values.to_vec());
        }
    }
    file.add_task(task("search", 0, 60));
    file.close().unwrap();
    let path = folder.path().join("telemetry.parquet");
    let cuts = telemetry_cuts(&path, &HashMap::new()).unwrap();
    let grown = |node: &str| {
        let of_node = |cuts: &&pacenote_record::SeriesCuts| {
            cuts.series.kind == SeriesKind::Counter && cuts.series.labels["node"] == node
        };
        let Some(SeriesCut::Counter(cut)) = cuts.series.iter().find(of_node).unwrap().cuts[0] else {
            panic!()
        };
        (cut.increase, cut.covered_s, cut.resets)
    };
    assert_eq!((grown("node-0"), grown("node-1")), ((4_000.0, 40.0, 1), (7_000.0, 60.0, 0)));
    let grid = TimeGrid { begin_ns: 0, length_ns: 20_000_000_000, parts: 3 };
    let timeline = telemetry_timeline(&path, grid, |series| series.name == "process.cpu.total").unwrap();
    let means: Vec<_> = timeline.into_iter().map(|each| each.mean).collect();
    assert_eq!(means[0], [Some(100.0), None, Some(100.0)]);
    assert_eq!(means[1], [Some(100.0), Some(150.0), Some(100.0)]);
}

#[test]
fn a_series_that_begins_after_another_has_ended_has_its_own_values() {
    let folder = tempfile::tempdir().unwrap();
    let file = TelemetryFile::create(folder.path()).unwrap();
    let first = file.number(&series("a", SeriesKind::Gauge, "node-0"));
    let second = file.number(&series("b", SeriesKind::Gauge, "node-0"));
    let single = file.number(&series("c", SeriesKind::Gauge, "node-0"));
    for time in 0..6_i32 {
        let number = if time < 3 { first } else { second };
        file.write(i64::from(time) * S, vec![(number, Some(f64::from(time)))]);
    }
    file.write(9 * S, vec![(single, Some(9.0))]);
    file.close().unwrap();
    let points = telemetry_points(&folder.path().join("telemetry.parquet"), |_| true, 1_000).unwrap();
    let values: Vec<Vec<_>> =
        points.iter().map(|each| each.points.iter().filter_map(|point| point.value).collect()).collect();
    assert_eq!(values, [vec![0.0, 1.0, 2.0], vec![3.0, 4.0, 5.0], vec![9.0]]);
}

#[test]
fn many_threads_write_more_than_a_row_group() {
    let folder = tempfile::tempdir().unwrap();
    let file = Arc::new(TelemetryFile::create(folder.path()).unwrap());
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let file = Arc::clone(&file);
            thread::spawn(move || {
                let own = series("own", SeriesKind::Counter, &format!("node-{thread}"));
                let all = series("all", SeriesKind::Gauge, "node");
                let (own, all) = (file.number(&own), file.number(&all));
                for time in 0..20_000_i32 {
                    file.write(i64::from(time) * S, vec![(own, Some(f64::from(time))), (all, Some(1.0))]);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    file.add_task(task("index", 10, 110));
    assert_eq!(file.close().unwrap(), 160_000);
    let path = folder.path().join("telemetry.parquet");
    let reader = SerializedFileReader::try_from(path.as_path()).unwrap();
    assert!(reader.num_row_groups() > 1);
    let cuts = telemetry_cuts(&path, &HashMap::new()).unwrap();
    assert_eq!(cuts.series.len(), 5);
    for series in cuts.series.iter().filter(|series| series.series.name == "own") {
        let Some(SeriesCut::Counter(cut)) = series.cuts[0] else { panic!("{series:?}") };
        assert!((cut.increase - 100.0).abs() < 1e-6, "{cut:?}");
    }
}

/// Returns the folder of a race that was killed.
fn killed() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    drop(written(folder.path()));
    folder
}

#[test]
fn the_telemetry_of_a_killed_race_is_completed() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path());
    // Another process does not touch a race that is running.
    assert_eq!(recover_files(folder.path()).unwrap(), None);
    drop(file);
    assert_eq!(recover_files(folder.path()).unwrap(), Some(20));
    assert_eq!(names(folder.path()), ["telemetry.parquet"]);
    assert_eq!(
        telemetry_cuts(&folder.path().join("telemetry.parquet"), &HashMap::new()).unwrap().tasks.len(),
        2
    );
    assert_eq!(recover_files(folder.path()).unwrap(), None);
}

#[test]
fn damaged_lines_are_left_out_and_reported() {
    // What becomes of the journal, the rows that remain, and the loss.
    type Case = (fn(String) -> String, u64, &'static str, bool);
    let cases: [Case; 5] = [
        (|text| text.clone() + "{\"samples\":{\"time\":1,\"va", 20, "the incomplete last line", true),
        (|text| text.replacen("[0,25.0]", "[0,x]", 1), 18, "1 damaged line is", true),
        (|text| text.replacen("{\"series\"", "{\"", 1), 10, "10 values of telemetry.jsonl are not", true),
        (|_| String::new(), 0, "", false),
        (|text| text.replace('\n', "\r"), 0, "the incomplete last line", true),
    ];
    for (damage, rows, loss, is_kept) in cases {
        let folder = killed();
        let journal = folder.path().join("telemetry.jsonl");
        fs::write(&journal, damage(fs::read_to_string(&journal).unwrap())).unwrap();
        assert_eq!(recover_files(folder.path()).unwrap(), Some(rows), "{loss}");
        assert!(losses(folder.path()).contains(loss), "{loss}: {}", losses(folder.path()));
        assert_eq!(folder.path().join("telemetry.jsonl.damaged").exists(), is_kept, "{loss}");
        assert!(!journal.exists());
        telemetry_cuts(&folder.path().join("telemetry.parquet"), &HashMap::new()).unwrap();
    }
}

#[test]
fn a_complete_file_is_not_replaced_by_a_journal_with_fewer_rows() {
    let folder = killed();
    let journal = folder.path().join("telemetry.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    recover_files(folder.path()).unwrap();
    let lines: Vec<_> = text.split_inclusive('\n').take(6).collect();
    fs::write(&journal, lines.concat()).unwrap();
    assert_eq!(recover_files(folder.path()).unwrap(), Some(20));
    assert_eq!(rows(folder.path()).len(), 20);
    assert!(losses(folder.path()).contains("which is kept"), "{}", losses(folder.path()));
    assert!(folder.path().join("telemetry.jsonl.damaged").exists());
}

#[test]
fn a_journal_that_others_change_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path());
    let journal = folder.path().join("telemetry.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.split_inclusive('\n').take(5).collect::<String>()).unwrap();
    let error = file.close().unwrap_err().to_string();
    assert!(error.contains("another program has changed it: 6 of 20 values"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path());
    fs::remove_file(folder.path().join("telemetry.jsonl")).unwrap();
    assert!(file.close().unwrap_err().to_string().contains("No such file"));
}

#[test]
fn files_that_are_not_telemetry_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("telemetry.parquet");
    let missing = telemetry_cuts(&path, &HashMap::new()).unwrap_err().to_string();
    assert_eq!(missing, format!("{} does not exist", path.display()));
    written(folder.path()).close().unwrap();
    let content = fs::read(&path).unwrap();
    for end in [0, 3, 100, content.len() / 2, content.len() - 1] {
        fs::write(&path, &content[..end]).unwrap();
        let error = telemetry_cuts(&path, &HashMap::new()).unwrap_err().to_string();
        assert!(error.contains("is damaged") && !error.contains('\n'), "{end}: {error}");
    }
    for position in (4..content.len()).step_by(37) {
        let mut damaged = content.clone();
        damaged[position] ^= 0x5a;
        fs::write(&path, damaged).unwrap();
        // Whatever it says, it neither panics nor goes on for ever.
        let _ = telemetry_cuts(&path, &HashMap::new());
    }
}
