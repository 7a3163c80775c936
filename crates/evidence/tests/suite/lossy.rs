//! GC logs that prove that something is missing, mixed, repeated or cut.
#![allow(clippy::format_collect, reason = "the texts are short")]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use pacenote_evidence::gc::log::{Scope, Span};
use pacenote_evidence::gc::statistics::Statistics;
use pacenote_evidence::{EvidenceError, GcLogs, read_gc_logs};

/// A line of a server that states no zone, as Elasticsearch writes it.
const SERVER: &str = "[2026-11-28T15:00:02,000][INFO ][o.o.n.Node] [n1] started";

fn read_paths(paths: &[PathBuf]) -> Result<GcLogs, EvidenceError> {
    read_gc_logs(paths, &mut || ControlFlow::Continue(()))
}

fn read_cases(names: &[&str]) -> GcLogs {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    read_paths(&names.iter().map(|name| cases.join(name)).collect::<Vec<_>>()).unwrap()
}

fn read_files(texts: &[&[u8]]) -> Result<GcLogs, EvidenceError> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..texts.len()).map(|number| folder.path().join(number.to_string())).collect();
    for (path, text) in paths.iter().zip(texts) {
        std::fs::write(path, text).unwrap();
    }
    read_paths(&paths)
}

fn read(text: &str) -> GcLogs {
    read_files(&[text.as_bytes()]).unwrap()
}

/// Returns the statistics of the only log.
fn statistics(read: &GcLogs) -> Statistics {
    assert_eq!(read.logs.len(), 1);
    read.logs[0].statistics()
}

fn pauses(read: &GcLogs) -> Vec<usize> {
    read.logs.iter().map(|log| log.pauses.len()).collect()
}

/// Returns whether exactly one problem has a text.
fn says(read: &GcLogs, text: &str) -> bool {
    read.input.problems.iter().filter(|problem| problem.contains(text)).count() == 1
}

fn near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 1e-9)
}

/// Returns young collections of 50 ms of G1, with these numbers, each one second after its number.
fn young(ids: std::ops::Range<u64>) -> String {
    ids.map(|id| {
        let second = id + 1;
        format!(
            "[2026-11-28T15:{:02}:{:02}.000+0200][{second}.000s][info][gc] GC({id}) Pause Young (Normal) \
             (G1 Evacuation Pause) 24M->4M(256M) 50.{id:03}ms\n",
            second / 60,
            second % 60
        )
    })
    .collect()
}

const HEADER: &str = "[2026-11-28T15:00:00.500+0200][0.500s][info][gc] Using G1\n";

#[test]
fn a_line_of_another_program_moves_no_clock() {
    let found = read_cases(&["mixed-with-server-log.log"]);
    let statistics = statistics(&found);
    assert!(near(statistics.duration_s, 3.0) && near(statistics.pause_share, 0.1 / 3.0));
    assert!(says(&found, "1 line is not of the JVM's log"), "{:?}", found.input.problems);
    assert!(!statistics.is_incomplete);
}

#[test]
fn lines_of_other_programs_change_nothing_wherever_they_are() {
    let clean = format!("{HEADER}{}", young(0..30));
    let expected = statistics(&read(&clean));
    for line in [
        SERVER,
        "[12s] elapsed",
        "[99999.0s][worker] done",
        "[2026-11-28T16:00:02.000+0200] x",
        "[2020-01-01T00:00:00,000][WARN ][o.e.x] [n1] Version: 8.1",
        "Memory: 12M",
        "Using G1",
        "{\"@timestamp\":\"2026-11-28T15:00:02.000Z\",\"message\":\"started\"}",
        "\u{feff}",
    ] {
        for decorated in [clean.clone(), clean.replace("[info][gc]", "")] {
            let mixed: String =
                decorated.lines().map(|of_jvm| format!("{of_jvm}\n{line}\n{line}\n")).collect();
            let found = read(&mixed);
            assert_eq!(statistics(&found), expected, "{line}");
            assert_eq!(found.logs[0].epoch_ns, read(&clean).logs[0].epoch_ns, "{line}");
            assert_eq!(found.logs[0].jvm.version, None, "{line}");
        }
    }
}

#[test]
fn messages_that_the_jvm_dropped_are_said() {
    let found = read_cases(&["async-dropped.log"]);
    assert!(says(&found, "the JVM dropped 506 messages due to async logging"));
    assert!(says(&found, "collections 1 to 6 are missing (6)"));
    let statistics = statistics(&found);
    let pauses = statistics.pauses.unwrap();
    assert_eq!((statistics.is_incomplete, pauses.count, pauses.max_ms), (true, 2, 5.0));
    assert_eq!((pauses.mean_ms, pauses.p50_ms, pauses.p99_ms, pauses.interval_s), (None, None, None, None));
    assert_eq!((statistics.pause_share, statistics.trouble.full_collections), (None, None));
    assert!(statistics.utilisation.is_empty());
}

#[test]
fn collections_that_are_missing_are_said() {
    for order in [["ids-missing.log.0", "ids-missing.log"], ["ids-missing.log", "ids-missing.log.0"]] {
        let found = read_cases(&order);
        assert!(says(&found, "collections 2 to 600 are missing (599)"), "{:?}", found.input.problems);
        let statistics = statistics(&found);
        assert_eq!((statistics.pause_count, statistics.pause_share), (Some(4), None));
        assert_eq!(statistics.allocation.allocated_bytes_per_s, None);
    }
}

#[test]
fn what_is_missing_does_not_concern_other_windows() {
    let found = read_cases(&["ids-missing.log.0", "ids-missing.log"]);
    let window = |start_s: u64, end_s: u64| {
        let (start_ns, end_ns) = (start_s * 1_000_000_000, end_s * 1_000_000_000);
        found.logs[0].statistics_between(Span { start_ns, end_ns })
    };
    let whole = window(1, 3);
    assert_eq!((whole.is_incomplete, whole.pause_count), (false, Some(2)));
    assert!(near(whole.pause_share, 9.75e-3 / 2.0));
    for (start_s, end_s) in [(1, 10), (300, 310), (600, 604)] {
        assert!(window(start_s, end_s).is_incomplete, "{start_s} {end_s}");
    }
}

#[test]
fn a_whole_log_has_no_problem() {
    let found = read(&format!("{HEADER}{}", young(0..30)));
    assert_eq!(found.input.problems, Vec::<String>::new());
    assert!(!statistics(&found).is_incomplete);
}

#[test]
fn a_log_that_is_cut_at_its_beginning_or_end_says_so() {
    let found = read(&young(7..20));
    assert!(says(&found, "begins with collection 7"), "{:?}", found.input.problems);
    assert!(!statistics(&found).is_incomplete, "what the files have is complete");
    let text = young(0..3);
    let found = read(text.trim_end());
    assert!(says(&found, "has no end"), "{:?}", found.input.problems);
    let found = read(&text[..text.len() - 4]);
    assert!(says(&found, "1 line of a pause has no duration"), "{:?}", found.input.problems);
    assert!(statistics(&found).is_incomplete);
}

#[test]
fn lines_that_are_twice_in_the_files_count_once() {
    let whole = format!("{HEADER}{}", young(0..90));
    let expected = statistics(&read(&whole));
    let without_wall = |text: &str| text.lines().map(|line| format!("{}\n", &line[30..])).collect::<String>();
    let without_uptime = |text: &str| {
        let line = |line: &str| format!("{}{}\n", &line[..30], line[30..].split_once(']').unwrap().1);
        text.lines().map(line).collect::<String>()
    };
    for second in [whole.clone(), young(10..40), young(60..90)] {
        let found = read_files(&[whole.as_bytes(), second.as_bytes()]).unwrap();
        assert_eq!(statistics(&found), expected);
        assert!(says(&found, "there twice"), "{:?}", found.input.problems);
        for changed in [without_wall, without_uptime] as [fn(&str) -> String; 2] {
            let found = read_files(&[changed(&whole).as_bytes(), changed(&second).as_bytes()]).unwrap();
            let counted: usize = pauses(&found).iter().sum();
            assert!(
                counted == 90 || found.logs.iter().all(|log| log.statistics().is_incomplete),
                "{counted}"
            );
        }
    }
    let longer = format!("{HEADER}{}", young(0..120));
    let found = read_files(&[whole.as_bytes(), longer.as_bytes()]).unwrap();
    assert_eq!(pauses(&found), [90, 30]);
    assert_eq!(found.logs[1].statistics().duration_s, Some(30.0), "from the end of the first file on");
}

#[test]
fn starts_of_a_program_that_resemble_each_other_are_not_repeated_lines() {
    let first = "[1.000s][info][gc] Using G1\n[2.000s][info][gc] GC(0) Pause Remark 5.000ms\n";
    let found = read(&[first, &first.replace("5.000", "5.001")].concat());
    assert_eq!(pauses(&found), [1, 1]);
    assert_eq!(pauses(&read(&[first, first].concat())), [1, 1], "one pause may be the same by chance");
}

#[test]
fn several_jvms_without_process_ids_are_said_to_be_mixed() {
    let jvm = |second: u64| {
        (0..8).map(move |id| {
            format!(
                "[{}.000s][info][gc] GC({id}) Pause Young (Normal) (G1) 9M->1M(9M) 5.{second:03}ms\n",
                second + id
            )
        })
    };
    let mixed: String = jvm(1).zip(jvm(500)).flat_map(|(one, other)| [one, other]).collect();
    let found = read(&mixed);
    assert!(says(&found, "several JVMs wrote to it without their process ids"), "{:?}", found.input.problems);
    assert!(found.logs.iter().all(|log| log.statistics().is_incomplete));
    let close: String = jvm(1).zip(jvm(1)).flat_map(|(one, other)| [one, other]).collect();
    let found = read(&close);
    assert!(says(&found, "8 collections end twice"), "{:?}", found.input.problems);
    assert!(statistics(&found).is_incomplete);
}

#[test]
fn restarts_are_not_taken_for_a_mix_of_jvms() {
    let start = "[0.005s][info][gc,init] CardTable entry size: 512\n[0.010s][info][gc] Using G1\n";
    let log = |second: u32| {
        format!(
            "{start}[{second}.000s][info][gc] GC(0) Pause Young (Normal) (G1) 9M->1M(9M) 5.{second:03}ms\n"
        )
    };
    let found = read(&(10..20).map(log).collect::<String>());
    assert_eq!((pauses(&found), found.input.problems), (vec![1; 10], vec![]));
}

#[test]
fn zgc_without_phases_has_collections_but_states_no_pauses() {
    let found = read_cases(&["zgc-plain.log"]);
    let statistics = statistics(&found);
    assert_eq!(
        (statistics.pauses.as_ref(), statistics.pause_count, statistics.pause_share),
        (None, None, None)
    );
    assert!(statistics.utilisation.is_empty());
    assert_eq!((statistics.young_collections, statistics.old_collections), (Some(0), Some(1)));
    assert_eq!(
        (statistics.trouble.forced_collections, statistics.trouble.full_collections),
        (Some(1), Some(0))
    );
    let m = 1 << 20;
    assert_eq!(
        (statistics.heap.before_max_bytes, statistics.heap.after_max_bytes),
        (Some(208 * m), Some(164 * m))
    );
    assert_eq!(statistics.allocation.allocated_bytes, None, "what was allocated meanwhile is not stated");
    let found = read(
        "[1.0s][info][gc] Using The Z Garbage Collector\n\
         [2.0s][info][gc] GC(0) Major Collection (Warmup)\n\
         [2.1s][info][gc] GC(1) Minor Collection (Allocation Rate) 206M(80%)->90M(35%) 0.028s\n\
         [2.2s][info][gc] GC(0) Major Collection (Warmup) 216M(84%)->80M(35%) 0.300s\n",
    );
    let scopes: Vec<_> = found.logs[0].collections.iter().map(|each| each.scope).collect();
    assert_eq!(scopes, [Scope::Young, Scope::Old]);
    assert_eq!(
        read("[1.0s][info][gc] Using The Z Garbage Collector\n[9.0s][info][gc] x\n").logs[0]
            .statistics()
            .pause_count,
        Some(0)
    );
}

#[test]
fn pinned_regions_are_not_a_lack_of_room() {
    for (reason, expected) in [
        (": Pinned", 0),
        (": Allocation", 1),
        (": Allocation / Pinned", 1),
        (": Pinned / Allocation", 1),
        ("", 1),
    ] {
        let found = read(&format!(
            "[1.0s][info][gc] Using G1\n[2.0s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) \
             (Evacuation Failure{reason}) 26M->20M(256M) 2.000ms\n"
        ));
        assert_eq!(statistics(&found).trouble.evacuation_failures, Some(expected), "{reason}");
        assert_eq!(statistics(&found).pause_count, Some(1));
    }
}

#[test]
fn stops_are_for_collections_if_their_operation_or_a_pause_says_so() {
    let found = statistics(&read_cases(&["cgc-operation.log"]));
    let stops = found.safepoints.unwrap();
    assert_eq!((stops.gc_s, stops.other_s), (Some(0.0201), Some(0.0)));
    let stop = |second: u32| {
        format!(
            "[{second}.1s][info][safepoint] Total time for which application threads were stopped: 0.0500000 seconds, \
             Stopping threads took: 0.0000100 seconds\n"
        )
    };
    let pause = |second: u32| {
        format!("[{second}.1s][info][gc] GC({}) Pause Full (System.gc()) 9M->1M(9M) 49.000ms\n", second - 1)
    };
    let (one, two, three) = (stop(1), stop(2), stop(3));
    let found = read(&[pause(1), one.clone(), two.clone(), pause(2), three.clone()].concat());
    let stops = statistics(&found).safepoints.unwrap();
    assert_eq!((stops.gc_s, stops.other_s), (Some(0.1), Some(0.05)));
    let found = read(&[one, two, three].concat());
    let stops = statistics(&found).safepoints.unwrap();
    assert_eq!((stops.gc_s, stops.other_s, stops.stops.count), (None, None, 3), "nothing tells them apart");
}

#[test]
fn regions_of_jdk_11_are_read() {
    let log = read(
        "[0.1s][info][gc,heap] Heap region size: 1M\n[0.1s][info][gc] Using G1\n\
         [1.0s][info][gc,heap] GC(0) Eden regions: 12->0(10)\n\
         [1.0s][info][gc,heap] GC(0) Survivor regions: 0->2(2)\n\
         [1.0s][info][gc,heap] GC(0) Old regions: 0->3\n\
         [1.0s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 12M->5M(256M) 6.8ms\n",
    );
    let m = 1 << 20;
    assert_eq!(log.logs[0].jvm.region_bytes, Some(m));
    assert_eq!(statistics(&log).allocation.promoted_bytes, Some(3 * m));
}

#[test]
fn g1_of_jdk_9_has_mixed_collections_with_causes() {
    let found = read(
        "[1.0s][info][gc] Using G1\n\
         [2.0s][info][gc] GC(0) Pause Initial Mark (G1 Humongous Allocation) 24M->5M(256M) 6.000ms\n\
         [3.0s][info][gc] GC(1) Pause Mixed (G1 Evacuation Pause) 24M->5M(256M) 6.000ms\n",
    );
    let scopes: Vec<_> = found.logs[0].collections.iter().map(|each| each.scope).collect();
    assert_eq!(scopes, [Scope::Young, Scope::Mixed]);
    let statistics = statistics(&found);
    let causes: Vec<_> = statistics.pause_causes.iter().map(|each| each.name.as_str()).collect();
    assert_eq!(causes.len(), 2, "{causes:?}");
    assert_eq!(statistics.trouble.humongous_pauses, Some(1));
    let cms = "[1.0s][info][gc] Using Concurrent Mark Sweep\n[2.0s][info][gc] GC(0) Pause Initial Mark 9M->9M(9M) 1.0ms\n";
    assert_eq!(read(cms).logs[0].collections.len(), 0, "the phase of CMS is not a collection");
}

#[test]
fn odd_durations_are_read_or_said_to_be_unread() {
    let found = read_cases(&["space-before-ms.log"]);
    let pauses = statistics(&found).pauses.unwrap();
    assert_eq!((pauses.count, pauses.max_ms), (1, 6.363));
    let found = read("[1.0s][info][gc] Using G1\n[2.0s][info][gc] GC(0) Pause Remark 6M->6M(256M) soon\n");
    assert!(says(&found, "no duration that can be read"), "{:?}", found.input.problems);
    assert_eq!(statistics(&found).pause_count, None, "never 0");
}

#[test]
fn zgc_of_jdk_11_does_not_count_relocation_as_allocation() {
    let collection = |id: u32, second: u32| {
        format!(
            "[{second}.0s][info][gc,start] GC({id}) Garbage Collection (Warmup)\n\
             [{second}.1s][info][gc,phases] GC({id}) Pause Mark Start 0.017ms\n\
             [{second}.2s][info][gc,heap] GC({id})       Used:      100M (45%)  120M (68%)  130M (80%)  80M (80%)\n\
             [{second}.2s][info][gc,heap] GC({id})  Allocated:         -         20M (23%)   30M (36%)  90M (76%)\n\
             [{second}.2s][info][gc,heap] GC({id})  Reclaimed:         -          -           2M (1%)   50M (41%)\n\
             [{second}.2s][info][gc] GC({id}) Garbage Collection (Warmup) 100M(45%)->80M(80%)\n"
        )
    };
    let found = read(&[collection(0, 1), collection(1, 2)].concat());
    // 20 MB between the collections, and 80 + 50 - 100 during the second.
    assert_eq!(statistics(&found).allocation.allocated_bytes, Some(50 << 20));
}

#[test]
fn a_log_of_jdk_8_is_recognized() {
    let old = "2014-05-13T10:09:34.442+0200: 1,234: [GC pause (G1 Evacuation Pause) (young), 0.0103 secs]\n";
    let stop = "Total time for which application threads were stopped: 0.0001 seconds, Stopping threads took: 0.0000 seconds\n";
    for text in
        [old.to_owned(), format!("{old}{stop}"), format!("CommandLine flags: -XX:+UseG1GC\n{stop}{old}")]
    {
        let error = read_files(&[text.as_bytes()]).unwrap_err().to_string();
        assert!(error.contains("JDK 8 or older") && error.contains("JDK 11 or later"), "{error}");
    }
    let found = read(&format!("{HEADER}{}{old}", young(0..3)));
    assert_eq!(pauses(&found), [3]);
    assert!(says(&found, "1 line is of JDK 8 or older"));
}

#[test]
fn logs_in_the_output_of_containers_are_read() {
    let clean = format!("{HEADER}{}", young(0..30));
    let expected = statistics(&read(&clean));
    let wrapped = |line: &dyn Fn(&str) -> String| clean.lines().map(line).collect::<String>();
    let json = |line: &str| {
        let line = line.replace('>', "\\u003e");
        format!("{{\"log\":\"{line}\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-28T15:00:02.1Z\"}}\n")
    };
    for text in [
        wrapped(&json),
        wrapped(&|line| format!("es01  | {line}\n{SERVER}\n")),
        wrapped(&|line| format!("2026-11-28T15:00:02.123456789Z stdout F {line}\n")),
        wrapped(&|line| format!("2026-11-28T15:00:02.123456789Z {line}\r\n")),
    ] {
        assert_eq!(statistics(&read(&text)), expected, "{text}");
    }
}

#[test]
fn jvms_of_several_containers_are_told_apart() {
    let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (one, other) = (lines(young(0..30)), lines(young(0..20)));
    let mut text = String::new();
    for (at, line) in one.iter().enumerate() {
        text.extend(["es01  | ", line, "\n"]);
        if let Some(line) = other.get(at) {
            text.extend(["es02  | ", line, "\n"]);
        }
    }
    let found = read(&text);
    let names: Vec<_> = found.logs.iter().map(|log| log.container.as_deref()).collect();
    assert_eq!((names, pauses(&found)), (vec![Some("es01"), Some("es02")], vec![30, 20]));
    assert!(found.logs.iter().all(|log| !log.statistics().is_incomplete));
}
