//! An engine that stalls while the schedule continues.

use std::time::Duration;

use super::{MS, counted};
use crate::support::samples::beginning;
use crate::support::server::response_with_took;
use crate::support::{Sample, Server, plan, run};

/// A race at `rate` operations per second over `clients` clients that send `each` operations each, whose engine sends
/// no response from `from` to `to` ms.
struct Stall {
    clients: u32,
    rate: i64,
    each: u64,
    from: i64,
    to: i64,
    open_loop: bool,
    threads: u32,
}

impl Stall {
    /// Runs the race and asserts the effects of the stall.
    ///
    /// The schedule continues during the stall, so rate × length operations are due in it. Every connection has one of
    /// them in flight, or one that was sent just before the stall; the others cannot be sent before its end. An
    /// operation that is due at t has a latency of at least end - t, a straight line. This latency is caused by the
    /// engine, not by the driver, so it is not lateness; and only the service times of the operations in flight include
    /// it.
    fn prove(&self) {
        let Self { clients, rate, from, to, .. } = *self;
        let stall = Duration::from_millis(from.unsigned_abs())..Duration::from_millis(to.unsigned_abs());
        let server = Server::stalling(&[stall], |_, before| Some(response_with_took(before)));
        let mut task = counted("search", clients, rate as f64, self.each);
        task["open_loop"] = self.open_loop.into();
        let mut plan = plan(server.port, &[task]);
        plan["driver"]["threads"] = self.threads.into();
        let race = run(&plan);
        let (result, seen) = (race.task("search"), server.requests());
        let planned = self.each as usize * clients as usize;
        assert_eq!((race.samples.len(), seen.len()), (planned, planned));
        let begin = beginning(&race.samples, &seen);
        // Start and end of the stall on the task's clock, as precisely as the start of the task is known.
        let first = seen[0].arrived.cast_signed();
        let (earliest, latest) = (first - begin.end(), first - begin.start());
        let end = earliest + to * MS;
        let due = |sample: &&Sample| (latest + from * MS..end).contains(&sample.due);
        let in_stall: Vec<&Sample> = race.samples.iter().filter(due).collect();
        let late: Vec<&&Sample> = in_stall.iter().filter(|sample| sample.sent >= end).collect();
        let expected =
            rate * (to - from) / 1000 - rate * (latest - earliest) / (1_000_000_000) - i64::from(clients) - 1;
        assert!(late.len() as i64 >= expected, "{} of {expected} operations were sent late", late.len());
        // No latency lies below the line. What it exceeds the line by is the server's time: in the server's log, the
        // next request on the connection is an upper bound for every `done`.
        assert!(late.iter().all(|sample| sample.latency() >= end - sample.due), "{late:?}");
        // No client was free to send them, and each of them is counted as having waited.
        assert!(result.operation_totals.waited >= late.len() as u64, "{:?}", result.operation_totals);
        assert!(in_stall.iter().all(|sample| sample.done >= end), "a response arrived during the stall");
        // At most one operation per connection was in flight.
        let held = race.samples.iter().filter(|sample| sample.sent < end && sample.done >= end).count();
        assert!(held <= clients as usize, "{held} requests were in flight");
        let lateness = result.lateness.as_ref().unwrap();
        assert!(
            lateness.percentiles[0].ms < (to - from) as f64 / 4.0,
            "the stall must not count as the driver's lateness: {lateness:?}"
        );
        let latency = result.latency.as_ref().unwrap();
        assert!(
            latency.max_ms >= (to - from) as f64 - 1e3 / rate as f64 - ((latest - earliest) / MS + 1) as f64
        );
    }
}

/// 100/s and a stall of 2 s: 200 operations are due in it, of which 4 are in flight and 196 are sent late.
#[test]
fn a_stall_of_two_seconds_at_100_per_second_delays_200_requests_along_a_straight_line() {
    Stall { clients: 4, rate: 100, each: 60, from: 200, to: 2200, open_loop: false, threads: 2 }.prove();
}

/// 500/s and a stall of 0.4 s: again, 200 operations are due in it.
#[test]
fn a_stall_of_400_ms_at_500_per_second_delays_as_many_requests() {
    Stall { clients: 10, rate: 500, each: 30, from: 100, to: 500, open_loop: false, threads: 2 }.prove();
}

/// An open loop with few connections queues in the same way.
#[test]
fn in_an_open_loop_with_few_connections_a_stall_delays_requests_along_the_same_line() {
    for threads in [1, 4, 8] {
        Stall { clients: 8, rate: 500, each: 40, from: 100, to: 500, open_loop: true, threads }.prove();
    }
}

/// 500/s, a stall of 0.2 s, and a connection for each of the 300 operations, so that the 100 due in the stall can be in
/// flight: no operation waits for a connection, all are sent when they are due, and the line appears in their service
/// times.
#[test]
fn in_an_open_loop_with_enough_connections_no_operation_waits_for_one() {
    for threads in [1, 4, 8] {
        prove_that_none_waits(threads);
    }
}

fn prove_that_none_waits(threads: u32) {
    let server = Server::stalling(&[Duration::from_millis(100)..Duration::from_millis(300)], |_, before| {
        response_with_took(before)
    });
    let mut task = counted("search", 300, 500.0, 1);
    task["open_loop"] = true.into();
    let mut plan = plan(server.port, &[task]);
    plan["driver"]["threads"] = threads.into();
    let race = run(&plan);
    let (result, seen) = (race.task("search"), server.requests());
    assert_eq!(
        (seen.len(), result.operation_totals.succeeded, result.operation_totals.waited),
        (300, 300, 0)
    );
    let mut due: Vec<i64> = race.samples.iter().map(|sample| sample.due).collect();
    due.sort_unstable();
    assert_eq!(due, (0..300).map(|number| number * 2 * MS).collect::<Vec<_>>());
    let begin = beginning(&race.samples, &seen);
    let end = seen[0].arrived.cast_signed() - begin.end() + 300 * MS;
    let from = seen[0].arrived.cast_signed() - begin.start() + 100 * MS;
    let held = race.samples.iter().filter(|sample| (from..end).contains(&sample.sent));
    assert!(held.clone().all(|sample| sample.service() >= end - sample.sent));
    // Operations delayed by the machine are late, and are reported as late.
    let due = race.samples.iter().filter(|sample| (from..end).contains(&sample.due)).count();
    let late = race.samples.iter().filter(|sample| sample.sent - sample.due > 10 * MS).count();
    assert!(held.count() + late + 5 >= due, "{late} of {due} operations were late");
}
