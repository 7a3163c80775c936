//! What a log proves to be missing, or not to belong to it.

use serde::Serialize;

use crate::gc::span::Span;

/// Periods and gaps that are told apart; of more, only the number is known.
const MOST: usize = 64;

/// Collections of which the log has no line, although it has lines of earlier and of later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MissingCollections {
    /// The number of the first of them.
    pub first: u64,
    /// The number of the last of them.
    pub last: u64,
    /// When the last line before them was written.
    #[serde(skip)]
    pub after_ns: u64,
    /// When the first line after them was written.
    #[serde(skip)]
    pub before_ns: u64,
}

impl MissingCollections {
    /// Returns how many they are.
    #[must_use]
    pub fn count(self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }
}

/// What a log proves to be missing, or not to belong to it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Losses {
    /// Messages that the JVM dropped, because it wrote the log asynchronously.
    pub dropped_messages: u64,
    /// Collections without lines, at most 64 groups.
    pub missing: Vec<MissingCollections>,
    /// Further collections without lines.
    pub further_missing: u64,
    /// The first collection of a log that does not begin with the first collection, nor with the JVM.
    pub begins_with: Option<u64>,
    /// Lines of pauses that could not be read.
    pub unread_pauses: u64,
    /// Collections that ended again: the lines of several JVMs are mixed, or lines are repeated.
    pub repeated_collections: u64,
    /// Times in which something is missing.
    periods: Vec<Span>,
}

impl Losses {
    /// Notes that something is missing between two times.
    pub(crate) fn add(&mut self, start_ns: u64, end_ns: u64) {
        let end_ns = end_ns.max(1);
        let period = Span { start_ns: start_ns.min(end_ns - 1), end_ns };
        let is_full = self.periods.len() >= MOST;
        match self.periods.last_mut() {
            Some(last) if is_full || last.end_ns >= period.start_ns => {
                last.start_ns = last.start_ns.min(period.start_ns);
                last.end_ns = last.end_ns.max(period.end_ns);
            }
            _ => self.periods.push(period),
        }
    }

    /// Adds collections of which only the number is kept if there are too many groups.
    fn push(&mut self, missing: MissingCollections) {
        if self.missing.len() < MOST {
            self.missing.push(missing);
        } else {
            self.further_missing = self.further_missing.saturating_add(missing.count());
            self.add(missing.after_ns, missing.before_ns);
        }
    }

    /// Removes a collection from those that are missing.
    fn remove(&mut self, id: u64) {
        let contains = |group: &MissingCollections| (group.first..=group.last).contains(&id);
        let Some(index) = self.missing.iter().position(contains) else { return };
        let group = self.missing.remove(index);
        if group.first < id {
            self.missing.insert(index, MissingCollections { last: id - 1, ..group });
        }
        if id < group.last {
            self.push(MissingCollections { first: id + 1, ..group });
        }
    }

    /// Returns whether something is missing in a window, or anywhere.
    #[must_use]
    pub fn concern(&self, window: Option<Span>) -> bool {
        let overlaps = |start_ns: u64, end_ns: u64| {
            window.is_none_or(|window| start_ns < window.end_ns && window.start_ns < end_ns)
        };
        self.periods.iter().any(|period| overlaps(period.start_ns, period.end_ns))
            || self.missing.iter().any(|missing| overlaps(missing.after_ns, missing.before_ns.max(1)))
    }

    /// Returns the number of collections without lines.
    #[must_use]
    pub fn missing_collections(&self) -> u64 {
        self.missing.iter().fold(self.further_missing, |sum, missing| sum.saturating_add(missing.count()))
    }
}

/// Finds the collections that are missing from the numbers of those that a log has.
#[derive(Debug, Default)]
pub(crate) struct CollectionNumbers {
    /// The number after the largest one so far.
    next: Option<u64>,
}

impl CollectionNumbers {
    /// Reads the number of the collection of a line. Lines of collections that overlap may come in any order.
    /// `between` is the time from the line before it to this line.
    pub(crate) fn read(&mut self, losses: &mut Losses, id: u64, between: Span) {
        let next = self.next.unwrap_or(id);
        if id < next {
            losses.remove(id);
            return;
        }
        if id > next {
            let (after_ns, before_ns) = (between.start_ns, between.end_ns);
            losses.push(MissingCollections { first: next, last: id - 1, after_ns, before_ns });
        }
        self.next = Some(id.saturating_add(1));
    }

    /// Returns whether no number was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.next.is_none()
    }

    /// Expects a number to be the first one.
    pub(crate) fn expect(&mut self, id: u64) {
        self.next = Some(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing_after(ids: &[u64]) -> Vec<(u64, u64)> {
        let (mut numbers, mut losses) = (CollectionNumbers::default(), Losses::default());
        for (at, id) in (1..).zip(ids) {
            numbers.read(&mut losses, *id, Span { start_ns: at - 1, end_ns: at });
        }
        losses.missing.sort_unstable_by_key(|group| group.first);
        losses.missing.iter().map(|group| (group.first, group.last)).collect()
    }

    #[test]
    fn numbers_that_never_come_are_missing() {
        assert_eq!(missing_after(&[0, 1, 601, 602]), [(2, 600)]);
        assert!(missing_after(&[5, 7, 6, 8]).is_empty(), "collections overlap");
        assert_eq!(missing_after(&[0, 9, 4, 5]), [(1, 3), (6, 8)]);
        assert_eq!(missing_after(&[0, u64::MAX, 3]), [(1, 2), (4, u64::MAX - 1)]);
        assert!(missing_after(&[7, 7, 3]).is_empty());
    }

    #[test]
    fn their_number_is_limited() {
        let (mut numbers, mut losses) = (CollectionNumbers::default(), Losses::default());
        for id in
            [0, 2002].into_iter().chain((0..=1000).map(|id| id * 2)).chain((0..1000).map(|id| 3000 + id * 2))
        {
            numbers.read(&mut losses, id, Span { start_ns: id, end_ns: id + 1 });
        }
        for id in (0..1000).map(|id| id * 2 + 1) {
            losses.add(id, id);
        }
        assert!(losses.missing.len() <= MOST && losses.periods.len() <= MOST);
        assert!(losses.missing_collections() > 2000);
    }

    #[test]
    fn a_loss_concerns_the_windows_in_which_it_happened() {
        let mut losses = Losses::default();
        assert!(!losses.concern(None));
        losses.add(10, 20);
        let window = |start_ns, end_ns| Some(Span { start_ns, end_ns });
        assert!(losses.concern(None) && losses.concern(window(15, 16)) && losses.concern(window(19, 30)));
        assert!(!losses.concern(window(20, 30)) && !losses.concern(window(0, 10)));
    }
}
