//! IdActionLines of documents, of which some come again: Rally's `conflicts`, seeded.

use std::ops::Range;

use crate::generate::random::{Random, stream_of};

/// How much a recency of 1 leans towards recent ids; Rally's figure.
const RECENCY_SLOPE: f64 = 30.0;

/// How ids are chosen. By default every document has a new one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct IdConflicts {
    /// New ids come in random order instead of one after another.
    pub shuffled: bool,
    /// Share of documents that get an id that came before, from 0 to 1.
    pub probability: f64,
    /// A document whose id came before updates the earlier one instead of replacing it.
    pub update: bool,
    /// From 0 (any earlier id is as likely) to 1 (recent ids are much likelier).
    pub recency: f64,
}

/// What decides all random choices, together with the rules.
#[derive(Debug, Clone, Copy)]
pub struct IdSeed<'a> {
    /// The race's seed.
    pub seed: u64,
    /// Name of the task.
    pub task: &'a str,
    /// Which of the task's clients.
    pub client: u32,
    /// Which of the task's files.
    pub file: usize,
}

/// Action lines with ids, for one client's documents of one file.
#[derive(Debug, Clone)]
pub struct IdActionLines {
    /// Action lines up to the id.
    index: Vec<u8>,
    update: Vec<u8>,
    first: u64,
    order: Option<Permutation>,
    conflicts: IdConflicts,
    random: Random,
    /// New ids handed out since the last start.
    used: u64,
}

impl IdActionLines {
    /// IdActionLines out of `range`, which is the client's own, for documents of the index whose name is `index` as JSON, quotes
    /// included. The range must have as many ids as there are documents in one pass.
    #[must_use]
    pub fn new(index: &str, range: &Range<u64>, conflicts: IdConflicts, seed: IdSeed) -> Self {
        let action = |verb: &str| format!("{{\"{verb}\":{{\"_index\":{index},\"_id\":\"").into_bytes();
        let stream = [stream_of(seed.task), u64::from(seed.client), seed.file as u64];
        let mut random = Random::new(seed.seed, &stream);
        let order = conflicts.shuffled.then(|| Permutation::new(range.end - range.start, &mut random));
        let (index, update) = (action("index"), action("update"));
        Self { index, update, first: range.start, order, conflicts, random, used: 0 }
    }

    /// Begins another pass: the same new ids in the same order, while chance goes on.
    pub(crate) fn restart(&mut self) {
        self.used = 0;
    }

    /// Bytes that action line and update add to a document at most.
    pub(crate) fn overhead(&self) -> usize {
        self.update.len() + 20 + b"\"}}\n".len() + b"{\"doc\":}\n".len()
    }

    /// Appends action and document; `document` is one line without its newline.
    pub(crate) fn append(&mut self, document: &[u8], body: &mut Vec<u8>) {
        let again = self.used > 0 && unit(&mut self.random) < self.conflicts.probability;
        let number = if again {
            self.earlier()
        } else {
            self.used += 1;
            self.used - 1
        };
        let id = self.first + self.order.as_ref().map_or(number, |order| order.at(number));
        let update = again && self.conflicts.update;
        body.extend_from_slice(if update { &self.update } else { &self.index });
        write_id(id, body);
        body.extend_from_slice(b"\"}}\n");
        if update {
            body.extend_from_slice(b"{\"doc\":");
            body.extend_from_slice(document.trim_ascii());
            body.extend_from_slice(b"}\n");
        } else {
            body.extend_from_slice(document);
            body.push(b'\n');
        }
    }

    /// Which of the ids that came before comes again.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of a count is no larger
    fn earlier(&mut self) -> u64 {
        if self.conflicts.recency <= 0.0 {
            return below(self.used, &mut self.random);
        }
        let back = (exponential(&mut self.random) / (RECENCY_SLOPE * self.conflicts.recency)).min(1.0);
        ((self.used - 1) as f64 * (1.0 - back)).round_ties_even() as u64
    }
}

/// At least ten digits.
fn write_id(id: u64, body: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(id).as_bytes();
    body.extend_from_slice(&b"0000000000"[digits.len().min(10)..]);
    body.extend_from_slice(digits);
}

/// A seeded order of the numbers below a count that takes no memory, where a shuffled list of a large corpus would
/// take gigabytes: a Feistel network on the next power of two (Luby, Rackoff: How to construct pseudorandom
/// permutations from pseudorandom functions, 1988), walked until it comes back into the range.
#[derive(Debug, Clone)]
struct Permutation {
    count: u64,
    /// Bits of the lower half of a number; the upper half has as many or one fewer.
    low_bits: u32,
    high_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    fn new(count: u64, random: &mut Random) -> Self {
        let bits = (u64::BITS - count.saturating_sub(1).leading_zeros()).max(2);
        let high_bits = bits / 2;
        Self { count, low_bits: bits - high_bits, high_bits, keys: std::array::from_fn(|_| random.next()) }
    }

    /// What stands at `position`, which is below the count (any other is mapped somewhere, and ends, too).
    fn at(&self, position: u64) -> u64 {
        let mut number = position;
        loop {
            number = self.round_trip(number);
            if number < self.count || position >= self.count {
                return number;
            }
        }
    }

    /// An even number of rounds, after which the halves have their widths again.
    fn round_trip(&self, number: u64) -> u64 {
        let (mut bits, mut other) = (self.low_bits, self.high_bits);
        let (mut high, mut low) = (number >> bits, number & mask(bits));
        for key in self.keys {
            (high, low) = (low, high ^ (mix(low.wrapping_add(key)) & mask(other)));
            (bits, other) = (other, bits);
        }
        (high << bits) | low
    }
}

/// Mixes the bits of a number: the output function of `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom
/// number generators, OOPSLA 2014).
fn mix(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// A number in [0, 1).
fn unit(random: &mut Random) -> f64 {
    (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A number below `bound`, by multiplication (Lemire 2019, without its rejection step: the bias is below `bound`/2^64).
#[allow(clippy::cast_possible_truncation)] // what is left after the shift fits
fn below(bound: u64, random: &mut Random) -> u64 {
    ((u128::from(random.next()) * u128::from(bound)) >> 64) as u64
}

/// A number from the exponential distribution with mean 1.
fn exponential(random: &mut Random) -> f64 {
    -logarithm(1.0 - unit(random))
}

/// Natural logarithm of a normal number above 0, by basic arithmetic only: the one of a library could differ from
/// machine to machine.
fn logarithm(number: f64) -> f64 {
    const FRACTION: u64 = (1 << 52) - 1;
    let bits = number.to_bits();
    let mut exponent = (bits >> 52) as f64 - 1023.0;
    let mut fraction = f64::from_bits(bits & FRACTION | 1.0_f64.to_bits());
    if fraction > std::f64::consts::SQRT_2 {
        fraction /= 2.0;
        exponent += 1.0;
    }
    // ln x = 2 artanh((x - 1) / (x + 1)); the argument is at most 0.172, so 9 terms leave an error below 1e-15.
    let part = (fraction - 1.0) / (fraction + 1.0);
    let square = part * part;
    let sum = (0..9).rev().fold(0.0, |sum, term| sum * square + 1.0 / f64::from(2 * term + 1));
    exponent * std::f64::consts::LN_2 + 2.0 * part * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random() -> Random {
        Random::new(7, &[1])
    }

    #[test]
    fn a_permutation_holds_every_number_once() {
        for count in (0..70).chain([100, 1000, 4095, 4096, 4097, 100_000]) {
            let order = Permutation::new(count, &mut random());
            let mut numbers: Vec<u64> = (0..count).map(|position| order.at(position)).collect();
            let in_place = numbers.iter().zip(0..).filter(|(number, position)| **number == *position).count();
            assert!(count < 100 || in_place < 10, "{count}: {in_place} stay in place");
            let steps = numbers.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
            assert!(count < 100 || steps < 10, "{count}: {steps} follow their neighbour");
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..count), "{count}");
        }
        let other = Permutation::new(1000, &mut Random::new(8, &[1]));
        let order = Permutation::new(1000, &mut random());
        assert!((0..1000).any(|position| order.at(position) != other.at(position)));
    }

    #[test]
    fn the_logarithm_is_that_of_the_library() {
        let mut numbers = random();
        for _ in 0..100_000 {
            let number = 1.0 - unit(&mut numbers);
            let (own, library) = (logarithm(number), number.ln());
            assert!((own - library).abs() <= 4e-15 * library.abs().max(0.1), "{number}: {own}, {library}");
        }
        assert!((logarithm(1.0 / (1_u64 << 53) as f64) + 53.0 * std::f64::consts::LN_2).abs() < 1e-13);
    }

    #[test]
    fn ids_have_ten_digits_or_more() {
        for (id, text) in [(0, "0000000000"), (42, "0000000042"), (12_345_678_901, "12345678901")] {
            let mut body = Vec::new();
            write_id(id, &mut body);
            assert_eq!(body, text.as_bytes());
        }
    }
}
