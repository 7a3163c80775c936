//! Histograms, all with the same configuration: nanoseconds, 1 ns to 24 h, three significant digits.
//!
//! HDR histograms with the same configuration can be merged exactly, by adding their counts, across threads, hosts and
//! seconds. Percentiles are therefore only read from merged counts. The array of 32-bit counters grows with the longest
//! duration so far: 45 KiB for 1 ms, 86 KiB for 1 s, 150 KiB for the whole range.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use crate::error::RecordError;

/// Longest duration that is recorded exactly, in nanoseconds; longer durations are counted as this one.
pub(crate) const HIGHEST_NS: u64 = 24 * 3600 * 1_000_000_000;
/// Number of significant digits of durations.
pub(crate) const DIGITS: u8 = 3;

/// A histogram of durations in nanoseconds, with the exact minimum, maximum and mean.
#[derive(Clone)]
pub struct DurationHistogram {
    counts: Histogram<u32>,
    // Bucket midpoints would bias the mean, so the exact sum is stored in addition to the buckets.
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl fmt::Debug for DurationHistogram {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "DurationHistogram({} values)", self.count())
    }
}

impl DurationHistogram {
    /// Creates an empty histogram.
    ///
    /// # Errors
    ///
    /// None with these bounds, but the library only checks them at run time.
    pub fn new() -> Result<Self, RecordError> {
        let counts = Histogram::new(DIGITS).map_err(|_| RecordError::Histogram("created"))?;
        Ok(Self { counts, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 })
    }

    /// Creates an empty histogram whose memory never grows: recording a duration does not allocate.
    ///
    /// # Errors
    ///
    /// As [`DurationHistogram::new`].
    pub fn of_fixed_size() -> Result<Self, RecordError> {
        let counts = Histogram::new_with_bounds(1, HIGHEST_NS, DIGITS)
            .map_err(|_| RecordError::Histogram("created"))?;
        Ok(Self { counts, ..Self::new()? })
    }

    /// Adds one duration.
    pub fn record(&mut self, ns: u64) {
        // This cannot fail, because the counters grow up to the limit.
        let _ = self.counts.record(ns.min(HIGHEST_NS));
        self.sum_ns += u128::from(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if other.count() == 0 {
            return;
        }
        // This cannot fail, because the counters grow.
        let _ = self.counts.add(&other.counts);
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Returns a histogram of the durations that `part` does not have, or `None` if these are not some of its own; its
    /// minimum and maximum have three significant digits.
    #[must_use]
    pub fn without(&self, part: &Self) -> Option<Self> {
        let mut counts = self.counts.clone();
        counts.subtract(&part.counts).ok()?;
        let sum_ns = self.sum_ns.checked_sub(part.sum_ns)?;
        let is_empty = counts.is_empty();
        let (min_ns, max_ns) = if is_empty {
            (u64::MAX, 0)
        } else {
            (counts.min().max(self.min_ns), counts.max().min(self.max_ns))
        };
        Some(Self { counts, sum_ns, min_ns, max_ns })
    }

    /// Resets all counts, but keeps the memory.
    pub fn clear(&mut self) {
        if self.count() > 0 {
            self.counts.reset();
        }
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
    }

    /// Returns the number of durations recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Returns the smallest duration in nanoseconds, or 0 if the histogram is empty.
    #[must_use]
    pub fn min_ns(&self) -> u64 {
        if self.count() == 0 { 0 } else { self.min_ns }
    }

    /// Returns the exact largest duration in nanoseconds, or 0 if the histogram is empty.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Returns the exact arithmetic mean in nanoseconds, or 0 if the histogram is empty.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum_ns as f64 / self.count() as f64 }
    }

    /// Returns the exact sum in nanoseconds.
    #[must_use]
    pub fn total_ns(&self) -> f64 {
        self.sum_ns as f64
    }

    /// Returns the duration at a rank (1 = smallest): the longest that has the same three significant digits, but never
    /// more than the maximum. The exact duration is not longer.
    #[must_use]
    pub fn at_rank(&self, rank: u64) -> u64 {
        // The last bucket also contains durations beyond the range.
        let bucket = self.bucket(rank).filter(|value| *value < HIGHEST_NS);
        bucket.map_or(self.max_ns, |value| self.counts.highest_equivalent(value).min(self.max_ns))
    }

    /// Returns the shortest duration that has the same three significant digits as the one at a rank, but never less
    /// than the minimum. The exact duration is not shorter.
    #[must_use]
    pub fn at_or_below_rank(&self, rank: u64) -> u64 {
        self.bucket(rank)
            .map_or(self.max_ns, |value| self.counts.lowest_equivalent(value))
            .clamp(self.min_ns(), self.max_ns)
    }

    /// Returns the longest duration of each bucket in nanoseconds, in ascending order, and how many durations are in it.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter_recorded().map(|bucket| {
            (self.counts.highest_equivalent(bucket.value_iterated_to()), u64::from(bucket.count_at_value()))
        })
    }

    /// Returns the longest duration of the bucket with this rank, as in [`DurationHistogram::recorded`].
    #[must_use]
    pub fn bucket_end(&self, rank: u64) -> u64 {
        self.bucket(rank).map_or(u64::MAX, |value| self.counts.highest_equivalent(value))
    }

    /// Returns a duration in the bucket with this rank, or `None` if the rank is above the number of durations.
    fn bucket(&self, rank: u64) -> Option<u64> {
        let mut seen = 0;
        let reached = self.counts.iter_recorded().find(|bucket| {
            seen += u64::from(bucket.count_at_value());
            seen >= rank
        });
        reached.map(|bucket| bucket.value_iterated_to())
    }

    /// Encodes the histogram as compressed `HdrHistogram` V2, which every HDR tool reads.
    ///
    /// # Errors
    ///
    /// An error if the library cannot write to memory.
    pub fn encode(&self) -> Result<Vec<u8>, RecordError> {
        let mut all = Histogram::<u32>::new_with_bounds(1, HIGHEST_NS, DIGITS)
            .map_err(|_| RecordError::Histogram("created"))?;
        all.add(&self.counts).map_err(|_| RecordError::Histogram("encoded"))?;
        let mut out = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&all, &mut out)
            .map_err(|_| RecordError::Histogram("encoded"))?;
        Ok(out)
    }

    /// Encodes the histogram with [`DurationHistogram::encode`] and base64, for the journal.
    ///
    /// # Errors
    ///
    /// The errors from [`DurationHistogram::encode`].
    pub fn encode_base64(&self) -> Result<String, RecordError> {
        Ok(BASE64.encode(self.encode()?))
    }

    /// Decodes the base64 text from [`DurationHistogram::encode_base64`], and returns the encoded histogram, which may be
    /// any bytes.
    ///
    /// # Errors
    ///
    /// An error if the text is not base64.
    pub(crate) fn decode_base64(text: &str) -> Result<Vec<u8>, RecordError> {
        BASE64.decode(text).map_err(|_| RecordError::Histogram("decoded"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_exact_to_three_digits() {
        let mut histogram = DurationHistogram::new().unwrap();
        for ms in 1..=1000_u64 {
            histogram.record(ms * 1_000_000);
        }
        assert_eq!(histogram.count(), 1000);
        assert_eq!((histogram.min_ns(), histogram.max_ns()), (1_000_000, 1_000_000_000));
        assert!((histogram.mean_ns() - 500_500_000.0).abs() < 1.0);
        for (rank, ms) in [(1, 1.0), (500, 500.0), (990, 990.0), (1000, 1000.0)] {
            let seen = histogram.at_rank(rank) as f64 / 1e6;
            assert!((seen / ms - 1.0).abs() < 0.001, "rank {rank}: {seen}");
        }
    }

    #[test]
    fn bounds_at_a_rank_contain_the_exact_duration_and_differ_by_a_thousandth() {
        let mut histogram = DurationHistogram::new().unwrap();
        let exact: Vec<u64> = (1..=2000_u64).map(|number| number * number * 977 + 13).collect();
        for ns in &exact {
            histogram.record(*ns);
        }
        for rank in [1, 2, 37, 1000, 1999, 2000] {
            let (low, high) = (histogram.at_or_below_rank(rank), histogram.at_rank(rank));
            let ns = exact[usize::try_from(rank).unwrap() - 1];
            assert!((low..=high).contains(&ns), "rank {rank}: {ns} is not in {low} to {high}");
            assert!((high - low) as f64 <= ns as f64 / 1000.0, "rank {rank}: {low} to {high}");
        }
        assert_eq!((histogram.at_or_below_rank(1), histogram.at_rank(2000)), (exact[0], exact[1999]));
        // Both are limited to what was measured.
        let mut single = DurationHistogram::new().unwrap();
        single.record(1_000_003);
        assert_eq!((single.at_or_below_rank(1), single.at_rank(1)), (1_000_003, 1_000_003));
    }

    #[test]
    fn merged_histograms_equal_one_that_recorded_everything() {
        let (mut one, mut two, mut both) = (
            DurationHistogram::new().unwrap(),
            DurationHistogram::new().unwrap(),
            DurationHistogram::new().unwrap(),
        );
        for value in 0..5000_u64 {
            let ns = value * value + 17;
            let half = if value % 3 == 0 { &mut one } else { &mut two };
            half.record(ns);
            both.record(ns);
        }
        one.merge(&two);
        assert_eq!(one.encode().unwrap(), both.encode().unwrap());
        assert!((one.mean_ns() - both.mean_ns()).abs() < 1e-6);
        one.clear();
        assert_eq!((one.count(), one.max_ns(), one.min_ns()), (0, 0, 0));
    }

    #[test]
    fn a_part_can_be_taken_out() {
        let (mut all, mut part, mut rest) = (
            DurationHistogram::new().unwrap(),
            DurationHistogram::of_fixed_size().unwrap(),
            DurationHistogram::new().unwrap(),
        );
        for ms in 1..=1000_u64 {
            all.record(ms * 1_000_000);
            if ms > 900 { part.record(ms * 1_000_000) } else { rest.record(ms * 1_000_000) }
        }
        let without = all.without(&part).unwrap();
        assert_eq!(without.count(), 900);
        assert!((without.mean_ns() - rest.mean_ns()).abs() < 1e-6);
        for rank in [1, 450, 900] {
            // The exact maximum is not known.
            let share = without.at_rank(rank) as f64 / rest.at_rank(rank) as f64;
            assert!((share - 1.0).abs() < 0.001, "{rank}: {share}");
        }
        assert_eq!(all.without(&all).map(|none| (none.count(), none.max_ns())), Some((0, 0)));
        assert!(part.without(&all).is_none());
    }

    #[test]
    fn a_duration_beyond_the_range_is_counted_and_remains_the_maximum() {
        let mut histogram = DurationHistogram::new().unwrap();
        histogram.record(HIGHEST_NS * 2);
        assert_eq!((histogram.count(), histogram.max_ns()), (1, HIGHEST_NS * 2));
        assert_eq!((histogram.at_or_below_rank(1), histogram.at_rank(1)), (HIGHEST_NS * 2, HIGHEST_NS * 2));
        // The lower bound is not above the shortest of several durations beyond the range.
        for ns in [HIGHEST_NS - 1, HIGHEST_NS * 3, 1_000_003] {
            histogram.record(ns);
        }
        let bounds = |rank| histogram.at_or_below_rank(rank)..=histogram.at_rank(rank);
        for (rank, ns) in [(1, 1_000_003), (2, HIGHEST_NS - 1), (3, HIGHEST_NS * 2), (4, HIGHEST_NS * 3)] {
            assert!(bounds(rank).contains(&ns), "rank {rank}: {:?}", bounds(rank));
        }
        assert!(*bounds(4).start() as f64 > HIGHEST_NS as f64 * 0.999, "{:?}", bounds(4));
        assert_eq!(bounds(5), HIGHEST_NS * 3..=HIGHEST_NS * 3);
    }
}
