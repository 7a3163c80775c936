//! The time of the measured window in which clients had left their task, or had not begun to be measured.

use std::time::Duration;

use pacenote_record::{Collector, Delivery};
use serde_json::{Value, json};

use super::simulation::{MS, Response, SECOND, Simulation, plan, task, timed};
use crate::plan_to_record::task_infos;

/// Returns how long clients were absent, in milliseconds, if operations of the second client take 30 ms from the one with
/// the number `slow_from` on, and all others 10 ms.
fn absent_ms(task: &Value, slow_from: u64) -> u128 {
    let simulation = Simulation::new(&plan(std::slice::from_ref(task)), move |attempt| {
        let is_slow = attempt.id.client_number == 1 && attempt.number >= slow_from;
        Response::success(if is_slow { 30 * MS } else { 10 * MS })
    });
    let (folder, infos) = (tempfile::tempdir().unwrap(), task_infos(&simulation.plan));
    let (mut collector, buffers) = (Collector::new(folder.path(), infos).unwrap(), simulation.buffers());
    let begin = Delivery::Begin { task_index: 0, worker_count: 1, queue_count: None, step_began_ns: 0 };
    collector.receive(begin, &buffers).unwrap();
    let mut finished = None;
    for delivery in simulation.run_to_deliveries() {
        finished = collector.receive(delivery, &buffers).unwrap().or(finished);
    }
    Duration::from_secs_f64(finished.unwrap().result.absent_s).as_millis()
}

#[test]
fn clients_that_are_done_early_are_absent_until_the_last_one_is_done() {
    let mut iterations = task("search", 2, 8);
    iterations["bound"]["warmup"] = 2.into();
    assert_eq!(absent_ms(&iterations, u64::MAX), 0);
    // The window lasts from 20 to 260 ms, and the first client is done after 100 ms.
    assert_eq!(absent_ms(&iterations, 2), 160);
    // It lasts to 300 ms, and the second client warms up until 60 ms.
    assert_eq!(absent_ms(&iterations, 0), 200 + 40);
}

#[test]
fn operations_across_the_bounds_of_a_planned_window_are_no_absence() {
    let timed = timed(task("search", 2, 8), 25 * MS, SECOND);
    assert_eq!(absent_ms(&timed, 0), 0);
}

#[test]
fn a_ramp_up_is_no_absence() {
    let mut ramped = task("search", 2, 8);
    ramped["ramp_up_s"] = json!(0.1);
    assert_eq!(absent_ms(&ramped, u64::MAX), 0);
    // The second client begins after 50 ms, and is done at 290 ms instead of 130 ms.
    assert_eq!(absent_ms(&ramped, 0), 160);
}
