//! Random numbers whose bytes never change: our own, in integers only.

/// One step of `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The number of a file's stream, from its name: FNV-1a, 64 bits.
pub(crate) fn stream_of(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// xoshiro256++ 1.0 (Blackman, Vigna: Scrambled linear pseudorandom number generators, 2019; public domain), seeded
/// through `SplitMix64` as its authors advise.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: [u64; 4],
}

impl Random {
    /// An independent stream for each `stream` (a path of numbers: version, file, purpose) under one seed.
    pub(crate) fn new(seed: u64, stream: &[u64]) -> Self {
        let mut mixed = seed;
        for part in stream {
            mixed = splitmix(&mut mixed) ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        Self { state: std::array::from_fn(|_| splitmix(&mut mixed)) }
    }

    /// 64 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        let [s0, s1, s2, s3] = self.state;
        let result = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
        let (s2, s3) = (s2 ^ s0, s3 ^ s1);
        self.state = [s0 ^ s3, s1 ^ s2, s2 ^ (s1 << 17), s3.rotate_left(45)];
        result
    }

    /// A number below `bound` (0 for a bound of 0), by multiplication (Lemire 2019, without its rejection step: the
    /// bias is below 2^-32 for the small bounds used here).
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        high(u64::from(low(self.next() >> 32)) * u64::from(bound))
    }

    /// A log-normal-like number with median 2^(`median` / 256): the exponent is a sum of four uniform numbers (mean
    /// 0, standard deviation 0.58 doublings) times `spread`, and powers of two are joined by straight lines, since
    /// the exponential of a library could differ from machine to machine.
    pub(crate) fn skewed(&mut self, median: i64, spread: i64) -> u64 {
        let bits = self.next();
        let sum: i64 = (0..4).map(|byte| i64::from(byte_of(bits, byte))).sum();
        let exponent = u64::try_from(median + (sum - 510) * spread).unwrap_or(0).min(40 * 256);
        ((256 + exponent % 256) << (exponent / 256)) >> 8
    }
}

/// The upper half of a number.
#[allow(clippy::cast_possible_truncation)] // what is left after the shift fits
fn high(bits: u64) -> u32 {
    (bits >> 32) as u32
}

/// The lower half of a number.
#[allow(clippy::cast_possible_truncation)] // cutting is the purpose
fn low(bits: u64) -> u32 {
    bits as u32
}

/// Byte `index` of a number, from the lowest.
#[inline]
pub(crate) fn byte_of(bits: u64, index: u32) -> u8 {
    (bits >> (8 * index)).to_le_bytes()[0]
}

/// Draws an index in proportion to its weight in constant time: Walker's alias method, built as Vose describes (A
/// linear algorithm for generating random numbers with a given distribution, 1991), in integers.
#[derive(Debug, Clone)]
pub(crate) struct Alias {
    /// Per column: the threshold below which the column itself is drawn, and the other index.
    columns: Vec<(u32, u32)>,
}

impl Alias {
    /// For weights that are not all zero, fewer than 2^32 of them, with a sum below 2^64.
    pub(crate) fn new(weights: &[u64]) -> Self {
        let count = weights.len() as u128;
        let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
        // In units of 1/count of a column: a column is full at `total`.
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

    /// The index for 64 random bits.
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
        // SplitMix64 from 0 and xoshiro256++ from the state 1, 2, 3, 4: the vectors the authors' code prints.
        let mut state = 0;
        assert_eq!(splitmix(&mut state), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix(&mut state), 0x6e78_9e6a_a1b9_65f4);
        let mut random = Random { state: [1, 2, 3, 4] };
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
    fn alias_keeps_the_weights() {
        let weights = [1, 0, 7, 100, 3, 50, 50, 789];
        let (alias, mut random, mut drawn) = (Alias::new(&weights), Random::new(7, &[]), [0_u64; 8]);
        for _ in 0..1_000_000 / 4 {
            drawn[alias.pick(random.next())] += 4;
        }
        for (weight, count) in weights.into_iter().zip(drawn) {
            let (expected, deviation) = (weight * 1000, 4 * 2 * (weight * 1000 / 4).isqrt() + 8);
            assert!(count.abs_diff(expected) <= 2 * deviation, "{drawn:?}");
        }
        assert_eq!(drawn[1], 0, "a weight of zero is never drawn");
    }

    #[test]
    fn skewed_has_its_median() {
        let mut random = Random::new(3, &[]);
        let mut sizes: Vec<u64> = (0..20_001).map(|_| random.skewed(10 * 256, 2)).collect();
        sizes.sort_unstable();
        assert!((980..1070).contains(&sizes[10_000]), "{}", sizes[10_000]);
        assert!(sizes[19_000] > 3 * sizes[10_000] && sizes[1000] * 3 < sizes[10_000]);
    }
}
