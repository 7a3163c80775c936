//! What is known about a collection before it is complete.

use crate::gc::names::NameId;

/// What is known about a collection before its last line.
#[derive(Debug, Default, Clone)]
pub(super) struct Pending {
    /// The number of the collection.
    pub(super) id: u64,
    pub(super) cause: Option<NameId>,
    /// Regions of G1 before and after it.
    pub(super) eden: Option<(u64, u64)>,
    pub(super) survivor: Option<(u64, u64)>,
    pub(super) old_regions: Option<(u64, u64)>,
    /// Bytes of generations before and after it.
    pub(super) young: Option<(u64, u64)>,
    pub(super) old: Option<(u64, u64)>,
    /// Size of the old generation after it, in bytes.
    pub(super) old_capacity: Option<u64>,
    /// Bytes that were copied within the young generation, from the table of ages.
    pub(super) flipped: Option<u64>,
    /// The tables of ZGC for its young and its old generation, or for the whole heap.
    pub(super) young_table: HeapTable,
    pub(super) old_table: HeapTable,
    /// Position of its record, once there is one.
    pub(super) record: Option<usize>,
}

/// Rows of the table of a heap or generation, in bytes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeapTable {
    /// When its collection began.
    pub(super) start_ns: u64,
    pub(super) used_at_start: Option<u64>,
    pub(super) used_at_end: Option<u64>,
    pub(super) live: Option<u64>,
    pub(super) allocated: Option<u64>,
    pub(super) promoted: Option<u64>,
    /// Only of a heap with one generation.
    pub(super) reclaimed: Option<u64>,
}

impl HeapTable {
    /// Returns the bytes that the application allocated during the collection. The row `Allocated` of JDK 11 includes the
    /// pages to which objects were moved; the growth of the heap and what was reclaimed do not.
    pub(super) fn allocated(&self) -> Option<u64> {
        match (self.used_at_start, self.used_at_end, self.reclaimed) {
            (Some(start), Some(end), Some(reclaimed)) => {
                Some(end.saturating_add(reclaimed).saturating_sub(start))
            }
            _ => self.allocated,
        }
    }
}
