//! Logs of `HotSpot`, with lines as JDK 11, 17 and 25 write them.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use pacenote_evidence::gc::log::{Collection, Scope, Span};
use pacenote_evidence::gc::statistics::Statistics;
use pacenote_evidence::{EvidenceError, GcLog, GcLogs, read_gc_logs};

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;

fn read_files(texts: &[&[u8]]) -> Result<GcLogs, EvidenceError> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..texts.len()).map(|number| folder.path().join(number.to_string())).collect();
    for (path, text) in paths.iter().zip(texts) {
        std::fs::write(path, text).unwrap();
    }
    read_gc_logs(&paths, &mut || ControlFlow::Continue(()))
}

/// Returns the only log of a text.
fn read(text: &str) -> GcLog {
    let mut logs = read_files(&[text.as_bytes()]).unwrap().logs;
    assert_eq!(logs.len(), 1, "{text}");
    logs.remove(0)
}

fn kinds(statistics: &Statistics) -> Vec<(&str, u64)> {
    let mut kinds: Vec<_> =
        statistics.pause_kinds.iter().map(|kind| (kind.name.as_str(), kind.durations.count)).collect();
    kinds.sort_unstable();
    kinds
}

/// Returns the scope, and the bytes before, after, promoted, survived, and of the young generation.
fn sizes(collection: &Collection) -> (Scope, [Option<u64>; 5]) {
    let found = [
        collection.before_bytes,
        collection.after_bytes,
        collection.promoted_bytes,
        collection.survived_bytes,
        collection.young_bytes,
    ];
    (collection.scope, found)
}

const G1: &str = "\
[1.000s][info][gc] Using G1
[1.000s][info][gc,init] CPUs: 2 total, 2 available
[1.000s][info][gc,init] Memory: 24105M
[1.000s][info][gc,init] Compressed Oops: Enabled (Zero based)
[1.000s][info][gc,init] Heap Region Size: 2M
[1.000s][info][gc,init] Heap Max Capacity: 6028M
[2.000s][info][gc,start] GC(0) Pause Young (Normal) (G1 Evacuation Pause)
[2.000s][debug][gc,age] GC(0) Desired survivor size 1048576 bytes, new threshold 2 (max threshold 15)
[2.000s][info][gc,heap] GC(0) Eden regions: 12->0(10)
[2.000s][info][gc,heap] GC(0) Survivor regions: 1->2(2)
[2.000s][info][gc,heap] GC(0) Old regions: 0->1
[2.000s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(256M) 6.824ms
[2.000s][info][gc,cpu] GC(0) User=0.01s Sys=0.02s Real=0.01s
[2.500s][info][gc] GC(1) Pause Young (Concurrent Start) (G1 Humongous Allocation) 25M->6M(256M) 1.000ms
[2.500s][info][gc] GC(2) Concurrent Mark Cycle
[2.600s][info][gc,marking] GC(2) Concurrent Mark From Roots 40.000ms
[2.610s][info][gc] GC(2) Pause Remark 6M->6M(256M) 0.500ms
[2.620s][info][gc] GC(3) Pause Young (Normal) (G1 Evacuation Pause) (Evacuation Failure: Allocation) 26M->20M(256M) 2.000ms
[2.700s][info][gc] GC(2) Pause Cleanup 22M->22M(256M) 0.100ms
[2.700s][info][gc] GC(2) Concurrent Mark Cycle 200.000ms
[2.710s][info][gc] GC(4) To-space exhausted
[2.720s][info][gc,heap] GC(4) Old regions: 9->3
[2.720s][info][gc] GC(4) Pause Young (Mixed) (G1 Evacuation Pause) 40M->9M(256M) 3.000ms
[2.800s][info][gc] GC(5) Pause Full (System.gc()) 20M->4M(256M) 30.000ms
";

#[test]
fn g1_has_young_mixed_and_full_collections_and_one_concurrent_cycle() {
    let log = read(G1);
    assert_eq!(log.jvm.collector.as_deref(), Some("G1"));
    assert_eq!((log.jvm.region_bytes, log.jvm.heap_max_bytes), (Some(2 * M), Some(6028 * M)));
    assert_eq!(log.jvm.compressed_references.as_deref(), Some("Enabled (Zero based)"));
    let found = log.statistics();
    let young = [("Young (Concurrent Start)", 1), ("Young (Mixed)", 1), ("Young (Normal)", 2)];
    assert_eq!(kinds(&found), [[("Cleanup", 1), ("Full", 1), ("Remark", 1)], young].concat());
    assert_eq!(
        sizes(&log.collections[0]),
        (Scope::Young, [Some(24 * M), Some(5 * M), Some(2 * M), Some(6 * M), Some(26 * M)])
    );
    assert_eq!(log.collections[3].scope, Scope::Mixed);
    assert_eq!(log.collections[3].promoted_bytes, None, "a mixed collection frees old regions");
    assert_eq!(log.collections[4].live_bytes, Some(4 * M));
    assert_eq!(found.trouble.evacuation_failures, Some(2));
    assert_eq!((found.trouble.full_collections, found.trouble.forced_collections), (Some(1), Some(1)));
    assert_eq!((found.trouble.humongous_pauses, found.trouble.concurrent_aborts), (Some(1), Some(0)));
    assert_eq!(found.trouble.degenerated_collections, None, "G1 has none");
    assert_eq!((found.allocation.flipped_bytes, found.heap.resizes), (Some(4 * M), Some(0)));
    assert_eq!(found.concurrent_s, Some(0.2), "phases inside the cycle do not count again");
    assert_eq!(found.allocation.allocated_bytes, Some((20 + 20 + 2 + 18 + 11) * M));
    assert_eq!((found.cpu_user_s, found.cpu_system_s), (Some(0.01), Some(0.02)));
    assert_eq!((found.tenuring_threshold_min, found.tenuring_threshold_mean), (Some(2), Some(2.0)));
    let causes: Vec<_> = found.pause_causes.iter().map(|each| each.name.as_str()).collect();
    assert_eq!(causes, ["System.gc()", "G1 Evacuation Pause", "G1 Humongous Allocation"]);
}

#[test]
fn generations_of_parallel_serial_and_cms_are_exact_to_the_kilobyte() {
    for (young, old, collector) in
        [("PSYoungGen", "ParOldGen", "Parallel"), ("DefNew", "Tenured", "Serial"), ("ParNew", "CMS", "CMS")]
    {
        // JDK 11 has the size of the generation only after the collection.
        for (before, eden) in [("(76288K)", " Eden: 65536K(65536K)->0K(65536K)"), ("", "")] {
            let log = read(&format!(
                "[1.0s] GC(0) {young}: 69764K{before}->7076K(76288K){eden}\n\
                 [1.0s] GC(0) {old}: 16K{before}->1040K(175104K)\n\
                 [1.0s] GC(0) Pause Young (Allocation Failure) 68M->7M(245M) 11.442ms\n\
                 [2.0s] GC(1) {old}: 170000K{before}->25000K(175104K)\n\
                 [2.0s] GC(1) Pause Full (Ergonomics) 249M->24M(252M) 80.233ms\n"
            ));
            assert_eq!(log.jvm.collector.as_deref(), Some(collector));
            let expected =
                [69764 + 16, 7076 + 1040, 1024, 7076 + 1024, 69764].map(|kilobytes: u64| Some(kilobytes * K));
            assert_eq!(sizes(&log.collections[0]), (Scope::Young, expected));
            let full = sizes(&log.collections[1]);
            assert_eq!(full, (Scope::Full, [Some(249 * M), Some(24 * M), None, None, None]));
            assert_eq!(kinds(&log.statistics()), [("Full", 1), ("Young", 1)]);
            let found = log.statistics();
            assert_eq!(found.trouble.forced_collections, Some(0));
            assert_eq!((found.trouble.humongous_pauses, found.trouble.evacuation_failures), (None, None));
            assert_eq!(found.allocation.flipped_bytes, Some(7076 * K));
            assert_eq!((found.young_collections, found.old_collections), (Some(1), Some(1)));
            let share = found.heap.old_share_max.unwrap();
            assert!((share - 25_000.0 / 175_104.0).abs() < 1e-6, "{share}");
            // Parallel leaves a part of the young generation out of the size of the heap.
            assert_eq!(found.heap.resizes, (collector != "Parallel").then_some(1));
        }
    }
}

const ZGC_17: &str = "\
[0.1s][info][gc,init] Initializing The Z Garbage Collector
[0.1s][info][gc,init] Max Capacity: 256M
[0.1s][info][gc     ] Using The Z Garbage Collector
[1.0s][info][gc,start    ] GC(0) Garbage Collection (Warmup)
[1.0s][info][gc,phases   ] GC(0) Pause Mark Start 0.017ms
[1.1s][info][gc,phases   ] GC(0) Concurrent Mark 80.873ms
[1.1s][info][gc,phases   ] GC(0) Pause Mark End 0.015ms
[1.1s][info][gc          ] Allocation Stall (Thread-0 (a b)) 174.701ms
[1.2s][info][gc,phases   ] GC(0) Pause Relocate Start 0.013ms
[1.2s][info][gc,heap     ] GC(0) Max Capacity: 256M(100%)
[1.2s][info][gc,heap     ] GC(0)      Used:      116M (45%)         174M (68%)         206M (80%)         206M (80%)
[1.2s][info][gc,heap     ] GC(0)      Live:         -                 7M (3%)            7M (3%)            7M (3%)
[1.2s][info][gc,heap     ] GC(0) Allocated:         -                58M (23%)          92M (36%)         195M (76%)
[1.2s][info][gc,heap     ] GC(0) Reclaimed:         -                  -                 2M (1%)          105M (41%)
[1.2s][info][gc          ] GC(0) Garbage Collection (Warmup) 116M(45%)->206M(80%)
[2.0s][info][gc,start    ] GC(1) Garbage Collection (System.gc())
[2.2s][info][gc,heap     ] GC(1)      Used:      252M (98%)         256M (100%)        256M (100%)         56M (22%)
[2.2s][info][gc,heap     ] GC(1)      Live:         -                14M (6%)           14M (6%)           14M (6%)
[2.2s][info][gc,heap     ] GC(1) Allocated:         -                 4M (2%)            8M (3%)           39M (15%)
[2.2s][info][gc          ] GC(1) Garbage Collection (System.gc()) 252M(98%)->56M(22%)
";

#[test]
fn zgc_with_one_generation_has_live_and_allocated_bytes() {
    let log = read(ZGC_17);
    assert_eq!(log.jvm.collector.as_deref(), Some("ZGC"));
    let found = log.statistics();
    assert_eq!(kinds(&found), [("Mark End", 1), ("Mark Start", 1), ("Relocate Start", 1)]);
    // 252 - 206 MB between the collections, and 39 MB during the second.
    assert_eq!(found.allocation.allocated_bytes, Some((46 + 39) * M));
    assert_eq!((found.heap.live_bytes, found.heap.live_max_bytes), (Some(14 * M), Some(14 * M)));
    assert_eq!(found.trouble.forced_collections, Some(1));
    assert_eq!(found.allocation_stalls.map(|stalls| (stalls.count, stalls.max_ms)), Some((1, 174.701)));
    assert_eq!(found.relocation_stalls, None);
    assert_eq!((found.cpu_user_s, found.stop_share), (None, None));
    assert_eq!((found.heap.resizes, found.allocation.flipped_bytes), (None, None));
}

const ZGC_25: &str = "\
[1.0s][info][gc          ] GC(18) Major Collection (System.gc())
[1.0s][info][gc,phases   ] GC(18) Y: Young Generation (Promote All)
[1.0s][info][gc,phases   ] GC(18) Y: Pause Mark Start 0.016ms
[1.0s][info][gc,reloc    ] GC(18) Y: Using tenuring threshold: 0 (Promote All)
[1.1s][info][gc,alloc    ] GC(18) Y: Allocation Stalls:          0                2                2                0
[1.1s][info][gc,heap     ] GC(18) Y: Heap Statistics:
[1.1s][info][gc,heap     ] GC(18) Y:      Used:      216M (84%)        256M (100%)        256M (100%)        252M (98%)
[1.1s][info][gc,heap     ] GC(18) Y: Young Generation Statistics:
[1.1s][info][gc,heap     ] GC(18) Y:      Used:      178M (70%)         182M (71%)         182M (71%)         132M (52%)
[1.1s][info][gc,heap     ] GC(18) Y:      Live:         -                 7M (3%)            7M (3%)            7M (3%)
[1.1s][info][gc,heap     ] GC(18) Y: Allocated:         -                 4M (2%)            4M (2%)          124M (49%)
[1.1s][info][gc,heap     ] GC(18) Y:  Promoted:         -                  -                 0M (0%)            7M (3%)
[1.1s][info][gc,phases   ] GC(18) Y: Young Generation (Promote All) 216M(84%)->252M(98%) 0.028s
[1.1s][info][gc,phases   ] GC(18) O: Old Generation
[1.2s][info][gc          ] GC(19) Minor Collection (Allocation Rate)
[1.2s][info][gc,phases   ] GC(19) y: Young Generation
[1.2s][info][gc,phases   ] GC(19) y: Pause Mark Start 0.012ms
[1.2s][info][gc,heap     ] GC(19) y:      Used:      140M (70%)         182M (71%)         182M (71%)         20M (52%)
[1.2s][info][gc,heap     ] GC(19) y: Allocated:         -                 4M (2%)            4M (2%)          10M (49%)
[1.2s][info][gc,phases   ] GC(19) y: Young Generation 206M(80%)->90M(35%) 0.028s
[1.2s][info][gc          ] GC(19) Minor Collection (Allocation Rate) 206M(80%)->90M(35%) 0.028s
[1.3s][info][gc,phases   ] GC(18) O: Pause Mark End 0.020ms
[1.3s][info][gc,heap     ] GC(18) O:      Live:         -                 9M (3%)            9M (3%)            9M (3%)
[1.3s][info][gc,phases   ] GC(18) O: Old Generation 252M(98%)->80M(35%) 0.200s
[1.3s][info][gc          ] GC(18) Major Collection (System.gc()) 216M(84%)->80M(35%) 0.300s
";

#[test]
fn zgc_with_two_generations_has_young_and_old_collections_that_overlap() {
    let log = read(ZGC_25);
    let found = log.statistics();
    assert_eq!(log.jvm.collector.as_deref(), Some("ZGC"));
    assert_eq!(kinds(&found), [("Old Mark End", 1), ("Young Mark Start", 2)]);
    let scopes: Vec<_> = log.collections.iter().map(|collection| collection.scope).collect();
    assert_eq!(scopes, [Scope::Young, Scope::Young, Scope::Old]);
    assert_eq!((found.young_collections, found.old_collections), (Some(2), Some(1)));
    assert_eq!(
        sizes(&log.collections[0]).1,
        [Some(216 * M), Some(252 * M), Some(7 * M), Some(7 * M), Some(178 * M)]
    );
    assert_eq!(log.collections[2].live_bytes, Some(9 * M));
    // Objects are allocated in the young generation: 140 - 132 MB between, and 10 MB during the second collection.
    assert_eq!(found.allocation.allocated_bytes, Some(18 * M));
    assert_eq!(found.trouble.forced_collections, Some(1));
    assert_eq!(found.tenuring_threshold_min, Some(0));
    assert_eq!(found.allocation.flipped_bytes, None, "pages that stay are not copied");
}

#[test]
fn ages_state_exactly_what_was_copied_within_the_young_generation() {
    for title in ["Age table:", "Age table with threshold 2 (max threshold 15)"] {
        let log = read(&format!(
            "[1.0s][info][gc,init] Heap Region Size: 1M\n\
             [1.0s][trace][gc,age] GC(0) {title}\n\
             [1.0s][trace][gc,age] GC(0) - age   1:    2659176 bytes,    2659176 total\n\
             [1.0s][trace][gc,age] GC(0) - age   2:    2067600 bytes,    4726776 total\n\
             [1.0s][trace][gc,age] GC(0) - age   3:    2067600 bytes,    47267\n\
             [1.0s][info][gc,heap] GC(0) Eden regions: 12->0(10)\n\
             [1.0s][info][gc,heap] GC(0) Survivor regions: 1->6(6)\n\
             [1.0s][info][gc,heap] GC(0) Old regions: 0->2\n\
             [1.0s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 13M->7M(256M) 6.8ms\n\
             [2.0s][trace][gc,age] GC(1) {title}\n\
             [2.0s][info][gc,heap] GC(1) Eden regions: 12->0(10)\n\
             [2.0s][info][gc,heap] GC(1) Survivor regions: 6->0(6)\n\
             [2.0s][info][gc,heap] GC(1) Old regions: 2->2\n\
             [2.0s][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 18M->7M(512M) 6.8ms\n"
        ));
        let found = log.statistics();
        assert_eq!(found.allocation.flipped_bytes, Some(4_726_776));
        assert_eq!(log.collections[0].survived_bytes, Some(4_726_776 + 2 * M));
        assert_eq!(log.collections[1].survived_bytes, Some(0));
        assert_eq!(found.heap.resizes, Some(1));
        let window = |start_ns, end_ns| log.statistics_between(Span { start_ns, end_ns }).heap.resizes;
        assert_eq!(window(1_500_000_000, 3_000_000_000), Some(1), "compared with the one before the window");
        assert_eq!((window(0, 1_500_000_000), window(3_000_000_000, 4_000_000_000)), (Some(0), None));
    }
}

const SHENANDOAH: &str = "\
[1.0s][info][gc] Trigger: Average GC time (21.07 ms) is above the time for average allocation rate (1 MB/s)
[1.0s][info][gc] GC(0) Pause Init Mark (unload classes) 0.098ms
[1.1s][info][gc] GC(0) Concurrent marking (unload classes) 47.203ms
[1.1s][info][gc] GC(0) Pause Final Mark (unload classes) 0.196ms
[1.1s][info][gc] GC(0) Concurrent cleanup 101M->97M(256M) 0.041ms
[1.2s][info][gc] GC(0) Pause Init Update Refs 0.052ms
[1.2s][info][gc] GC(0) Pause Final Update Refs 0.036ms
[1.2s][info][gc] GC(0) Concurrent cleanup (unload classes) 152M->84M(256M) 0.064ms
[1.2s][info][gc,stats] Pause Init Mark (G)                3949 us
[1.2s][info][gc,stats] Pause Final Mark (N)          =    0.008 s (a =      210 us) (n =    38)
[1.5s][info][gc] Trigger: GC request (System.gc())
[1.5s][info][gc] GC(1) Pause Init Mark (unload classes) 0.100ms
[1.6s][info][gc] GC(1) Concurrent cleanup 200M->60M(256M) 0.041ms
[2.0s][info][gc] GC(2) Pause Degenerated GC (Outside of Cycle) 250M->70M(256M) 21.272ms
[3.0s][info][gc] GC(3) Pause Full 255M->71M(256M) 99.000ms
";

#[test]
fn shenandoah_cleans_up_once_or_twice_in_a_cycle() {
    let log = read(SHENANDOAH);
    let found = log.statistics();
    assert_eq!(log.jvm.collector.as_deref(), Some("Shenandoah"));
    let first = [("Degenerated GC", 1), ("Final Mark", 1), ("Final Update Refs", 1)];
    assert_eq!(kinds(&found), [first, [("Full", 1), ("Init Mark", 2), ("Init Update Refs", 1)]].concat());
    let after: Vec<_> = log.collections.iter().map(|each| each.after_bytes.unwrap() / M).collect();
    assert_eq!(after, [84, 60, 70, 71]);
    assert_eq!(found.allocation.allocated_bytes, Some((55 + 116 + 190 + 185) * M));
    assert_eq!((found.trouble.degenerated_collections, found.trouble.full_collections), (Some(1), Some(1)));
    assert_eq!(found.trouble.forced_collections, Some(1));
}

#[test]
fn safepoints_are_read_in_the_forms_of_all_versions() {
    let log = read(
        "[1.0s][safepoint] Entering safepoint region: G1CollectForAllocation\n\
         [1.0s][safepoint] Leaving safepoint region\n\
         [1.0s][safepoint] Total time for which application threads were stopped: 0.0301000 seconds, \
         Stopping threads took: 0.0001000 seconds\n\
         [2.0s][safepoint] Safepoint \"Cleanup\", Time since last: 1130781042 ns, Reaching safepoint: 107019 ns, \
         Cleanup: 323680 ns, At safepoint: 4517 ns, Total: 435216 ns\n\
         [3.0s][safepoint] Safepoint \"ZMarkEndYoung\", Time since last: 1 ns, Reaching safepoint: 2654 ns, \
         At safepoint: 35272 ns, Leaving safepoint: 1362 ns, Total: 39288 ns, Threads: 0 runnable, 14 total\n\
         [3.0s][safepoint] Safepoint \"Cut\", Time since last: 1 ns, Reaching safepoint: 2654 ns, At saf",
    );
    let found: Vec<_> = log
        .safepoints
        .iter()
        .map(|each| (log.names.text(each.name), each.reaching_ns, each.total_ns, each.is_gc))
        .collect();
    assert_eq!(
        found,
        [
            ("G1CollectForAllocation", 100_000, 30_100_000, true),
            ("Cleanup", 107_019, 435_216, false),
            ("ZMarkEndYoung", 2654, 39_288, true)
        ]
    );
}

#[test]
fn interleaved_jvms_are_told_apart_by_their_process_ids() {
    let lines = |pid: u32, collector: &str, pause: &str| {
        let mut lines = vec![format!("[0.1s][{pid}][gc] Using {collector}")];
        let pauses =
            (1..9).map(|second| format!("[{second}.0s][{pid}][gc] GC({second}) {pause} 9M->1M(9M) 1.0ms"));
        lines.extend(pauses);
        lines
    };
    let first = lines(100, "G1", "Pause Young (Normal) (G1 Evacuation Pause)");
    let second = lines(200, "Serial", "Pause Young (Allocation Failure)");
    let mixed: String =
        first.iter().zip(&second).map(|(one, other)| [one.as_str(), other, ""].join("\n")).collect();
    let logs = read_files(&[mixed.as_bytes()]).unwrap().logs;
    let found: Vec<_> =
        logs.iter().map(|log| (log.jvm.collector.as_deref().unwrap(), log.pauses.len())).collect();
    assert_eq!(found, [("G1", 8), ("Serial", 8)]);
    // A number that begins without the header of a JVM is the id of a thread.
    let threads = mixed.replace("Using Serial", "nothing");
    let logs = read_files(&[threads.as_bytes()]).unwrap().logs;
    assert_eq!(logs.iter().map(|log| log.pauses.len()).collect::<Vec<_>>(), [16]);
}

#[test]
fn lines_of_other_programs_do_not_hide_process_ids() {
    let lines = |pid: u32| {
        let pauses =
            (1..4).map(move |second| format!("[{second}.0s][{pid}][gc] GC({second}) Pause Remark 1.0ms"));
        std::iter::once(format!("[0.1s][{pid}][gc] Using G1")).chain(pauses)
    };
    let mixed: Vec<String> = lines(100).zip(lines(200)).flat_map(|(one, other)| [one, other]).collect();
    let text = format!("WARNING: a program begins\n{}", mixed.join("\n"));
    let logs = read_files(&[text.as_bytes()]).unwrap().logs;
    assert_eq!(logs.iter().map(|log| log.pauses.len()).collect::<Vec<_>>(), [3, 3]);
}

#[test]
fn a_mix_of_jvms_without_process_ids_is_reported() {
    let pause = |number: u32| format!("[{}.0s][gc] GC({number}) Pause Remark 1.0ms", number % 2 * 1000);
    let text = (0..200).map(pause).collect::<Vec<_>>().join("\n");
    let read = read_files(&[text.as_bytes()]).unwrap();
    assert!(read.logs.len() <= 64);
    let says = |problem: &String| problem.contains("add the decorator pid");
    assert!(read.input.problems.iter().any(says), "{:?}", read.input.problems);
}

#[test]
fn a_log_that_is_cut_anywhere_is_read_up_to_there() {
    let mut last = 0;
    for end in G1.find("GC(0)").unwrap()..=G1.len() {
        let count = read_files(&[&G1.as_bytes()[..end]]).unwrap().logs[0].pauses.len();
        assert!(count == last || count == last + 1, "{end}");
        last = count;
    }
    assert_eq!(last, 7);
}

#[test]
fn a_window_has_what_ended_in_it() {
    let log = read(G1);
    let window = |start_ns: u64, end_ns: u64| log.statistics_between(Span { start_ns, end_ns });
    let found = window(2_000_000_000, 2_620_000_000);
    assert_eq!(found.pauses.map(|pauses| pauses.count), Some(3), "the one at 2.0 s ended before");
    assert_eq!(found.duration_s, Some(0.62));
    let empty = window(10_000_000_000, 11_000_000_000);
    assert_eq!((empty.pauses, empty.pause_share), (None, Some(0.0)));
    assert_eq!(empty.allocation.allocated_bytes, None);
    assert_eq!(window(5, 5).pause_share, None);
    assert_eq!(window(7, 5).duration_s, None);
}

#[test]
fn hostile_lines_are_harmless() {
    let all = [G1, ZGC_17, ZGC_25, SHENANDOAH].concat();
    let mut text = Vec::new();
    for (number, line) in all.lines().enumerate() {
        for at in (number % 3..line.len()).step_by(3) {
            let mut changed = line.as_bytes().to_vec();
            match number % 4 {
                0 => changed[at] = b"9-(). ]["[at % 8],
                1 => drop(changed.splice(at..at, *b"99999999999999999999")),
                2 => changed[at] = 0xff,
                _ => changed.truncate(at),
            }
            text.extend_from_slice(&changed);
            text.push(b'\n');
        }
    }
    let read = read_files(&[&text]).unwrap();
    let most = "[1.0s] GC(0) User=18446744073.0s Sys=0.00s Real=0.01s\n".repeat(2);
    let found = read_files(&[format!("{most}[2.0s] GC(0) Pause Remark 1.0ms").as_bytes()]).unwrap();
    assert!(found.logs[0].statistics().cpu_user_s > Some(1e10));
    for log in &read.logs {
        let found = log.statistics();
        assert!(found.pause_share.is_none_or(|share| (0.0..=1.0).contains(&share)));
        let _ = log.statistics_between(Span { start_ns: 0, end_ns: u64::MAX });
    }
}

#[test]
fn compressed_logs_are_read() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(G1.as_bytes()).unwrap();
    let read = read_files(&[&encoder.finish().unwrap()]).unwrap();
    assert_eq!((read.logs[0].pauses.len(), read.input.bytes), (7, G1.len() as u64));
}
