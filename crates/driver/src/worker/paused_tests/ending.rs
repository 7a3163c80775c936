//! Checks how tasks end: because of another task, the caller, or an error in the driver.

use pacenote_record::EndedBy;
use serde_json::json;

use super::simulation::{MS, Response, SECOND, Simulation, TIMEOUT, paced, plan, task};
use crate::race_state::StopLevel;

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
            if aborted { race_state.abort("a reason".into()) } else { race_state.stop(StopLevel::Finish) }
        });
        assert_eq!(recorded.times(0), [(0, 0, 30 * MS), (30 * MS, 30 * MS, 60 * MS)]);
        let ended = |task: u32| (recorded.ended[&task].ended_by, recorded.ended[&task].scheduled);
        assert_eq!((ended(0), ended(1)), ((by, Some(2)), (by, Some(1))));
        assert_eq!((recorded.end_ns, recorded.aborted.is_some()), (60 * MS, aborted));
    }
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
fn tasks_that_a_stopped_client_has_not_begun_end_without_an_operation() {
    let mut plan = plan(&[task("first", 1, 10), task("second", 1, 10)]);
    plan["steps"][0]["slots"] = json!([
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
