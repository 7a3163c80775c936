//! Ranks of quantiles, and the order-statistic intervals that show how precise a percentile is.
//!
//! Of n independent durations, the number above the true q-quantile follows the binomial distribution with n trials and
//! the probability 1 - q, whatever the distribution of the durations (David and Nagaraja, *Order Statistics*, section
//! 7.1). The range that contains this number with a probability of 95 % gives the ranks that bound the quantile. For
//! high quantiles, the upper bound exists only if even the largest value probably exceeds the quantile, that is, if q^n
//! <= 2.5 %: 368 values for p99, 3,688 for p99.9, 36,887 for p99.99.

/// The probability on each side of an interval.
const TAIL: f64 = 0.025;
/// Above this number of expected exceedances, the normal approximation is accurate to two ranks, and the exact sum
/// would underflow.
const EXACT_UP_TO: f64 = 500.0;
/// The 97.5 % quantile of the standard normal distribution.
const Z: f64 = 1.959_964;

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
    // Subtracting a tiny amount prevents 0.99 * 100 = 99.00000000000001 from becoming rank 100.
    let rank = (q * count as f64 - 1e-9).ceil();
    from_f64(rank).clamp(1, count.max(1))
}

/// Returns the ranks that bound quantile `q` (0 to 1) of `count` values with 95 % confidence.
#[must_use]
pub fn rank_interval(count: u64, q: f64) -> RankInterval {
    let exceed = count as f64 * (1.0 - q);
    let Exceedances { few, many } = if exceed > EXACT_UP_TO && count as f64 * q > EXACT_UP_TO {
        let spread = Z * (exceed * q).sqrt();
        Exceedances {
            few: Some(from_f64((exceed - spread).floor())),
            many: from_f64((exceed + spread).ceil()),
        }
    } else {
        exact_exceedances(count, q)
    };
    RankInterval {
        low: count.checked_sub(many).filter(|rank| *rank >= 1),
        high: few.map(|few| count - few.min(count.saturating_sub(1))),
    }
}

/// Returns whether `count` values are enough for quantile `q` (0 to 1), that is, whether its upper bound exists.
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

/// Computes the bounds by summing the binomial distribution term by term.
fn exact_exceedances(count: u64, q: f64) -> Exceedances {
    let odds = (1.0 - q) / q;
    let mut probability = (count as f64 * q.ln()).exp();
    let mut cumulative = probability;
    let (mut few, mut number) = (None, 0);
    while cumulative < 1.0 - TAIL && number < count {
        if cumulative <= TAIL {
            few = Some(number);
        }
        probability *= (count - number) as f64 / (number + 1) as f64 * odds;
        cumulative += probability;
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
        for (q, enough) in [(0.99, 368), (0.999, 3_688), (0.9999, 36_887)] {
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

    #[test]
    fn exact_and_approximate_ranks_agree_where_they_meet() {
        let exact = exact_exceedances(49_900, 0.99);
        let spread = Z * (499.0_f64 * 0.99).sqrt();
        assert!((exact.few.unwrap() as f64 - (499.0 - spread)).abs() < 2.0);
        assert!((exact.many as f64 - (499.0 + spread)).abs() < 2.0);
    }

    #[test]
    fn rounding_never_shifts_the_rank_of_a_quantile() {
        assert_eq!(rank(100, 0.99), 99);
        assert_eq!(rank(1000, 0.999), 999);
        assert_eq!(rank(1, 0.5), 1);
        assert_eq!(rank(10, 1.0), 10);
        assert_eq!(rank(0, 0.5), 1);
    }

    #[test]
    fn the_median_of_an_even_number_of_values_is_the_mean_of_the_middle_two() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!((median(vec![7.0]), median(Vec::new())), (Some(7.0), None));
    }
}
