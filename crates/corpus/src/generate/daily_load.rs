//! Timestamps of generated logs: spreads documents over a time span in proportion to the load at each hour of the day.

/// Seconds per hour.
const HOUR: u64 = 3600;

/// One hour of the time span; the first and last may be shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HourOfLoad {
    /// Start, in seconds since 1970.
    pub(crate) start: u64,
    /// Length in seconds.
    pub(crate) seconds: u64,
    /// Number of documents in this hour.
    pub(crate) documents: u64,
}

impl HourOfLoad {
    /// Returns the timestamp of document `index` of this hour, in seconds since 1970. Documents are spread evenly;
    /// `jitter` (16 bits) moves each one within its share of the hour, so timestamps never decrease.
    pub(crate) fn time(self, index: u64, jitter: u64) -> u64 {
        self.start + ((((index << 16) | jitter) * self.seconds / self.documents) >> 16)
    }
}

/// Spreads `documents` over `start..end` (seconds since 1970, UTC) in proportion to `by_hour`, the relative load of the
/// 24 hours of a day. Hours without documents are included.
pub(crate) fn hours(start: u64, end: u64, by_hour: &[u64; 24], documents: u64) -> Vec<HourOfLoad> {
    let load = |hour: &HourOfLoad| {
        let of_day = usize::try_from(hour.start / HOUR % 24).unwrap_or(0);
        u128::from(by_hour[of_day] * hour.seconds)
    };
    let mut hours = Vec::new();
    let mut at = start;
    while at < end {
        let next = (at / HOUR + 1) * HOUR;
        hours.push(HourOfLoad { start: at, seconds: next.min(end) - at, documents: 0 });
        at = next;
    }
    let total: u128 = hours.iter().map(load).sum();
    let (mut load_so_far, mut assigned) = (0, 0);
    for hour in &mut hours {
        // Rounding the running total instead of each share makes the hours add up to the total.
        load_so_far += load(hour);
        let so_far = u64::try_from(u128::from(documents) * load_so_far / total.max(1)).unwrap_or(u64::MAX);
        hour.documents = so_far - assigned;
        assigned = so_far;
    }
    hours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_cover_the_span_and_contain_all_documents() {
        let mut by_hour = [1; 24];
        by_hour[20] = 5;
        for documents in [0, 1, 17, 1000, 1_000_000] {
            let hours = hours(893_964_617, 894_240_000, &by_hour, documents);
            assert_eq!(hours[0].start, 893_964_617);
            assert!(hours.windows(2).all(|pair| pair[0].start + pair[0].seconds == pair[1].start));
            assert_eq!(hours.last().map(|hour| hour.start + hour.seconds), Some(894_240_000));
            assert_eq!(hours.iter().map(|hour| hour.documents).sum::<u64>(), documents);
        }
    }

    #[test]
    fn busy_hours_get_more_documents() {
        let mut by_hour = [1; 24];
        by_hour[20] = 5;
        let hours = hours(0, 86_400, &by_hour, 28_000);
        assert_eq!((hours[19].documents, hours[20].documents, hours[21].documents), (1000, 5000, 1000));
    }

    #[test]
    fn timestamps_stay_in_their_hour_and_never_decrease() {
        let hour = HourOfLoad { start: 100, seconds: 50, documents: 7 };
        let times: Vec<u64> =
            (0..7).flat_map(|index| [hour.time(index, 0), hour.time(index, 0xffff)]).collect();
        assert!(times.is_sorted(), "{times:?}");
        assert_eq!((times[0], times[13]), (100, 149));
    }
}
