//! Partitions the documents of a corpus among the clients of a task, as Rally does.

use std::collections::BTreeSet;
use std::ops::Range;

/// Returns the documents of client `client` (from 0) of `clients`, out of `documents`.
///
/// Uses Rally's formula, so that a client reads the same documents with both tools: from `round(documents / clients *
/// client)` to `round(documents / clients * (client + 1))` in double precision, where `round` is Python's (half to
/// even). The ranges of all clients cover `0..documents` exactly: for every count below 2^51, the error of the product
/// is far below one half.
///
/// Returns an empty range if `client` is not below `clients`.
#[must_use]
pub fn client_range(documents: u64, client: u32, clients: u32) -> Range<u64> {
    if client >= clients {
        return documents..documents;
    }
    let share = documents as f64 / f64::from(clients);
    rounded(share * f64::from(client))..rounded(share * (f64::from(client) + 1.0))
}

/// Returns the order in which client `client` reads the files of its corpora, as indices into `corpus_of_file`, which
/// gives the number of each file's corpus.
///
/// As in Rally, client i starts with corpus i modulo the number of corpora and then takes one file from each corpus in
/// turn, so all corpora are indexed from the beginning.
#[must_use]
pub fn reading_order(corpus_of_file: &[u32], client: u32) -> Vec<usize> {
    let corpora: Vec<u32> = BTreeSet::from_iter(corpus_of_file).into_iter().copied().collect();
    let first = client as usize % corpora.len().max(1);
    let mut taken_per_corpus = vec![0_usize; corpora.len()];
    let mut order = Vec::with_capacity(corpus_of_file.len());
    for (position, corpus) in corpus_of_file.iter().enumerate() {
        let Ok(number) = corpora.binary_search(corpus) else { continue };
        let turn = (number + corpora.len() - first) % corpora.len();
        order.push(ReadingTurn { round: taken_per_corpus[number], turn, position });
        taken_per_corpus[number] += 1;
    }
    order.sort_unstable();
    order.into_iter().map(|file| file.position).collect()
}

/// Sort key of a file in a client's reading order: the round, and within a round the turn of the file's corpus.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ReadingTurn {
    /// Number of files of the same corpus that are read before this one.
    round: usize,
    /// Position of the corpus in the order of this client.
    turn: usize,
    /// Position of the file in the task.
    position: usize,
}

/// Returns the number of documents in the first `share` (in (0, 1]) of a client's bulks. `range_lengths` contains the
/// number of documents in each of its ranges, and no bulk spans two ranges. As in Rally, the number of bulks is rounded
/// up.
#[must_use]
pub fn documents_in_share(range_lengths: &[u64], bulk_size: u32, share: f64) -> u64 {
    let bulk_size = u64::from(bulk_size.max(1));
    let bulks: u64 = range_lengths.iter().map(|length| length.div_ceil(bulk_size)).sum();
    let mut bulks_left = rounded_up(bulks as f64 * share);
    let mut sum = 0;
    for length in range_lengths {
        sum += (*length).min(bulks_left.saturating_mul(bulk_size));
        bulks_left = bulks_left.saturating_sub(length.div_ceil(bulk_size));
    }
    sum
}

/// Rounds up, but ignores an excess below 10^-12, which stems from the binary representation of a percentage.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // never negative, and below 2^53 by contract
fn rounded_up(value: f64) -> u64 {
    (value - value * 1e-12).ceil() as u64
}

/// Rounds like Python's `round`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // never negative, and below 2^53 by contract
fn rounded(value: f64) -> u64 {
    value.round_ties_even() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_all_documents() {
        let totals = [0, 1, 2, 3, 7, 10, 999, 1000, 1001, 11_396_503, 247_249_096, 1_170_000_007];
        for total in totals.into_iter().chain((0..500).map(|i| i * 7919 + 13)) {
            for clients in [1, 2, 3, 4, 7, 8, 10, 16, 33, 64, 100, 1000] {
                let mut next = 0;
                for client in 0..clients {
                    let range = client_range(total, client, clients);
                    assert_eq!(range.start, next, "{total} documents, client {client} of {clients}");
                    next = range.end;
                }
                assert_eq!(next, total, "{total} documents over {clients} clients");
            }
        }
    }

    #[test]
    fn halves_are_rounded_to_even_as_in_python() {
        // 5 / 2 = 2.5 → 2, 15 / 2 = 7.5 → 8, 10 / 4: 2.5, 5, 7.5 → 2, 5, 8
        assert_eq!(client_range(5, 0, 2), 0..2);
        assert_eq!(client_range(15, 0, 2), 0..8);
        let quarters: Vec<_> = (0..4).map(|client| client_range(10, client, 4)).collect();
        assert_eq!(quarters, [0..2, 2..5, 5..8, 8..10]);
    }

    #[test]
    fn a_client_that_does_not_exist_has_no_documents() {
        assert!(client_range(10, 0, 0).is_empty());
        assert!(client_range(10, 4, 4).is_empty());
    }

    #[test]
    fn clients_start_with_different_corpora_and_alternate() {
        // The order of Rally's create_readers for three corpora of 1, 3 and 2 files.
        let corpora = [0, 1, 1, 1, 2, 2];
        assert_eq!(reading_order(&corpora, 0), [0, 1, 4, 2, 5, 3]);
        assert_eq!(reading_order(&corpora, 1), [1, 4, 0, 2, 5, 3]);
        assert_eq!(reading_order(&corpora, 2), [4, 0, 1, 5, 2, 3]);
        assert_eq!(reading_order(&corpora, 3), reading_order(&corpora, 0));
        assert_eq!(reading_order(&[0, 0, 0], 2), [0, 1, 2], "the files of one corpus are out of order");
        assert!(reading_order(&[], 3).is_empty());
    }

    #[test]
    fn a_share_is_a_number_of_bulks_rounded_up() {
        // 10 + 1 + 3 bulks; 14 % of them is 1.96.
        let documents = [1000, 1, 250];
        for (percent, expected) in
            [(100.0, 1251), (14.0, 200), (50.0, 700), (0.1, 100), (72.0, 1001), (80.0, 1101)]
        {
            assert_eq!(documents_in_share(&documents, 100, percent / 100.0), expected, "{percent} %");
        }
        for percent in 1_u32..=100 {
            // Rally's formula; its operands are integers here, so it has no rounding error.
            let bulks = u64::from(percent * 7).div_ceil(100) * 10;
            assert_eq!(documents_in_share(&[7000], 1000, f64::from(percent) / 100.0) / 1000 * 10, bulks);
        }
        assert_eq!(documents_in_share(&[], 100, 0.5), 0);
    }
}
