//! Random numbers that are the same on every machine and in every version: published algorithms, in integer arithmetic.

use std::ops::Range;

use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// Increment of the state of `SplitMix64` for each number (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, OOPSLA 2014).
const SPLITMIX_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns a number that identifies the streams of a file or task: the 64-bit FNV-1a hash of its name.
pub(crate) fn stream_of(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// xoshiro256++ 1.0 (Blackman, Vigna: Scrambled linear pseudorandom number generators, 2019), seeded by `SplitMix64` as
/// its authors recommend.
#[derive(Debug, Clone)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Creates an independent stream for each path of numbers (version, file, purpose) under one seed.
    pub(crate) fn new(seed: u64, path: &[u64]) -> Self {
        let mut mixed = SplitMix64::seed_from_u64(seed);
        for part in path {
            mixed = SplitMix64::seed_from_u64(mixed.next_u64() ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93));
        }
        Self::from_splitmix(mixed)
    }

    /// Creates a generator whose state is the next four numbers from `source`.
    fn from_splitmix(mut source: SplitMix64) -> Self {
        Self(Xoshiro256PlusPlus::from_rng(&mut source))
    }

    /// Returns 64 random bits.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0. It is computed by multiplication (Lemire: Fast random
    /// integer generation in an interval, 2019) without the rejection step; for the small bounds that the generators
    /// use, the bias is below 2^-32.
    #[inline]
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        high(u64::from(low(self.next() >> 32)) * u64::from(bound))
    }

    /// Returns a number in `range`.
    #[inline]
    pub(crate) fn within(&mut self, range: Range<u32>) -> u64 {
        u64::from(range.start + self.below(range.end.saturating_sub(range.start)))
    }

    /// Returns true with a probability of `share` / 1000.
    #[inline]
    pub(crate) fn permille(&mut self, share: u32) -> bool {
        self.below(1000) < share
    }

    /// Returns a random item of a list, which must not be empty.
    #[inline]
    pub(crate) fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(u32::try_from(list.len()).unwrap_or(u32::MAX)) as usize]
    }

    /// Returns a random word from a list, which must not be empty.
    #[inline]
    pub(crate) fn word(&mut self, list: &[&'static str]) -> &'static str {
        list[self.below(u32::try_from(list.len()).unwrap_or(u32::MAX)) as usize]
    }

    /// Returns a number from -`reach` to `reach`: the sum of four uniform numbers, which is approximately normal with a
    /// standard deviation of 0.29 × `reach`.
    #[inline]
    pub(crate) fn around(&mut self, reach: i64) -> i64 {
        let bits = self.next();
        let sum: i64 = (0..4).map(|part| i64::from(u16_of(bits, part))).sum();
        (sum - 2 * 65_535) * reach / (2 * 65_535)
    }

    /// Returns an approximately log-normal number with the median 2^(`median` / 256). The exponent is the sum of four
    /// uniform numbers (mean 0, standard deviation 0.58 doublings) times `spread`. Between powers of two, the result is
    /// interpolated linearly, because the exponential function of a library may differ between machines.
    #[inline]
    pub(crate) fn skewed(&mut self, median: i64, spread: i64) -> u64 {
        let bits = self.next();
        let sum: i64 = (0..4).map(|byte| i64::from(byte_of(bits, byte))).sum();
        let exponent = u64::try_from(median + (sum - 510) * spread).unwrap_or(0).min(40 * 256);
        ((256 + exponent % 256) << (exponent / 256)) >> 8
    }
}

/// Returns the upper 32 bits of a number.
#[allow(clippy::cast_possible_truncation)] // the shifted value fits
fn high(bits: u64) -> u32 {
    (bits >> 32) as u32
}

/// Returns the lower 32 bits of a number.
#[allow(clippy::cast_possible_truncation)] // truncation is intended
fn low(bits: u64) -> u32 {
    bits as u32
}

/// Returns byte `index` of a number, counted from the lowest.
#[inline]
pub(crate) fn byte_of(bits: u64, index: u32) -> u8 {
    (bits >> (8 * index)).to_le_bytes()[0]
}

/// Returns the `index`-th group of 16 bits of a number, counted from the lowest.
#[inline]
#[allow(clippy::cast_possible_truncation)] // truncation is intended
pub(crate) fn u16_of(bits: u64, index: u32) -> u16 {
    (bits >> (16 * index)) as u16
}

/// Independent streams under one seed, one for each document of a file. A stream is cheap to create.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Streams {
    base: u64,
}

impl Streams {
    /// Creates the streams for a path of numbers under a seed.
    pub(crate) fn new(seed: u64, path: &[u64]) -> Self {
        Self { base: Random::new(seed, path).next() }
    }

    /// Returns stream `index`, seeded with the four numbers at position 4 × `index` of a single `SplitMix64` sequence.
    #[inline]
    pub(crate) fn stream(self, index: u64) -> Random {
        let step = 4_u64.wrapping_mul(SPLITMIX_STEP);
        Random::from_splitmix(SplitMix64::seed_from_u64(self.base.wrapping_add(index.wrapping_mul(step))))
    }
}

/// Draws an index with a probability proportional to its weight, using 16 random bits and a table of 65,536 indices.
///
/// It is coarser than [`AliasTable`], but one random number is enough for four draws. An index with a probability below
/// 1/65,536 has at most one entry.
#[derive(Debug, Clone)]
pub(crate) struct WeightTable {
    entries: Vec<u16>,
}

impl WeightTable {
    /// Creates a table from at most 65,536 weights, which must not all be zero.
    pub(crate) fn new(weights: &[u64]) -> Self {
        let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
        let (mut entries, mut running_total) = (Vec::with_capacity(1 << 16), 0_u128);
        for (index, weight) in (0_u16..=u16::MAX).zip(weights) {
            running_total += u128::from(*weight);
            let end = usize::try_from((running_total << 16) / total.max(1)).unwrap_or(0);
            entries.resize(end.max(entries.len()), index);
        }
        entries.resize(1 << 16, 0);
        Self { entries }
    }

    /// Creates a table of `count` ranks that follow the Zipf–Mandelbrot law: their weights are 1 / (rank + `flat`).
    pub(crate) fn zipf(count: usize, flat: u64) -> Self {
        let weights: Vec<u64> = (0..count as u64).map(|rank| (1 << 40) / (rank + flat)).collect();
        Self::new(&weights)
    }

    /// Returns the index that 16 random bits select.
    #[inline]
    pub(crate) fn pick(&self, bits: u16) -> usize {
        usize::from(self.entries[usize::from(bits)])
    }

    /// Draws an index with a new random number.
    #[inline]
    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        self.pick(u16_of(random.next(), 3))
    }
}

/// Draws an index with a probability proportional to its weight, in constant time. Implements Walker's alias method
/// with integers; the table is built as in Vose: A linear algorithm for generating random numbers with a given
/// distribution, 1991.
#[derive(Debug, Clone)]
pub(crate) struct AliasTable {
    /// For each column, the threshold below which its own index is drawn, and the index drawn otherwise.
    columns: Vec<(u32, u32)>,
}

impl AliasTable {
    /// Creates a table from fewer than 2^32 weights, which must not all be zero and whose sum must be below 2^64.
    pub(crate) fn new(weights: &[u64]) -> Self {
        let count = weights.len() as u128;
        let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
        // Each weight is scaled by `count`, so a column is full at `total`.
        let mut mass: Vec<u128> = weights.iter().map(|weight| u128::from(*weight) * count).collect();
        let mut columns = vec![(u32::MAX, 0); weights.len()];
        let index = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        columns.iter_mut().enumerate().for_each(|(at, column)| column.1 = index(at));
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|at| mass[*at] < total);
        while let (Some(poor), Some(rich)) = (small.pop(), large.pop()) {
            let threshold = (mass[poor] << 32) / total.max(1);
            columns[poor] = (u32::try_from(threshold).unwrap_or(u32::MAX), index(rich));
            mass[rich] -= total - mass[poor];
            if mass[rich] < total { small.push(rich) } else { large.push(rich) }
        }
        Self { columns }
    }

    /// Returns the index that 64 random bits select.
    pub(crate) fn pick(&self, bits: u64) -> usize {
        let column = high(u64::from(high(bits)) * self.columns.len() as u64);
        let (threshold, other) = self.columns[column as usize];
        if low(bits) < threshold { column as usize } else { other as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_algorithms() {
        // SplitMix64 from 0, and xoshiro256++ from the state 1, 2, 3, 4: the numbers that the authors' code prints.
        let mut splitmix = SplitMix64::seed_from_u64(0);
        assert_eq!(splitmix.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix.next_u64(), 0x6e78_9e6a_a1b9_65f4);
        let state: Vec<u8> = [1_u64, 2, 3, 4].into_iter().flat_map(u64::to_le_bytes).collect();
        let mut random = Random(Xoshiro256PlusPlus::from_seed(state.try_into().unwrap()));
        let drawn: Vec<u64> = (0..4).map(|_| random.next()).collect();
        assert_eq!(drawn, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn streams_differ() {
        let first = |seed, stream: &[u64]| Random::new(seed, stream).next();
        let drawn = [first(1, &[1]), first(1, &[2]), first(2, &[1]), first(1, &[1, 2]), first(1, &[2, 1])];
        for (at, one) in drawn.iter().enumerate() {
            assert!(!drawn[at + 1..].contains(one), "{drawn:?}");
        }
    }

    #[test]
    fn the_alias_table_draws_in_proportion_to_the_weights() {
        let weights = [1, 0, 7, 100, 3, 50, 50, 789];
        let (alias, mut random, mut drawn) = (AliasTable::new(&weights), Random::new(7, &[]), [0_u64; 8]);
        for _ in 0..1_000_000 / 4 {
            drawn[alias.pick(random.next())] += 4;
        }
        for (weight, count) in weights.into_iter().zip(drawn) {
            let (expected, deviation) = (weight * 1000, 4 * 2 * (weight * 1000 / 4).isqrt() + 8);
            assert!(count.abs_diff(expected) <= 2 * deviation, "{drawn:?}");
        }
        assert_eq!(drawn[1], 0, "an index with weight 0 was drawn");
    }

    #[test]
    fn streams_of_documents_differ() {
        let streams = Streams::new(1, &[2]);
        let mut drawn: Vec<u64> = (0..10_000).map(|index| streams.stream(index).next()).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 10_000);
        assert_ne!(Streams::new(2, &[2]).stream(0).next(), streams.stream(0).next());
    }

    #[test]
    fn the_weight_table_draws_in_proportion_to_the_weights() {
        let table = WeightTable::new(&[1, 0, 2, 5, 0]);
        let mut counts = [0; 5];
        (0..=u16::MAX).for_each(|bits| counts[table.pick(bits)] += 1);
        assert_eq!(counts, [8192, 0, 16_384, 40_960, 0]);
        let mut counts = [0; 100];
        let zipf = WeightTable::zipf(100, 1);
        (0..=u16::MAX).for_each(|bits| counts[zipf.pick(bits)] += 1);
        assert!(counts.is_sorted_by(|one, next| next <= &(one + 1)) && counts[99] > 100, "{counts:?}");
    }

    #[test]
    fn numbers_around_zero_have_the_documented_deviation() {
        let mut random = Random::new(5, &[]);
        let near = (0..10_000).filter(|_| random.around(1000).abs() < 290).count();
        assert!((6500..7200).contains(&near), "{near} of 10,000 are within one standard deviation");
        assert!((0..10_000).all(|_| random.around(1000).abs() <= 1000));
    }

    #[test]
    fn skewed_numbers_have_the_given_median() {
        let mut random = Random::new(3, &[]);
        let mut sizes: Vec<u64> = (0..20_001).map(|_| random.skewed(10 * 256, 2)).collect();
        sizes.sort_unstable();
        assert!((980..1070).contains(&sizes[10_000]), "{}", sizes[10_000]);
        assert!(sizes[19_000] > 3 * sizes[10_000] && sizes[1000] * 3 < sizes[10_000]);
    }
}
