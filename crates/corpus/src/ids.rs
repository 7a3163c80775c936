//! Document ids, some of which repeat: Rally's `conflicts`, seeded.

use std::ops::Range;

use crate::generate::random::{Random, stream_of};

/// Slope of the exponential distribution at a recency of 1, as in Rally.
const RECENCY_SLOPE: f64 = 30.0;

/// How ids are assigned. By default, every document gets a new id.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct IdConflicts {
    /// Whether new ids are assigned in random rather than ascending order.
    pub shuffled: bool,
    /// Probability that a document gets an id that was already assigned, from 0 to 1.
    pub probability: f64,
    /// Whether a document with an earlier id updates the earlier document or replaces it.
    pub update: bool,
    /// Preference for recent ids, from 0 (all earlier ids are equally likely) to 1 (recent ids are much more likely).
    pub recency: f64,
}

/// The values that determine the random number stream for the documents of one client in one file.
#[derive(Debug, Clone, Copy)]
pub struct IdStreamKey<'a> {
    /// The seed of the race.
    pub seed: u64,
    /// Name of the task.
    pub task: &'a str,
    /// Number of the client within the task, from 0.
    pub client_number: u32,
    /// Index of the file within the task, from 0.
    pub file_index: usize,
}

/// Generates action lines with ids for the documents of one client in one file.
#[derive(Debug, Clone)]
pub struct IdActionLines {
    /// The action line of an index action, up to the id.
    index_prefix: Vec<u8>,
    /// The action line of an update action, up to the id.
    update_prefix: Vec<u8>,
    first_id: u64,
    order: Option<Permutation>,
    conflicts: IdConflicts,
    random: Random,
    /// New ids assigned in the current pass.
    assigned_count: u64,
}

impl IdActionLines {
    /// Creates a generator of ids from `range`, which no other client may use. `index` is the name of the index as a
    /// JSON string, including the quotes. The range must contain as many ids as one pass has documents.
    #[must_use]
    pub fn new(index: &str, range: &Range<u64>, conflicts: IdConflicts, key: IdStreamKey) -> Self {
        let action = |verb: &str| format!("{{\"{verb}\":{{\"_index\":{index},\"_id\":\"").into_bytes();
        let stream = [stream_of(key.task), u64::from(key.client_number), key.file_index as u64];
        let mut random = Random::new(key.seed, &stream);
        let order = conflicts.shuffled.then(|| Permutation::new(range.end - range.start, &mut random));
        let (index_prefix, update_prefix) = (action("index"), action("update"));
        Self {
            index_prefix,
            update_prefix,
            first_id: range.start,
            order,
            conflicts,
            random,
            assigned_count: 0,
        }
    }

    /// Starts another pass with the same new ids in the same order; the random choices continue their sequence.
    pub(crate) fn restart(&mut self) {
        self.assigned_count = 0;
    }

    /// Returns the maximum number of bytes that are added to a document.
    pub(crate) fn max_overhead(&self) -> usize {
        self.update_prefix.len() + 20 + b"\"}}\n".len() + b"{\"doc\":}\n".len()
    }

    /// Appends an action line and `document`, which is a line without its newline.
    pub(crate) fn write_document(&mut self, document: &[u8], body: &mut Vec<u8>) {
        let repeats = self.assigned_count > 0 && uniform(&mut self.random) < self.conflicts.probability;
        let number = if repeats {
            self.choose_earlier()
        } else {
            self.assigned_count += 1;
            self.assigned_count - 1
        };
        let id = self.first_id + self.order.as_ref().map_or(number, |order| order.at(number));
        let update = repeats && self.conflicts.update;
        body.extend_from_slice(if update { &self.update_prefix } else { &self.index_prefix });
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

    /// Chooses the position, among the ids assigned so far, of the id to repeat.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of a count is not above the count
    fn choose_earlier(&mut self) -> u64 {
        if self.conflicts.recency <= 0.0 {
            return below(self.assigned_count, &mut self.random);
        }
        let back = (exponential(&mut self.random) / (RECENCY_SLOPE * self.conflicts.recency)).min(1.0);
        ((self.assigned_count - 1) as f64 * (1.0 - back)).round_ties_even() as u64
    }
}

/// Appends an id, padded to ten digits as in Rally.
fn write_id(id: u64, body: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(id).as_bytes();
    body.extend_from_slice(&b"0000000000"[digits.len().min(10)..]);
    body.extend_from_slice(digits);
}

/// A seeded permutation of the numbers below a count. It needs constant memory, whereas a shuffled list for a large
/// corpus would take gigabytes. It applies a Feistel network on the next power of two (Luby, Rackoff: How to construct
/// pseudorandom permutations from pseudorandom functions, 1988) until the result is below the count (cycle walking).
#[derive(Debug, Clone)]
struct Permutation {
    count: u64,
    /// Number of bits in the lower half of a number; the upper half has as many or one fewer.
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

    /// Returns the number at `position`, which should be below the count; the loop ends for any position.
    fn at(&self, position: u64) -> u64 {
        let mut number = position;
        loop {
            number = self.permute_once(number);
            if number < self.count || position >= self.count {
                return number;
            }
        }
    }

    /// Applies an even number of rounds, after which the halves have their original widths.
    fn permute_once(&self, number: u64) -> u64 {
        let (mut bits, mut other) = (self.low_bits, self.high_bits);
        let (mut high, mut low) = (number >> bits, number & mask(bits));
        for key in self.keys {
            (high, low) = (low, high ^ (mix(low.wrapping_add(key)) & mask(other)));
            (bits, other) = (other, bits);
        }
        (high << bits) | low
    }
}

/// Mixes the bits of a number with the output function of `SplitMix64` (Steele, Lea, Flood: Fast splittable
/// pseudorandom number generators, OOPSLA 2014).
fn mix(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// Returns a uniformly distributed number in [0, 1).
fn uniform(random: &mut Random) -> f64 {
    (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns a uniformly distributed number below `bound`. It is computed by multiplication (Lemire: Fast random integer
/// generation in an interval, 2019) without the rejection step; the bias is below `bound`/2^64.
#[allow(clippy::cast_possible_truncation)] // the shifted value fits
fn below(bound: u64, random: &mut Random) -> u64 {
    ((u128::from(random.next()) * u128::from(bound)) >> 64) as u64
}

/// Returns an exponentially distributed number with the mean 1.
fn exponential(random: &mut Random) -> f64 {
    -logarithm(1.0 - uniform(random))
}

/// Returns the natural logarithm of a normal number above 0, using basic arithmetic only: the results of a library may
/// differ between machines.
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
    fn a_permutation_contains_every_number_once() {
        for count in (0..70).chain([100, 1000, 4095, 4096, 4097, 100_000]) {
            let order = Permutation::new(count, &mut random());
            let mut numbers: Vec<u64> = (0..count).map(|position| order.at(position)).collect();
            let in_place = numbers.iter().zip(0..).filter(|(number, position)| **number == *position).count();
            assert!(count < 100 || in_place < 10, "{count}: {in_place} numbers keep their positions");
            let steps = numbers.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
            assert!(count < 100 || steps < 10, "{count}: {steps} numbers follow their predecessor");
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..count), "{count}");
        }
        let other = Permutation::new(1000, &mut Random::new(8, &[1]));
        let order = Permutation::new(1000, &mut random());
        assert!((0..1000).any(|position| order.at(position) != other.at(position)));
    }

    #[test]
    fn the_logarithm_agrees_with_the_standard_library() {
        let mut numbers = random();
        for _ in 0..100_000 {
            let number = 1.0 - uniform(&mut numbers);
            let (own, library) = (logarithm(number), number.ln());
            assert!((own - library).abs() <= 4e-15 * library.abs().max(0.1), "{number}: {own}, {library}");
        }
        assert!((logarithm(1.0 / (1_u64 << 53) as f64) + 53.0 * std::f64::consts::LN_2).abs() < 1e-13);
    }

    #[test]
    fn ids_have_at_least_ten_digits() {
        for (id, text) in [(0, "0000000000"), (42, "0000000042"), (12_345_678_901, "12345678901")] {
            let mut body = Vec::new();
            write_id(id, &mut body);
            assert_eq!(body, text.as_bytes());
        }
    }
}
