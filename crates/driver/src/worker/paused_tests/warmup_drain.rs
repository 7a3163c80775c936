//! Windows that wait until the backlog of the warm-up is gone, on exact times.

use pacenote_record::{Delivery, DrainedWindow, SampleType, UnsentOperations};
use serde_json::Value;

use super::simulation::{Attempt, MS, Recorded, Response, SECOND, Simulation, paced, plan, timed};

/// A client whose first operation takes 150 ms, and all others 5 ms.
fn slow_first(attempt: Attempt) -> Response {
    Response::success(if attempt.number == 0 { 150 * MS } else { 5 * MS })
}

/// An operation every 10 ms for a second, after a warm-up of 100 ms: the window begins at 600 ms at the latest.
fn with_warmup(clients: u32) -> Value {
    timed(paced("search", clients, 10 * MS, 1), 100 * MS, SECOND)
}

fn drained(task: Value) -> Value {
    let mut plan = plan(&[task]);
    plan["driver"]["warmup_drain"] = true.into();
    plan
}

/// Returns the window, and the numbers of operations that the drain took and that the warm-up delayed.
fn outcome(recorded: &Recorded) -> (DrainedWindow, u64, u64) {
    let end = &recorded.ended[&0];
    (end.drained_window.unwrap(), end.warmup_backlog.drained, end.warmup_backlog.delayed)
}

fn window(begin_ms: u64) -> DrainedWindow {
    DrainedWindow { begin_ns: begin_ms * MS, gave_up: false }
}

/// Asserts that the measured operations are those which are due in the window.
fn assert_measured_from(recorded: &Recorded, begin_ms: u64) {
    for sample in recorded.of(0) {
        let is_measured = sample.sample_type == SampleType::Measured;
        assert_eq!(is_measured, sample.times.due_ns >= begin_ms * MS, "{sample:?}");
    }
}

/// Operation k is due at 10k ms, and its client is free at 150 + 5(k - 1) ms: 10 to 28 wait, and 29 does not.
#[test]
fn a_window_begins_when_a_client_has_caught_up() {
    let recorded = Simulation::new(&drained(with_warmup(1)), slow_first).run();
    assert_eq!(outcome(&recorded), (window(290), 19, 0));
    assert_measured_from(&recorded, 290);
    assert_eq!((recorded.of(0).count(), recorded.warmup(0), recorded.ended[&0].warmup_begun), (110, 29, 29));
}

#[test]
fn only_work_that_ended_in_the_window_counts() {
    let deliveries = Simulation::new(&drained(with_warmup(1)), slow_first).run_to_deliveries();
    let ended_in_window = deliveries.iter().map(|delivery| match delivery {
        Delivery::Second(second) => second.stats.counts.window_ended,
        _ => 0,
    });
    // 81 operations in 810 ms.
    assert_eq!(ended_in_window.sum::<u64>(), 81);
}

#[test]
fn iterations_that_the_drain_takes_are_not_repeated() {
    let mut task = paced("search", 1, 10 * MS, 100);
    task["bound"]["warmup"] = 10.into();
    let recorded = Simulation::new(&drained(task), slow_first).run();
    assert_eq!(outcome(&recorded), (window(290), 19, 0));
    assert_eq!((recorded.of(0).count(), recorded.warmup(0)), (110, 29));
}

#[test]
fn without_a_backlog_the_window_begins_as_planned() {
    for clients in [1, 8] {
        for open_loop in [false, true] {
            let mut task = with_warmup(clients);
            task["open_loop"] = open_loop.into();
            let script = |_| Response::success(5 * MS);
            let planned = Simulation::new(&plan(std::slice::from_ref(&task)), script).run();
            let recorded = Simulation::new(&drained(task), script).run();
            assert_eq!(outcome(&recorded), (window(100), 0, 0), "{clients} {open_loop}");
            assert_eq!(recorded.warmup(0), planned.warmup(0));
            assert_eq!(recorded.times(0), planned.times(0));
        }
    }
}

/// Of client 0, the operations that are due at 100 to 180 ms wait, and it is free at 195 ms for the one at 200 ms, with
/// which the window begins.
fn slow_first_of_client_0(attempt: Attempt) -> Response {
    if attempt.id.client_number == 0 { slow_first(attempt) } else { Response::success(5 * MS) }
}

#[test]
fn a_window_waits_for_all_clients() {
    for workers in [1, 2] {
        let simulation = Simulation::new(&drained(with_warmup(2)), slow_first_of_client_0);
        let recorded = simulation.on_workers(workers).run();
        assert_eq!(outcome(&recorded), (window(200), 10, 0));
        assert_measured_from(&recorded, 200);
    }
}

/// The operation of client 1 that is due at 190 ms takes 50 ms, so that those at 210 and 230 ms wait for it.
#[test]
fn operations_that_wait_for_a_drained_one_are_delayed_by_the_warm_up() {
    let script = |attempt: Attempt| {
        let is_slow = (attempt.id.client_number, attempt.number) == (1, 9);
        if is_slow { Response::success(50 * MS) } else { slow_first_of_client_0(attempt) }
    };
    let recorded = Simulation::new(&drained(with_warmup(2)), script).run();
    assert_eq!(outcome(&recorded), (window(200), 10, 2));
}

/// The other client needs 15 ms for each operation, so that a queue grows until the slow one has ended. It begins 27 at
/// 270 ms, when it is due, and the first one 28 at 280 ms.
#[test]
fn in_an_open_loop_a_window_begins_when_no_client_is_behind() {
    let script = |attempt: Attempt| {
        let is_first = (attempt.id.client_number, attempt.number) == (0, 0);
        Response::success(if is_first { 150 * MS } else { 15 * MS })
    };
    for workers in [1, 2] {
        let mut task = with_warmup(2);
        task["open_loop"] = true.into();
        let recorded = Simulation::new(&drained(task), script).on_workers(workers).run();
        assert_eq!(outcome(&recorded), (window(280), 18, 0));
        assert_measured_from(&recorded, 280);
    }
}

/// Operation k begins at 15k ms: the backlog is never gone. Of 110 operations, 74 begin, 40 of them before 600 ms.
#[test]
fn a_window_does_not_wait_for_more_than_half_of_it() {
    for open_loop in [false, true] {
        let mut task = with_warmup(1);
        task["open_loop"] = open_loop.into();
        let recorded = Simulation::new(&drained(task), |_| Response::success(15 * MS)).run();
        let window = DrainedWindow { begin_ns: 600 * MS, gave_up: true };
        assert_eq!(outcome(&recorded), (window, 30, 34), "{open_loop}");
        assert_eq!((recorded.of(0).count(), recorded.warmup(0)), (74, 40));
        assert_eq!(recorded.ended[&0].unsent, UnsentOperations { total: 36, warmup: 0 });
    }
}

/// Operation k begins at 20k ms: those that are due from 600 ms on have not even begun when the task ends.
#[test]
fn an_engine_that_never_catches_up_is_measured_in_the_other_half() {
    for open_loop in [false, true] {
        let mut task = with_warmup(1);
        task["open_loop"] = open_loop.into();
        let recorded = Simulation::new(&drained(task), |_| Response::success(20 * MS)).run();
        assert_eq!((recorded.of(0).count(), recorded.warmup(0)), (55, 30));
        assert_eq!(recorded.ended[&0].unsent, UnsentOperations { total: 55, warmup: 0 }, "{open_loop}");
    }
}

/// Of the 21 operations that are due before 203 ms, one is executed then, and 9 have not begun.
#[test]
fn a_race_that_is_abandoned_in_the_drain_has_measured_nothing() {
    for open_loop in [false, true] {
        let mut task = with_warmup(1);
        task["open_loop"] = open_loop.into();
        let recorded = Simulation::new(&drained(task), slow_first).abandon_at(203 * MS);
        assert_eq!((recorded.of(0).count(), recorded.warmup(0)), (11, 11));
        assert_eq!(recorded.ended[&0].unsent, UnsentOperations { total: 9, warmup: 9 }, "{open_loop}");
    }
}
