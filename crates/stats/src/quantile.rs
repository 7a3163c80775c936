//! Ranks of quantiles, and the order-statistic intervals that show how precise a percentile is.
//!
//! Of n independent durations, the number above the true q-quantile follows the binomial distribution with n trials and
//! the probability 1 - q, whatever the distribution of the durations (David and Nagaraja, *Order Statistics*, section
//! 7.1). The range that contains this number with a probability of 95 % gives the ranks that bound the quantile. For
//! high quantiles, the upper bound exists only if even the largest value probably exceeds the quantile, that is, if q^n
//! <= 2.5 %: 368 values for p99, 3,688 for p99.9, 36,887 for p99.99.

/// The probability on each side of an interval.
const TAIL: f64 = 0.025;
/// Terms of the distribution below this fraction of the largest are left out; together, they are far less likely than
/// the precision of the sum.
const NEGLIGIBLE: f64 = 1e-24;

/// The ranks (1 = smallest) that bound a quantile with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankInterval {
    /// Lower bound; `None` if there are too few values.
    pub low: Option<u64>,
    /// Upper bound; `None` if there are too few values.
    pub high: Option<u64>,
}

/// Returns the rank (1 = smallest) of quantile `q` (0 to 1) among `count` values: the smallest rank at which at least a
/// fraction `q` of the values are at or below the value.
#[must_use]
pub fn rank(count: u64, q: f64) -> u64 {
    // Subtracting more than the rounding error prevents 0.99 * 100 = 99.00000000000001 from becoming rank 100.
    let exact = q * count as f64;
    let rank = (exact - (4.0 * f64::EPSILON * exact).max(1e-9)).ceil();
    from_f64(rank).clamp(1, count.max(1))
}

/// Returns the ranks that bound quantile `q` (0 to 1) of `count` values with 95 % confidence.
#[must_use]
pub fn rank_interval(count: u64, q: f64) -> RankInterval {
    let Exceedances { few, many } = exceedances(count, q);
    RankInterval {
        low: count.checked_sub(many).filter(|rank| *rank >= 1),
        high: few.and_then(|few| count.checked_sub(few)).filter(|rank| *rank >= 1),
    }
}

/// Returns the ranks that bound quantile `q` (0 to 1) of `count` dependent values with 95 % confidence: the shares of
/// values beyond the bounds are those of `count` / `effect` independent ones. `effect` is the design effect of the
/// values above the quantile ([`crate::design_effect`]), at least 1.
#[must_use]
pub fn dependent_rank_interval(count: u64, q: f64, effect: f64) -> RankInterval {
    let independent = from_f64(count as f64 / effect.max(1.0)).min(count);
    if independent == 0 {
        return RankInterval { low: None, high: None };
    }
    let Exceedances { few, many } = exceedances(independent, q);
    let scale = count as f64 / independent as f64;
    let above = |number: u64| from_f64(number as f64 * scale);
    RankInterval {
        low: count.checked_sub(from_f64((many as f64 * scale).ceil())).filter(|rank| *rank >= 1),
        high: few.map(|few| count - above(few).min(count)),
    }
}

/// Returns whether `count` values are enough for quantile `q` (0 to 1), that is, whether its upper bound exists if they
/// are independent.
#[must_use]
pub fn is_supported(count: u64, q: f64) -> bool {
    count > 0 && (q >= 1.0 || count as f64 * q.ln() <= TAIL.ln())
}

/// Returns the median, or `None` if there are no values.
#[must_use]
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    let count = values.len();
    if count == 0 {
        return None;
    }
    let (lower, upper) = ((count - 1) / 2, count / 2);
    let (_, high, _) = values.select_nth_unstable_by(upper, f64::total_cmp);
    let high = *high;
    let (_, low, _) = values.select_nth_unstable_by(lower, f64::total_cmp);
    Some(f64::midpoint(*low, high))
}

/// The 95 % bounds of the number of values that exceed a quantile.
struct Exceedances {
    /// The largest number whose probability, together with all smaller ones, is at most 2.5 %; `None` if even 0 is more
    /// probable.
    few: Option<u64>,
    /// The smallest number that is exceeded with a probability of at most 2.5 %.
    many: u64,
}

/// Computes the bounds from the terms of the binomial distribution.
///
/// The terms are computed from the largest one on, relative to it, and divided by their sum: the probabilities of large
/// counts would underflow. Only terms within some ten standard deviations are not negligible, so that a billion values
/// take less than a millisecond. The tail is summed from its smallest term.
fn exceedances(count: u64, q: f64) -> Exceedances {
    let odds = (1.0 - q) / q;
    // The ratio of the probability of `number + 1` exceedances to that of `number`.
    let ratio = |number: u64| (count - number) as f64 / (number + 1) as f64 * odds;
    let mode = from_f64((count + 1) as f64 * (1.0 - q)).min(count);
    let (mut first, mut term, mut sum) = (mode, 1.0, 1.0);
    while first > 0 && term > NEGLIGIBLE {
        first -= 1;
        term /= ratio(first);
        sum += term;
    }
    let first_term = term;
    let mut last = mode;
    term = 1.0;
    while last < count && term > NEGLIGIBLE {
        term *= ratio(last);
        sum += term;
        last += 1;
    }
    let (mut number, mut few, mut cumulative) = (first, None, first_term);
    term = first_term;
    while cumulative < (1.0 - TAIL) * sum && number < last {
        if cumulative <= TAIL * sum {
            few = Some(number);
        }
        term *= ratio(number);
        cumulative += term;
        number += 1;
    }
    Exceedances { few, many: number }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ranks are positive and far below 2^53"
)]
fn from_f64(value: f64) -> u64 {
    value.max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_supported_at_the_documented_count() {
        for (q, enough) in [(0.5, 6), (0.9, 36), (0.99, 368), (0.999, 3_688), (0.9999, 36_887)] {
            assert!(!is_supported(enough - 1, q), "{q} at {}", enough - 1);
            assert!(is_supported(enough, q), "{q} at {enough}");
            assert_eq!(rank_interval(enough - 1, q).high, None);
            assert_eq!(rank_interval(enough, q).high, Some(enough));
        }
        assert!(is_supported(1, 1.0));
        assert!(!is_supported(0, 0.5));
    }

    #[test]
    fn ranks_of_ten_thousand_values_agree_with_the_literature() {
        // With 10,000 requests, the p99 may be anything from the 98.80th to the 99.19th percentile.
        let RankInterval { low, high } = rank_interval(10_000, 0.99);
        assert!((9_878..=9_882).contains(&low.unwrap()), "{low:?}");
        assert!((9_918..=9_921).contains(&high.unwrap()), "{high:?}");
    }

    /// The bounds are computed with rational numbers, those of more than 100,000 values with the incomplete beta
    /// function.
    #[test]
    fn bounds_are_exact_for_few_and_for_many_values() {
        let expected = [
            (5, 0.5, None, None),
            (6, 0.5, Some(1), Some(6)),
            (7, 0.5, Some(1), Some(7)),
            (100, 0.5, Some(40), Some(61)),
            (1000, 0.5, Some(469), Some(532)),
            (10000, 0.5, Some(4902), Some(5099)),
            (35, 0.9, Some(28), None),
            (36, 0.9, Some(29), Some(36)),
            (100, 0.9, Some(84), Some(96)),
            (1000, 0.9, Some(881), Some(919)),
            (10000, 0.9, Some(8941), Some(9059)),
            (1, 0.99, Some(1), None),
            (100, 0.99, Some(97), None),
            (367, 0.99, Some(359), None),
            (368, 0.99, Some(360), Some(368)),
            (1000, 0.99, Some(983), Some(997)),
            (10000, 0.99, Some(9880), Some(9920)),
            (36887, 0.99, Some(36480), Some(36556)),
            (100, 0.999, Some(99), None),
            (3687, 0.999, Some(3679), None),
            (3688, 0.999, Some(3680), Some(3688)),
            (36887, 0.999, Some(36838), Some(36863)),
            (1, 0.9999, Some(1), None),
            (10000, 0.9999, Some(9997), None),
            (36886, 0.9999, Some(36878), None),
            (36887, 0.9999, Some(36879), Some(36887)),
            (49_900, 0.5, Some(24_731), Some(25_170)),
            (50_000_000, 0.5, Some(24_993_070), Some(25_006_931)),
            (1_000_000_000, 0.5, Some(499_969_010), Some(500_030_991)),
            (50_000_000, 0.9, Some(44_995_842), Some(45_004_158)),
            (1_000_000_000, 0.9, Some(899_981_406), Some(900_018_594)),
            (49_900, 0.99, Some(49_357), Some(49_445)),
            (50_000_000, 0.99, Some(49_498_621), Some(49_501_379)),
            (1_000_000_000, 0.99, Some(989_993_833), Some(990_006_167)),
            (49_900, 0.999, Some(49_836), Some(49_864)),
            (50_000_000, 0.999, Some(49_949_561), Some(49_950_439)),
            (1_000_000_000, 0.999, Some(998_998_041), Some(999_001_960)),
            (50_000_000, 0.9999, Some(49_994_861), Some(49_995_139)),
            (1_000_000_000, 0.9999, Some(999_899_380), Some(999_900_620)),
        ];
        for (count, q, low, high) in expected {
            assert_eq!(rank_interval(count, q), RankInterval { low, high }, "p{} of {count}", q * 100.0);
        }
    }

    #[test]
    fn a_bound_exists_from_the_first_supported_count_on() {
        for q in [0.5, 0.9, 0.99, 0.999, 0.9999] {
            for count in (0..3_000).chain((3_000..100_000).step_by(997)) {
                let RankInterval { low, high } = rank_interval(count, q);
                assert_eq!(high.is_some(), is_supported(count, q), "p{} of {count}", q * 100.0);
                let (value, least, most) = (rank(count, q), low.unwrap_or(1), high.unwrap_or(count.max(1)));
                assert!(least <= value && value <= most, "p{} of {count}: {value}", q * 100.0);
            }
        }
    }

    #[test]
    fn dependent_values_have_the_interval_of_as_many_times_fewer() {
        for (count, q) in [(10_000, 0.99), (10_000, 0.5), (1_000, 0.9)] {
            assert_eq!(dependent_rank_interval(count, q, 1.0), rank_interval(count, q));
            let RankInterval { low, high } = rank_interval(count / 4, q);
            let expected = RankInterval { low: low.map(|rank| rank * 4), high: high.map(|rank| rank * 4) };
            assert_eq!(dependent_rank_interval(count, q, 4.0), expected);
        }
        // 10,000 operations of which 30 are worth one are 333 independent ones, fewer than the 368 of a bound of p99.
        assert_eq!(dependent_rank_interval(10_000, 0.99, 30.0).high, None);
        assert_eq!(dependent_rank_interval(10, 0.5, 11.0), RankInterval { low: None, high: None });
        assert_eq!(dependent_rank_interval(0, 0.5, 1.0), RankInterval { low: None, high: None });
    }

    #[test]
    fn rounding_never_shifts_the_rank_of_a_quantile() {
        assert_eq!(rank(100, 0.99), 99);
        assert_eq!(rank(1000, 0.999), 999);
        assert_eq!(rank(1, 0.5), 1);
        assert_eq!(rank(10, 1.0), 10);
        assert_eq!(rank(0, 0.5), 1);
        for power in 4..12 {
            for number in 1..1_000 {
                let parts = number * 10_u64.pow(power - 4);
                for (q, numerator) in
                    [(0.5, 5_000), (0.9, 9_000), (0.99, 9_900), (0.999, 9_990), (0.9999, 9_999)]
                {
                    assert_eq!(
                        rank(parts * 10_000, q),
                        parts * numerator,
                        "p{} of {parts} * 10,000",
                        q * 100.0
                    );
                }
            }
        }
    }

    #[test]
    fn the_median_of_an_even_number_of_values_is_the_mean_of_the_middle_two() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!((median(vec![7.0]), median(Vec::new())), (Some(7.0), None));
    }
}
