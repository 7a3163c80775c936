//! Leaves out lines that are twice in the files of a log: a copy of a file, or the output of a container that was saved twice.

use crate::gc::log::{GcLog, Pause, Span};

/// Pauses at the beginning of a run that must all be in the other one.
const COMPARED: usize = 16;

/// Difference of the times at which two runs of a JVM began, up to which they may be the same run. The wall clock is adjusted
/// while a JVM runs.
const MOST_DRIFT_NS: u64 = 2_000_000_000;

/// Leaves out of each run what an earlier run of the same JVM has as well. Returns the number of pauses that were left out.
pub(super) fn leave_out_repeated(logs: &mut Vec<GcLog>) -> u64 {
    let mut left_out = 0;
    let mut later = 1;
    while later < logs.len() {
        let mut is_repeated = false;
        for earlier in 0..later {
            let Some(end_ns) = repeated_until(&logs[earlier], &logs[later]) else { continue };
            let before = logs[later].pauses.len();
            keep_after(&mut logs[later], end_ns);
            left_out += (before - logs[later].pauses.len()) as u64;
            is_repeated = logs[later].is_empty() || logs[later].pauses.is_empty();
        }
        if is_repeated {
            logs.remove(later);
        } else {
            later += 1;
        }
    }
    left_out
}

/// Returns the time on the clock of the second run up to which it repeats the first one.
fn repeated_until(first: &GcLog, second: &GcLog) -> Option<u64> {
    let (span, other) = (first.span?, second.span?);
    let is_other_process =
        !first.process.is_empty() && !second.process.is_empty() && first.process != second.process;
    if is_other_process || first.container != second.container || first.has_uptime != second.has_uptime {
        return None;
    }
    let between = match (first.epoch_ns, second.epoch_ns) {
        (Some(first), Some(second)) => Some(second.saturating_sub(first)),
        (None, None) => None,
        _ => return None,
    };
    // The uptime is the same clock in both; the wall clock counts from the first line of each.
    let offset_ns = if first.has_uptime {
        if between.is_some_and(|between| between.unsigned_abs() > MOST_DRIFT_NS) {
            return None;
        }
        0
    } else {
        between?
    };
    let on_first = |at_ns: u64| at_ns.checked_add_signed(offset_ns);
    if on_first(other.start_ns)? > span.end_ns {
        return None;
    }
    let compared = &second.pauses[..second.pauses.len().min(COMPARED)];
    // Without a wall clock, two starts of a program may have one pause of the same length at the same time.
    let least = if between.is_some() { 1 } else { 2 };
    let is_in_first = |pause: &Pause| {
        on_first(pause.end_ns).is_some_and(|end_ns| {
            let kind = second.names.text(pause.kind);
            let is_same = |known: &Pause| known.end_ns == end_ns && known.duration_ns == pause.duration_ns;
            first.pauses.iter().any(|known| is_same(known) && first.names.text(known.kind) == kind)
        })
    };
    let ends = compared.iter().map(|pause| on_first(pause.end_ns)).collect::<Option<Vec<u64>>>()?;
    let inside = ends.iter().filter(|end_ns| **end_ns <= span.end_ns).count();
    if inside < least || !compared[..inside].iter().all(is_in_first) {
        return None;
    }
    span.end_ns.checked_add_signed(offset_ns.checked_neg()?)
}

/// Keeps what ended after a time.
fn keep_after(log: &mut GcLog, end_ns: u64) {
    log.pauses.retain(|each| each.end_ns > end_ns);
    log.safepoints.retain(|each| each.end_ns > end_ns);
    log.collections.retain(|each| each.end_ns > end_ns);
    log.heap_changes.retain(|each| each.end_ns > end_ns);
    log.concurrent.retain(|each| each.end_ns > end_ns);
    log.stalls.retain(|each| each.end_ns > end_ns);
    log.cpu.retain(|each| each.end_ns > end_ns);
    log.incidents.retain(|each| each.at_ns > end_ns);
    log.thresholds.retain(|each| each.at_ns > end_ns);
    if let Some(span) = log.span {
        log.span = Some(Span { start_ns: span.start_ns.max(end_ns).min(span.end_ns), ..span });
    }
}
