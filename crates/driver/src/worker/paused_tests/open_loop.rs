//! Schedules shared by the clients of an open-loop task.

use pacenote_record::EndedBy;
use serde_json::{Value, json};

use super::simulation::{MS, Response, SECOND, Simulation, paced, plan, task, timed};

/// Builds an open-loop task.
fn open(clients: u32, interval: u64, iterations: u64) -> Value {
    let mut task = paced("search", clients, interval, iterations);
    task["open_loop"] = true.into();
    task
}

#[test]
fn a_slow_client_delays_no_other_operation() {
    let recorded = Simulation::new(&plan(&[open(2, 10 * MS, 5)]), |attempt| {
        let slow = (attempt.id.client_number, attempt.number) == (0, 0);
        Response::success(if slow { 95 * MS } else { 5 * MS })
    })
    .run();
    assert!(
        recorded.of(0).all(|one| one.times.service_start_ns == one.times.due_ns),
        "{:?}",
        recorded.times(0)
    );
    // The second client takes all operations that are due while the first one waits for its response; then the first is
    // free again.
    let sent_by = |client| recorded.of_client(0, client).map(|one| one.times.due_ns / MS).collect::<Vec<_>>();
    assert_eq!((sent_by(0), sent_by(1)), (vec![0], (1..10).map(|number| number * 10).collect()));
    let ended = recorded.ended[&0];
    assert_eq!(
        (ended.ended_by, ended.scheduled, ended.begun, ended.unsent),
        (EndedBy::Iterations, Some(10), 10, 0)
    );
}

#[test]
fn operations_queue_for_a_saturated_engine_and_all_clients_take_them_in_order() {
    let saturated = timed(open(2, 10 * MS, 1), 0, 500 * MS);
    let recorded = Simulation::new(&plan(&[saturated]), |_| Response::success(50 * MS)).run();
    // Two clients whose operations take 50 ms send a pair of operations every 50 ms, the second 10 ms after the first.
    let expected: Vec<(u64, u64, u64)> = (0..20)
        .map(|number| (number * 10, number / 2 * 50 + number % 2 * 10))
        .map(|(due, sent)| (due * MS, sent * MS, (sent + 50) * MS))
        .collect();
    assert_eq!(recorded.times(0), expected);
    let ended = recorded.ended[&0];
    assert_eq!(
        (ended.ended_by, ended.begun, ended.unsent, ended.scheduled),
        (EndedBy::Time, 20, 30, Some(50))
    );
    assert!(
        recorded.of(0).all(|sample| sample.times.lateness_ns() == 0),
        "waiting for the engine must not count as lateness"
    );
}

#[test]
fn random_arrivals_are_sent_when_due_while_a_client_is_free() {
    for pace in ["uniform", "poisson"] {
        let mut random = open(50, 10 * MS, 20);
        random["pace"]["kind"] = pace.into();
        let recorded = Simulation::new(&plan(&[random]), |_| Response::success(20 * MS)).run();
        assert_eq!(recorded.of(0).count(), 1000);
        assert!(recorded.of(0).all(|one| one.times.service_start_ns == one.times.due_ns), "{pace}");
    }
}

#[test]
fn ramp_up_adds_the_rate_of_one_client_after_another() {
    let mut ramped = timed(open(4, 10 * MS, 1), SECOND, 5 * SECOND);
    ramped["ramp_up_s"] = json!(4.0);
    let recorded = Simulation::new(&plan(&[ramped]), |_| Response::success(MS)).run();
    let in_second =
        |second: u64| recorded.of(0).filter(|one| one.times.service_start_ns / SECOND == second).count();
    assert_eq!((0..6).map(in_second).collect::<Vec<_>>(), [25, 50, 75, 100, 100, 100]);
    assert_eq!((recorded.warmup(0), recorded.ended[&0].unsent), (25, 0));
}

#[test]
fn a_task_that_all_clients_enter_late_does_not_catch_up() {
    let tasks = [task("long", 1, 1), open(1, 10 * MS, 3)];
    let mut plan = plan(&tasks);
    plan["steps"][0]["slots"] = json!([
        {"client": 0, "allocations": [{"task": 0, "client": 0}, {"task": 1, "client": 0}]},
    ]);
    let recorded = Simulation::new(&plan, |_| Response::success(25 * MS)).run();
    // The task starts when its first client enters it: no operation was due earlier.
    assert_eq!(recorded.times(1)[0], (0, 0, 25 * MS));
    let ended = recorded.ended[&1];
    assert_eq!((ended.ended_by, ended.scheduled), (EndedBy::Iterations, Some(3)));
}
