//! Splits a number of documents over the files of a corpus.

/// Splits `documents` in proportion to `weights` by the largest-remainder method (Hamilton's). The parts add up to
/// exactly `documents`, and each differs from its exact share by less than one; if `documents` is the sum of the
/// weights, the parts are the weights. Every part gets at least one document if there are enough.
pub(crate) fn split(documents: u64, weights: &[u64]) -> Vec<u64> {
    let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if total == 0 {
        return vec![0; weights.len()];
    }
    let exact = |weight: &u64| u128::from(documents) * u128::from(*weight);
    let whole = |weight: &u64| u64::try_from(exact(weight) / total).unwrap_or(u64::MAX);
    let mut parts: Vec<u64> = weights.iter().map(whole).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(exact(&weights[*index]) % total)); // stable: the earlier file wins a tie
    let rest = documents - parts.iter().sum::<u64>();
    order.iter().take(usize::try_from(rest).unwrap_or(usize::MAX)).for_each(|index| parts[*index] += 1);
    if documents >= weights.len() as u64 {
        fill_empty(&mut parts);
    }
    parts
}

/// Moves one document from the largest part to each empty part.
fn fill_empty(parts: &mut [u64]) {
    while let Some(empty) = parts.iter().position(|part| *part == 0) {
        let Some(largest) = (0..parts.len()).max_by_key(|index| parts[*index]) else { return };
        parts[largest] -= 1;
        parts[empty] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: [u64; 7] =
        [2_708_746, 9_697_882, 13_053_463, 17_647_279, 10_716_760, 11_961_342, 181_463_624];

    #[test]
    fn parts_add_up_and_none_is_empty_if_avoidable() {
        for documents in (0..300).chain([999, 100_000, 12_345_678, 3_000_000_000]) {
            let parts = split(documents, &REAL);
            assert_eq!(parts.iter().sum::<u64>(), documents);
            assert_eq!(parts.contains(&0), documents < 7, "{documents}: {parts:?}");
        }
    }

    #[test]
    fn a_total_equal_to_the_sum_of_the_weights_returns_the_weights() {
        assert_eq!(split(REAL.iter().sum(), &REAL), REAL);
        assert_eq!(split(2 * REAL.iter().sum::<u64>(), &REAL), REAL.map(|weight| 2 * weight));
    }

    #[test]
    fn the_largest_remainders_are_rounded_up() {
        assert_eq!(split(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(split(100, &[505, 265, 230]), [51, 26, 23]); // 50.5 and 26.5 tie; the first is rounded up
        assert_eq!(split(100_000, &REAL)[0], 1096);
    }
}
