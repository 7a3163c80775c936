//! How few independent operations those of a task are worth, for intervals of percentiles and of error rates.
//!
//! A pause of the engine makes many operations in a row slow: they say as much as one. The time of a task is divided
//! into batches of equal length, and the share of operations above a value is compared between them (batch means of an
//! indicator). The *design effect* is the variance of the share that follows from the batches, divided by the variance
//! of the same number of independent operations (L. Kish, *Survey Sampling*, 1965, for clusters of unequal size). As it
//! is estimated from few batches, it is multiplied by the square of the ratio of the quantiles of Student's and the
//! normal distribution (E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected number
//! of positive counts estimated from survey data", *Survey Methodology* 24, 1998). Fewer batches are longer and therefore
//! more independent; more show their variance better, but hardly beyond 30 (B. Schmeiser, "Batch size effects in the
//! analysis of simulation output", *Operations Research* 30, 1982). The largest effect of about 30, 15 and 8 counts. An
//! effect below 1, of slow operations that are more regular than chance, counts as 1.

/// Numbers of batches into which the time of a task is divided.
const BATCHES: [usize; 3] = [30, 15, 8];
/// Number of batches with operations without which nothing is known about their variance.
const MIN_BATCHES: usize = 8;
/// 97.5 % quantile of the normal distribution.
const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;

/// The operations of one stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StretchCount {
    /// Operations that ended.
    pub operations: u64,
    /// Those of them that failed, or whose duration is above a value.
    pub exceeding: u64,
}

/// Returns how many times as many operations as independent ones say the same about the share of those that exceed a
/// value: at least 1. `stretches` are consecutive and equally long. `None` if fewer than eight of them have operations.
#[must_use]
pub fn design_effect(stretches: &[StretchCount]) -> Option<f64> {
    // Batches of those without operations would say nothing: together, they must be enough.
    let filled: Vec<StretchCount> =
        stretches.iter().filter(|stretch| stretch.operations > 0).copied().collect();
    if filled.len() < MIN_BATCHES {
        return None;
    }
    let lengths = BATCHES.map(|batches| (filled.len() / batches).max(1));
    let effects = lengths.into_iter().filter_map(|length| effect_of_batches(&filled, length));
    Some(effects.fold(1.0, f64::max))
}

/// Returns the effect of batches of `length` stretches, all of which have operations; `None` if it says nothing.
fn effect_of_batches(stretches: &[StretchCount], length: usize) -> Option<f64> {
    let batches: Vec<StretchCount> = stretches.chunks(length).map(total).collect();
    let StretchCount { operations, exceeding } = total(&batches);
    if batches.len() < MIN_BATCHES || exceeding == 0 || exceeding == operations {
        return None;
    }
    let share = exceeding as f64 / operations as f64;
    let squares: f64 =
        batches.iter().map(|batch| (batch.exceeding as f64 - share * batch.operations as f64).powi(2)).sum();
    let degrees = (batches.len() - 1) as f64;
    let variance = squares * batches.len() as f64 / degrees;
    let independent = operations as f64 * share * (1.0 - share);
    Some(variance / independent * (student_quantile(degrees) / NORMAL_QUANTILE).powi(2))
}

fn total(stretches: &[StretchCount]) -> StretchCount {
    stretches.iter().fold(StretchCount::default(), |sum, stretch| StretchCount {
        operations: sum.operations + stretch.operations,
        exceeding: sum.exceeding + stretch.exceeding,
    })
}

/// Returns the 97.5 % quantile of Student's distribution, to a thousandth from seven degrees of freedom on (Abramowitz
/// and Stegun, *Handbook of Mathematical Functions*, 26.7.5).
fn student_quantile(degrees: f64) -> f64 {
    let z = NORMAL_QUANTILE;
    let terms = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| (sum + term) / degrees) + z
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretches(exceeding: &[u64]) -> Vec<StretchCount> {
        exceeding.iter().map(|exceeding| StretchCount { operations: 100, exceeding: *exceeding }).collect()
    }

    #[test]
    fn quantiles_agree_with_tables() {
        for (degrees, quantile) in [(7.0, 2.3646), (14.0, 2.1448), (29.0, 2.0452), (59.0, 2.0010)] {
            let computed = student_quantile(degrees);
            assert!((computed - quantile).abs() < 1e-3, "{degrees}: {computed}");
        }
    }

    #[test]
    fn a_burst_is_worth_one_operation() {
        // 20 slow operations in a row in every fifth second.
        let bursts: Vec<u64> = (0..30).map(|second| if second % 5 == 2 { 20 } else { 0 }).collect();
        let effect = design_effect(&stretches(&bursts)).unwrap();
        assert!((15.0..25.0).contains(&effect), "{effect}");
        let even = vec![4; 30];
        assert_eq!(design_effect(&stretches(&even)), Some(1.0));
    }

    #[test]
    fn an_effect_of_several_seconds_shows_in_longer_batches() {
        // Levels of eight seconds: batches of eight seconds vary more than those of four.
        let levels: Vec<u64> = (0..120).map(|second| if second / 8 % 2 == 0 { 3 } else { 9 }).collect();
        let (short, long) = (
            effect_of_batches(&stretches(&levels), 4).unwrap(),
            effect_of_batches(&stretches(&levels), 8).unwrap(),
        );
        assert!(long > 1.5 * short, "{short} and {long}");
        assert_eq!(design_effect(&stretches(&levels)), Some(long));
    }

    #[test]
    fn operations_of_a_part_of_the_time_are_not_independent() {
        // Twelve of 60 stretches have operations, all of which exceed the value in every third one.
        let filled: Vec<u64> = (0..12).map(|second| if second % 3 == 0 { 100 } else { 0 }).collect();
        let part = [stretches(&filled), vec![StretchCount::default(); 48]].concat();
        assert_eq!(design_effect(&part), design_effect(&stretches(&filled)));
        assert!(design_effect(&part).unwrap() > 50.0);
    }

    #[test]
    fn few_stretches_say_nothing() {
        assert_eq!(design_effect(&stretches(&[1; 7])), None);
        assert_eq!(design_effect(&[stretches(&[1; 7]), vec![StretchCount::default(); 50]].concat()), None);
        assert_eq!(design_effect(&stretches(&[1; 8])), Some(1.0));
        assert_eq!(design_effect(&[]), None);
        // Without an operation that exceeds the value, there is nothing to compare.
        assert_eq!(design_effect(&stretches(&[0; 30])), Some(1.0));
        assert_eq!(design_effect(&stretches(&[100; 30])), Some(1.0));
    }
}
