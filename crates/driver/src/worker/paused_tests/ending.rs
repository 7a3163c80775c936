//! Checks how tasks end: because of another task, the caller, or an error in the driver.

use std::time::Instant;

use pacenote_record::{EndedBy, ErrorClass};
use serde_json::{Value, json};

use super::simulation::{MS, Recorded, Response, SECOND, Simulation, TIMEOUT, paced, plan, task, timed};
use crate::race_state::{RaceState, StopLevel};

#[test]
fn a_completed_step_lets_operations_end_and_begins_no_new_ones() {
    let tasks =
        [task("search", 1, 3), paced("paced", 1, 20 * MS, 1000), task("busy", 1, 1000), task("wait", 1, 1)];
    let mut plan = plan(&tasks);
    plan["steps"][0]["completed_by"] = json!({"kind": "task", "task": 0});
    let recorded = Simulation::new(&plan, |attempt| match attempt.id.task_index {
        0 => Response::success(30 * MS),
        1 => Response::success(5 * MS),
        2 => Response::success(40 * MS),
        _ => Response { is_wait: true, ..Response::success(3600 * SECOND) },
    })
    .run();
    // The first task ends at 90 ms.
    let ended = |task: u32| {
        let ended = recorded.ended[&task];
        (ended.ended_by, ended.scheduled, ended.begun, ended.unanswered)
    };
    assert_eq!(ended(0), (EndedBy::Iterations, Some(3), 3, 0));
    // The operation that would have been due at 100 ms is no longer scheduled.
    assert_eq!(ended(1), (EndedBy::CompletedBy, Some(5), 5, 0));
    assert_eq!(ended(2), (EndedBy::CompletedBy, Some(3), 3, 0));
    assert_eq!(recorded.times(2).last(), Some(&(80 * MS, 80 * MS, 120 * MS)));
    // What ends later does not count towards the throughput.
    let completed = [0, 1, 2, 3].map(|task| recorded.ended[&task].completed_ns);
    assert_eq!(completed, [None, Some(90 * MS), Some(90 * MS), Some(90 * MS)]);
    // A canceled wait is neither a success nor a failure.
    assert_eq!((ended(3), recorded.of(3).count()), ((EndedBy::CompletedBy, Some(1), 1, 1), 0));
    assert_eq!(recorded.end_ns, 120 * MS);
}

#[test]
fn the_first_task_to_end_completes_a_step_that_any_task_may_complete() {
    let mut plan = plan(&[task("slow", 1, 10), task("fast", 2, 2)]);
    plan["steps"][0]["completed_by"] = json!({"kind": "any"});
    let recorded = Simulation::new(&plan, |attempt| {
        Response::success(if attempt.id.task_index == 0 { 25 * MS } else { 15 * MS })
    })
    .run();
    assert_eq!((recorded.ended[&1].ended_by, recorded.ended[&1].begun), (EndedBy::Iterations, 4));
    assert_eq!((recorded.ended[&0].ended_by, recorded.ended[&0].begun), (EndedBy::CompletedBy, 2));
    assert_eq!(recorded.end_ns, 50 * MS);
}

/// Aborts a race, or stops it so that operations in progress may end.
fn end_at(race_state: &RaceState, now: Instant, aborted: bool) {
    if aborted {
        race_state.abort_at("a reason".into(), now);
    } else {
        race_state.stop_at(StopLevel::Finish, now);
    }
}

/// A task of one client at 100/s whose engine keeps 50/s, and a task that ends after 990 ms.
fn half_of_the_schedule(open_loop: bool, bound: fn(Value) -> Value, completed_by: Value) -> Simulation {
    let mut slow = bound(paced("slow", 1, 10 * MS, 1000));
    slow["open_loop"] = open_loop.into();
    let mut plan = plan(&[slow, task("other", 1, 1)]);
    plan["steps"][0]["completed_by"] = completed_by;
    Simulation::new(&plan, |attempt| {
        let is_wait = attempt.id.task_index == 1;
        Response { is_wait, ..Response::success(if is_wait { 990 * MS } else { 20 * MS }) }
    })
}

/// What was due and did not begin is unsent, whatever ends the task: of the 99 operations that are due in 990 ms, 50
/// began.
#[test]
fn the_backlog_of_a_task_is_unsent_however_the_task_ends() {
    let unlimited = |task| task;
    let minute = |task| timed(task, 0, 60 * SECOND);
    let bounds: [fn(Value) -> Value; 2] = [unlimited, minute];
    for (open_loop, bound) in [false, true].into_iter().flat_map(|open| bounds.map(|bound| (open, bound))) {
        let expected = |ended_by| (ended_by, 50, 49, Some(99));
        let check = |recorded: &Recorded, ended_by| {
            let ended = recorded.ended[&0];
            assert_eq!(
                (ended.ended_by, ended.begun, ended.unsent.total, ended.scheduled),
                expected(ended_by),
                "open loop: {open_loop}"
            );
        };
        let other = json!({"kind": "task", "task": 1});
        check(&half_of_the_schedule(open_loop, bound, other).run(), EndedBy::CompletedBy);
        for (aborted, ended_by) in [(false, EndedBy::Stopped), (true, EndedBy::Aborted)] {
            let simulation = half_of_the_schedule(open_loop, bound, Value::Null);
            let (clock, race_state) = (simulation.clock.clone(), simulation.race_state.clone());
            let recorded = simulation.run_with(async move {
                clock.sleep(clock.at(990 * MS)).await;
                end_at(&race_state, clock.at(990 * MS), aborted);
            });
            check(&recorded, ended_by);
        }
        let dropped = half_of_the_schedule(open_loop, bound, Value::Null).abandon_at(990 * MS).ended[&0];
        assert_eq!(
            (dropped.begun, dropped.unsent.total, dropped.unanswered),
            (50, 49, 1),
            "open loop: {open_loop}"
        );
    }
}

/// A client compresses its second operation when the race is abandoned. It is due after 10 ms and has not begun.
#[test]
fn an_operation_that_is_compressed_when_its_client_is_dropped_is_unsent_if_it_was_due() {
    for (open_loop, abandoned_ms, unsent) in [(false, 5, 0), (true, 5, 0), (false, 55, 5), (true, 55, 5)] {
        let mut compressed = paced("compressed", 1, 10 * MS, 1000);
        compressed["open_loop"] = open_loop.into();
        let simulation = Simulation::new(&plan(&[compressed]), |attempt| {
            let compress = if attempt.number == 1 { SECOND } else { 0 };
            Response { compress, ..Response::success(MS) }
        });
        let ended = simulation.abandon_at(abandoned_ms * MS).ended[&0];
        assert_eq!(
            (ended.begun, ended.unsent.total, ended.unanswered),
            (1, unsent, 0),
            "open loop: {open_loop}, abandoned after {abandoned_ms} ms"
        );
    }
}

/// What becomes due after the race was stopped is not unsent, even if a client notices the stop much later.
#[test]
fn operations_that_are_due_after_a_stop_are_not_unsent() {
    for open_loop in [false, true] {
        let mut hung = paced("hung", 2, 10 * MS, 1000);
        hung["open_loop"] = open_loop.into();
        let simulation = Simulation::new(&plan(&[hung]), |_| Response::success(TIMEOUT));
        let (clock, race_state) = (simulation.clock.clone(), simulation.race_state.clone());
        let recorded = simulation.run_with(async move {
            clock.sleep(clock.at(50 * MS)).await;
            race_state.stop_at(StopLevel::Finish, clock.at(50 * MS));
        });
        // Due at 20, 30 and 40 ms.
        let ended = recorded.ended[&0];
        assert_eq!(
            (ended.begun, ended.unsent.total, ended.scheduled, recorded.end_ns),
            (2, 3, Some(5), 10 * MS + TIMEOUT),
            "open loop: {open_loop}"
        );
    }
}

/// The iterations that remain are fewer than the operations that would have been due.
#[test]
fn no_more_operations_are_unsent_than_iterations_remain() {
    for open_loop in [false, true] {
        let mut slow = paced("slow", 1, 10 * MS, 4);
        slow["open_loop"] = open_loop.into();
        let simulation = Simulation::new(&plan(&[slow]), |_| Response::success(150 * MS));
        let (clock, race_state) = (simulation.clock.clone(), simulation.race_state.clone());
        let recorded = simulation.run_with(async move {
            clock.sleep(clock.at(200 * MS)).await;
            race_state.stop_at(StopLevel::Finish, clock.at(200 * MS));
        });
        let ended = recorded.ended[&0];
        assert_eq!(
            (ended.begun, ended.unsent.total, ended.scheduled),
            (2, 2, Some(4)),
            "open loop: {open_loop}"
        );
    }
}

/// Operations begin in the order in which they are due, so the first ones that are unsent may be warm-up.
#[test]
fn unsent_operations_of_the_warm_up_are_counted_apart() {
    let iterations = |mut task: Value| {
        task["bound"] = json!({"kind": "iterations", "warmup": 5, "measured": 5});
        task
    };
    let time = |task| timed(task, 50 * MS, 100 * MS);
    // Every tenth of a second, one of the operations begins that are due every 10 ms; the race is stopped after 150 ms.
    let bounds: [fn(Value) -> Value; 2] = [iterations, time];
    for (bound, unsent) in bounds.into_iter().zip([(8, 3), (13, 3)]) {
        for (open_loop, ramp_up_s) in [(false, 0.0), (true, 0.0), (true, 1e-9)] {
            let mut slow = bound(paced("slow", 1, 10 * MS, 1));
            slow["open_loop"] = open_loop.into();
            slow["ramp_up_s"] = ramp_up_s.into();
            let simulation = Simulation::new(&plan(&[slow]), |_| Response::success(100 * MS));
            let (clock, race_state) = (simulation.clock.clone(), simulation.race_state.clone());
            let recorded = simulation.run_with(async move {
                clock.sleep(clock.at(150 * MS)).await;
                race_state.stop_at(StopLevel::Finish, clock.at(150 * MS));
            });
            let ended = recorded.ended[&0];
            let counted = ((ended.unsent.total, ended.unsent.warmup), (ended.begun, ended.warmup_begun));
            assert_eq!(counted, (unsent, (2, 2)), "open loop: {open_loop}, {ramp_up_s}");
        }
    }
}

/// The race is stopped while the second operation is compressed.
#[test]
fn no_operation_begins_after_a_stop() {
    for (task, unsent) in
        [(task("unpaced", 1, 10), 0), (paced("paced", 1, 5 * MS, 10), 3), (paced("early", 1, 30 * MS, 10), 0)]
    {
        let compressed = |_| Response { compress: 10 * MS, ..Response::success(5 * MS) };
        let simulation = Simulation::new(&plan(&[task]), compressed);
        let (clock, race_state) = (simulation.clock.clone(), simulation.race_state.clone());
        let recorded = simulation.run_with(async move {
            clock.sleep(clock.at(20 * MS)).await;
            race_state.stop_at(StopLevel::Finish, clock.at(20 * MS));
        });
        let ended = recorded.ended[&0];
        assert_eq!(
            (ended.ended_by, ended.begun, ended.unsent.total, ended.scheduled),
            (EndedBy::Stopped, 1, unsent, Some(1 + unsent))
        );
    }
}

/// Creates a simulation of an unpaced task with operations of 30 ms and a paced task whose second operation is due
/// after 10 s.
fn two_tasks() -> Simulation {
    let plan = plan(&[task("busy", 1, 1000), paced("idle", 1, 10 * SECOND, 1000)]);
    Simulation::new(&plan, |_| Response::success(30 * MS))
}

#[test]
fn a_race_that_is_to_finish_lets_operations_end_and_wakes_sleeping_clients() {
    for (aborted, by) in [(false, EndedBy::Stopped), (true, EndedBy::Aborted)] {
        let simulation = two_tasks();
        let (clock, race_state) = (simulation.clock.clone(), simulation.race_state.clone());
        let recorded = simulation.run_with(async move {
            clock.sleep(clock.at(45 * MS)).await;
            end_at(&race_state, clock.at(45 * MS), aborted);
        });
        assert_eq!(recorded.times(0), [(0, 0, 30 * MS), (30 * MS, 30 * MS, 60 * MS)]);
        let ended = |task: u32| (recorded.ended[&task].ended_by, recorded.ended[&task].scheduled);
        assert_eq!((ended(0), ended(1)), ((by, Some(2)), (by, Some(1))));
        assert_eq!((recorded.end_ns, recorded.aborted.is_some()), (60 * MS, aborted));
    }
}

#[test]
fn a_failure_after_a_stop_does_not_abort_the_race() {
    let mut plan = plan(&[task("search", 1, 10)]);
    plan["driver"]["on_error"] = "abort".into();
    let simulation = Simulation::new(&plan, |_| Response::failure(30 * MS, ErrorClass::Reset));
    let (clock, race_state) = (simulation.clock.clone(), simulation.race_state.clone());
    let recorded = simulation.run_with(async move {
        clock.sleep(clock.at(20 * MS)).await;
        race_state.stop_at(StopLevel::Finish, clock.at(20 * MS));
    });
    let ended = recorded.ended[&0];
    assert_eq!((ended.ended_by, ended.begun, recorded.aborted), (EndedBy::Stopped, 1, None));
}

#[test]
fn an_abandoned_race_drops_operations_which_stay_unanswered() {
    let recorded = two_tasks().abandon_at(45 * MS);
    let ended = |task: u32| {
        let ended = recorded.ended[&task];
        (ended.ended_by, ended.scheduled, ended.begun, ended.unanswered)
    };
    assert_eq!(recorded.times(0), [(0, 0, 30 * MS)]);
    assert_eq!(ended(0), (EndedBy::Stopped, None, 2, 1));
    assert_eq!(ended(1), (EndedBy::Stopped, None, 1, 0));
}

#[test]
fn a_dropped_operation_that_was_due_before_its_client_was_free_has_waited() {
    let plan = plan(&[paced("search", 1, 10 * MS, 10)]);
    for (abandoned_ms, waited) in [(20, 0), (45, 1)] {
        let simulation = Simulation::new(&plan, |_| Response::success(30 * MS));
        let ended = simulation.abandon_at(abandoned_ms * MS).ended[&0];
        assert_eq!((ended.unanswered, ended.unanswered_waited), (1, waited), "{abandoned_ms} ms");
    }
}

#[test]
fn tasks_that_a_stopped_client_has_not_begun_end_without_an_operation() {
    let mut plan = plan(&[task("first", 1, 10), task("second", 1, 10)]);
    plan["steps"][0]["client_allocations"] = json!([
        {"client": 0, "allocations": [{"task": 0, "client": 0}, {"task": 1, "client": 0}]},
    ]);
    let simulation = Simulation::new(&plan, |_| Response::success(TIMEOUT));
    let race_state = simulation.race_state.clone();
    let recorded = simulation.run_with(async move { race_state.stop(StopLevel::Finish) });
    assert_eq!((recorded.ended[&0].begun, recorded.ended[&0].ended_by), (1, EndedBy::Stopped));
    assert_eq!((recorded.ended[&1].begun, recorded.ended[&1].ended_by), (0, EndedBy::Stopped));
}

#[test]
fn a_timer_error_aborts_the_race_instead_of_sending_early() {
    let simulation = Simulation::new(&plan(&[paced("search", 1, 10 * MS, 10)]), |_| Response::success(MS));
    simulation.clock.refuse_timers();
    let recorded = simulation.run();
    assert_eq!(recorded.aborted.as_deref(), Some("the system refused a timer: no timers left"));
    // The first operation is due when the task begins and needs no timer.
    let ended = recorded.ended[&0];
    assert_eq!((ended.ended_by, ended.begun, ended.scheduled), (EndedBy::Aborted, 1, Some(1)));
}
