//! Histograms of many seconds and races, merged from their encoded form.
//!
//! A library would decode each histogram into an array for the whole range, of 38,912 counters, and add all of them;
//! here, only the counts that it contains are added. All histograms have the configuration in `histogram.rs`: 2048
//! buckets of 1 ns, then 1024 for each further power of two.

use flate2::{Decompress, FlushDecompress, Status};
use pacenote_stats::{is_supported, rank};

use crate::error::RecordError;
use crate::histogram::{DIGITS, HIGHEST_NS};

/// Number of buckets for 1 ns to 24 h.
const BUCKETS: usize = 38 * 1024;
/// Binary logarithm of the number of buckets for each power of two.
const HALF_BITS: u32 = 10;
/// Cookies at the beginning of the compressed form and of its content: version 2, with numbers of variable length.
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
const COOKIE: u32 = 0x1c84_9313;
/// Bytes before the counts.
const HEADER_BYTES: usize = 40;
/// Counts that are decoded of one file: those of a week in which operations of six kinds have 100 different durations in
/// each second.
const MOST_COUNTS: u64 = 1 << 30;
/// As many counts as can be decoded in the time in which a histogram without counts is.
const COUNTS_PER_HISTOGRAM: u64 = 100;
/// Bytes of the longest count.
const MAX_COUNT_BYTES: u32 = 9;

/// Counts of durations by bucket.
#[derive(Debug, Clone, Default)]
pub struct MergedHistogram {
    buckets: Vec<u64>,
    count: u64,
}

impl MergedHistogram {
    /// Adds the counts of another histogram.
    pub fn add(&mut self, other: &Self) {
        self.buckets.resize(self.buckets.len().max(other.buckets.len()), 0);
        for (own, added) in self.buckets.iter_mut().zip(&other.buckets) {
            *own = own.saturating_add(*added);
        }
        self.count = self.count.saturating_add(other.count);
    }

    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of buckets that it has room for.
    pub fn room(&self) -> usize {
        self.buckets.len()
    }

    /// Returns quantile `q` (0 to 1) in nanoseconds, or `None` if there are too few durations for it.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        is_supported(self.count, q).then(|| self.at_rank(rank(self.count, q)))
    }

    /// Adds durations of one bucket. Returns `None` if there are too many to count.
    fn count_in(&mut self, bucket: usize, count: u64) -> Option<()> {
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] = self.buckets[bucket].checked_add(count)?;
        self.count = self.count.checked_add(count)?;
        Some(())
    }

    /// Returns the longest duration that has the same three significant digits as the one at a rank (1 = smallest).
    fn at_rank(&self, rank: u64) -> u64 {
        let mut seen = 0;
        let reached = self.buckets.iter().position(|count| {
            seen = count.saturating_add(seen);
            seen >= rank
        });
        reached.map_or(0, highest_in)
    }
}

/// Returns the longest duration in a bucket, in nanoseconds.
pub fn highest_in(bucket: usize) -> u64 {
    let (power, position) = (bucket >> HALF_BITS, bucket as u64 & ((1 << HALF_BITS) - 1));
    // The first two powers have the same width, because the first one begins at 0.
    let shift = power.saturating_sub(1);
    let base = if power == 0 { 0 } else { 1 << HALF_BITS };
    ((base + position + 1) << shift) - 1
}

/// Adds encoded histograms to merged ones.
#[derive(Debug)]
pub struct HistogramDecoder {
    inflate: Decompress,
    content: Vec<u8>,
    /// Counts that may still be decoded from the file.
    left: u64,
}

impl HistogramDecoder {
    /// Creates a decoder with room for the longest histogram.
    pub fn new() -> Self {
        let longest = HEADER_BYTES + BUCKETS * MAX_COUNT_BYTES as usize;
        Self { inflate: Decompress::new(true), content: vec![0; longest], left: MOST_COUNTS }
    }

    /// Begins with another file, of which [`MOST_COUNTS`] counts are decoded.
    pub fn begin_file(&mut self) {
        self.left = MOST_COUNTS;
    }

    /// Checks that bytes are a histogram that [`crate::DurationHistogram::encode`] has encoded, in the memory of the
    /// decoder, whatever length they state. Its counts are none of those that may be decoded of a file.
    ///
    /// # Errors
    ///
    /// An error if the bytes are not a histogram with this configuration.
    pub fn check(&mut self, encoded: &[u8]) -> Result<(), RecordError> {
        let left = std::mem::replace(&mut self.left, u64::MAX);
        let checked = self.visit(encoded, |_, _| Some(()));
        self.left = left;
        checked
    }

    /// Adds the histogram that [`crate::DurationHistogram::encode`] has encoded.
    ///
    /// # Errors
    ///
    /// An error if the bytes are not a histogram with this configuration; some of its counts may have been added.
    pub fn add(&mut self, encoded: &[u8], merged: &mut MergedHistogram) -> Result<(), RecordError> {
        self.visit(encoded, |bucket, count| merged.count_in(bucket, count))
    }

    /// Calls a function with the counts of a histogram that [`crate::DurationHistogram::encode`] has encoded, from the
    /// shortest durations to the longest: with the bucket, and the number of durations in it. It returns `None` to stop.
    ///
    /// # Errors
    ///
    /// An error if the bytes are not a histogram with this configuration, or if the function has returned `None`.
    pub fn visit(
        &mut self,
        encoded: &[u8],
        mut on_count: impl FnMut(usize, u64) -> Option<()>,
    ) -> Result<(), RecordError> {
        self.try_visit(encoded, &mut on_count).ok_or(RecordError::Histogram("decoded"))
    }

    fn try_visit(
        &mut self,
        encoded: &[u8],
        on_count: &mut impl FnMut(usize, u64) -> Option<()>,
    ) -> Option<()> {
        let mut compressed = encoded;
        let is_known = next_u32(&mut compressed)? == COMPRESSED_COOKIE
            && next_u32(&mut compressed)? as usize == compressed.len();
        self.left = self.left.checked_sub(COUNTS_PER_HISTOGRAM)?;
        self.inflate.reset(true);
        let status = self.inflate.decompress(compressed, &mut self.content, FlushDecompress::Finish).ok()?;
        let mut counts = self.content.get(..usize::try_from(self.inflate.total_out()).ok()?)?;
        if !is_known || status != Status::StreamEnd || !has_our_header(&mut counts)? {
            return None;
        }
        let mut bucket = 0_usize;
        while !counts.is_empty() {
            self.left = self.left.checked_sub(1)?;
            let number = next_count(&mut counts)?;
            if number < 0 {
                bucket = bucket.checked_add(usize::try_from(number.unsigned_abs()).ok()?)?;
                continue;
            }
            if bucket >= BUCKETS {
                return None;
            }
            // A race counts with 32 bits.
            on_count(bucket, u64::from(u32::try_from(number).ok()?))?;
            bucket += 1;
        }
        Some(())
    }
}

/// Reads the header of a histogram, and returns whether it has the configuration of all histograms.
fn has_our_header(bytes: &mut &[u8]) -> Option<bool> {
    let mut header = bytes.get(..HEADER_BYTES)?;
    *bytes = &bytes[HEADER_BYTES..];
    let (cookie, length) = (next_u32(&mut header)?, next_u32(&mut header)?);
    let (offset, digits) = (next_u32(&mut header)?, next_u32(&mut header)?);
    let (lowest, highest) = (next_u64(&mut header)?, next_u64(&mut header)?);
    Some(
        (cookie, length as usize) == (COOKIE, bytes.len())
            && (offset, digits) == (0, u32::from(DIGITS))
            && (lowest, highest) == (1, HIGHEST_NS),
    )
}

fn next_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_be_bytes(*first))
}

fn next_u64(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_be_bytes(*first))
}

/// Reads a count, or the negative number of buckets without durations: `ZigZag` in LEB128 of at most nine bytes.
fn next_count(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0;
    for position in 0..MAX_COUNT_BYTES {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let is_last = position + 1 == MAX_COUNT_BYTES;
        number |= u64::from(if is_last { *byte } else { byte & 0x7f }) << (7 * position);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;
    use crate::DurationHistogram;

    fn merged(encoded: &[&[u8]]) -> Result<MergedHistogram, RecordError> {
        let (mut decoder, mut merged) = (HistogramDecoder::new(), MergedHistogram::default());
        for bytes in encoded {
            decoder.add(bytes, &mut merged)?;
        }
        Ok(merged)
    }

    #[test]
    fn merged_histograms_have_the_durations_of_one_that_recorded_everything() {
        let mut parts = [DurationHistogram::new().unwrap(), DurationHistogram::new().unwrap()];
        let mut all = DurationHistogram::new().unwrap();
        for number in 0..40_000_u64 {
            // From 0 ns to half an hour, with gaps and with durations that are equal.
            let ns = (number % 997).pow(4) * (number / 1000) / 23;
            parts[usize::from(number % 3 == 0)].record(ns);
            all.record(ns);
        }
        all.record(HIGHEST_NS);
        parts[0].record(HIGHEST_NS);
        let encoded = parts.map(|part| part.encode().unwrap());
        let found = merged(&[&encoded[0], &encoded[1]]).unwrap();
        assert_eq!(found.count(), all.count());
        for rank in (1..=40_000).step_by(371) {
            assert_eq!(found.at_rank(rank), all.at_rank(rank), "rank {rank}");
        }
        let mut added = merged(&[&encoded[0]]).unwrap();
        added.add(&merged(&[&encoded[1]]).unwrap());
        assert_eq!((added.count, added.buckets), (found.count, found.buckets));
    }

    #[test]
    fn a_bucket_with_more_durations_than_a_counter_of_a_race_holds_is_exact() {
        let mut one = DurationHistogram::new().unwrap();
        one.record(1_000_000);
        for _ in 0..31 {
            let copy = one.clone();
            one.merge(&copy);
        }
        let encoded = one.encode().unwrap();
        let found = merged(&[&encoded, &encoded, &encoded]).unwrap();
        assert_eq!(found.count(), 3 << 31);
        assert_eq!(found.quantile(0.5), Some(1_000_447));
    }

    #[test]
    fn a_check_counts_towards_no_file() {
        let encoded = DurationHistogram::new().unwrap().encode().unwrap();
        let mut decoder = HistogramDecoder::new();
        decoder.left = 0;
        assert!(decoder.check(&encoded).is_ok());
        assert!(decoder.check(b"not a histogram").is_err());
        assert!(decoder.add(&encoded, &mut MergedHistogram::default()).is_err());
    }

    #[test]
    fn a_count_that_no_race_can_have_is_damage() {
        let with_count = |count: u64| {
            let mut content = Vec::new();
            let mut number = count << 1;
            while number >= 0x80 {
                content.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
                number >>= 7;
            }
            content.push(u8::try_from(number).unwrap());
            let length = u32::try_from(content.len()).unwrap();
            let mut header = Vec::new();
            for part in [COOKIE, length, 0, u32::from(DIGITS)] {
                header.extend(part.to_be_bytes());
            }
            for part in [1, HIGHEST_NS, 1.0_f64.to_bits()] {
                header.extend(part.to_be_bytes());
            }
            header.extend(content);
            let mut deflate = ZlibEncoder::new(Vec::new(), Compression::fast());
            deflate.write_all(&header).unwrap();
            let compressed = deflate.finish().unwrap();
            let length = u32::try_from(compressed.len()).unwrap();
            [&COMPRESSED_COOKIE.to_be_bytes()[..], &length.to_be_bytes(), &compressed].concat()
        };
        assert_eq!(merged(&[&with_count(u64::from(u32::MAX))]).unwrap().count(), u64::from(u32::MAX));
        assert!(merged(&[&with_count(1 << 32)]).is_err());
        assert!(merged(&[&with_count(1 << 61)]).is_err());
    }

    #[test]
    fn a_quantile_needs_as_many_durations_as_that_of_a_race() {
        let mut few = DurationHistogram::new().unwrap();
        for ns in 1..368 {
            few.record(ns);
        }
        let encoded = few.encode().unwrap();
        assert_eq!(merged(&[&encoded]).unwrap().quantile(0.99), None);
        assert_eq!(merged(&[&encoded, &encoded]).unwrap().quantile(0.99), Some(364));
        assert_eq!(merged(&[]).unwrap().quantile(0.5), None);
    }

    #[test]
    fn other_bytes_are_not_a_histogram() {
        let mut one = DurationHistogram::new().unwrap();
        for ns in 1..5000_u64 {
            one.record(ns * ns);
        }
        let encoded = one.encode().unwrap();
        let (whole, mut meaningless) = (merged(&[&encoded]).unwrap(), 0);
        for length in 0..encoded.len() {
            assert!(merged(&[&encoded[..length]]).is_err(), "{length} bytes");
        }
        for position in 0..encoded.len() {
            let mut damaged = encoded.clone();
            damaged[position] ^= 0x40;
            // Bits that only fill a byte have no meaning.
            if let Ok(found) = merged(&[&damaged]) {
                assert_eq!(found.buckets, whole.buckets, "byte {position}");
                meaningless += 1;
            }
        }
        assert!(meaningless <= 2, "{meaningless} bytes");
    }
}
