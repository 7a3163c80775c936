//! Turns the verbose GC log of OpenJ9 into the records that all collectors have in common.

use crate::gc::log::{
    Collection, ConcurrentPhase, CpuTime, GcLog, HeapChange, Incident, IncidentEvent, JvmFacts, Pause,
    RecordLimit, Safepoint, Scope, Span, Threshold,
};
use crate::gc::names::NameId;
use crate::openj9::{
    OpenJ9Copied, OpenJ9Counts, OpenJ9Log, OpenJ9Report, OpenJ9Settings, OpenJ9Stop, OpenJ9StopKind,
    OpenJ9Trigger,
};

/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

impl GcLog {
    /// Returns the records of the logs of all JVMs that wrote to some files.
    #[must_use]
    pub fn of_openj9(logs: Vec<OpenJ9Log>) -> Vec<Self> {
        let mut room = RecordLimit::default();
        let of_log = |log| {
            let converted = Self::from_openj9(log, room);
            room = converted.room;
            converted
        };
        logs.into_iter().map(of_log).collect()
    }

    /// Times are those since the first timestamp. The log has no time zone, so that `epoch_ns` is that of the JVM's
    /// local clock.
    fn from_openj9(log: OpenJ9Log, room: RecordLimit) -> Self {
        let first_ms = log.first_ms.unwrap_or(0);
        let mut records = Records { log: Self { room, ..Self::default() }, first_ms, cycle: None };
        records.log.jvm = facts(&log.settings);
        records.log.epoch_ns = log.first_ms.and_then(|ms| ms.checked_mul(1_000_000));
        for ms in log.first_ms.into_iter().chain(log.last_ms) {
            let at_ns = records.at_ns(ms);
            records.log.extend_to(at_ns);
        }
        for stop in &log.stops {
            records.add(stop);
        }
        for gap in &log.problems.gaps {
            let (after_ns, before_ns) = (records.at_ns(gap.after_ms), records.at_ns(gap.before_ms));
            records.log.losses.add(after_ns, before_ns);
        }
        if log.problems.is_limited && !records.log.is_limited {
            let end_ns = records.log.span.map_or(0, |span| span.end_ns);
            records.log.losses.add(end_ns, u64::MAX);
        }
        records.log.is_limited |= log.problems.is_limited;
        records.log.openj9 = Some(Box::new(log));
        records.log
    }

    /// Returns what only logs of OpenJ9 contain, of the whole log or of a window on its clock; `None` for other JVMs.
    #[must_use]
    pub fn openj9_report(&self, window: Option<Span>) -> Option<OpenJ9Report> {
        let log = self.openj9.as_ref()?;
        let ms = |at_ns: u64| {
            log.first_ms.unwrap_or(0).saturating_add(i64::try_from(at_ns / MS).unwrap_or(i64::MAX))
        };
        let mut report = log.report(window.map(|window| (ms(window.start_ns), ms(window.end_ns))));
        if self.losses.concern(window) {
            report.leave_out_rates();
        }
        Some(report)
    }
}

fn facts(settings: &OpenJ9Settings) -> JvmFacts {
    let state = |is_enabled: bool| if is_enabled { "Enabled" } else { "Disabled" };
    JvmFacts {
        collector: settings.policy.clone(),
        version: settings.version.clone(),
        cpus: settings.cpus.map(|cpus| cpus.to_string()),
        memory_bytes: settings.physical_memory_bytes,
        heap_initial_bytes: settings.initial_heap_bytes,
        heap_max_bytes: settings.max_heap_bytes,
        compressed_references: settings.compressed_references.map(state).map(str::to_owned),
        numa: settings.numa_nodes.map(|nodes| format!("{nodes} nodes")),
        parallel_workers: settings.gc_threads,
        ..JvmFacts::default()
    }
}

struct Records {
    log: GcLog,
    first_ms: i64,
    /// The nursery cycle that has not ended: a concurrent scavenge between its pauses.
    cycle: Option<NurseryCycle>,
}

/// What several pauses of one nursery cycle did.
#[derive(Debug, Default, Clone, Copy)]
struct NurseryCycle {
    used_before: Option<u64>,
    copied: OpenJ9Copied,
    freed: u64,
    has_copied: bool,
}

impl Records {
    fn at_ns(&self, ms: i64) -> u64 {
        u64::try_from(ms.saturating_sub(self.first_ms)).unwrap_or(0).saturating_mul(MS)
    }

    fn add(&mut self, stop: &OpenJ9Stop) {
        let Some(ended) = stop.end_ms.or(stop.start_ms) else { return };
        let end_ns = self.at_ns(ended);
        let duration_ns = stop.duration_us.saturating_mul(1000);
        let kind = self.log.names.id(kind_name(stop.kind));
        let cause = match stop.trigger {
            OpenJ9Trigger::Concurrent => None,
            OpenJ9Trigger::AllocationFailure => Some(self.log.names.id(b"Allocation Failure")),
            OpenJ9Trigger::Forced => Some(self.log.names.id(b"System.gc()")),
        };
        self.log.push(|log| &mut log.pauses, Pause { end_ns, duration_ns, kind, cause });
        let reaching_ns = stop.reaching_us.unwrap_or(0).saturating_mul(1000);
        let total_ns = duration_ns.saturating_add(reaching_ns);
        let safepoint = Safepoint { end_ns, total_ns, reaching_ns, name: kind, is_named: true, is_gc: true };
        self.log.push(|log| &mut log.safepoints, safepoint);
        self.add_collections(stop, end_ns, cause);
        self.add_work(stop, end_ns);
        self.add_incidents(&stop.counts, end_ns);
    }

    fn add_collections(&mut self, stop: &OpenJ9Stop, end_ns: u64, cause: Option<NameId>) {
        let counts = &stop.counts;
        let mut collection = Collection {
            end_ns,
            scope: Scope::Young,
            cause,
            before_bytes: stop.used_before,
            after_bytes: stop.used_after,
            capacity_bytes: stop.heap_bytes,
            promoted_bytes: None,
            survived_bytes: None,
            young_bytes: None,
            live_bytes: None,
            old_share: None,
        };
        if counts.global.count > 0 {
            collection.scope =
                if stop.trigger == OpenJ9Trigger::Concurrent { Scope::Old } else { Scope::Full };
            self.log.push(|log| &mut log.collections, collection);
        }
        if counts.nursery.count == 0 {
            return;
        }
        let mut cycle = self.cycle.take().unwrap_or_default();
        cycle.used_before = cycle.used_before.or(stop.used_before);
        cycle.has_copied |= counts.scavenges > 0;
        cycle.freed = cycle.freed.saturating_add(counts.freed);
        for copied in [counts.copied_in_pauses, counts.copied_concurrently] {
            cycle.copied.flipped = cycle.copied.flipped.saturating_add(copied.flipped);
            cycle.copied.tenured = cycle.copied.tenured.saturating_add(copied.tenured);
        }
        if counts.nursery_cycles.ended == 0 {
            self.cycle = Some(cycle);
            return;
        }
        let moved = cycle.copied.flipped.saturating_add(cycle.copied.tenured);
        collection.scope = Scope::Young;
        collection.before_bytes = cycle.used_before;
        collection.promoted_bytes = cycle.has_copied.then_some(cycle.copied.tenured);
        collection.survived_bytes = cycle.has_copied.then_some(moved);
        collection.young_bytes = cycle.has_copied.then_some(cycle.freed.saturating_add(moved));
        self.log.push(|log| &mut log.collections, collection);
    }

    fn add_work(&mut self, stop: &OpenJ9Stop, end_ns: u64) {
        let counts = &stop.counts;
        let start_ns = end_ns.saturating_sub(stop.duration_us.saturating_mul(1000));
        if counts.allocation_readings > 0 {
            // The log states what was allocated, so that it need not be derived from the use of the heap.
            let change = HeapChange {
                start_ns,
                end_ns,
                before_bytes: 0,
                after_bytes: 0,
                allocated_bytes: counts.allocated,
            };
            self.log.push(|log| &mut log.heap_changes, change);
        }
        if counts.user_us > 0 || counts.system_us > 0 {
            let cpu = CpuTime {
                end_ns,
                user_ns: counts.user_us.saturating_mul(1000),
                system_ns: counts.system_us.saturating_mul(1000),
            };
            self.log.push(|log| &mut log.cpu, cpu);
        }
        if counts.concurrent_us > 0 {
            let name = self.log.names.id(b"Concurrent operations");
            let duration_ns = counts.concurrent_us.saturating_mul(1000);
            self.log.push(|log| &mut log.concurrent, ConcurrentPhase { end_ns: start_ns, duration_ns, name });
        }
        if let Some(age) = stop.tenure_age.and_then(|age| u32::try_from(age).ok()) {
            self.log.push(|log| &mut log.thresholds, Threshold { at_ns: end_ns, age });
        }
    }

    fn add_incidents(&mut self, counts: &OpenJ9Counts, at_ns: u64) {
        let incidents = &counts.incidents;
        let failures = incidents.aborted_scavenges.saturating_add(incidents.percolations);
        for (number, incident) in
            [(failures, Incident::EvacuationFailure), (incidents.aborted_globals, Incident::ConcurrentAbort)]
        {
            for _ in 0..number {
                if self.log.is_limited {
                    break;
                }
                self.log.push(|log| &mut log.incidents, IncidentEvent { at_ns, incident });
            }
        }
    }
}

fn kind_name(kind: OpenJ9StopKind) -> &'static [u8] {
    match kind {
        OpenJ9StopKind::Nursery => b"Nursery",
        OpenJ9StopKind::Global => b"Global",
        OpenJ9StopKind::OtherIncrement => b"Other increment",
        OpenJ9StopKind::NoIncrement => b"Without collection",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::log::MOST_RECORD_BYTES;
    use crate::openj9::OpenJ9Incidents;

    #[test]
    fn all_logs_share_the_room_for_records() {
        let failed = OpenJ9Stop {
            end_ms: Some(1),
            counts: OpenJ9Counts {
                incidents: OpenJ9Incidents { percolations: u64::MAX, ..OpenJ9Incidents::default() },
                ..OpenJ9Counts::default()
            },
            ..OpenJ9Stop::default()
        };
        let log = OpenJ9Log { stops: vec![failed], first_ms: Some(0), ..OpenJ9Log::default() };
        let logs = GcLog::of_openj9(vec![log.clone(), log]);
        let bytes = |log: &GcLog| {
            size_of_val(&*log.pauses) + size_of_val(&*log.safepoints) + size_of_val(&*log.incidents)
        };
        assert!(logs.iter().all(|log| log.is_limited));
        assert!(logs.iter().map(bytes).sum::<usize>() <= MOST_RECORD_BYTES);
    }
}
