//! How far a percentile can be trusted: order-statistic intervals.
//!
//! Of n independent durations, the number above the true q-quantile is binomial with n trials and probability 1 - q,
//! whatever the distribution (David and Nagaraja, *Order Statistics*, section 7.1). The ranks between which that
//! number lies with 95 % bound the quantile. For high quantiles the upper bound exists only when even the largest
//! value is likely beyond the quantile, q^n <= 2.5 %: 368 values for p99, 3,688 for p99.9, 36,887 for p99.99.

/// Probability left out on each side.
const TAIL: f64 = 0.025;
/// Above so many expected exceedances the normal approximation is good to two ranks, and the exact sum would underflow.
const EXACT_UP_TO: f64 = 500.0;
/// The 97.5 % point of the standard normal distribution.
const Z: f64 = 1.959_964;

/// The rank (1 = smallest) of quantile `q` among `count` values: the smallest that has a share `q` at or below it.
#[must_use]
pub fn rank(count: u64, q: f64) -> u64 {
    // A tiny step back keeps 0.99 * 100 = 99.00000000000001 from becoming rank 100.
    let rank = (q * count as f64 - 1e-9).ceil();
    from_f64(rank).clamp(1, count.max(1))
}

/// The ranks that bound quantile `q` with 95 %; a side is `None` when `count` values do not reach it.
#[must_use]
pub fn ranks(count: u64, q: f64) -> (Option<u64>, Option<u64>) {
    let exceed = count as f64 * (1.0 - q);
    let (few, many) = if exceed > EXACT_UP_TO && count as f64 * q > EXACT_UP_TO {
        let spread = Z * (exceed * q).sqrt();
        (Some(from_f64((exceed - spread).floor())), from_f64((exceed + spread).ceil()))
    } else {
        exceedances(count, q)
    };
    let high = few.map(|few| count - few.min(count.saturating_sub(1)));
    let low = count.checked_sub(many).filter(|rank| *rank >= 1);
    (low, high)
}

/// Largest number of exceedances that is still improbably small, and the smallest that is hardly ever exceeded.
fn exceedances(count: u64, q: f64) -> (Option<u64>, u64) {
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
    (few, number)
}

/// Whether so many values carry quantile `q`: its upper bound exists.
#[must_use]
pub fn supported(count: u64, q: f64) -> bool {
    count > 0 && (q >= 1.0 || count as f64 * q.ln() <= TAIL.ln())
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
    fn a_percentile_is_supported_from_the_published_counts_on() {
        for (q, enough) in [(0.99, 368), (0.999, 3_688), (0.9999, 36_887)] {
            assert!(!supported(enough - 1, q), "{q} at {}", enough - 1);
            assert!(supported(enough, q), "{q} at {enough}");
            assert_eq!(ranks(enough - 1, q).1, None);
            assert_eq!(ranks(enough, q).1, Some(enough));
        }
        assert!(supported(1, 1.0));
        assert!(!supported(0, 0.5));
    }

    #[test]
    fn ranks_of_ten_thousand_values_are_those_of_the_literature() {
        // With 10,000 requests the p99 may be anything from the 98.80th to the 99.19th percentile.
        let (low, high) = ranks(10_000, 0.99);
        assert!((9_878..=9_882).contains(&low.unwrap()), "{low:?}");
        assert!((9_918..=9_921).contains(&high.unwrap()), "{high:?}");
    }

    #[test]
    fn exact_and_approximate_ranks_agree_where_they_meet() {
        let exact = exceedances(49_900, 0.99);
        let spread = Z * (499.0_f64 * 0.99).sqrt();
        assert!((exact.0.unwrap() as f64 - (499.0 - spread)).abs() < 2.0);
        assert!((exact.1 as f64 - (499.0 + spread)).abs() < 2.0);
    }

    #[test]
    fn the_rank_of_a_quantile_is_never_off_by_rounding() {
        assert_eq!(rank(100, 0.99), 99);
        assert_eq!(rank(1000, 0.999), 999);
        assert_eq!(rank(1, 0.5), 1);
        assert_eq!(rank(10, 1.0), 10);
        assert_eq!(rank(0, 0.5), 1);
    }
}
