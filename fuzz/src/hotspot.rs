//! What must hold for every unified log of `HotSpot`. The tests of the crate `evidence` include this file too.

use pacenote_evidence::GcLog;
use pacenote_evidence::gc::HotSpotReader;
use pacenote_evidence::gc::log::Span;
use pacenote_evidence::gc::statistics::{Durations, Statistics};

/// Lines of other programs: none of them moves a clock or begins a run.
const OTHERS: [&[u8]; 4] = [
    b"x",
    b"[2026-11-28T15:00:02,000][INFO ][o.o.n.Node] [n1] started",
    b"[99999s] elapsed",
    b"{\"@timestamp\":\"2026-11-28T15:00:02.000Z\",\"message\":\"GC(1) Pause Full 1.0ms\"}",
];

/// Reads a log as it is, and with lines of another program between its lines.
///
/// # Panics
///
/// If these lines change the result, if there are more records than the lines can contain, if a figure is not possible,
/// or if windows do not have all events.
pub fn check(text: &[u8]) {
    let lines = || text.split(|byte| *byte == b'\n');
    let logs = read(lines());
    let mixed = read(lines().zip(OTHERS.iter().cycle()).flat_map(|(line, other)| [*other, line]));
    assert_eq!(format!("{mixed:?}"), format!("{logs:?}"));
    let records: usize =
        logs.iter().map(|log| log.pauses.len() + log.safepoints.len() + log.collections.len()).sum();
    assert!(records <= 2 * lines().count(), "{records} records");
    for log in &logs {
        check_log(log);
    }
}

fn read<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Vec<GcLog> {
    let mut reader = HotSpotReader::default();
    lines.for_each(|line| reader.line(line));
    reader.finish()
}

fn check_log(log: &GcLog) {
    let whole = log.statistics();
    check_figures(&whole);
    let Some(span) = log.span else { return };
    let middle = span.start_ns / 2 + span.end_ns / 2;
    let windows = [(0, middle), (middle, u64::MAX)].map(|(start_ns, end_ns)| Span { start_ns, end_ns });
    let parts = windows.map(|window| log.statistics_between(window));
    parts.iter().for_each(check_figures);
    // A window does not contain its beginning.
    let first = log.pauses.iter().filter(|pause| pause.end_ns == 0).count() as u64;
    let counted = parts.iter().map(|part| count(part.pauses.as_ref())).sum::<u64>();
    assert_eq!(counted + first, count(whole.pauses.as_ref()));
}

fn check_figures(found: &Statistics) {
    let shares = [found.pause_share, found.stop_share];
    let least = found.utilisation.iter().map(|each| each.minimum);
    assert!(shares.into_iter().flatten().chain(least).all(|share| (0.0..=1.0).contains(&share)), "{found:?}");
    assert!(!found.is_incomplete || (found.pause_share, found.stop_share) == (None, None), "{found:?}");
    assert_eq!(
        found.pause_kinds.iter().map(|kind| kind.durations.count).sum::<u64>(),
        count(found.pauses.as_ref())
    );
    let kinds = found.pause_kinds.iter().chain(&found.safepoint_operations).map(|kind| &kind.durations);
    for each in kinds.chain(&found.pauses).chain(&found.allocation_stalls) {
        assert!(each.count > 0 && each.p50_ms <= each.p99_ms && each.p99_ms <= Some(each.max_ms), "{each:?}");
        assert!(
            [each.total_s, each.mean_ms.unwrap_or(0.0)].iter().all(|figure| figure.is_finite()),
            "{each:?}"
        );
        assert!(!found.is_incomplete || each.mean_ms.is_none(), "{each:?}");
        assert!(each.interval_s.is_none_or(|interval| interval.is_finite() && interval >= 0.0), "{each:?}");
    }
    let rates = [found.allocation.allocated_bytes_per_s, found.allocation.promoted_bytes_per_s];
    let further = [found.allocation.survived_share, found.heap.after_mean_bytes, found.concurrent_s];
    assert!(rates.into_iter().chain(further).flatten().all(|figure| figure.is_finite() && figure >= 0.0));
}

fn count(durations: Option<&Durations>) -> u64 {
    durations.map_or(0, |durations| durations.count)
}
