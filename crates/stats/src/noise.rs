//! The noise of a series whose neighbouring values are not independent, and its outliers.

use crate::quantile::median;
use crate::segments::MIN_SEGMENT;

/// Upper limit for the estimated correlation between the noise of neighbouring values.
const MAX_AUTOCORRELATION: f64 = 0.8;
/// Number of blocks whose means are compared to detect slow waves of noise.
const BLOCKS: usize = 12;
/// Lower limit for the estimated noise, as a fraction of the level: recorded times have three significant digits.
const MIN_DEVIATION: f64 = 0.002;
/// Values that deviate from the median around them by more than this multiple of the typical deviation are outliers.
const OUTLIER: f64 = 3.0;
/// Ratio of the standard deviation of a normal distribution to its median absolute deviation.
const NORMAL: f64 = 1.4826;

/// Returns the values with each outlier replaced by the median of itself and the two values on either side (a Hampel
/// filter).
pub fn without_outliers(values: &[f64]) -> Vec<f64> {
    let around = |index: usize| &values[index.saturating_sub(2)..(index + 3).min(values.len())];
    let medians: Vec<f64> =
        (0..values.len()).map(|index| median(around(index).to_vec()).unwrap_or_default()).collect();
    let deviations = values.iter().zip(&medians).map(|(value, median)| (value - median).abs());
    let typical = NORMAL * median(deviations.collect()).unwrap_or_default();
    let limit = OUTLIER * typical.max(MIN_DEVIATION);
    let filtered =
        |(value, median): (&f64, &f64)| if (value - median).abs() > limit { *median } else { *value };
    values.iter().zip(&medians).map(filtered).collect()
}

/// Returns the long-run variance: the variance of the sum of many values, divided by their number. It includes the
/// covariance of neighbouring values.
///
/// The result is the larger of two estimates. The first fits a first-order autoregressive process to the squared
/// differences between values one and two positions apart. The second compares the means of neighbouring blocks, which
/// detects slower waves. Both ignore large differences, which occur where the level changes.
pub fn long_run_variance(values: &[f64]) -> f64 {
    let squared_differences = |lag: usize| {
        let squares = values.windows(lag + 1).map(|pair| (pair[lag] - pair[0]).powi(2));
        trimmed_mean(&squares.collect::<Vec<_>>())
    };
    let (one, two) = (squared_differences(1), squared_differences(2));
    let correlation = if one > 0.0 { (two / one - 1.0).clamp(0.0, MAX_AUTOCORRELATION) } else { 0.0 };
    let autoregressive = one * (1.0 + correlation) / (2.0 * (1.0 - correlation).powi(2));
    let mean = |block: &[f64]| block.iter().sum::<f64>() / block.len() as f64;
    let block = (values.len() / BLOCKS).max(MIN_SEGMENT);
    let blocks = values.windows(2 * block).map(|pair| (mean(&pair[block..]) - mean(&pair[..block])).powi(2));
    let waves = median(blocks.collect()).unwrap_or_default() * NORMAL.powi(2) * block as f64 / 2.0;
    autoregressive.max(waves).max(MIN_DEVIATION.powi(2))
}

/// Returns the mean of the squared deviations, without those of outliers.
fn trimmed_mean(squares: &[f64]) -> f64 {
    let Some(typical) = median(squares.to_vec()) else { return 0.0 };
    let limit = typical * (NORMAL * OUTLIER).powi(2);
    let usual = squares.iter().filter(|square| **square <= limit);
    let (sum, count) = usual.fold((0.0, 0.0), |(sum, count), square| (sum + square, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}
