//! How races end in which Python has a hand, and what is known of its operations then.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use pacenote_driver::LaneEvent;
use pacenote_record::EndedBy;
use serde_json::json;
use support::lane::{get, lane_task, prepared, race, success};
use support::{Server, good, plan, reply, request, request_task, step};

#[test]
fn a_runner_that_hangs_does_not_keep_a_race_that_was_aborted() {
    let called = Arc::new(Barrier::new(2));
    let gate = Arc::clone(&called);
    let server = Server::start(move |_, _| {
        // The failure comes when the runner has been called.
        gate.wait();
        Some(reply(500, &json!({})))
    });
    let tasks = [lane_task("hangs"), request_task("fails", 1, 5)];
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([step(&tasks, &[0, 1])]);
    plan["driver"]["on_error"] = "abort".into();
    plan["target"]["timeout_ms"] = 300.into();
    let finished = race(&plan, move |lane, event| match event {
        LaneEvent::Run { .. } => drop(called.wait()),
        other => prepared(lane, other),
    });
    assert!(finished.summary.aborted.unwrap().starts_with("task fails failed"));
    let hung = finished.tasks.iter().find(|task| task.task == "hangs").unwrap();
    let accounting = hung.accounting;
    assert_eq!((accounting.operations, accounting.unanswered, accounting.failed), (1, 1, 0));
    assert_eq!(hung.ended_by, EndedBy::Aborted);
}

#[test]
fn a_scheduler_is_asked_once_for_every_operation_and_not_once_more() {
    let server = Server::start(|_, _| Some(good()));
    let mut task = request_task("search", 1, 3);
    task["pace"] = json!({"kind": "scheduled"});
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let finished = race(&plan(server.port, &[task]), move |lane, event| match event {
        LaneEvent::Next { token, .. } => {
            count.fetch_add(1, Ordering::Relaxed);
            lane.due(*token, Some(Duration::ZERO)).unwrap();
        }
        other => prepared(lane, other),
    });
    let result = finished.task("search");
    assert_eq!((result.accounting.succeeded, result.ended_by), (3, EndedBy::Iterations));
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}

#[test]
fn parts_and_attempts_of_what_a_runner_has_carried_out_are_recorded() {
    let server = Server::start(|seen, before| {
        let late = seen.line.contains("/second") && [1, 3].contains(&before);
        Some(if late { reply(408, &json!({})) } else { good() })
    });
    let retry = json!({"retries": 1, "until_success": false, "wait_s": 0.0, "on_timeout": true,
        "on_unsuccess": false});
    let part = |name: &str| {
        json!({"kind": "operation", "name": name, "operation_type": "search",
            "calls": [request("GET", &format!("/{name}"))], "retry": retry})
    };
    let composite =
        json!({"kind": "composite", "max_connections": null, "items": [part("first"), part("second")]});
    let composite = json!({"kind": "calls", "calls": [composite], "retry": retry}).to_string();
    let bare = json!({"kind": "calls", "calls": [request("GET", "/second")], "retry": retry}).to_string();
    let mut running = 0;
    let mut left = 2;
    let finished = race(&plan(server.port, &[lane_task("own")]), move |lane, event| match event {
        LaneEvent::Run { token, .. } => {
            running = *token;
            lane.execute(Some((0, 0)), "default", (&composite, None)).unwrap();
        }
        LaneEvent::Outcome { .. } => {
            left -= 1;
            match left {
                1 => drop(lane.execute(Some((0, 0)), "default", (&bare, None)).unwrap()),
                _ => lane.done(running, &success(1, true)).unwrap(),
            }
        }
        other => prepared(lane, other),
    });
    let result = finished.task("own");
    let parts: Vec<_> =
        result.sub_operations.iter().map(|part| (part.operation.as_str(), part.operations)).collect();
    assert_eq!(parts, [("first", 1), ("second", 1)]);
    assert_eq!(result.sub_operations[1].retried, 1);
    assert_eq!((result.accounting.requests, result.accounting.operations), (5, 1));
    // That of the composite is its part's; this one is of the operation beside it.
    assert_eq!(result.accounting.retried, 1);
    assert_eq!(finished.summary.samples, 3);
}

#[test]
fn the_thread_that_sends_for_runners_is_summed_up_and_serves_step_after_step() {
    let server = Server::start(|_, _| Some(good()));
    let tasks = [lane_task("one"), lane_task("two")];
    let mut running = 0;
    let finished = race(&plan(server.port, &tasks), move |lane, event| match event {
        LaneEvent::Run { token, task, .. } => {
            running = *token;
            let endless = Some(Duration::MAX);
            let request = pacenote_driver::LaneRequest { timeout: endless, ..get("/") };
            lane.request(Some((*task, 0)), "default", request).unwrap();
        }
        LaneEvent::Reply { .. } => lane.done(running, &success(1, true)).unwrap(),
        other => prepared(lane, other),
    });
    let names: Vec<&str> = finished.summary.threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!(names, ["drive-0", "lane", "collect", "control"]);
    assert!(finished.summary.threads.iter().all(|thread| thread.cpu_s > 0.0));
    assert_eq!(finished.tasks.iter().map(|task| task.accounting.succeeded).sum::<u64>(), 2);
}
