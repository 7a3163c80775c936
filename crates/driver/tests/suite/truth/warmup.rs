//! An engine that is slow at first: what its warm-up leaves to the measured window.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{MS, paced};
use crate::support::server::Answer;
use crate::support::{Finished, Sample, Server, plan, request_task, run, success_response};

/// Runs a race at 100/s with one client, whose warm-up takes 0.2 s and whose first operation takes `first_ms`.
fn race(first_ms: u64, open_loop: bool) -> Finished {
    race_of(paced("search", 1, 100.0, (0.2, 1.0)), first_ms, open_loop, false)
}

fn race_of(mut task: Value, first_ms: u64, open_loop: bool, warmup_drain: bool) -> Finished {
    let server = Server::start(move |_, before| {
        Answer::from(success_response()).after(Duration::from_millis(if before == 0 { first_ms } else { 0 }))
    });
    task["open_loop"] = open_loop.into();
    let mut plan = plan(server.port, &[task]);
    plan["driver"]["warmup_drain"] = warmup_drain.into();
    run(&plan)
}

/// Returns the measured operations that waited for the warm-up in a chain, by its definition: from the first one on,
/// each was due before the operation before it was done.
fn delayed(samples: &[Sample]) -> Vec<&Sample> {
    let mut ordered: Vec<&Sample> = samples.iter().collect();
    ordered.sort_by_key(|sample| sample.due);
    let warmup = ordered.iter().filter(|sample| sample.warmup).count();
    ordered[warmup - 1..]
        .windows(2)
        .take_while(|pair| pair[1].due < pair[0].done)
        .map(|pair| pair[1])
        .collect()
}

#[test]
fn operations_that_wait_for_a_slow_warm_up_are_counted() {
    for open_loop in [false, true] {
        let finished = race(400, open_loop);
        let result = finished.task("search");
        let (backlog, delayed) = (result.warmup_backlog, delayed(&finished.samples));
        assert_eq!(backlog.delayed, delayed.len() as u64, "{open_loop}");
        // Those that were due from 200 to 400 ms waited for the first one.
        assert!(backlog.delayed >= 20 && backlog.marked && backlog.gone, "{backlog:?}");
        let last_s = delayed[delayed.len() - 1].due as f64 / 1e9;
        assert_eq!(backlog.until_s, Some(last_s));
        // The first of them was due at 200 ms, and the engine answered nothing before 400 ms.
        assert!(delayed[0].latency() >= 199 * MS, "{:?}", delayed[0]);
    }
}

/// At 400/s, 800 operations wait when the warm-up ends, and the engine then answers at once.
#[test]
fn throughput_that_exceeds_the_target_rate_for_what_the_warm_up_left_is_marked() {
    for (open_loop, first_ms) in [(false, 2000), (true, 2000), (false, 0)] {
        let server = Server::start(move |_, before| {
            Answer::from(success_response()).after(Duration::from_millis(if before < 2 {
                first_ms
            } else {
                0
            }))
        });
        let mut task = paced("search", 2, 400.0, (2.0, 4.0));
        task["open_loop"] = open_loop.into();
        let finished = run(&plan(server.port, &[task]));
        let result = finished.task("search");
        let ended = |sample: &&Sample| (2_000 * MS..6_000 * MS).contains(&sample.done);
        let done = finished.samples.iter().filter(ended).count() as u64;
        assert_eq!(result.window_operations, done);
        let due = finished.samples.iter().filter(|sample| !sample.warmup).count() as u64;
        let unsent = result.operation_totals.unsent;
        let backlog = result.warmup_backlog;
        assert_eq!(backlog.surplus, done.saturating_sub(due + unsent), "{open_loop} {backlog:?}");
        assert_eq!(backlog.throughput_marked, first_ms > 0, "{open_loop} {backlog:?}");
        let rate = result.throughput.unwrap().mean;
        assert_eq!(rate > 500.0, first_ms > 0, "{rate}");
    }
}

#[test]
fn a_warm_up_that_contains_its_backlog_leaves_none() {
    for open_loop in [false, true] {
        // A busy machine may pause at the end of the warm-up, but not every time.
        let mut counts = Vec::new();
        while counts.len() < 10 && !counts.contains(&0) {
            let finished = race(40, open_loop);
            let backlog = finished.task("search").warmup_backlog;
            assert_eq!(backlog.delayed, delayed(&finished.samples).len() as u64, "{open_loop} {backlog:?}");
            counts.push(backlog.delayed);
        }
        assert!(counts.contains(&0), "{open_loop} {counts:?}");
    }
}

#[test]
fn a_window_begins_when_the_backlog_of_the_warm_up_is_gone() {
    for open_loop in [false, true] {
        // The window begins at 1.7 s at the latest: a busy machine has time to catch up.
        let finished = race_of(paced("search", 1, 50.0, (0.2, 3.0)), 400, open_loop, true);
        let result = finished.task("search");
        let drain = result.warmup_backlog.drain.unwrap();
        let window_from_s = drain.window_from_s.unwrap();
        assert!(window_from_s >= 0.4 && drain.operations >= 10 && !drain.gave_up, "{drain:?}");
        assert_eq!(result.warmup_backlog.delayed, delayed(&finished.samples).len() as u64);
        assert!((result.window_s - (3.2 - window_from_s)).abs() < 1e-9, "{}", result.window_s);
        for sample in &finished.samples {
            assert_eq!(sample.warmup, (sample.due as f64) < window_from_s * 1e9, "{sample:?}");
        }
        // The schedule is as planned. On a busy machine, the last operations of it may not be sent.
        let totals = result.operation_totals;
        assert_eq!((finished.samples.len() as u64, totals.begun + totals.unsent), (totals.begun, 160));
    }
}

/// Runs a race at 100/s with 64 clients on an engine that serves one request at a time, in 7 ms, and the first one in
/// `first_ms`; the warm-up takes 0.4 s.
fn race_of_one_at_a_time(first_ms: u64, open_loop: bool, warmup_drain: bool) -> Finished {
    let free = Mutex::new(None);
    let server = Server::start(move |_, before| {
        let mut free = free.lock().unwrap();
        let now = Instant::now();
        let service = Duration::from_millis(if before == 0 { first_ms } else { 7 });
        let done = free.map_or(now, |free: Instant| free.max(now)) + service;
        *free = Some(done);
        Answer::from(success_response()).after(done - now)
    });
    let mut task = paced("search", 64, 100.0, (0.4, 2.0));
    task["open_loop"] = open_loop.into();
    let mut plan = plan(server.port, &[task]);
    plan["driver"]["warmup_drain"] = warmup_drain.into();
    run(&plan)
}

/// 40 requests are in flight when the warm-up ends. No client is late, but those that are due then wait for them.
#[test]
fn operations_that_wait_in_an_engine_for_a_slow_warm_up_are_counted() {
    for (open_loop, warmup_drain) in [(false, false), (true, false), (false, true)] {
        let finished = race_of_one_at_a_time(400, open_loop, warmup_drain);
        let result = finished.task("search");
        let backlog = result.warmup_backlog;
        // While the 39 that wait take 273 ms, 27 others are due; more are in flight than later for about a second.
        assert!(backlog.in_engine >= 20 && backlog.delayed >= backlog.in_engine, "{backlog:?}");
        assert!(backlog.marked && backlog.from_quantile.is_some(), "{backlog:?}");
        // They are the first ones; of two that are sent at almost the same time, either may be the first.
        let until_ns = backlog.until_s.unwrap() * 1e9;
        let is_first = |sample: &&Sample| !sample.warmup && sample.due as f64 <= until_ns + 1.0;
        let first = finished.samples.iter().filter(is_first).count() as u64;
        assert!((backlog.delayed..=backlog.delayed + 3).contains(&first), "{first} {backlog:?}");
    }
}

#[test]
fn an_engine_that_works_its_warm_up_off_in_time_leaves_nothing() {
    for open_loop in [false, true] {
        // The machine may pause at the end of the warm-up, but not every time.
        let counts = [(); 3]
            .map(|()| race_of_one_at_a_time(40, open_loop, false).task("search").warmup_backlog.in_engine);
        assert!(counts.contains(&0), "{open_loop} {counts:?}");
    }
}

/// The second of two clients is busy in another task for 500 ms, of which 200 ms are the warm-up. The window begins when
/// it has caught up or, of an engine that is too slow, in the middle of the planned one.
#[test]
fn what_a_client_missed_before_a_window_that_waited_is_not_missing_from_it() {
    for (reply_ms, measured_s, gave_up) in [(0, 3.0, false), (60, 0.4, true)] {
        let server = Server::start(move |_, _| {
            Answer::from(success_response()).after(Duration::from_millis(reply_ms))
        });
        let mut busy = request_task("busy", 1, 1);
        busy["work"] = json!({"kind": "sleep", "seconds": 0.5});
        let mut plan = plan(server.port, &[busy, paced("search", 2, 50.0, (0.2, measured_s))]);
        plan["driver"]["warmup_drain"] = true.into();
        plan["steps"] = json!([{"name": "both", "completed_by": null, "client_allocations": [
            {"client": 0, "allocations": [{"task": 1, "client": 0}]},
            {"client": 1, "allocations": [{"task": 0, "client": 0}, {"task": 1, "client": 1}]}]}]);
        let finished = run(&plan);
        let drain = finished.task("search").warmup_backlog.drain.unwrap();
        let [joins] = &finished.summary.late_joins[..] else { panic!("one task with late clients") };
        assert!(joins.latest_s >= 0.49 && drain.gave_up == gave_up, "{joins:?} {drain:?}");
        let missed_s = (joins.latest_s - drain.window_from_s.unwrap()).max(0.0);
        assert!((joins.missed_measured_s - missed_s).abs() < 1e-9, "{joins:?} {drain:?}");
        assert_eq!(missed_s > 0.0, gave_up, "{joins:?} {drain:?}");
    }
}
