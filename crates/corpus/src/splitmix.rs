//! `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).

/// A stream of numbers that never changes, whatever the machine: enough for arrival times and to seed other generators.
#[derive(Debug, Clone)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// How far the state moves with each number.
    pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// 64 random bits.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        mix(self.0)
    }
}

/// The finishing steps.
#[inline]
pub(crate) fn mix(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
