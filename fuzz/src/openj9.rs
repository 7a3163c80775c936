//! What must hold for every verbose GC log of OpenJ9. The tests of the crate `evidence` include this file too.

use pacenote_evidence::openj9::{OpenJ9Counting, OpenJ9Log, OpenJ9Reader};

/// Length of the shortest pause in a log, in bytes.
const SHORTEST_STOP: usize = 30;

/// Length of a log up to which it is also read in parts of a few bytes.
const SHORT_LOG: usize = 5000;

/// Reads a log in parts of several sizes.
///
/// # Panics
///
/// If the result depends on the parts, has more pauses or longer texts than the log can contain, or if a figure is not
/// a number.
pub fn check(log: &[u8]) {
    let whole = read(log, log.len().max(1));
    // Each part of an incomplete tag is scanned again.
    let sizes = if log.len() <= SHORT_LOG { [1, 7, 100] } else { [1000, 3001, 10_000] };
    for size in sizes {
        assert_eq!(read(log, size), whole, "parts of {size} bytes");
    }
    let stops: usize = whole.iter().map(|run| run.stops.len()).sum();
    assert!(stops <= log.len() / SHORTEST_STOP, "{stops} pauses in {} bytes", log.len());
    for run in &whole {
        let options: usize = run.settings.options.iter().map(String::len).sum();
        assert!(options <= 3 * log.len(), "an invalid byte becomes three");
        for counting in [OpenJ9Counting::Pauses, OpenJ9Counting::Cycles] {
            for window in [None, Some((0, i64::MAX)), Some((i64::MAX, i64::MIN))] {
                let summary = run.summary(window, counting);
                let figures = [
                    summary.global_mean_pause_ms,
                    summary.nursery_mean_interval_ms,
                    summary.nursery_flipped_mb,
                    summary.paused_percent,
                    summary.collected_mb_per_minute,
                ];
                assert!(figures.into_iter().flatten().all(|figure| figure.is_finite() && figure >= 0.0));
            }
        }
    }
}

fn read(log: &[u8], size: usize) -> Vec<OpenJ9Log> {
    let mut reader = OpenJ9Reader::new();
    for part in log.chunks(size) {
        reader.feed(part);
    }
    reader.end_file();
    reader.finish()
}
