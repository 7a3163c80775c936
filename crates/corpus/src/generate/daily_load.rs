//! Time in generated logs: documents spread over a span hour by hour, busy hours getting more.

/// Seconds of an hour.
const HOUR: u64 = 3600;

/// An hour of the span, or the part of one at its edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// First second, since 1970.
    pub(crate) start: u64,
    /// Length in seconds.
    pub(crate) seconds: u64,
    /// Documents that fall into it.
    pub(crate) documents: u64,
}

impl Slot {
    /// The time of document `index` of this slot: evenly spread, `jitter` (16 bits) moving it within its own share,
    /// so that times never go back.
    pub(crate) fn time(self, index: u64, jitter: u64) -> u64 {
        self.start + ((((index << 16) | jitter) * self.seconds / self.documents) >> 16)
    }
}

/// Spreads `documents` over `start..end` (seconds since 1970, UTC), in the proportion of `by_hour` (relative load of
/// the 24 hours of a day). Slots without documents are kept.
pub(crate) fn slots(start: u64, end: u64, by_hour: &[u64; 24], documents: u64) -> Vec<Slot> {
    let load = |slot: &Slot| {
        let hour = usize::try_from(slot.start / HOUR % 24).unwrap_or(0);
        u128::from(by_hour[hour] * slot.seconds)
    };
    let mut slots = Vec::new();
    let mut at = start;
    while at < end {
        let next = (at / HOUR + 1) * HOUR;
        slots.push(Slot { start: at, seconds: next.min(end) - at, documents: 0 });
        at = next;
    }
    let total: u128 = slots.iter().map(load).sum();
    let (mut passed, mut given) = (0, 0);
    for slot in &mut slots {
        // Rounding the running sum, not each share, makes the slots add up.
        passed += load(slot);
        let due = u64::try_from(u128::from(documents) * passed / total.max(1)).unwrap_or(u64::MAX);
        slot.documents = due - given;
        given = due;
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_tile_the_span_and_hold_all_documents() {
        let mut by_hour = [1; 24];
        by_hour[20] = 5;
        for documents in [0, 1, 17, 1000, 1_000_000] {
            let slots = slots(893_964_617, 894_240_000, &by_hour, documents);
            assert_eq!(slots[0].start, 893_964_617);
            assert!(slots.windows(2).all(|pair| pair[0].start + pair[0].seconds == pair[1].start));
            assert_eq!(slots.last().map(|slot| slot.start + slot.seconds), Some(894_240_000));
            assert_eq!(slots.iter().map(|slot| slot.documents).sum::<u64>(), documents);
        }
    }

    #[test]
    fn busy_hours_get_more() {
        let mut by_hour = [1; 24];
        by_hour[20] = 5;
        let slots = slots(0, 86_400, &by_hour, 28_000);
        assert_eq!((slots[19].documents, slots[20].documents, slots[21].documents), (1000, 5000, 1000));
    }

    #[test]
    fn times_stay_inside_and_never_go_back() {
        let slot = Slot { start: 100, seconds: 50, documents: 7 };
        let times: Vec<u64> =
            (0..7).flat_map(|index| [slot.time(index, 0), slot.time(index, 0xffff)]).collect();
        assert!(times.is_sorted(), "{times:?}");
        assert_eq!((times[0], times[13]), (100, 149));
    }
}
