//! When the nodes of an engine restarted: their counters began again then, also those that have since become larger than
//! before.

use std::collections::HashMap;

use crate::telemetry::{Point, SeriesKind, SeriesPoints, TelemetrySeries};

/// Name of the series with how long the JVM of a node has run.
const UPTIME: &str = "jvm.uptime";
/// Label of the series of nodes.
const NODE: &str = "node";
/// Source of the series of the host, whose counters go on when a node restarts.
const HOST: &str = "host";
const MS_NS: f64 = 1e6;

/// By how much less than the time between two readings an uptime may grow although the node runs on, in nanoseconds and
/// as a share of that time: a reading may take thirty seconds, and the clocks of two machines do not run alike.
const TOLERATED_NS: f64 = 30e9;
const TOLERATED_SHARE: f64 = 0.001;

/// Returns whether a series has the uptimes of a node.
pub fn is_uptime(series: &TelemetrySeries) -> bool {
    series.name == UPTIME && series.kind == SeriesKind::Gauge && series.labels.contains_key(NODE)
}

/// The times at which nodes restarted.
#[derive(Debug, Default)]
pub struct NodeRestarts {
    /// Nanoseconds since 1970 in their order, by name of the node.
    times_ns: HashMap<String, Vec<i64>>,
}

impl NodeRestarts {
    /// Returns the restarts that those of these series tell which have uptimes.
    pub fn of(series: &[SeriesPoints]) -> Self {
        let mut times_ns: HashMap<String, Vec<i64>> = HashMap::new();
        for each in series.iter().filter(|each| is_uptime(&each.series)) {
            let restarts = restarts_ns(&each.points);
            if let Some(node) = each.series.labels.get(NODE)
                && !restarts.is_empty()
            {
                times_ns.entry(node.clone()).or_default().extend(restarts);
            }
        }
        for times in times_ns.values_mut() {
            times.sort_unstable();
        }
        Self { times_ns }
    }

    /// Returns the times at which the node of a series restarted; none if it is not one of a node.
    pub fn of_series(&self, series: &TelemetrySeries) -> &[i64] {
        let node = series.labels.get(NODE).filter(|_| series.source != HOST);
        node.and_then(|node| self.times_ns.get(node)).map_or(&[], Vec::as_slice)
    }
}

/// Returns whether a counter began again between two readings.
pub fn began_again(restarts_ns: &[i64], old: (i64, f64), new: (i64, f64)) -> bool {
    let next = restarts_ns.get(restarts_ns.partition_point(|time_ns| *time_ns <= old.0));
    new.1 < old.1 || next.is_some_and(|time_ns| *time_ns <= new.0)
}

/// Returns when a node restarted, by its uptimes in milliseconds.
fn restarts_ns(uptimes: &[Point]) -> Vec<i64> {
    let known = uptimes.iter().filter_map(|point| point.value.map(|value| (point.time_ns, value * MS_NS)));
    let mut times_ns = Vec::new();
    for ((old_ns, old), (new_ns, new)) in known.clone().zip(known.skip(1)) {
        let elapsed_ns = new_ns.saturating_sub(old_ns);
        if elapsed_ns <= 0 {
            // Two nodes have this name, and the next readings are those of one and the other.
            times_ns.push(new_ns.saturating_add(1));
            continue;
        }
        let elapsed = elapsed_ns as f64;
        if new < old || new - old < elapsed * (1.0 - TOLERATED_SHARE) - TOLERATED_NS {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "it is less than the time between the readings"
            )]
            let since_ns = new.clamp(0.0, elapsed) as i64;
            times_ns.push(new_ns.saturating_sub(since_ns).max(old_ns.saturating_add(1)));
        }
    }
    times_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn points(readings: &[(i64, Option<f64>)]) -> Vec<Point> {
        readings.iter().map(|&(second, value)| Point { time_ns: second * S, value }).collect()
    }

    fn restarts(uptimes_s: &[(i64, f64)]) -> Vec<i64> {
        let readings: Vec<_> = uptimes_s.iter().map(|&(at, uptime)| (at, Some(uptime * 1e3))).collect();
        restarts_ns(&points(&readings))
    }

    #[test]
    fn a_node_restarted_where_its_uptime_falls_or_hardly_grows() {
        assert_eq!(restarts(&[(0, 12.0), (10, 22.0), (20, 32.0), (40, 15.0), (50, 25.0)]), [25 * S]);
        // It had run for 12 s, did not reply for a minute, and has run for longer than before.
        assert_eq!(restarts(&[(0, 12.0), (60, 40.0), (70, 50.0)]), [20 * S]);
        assert_eq!(restarts(&[(0, 5.0), (10, 2.0), (20, 1.0)]), [8 * S, 19 * S]);
        let gap = [(0, Some(12_000.0)), (10, None), (20, Some(3_000.0))];
        assert_eq!(restarts_ns(&points(&gap)), [17 * S]);
    }

    #[test]
    fn a_node_whose_replies_are_late_runs_on() {
        for uptimes in [
            &[(0, 100.0), (10, 110.0), (20, 120.0)][..],
            &[(0, 100.0), (10, 105.0), (20, 115.0), (30, 130.0)],
            // Its clock is slower than that of the driver.
            &[(0, 100.0), (3_600, 3_697.0)],
            &[(0, 100.0)],
            &[],
        ] {
            assert_eq!(restarts(uptimes), [0_i64; 0], "{uptimes:?}");
        }
    }

    #[test]
    fn nothing_is_known_between_readings_of_two_nodes_with_one_name() {
        let both = [(0, 100.0), (0, 50.0), (10, 110.0), (10, 60.0)];
        for uptimes in [both, [both[1], both[0], both[3], both[2]]] {
            let restarts = restarts(&uptimes);
            assert!(began_again(&restarts, (0, 1.0), (10 * S, 2.0)), "{restarts:?}");
        }
    }

    #[test]
    fn a_counter_began_again_if_its_node_restarted_or_it_fell() {
        let restarts = [25 * S, 80 * S];
        let again = |from_s: i64, to_s: i64| began_again(&restarts, (from_s * S, 1.0), (to_s * S, 2.0));
        assert!(again(20, 25) && again(20, 40) && again(0, 99) && again(79, 80));
        assert!(!again(0, 24) && !again(25, 79) && !again(80, 99));
        assert!(began_again(&[], (0, 2.0), (S, 1.0)) && !began_again(&[], (0, 2.0), (S, 2.0)));
    }
}
