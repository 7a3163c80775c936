//! Allocation, promotion, survival and the use of the heap.

use serde::Serialize;

use crate::gc::log::{Collection, GcLog, HeapChange, Scope, Span};
use crate::gc::statistics::window::{Window, seconds};

/// What the application allocated, and what became of it.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct Allocation {
    /// Bytes allocated between the first and the last collection in the window.
    pub allocated_bytes: Option<u64>,
    /// Seconds from the first to the last collection in the window, to which the bytes refer.
    pub observed_s: Option<f64>,
    /// Bytes allocated per second.
    pub allocated_bytes_per_s: Option<f64>,
    /// Bytes that collections moved from the young to the old generation.
    pub promoted_bytes: Option<u64>,
    /// Bytes promoted per second of the window.
    pub promoted_bytes_per_s: Option<f64>,
    /// Bytes that young collections copied within the young generation; without mixed collections. `None` for ZGC, which
    /// does not copy all objects that stay.
    pub flipped_bytes: Option<u64>,
    /// Share of the young generation that survived its collections (0 to 1); an upper bound with G1, whose regions
    /// need not be full.
    pub survived_share: Option<f64>,
}

/// Use of the heap.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct Heap {
    /// Largest size of the heap in bytes.
    pub capacity_max_bytes: Option<u64>,
    /// Most bytes in use before a collection.
    pub before_max_bytes: Option<u64>,
    /// Mean of the bytes in use after collections.
    pub after_mean_bytes: Option<f64>,
    /// Most bytes in use after a collection.
    pub after_max_bytes: Option<u64>,
    /// Bytes in use after the last collection that considered the old generation: an upper bound of the live objects.
    pub live_bytes: Option<u64>,
    /// Most bytes in use after such a collection.
    pub live_max_bytes: Option<u64>,
    /// Largest part of the old generation in use after such a collection (0 to 1); `None` if it has no size of its own.
    pub old_share_max: Option<f64>,
    /// Collections after which the heap had another size than after the one before. `None` if the log does not state the
    /// size, and for Parallel, whose size omits a part of the young generation that it changes all the time.
    pub resizes: Option<u64>,
}

pub(super) fn allocation(log: &GcLog, window: Window) -> Allocation {
    let young: Vec<&Collection> = inside(log, window)
        .filter(|collection| matches!(collection.scope, Scope::Young | Scope::Mixed))
        .collect();
    let promoted: Vec<u64> = young.iter().filter_map(|collection| collection.promoted_bytes).collect();
    let promoted_bytes =
        (!promoted.is_empty()).then(|| promoted.iter().fold(0, |sum: u64, each| sum.saturating_add(*each)));
    let flipped: Vec<u64> = young
        .iter()
        .filter_map(|collection| collection.survived_bytes?.checked_sub(collection.promoted_bytes?))
        .collect();
    let is_copied = log.jvm.collector.as_deref() != Some("ZGC") && !flipped.is_empty();
    let (mut survived, mut before) = (0.0, 0.0);
    for collection in &young {
        if let (Some(left), Some(young)) = (collection.survived_bytes, collection.young_bytes) {
            survived += left as f64;
            before += young as f64;
        }
    }
    let (allocated_bytes, observed_s) = allocated(&log.heap_changes, window);
    let per_s = |bytes: Option<u64>, length: Option<f64>| {
        Some(bytes? as f64 / length.filter(|length| *length > 0.0)?)
    };
    Allocation {
        allocated_bytes,
        observed_s,
        allocated_bytes_per_s: per_s(allocated_bytes, observed_s),
        promoted_bytes,
        promoted_bytes_per_s: per_s(promoted_bytes, window.seconds()),
        flipped_bytes: is_copied.then(|| flipped.iter().fold(0, |sum: u64, each| sum.saturating_add(*each))),
        survived_share: (before > 0.0).then(|| survived / before),
    }
}

fn inside(log: &GcLog, window: Window) -> impl Iterator<Item = &Collection> {
    log.collections.iter().filter(move |collection| window.contains(collection.end_ns))
}

/// Returns the bytes allocated between the ends of the first and the last change that ended in the window, and the
/// seconds between them.
fn allocated(changes: &[HeapChange], window: Window) -> (Option<u64>, Option<f64>) {
    let mut inside = changes.iter().filter(|change| window.contains(change.end_ns));
    let Some(first) = inside.next() else { return (None, None) };
    let (mut last, mut bytes) = (first, None);
    for change in inside {
        let between = change.before_bytes.saturating_sub(last.after_bytes);
        bytes = Some(bytes.unwrap_or(0_u64).saturating_add(between).saturating_add(change.allocated_bytes));
        last = change;
    }
    let span = window.span.map(|_| Span { start_ns: first.end_ns, end_ns: last.end_ns.max(first.end_ns) });
    (bytes, span.filter(|_| bytes.is_some()).map(|span| seconds(span.end_ns - span.start_ns)))
}

/// Returns the numbers of collections of the young generation, and of those that considered the old one.
pub(super) fn collections(log: &GcLog, window: Window) -> (Option<u64>, Option<u64>) {
    let count = |is_young: bool| {
        let matching = inside(log, window)
            .filter(|collection| matches!(collection.scope, Scope::Young | Scope::Mixed) == is_young);
        log.states_collections().then(|| matching.count() as u64)
    };
    (count(true), count(false))
}

pub(super) fn heap(log: &GcLog, window: Window) -> Heap {
    let after: Vec<u64> = inside(log, window).filter_map(|collection| collection.after_bytes).collect();
    let sum: f64 = after.iter().map(|bytes| *bytes as f64).sum();
    // A Mixed collection cleans the old generation in part.
    let live: Vec<u64> = inside(log, window)
        .filter(|collection| collection.scope != Scope::Young)
        .filter_map(|collection| collection.live_bytes.or(collection.after_bytes))
        .collect();
    Heap {
        capacity_max_bytes: inside(log, window)
            .filter_map(|each| each.capacity_bytes)
            .max()
            .or(log.jvm.heap_max_bytes),
        before_max_bytes: inside(log, window).filter_map(|each| each.before_bytes).max(),
        after_mean_bytes: (!after.is_empty()).then(|| sum / after.len() as f64),
        after_max_bytes: after.iter().copied().max(),
        live_bytes: live.last().copied(),
        live_max_bytes: live.iter().copied().max(),
        old_share_max: inside(log, window)
            .filter(|collection| collection.scope != Scope::Young)
            .filter_map(|collection| collection.old_share.map(f64::from))
            .reduce(f64::max),
        resizes: resizes(log, window),
    }
}

fn resizes(log: &GcLog, window: Window) -> Option<u64> {
    let mut known: Option<u64> = None;
    let mut changes = None;
    for collection in &log.collections {
        let Some(capacity) = collection.capacity_bytes else { continue };
        if window.contains(collection.end_ns) {
            let is_change = known.is_some_and(|known| known != capacity);
            changes = Some(changes.unwrap_or(0) + u64::from(is_change));
        }
        known = Some(capacity);
    }
    changes.filter(|_| log.jvm.collector.as_deref() != Some("Parallel"))
}
