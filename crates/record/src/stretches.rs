//! Histograms of stretches of a task's time, from which it is seen how operations depend on each other.

use pacenote_stats::{StretchCount, design_effect};

use crate::histogram::DurationHistogram;
use crate::operation_stats::{OperationStats, SecondStats};
use crate::sample::SampleType;

/// Number of stretches from which on two neighbours become one, so that the memory is limited for a task of any length.
const MAX_STRETCHES: usize = 60;

/// The measured operations of a task or of a sub-operation, by the time at which they ended.
#[derive(Debug)]
pub struct Stretches {
    /// Seconds in each stretch.
    length: u64,
    /// The second in which the first stretch begins, from the start of the task; a multiple of `length`.
    begin: u64,
    parts: Vec<StretchTotals>,
}

/// The operations of one stretch.
#[derive(Debug, Clone, Default)]
struct StretchTotals {
    ended: u64,
    failed: u64,
    /// Durations, in the order of [`Kind`].
    durations: [SparseCounts; Kind::ALL.len()],
}

/// A kind of duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Service time of successes.
    ServiceTime,
    /// Latency of successes.
    Latency,
    /// Lateness of all operations.
    Lateness,
    /// Processing time of successes.
    ProcessingTime,
    /// Service time of failures.
    FailedServiceTime,
}

impl Kind {
    const ALL: [Self; 5] =
        [Self::ServiceTime, Self::Latency, Self::Lateness, Self::ProcessingTime, Self::FailedServiceTime];

    /// Returns the durations of this kind, if an operation has them.
    pub fn histogram(self, stats: &OperationStats) -> Option<&DurationHistogram> {
        match self {
            Self::ServiceTime => Some(&stats.service_time),
            Self::Latency => stats.latency.as_ref(),
            Self::Lateness => stats.lateness.as_ref(),
            Self::ProcessingTime => stats.processing_time.as_ref(),
            Self::FailedServiceTime => stats.failed_service_time.as_ref(),
        }
    }
}

/// Counts of durations by the longest duration of their bucket, in ascending order.
#[derive(Debug, Clone, Default)]
struct SparseCounts(Vec<BucketCount>);

#[derive(Debug, Clone, Copy)]
struct BucketCount {
    /// The longest duration of the bucket, in nanoseconds.
    highest_ns: u64,
    count: u64,
}

impl SparseCounts {
    fn add(&mut self, added: impl Iterator<Item = BucketCount>) {
        let own = std::mem::take(&mut self.0);
        let (mut own, mut added) = (own.into_iter().peekable(), added.peekable());
        loop {
            let next = match (own.peek(), added.peek()) {
                (Some(one), Some(other)) if one.highest_ns > other.highest_ns => added.next(),
                (Some(one), Some(other)) if one.highest_ns == other.highest_ns => {
                    let count = one.count + other.count;
                    added.next();
                    own.next().map(|bucket| BucketCount { count, ..bucket })
                }
                (Some(_), _) => own.next(),
                (None, _) => added.next(),
            };
            match next {
                Some(bucket) => self.0.push(bucket),
                None => return,
            }
        }
    }

    /// Returns the number of durations, and of those that `is_above` is true for.
    fn count(&self, is_above: impl Fn(u64) -> bool) -> StretchCount {
        self.0.iter().fold(StretchCount::default(), |sum, bucket| StretchCount {
            operations: sum.operations + bucket.count,
            exceeding: sum.exceeding + if is_above(bucket.highest_ns) { bucket.count } else { 0 },
        })
    }
}

impl Default for Stretches {
    fn default() -> Self {
        Self { length: 1, begin: 0, parts: Vec::new() }
    }
}

impl Stretches {
    /// Adds the statistics of a second, or of a part of its operations, if they are measured.
    pub fn add(&mut self, second: &SecondStats) {
        if second.sample_type != SampleType::Measured || second.stats.is_empty() {
            return;
        }
        let stretch = self.stretch(second.second_index);
        stretch.ended += second.stats.counts.ended;
        stretch.failed += second.stats.counts.failed;
        for kind in Kind::ALL {
            if let Some(histogram) = kind.histogram(&second.stats) {
                let buckets = histogram.recorded();
                stretch.durations[kind as usize]
                    .add(buckets.map(|(highest_ns, count)| BucketCount { highest_ns, count }));
            }
        }
    }

    /// Returns the design effect of the operations that failed; `None` if there are too few stretches.
    pub fn effect_of_failures(&self) -> Option<f64> {
        let counts = self.parts.iter();
        let counts = counts.map(|one| StretchCount { operations: one.ended, exceeding: one.failed });
        design_effect(&counts.collect::<Vec<_>>())
    }

    /// Returns the design effect of the durations in buckets above the one that ends at `ns`. If that is the last bucket,
    /// its own durations count as above. `None` if too few stretches have operations.
    pub fn effect_above(&self, kind: Kind, ns: u64) -> Option<f64> {
        let counts = |is_above: &dyn Fn(u64) -> bool| -> Vec<StretchCount> {
            self.parts.iter().map(|one| one.durations[kind as usize].count(is_above)).collect()
        };
        let mut above = counts(&|highest_ns| highest_ns > ns);
        if above.iter().all(|count| count.exceeding == 0) {
            above = counts(&|highest_ns| highest_ns >= ns);
        }
        design_effect(&above)
    }

    /// Returns the stretch of a second. Seconds may come in any order.
    fn stretch(&mut self, second: u64) -> &mut StretchTotals {
        if self.parts.is_empty() {
            self.begin = second - second % self.length;
        }
        if second < self.begin {
            let begin = second - second % self.length;
            let missing = index_of((self.begin - begin) / self.length);
            self.parts.splice(0..0, std::iter::repeat_n(StretchTotals::default(), missing));
            self.begin = begin;
        }
        while (second - self.begin) / self.length >= MAX_STRETCHES as u64 || self.parts.len() > MAX_STRETCHES
        {
            self.join_neighbours();
        }
        let index = index_of((second - self.begin) / self.length);
        if index >= self.parts.len() {
            self.parts.resize_with(index + 1, StretchTotals::default);
        }
        &mut self.parts[index]
    }

    /// Doubles the length of the stretches.
    fn join_neighbours(&mut self) {
        let length = self.length * 2;
        let begin = self.begin - self.begin % length;
        let offset = index_of((self.begin - begin) / self.length);
        let mut joined: Vec<StretchTotals> = Vec::new();
        for (index, stretch) in std::mem::take(&mut self.parts).into_iter().enumerate() {
            let index = usize::midpoint(index, offset);
            if index >= joined.len() {
                joined.push(stretch);
            } else {
                joined[index].merge(stretch);
            }
        }
        (self.length, self.begin, self.parts) = (length, begin, joined);
    }
}

impl StretchTotals {
    fn merge(&mut self, other: Self) {
        self.ended += other.ended;
        self.failed += other.failed;
        for (own, added) in self.durations.iter_mut().zip(other.durations) {
            own.add(added.0.into_iter());
        }
    }
}

fn index_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn second(second_index: u64, slow: u64, fast: u64) -> SecondStats {
        let mut stats = OperationStats::service_time_only().unwrap();
        for number in 0..slow + fast {
            let ns = if number < slow { 200 * MS } else { 5 * MS };
            stats.service_time.record(ns + number * 10_000);
        }
        stats.counts.ended = slow + fast;
        stats.counts.failed = slow;
        SecondStats {
            task_index: 0,
            sub_operation: None,
            second_index,
            sample_type: SampleType::Measured,
            stats,
        }
    }

    fn of(seconds: impl IntoIterator<Item = SecondStats>) -> Stretches {
        let mut stretches = Stretches::default();
        for one in seconds {
            stretches.add(&one);
        }
        stretches
    }

    fn counts(stretches: &Stretches) -> Vec<(u64, u64)> {
        let counts = stretches.parts.iter().map(|one| one.durations[0].count(|ns| ns > 100 * MS));
        counts.map(|count| (count.operations, count.exceeding)).collect()
    }

    #[test]
    fn long_tasks_have_longer_stretches() {
        let stretches = of((7..1007).map(|index| second(index, index % 2, 1)));
        assert_eq!((stretches.length, stretches.begin), (32, 0));
        let total = counts(&stretches).iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        assert_eq!(total, (1500, 500));
        assert_eq!(counts(&stretches)[1], (48, 16));
        assert!((15..=MAX_STRETCHES).contains(&stretches.parts.len()));
        assert_eq!(stretches.parts.iter().map(|one| one.failed).sum::<u64>(), 500);
    }

    #[test]
    fn the_order_in_which_seconds_come_does_not_matter() {
        let forwards = of((20..300).map(|index| second(index, index % 5, 3)));
        let backwards = of((20..300).rev().map(|index| second(index, index % 5, 3)));
        assert_eq!(counts(&forwards), counts(&backwards));
        assert_eq!((forwards.length, forwards.begin), (backwards.length, backwards.begin));
        // Workers deliver parts of a second.
        let parts = of((20..300).flat_map(|index| [second(index, index % 5, 0), second(index, 0, 3)]));
        assert_eq!(counts(&forwards), counts(&parts));
    }

    #[test]
    fn warm_up_is_left_out() {
        let warmup = SecondStats { sample_type: SampleType::Warmup, ..second(3, 5, 5) };
        assert!(of([warmup]).parts.is_empty());
    }

    #[test]
    fn a_pause_has_an_effect_on_percentiles_and_on_the_error_rate() {
        let pauses = of((0..60).map(|index| second(index, if index % 7 == 3 { 20 } else { 0 }, 80)));
        for effect in [pauses.effect_above(Kind::ServiceTime, 100 * MS), pauses.effect_of_failures()] {
            assert!(effect.is_some_and(|effect| effect > 10.0), "{effect:?}");
        }
        let even = of((0..60).map(|index| second(index, 3, 80)));
        assert_eq!(even.effect_above(Kind::ServiceTime, 100 * MS), Some(1.0));
        assert_eq!(of((0..7).map(|index| second(index, 3, 80))).effect_of_failures(), None);
        assert_eq!(pauses.effect_above(Kind::Latency, 5), None);
    }
}
