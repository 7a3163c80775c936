//! What is counted when tasks, operations and requests do not end as planned, and races that end although Python code
//! hangs.

use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pacenote_driver::{PythonBridge, PythonEvent, RunnerRequest, StopLevel, UnsentOperations};
use pacenote_record::{EndedBy, TaskResult};
use serde_json::{Value, json};

use crate::support::python::{
    CLIENT, get, prepared, python_task, queued_task, race, runner_task, search, serve_events, success,
};
use crate::support::server::{Answer, WireBytes};
use crate::support::{Finished, Server, plan, request, request_task, run_with, step, success_response};

/// Limits a task to 0.2 s.
fn short(mut task: Value) -> Value {
    task["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": 0.2});
    task
}

/// Returns the plan of tasks that run in parallel, with requests that time out after 50 ms.
fn in_parallel(port: u16, tasks: &[Value]) -> Value {
    let mut plan = plan(port, tasks);
    plan["target"]["timeout_ms"] = 50.into();
    plan["steps"] = json!([step(tasks, &(0..tasks.len()).collect::<Vec<_>>())]);
    plan
}

#[test]
fn a_runner_that_hangs_fails_when_the_time_of_its_task_is_over_or_another_task_completes_the_step() {
    let began = AtomicBool::new(false);
    let server = Server::start(move |seen, _| {
        began.fetch_or(seen.line.contains("/_cat"), Ordering::Relaxed);
        // The other task ends only when the runner has begun.
        while !began.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        Some(success_response())
    });
    for (completed_by, hanging) in [(None, short(runner_task("hangs"))), (Some(1), runner_task("hangs"))] {
        let mut plan = in_parallel(server.port, &[hanging, request_task("other", 1, 3)]);
        // No request is to time out before the runner has begun.
        plan["tasks"][1]["work"]["calls"][0]["timeout_ms"] = 10_000.into();
        if let Some(task) = completed_by {
            plan["steps"][0]["completed_by"] = json!({"kind": "task", "task": task});
        }
        let finished = race(&plan, |bridge, event| match event {
            PythonEvent::RunOperation { query_id, .. } => {
                bridge.request(Some(*query_id), "default", get("/_cat")).unwrap();
            }
            other => prepared(bridge, other),
        });
        let result = finished.task("hangs");
        let totals = result.operation_totals;
        assert_eq!((totals.begun, totals.failed, totals.unanswered, totals.requests), (1, 1, 0, 1));
        let reason =
            "the runner did not end the operation within 0.05 s after the end of the task and its requests";
        let error = &result.errors[0];
        assert_eq!((error.error_class.as_str(), error.reason.as_str()), ("plugin", reason));
        let expected = if completed_by.is_some() { EndedBy::CompletedBy } else { EndedBy::Time };
        assert_eq!((result.ended_by, finished.summary.aborted), (expected, None));
    }
}

/// The request may take longer than those of the plan, and than the task.
#[test]
fn a_runner_is_given_time_until_its_requests_in_flight_have_ended() {
    let server = Server::start(|_, _| Answer::from(success_response()).after(Duration::from_millis(200)));
    let mut task = runner_task("patient");
    task["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": 0.05});
    let mut running = 0;
    let finished = race(&in_parallel(server.port, &[task]), move |bridge, event| match event {
        PythonEvent::RunOperation { query_id, .. } => {
            running = *query_id;
            let timeout = Some(Duration::from_mins(1));
            bridge.request(Some(running), "default", RunnerRequest { timeout, ..get("/_cat") }).unwrap();
        }
        PythonEvent::ResponseReceived(_) => bridge.complete(running, success(1, false)).unwrap(),
        other => prepared(bridge, other),
    });
    let result = finished.task("patient");
    let totals = result.operation_totals;
    assert_eq!((totals.begun, totals.succeeded, totals.failed), (1, 1, 0), "{:?}", result.errors);
    assert_eq!(result.ended_by, EndedBy::Time);
}

#[test]
fn a_scheduler_that_hangs_fails_when_the_time_of_its_task_is_over() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut task = short(request_task("search", 1, 1));
    task["pacing"] = json!({"kind": "scheduled"});
    let finished = race(&in_parallel(server.port, &[task]), prepared);
    let result = finished.task("search");
    assert_eq!((result.operation_totals.failed, result.ended_by), (1, EndedBy::Time));
    assert_eq!(
        result.errors[0].reason,
        "the scheduler did not answer within 0.05 s after the end of the task"
    );
}

/// The engine answers every 60 ms, and the scheduler wants an operation every 10 ms.
fn slower_than_its_scheduler(bound: Value, completed_by: Value) -> (TaskResult, u64, f64) {
    let server = Server::start(|seen, _| {
        let after = if seen.line.contains("/_search") { 60 } else { 200 };
        Answer::from(success_response()).after(Duration::from_millis(after))
    });
    let mut task = request_task("search", 1, 1);
    (task["pacing"], task["bound"]) = (json!({"kind": "scheduled"}), bound);
    let mut other = request_task("other", 1, 1);
    other["work"]["calls"][0]["path"] = "/other".into();
    let mut plan = in_parallel(server.port, &[task, other]);
    plan["target"]["timeout_ms"] = 5000.into();
    plan["steps"][0]["completed_by"] = completed_by;
    let (mut scheduled, asked) = (0, Arc::new(Mutex::new((0, 0.0))));
    let counted = Arc::clone(&asked);
    let finished = race(&plan, move |bridge, event| match event {
        PythonEvent::ScheduleNext { query_id, .. } => {
            bridge.schedule(*query_id, Some(Duration::from_millis(10 * scheduled))).unwrap();
            scheduled += 1;
        }
        PythonEvent::CountUnsent { query_id, client: CLIENT, received, ended_s, .. } => {
            // The task may end before the driver receives the last due time.
            assert!(*received == scheduled || *received + 1 == scheduled, "{received} {scheduled}");
            *counted.lock().unwrap() = (*received, *ended_s);
            bridge.count_unsent(*query_id, UnsentOperations { total: 17, warmup: 0 }).unwrap();
        }
        other => prepared(bridge, other),
    });
    let (received, ended_s) = *asked.lock().unwrap();
    (finished.task("search").clone(), received, ended_s)
}

#[test]
fn a_scheduler_is_asked_for_the_operations_that_were_due_when_its_task_ended() {
    let time = |measured_s: f64| json!({"kind": "time", "warmup_s": 0.0, "measured_s": measured_s});
    // An operation that the client has reached by then is unsent as well.
    let counted = 17..=18;
    let (result, received, ended_s) = slower_than_its_scheduler(time(0.2), Value::Null);
    assert_eq!(result.ended_by, EndedBy::Time);
    assert!(counted.contains(&result.operation_totals.unsent), "{result:?}");
    assert!(received >= result.operation_totals.begun);
    assert!((ended_s - 0.2).abs() < 1e-9, "{ended_s}");
    let other = json!({"kind": "task", "task": 1});
    let (result, received, ended_s) = slower_than_its_scheduler(time(60.0), other);
    assert_eq!(result.ended_by, EndedBy::CompletedBy);
    assert!(counted.contains(&result.operation_totals.unsent), "{result:?}");
    assert!(received >= result.operation_totals.begun && (0.15..10.0).contains(&ended_s), "{ended_s}");
    // The number is limited by the iterations that are left.
    let iterations = json!({"kind": "iterations", "warmup": 0, "measured": 12});
    let (result, ..) = slower_than_its_scheduler(iterations, json!({"kind": "task", "task": 1}));
    let totals = result.operation_totals;
    assert_eq!((result.ended_by, totals.begun + totals.unsent), (EndedBy::CompletedBy, 12));
}

/// A plan of a task that lasts 0.2 s, whose scheduler wants an operation that its source does not supply.
fn with_an_operation_that_does_not_begin(port: u16, timeout_ms: u64) -> Value {
    let mut task = short(queued_task("search", 4));
    task["pacing"] = json!({"kind": "scheduled"});
    let mut plan = plan(port, &[task]);
    plan["target"]["timeout_ms"] = timeout_ms.into();
    plan
}

/// Answers that an operation is due after 10 ms.
fn scheduled_once(bridge: &PythonBridge, event: &PythonEvent) {
    match event {
        PythonEvent::ScheduleNext { query_id, .. } => {
            bridge.schedule(*query_id, Some(Duration::from_millis(10))).unwrap();
        }
        other => prepared(bridge, other),
    }
}

#[test]
fn an_operation_that_was_due_is_unsent_even_if_its_scheduler_fails_or_hangs_while_it_counts() {
    let server = Server::start(|_, _| Some(success_response()));
    let (failed, hung) =
        ("scheduler failed", "the scheduler did not answer within 0.05 s after the end of the task");
    for (fails, answers, reason) in [(true, false, failed), (true, true, failed), (false, false, hung)] {
        let plan = with_an_operation_that_does_not_begin(server.port, 50);
        let finished = race(&plan, move |bridge, event| match event {
            PythonEvent::CountUnsent { query_id, .. } => {
                if fails {
                    bridge.finish(CLIENT, Some(failed.into())).unwrap();
                }
                if answers {
                    bridge.count_unsent(*query_id, UnsentOperations::default()).unwrap();
                }
            }
            other => scheduled_once(bridge, other),
        });
        let result = finished.task("search");
        let totals = result.operation_totals;
        assert_eq!((totals.begun, totals.failed, totals.unsent), (1, 1, 1), "{reason}");
        assert_eq!((result.errors[0].reason.as_str(), result.ended_by), (reason, EndedBy::Time));
    }
}

#[test]
fn an_operation_that_was_due_is_unsent_beside_those_that_its_scheduler_counts() {
    let server = Server::start(|_, _| Some(success_response()));
    let plan = with_an_operation_that_does_not_begin(server.port, 60_000);
    let finished = race(&plan, |bridge, event| match event {
        PythonEvent::CountUnsent { query_id, received: 1, .. } => {
            bridge.count_unsent(*query_id, UnsentOperations { total: 2, warmup: 0 }).unwrap();
        }
        other => scheduled_once(bridge, other),
    });
    let totals = finished.task("search").operation_totals;
    assert_eq!((totals.begun, totals.failed, totals.unsent), (0, 0, 3));
}

/// Operations that are not sent count as endless latencies, but only if they would have been measured.
#[test]
fn operations_of_the_warm_up_that_a_scheduler_counts_are_not_measured_ones() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut task = request_task("search", 1, 1);
    task["pacing"] = json!({"kind": "scheduled"});
    task["bound"] = json!({"kind": "time", "warmup_s": 0.03, "measured_s": 0.12});
    for (warmup, is_endless) in [(500, false), (0, true)] {
        let mut scheduled = 0;
        let finished = race(&plan(server.port, slice::from_ref(&task)), move |bridge, event| match event {
            PythonEvent::ScheduleNext { query_id, .. } => {
                scheduled += 10;
                bridge.schedule(*query_id, Some(Duration::from_millis(scheduled))).unwrap();
            }
            PythonEvent::CountUnsent { query_id, warmup_s, .. } => {
                assert!((*warmup_s - 0.03).abs() < 1e-9, "{warmup_s}");
                bridge.count_unsent(*query_id, UnsentOperations { total: 500, warmup }).unwrap();
            }
            other => prepared(bridge, other),
        });
        let result = finished.task("search");
        assert!(result.operation_totals.unsent >= 500, "{result:?}");
        assert_eq!(result.latency_with_failures[0].ms.is_none(), is_endless, "{result:?}");
    }
}

#[test]
fn an_operation_that_was_due_is_unsent_even_if_the_race_is_abandoned_while_its_scheduler_counts() {
    let server = Server::start(|_, _| Some(success_response()));
    let plan = with_an_operation_that_does_not_begin(server.port, 60_000);
    let finished = stopped_after(&plan, StopLevel::Abandon, |bridge, event| {
        scheduled_once(bridge, event);
        matches!(event, PythonEvent::CountUnsent { .. })
    });
    let totals = finished.task("search").operation_totals;
    assert_eq!((totals.begun, totals.unsent), (0, 1));
}

#[test]
fn a_scheduler_that_fails_after_a_stop_does_not_abort_the_race() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut plan = with_an_operation_that_does_not_begin(server.port, 60_000);
    plan["tasks"][0]["bound"]["measured_s"] = 3600.0.into();
    plan["driver"]["on_error"] = "abort".into();
    let finished = stopped_after(&plan, StopLevel::Finish, |bridge, event| {
        match event {
            PythonEvent::CountUnsent { .. } => {
                bridge.finish(CLIENT, Some("scheduler failed".into())).unwrap();
            }
            other => scheduled_once(bridge, other),
        }
        matches!(event, PythonEvent::ScheduleNext { .. })
    });
    assert_eq!((finished.summary.aborted, finished.summary.stopped), (None, true));
    let result = &finished.tasks[0];
    assert_eq!((result.operation_totals.failed, result.ended_by), (1, EndedBy::Stopped));
}

/// Runs a plan and stops the race when `handler`, which is called with every event, returns `true`.
fn stopped_after(
    plan: &Value,
    level: StopLevel,
    mut handler: impl FnMut(&PythonBridge, &PythonEvent) -> bool + Send + 'static,
) -> Finished {
    let (sender, reached) = channel();
    let mut player = None;
    let finished = run_with(plan, |race| {
        let bridge = Arc::clone(race.bridge().unwrap());
        player = Some(thread::spawn(move || {
            serve_events(&bridge, |bridge, event| {
                if handler(bridge, event) {
                    let _ = sender.send(());
                }
            });
        }));
        reached.recv().unwrap();
        race.stop(level);
    });
    player.unwrap().join().unwrap();
    finished
}

/// The scheduler is asked for what was due after an operation that its runner does not complete.
#[test]
fn the_traffic_of_an_operation_without_a_result_is_counted_if_its_scheduler_is_asked_after_it() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut task = runner_task("own");
    task["pacing"] = json!({"kind": "scheduled"});
    let plan = in_parallel(server.port, &[task]);
    let finished = stopped_after(&plan, StopLevel::Finish, |bridge, event| {
        match event {
            PythonEvent::RunOperation { query_id, .. } => {
                bridge.request(Some(*query_id), "default", get("/_cat")).unwrap();
            }
            PythonEvent::CountUnsent { query_id, .. } => {
                bridge.count_unsent(*query_id, UnsentOperations::default()).unwrap();
            }
            other => scheduled_once(bridge, other),
        }
        matches!(event, PythonEvent::ResponseReceived(_))
    });
    let wire = server.wire_bytes();
    let result = finished.task("own");
    assert_eq!((result.operation_totals.unanswered, result.operation_totals.requests), (1, 1));
    assert_eq!((result.bytes_out, result.bytes_in), (wire.received, wire.sent));
}

/// The race is aborted by the failure, so what would have been due later is not unsent.
#[test]
fn a_source_that_fails_leaves_nothing_unsent_that_is_due_after_the_end_of_the_race() {
    let server = Server::start(|_, _| Some(success_response()));
    for open_loop in [false, true] {
        let mut task = python_task("broken", 1, json!({"kind": "supplied", "ahead": 4}));
        task["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": 3600.0});
        task["pacing"] = json!({"kind": "deterministic", "interval_s": 0.01});
        task["open_loop"] = open_loop.into();
        let mut plan = plan(server.port, &[task]);
        plan["driver"]["on_error"] = "abort".into();
        let finished = race(&plan, |bridge, event| {
            if let PythonEvent::PrepareStep { .. } = event {
                bridge.enqueue(CLIENT, &search("/one"), None).unwrap();
                bridge.finish(CLIENT, Some("track.py:7 KeyError: 'size'".into())).unwrap();
                prepared(bridge, event);
            }
        });
        let totals = finished.task("broken").operation_totals;
        assert_eq!(totals.failed, 1);
        // One every 10 ms; the rest of the plan would be 359,998.
        assert!(totals.unsent < 3000, "{totals:?}");
    }
}

#[test]
fn an_error_in_the_code_that_serves_the_events_ends_the_race() {
    let server = Server::start(|_, _| Some(success_response()));
    let tasks = [runner_task("own"), request_task("never", 1, 1)];
    let finished = race(&plan(server.port, &tasks), |bridge, event| match event {
        PythonEvent::RunOperation { .. } => bridge.fail("a bug".into()),
        other => prepared(bridge, other),
    });
    assert_eq!(finished.summary.error.as_deref(), Some("a bug"));
    assert_eq!((finished.tasks.len(), finished.summary.stopped), (1, false));
}

/// The first operation ends before its request does, and the second sends another request after that has ended. A third
/// request is sent on behalf of the first operation while the second is executed.
#[test]
fn traffic_of_requests_that_outlive_their_operation_is_not_that_of_the_next_one() {
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    let server = Server::start(move |seen, _| {
        if seen.line.contains("/late ") {
            released.lock().unwrap().recv().unwrap();
        }
        Some(success_response())
    });
    let (mut first, mut second, mut answered) = (0, 0, 0);
    let finished = race(&plan(server.port, &[runner_task("own")]), move |bridge, event| match event {
        PythonEvent::RunOperation { query_id, .. } if first == 0 => {
            first = *query_id;
            bridge.request(Some(first), "default", get("/late")).unwrap();
            bridge.complete(first, success(1, false)).unwrap();
        }
        PythonEvent::RunOperation { query_id, .. } => {
            second = *query_id;
            release.send(()).unwrap();
            bridge.request(Some(first), "default", get("/later")).unwrap();
        }
        PythonEvent::ResponseReceived(_) => {
            answered += 1;
            match answered {
                2 => drop(bridge.request(Some(second), "default", get("/in-time")).unwrap()),
                3 => bridge.complete(second, success(1, true)).unwrap(),
                _ => {}
            }
        }
        other => prepared(bridge, other),
    });
    let wire = server.wire_bytes();
    let result = finished.task("own");
    assert_eq!(result.operation_totals.requests, 3);
    assert_eq!((result.bytes_out, result.bytes_in), (wire.received, wire.sent));
    let of_samples: Vec<_> = finished.samples.iter().map(|sample| sample.bytes_in).collect();
    let one = i64::try_from(success_response().len()).unwrap();
    assert_eq!(of_samples, [0, one]);
}

/// Runs a task with one operation and stops the race as soon as the server has seen a request. Returns the bytes on the
/// wire too.
fn stopped_after_a_request(level: StopLevel, task: Value, answers: bool) -> (Finished, WireBytes) {
    let (sender, seen) = channel();
    let sender = Mutex::new(sender);
    let server = Server::start(move |_, _| {
        let _ = sender.lock().unwrap().send(());
        if answers { Answer::from(success_response()) } else { Answer::silence() }
    });
    let mut player = None;
    let finished = run_with(&plan(server.port, &[task]), |race| {
        if let Some(bridge) = race.bridge() {
            let bridge = Arc::clone(bridge);
            player = Some(thread::spawn(move || {
                serve_events(&bridge, |bridge, event| match event {
                    PythonEvent::RunOperation { query_id, .. } => {
                        bridge.request(Some(*query_id), "default", get("/_cat")).unwrap();
                    }
                    other => prepared(bridge, other),
                });
            }));
        }
        seen.recv().unwrap();
        race.stop(level);
    });
    if let Some(player) = player {
        player.join().unwrap();
    }
    (finished, server.wire_bytes())
}

#[test]
fn the_traffic_of_an_operation_without_a_response_is_counted() {
    let task = request_task("native", 1, 1);
    let (finished, wire) = stopped_after_a_request(StopLevel::Abandon, task, false);
    let result = finished.task("native");
    assert_eq!((result.operation_totals.unanswered, result.operation_totals.requests), (1, 1));
    assert_eq!((result.bytes_out, result.bytes_in), (wire.received, 0));
    // The bytes of a runner's request are known only when it has ended.
    let (finished, _) = stopped_after_a_request(StopLevel::Abandon, runner_task("own"), false);
    let totals = finished.task("own").operation_totals;
    assert_eq!((totals.unanswered, totals.requests), (1, 1));
}

/// The request may end after the stop, but the wait does not.
#[test]
fn the_traffic_of_an_operation_that_waits_between_two_requests_is_counted() {
    let mut task = request_task("polling", 1, 1);
    let wait = json!({"kind": "wait", "seconds": 600.0});
    task["work"]["calls"] = json!([request("GET", "/_search"), wait]);
    let (finished, wire) = stopped_after_a_request(StopLevel::Finish, task, true);
    let result = finished.task("polling");
    assert_eq!((result.operation_totals.unanswered, result.operation_totals.requests), (1, 1));
    assert_eq!((result.bytes_out, result.bytes_in), (wire.received, wire.sent));
}
