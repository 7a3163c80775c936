//! Measured operations that wait for those of the warm-up, counted exactly.

use pacenote_record::{SampleType, WarmupBacklog};
use serde_json::Value;

use super::simulation::{Attempt, MS, Recorded, Response, SECOND, Simulation, paced, plan, timed};

/// A client whose first operation takes 150 ms, and all others 5 ms.
fn slow_first(attempt: Attempt) -> Response {
    Response::success(if attempt.number == 0 { 150 * MS } else { 5 * MS })
}

/// An operation every 10 ms for a second, after a warm-up of 100 ms.
fn with_warmup(clients: u32) -> Value {
    timed(paced("search", clients, 10 * MS, 1), 100 * MS, SECOND)
}

fn open(mut task: Value) -> Value {
    task["open_loop"] = true.into();
    task
}

fn backlog(recorded: &Recorded) -> WarmupBacklog {
    recorded.ended[&0].warmup_backlog
}

/// Returns the number of measured operations that waited, for the warm-up or not.
fn waited(recorded: &Recorded) -> usize {
    let is_measured = |sample_type| sample_type == SampleType::Measured;
    recorded.of(0).filter(|sample| is_measured(sample.sample_type) && sample.times.waited()).count()
}

/// Operation k is due at 10k ms, and its client is free at 150 + 5(k - 1) ms: 10 to 28 wait, and 29 does not.
#[test]
fn operations_that_wait_for_the_warm_up_in_a_chain_are_delayed_by_it() {
    let recorded = Simulation::new(&plan(&[with_warmup(1)]), slow_first).run();
    let expected = WarmupBacklog {
        delayed: 19,
        last_due_ns: 280 * MS,
        most_of_client: 19,
        most_of_client_with_drained: 19,
        ..WarmupBacklog::default()
    };
    assert_eq!((backlog(&recorded), waited(&recorded)), (expected, 19));
    let without_warmup = timed(paced("search", 1, 10 * MS, 1), 0, SECOND);
    let recorded = Simulation::new(&plan(&[without_warmup]), slow_first).run();
    assert_eq!((backlog(&recorded), waited(&recorded)), (WarmupBacklog::default(), 28));
}

#[test]
fn operations_that_wait_for_a_slow_one_of_the_window_are_not_delayed_by_the_warm_up() {
    // The backlog of the warm-up is gone when operation 60 takes as long as the first one.
    let script = |attempt: Attempt| {
        Response::success(if attempt.number.is_multiple_of(60) { 150 * MS } else { 5 * MS })
    };
    let recorded = Simulation::new(&plan(&[with_warmup(1)]), script).run();
    assert_eq!((backlog(&recorded).delayed, waited(&recorded)), (19, 19 + 28));
    // With operation 20 too, one chain contains all that waited.
    let script = |attempt: Attempt| {
        Response::success(if attempt.number.is_multiple_of(20) { 150 * MS } else { 5 * MS })
    };
    let recorded = Simulation::new(&plan(&[with_warmup(1)]), script).run();
    assert_eq!(backlog(&recorded).delayed, waited(&recorded) as u64);
    assert!(waited(&recorded) > 19 + 28);
}

/// Client 0 of 2 has an operation every 20 ms: k is due at 20k ms and its client free at 150 + 5(k - 1) ms, so that 5 to
/// 9 wait. Client 1 is always quick.
#[test]
fn a_client_with_its_own_schedule_is_delayed_by_itself_only() {
    let script = |attempt: Attempt| {
        if attempt.id.client_number == 0 { slow_first(attempt) } else { Response::success(5 * MS) }
    };
    let recorded = Simulation::new(&plan(&[with_warmup(2)]), script).run();
    let expected = WarmupBacklog {
        delayed: 5,
        last_due_ns: 180 * MS,
        most_of_client: 5,
        most_of_client_with_drained: 5,
        ..WarmupBacklog::default()
    };
    assert_eq!(backlog(&recorded), expected);
}

#[test]
fn iterations_are_delayed_by_those_of_the_warm_up() {
    let mut task = paced("search", 1, 10 * MS, 100);
    task["bound"]["warmup"] = 10.into();
    let recorded = Simulation::new(&plan(&[task]), slow_first).run();
    assert_eq!((backlog(&recorded).delayed, backlog(&recorded).most_of_client), (19, 19));
}

/// Two clients share the schedule, and the first operation takes 150 ms. The other client serves all that is due
/// meanwhile, in 5 ms each, so that nothing waits.
#[test]
fn in_an_open_loop_a_slow_operation_of_the_warm_up_delays_nothing_while_a_client_is_free() {
    let script = |attempt: Attempt| {
        let is_first = (attempt.id.client_number, attempt.number) == (0, 0);
        Response::success(if is_first { 150 * MS } else { 5 * MS })
    };
    for workers in [1, 2] {
        let task = open(with_warmup(2));
        let recorded = Simulation::new(&plan(&[task]), script).on_workers(workers).run();
        assert_eq!(backlog(&recorded), WarmupBacklog::default());
    }
}

/// The other client needs 15 ms for each operation instead, 5 ms more than there are between two, so that a queue grows
/// until the slow one has ended: operation 11 begins then. From there on, two begin every 15 ms, and 27 begins at 270 ms,
/// when it is due: 10 to 26 are delayed by the slow one, on both clients.
#[test]
fn in_an_open_loop_operations_wait_for_the_slow_one_of_another_client() {
    let script = |attempt: Attempt| {
        let is_first = (attempt.id.client_number, attempt.number) == (0, 0);
        Response::success(if is_first { 150 * MS } else { 15 * MS })
    };
    let task = open(with_warmup(2));
    let runs = [1, 2].map(|workers| {
        let recorded = Simulation::new(&plan(std::slice::from_ref(&task)), script).on_workers(workers).run();
        (backlog(&recorded).delayed, backlog(&recorded).last_due_ns, waited(&recorded) as u64)
    });
    assert_eq!(runs, [(17, 260 * MS, 17); 2]);
}

/// While the first operation takes 190 ms, each fourth operation of the other client takes 25 ms, and the next ones wait
/// for it: a warm-up that contains all that waited is longer than those that it has and those that waited together.
#[test]
fn in_an_open_loop_operations_between_delayed_ones_may_not_have_waited() {
    let script = |attempt: Attempt| {
        let is_first = (attempt.id.client_number, attempt.number) == (0, 0);
        let slow = attempt.number.is_multiple_of(4);
        Response::success(if is_first { 190 * MS } else { [5 * MS, 25 * MS][usize::from(slow)] })
    };
    for workers in [1, 2] {
        let task = open(with_warmup(2));
        let recorded = Simulation::new(&plan(&[task]), script).on_workers(workers).run();
        let WarmupBacklog { delayed, last_due_ns, last_position, clients_behind, .. } = backlog(&recorded);
        // Operation k is due at 10k ms, and the warm-up has the first 10.
        assert_eq!((last_position, clients_behind), (last_due_ns / (10 * MS) + 1, 0));
        assert!(delayed >= 5 && 10 + delayed < last_position, "{delayed} {last_position}");
    }
}

/// The first operation of each of 8 clients takes 190 ms. When what was due then is done, the idle clients have taken
/// the last operations before they are due: the others end with one that had waited, although the backlog is gone.
#[test]
fn in_an_open_loop_the_last_operation_shows_whether_the_backlog_is_gone() {
    let script = |attempt: Attempt| Response::success(if attempt.number == 0 { 190 * MS } else { 5 * MS });
    for workers in [1, 2] {
        let task = open(timed(paced("search", 8, 10 * MS, 1), 100 * MS, 130 * MS));
        let recorded = Simulation::new(&plan(&[task]), script).on_workers(workers).run();
        let last = recorded.of(0).max_by_key(|sample| sample.times.due_ns).unwrap();
        assert_eq!((last.times.due_ns, last.times.waited()), (220 * MS, false));
        let WarmupBacklog { delayed, clients_behind, .. } = backlog(&recorded);
        assert!(delayed >= 10, "{delayed}");
        assert_eq!(clients_behind, 0);
    }
}

/// More is due than the client can send: the backlog of the warm-up is never gone.
#[test]
fn a_backlog_may_last_until_the_end() {
    let recorded = Simulation::new(&plan(&[with_warmup(1)]), |_| Response::success(20 * MS)).run();
    let WarmupBacklog { delayed, clients_behind, .. } = backlog(&recorded);
    assert_eq!((delayed, clients_behind), (waited(&recorded) as u64, 1));
    assert!(delayed > 40);
}

#[test]
fn delayed_operations_of_an_abandoned_race_count_if_they_ended() {
    let recorded = Simulation::new(&plan(&[with_warmup(1)]), slow_first).abandon_at(203 * MS);
    // Operation 1 begins at 150 ms; 10 ends at 200 ms, and 11 does not.
    assert_eq!((backlog(&recorded).delayed, backlog(&recorded).clients_behind), (1, 1));
}
