//! How races with Python code end, and which operations they record.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use pacenote_driver::{PythonEvent, RunnerRequest};
use pacenote_record::EndedBy;
use serde_json::json;

use crate::support::python::{get, prepared, race, runner_task, success};
use crate::support::{Server, json_response, plan, request, request_task, step, success_response};

#[test]
fn a_hanging_runner_does_not_delay_an_aborted_race() {
    let called = Arc::new(Barrier::new(2));
    let barrier = Arc::clone(&called);
    let server = Server::start(move |_, _| {
        // The request must not fail before the runner has been called.
        barrier.wait();
        Some(json_response(500, &json!({})))
    });
    let tasks = [runner_task("hangs"), request_task("fails", 1, 5)];
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([step(&tasks, &[0, 1])]);
    plan["driver"]["on_error"] = "abort".into();
    plan["target"]["timeout_ms"] = 300.into();
    let finished = race(&plan, move |bridge, event| match event {
        PythonEvent::RunOperation { .. } => drop(called.wait()),
        other => prepared(bridge, other),
    });
    assert!(finished.summary.aborted.unwrap().starts_with("task fails failed"));
    let hanging = finished.tasks.iter().find(|task| task.task == "hangs").unwrap();
    let accounting = hanging.operation_totals;
    assert_eq!((accounting.begun, accounting.unanswered, accounting.failed), (1, 1, 0));
    assert_eq!(hanging.ended_by, EndedBy::Aborted);
}

#[test]
fn a_scheduler_is_queried_exactly_once_per_operation() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut task = request_task("search", 1, 3);
    task["pacing"] = json!({"kind": "scheduled"});
    let queries = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&queries);
    let finished = race(&plan(server.port, &[task]), move |bridge, event| match event {
        PythonEvent::ScheduleNext { query_id, .. } => {
            count.fetch_add(1, Ordering::Relaxed);
            bridge.schedule(*query_id, Some(Duration::ZERO)).unwrap();
        }
        other => prepared(bridge, other),
    });
    let result = finished.task("search");
    assert_eq!((result.operation_totals.succeeded, result.ended_by), (3, EndedBy::Iterations));
    assert_eq!(queries.load(Ordering::Relaxed), 3);
}

#[test]
fn sub_operations_and_attempts_of_operations_executed_for_a_runner_are_recorded() {
    let server = Server::start(|seen, before| {
        let late = seen.line.contains("/second") && [1, 3].contains(&before);
        Some(if late { json_response(408, &json!({})) } else { success_response() })
    });
    let retry = json!({"retries": 1, "until_success": false, "limit_s": 600.0, "wait_s": 0.0, "on_timeout": true,
        "on_unsuccess": false});
    let sub_operation = |name: &str| {
        json!({"kind": "operation", "name": name, "operation_type": "search",
            "calls": [request("GET", &format!("/{name}"))], "retry": retry})
    };
    let composite = json!({"kind": "composite", "max_connections": null, "items": [sub_operation("first"), sub_operation("second")]});
    let composite = json!({"kind": "calls", "calls": [composite], "retry": retry}).to_string();
    let bare = json!({"kind": "calls", "calls": [request("GET", "/second")], "retry": retry}).to_string();
    let mut running = 0;
    let mut left = 2;
    let finished = race(&plan(server.port, &[runner_task("own")]), move |bridge, event| match event {
        PythonEvent::RunOperation { query_id, .. } => {
            running = *query_id;
            bridge.execute(Some(running), "default", &composite, None).unwrap();
        }
        PythonEvent::OperationExecuted { .. } => {
            left -= 1;
            match left {
                1 => drop(bridge.execute(Some(running), "default", &bare, None).unwrap()),
                _ => bridge.complete(running, success(1, true)).unwrap(),
            }
        }
        other => prepared(bridge, other),
    });
    let result = finished.task("own");
    let parts: Vec<_> =
        result.sub_operations.iter().map(|part| (part.operation.as_str(), part.ended)).collect();
    assert_eq!(parts, [("first", 1), ("second", 1)]);
    assert_eq!(result.sub_operations[1].retried, 1);
    assert_eq!((result.operation_totals.requests, result.operation_totals.begun), (5, 1));
    // One retry is that of the sub-operation, and the other one that of the second operation.
    assert_eq!(result.operation_totals.retried, 2);
    assert_eq!(finished.summary.samples, 3);
}

#[test]
fn the_thread_that_sends_for_runners_serves_all_steps_and_is_summarized() {
    let server = Server::start(|_, _| Some(success_response()));
    let tasks = [runner_task("one"), runner_task("two")];
    let mut running = 0;
    let finished = race(&plan(server.port, &tasks), move |bridge, event| match event {
        PythonEvent::RunOperation { query_id, .. } => {
            running = *query_id;
            let timeout = Some(Duration::MAX);
            let request = RunnerRequest { timeout, ..get("/") };
            bridge.request(Some(running), "default", request).unwrap();
        }
        PythonEvent::ResponseReceived(_) => bridge.complete(running, success(1, true)).unwrap(),
        other => prepared(bridge, other),
    });
    let names: Vec<&str> = finished.summary.threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!(names, ["drive-0", "lane", "collect", "health", "control"]);
    assert!(finished.summary.threads.iter().all(|thread| thread.cpu_s > 0.0));
    assert_eq!(finished.tasks.iter().map(|task| task.operation_totals.succeeded).sum::<u64>(), 2);
}
