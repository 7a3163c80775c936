//! What JVMs read at intervals: CPU loads, sizes of the heap, and how much threads have allocated.

use super::hash::IndexedMap;
use super::recording::{GaugeKind, GaugeValues, RecordedGauge, ThreadAllocation};
use super::tables::{MemoryBudget, ThreadKey, ValueTable, cost};

/// Counts the times at which something is read: readings with the same time belong together.
#[derive(Debug, Default)]
struct Rounds {
    count: u64,
    last_ns: Option<i64>,
}

impl Rounds {
    /// Returns the number of the round of a reading, from 1.
    fn number(&mut self, time_ns: i64) -> u64 {
        if self.last_ns != Some(time_ns) {
            self.last_ns = Some(time_ns);
            self.count += 1;
        }
        self.count
    }
}

/// The gauges of a recording.
#[derive(Debug, Default)]
pub(super) struct Gauges {
    values: IndexedMap<(GaugeKind, Option<u32>), GaugeValues>,
}

impl Gauges {
    /// Adds a reading of a gauge; that of a thread is added to those without one if there is no memory for more gauges.
    pub(super) fn add(
        &mut self,
        kind: GaugeKind,
        thread: Option<u32>,
        (value, budget): (f64, &MemoryBudget),
    ) {
        let key = (kind, thread);
        let is_kept = thread.is_none()
            || self.values.index_of(&key, |known| *known == key).is_some()
            || budget.take(cost::GAUGE);
        let key = if is_kept { key } else { (kind, None) };
        self.values.update_or_add(key, GaugeValues::of(value), GaugeValues::add);
    }

    /// Returns all gauges.
    pub(super) fn into_recorded(self) -> Vec<RecordedGauge> {
        let mut gauges: Vec<_> = self
            .values
            .into_entries()
            .into_iter()
            .map(|((kind, thread), values)| RecordedGauge { kind, thread, values })
            .collect();
        gauges.sort_by_key(|each| each.kind);
        gauges
    }
}

/// The ids of a thread in Java and in the operating system, or its index in the tables if it has neither. Its name may
/// change.
type ThreadIdentity = (Option<u64>, Option<u64>, Option<u32>);

/// The readings of one thread's allocations.
#[derive(Debug)]
struct AllocationReadings {
    /// Index of the thread, with its last name.
    thread: u32,
    readings: u64,
    /// Whether the thread began after another reading, so that its first one has all that it has allocated.
    is_new: bool,
    /// What it had allocated at the first reading.
    first: u64,
    last: u64,
}

/// What threads have allocated, as the JVM counts it.
#[derive(Debug, Default)]
pub(super) struct ThreadAllocations {
    threads: IndexedMap<ThreadIdentity, AllocationReadings>,
    rounds: Rounds,
}

impl ThreadAllocations {
    /// Adds a reading: what a thread has allocated since it began. Returns whether it is kept.
    pub(super) fn add(
        &mut self,
        thread: u32,
        table: &ValueTable<ThreadKey>,
        (bytes, time_ns): (u64, i64),
        budget: &MemoryBudget,
    ) -> bool {
        let is_new = self.rounds.number(time_ns) > 1;
        let ids = table.get(thread).map_or((None, None), |key| (key.java_id, key.os_id));
        let identity = (ids.0, ids.1, (ids == (None, None)).then_some(thread));
        let is_known = self.threads.index_of(&identity, |known| *known == identity).is_some();
        if !is_known && !budget.take(cost::GAUGE) {
            return false;
        }
        let reading = AllocationReadings { thread, readings: 1, is_new, first: bytes, last: bytes };
        self.threads.update_or_add(identity, reading, |known, added| {
            known.thread = added.thread;
            known.readings += 1;
            known.last = known.last.max(added.last);
        });
        true
    }

    /// Returns what each thread allocated.
    pub(super) fn into_recorded(self) -> Vec<ThreadAllocation> {
        let mut found: Vec<_> = self
            .threads
            .into_entries()
            .into_iter()
            .map(|(_, each)| {
                let before = if each.is_new { 0 } else { each.first };
                let bytes = (each.is_new || each.readings > 1).then(|| each.last.saturating_sub(before));
                ThreadAllocation { thread: each.thread, readings: each.readings, bytes }
            })
            .collect();
        found.sort_by_key(|each| std::cmp::Reverse(each.bytes));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::RecordingTables;
    use super::*;

    #[test]
    fn what_a_thread_allocated_counts_from_its_first_reading_or_its_beginning() {
        let budget = MemoryBudget::default();
        let mut tables = RecordingTables::new(&budget);
        let mut thread = |name: &str, id: Option<u64>| {
            let key = ThreadKey { name: tables.texts.intern_text(name), java_id: id, os_id: id };
            tables.threads.intern(key).unwrap()
        };
        let (old, new, once) = (thread("old", Some(1)), thread("new", Some(2)), thread("once", Some(3)));
        let (renamed, unnamed) = (thread("renamed", Some(1)), thread("", None));
        let mut allocations = ThreadAllocations::default();
        for (thread, bytes, time_ns) in [
            (old, 100, 10),
            (once, 50, 10),
            (new, 30, 20),
            (old, 150, 20),
            (unnamed, 7, 20),
            (renamed, 400, 30),
            (unnamed, 9, 30),
        ] {
            assert!(allocations.add(thread, &tables.threads, (bytes, time_ns), &budget));
        }
        let found: Vec<_> =
            allocations.into_recorded().iter().map(|each| (each.thread, each.readings, each.bytes)).collect();
        assert_eq!(
            found,
            [(renamed, 3, Some(300)), (new, 1, Some(30)), (unnamed, 2, Some(9)), (once, 1, None)]
        );
    }
}
