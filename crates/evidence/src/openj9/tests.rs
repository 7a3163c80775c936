//! Whole logs: cycles of gencon and balanced, and logs of which parts are missing.

use super::*;

/// Pause with one scavenge of gencon, as OpenJ9 0.23 logs it.
const SCAVENGE: &str = r#"
<exclusive-start id="12" timestamp="2021-03-16T09:00:10.000" intervalms="1000.500">
  <response-info timems="0.070" idlems="0.070" threads="0" lastid="00000000013D6900" lastname="write[node-0]" />
</exclusive-start>
<af-start id="13" threadId="00000000013D7280" totalBytesRequested="8200" timestamp="2021-03-16T09:00:10.000" intervalms="1000.600" type="nursery" />
<cycle-start id="14" type="scavenge" contextid="0" timestamp="2021-03-16T09:00:10.000" intervalms="1000.700" />
<gc-start id="15" type="scavenge" contextid="14" timestamp="2021-03-16T09:00:10.000">
  <mem-info id="16" free="414960320" total="1073741824" percent="38">
    <mem type="nursery" free="0" total="268435456" percent="0">
      <mem type="allocate" free="0" total="241565696" percent="0" />
      <mem type="survivor" free="0" total="26869760" percent="0" />
    </mem>
    <mem type="tenure" free="414960320" total="805306368" percent="51">
      <mem type="soa" free="374694592" total="765040640" percent="48" />
      <mem type="loa" free="40265728" total="40265728" percent="100" />
    </mem>
    <remembered-set count="21474" />
  </mem-info>
</gc-start>
<allocation-stats totalBytes="235362176" >
  <allocated-bytes non-tlh="32880" tlh="235329296" />
  <largest-consumer threadName="&lt;write&gt;[node-0]" threadId="00000000013F0C00" bytes="6288544" />
</allocation-stats>
<gc-op id="17" type="scavenge" timems="11.649" contextid="14" timestamp="2021-03-16T09:00:10.012">
  <scavenger-info tenureage="7" tenuremask="4080" tiltratio="89" />
  <memory-copied type="nursery" objects="154910" bytes="6291456" bytesdiscarded="394832" />
  <memory-copied type="tenure" objects="16171" bytes="1048576" bytesdiscarded="3064" />
  <copy-failed type="nursery" objects="3" bytes="96" />
  <references type="soft" candidates="24" cleared="0" enqueued="0" dynamicThreshold="16" maxThreshold="32" />
  <warning details="remembered set overflow detected" />
</gc-op>
<gc-end id="18" type="scavenge" contextid="14" durationms="11.785" usertimems="46.278" systemtimems="0.036" stalltimems="0.145" timestamp="2021-03-16T09:00:10.012" activeThreads="4">
  <mem-info id="19" free="624675520" total="1073741824" percent="60">
    <mem type="nursery" free="235142120" total="268435456" percent="87">
      <mem type="allocate" free="235142120" total="241565696" percent="97" />
      <mem type="survivor" free="0" total="26869760" percent="0" />
    </mem>
    <mem type="tenure" free="413911744" total="805306368" percent="51" macro-fragmented="0">
      <mem type="soa" free="373646016" total="765040640" percent="48" />
      <mem type="loa" free="40265728" total="40265728" percent="100" />
    </mem>
  </mem-info>
</gc-end>
<cycle-end id="20" type="scavenge" contextid="14" timestamp="2021-03-16T09:00:10.012" />
<allocation-satisfied id="21" threadId="00000000013D6900" bytesRequested="8200" />
<af-end id="22" timestamp="2021-03-16T09:00:10.012" threadId="00000000013D7280" success="true" from="nursery"/>
<exclusive-end id="23" timestamp="2021-03-16T09:00:10.012" durationms="12.319" />
"#;

const HEADER: &str = r#"<?xml version="1.0" ?>

<verbosegc xmlns="http://www.ibm.com/j9/verbosegc" version="2a4b3c">

<initialized id="1" timestamp="2021-03-16T09:00:00.000">
  <attribute name="gcPolicy" value="-Xgcpolicy:gencon" />
  <attribute name="maxHeapSize" value="0x40000000" />
  <attribute name="initialHeapSize" value="0x40000000" />
  <attribute name="compressedRefs" value="true" />
  <attribute name="pageSize" value="0x1000" />
  <attribute name="gcthreads" value="4" />
  <attribute name="numaNodes" value="0" />
  <system>
    <attribute name="physicalMemory" value="100335456256" />
    <attribute name="numCPUs" value="28" />
    <attribute name="os" value="Linux" />
    <attribute name="osVersion" value="5.4.0" />
  </system>
  <vmargs>
    <vmarg name="-Xms1g" />
    <vmarg name="-Des.password=secret" />
    <vmarg name="-Xgcpolicy:gencon" />
  </vmargs>
</initialized>
"#;

/// The pauses of a concurrent global cycle: its start, and its final increment.
const GLOBAL: &str = r#"
<concurrent-kickoff id="40" timestamp="2021-03-16T09:00:20.000">
  <kickoff reason="threshold reached" targetBytes="239014924" thresholdFreeBytes="33024922" />
</concurrent-kickoff>
<exclusive-start id="41" timestamp="2021-03-16T09:00:20.000" intervalms="342.152">
  <response-info timems="0.135" idlems="0.068" threads="3" lastid="00000000015DE600" lastname="a" />
</exclusive-start>
<cycle-start id="42" type="global" contextid="0" timestamp="2021-03-16T09:00:20.000" intervalms="5000.000" />
<exclusive-end id="43" timestamp="2021-03-16T09:00:20.000" durationms="0.048" />

BETWEEN
<exclusive-start id="58" timestamp="2021-03-16T09:00:30.000" intervalms="12.075">
  <response-info timems="0.108" idlems="0.040" threads="3" lastid="00000000018D3800" lastname="b" />
</exclusive-start>
<concurrent-global-final id="59" timestamp="2021-03-16T09:00:30.000" intervalms="516905.029" >
  <concurrent-trace-info reason="card cleaning threshold reached" tracedByMutators="1" tracedByHelpers="2" cardsCleaned="3" workStackOverflowCount="0" />
</concurrent-global-final>
<gc-start id="60" type="global" contextid="42" timestamp="2021-03-16T09:00:30.000">
  <mem-info id="61" free="104857600" total="1073741824" percent="25">
    <mem type="tenure" free="42439200" total="805306368" percent="5" />
  </mem-info>
</gc-start>
<gc-op id="66" type="sweep" timems="9.464" contextid="42" timestamp="2021-03-16T09:00:30.018" />
<gc-end id="67" type="global" contextid="42" durationms="24.000" usertimems="86.465" systemtimems="0.001" stalltimems="2.846" timestamp="2021-03-16T09:00:30.024" activeThreads="4">
  <mem-info id="68" free="209715200" total="1073741824" percent="60">
    <mem type="nursery" free="235516088" total="268435456" percent="87" />
    <mem type="tenure" free="405306368" total="805306368" percent="51" micro-fragmented="98245682" />
  </mem-info>
</gc-end>
<cycle-end id="69" type="global" contextid="42" timestamp="2021-03-16T09:00:30.024" />
<exclusive-end id="71" timestamp="2021-03-16T09:00:30.000" durationms="24.679" />
"#;

/// A concurrent scavenge: a pause, a concurrent phase and a second pause.
const CONCURRENT_SCAVENGE: &str = r#"
<exclusive-start id="2" timestamp="2021-03-16T09:00:40.000" intervalms="500.000">
  <response-info timems="0.100" idlems="0.100" threads="1" lastid="0" lastname="a" />
</exclusive-start>
<af-start id="3" threadId="0" totalBytesRequested="48" timestamp="2021-03-16T09:00:40.000" intervalms="500.000" type="nursery" />
<cycle-start id="4" type="scavenge" contextid="0" timestamp="2021-03-16T09:00:40.000" intervalms="500.000" />
<gc-start id="5" type="scavenge" contextid="4" timestamp="2021-03-16T09:00:40.000">
  <mem-info id="6" free="0" total="1048576" percent="0"></mem-info>
</gc-start>
<gc-op id="7" type="scavenge" timems="0.500" contextid="4" timestamp="2021-03-16T09:00:40.001">
  <memory-copied type="nursery" objects="1" bytes="1048576" bytesdiscarded="0" />
</gc-op>
<gc-end id="8" type="scavenge" contextid="4" durationms="0.600" usertimems="1.000" systemtimems="0.000" stalltimems="0.000" timestamp="2021-03-16T09:00:40.001" activeThreads="4">
  <mem-info id="9" free="0" total="1048576" percent="0" />
</gc-end>
<concurrent-start id="10" type="scavenge" contextid="4" timestamp="2021-03-16T09:00:40.001">
</concurrent-start>
<af-end id="11" timestamp="2021-03-16T09:00:40.001" threadId="0" success="true" from="nursery"/>
<exclusive-end id="12" timestamp="2021-03-16T09:00:40.001" durationms="1.000" />

<concurrent-end id="13" type="scavenge" contextid="4" timestamp="2021-03-16T09:00:40.020">
<warning details="termination requested by GC" />
<gc-op id="14" type="scavenge" timems="19.000" contextid="4" timestamp="2021-03-16T09:00:40.020">
  <memory-copied type="nursery" objects="1" bytes="10485760" bytesdiscarded="0" />
  <memory-copied type="tenure" objects="1" bytes="2097152" bytesdiscarded="0" />
</gc-op>
</concurrent-end>

<exclusive-start id="15" timestamp="2021-03-16T09:00:40.020" intervalms="20.000">
  <response-info timems="0.200" idlems="0.200" threads="1" lastid="0" lastname="a" />
</exclusive-start>
<gc-start id="16" type="scavenge" contextid="4" timestamp="2021-03-16T09:00:40.020">
  <mem-info id="17" free="0" total="1048576" percent="0" />
</gc-start>
<gc-op id="18" type="scavenge" timems="0.700" contextid="4" timestamp="2021-03-16T09:00:40.021">
  <scavenger-info tenureage="2" tenuremask="4" tiltratio="50" />
  <memory-copied type="tenure" objects="1" bytes="524288" bytesdiscarded="0" />
</gc-op>
<gc-end id="19" type="scavenge" contextid="4" durationms="0.800" usertimems="1.000" systemtimems="0.000" stalltimems="0.000" timestamp="2021-03-16T09:00:40.021" activeThreads="4">
  <mem-info id="20" free="524288" total="1048576" percent="50" />
</gc-end>
<cycle-end id="21" type="scavenge" contextid="4" timestamp="2021-03-16T09:00:40.021" />
<exclusive-end id="22" timestamp="2021-03-16T09:00:40.021" durationms="1.400" />
"#;

fn read(files: &[&str]) -> OpenJ9Log {
    let mut runs = runs(files);
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

fn runs(files: &[&str]) -> Vec<OpenJ9Log> {
    let mut reader = OpenJ9Reader::new();
    for file in files {
        reader.feed(file.as_bytes());
        reader.end_file();
    }
    reader.finish()
}

fn whole(content: &str) -> OpenJ9Log {
    read(&[&format!("{HEADER}{content}\n</verbosegc>\n")])
}

#[test]
fn a_log_states_the_configuration_of_the_jvm() {
    let log = whole(SCAVENGE);
    let expected = OpenJ9Settings {
        version: Some("2a4b3c".into()),
        policy: Some("gencon".into()),
        max_heap_bytes: Some(1 << 30),
        initial_heap_bytes: Some(1 << 30),
        compressed_references: Some(true),
        gc_threads: Some(4),
        page_bytes: Some(4096),
        numa_nodes: Some(0),
        physical_memory_bytes: Some(100_335_456_256),
        cpus: Some(28),
        system: Some("Linux 5.4.0".into()),
        options: vec!["-Xms1g".into(), "-Xgcpolicy:gencon".into()],
    };
    assert_eq!(log.settings, expected);
    assert_eq!((log.has_start, log.problems.clone()), (true, OpenJ9Problems::default()));
    assert_eq!(log.largest_consumers, [("<write>[node-0]".into(), 6_288_544)]);
    assert_eq!((log.stops[0].tenure_age, log.stops[0].tilt_percent), (Some(7), Some(89)));
}

#[test]
fn a_scavenge_is_one_pause() {
    let log = whole(SCAVENGE);
    let [stop] = log.stops.as_slice() else { panic!("{} pauses", log.stops.len()) };
    let mut expected = OpenJ9Counts {
        allocation_failures: 1,
        nursery: OpenJ9Increments { count: 1, duration_us: 11_785 },
        nursery_cycles: OpenJ9Cycles { started: 1, interval_us: 1_000_700, ended: 1 },
        scavenges: 1,
        copied_in_pauses: OpenJ9Copied { flipped: 6_291_456, tenured: 1_048_576 },
        heap_readings: 1,
        freed: 209_715_200,
        allocation_readings: 1,
        allocated: 235_362_176,
        allocated_outside_tlh: 32_880,
        largest_request: 8200,
        user_us: 46_278,
        system_us: 36,
        ..OpenJ9Counts::default()
    };
    expected.incidents =
        OpenJ9Incidents { objects_not_copied: 3, remembered_set_overflows: 1, ..OpenJ9Incidents::default() };
    assert_eq!(stop.counts, expected);
    assert_eq!((stop.duration_us, stop.reaching_us), (12_319, Some(70)));
    assert_eq!((stop.kind, stop.trigger), (OpenJ9StopKind::Nursery, OpenJ9Trigger::AllocationFailure));
    assert_eq!((stop.used_before, stop.used_after), (Some(658_781_504), Some(449_066_304)));
    assert_eq!((stop.heap_bytes, stop.tenure_used_after_global), (Some(1 << 30), None));
    assert_eq!(stop.end_ms.zip(stop.start_ms).map(|(end, start)| end - start), Some(12));
}

#[test]
fn the_summary_has_the_figures_of_gcmv() {
    // Another id makes it another pause.
    let between = SCAVENGE.replace("id=\"12\"", "id=\"900\"");
    let log = whole(&format!("{SCAVENGE}{}", GLOBAL.replace("BETWEEN", &between)));
    let expected = OpenJ9Summary {
        concurrent_collections: 1,
        forced_collections: 0,
        global_mean_pause_ms: Some(24.0),
        global_mean_interval_ms: Some(5000.0),
        global_collections: 1,
        global_tenured_mb: Some(1.0),
        largest_request_bytes: Some(8200),
        allocation_failures: 2,
        nursery_mean_pause_ms: Some(11.785),
        nursery_mean_interval_ms: Some(1000.7),
        nursery_collections: 2,
        nursery_flipped_mb: Some(12.0),
        nursery_tenured_mb: Some(2.0),
        paused_percent: Some((2.0 * 12.319 + 0.048 + 24.679) / 300.0),
        unpaused_percent: Some(100.0 - (2.0 * 12.319 + 0.048 + 24.679) / 300.0),
        collected_mb_per_minute: Some(1000.0),
    };
    for counting in [OpenJ9Counting::Pauses, OpenJ9Counting::Cycles] {
        assert_close(&log.summary(None, counting), &expected);
    }
    assert_eq!(log.stops.iter().map(|stop| stop.kind).max(), Some(OpenJ9StopKind::Global));
    assert_eq!(log.stops.last().and_then(|stop| stop.tenure_used_after_global), Some(400_000_000));
    assert_eq!(log.stops.iter().map(|stop| stop.counts.incidents.early_globals).sum::<u64>(), 1);
}

#[test]
fn pauses_that_are_twice_in_the_files_count_once() {
    let twice = whole(&[SCAVENGE, SCAVENGE].concat());
    assert_eq!((twice.stops.len(), twice.problems.repeated_stops), (1, 1));
    assert_eq!(
        twice.summary(None, OpenJ9Counting::Pauses),
        whole(SCAVENGE).summary(None, OpenJ9Counting::Pauses)
    );
}

#[test]
fn gaps_of_ids_are_pauses_that_are_missing() {
    let later =
        |id: u64| SCAVENGE.replace("09:00:10", "09:00:40").replace("id=\"12\"", &format!("id=\"{id}\""));
    assert!(whole(&[SCAVENGE, &later(60)].concat()).problems.gaps.is_empty());
    let gaps = whole(&[SCAVENGE, &later(5000)].concat()).problems.gaps;
    assert_eq!(gaps.iter().map(|gap| gap.before_ms - gap.after_ms).collect::<Vec<_>>(), [30_000]);
}

/// Compares all figures; means that are computed in a different order differ in their last digits.
fn assert_close(summary: &OpenJ9Summary, expected: &OpenJ9Summary) {
    let (mut rounded, mut wanted) = (summary.clone(), expected.clone());
    for each in [&mut rounded, &mut wanted] {
        let figures = [&mut each.paused_percent, &mut each.unpaused_percent, &mut each.global_tenured_mb];
        for figure in figures.into_iter().flatten() {
            *figure = (*figure * 1e9).round() / 1e9;
        }
    }
    assert_eq!(rounded, wanted);
}

#[test]
fn a_concurrent_scavenge_is_counted_in_two_ways() {
    let log = whole(CONCURRENT_SCAVENGE);
    assert!(log.concurrent_scavenge);
    let pauses = log.summary(None, OpenJ9Counting::Pauses);
    let cycles = log.summary(None, OpenJ9Counting::Cycles);
    assert_eq!((pauses.nursery_collections, cycles.nursery_collections), (2, 1));
    assert_eq!((pauses.concurrent_collections, cycles.concurrent_collections), (1, 0));
    assert_eq!((pauses.nursery_mean_pause_ms, cycles.nursery_mean_pause_ms), (Some(0.7), Some(1.4)));
    assert_eq!((pauses.nursery_flipped_mb, cycles.nursery_flipped_mb), (Some(1.0), Some(11.0)));
    assert_eq!((pauses.nursery_tenured_mb, cycles.nursery_tenured_mb), (Some(0.5), Some(2.5)));
    assert_eq!(pauses.nursery_mean_interval_ms, Some(500.0));
    assert_eq!(cycles.nursery_mean_interval_ms, Some(500.0));
    assert_eq!((pauses.allocation_failures, cycles.allocation_failures), (1, 1));
    let counts = log.stops.iter().fold(OpenJ9Counts::default(), |mut sum, stop| {
        sum.add(&stop.counts);
        sum
    });
    assert_eq!((counts.concurrent_us, counts.incidents.ended_scavenges), (19_000, 1));
    assert!(!whole(SCAVENGE).concurrent_scavenge);
}

#[test]
fn a_window_has_the_pauses_that_end_in_it() {
    let log = whole(&format!("{SCAVENGE}{CONCURRENT_SCAVENGE}"));
    let start = log.first_ms.unwrap();
    let window = log.summary(Some((start + 10_002, start + 20_002)), OpenJ9Counting::Pauses);
    assert_eq!((window.nursery_collections, window.allocation_failures), (1, 1));
    assert_eq!(window.paused_percent, Some(0.1), "10 of 12.319 ms, in 10 s");
    let empty = log.summary(Some((start + 20_000, start + 30_000)), OpenJ9Counting::Pauses);
    assert_eq!((empty.nursery_mean_pause_ms, empty.paused_percent), (None, Some(0.0)));
    assert_eq!((empty.collected_mb_per_minute, empty.largest_request_bytes), (None, None));
    let reversed = log.summary(Some((start + 20_000, start)), OpenJ9Counting::Pauses);
    assert_eq!((reversed.paused_percent, reversed.nursery_collections), (None, 0));
}

#[test]
fn forced_and_percolated_collections_are_not_concurrent() {
    let final_increment = &GLOBAL[GLOBAL.find("BETWEEN").unwrap() + 8..];
    let mark = "<gc-start";
    let cycle = "<cycle-start id=\"1\" type=\"global\" contextid=\"0\" intervalms=\"1.000\" />";
    let element = &final_increment
        [final_increment.find("<concurrent-global-final").unwrap()..final_increment.find(mark).unwrap()];
    for (frame, expected) in [
        (
            ["<sys-start reason=\"explicit\" id=\"1\" />", "<sys-end id=\"2\" />"],
            (1, 0, OpenJ9Trigger::Forced),
        ),
        (
            ["<af-start id=\"1\" totalBytesRequested=\"99\" /><percolate-collect />", "<af-end />"],
            (0, 1, OpenJ9Trigger::AllocationFailure),
        ),
    ] {
        let begin = format!("{}{cycle}", frame[0]);
        let text = final_increment.replace(element, &begin);
        let text = text.replace("<exclusive-end", &format!("{}<exclusive-end", frame[1]));
        let log = whole(&text);
        let summary = log.summary(None, OpenJ9Counting::Pauses);
        assert_eq!((summary.concurrent_collections, summary.global_collections), (0, 1));
        let counts = log.stops[0].counts;
        assert_eq!(
            (summary.forced_collections, counts.incidents.percolations, log.stops[0].trigger),
            expected
        );
        assert_eq!(log.summary(None, OpenJ9Counting::Cycles).concurrent_collections, 0);
    }
    // The element of versions before 0.24.
    let older = final_increment.replace("concurrent-global-final", "concurrent-collection-start");
    assert_eq!(whole(&older).summary(None, OpenJ9Counting::Cycles).concurrent_collections, 1);
}

#[test]
fn other_policies_have_the_figures_that_they_log() {
    let balanced = SCAVENGE
        .replace("type=\"scavenge\"", "type=\"partial gc\"")
        .replace("<gc-op id=\"17\" type=\"partial gc\"", "<gc-op id=\"17\" type=\"copy forward\"")
        .replace("memory-copied type=\"nursery\"", "memory-copied type=\"eden\"");
    let summary = whole(&balanced).summary(None, OpenJ9Counting::Pauses);
    assert_eq!((summary.nursery_collections, summary.nursery_flipped_mb), (1, None));
    assert_eq!(summary.nursery_mean_pause_ms, Some(11.785));
    let marking = SCAVENGE.replace("type=\"scavenge\"", "type=\"global mark phase\"");
    let log = whole(&marking);
    assert_eq!((log.stops[0].kind, log.problems.unknown_types.len()), (OpenJ9StopKind::OtherIncrement, 0));
    let unknown = whole(&SCAVENGE.replace("type=\"scavenge\"", "type=\"new kind\""));
    assert_eq!(unknown.problems.unknown_types, ["new kind"]);
    assert_eq!((unknown.stops[0].counts.other.count, unknown.stops[0].counts.nursery.count), (1, 0));
    let old = read(&["<verbosegc version=\"200811_07\"><af type=\"tenured\"><gc type=\"global\"></gc></af>"]);
    assert!(old.problems.has_old_format);
}

#[test]
fn a_log_may_end_anywhere() {
    let text = format!("{HEADER}{SCAVENGE}{CONCURRENT_SCAVENGE}\n</verbosegc>\n");
    let ends: Vec<usize> = text.match_indices("<exclusive-end").map(|(at, _)| at).collect();
    for cut in (0..text.len()).step_by(5) {
        let log = read(&[&text[..cut]]);
        let complete = ends.iter().filter(|end| text[**end..cut.max(**end)].contains("/>")).count();
        assert_eq!(log.stops.len(), complete, "cut at {cut}");
        assert!(log.problems.cut_stops <= 1 && log.problems.cut_tags == 0);
        let is_whole = cut >= text.len() - 1 || cut < HEADER.find("<verbosegc").unwrap();
        assert!(log.problems.cut_files == 1 || is_whole || cut < 30, "cut at {cut}");
    }
    for start in (0..text.len()).step_by(7) {
        let log = read(&[&text[start..]]);
        assert!(log.stops.len() <= 3 && log.problems.cut_stops == 0, "start at {start}");
    }
}

#[test]
fn rotated_files_are_one_log() {
    let second = format!("{}{CONCURRENT_SCAVENGE}</verbosegc>", HEADER.replace("id=\"1\"", "id=\"900\""));
    let log = read(&[&format!("{HEADER}{SCAVENGE}</verbosegc>"), &second]);
    assert_eq!((log.stops.len(), log.problems.cut_files), (3, 0));
    let restarted =
        runs(&[&format!("{HEADER}{SCAVENGE}"), &format!("{HEADER}{CONCURRENT_SCAVENGE}</verbosegc>")]);
    let found: Vec<_> = restarted.iter().map(|log| (log.stops.len(), log.problems.cut_files)).collect();
    assert_eq!(found, [(1, 1), (2, 0)], "two JVMs");
    assert_eq!(runs(&[&HEADER.repeat(1000)]).len(), 65);
    let order = [second.as_str(), SCAVENGE].map(|text| OpenJ9Reader::first_timestamp(text.as_bytes()));
    assert!(order[0] < order[1] && order[0].is_some());
    assert_eq!(OpenJ9Reader::first_timestamp(b"<a timestamp=\"Mar 25 22:40:24 2010\">"), None);
    assert!(OpenJ9Reader::recognizes(second.as_bytes()) && OpenJ9Reader::recognizes(SCAVENGE.as_bytes()));
    assert!(!OpenJ9Reader::recognizes(b"[0.005s][info][gc] Using G1"));
}

#[test]
fn hostile_logs_do_no_harm() {
    let laughs = "<!DOCTYPE v [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;\">]>";
    let log = read(&[laughs, &HEADER.replace("-Xms1g", "-X&b;")]);
    assert!(log.problems.has_declaration);
    assert_eq!(log.settings.options[0], "-X&b;");
    let most = "<exclusive-start /><allocation-stats totalBytes=\"999999999999999\" />\
                <exclusive-end durationms=\"999999999999.999\" />";
    let log = read(&[HEADER, &most.repeat(20_000), SCAVENGE]);
    assert_eq!(log.stops.len(), 20_001);
    let allocated = log.stops.iter().fold(OpenJ9Counts::default(), |mut sum, stop| {
        sum.add(&stop.counts);
        sum
    });
    assert_eq!(allocated.allocated, u64::MAX);
    let summary = log.summary(None, OpenJ9Counting::Pauses);
    assert!(summary.paused_percent.is_some_and(f64::is_finite));
    let wrong = SCAVENGE.replace("free=\"0\"", "free=\"-1\"").replace("total=\"1073741824\"", "total=\"1\"");
    assert_eq!(whole(&wrong).stops[0].used_after, None);
    let mut reader = OpenJ9Reader::new();
    for name in 0..10_000 {
        let text =
            format!("<largest-consumer threadName=\"{name}\" bytes=\"1\" /><gc-start type=\"{name}\">");
        reader.feed(text.as_bytes());
        reader.feed(format!("<vmarg name=\"-X{name}\" />").as_bytes());
    }
    let log = reader.finish().remove(0);
    assert_eq!(
        (log.largest_consumers.len(), log.problems.unknown_types.len(), log.settings.options.len()),
        (16, 8, 256)
    );
    let version = format!("<attribute name=\"osVersion\" value=\"{}\" />", "9".repeat(400));
    let system =
        read(&[&format!("{HEADER}<attribute name=\"os\" value=\"Linux\" />{}", version.repeat(1000))]);
    assert!(system.settings.system.is_some_and(|name| name.starts_with("Linux 999") && name.len() < 2000));

    let deep = read(&[&"<gc-start type=\"global\"><mem-info>".repeat(100_000)]);
    assert_eq!((deep.stops.len(), deep.problems.cut_stops), (0, 0));
}

#[test]
fn a_log_mixed_with_other_output_is_read() {
    let noisy = SCAVENGE.replace("<gc-op", "WARN a < b, List<String> & \"text\n<gc-op");
    let log = read(&[&noisy]);
    assert_eq!(log.stops.len(), 1);
    assert_eq!(log.stops[0].counts.copied_in_pauses.flipped, 6_291_456);
}
