//! Sizes of generations and regions before and after a collection, and tenuring thresholds.

use crate::gc::hotspot::message::Message;
use crate::gc::hotspot::numbers::{Sizes, leading_number, leading_regions, leading_sizes};
use crate::gc::hotspot::pending::Pending;
use crate::gc::hotspot::run::Run;
use crate::gc::log::{Scope, Threshold};

const YOUNG: [(&[u8], &str); 3] =
    [(b"PSYoungGen: ", "Parallel"), (b"DefNew: ", "Serial"), (b"ParNew: ", "CMS")];
const OLD: [(&[u8], &str); 4] =
    [(b"ParOldGen: ", "Parallel"), (b"PSOldGen: ", "Parallel"), (b"Tenured: ", "Serial"), (b"CMS: ", "CMS")];

/// Selects numbers of regions before and after a collection.
type RegionsField = fn(&mut Pending) -> &mut Option<(u64, u64)>;

/// Reads a message about generations; returns whether it is one.
pub(super) fn read(run: &mut Run, message: Message<'_>) -> bool {
    let text = message.text;
    if let Some(rest) = text.strip_prefix(b"Desired survivor size ") {
        read_threshold(run, message, rest);
        return true;
    }
    if text.starts_with(b"Age table") {
        run.pending(message.id).flipped = Some(0);
        return true;
    }
    if let Some(rest) = text.strip_prefix(b"- age ") {
        read_age(run, message, rest);
        return true;
    }
    let regions: [(&[u8], RegionsField); 3] = [
        (b"Eden regions: ", |pending| &mut pending.eden),
        (b"Survivor regions: ", |pending| &mut pending.survivor),
        (b"Old regions: ", |pending| &mut pending.old_regions),
    ];
    for (prefix, field) in regions {
        if let Some(rest) = text.strip_prefix(prefix) {
            run.infer_collector("G1");
            *field(run.pending(message.id)) = leading_regions(rest);
            return true;
        }
    }
    for (prefix, collector) in YOUNG.iter().chain(&OLD) {
        let Some((sizes, _)) = text.strip_prefix(*prefix).and_then(leading_sizes) else { continue };
        run.infer_collector(collector);
        let pending = run.pending(message.id);
        if YOUNG.iter().any(|(young, _)| young == prefix) {
            pending.young = Some((sizes.before, sizes.after));
        } else {
            pending.old = Some((sizes.before, sizes.after));
            pending.old_capacity = sizes.capacity;
        }
        return true;
    }
    false
}

/// Reads `1048576 bytes, new threshold 15 (max threshold 15)`.
fn read_threshold(run: &mut Run, message: Message<'_>, text: &[u8]) {
    let Some(at) = memchr::memmem::find(text, b"new threshold ") else { return };
    let Some((age, _)) = leading_number(&text[at + b"new threshold ".len()..]) else { return };
    let Ok(age) = u32::try_from(age) else { return };
    run.log.push(|log| &mut log.thresholds, Threshold { at_ns: message.at_ns, age });
}

/// Reads `  2:    2067600 bytes,    4726776 total`: the sum over all ages so far.
fn read_age(run: &mut Run, message: Message<'_>, text: &[u8]) {
    let Some(at) = memchr::memmem::find(text, b" bytes,") else { return };
    let total = leading_number(text[at + b" bytes,".len()..].trim_ascii_start());
    if let Some((total, b" total")) = total {
        run.pending(message.id).flipped = Some(total);
    }
}

/// Bytes of the young generation, and what became of them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moved {
    /// In use before the collection.
    pub(super) young: Option<u64>,
    /// Live objects among them; an upper bound with G1, because promotion counts whole regions.
    pub(super) survived: Option<u64>,
    /// Moved to the old generation.
    pub(super) promoted: Option<u64>,
}

/// Returns what a collection did with the young generation; with full collections, this cannot be told.
pub(super) fn moved(pending: &Pending, scope: Scope, region_bytes: Option<u64>) -> Moved {
    if scope != Scope::Young && scope != Scope::Mixed {
        return Moved::default();
    }
    if let (Some(young), Some(old)) = (pending.young, pending.old) {
        let promoted = old.1.saturating_sub(old.0);
        return Moved {
            young: Some(young.0),
            survived: Some(young.1.saturating_add(promoted)),
            promoted: Some(promoted),
        };
    }
    let (Some(eden), Some(survivor), Some(region)) = (pending.eden, pending.survivor, region_bytes) else {
        return Moved::default();
    };
    let bytes = |regions: u64| regions.saturating_mul(region);
    // A mixed collection also frees old regions, which hides the promotion.
    let promoted = pending
        .old_regions
        .filter(|_| scope == Scope::Young)
        .map(|(before, after)| bytes(after.saturating_sub(before)));
    Moved {
        young: Some(bytes(eden.0.saturating_add(survivor.0))),
        survived: promoted
            .map(|promoted| pending.flipped.unwrap_or(bytes(survivor.1)).saturating_add(promoted)),
        promoted,
    }
}

/// Returns the part of the old generation in use after a collection, if it has a size of its own.
#[allow(clippy::cast_possible_truncation, reason = "a share does not need more digits")]
pub(super) fn old_share(pending: &Pending) -> Option<f32> {
    let (_, after) = pending.old?;
    let capacity = pending.old_capacity.filter(|capacity| *capacity > 0)?;
    Some((after as f64 / capacity as f64) as f32)
}

/// Returns the sizes of the heap, exact to the kilobyte if those of the generations are known.
pub(super) fn exact_sizes(pending: &Pending, sizes: Sizes) -> Sizes {
    match (pending.young, pending.old) {
        (Some(young), Some(old)) => Sizes {
            before: young.0.saturating_add(old.0),
            after: young.1.saturating_add(old.1),
            capacity: sizes.capacity,
        },
        _ => sizes,
    }
}
