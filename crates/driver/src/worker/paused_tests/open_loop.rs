//! Schedules shared by the clients of an open-loop task. The number of workers must make no difference.

use std::sync::Arc;

use pacenote_record::EndedBy;
use serde_json::{Value, json};

use crate::task_client_id::TaskClientId;

use super::simulation::{Attempt, MS, Recorded, Response, SECOND, Simulation, paced, plan, task, timed};

/// Numbers of workers with which every promise of an open loop is tested.
const WORKERS: [usize; 3] = [1, 4, 8];

/// Builds an open-loop task.
fn open(clients: u32, interval: u64, iterations: u64) -> Value {
    let mut task = paced("search", clients, interval, iterations);
    task["open_loop"] = true.into();
    task
}

/// Runs a plan on each number of workers, and checks that every planned operation either began or is unsent.
fn on_all(plan: &Value, script: fn(Attempt) -> Response) -> Vec<Recorded> {
    let run = |workers| {
        let recorded = Simulation::new(plan, script).on_workers(workers).run();
        for ended in recorded.ended.values() {
            assert_eq!(ended.scheduled, Some(ended.begun + ended.unsent.total), "{workers}: {ended:?}");
        }
        recorded
    };
    WORKERS.map(run).into()
}

/// Returns the latency at rank ⌈p·n⌉, where p = `percent` / 100.
fn latency(recorded: &Recorded, percent: usize) -> u64 {
    let mut latencies: Vec<u64> = recorded.of(0).map(|sample| sample.times.latency_ns()).collect();
    latencies.sort_unstable();
    latencies[(latencies.len() * percent).div_ceil(100) - 1]
}

/// 100/s over 8 connections, one of which hangs for 3 s: its own operation is slow, and every other one is sent when it
/// is due. With a queue per worker, an eighth of the schedule would wait for it.
#[test]
fn a_hung_connection_of_eight_delays_no_other_operation() {
    let script = |attempt: Attempt| {
        let hangs = (attempt.id.client_number, attempt.number) == (3, 1);
        let mut response = Response::success(if hangs { 3 * SECOND } else { 10 * MS });
        response.is_wait = hangs;
        response
    };
    for kind in ["deterministic", "uniform"] {
        let mut task = timed(open(8, 10 * MS, 1), 0, 10 * SECOND);
        task["pacing"]["kind"] = kind.into();
        for recorded in on_all(&plan(&[task]), script) {
            assert!(recorded.of(0).all(|one| one.times.service_start_ns == one.times.due_ns), "{kind}");
            assert_eq!((latency(&recorded, 99), latency(&recorded, 100)), (10 * MS, 3 * SECOND));
            let ended = recorded.ended[&0];
            assert_eq!((ended.ended_by, ended.unsent.total, ended.unanswered), (EndedBy::Time, 0, 0));
        }
    }
}

/// 16 clients with a load of 0.8 and Poisson arrivals: one queue serves them all, so that the latencies are the same on
/// any number of workers.
#[test]
fn random_arrivals_wait_in_one_queue_on_any_number_of_workers() {
    let mut task = timed(open(16, MS / 2, 1), 0, 3 * SECOND);
    task["pacing"]["kind"] = "poisson".into();
    let plan = plan(&[task]);
    // Service times of 1 to 11.8 ms, 6.4 ms on average, in an order that does not depend on the workers.
    let script = |attempt: Attempt| {
        let mixed =
            attempt.number.wrapping_mul(0x9e37_79b9).rotate_left(7) ^ u64::from(attempt.id.client_number);
        Response::success(MS + mixed % 109 * MS / 10)
    };
    let runs = on_all(&plan, script);
    let latencies: Vec<_> = runs.iter().map(|recorded| [50, 90, 99].map(|p| latency(recorded, p))).collect();
    assert!(latencies[0][2] > 12 * MS, "no operation ever waited: {latencies:?}");
    assert_eq!((latencies[1], latencies[2]), (latencies[0], latencies[0]));
    assert!(runs.iter().all(|recorded| recorded.times(0).len() == runs[0].times(0).len()));
}

/// What `saturate` looks for: the highest rate at which 99 % of the latencies are below 80 ms and nothing is unsent.
/// The server has a fixed capacity: each of 8 connections serves one search at a time, in 10 ms or, one in eight, in 50
/// ms.
#[test]
fn the_highest_rate_within_an_objective_does_not_depend_on_the_number_of_workers() {
    let script = |attempt: Attempt| {
        let slow = attempt.number % 8 == u64::from(attempt.id.client_number);
        Response::success(if slow { 50 * MS } else { 10 * MS })
    };
    for pacing in ["deterministic", "poisson"] {
        let mut highest = [0; WORKERS.len()];
        for rate in (250..650).step_by(50) {
            let mut task = timed(open(8, SECOND / rate, 1), 0, SECOND);
            task["pacing"]["kind"] = pacing.into();
            for (highest, recorded) in highest.iter_mut().zip(on_all(&plan(&[task]), script)) {
                if latency(&recorded, 99) < 80 * MS && recorded.ended[&0].unsent.total == 0 {
                    *highest = rate;
                }
            }
        }
        // 15 ms on average: the capacity is 533/s.
        assert!((300..=560).contains(&highest[0]), "{pacing}: {highest:?}");
        assert_eq!(highest, [highest[0]; WORKERS.len()], "{pacing}");
    }
}

#[test]
fn a_slow_client_delays_no_other_operation() {
    let script = |attempt: Attempt| {
        let slow = (attempt.id.client_number, attempt.number) == (0, 0);
        Response::success(if slow { 95 * MS } else { 5 * MS })
    };
    for recorded in on_all(&plan(&[open(2, 10 * MS, 5)]), script) {
        assert!(
            recorded.of(0).all(|one| one.times.service_start_ns == one.times.due_ns),
            "{:?}",
            recorded.times(0)
        );
        // The second client takes all operations that are due while the first one waits for its response; then the
        // first is free again.
        let sent_by =
            |client| recorded.of_client(0, client).map(|one| one.times.due_ns / MS).collect::<Vec<_>>();
        assert_eq!((sent_by(0), sent_by(1)), (vec![0], (1..10).map(|number| number * 10).collect()));
        let ended = recorded.ended[&0];
        assert_eq!((ended.ended_by, ended.begun, ended.unsent.total), (EndedBy::Iterations, 10, 0));
    }
}

#[test]
fn operations_queue_for_a_saturated_engine_and_all_clients_take_them_in_order() {
    let saturated = timed(open(2, 10 * MS, 1), 0, 500 * MS);
    // Two clients whose operations take 50 ms send a pair of operations every 50 ms, the second 10 ms after the first.
    let expected: Vec<(u64, u64, u64)> = (0..20)
        .map(|number| (number * 10, number / 2 * 50 + number % 2 * 10))
        .map(|(due, sent)| (due * MS, sent * MS, (sent + 50) * MS))
        .collect();
    for recorded in on_all(&plan(&[saturated]), |_| Response::success(50 * MS)) {
        assert_eq!(recorded.times(0), expected);
        let ended = recorded.ended[&0];
        assert_eq!((ended.ended_by, ended.begun, ended.unsent.total), (EndedBy::Time, 20, 30));
        assert!(
            recorded.of(0).all(|sample| sample.times.lateness_ns() == 0),
            "waiting for the engine must not count as lateness"
        );
    }
}

#[test]
fn random_arrivals_are_sent_when_due_while_a_client_is_free() {
    for pacing in ["uniform", "poisson"] {
        let mut random = open(50, 10 * MS, 20);
        random["pacing"]["kind"] = pacing.into();
        for recorded in on_all(&plan(&[random]), |_| Response::success(20 * MS)) {
            assert_eq!(recorded.of(0).count(), 1000);
            assert!(recorded.of(0).all(|one| one.times.service_start_ns == one.times.due_ns), "{pacing}");
        }
    }
}

#[test]
fn ramp_up_adds_the_rate_of_one_client_after_another() {
    let mut ramped = timed(open(4, 10 * MS, 1), SECOND, 5 * SECOND);
    ramped["ramp_up_s"] = json!(4.0);
    for recorded in on_all(&plan(&[ramped]), |_| Response::success(MS)) {
        let in_second =
            |second: u64| recorded.of(0).filter(|one| one.times.service_start_ns / SECOND == second).count();
        assert_eq!((0..6).map(in_second).collect::<Vec<_>>(), [25, 50, 75, 100, 100, 100]);
        assert_eq!((recorded.warmup(0), recorded.ended[&0].unsent.total), (25, 0));
    }
}

#[test]
fn a_task_that_all_clients_enter_late_does_not_catch_up() {
    let mut plan = plan(&[task("long", 1, 1), open(1, 10 * MS, 3)]);
    plan["steps"][0]["client_allocations"] = json!([
        {"client": 0, "allocations": [{"task": 0, "client": 0}, {"task": 1, "client": 0}]},
    ]);
    for recorded in on_all(&plan, |_| Response::success(25 * MS)) {
        // The task starts when its first client enters it: no operation was due earlier.
        assert_eq!(recorded.times(1)[0], (0, 0, 25 * MS));
        let ended = recorded.ended[&1];
        assert_eq!((ended.ended_by, ended.scheduled), (EndedBy::Iterations, Some(3)));
    }
}

/// The second client comes from a task of 123 ms. Until then, the first one serves the whole schedule; then both do.
#[test]
fn a_client_that_enters_late_serves_the_same_schedule() {
    let mut plan = plan(&[task("long", 1, 1), timed(open(2, 10 * MS, 1), 0, 300 * MS)]);
    plan["steps"][0]["client_allocations"] = json!([
        {"client": 0, "allocations": [{"task": 1, "client": 0}]},
        {"client": 1, "allocations": [{"task": 0, "client": 0}, {"task": 1, "client": 1}]},
    ]);
    let script =
        |attempt: Attempt| Response::success(if attempt.id.task_index == 0 { 123 * MS } else { 8 * MS });
    for recorded in on_all(&plan, script) {
        let expected: Vec<_> =
            (0..30).map(|number| (number * 10 * MS, number * 10 * MS, (number * 10 + 8) * MS)).collect();
        assert_eq!(recorded.times(1), expected);
        assert!(recorded.of_client(1, 1).all(|one| one.times.due_ns >= 130 * MS));
        assert!(recorded.of_client(1, 1).count() > 5, "the late client takes its part");
    }
}

/// The second client comes from another task after 123 ms, or not before the task has ended: its connection is missing
/// until then, of which the first 60 ms are the warm-up.
#[test]
fn the_connection_of_a_client_that_enters_late_is_missing_until_then() {
    for (busy_ms, missed_s) in [(123, 0.123), (180, 0.15)] {
        let mut plan = plan(&[task("long", 1, 1), timed(open(2, 10 * MS, 1), 60 * MS, 90 * MS)]);
        plan["steps"][0]["client_allocations"] = json!([
            {"client": 0, "allocations": [{"task": 1, "client": 0}]},
            {"client": 1, "allocations": [{"task": 0, "client": 0}, {"task": 1, "client": 1}]},
        ]);
        let simulation = Simulation::new(&plan, move |attempt| {
            Response::success(if attempt.id.task_index == 0 { busy_ms * MS } else { 8 * MS })
        });
        let race_state = Arc::clone(&simulation.race_state);
        let recorded = simulation.run();
        let [joins] = &race_state.late_joins.of_tasks()[..] else { panic!("one task with a late client") };
        assert_eq!((joins.index, joins.clients, joins.missed_s, joins.latest_s), (1, 1, missed_s, missed_s));
        assert!((joins.missed_measured_s - (missed_s - 0.06)).abs() < 1e-9, "{joins:?}");
        // Nothing is skipped.
        let ended = recorded.ended[&1];
        assert_eq!((ended.begun, ended.unsent.total), (15, 0));
    }
}

/// The step is completed while the second client is still in another task.
#[test]
fn the_connection_of_a_client_that_never_enters_is_missing_until_the_task_is_completed() {
    let mut plan = plan(&[task("long", 1, 1), timed(open(2, 10 * MS, 1), 0, 300 * MS), task("first", 1, 1)]);
    plan["steps"][0]["completed_by"] = json!({"kind": "task", "task": 2});
    plan["steps"][0]["client_allocations"] = json!([
        {"client": 0, "allocations": [{"task": 1, "client": 0}]},
        {"client": 1, "allocations": [{"task": 0, "client": 0}, {"task": 1, "client": 1}]},
        {"client": 2, "allocations": [{"task": 2, "client": 0}]},
    ]);
    let simulation = Simulation::new(&plan, |attempt| {
        Response::success([180, 8, 120][attempt.id.task_index as usize] * MS)
    });
    let race_state = Arc::clone(&simulation.race_state);
    simulation.run();
    let [joins] = &race_state.late_joins.of_tasks()[..] else { panic!("one task with a late client") };
    assert_eq!((joins.index, joins.clients, joins.missed_s, joins.latest_s), (1, 1, 0.12, 0.12));
}

/// The source of one client ends after two operations: the other client takes the rest of the schedule.
#[test]
fn a_source_that_ends_for_one_client_takes_nothing_from_the_others() {
    for workers in WORKERS {
        let task = timed(open(2, 10 * MS, 1), 0, 200 * MS);
        let ends = |id: TaskClientId, number| (id.client_number == 0 || number < 2).then_some(0);
        let simulation = Simulation::new(&plan(&[task]), |_| Response::success(15 * MS));
        let recorded = simulation.supplied_to(ends).on_workers(workers).run();
        let ended = recorded.ended[&0];
        assert_eq!((ended.ended_by, ended.scheduled), (EndedBy::Time, Some(20)));
        assert_eq!((ended.begun + ended.unsent.total, recorded.of_client(0, 1).count()), (20, 2));
        let mut dues: Vec<u64> = recorded.of(0).map(|one| one.times.due_ns / MS).collect();
        dues.sort_unstable();
        assert_eq!(dues, (0..ended.begun).map(|number| number * 10).collect::<Vec<_>>());
    }
}
