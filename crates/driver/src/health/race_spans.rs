//! Lists of times of the race that stay short: what of one task is close together becomes one entry.
//!
//! The times of tasks are judged one by one, so that entries of different tasks are only merged if there are very many.
//! What an entry contains must add up: readers see that a merged one lasts longer, but not what it consists of.

/// Number of entries from which on those of a task are merged.
pub const USUAL_ENTRIES: usize = 256;

/// Largest number of entries, beyond which those of different tasks are merged, too.
pub const MOST_ENTRIES: usize = 4_096;

/// Something that lasted for a time of the race.
pub trait RaceSpan {
    /// Returns when it began and ended, in seconds since the first step began.
    fn span_s(&self) -> (f64, f64);

    /// Returns how many times a task had begun or ended before it, or `None` if one did so meanwhile. What has the same
    /// number was during the same tasks.
    fn changes(&self) -> Option<u32>;

    /// Adds a later one.
    fn merge(&mut self, later: &Self);
}

/// Merges entries so that there is room for another one: the two neighbours of the same tasks that last for the shortest
/// time together, or of different tasks if there are very many entries.
pub fn make_room<T: RaceSpan>(entries: &mut Vec<T>) {
    if entries.len() < USUAL_ENTRIES {
        return;
    }
    let is_alike = |at: &usize| {
        let (one, other) = (entries[*at - 1].changes(), entries[*at].changes());
        one.is_some() && one == other
    };
    let span = |at: &usize| entries[*at].span_s().1 - entries[*at - 1].span_s().0;
    let closest =
        |pairs: &mut dyn Iterator<Item = usize>| pairs.min_by(|one, other| span(one).total_cmp(&span(other)));
    let of_task = closest(&mut (1..entries.len()).filter(is_alike));
    let of_any = || closest(&mut (1..entries.len())).filter(|_| entries.len() >= MOST_ENTRIES);
    if let Some(at) = of_task.or_else(of_any) {
        let later = entries.remove(at);
        entries[at - 1].merge(&later);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begin and end, the changes before it, and the number of merged ones.
    #[derive(Debug, Clone, PartialEq)]
    struct Entry(f64, f64, Option<u32>, u32);

    impl RaceSpan for Entry {
        fn span_s(&self) -> (f64, f64) {
            (self.0, self.1)
        }

        fn changes(&self) -> Option<u32> {
            self.2
        }

        fn merge(&mut self, later: &Self) {
            *self = Self(self.0, later.1, self.2.filter(|_| self.2 == later.2), self.3 + later.3);
        }
    }

    fn list_of(entries: impl Iterator<Item = Entry>) -> Vec<Entry> {
        let mut list = Vec::new();
        for entry in entries {
            make_room(&mut list);
            list.push(entry);
        }
        list
    }

    fn second(at: u32, changes: u32) -> Entry {
        Entry(f64::from(at), f64::from(at) + 0.5, Some(changes), 1)
    }

    #[test]
    fn only_entries_of_the_same_tasks_are_merged() {
        // Two tasks, each of them between two changes, and the second in which one ended.
        let list = list_of((0..2_000).map(|at| match at {
            700 => Entry(700.0, 700.5, None, 1),
            _ => second(at, if at < 700 { 1 } else { 3 }),
        }));
        assert_eq!(list.len(), USUAL_ENTRIES);
        assert_eq!(list.iter().map(|entry| entry.3).sum::<u32>(), 2_000);
        assert!(list.contains(&Entry(700.0, 700.5, None, 1)));
        assert!(list.iter().all(|entry| entry.1 <= 700.5 || entry.0 >= 700.0));
    }

    #[test]
    fn entries_of_many_tasks_are_kept_apart_up_to_a_limit() {
        let list = list_of((0..3_000).map(|at| second(at, at)));
        assert_eq!(list.len(), 3_000);
        let list = list_of((0..5_000).map(|at| second(at, at)));
        assert_eq!(list.len(), MOST_ENTRIES);
        assert_eq!(list.iter().map(|entry| entry.3).sum::<u32>(), 5_000);
    }
}
