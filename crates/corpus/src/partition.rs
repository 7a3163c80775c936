//! Which documents belong to which client.

use std::ops::Range;

/// The documents of client `client` (from 0) of `clients`, out of `documents`.
///
/// Rally's formula, so that a client reads the same documents under both tools:
/// `round(documents / clients * client)` to `round(documents / clients * (client + 1))` in double precision, where
/// `round` is Python's (halves to the even neighbour). The ranges of all clients tile `0..documents` exactly: the
/// product misses the true value by far less than one half for every count below 2^51.
///
/// No clients, or a client beyond the last, own nothing: an empty range.
#[must_use]
pub fn bounds(documents: u64, client: u32, clients: u32) -> Range<u64> {
    if client >= clients {
        return documents..documents;
    }
    let share = documents as f64 / f64::from(clients);
    rounded(share * f64::from(client))..rounded(share * (f64::from(client) + 1.0))
}

/// Python's `round` for a count.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // never negative, and below 2^53 by contract
fn rounded(value: f64) -> u64 {
    value.round_ties_even() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_tile_the_documents() {
        let totals = [0, 1, 2, 3, 7, 10, 999, 1000, 1001, 11_396_503, 247_249_096, 1_170_000_007];
        for total in totals.into_iter().chain((0..500).map(|i| i * 7919 + 13)) {
            for clients in [1, 2, 3, 4, 7, 8, 10, 16, 33, 64, 100, 1000] {
                let mut next = 0;
                for client in 0..clients {
                    let range = bounds(total, client, clients);
                    assert_eq!(range.start, next, "{total} documents, client {client} of {clients}");
                    next = range.end;
                }
                assert_eq!(next, total, "{total} documents over {clients} clients");
            }
        }
    }

    #[test]
    fn halves_go_to_the_even_neighbour_as_in_python() {
        // 5 / 2 = 2.5 → 2, 15 / 2 = 7.5 → 8, 10 / 4: 2.5, 5, 7.5 → 2, 5, 8
        assert_eq!(bounds(5, 0, 2), 0..2);
        assert_eq!(bounds(15, 0, 2), 0..8);
        let quarters: Vec<_> = (0..4).map(|client| bounds(10, client, 4)).collect();
        assert_eq!(quarters, [0..2, 2..5, 5..8, 8..10]);
    }

    #[test]
    fn a_client_that_does_not_exist_owns_nothing() {
        assert!(bounds(10, 0, 0).is_empty());
        assert!(bounds(10, 4, 4).is_empty());
    }
}
