//! Minimum mutator utilisation: the least share of any window of a given length in which the application could run.
//!
//! P. Cheng and G. E. Blelloch, *A Parallel, Real-Time Garbage Collector* (PLDI 2001). The minimum is at a window that
//! begins with a stop or ends with one, so only these are examined.

use crate::gc::log::Span;

/// Joins intervals that overlap, and sorts them by time.
#[must_use]
pub fn union(mut stops: Vec<Span>) -> Vec<Span> {
    stops.retain(|stop| stop.end_ns > stop.start_ns);
    stops.sort_unstable_by_key(|stop| stop.start_ns);
    let mut joined: Vec<Span> = Vec::with_capacity(stops.len());
    for stop in stops {
        match joined.last_mut() {
            Some(last) if stop.start_ns <= last.end_ns => last.end_ns = last.end_ns.max(stop.end_ns),
            _ => joined.push(stop),
        }
    }
    joined
}

/// Returns the sum of the intervals in nanoseconds.
#[must_use]
pub fn total_ns(stops: &[Span]) -> u64 {
    stops.iter().map(|stop| stop.end_ns - stop.start_ns).sum()
}

/// Returns the utilisation (0 to 1), or `None` if `observed` is shorter than the window. The stops are those of
/// [`union`], inside `observed`.
#[must_use]
pub fn minimum_utilisation(stops: &[Span], observed: Span, window_ns: u64) -> Option<f64> {
    if window_ns == 0 || observed.end_ns.saturating_sub(observed.start_ns) < window_ns {
        return None;
    }
    let mut sums = Vec::with_capacity(stops.len() + 1);
    sums.push(0);
    for stop in stops {
        sums.push(sums[sums.len() - 1] + stop.end_ns - stop.start_ns);
    }
    let stopped = StoppedTime { stops, sums };
    let latest = observed.end_ns - window_ns;
    let starts = stops.iter().flat_map(|stop| [stop.start_ns, stop.end_ns.saturating_sub(window_ns)]);
    let longest = starts
        .map(|start| start.clamp(observed.start_ns, latest))
        .map(|start| stopped.before(start + window_ns) - stopped.before(start))
        .max()
        .unwrap_or(0);
    Some(1.0 - longest as f64 / window_ns as f64)
}

struct StoppedTime<'a> {
    stops: &'a [Span],
    /// Sums of the lengths of the stops before each of them, and of all.
    sums: Vec<u64>,
}

impl StoppedTime<'_> {
    /// Returns the time for which the application was stopped before `at_ns`.
    fn before(&self, at_ns: u64) -> u64 {
        let begun = self.stops.partition_point(|stop| stop.start_ns < at_ns);
        match begun.checked_sub(1) {
            None => 0,
            Some(last) => {
                let stop = self.stops[last];
                self.sums[last] + at_ns.min(stop.end_ns) - stop.start_ns
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start_ns: u64, end_ns: u64) -> Span {
        Span { start_ns, end_ns }
    }

    #[test]
    fn intervals_are_joined() {
        let stops = vec![span(5, 7), span(1, 3), span(3, 4), span(6, 6), span(1, 2), span(9, 8)];
        assert_eq!(union(stops), [span(1, 4), span(5, 7)]);
        assert_eq!(total_ns(&[span(1, 4), span(5, 7)]), 5);
    }

    /// Compares with every window that begins at a whole nanosecond.
    #[test]
    fn the_minimum_is_that_of_all_windows() {
        let mut state = 1_u64;
        let mut next = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let observed = span(0, 20 + next(100));
            let stops: Vec<Span> = (0..next(6))
                .map(|_| {
                    let start = next(observed.end_ns);
                    span(start, (start + next(15)).min(observed.end_ns))
                })
                .collect();
            let stops = union(stops);
            let window = 1 + next(observed.end_ns);
            let stopped = |start: u64| {
                let inside = |at: u64| stops.iter().any(|stop| (stop.start_ns..stop.end_ns).contains(&at));
                (start..start + window).filter(|at| inside(*at)).count()
            };
            let most = (0..=observed.end_ns - window).map(stopped).max().unwrap();
            let expected = 1.0 - most as f64 / window as f64;
            assert_eq!(minimum_utilisation(&stops, observed, window), Some(expected), "{stops:?} {window}");
        }
        assert_eq!(minimum_utilisation(&[], span(0, 10), 11), None);
        assert_eq!(minimum_utilisation(&[], span(0, 10), 10), Some(1.0));
        assert_eq!(minimum_utilisation(&[], span(0, 10), 0), None);
    }
}
