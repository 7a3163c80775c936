//! Races with parameter sources, runners and schedulers in Python: a thread of the test plays the role of Python.

use std::collections::{BTreeSet, HashMap};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pacenote_driver::{
    OperationEnded, PythonEvent, RunnerRequest, RunnerResponse, RunnerResult, StopLevel, TaskClientId,
};
use pacenote_record::{EndedBy, ErrorClass, TaskResult};
use serde_json::{Value, json};

use crate::support::python::{
    CLIENT, failure, get, prepared, python_task, queued_task, race, runner_task, search, serve_events,
    success, wait_for_events,
};
use crate::support::{Finished, Server, json_response, plan, request_task, run_with, step, success_response};

#[test]
fn queued_operations_are_sent_in_order_until_the_source_ends() {
    let server = Server::start(|_, _| Some(success_response()));
    let finished = race(&plan(server.port, &[queued_task("search", 32)]), |bridge, event| {
        if let PythonEvent::PrepareStep { .. } = event {
            assert_eq!(bridge.free_slots(CLIENT).unwrap(), 32);
            for number in 0..20 {
                assert!(bridge.enqueue(CLIENT, &search(&format!("/{number}")), None).unwrap());
            }
            assert_eq!(bridge.free_slots(CLIENT).unwrap(), 12);
            bridge.finish(CLIENT, None).unwrap();
            assert!(bridge.enqueue(CLIENT, &search("/late"), None).is_err());
            prepared(bridge, event);
        }
    });
    let lines: Vec<String> = server.requests().into_iter().map(|seen| seen.line).collect();
    assert_eq!(lines, (0..20).map(|number| format!("GET /{number} HTTP/1.1")).collect::<Vec<_>>());
    let result = finished.task("search");
    assert_eq!((result.operation_totals.succeeded, result.operation_totals.begun), (20, 20));
    assert_eq!((result.ended_by, result.underruns), (EndedBy::Source, 0));
    assert!(result.underrun_s.abs() < f64::EPSILON);
}

/// The tests on the paused clock check the exact number of underruns; here a source is slow in real time. On a busy
/// machine the driver may not run during some of the source's pauses, but it runs during at least one.
#[test]
fn a_slow_source_is_counted_as_underruns_and_not_in_service_times() {
    let server = Server::start(|_, _| Some(success_response()));
    let finished = race(&plan(server.port, &[queued_task("search", 2)]), move |bridge, event| {
        if let PythonEvent::PrepareStep { .. } = event {
            prepared(bridge, event);
            for number in 0..8 {
                while server.requests().len() < number {
                    thread::sleep(Duration::from_millis(1));
                }
                thread::sleep(Duration::from_millis(10));
                bridge.enqueue(CLIENT, &search(&format!("/{number}")), None).unwrap();
            }
            bridge.finish(CLIENT, None).unwrap();
        }
    });
    let result = finished.task("search");
    assert_eq!(result.operation_totals.succeeded, 8);
    assert!((1..=8).contains(&result.underruns) && result.underrun_s > 0.0, "{result:?}");
    // A client executes one operation at a time, so its wait is not counted twice.
    let service_s = result.service_time.as_ref().unwrap().mean_ms * 8.0 / 1e3;
    assert!(service_s + result.underrun_s <= result.duration_s, "{service_s} {result:?}");
}

#[test]
fn details_of_a_runner_are_kept_with_its_sample_and_those_of_operations_are_returned_to_it() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut document: Value = serde_json::from_str(&search("/a")).unwrap();
    document["calls"][0]["details"] = "search".into();
    let document = document.to_string();
    let (mut query, sent) = (0, Arc::new(Mutex::new(None)));
    let received = Arc::clone(&sent);
    let finished = race(&plan(server.port, &[runner_task("run")]), move |bridge, event| match event {
        PythonEvent::RunOperation { query_id, .. } => {
            query = *query_id;
            bridge.execute(Some(query), "default", &document, None).unwrap();
        }
        PythonEvent::OperationExecuted { result, .. } => {
            *received.lock().unwrap() = result.details.clone();
            let details = Some("{\"recall\":0.9}".to_owned());
            bridge.complete(query, RunnerResult { details, ..success(1, true) }).unwrap();
        }
        _ => prepared(bridge, event),
    });
    assert_eq!(finished.samples.len(), 1);
    assert_eq!(finished.samples[0].details, Some(json!({"recall": 0.9})));
    let details = sent.lock().unwrap().clone().unwrap();
    assert!(details.contains("\"timed_out\":false"), "{details}");
}

#[test]
fn a_bulk_is_queued_with_its_body() {
    let server = Server::start(|_, _| Some(success_response()));
    let bulk = json!({"kind": "bulk", "path": "/_bulk", "headers": [["content-type", "application/x-ndjson"]],
        "documents": 2, "timeout_ms": null});
    let finished = race(&plan(server.port, &[queued_task("index", 4)]), move |bridge, event| {
        if let PythonEvent::PrepareStep { .. } = event {
            let body = b"{\"index\":{}}\n{}\n{\"index\":{}}\n{}\n".to_vec();
            let refused = bridge.enqueue(CLIENT, &bulk.to_string(), None).unwrap_err().to_string();
            assert!(refused.contains("task index: a bulk requires a body"), "{refused}");
            assert!(bridge.enqueue(CLIENT, "{\"kind\": \"tea\"}", None).is_err());
            bridge.enqueue(CLIENT, &bulk.to_string(), Some(body)).unwrap();
            bridge.finish(CLIENT, None).unwrap();
            prepared(bridge, event);
        }
    });
    assert_eq!(finished.task("index").work.weight, 2);
    assert_eq!(server.requests()[0].body.len(), 32);
    assert!(server.requests()[0].headers.contains(&"content-type: application/x-ndjson".to_owned()));
}

#[test]
fn a_source_that_raises_an_exception_ends_its_client_with_one_failure_and_its_reason() {
    let server = Server::start(|_, _| Some(success_response()));
    let tasks = [queued_task("broken", 4), request_task("native", 1, 5)];
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([step(&tasks, &[0, 1])]);
    let finished = race(&plan, |bridge, event| {
        if let PythonEvent::PrepareStep { .. } = event {
            bridge.enqueue(CLIENT, &search("/one"), None).unwrap();
            bridge.finish(CLIENT, Some("track.py:7 KeyError: 'size'".into())).unwrap();
            prepared(bridge, event);
        }
    });
    let broken = finished.task("broken");
    let accounting = broken.operation_totals;
    assert_eq!((accounting.begun, accounting.succeeded, accounting.failed), (2, 1, 1));
    assert_eq!((accounting.requests, broken.underruns, broken.ended_by), (1, 0, EndedBy::Source));
    let error = &broken.errors[0];
    assert_eq!(
        (error.error_class.as_str(), error.reason.as_str()),
        ("plugin", "track.py:7 KeyError: 'size'")
    );
    assert_eq!(finished.task("native").operation_totals.succeeded, 5);
    assert_eq!(finished.summary.aborted, None);
}

/// Runs a paced task of two clients whose sources fail after one operation each, and returns its result.
fn run_with_failing_sources(bound: Value, open_loop: bool) -> TaskResult {
    let server = Server::start(|_, _| Some(success_response()));
    let mut task = python_task("broken", 2, json!({"kind": "supplied", "ahead": 4}));
    task["bound"] = bound;
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 0.01});
    task["open_loop"] = open_loop.into();
    let finished = race(&plan(server.port, &[task]), |bridge, event| {
        if let PythonEvent::PrepareStep { .. } = event {
            for client in [CLIENT, TaskClientId { client_number: 1, ..CLIENT }] {
                bridge.enqueue(client, &search("/one"), None).unwrap();
                bridge.finish(client, Some("track.py:7 KeyError: 'size'".into())).unwrap();
            }
            prepared(bridge, event);
        }
    });
    finished.task("broken").clone()
}

#[test]
fn the_rest_of_the_plan_is_unsent_if_the_sources_fail() {
    let iterations = json!({"kind": "iterations", "warmup": 1, "measured": 19});
    let time = json!({"kind": "time", "warmup_s": 0.1, "measured_s": 0.3});
    let unknown = json!({"kind": "iterations", "warmup": 1, "measured": 1_u64 << 53});
    let endless = json!({"kind": "time", "warmup_s": 0.0, "measured_s": null});
    // In an open loop, the failures take no operations from the schedule.
    for (bound, open_loop, unsent) in [
        (&iterations, false, 36),
        (&iterations, true, 38),
        (&time, false, 36),
        (&time, true, 38),
        (&unknown, false, 0),
        (&unknown, true, 0),
        (&endless, false, 0),
        (&endless, true, 0),
    ] {
        let result = run_with_failing_sources(bound.clone(), open_loop);
        let totals = result.operation_totals;
        assert_eq!(
            (totals.begun, totals.succeeded, totals.failed, totals.unsent),
            (4, 2, 2, unsent),
            "{bound} {open_loop}"
        );
    }
}

#[test]
fn a_scheduler_decides_when_operations_are_due_and_receives_their_outcomes() {
    let server = Server::start(|_, before| {
        Some(if before == 1 { json_response(500, &json!({})) } else { success_response() })
    });
    let mut task = request_task("search", 1, 1);
    task["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": null});
    task["pacing"] = json!({"kind": "scheduled"});
    let received: Arc<Mutex<Vec<OperationEnded>>> = Arc::default();
    let (outcomes, mut scheduled) = (Arc::clone(&received), 0);
    let finished = race(&plan(server.port, &[task]), move |bridge, event| match event {
        PythonEvent::ScheduleNext { query_id, client: CLIENT } => {
            assert_eq!(outcomes.lock().unwrap().len(), scheduled);
            let offset = (scheduled < 3).then(|| Duration::from_millis(40 * scheduled as u64));
            scheduled += 1;
            bridge.schedule(*query_id, offset).unwrap();
        }
        PythonEvent::OperationEnded(ended) => {
            assert_eq!((ended.client, ended.unit.as_str()), (CLIENT, "ops"));
            outcomes.lock().unwrap().push(ended.clone());
        }
        other => prepared(bridge, other),
    });
    let received = received.lock().unwrap();
    let work: Vec<_> = received.iter().map(|ended| (ended.weight, ended.success)).collect();
    assert_eq!(work, [(1, true), (0, false), (1, true)]);
    assert!(received[1].error.starts_with("http-status: "), "{}", received[1].error);
    // Operations are never sent early; a delay is lateness.
    assert!(
        received.iter().zip([0.0, 0.04, 0.08]).all(|(ended, due)| ended.seconds_since_start >= due),
        "{received:?}"
    );
    let result = finished.task("search");
    assert_eq!((result.operation_totals.begun, result.operation_totals.unsent), (3, 0));
    assert_eq!((result.ended_by, result.paced), (EndedBy::Source, true));
    assert!(result.latency.is_some() && result.lateness.is_some());
}

#[test]
fn a_runner_has_the_service_times_of_its_requests() {
    let server = Server::start(|_, _| {
        thread::sleep(Duration::from_millis(50));
        Some(success_response())
    });
    let mut running = 0;
    let finished = race(&plan(server.port, &[runner_task("own")]), move |bridge, event| match event {
        PythonEvent::RunOperation { query_id, client: CLIENT, measured: true } => {
            running = *query_id;
            bridge.request(Some(running), "default", get("/_cat")).unwrap();
        }
        PythonEvent::ResponseReceived(RunnerResponse { status, headers, body, .. }) => {
            assert_eq!(
                (*status, body.as_slice()),
                (200, &success_response()[success_response().len() - body.len()..])
            );
            assert_eq!(headers[0], ("content-length".to_owned(), body.len().to_string()));
            thread::sleep(Duration::from_millis(20));
            let result = RunnerResult { unit: "docs".into(), ..success(7, true) };
            bridge.complete(running, result).unwrap();
        }
        other => prepared(bridge, other),
    });
    let seen = &server.requests()[0];
    assert_eq!(seen.line, "GET /_cat HTTP/1.1");
    assert!(
        seen.headers.contains(&"x-test: yes".to_owned()) && seen.headers.contains(&"x-own: 1".to_owned())
    );
    let result = finished.task("own");
    let (service, processing) =
        (result.service_time.as_ref().unwrap(), result.processing_time.as_ref().unwrap());
    assert!(service.min_ms >= 50.0, "{}", service.min_ms);
    assert!(processing.min_ms >= service.min_ms + 20.0, "{} {}", service.min_ms, processing.min_ms);
    assert_eq!((result.unit.as_str(), result.work.weight, result.operation_totals.requests), ("docs", 7, 1));
    assert_eq!((result.ended_by, result.operation_totals.begun), (EndedBy::Source, 1));
    assert!(result.bytes_out > 0 && result.bytes_in > 0);
    // One connection belongs to the worker's client and one to the runner's; both are opened before the clock starts.
    assert!(seen.connection < 2);
}

#[test]
fn a_runner_can_have_concurrent_requests_and_address_another_cluster() {
    let together = Arc::new((Mutex::new(0), Condvar::new()));
    let server = Server::start(move |_, _| {
        let (count, changed) = &*together;
        let mut arrived = count.lock().unwrap();
        *arrived += 1;
        changed.notify_all();
        // The server answers only when three requests have arrived.
        let timeout = Duration::from_secs(10);
        let (_arrived, waited) =
            changed.wait_timeout_while(arrived, timeout, |arrived| *arrived < 3).unwrap();
        (!waited.timed_out()).then(success_response)
    });
    let other = Arc::new(Server::start(|_, _| Some(json_response(404, &json!({})))));
    let mut plan = plan(server.port, &[runner_task("own")]);
    let connected = Arc::clone(&other);
    let mut target = plan["target"].clone();
    (target["hosts"][0]["port"], target["headers"]) = (other.port.into(), json!([]));
    plan["others"] = json!([{"name": "second", "target": target}]);
    let (mut running, mut statuses) = (0, Vec::new());
    let finished = race(&plan, move |bridge, event| match event {
        PythonEvent::RunOperation { query_id, .. } => {
            running = *query_id;
            // The connection to the other cluster was opened before the step began.
            let deadline = Instant::now() + Duration::from_secs(10);
            while connected.accepted().is_empty() {
                assert!(Instant::now() < deadline, "no connection was opened");
                thread::sleep(Duration::from_millis(1));
            }
            for _ in 0..3 {
                bridge.request(Some(running), "default", get("/")).unwrap();
            }
            bridge.request(Some(running), "second", get("/")).unwrap();
            assert!(bridge.request(Some(running), "third", get("/")).is_err());
            assert!(bridge.request(Some(running), "default", get("/a b")).is_err());
        }
        PythonEvent::ResponseReceived(RunnerResponse { status, .. }) => {
            statuses.push(*status);
            if statuses.len() == 4 {
                statuses.sort_unstable();
                assert_eq!(statuses, [200, 200, 200, 404]);
                bridge.complete(running, success(1, true)).unwrap();
            }
        }
        other => prepared(bridge, other),
    });
    let connections: BTreeSet<usize> = server.requests().iter().map(|seen| seen.connection).collect();
    assert_eq!((server.requests().len(), connections.len(), other.requests().len()), (3, 3, 1));
    assert!(!other.requests()[0].headers.contains(&"x-test: yes".to_owned()));
    assert_eq!(finished.task("own").operation_totals.requests, 4);
}

#[test]
fn a_request_without_a_response_is_reported_and_the_runner_names_the_error_class() {
    let server = Server::start(|_, _| None);
    let mut running = 0;
    let finished = race(&plan(server.port, &[runner_task("own")]), move |bridge, event| match event {
        PythonEvent::RunOperation { query_id, .. } => {
            running = *query_id;
            let timeout = Some(Duration::from_millis(40));
            bridge.request(Some(running), "default", RunnerRequest { timeout, ..get("/") }).unwrap();
        }
        PythonEvent::RequestFailed { kind, reason, .. } => {
            assert_eq!((*kind, reason.as_str()), ("timeout", "no complete response within 0.04 s"));
            bridge.complete(running, failure("timeout")).unwrap();
        }
        other => prepared(bridge, other),
    });
    let result = finished.task("own");
    assert_eq!(
        (result.operation_totals.failed, result.operation_totals.requests, result.work.failed_weight),
        (1, 1, 2)
    );
    assert_eq!(
        (result.errors[0].error_class.as_str(), result.errors[0].reason.as_str()),
        ("timeout", "Oops: it broke")
    );
    assert!(result.failed_service_time.as_ref().unwrap().min_ms >= 40.0);
}

#[test]
fn a_runner_that_fails_as_a_plug_in_fails_only_its_operation() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut runs = 0;
    let finished = race(&plan(server.port, &[runner_task("own")]), move |bridge, event| match event {
        PythonEvent::RunOperation { query_id, .. } if runs == 0 => {
            runs += 1;
            assert!(bridge.complete(u64::MAX, success(1, false)).is_err());
            bridge.complete(*query_id, RunnerResult { last: false, ..failure("plugin") }).unwrap();
            // This answer comes too late and is ignored.
            bridge.complete(*query_id, success(9, false)).unwrap();
        }
        PythonEvent::RunOperation { query_id, .. } => {
            bridge.complete(*query_id, success(3, true)).unwrap();
        }
        other => prepared(bridge, other),
    });
    let result = finished.task("own");
    assert_eq!(
        (result.operation_totals.begun, result.operation_totals.failed, result.work.weight),
        (2, 1, 3)
    );
    assert_eq!((result.errors[0].error_class.as_str(), result.ended_by), ("plugin", EndedBy::Source));
}

#[test]
fn a_runner_without_operations_is_not_counted_as_having_begun_one() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut runs = 0;
    let finished = race(&plan(server.port, &[runner_task("own")]), move |bridge, event| match event {
        PythonEvent::RunOperation { query_id, .. } if runs == 0 => {
            runs += 1;
            bridge.complete(*query_id, success(1, false)).unwrap();
        }
        PythonEvent::RunOperation { .. } => bridge.finish(CLIENT, None).unwrap(),
        other => prepared(bridge, other),
    });
    let result = finished.task("own");
    assert_eq!((result.operation_totals.begun, result.operation_totals.unanswered), (1, 0));
    assert_eq!(result.ended_by, EndedBy::Source);
    // If no request is sent, the service time is the duration of the whole operation.
    assert_eq!(result.service_time.as_ref().unwrap().count, 1);
}

#[test]
fn a_failed_runner_aborts_a_race_with_on_error_abort() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut plan = plan(server.port, &[runner_task("own"), request_task("never", 1, 1)]);
    plan["driver"]["on_error"] = "abort".into();
    let finished = race(&plan, |bridge, event| match event {
        PythonEvent::RunOperation { query_id, .. } => bridge.complete(*query_id, failure("timeout")).unwrap(),
        other => prepared(bridge, other),
    });
    assert_eq!(finished.summary.aborted.as_deref(), Some("task own failed (timeout)"));
    assert_eq!(finished.tasks.len(), 1);
}

#[test]
fn operations_that_the_driver_executes_for_a_runner_are_checked_and_counted() {
    let server = Server::start(|seen, _| {
        Some(if seen.line.contains("/bad") {
            json_response(503, &json!({"error": "busy"}))
        } else {
            success_response()
        })
    });
    let (mut running, mut outcomes) = (0, HashMap::new());
    let finished = race(&plan(server.port, &[runner_task("own")]), move |bridge, event| match event {
        PythonEvent::RunOperation { query_id, .. } => {
            running = *query_id;
            let request_id = bridge.execute(Some(running), "default", &search("/good"), None).unwrap();
            outcomes.insert(request_id, true);
            assert!(bridge.execute(Some(running), "default", "{}", None).is_err());
        }
        PythonEvent::OperationExecuted { request_id, result } => {
            assert_eq!(result.success, outcomes[request_id], "{result:?}");
            if result.success {
                assert_eq!((result.weight, result.took_ms, &result.failure), (1, Some(3), &None));
                let request_id = bridge.execute(Some(running), "default", &search("/bad"), None).unwrap();
                outcomes.insert(request_id, false);
            } else {
                let failure = result.failure.as_ref().unwrap();
                assert_eq!((failure.class, result.status), (ErrorClass::HttpStatus, 503));
                assert_eq!((result.took_ms, failure.status), (None, Some(503)));
                bridge.complete(running, success(1, true)).unwrap();
            }
        }
        other => prepared(bridge, other),
    });
    let result = finished.task("own");
    assert_eq!((result.operation_totals.requests, result.operation_totals.begun), (2, 1));
}

/// Runs a race with Python code that hangs until the race has been stopped: it answers `PrepareStep` if `answers`, and
/// no other event. Returns the race and all events.
fn race_with_hanging_python(plan: &Value, answers: bool) -> (Finished, Receiver<PythonEvent>) {
    let (sender, events): (Sender<PythonEvent>, _) = channel();
    let finished = run_with(plan, |race| {
        let bridge = Arc::clone(race.bridge().unwrap());
        let prepare = wait_for_events(&bridge);
        assert_eq!(prepare, [PythonEvent::PrepareStep { step: 0 }]);
        if answers {
            prepared(&bridge, &prepare[0]);
            sender.send(wait_for_events(&bridge).remove(0)).unwrap();
        }
        race.stop(StopLevel::Finish);
        if answers {
            race.stop(StopLevel::Abandon);
        }
        thread::spawn(move || {
            let forward = |event: &PythonEvent| sender.send(event.clone());
            serve_events(&bridge, |_, event| drop(forward(event)));
            let _ = forward(&PythonEvent::RaceEnded);
        });
    });
    (finished, events)
}

#[test]
fn a_hanging_runner_is_abandoned_when_the_race_is_stopped() {
    let server = Server::start(|_, _| Some(success_response()));
    let (finished, events) = race_with_hanging_python(&plan(server.port, &[runner_task("own")]), true);
    let accounting = finished.task("own").operation_totals;
    assert_eq!((accounting.begun, accounting.unanswered, accounting.failed), (1, 1, 0));
    assert!(finished.summary.stopped);
    let events: Vec<PythonEvent> = events.iter().collect();
    assert!(matches!(events[0], PythonEvent::RunOperation { .. }), "{events:?}");
    assert_eq!(events.last(), Some(&PythonEvent::RaceEnded));
}

#[test]
fn a_stopped_race_waits_neither_for_preparation_nor_for_sources() {
    let server = Server::start(|_, _| Some(success_response()));
    let (finished, events) = race_with_hanging_python(&plan(server.port, &[runner_task("own")]), false);
    assert_eq!(
        (finished.tasks.len(), finished.summary.error.clone(), finished.summary.stopped),
        (0, None, true)
    );
    assert_eq!(events.iter().collect::<Vec<_>>(), [PythonEvent::RaceEnded]);
    let mut scheduled = request_task("scheduled", 1, 1);
    scheduled["pacing"] = json!({"kind": "scheduled"});
    let tasks = [queued_task("starved", 1), scheduled];
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([step(&tasks, &[0, 1])]);
    let (go, stop) = channel();
    let finished = run_with(&plan, |race| {
        let bridge = Arc::clone(race.bridge().unwrap());
        let player = thread::spawn(move || {
            for event in wait_for_events(&bridge) {
                prepared(&bridge, &event);
            }
            go.send(wait_for_events(&bridge)).unwrap();
        });
        assert!(matches!(stop.recv().unwrap()[0], PythonEvent::ScheduleNext { .. }));
        race.stop(StopLevel::Finish);
        player.join().unwrap();
    });
    for task in ["starved", "scheduled"] {
        let result = finished.task(task);
        assert_eq!((result.operation_totals.begun, result.ended_by), (0, EndedBy::Stopped), "{task}");
    }
}

#[test]
fn a_preparation_that_fails_ends_the_race_with_its_reason() {
    let server = Server::start(|_, _| Some(success_response()));
    let finished = race(&plan(server.port, &[runner_task("own")]), |bridge, event| {
        if let PythonEvent::PrepareStep { step } = event {
            bridge.prepared(step + 1, None);
            bridge.prepared(*step, Some("track.py:3: there is no runner".into()));
        }
    });
    assert_eq!(finished.summary.error.as_deref(), Some("track.py:3: there is no runner"));
    assert!(finished.tasks.is_empty());
}

#[test]
fn native_queued_and_runner_tasks_run_in_parallel() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut queued = queued_task("queued", 8);
    queued["bound"] = json!({"kind": "iterations", "warmup": 2, "measured": 6});
    let mut own = python_task("own", 2, json!({"kind": "python_runner"}));
    own["bound"] = json!({"kind": "iterations", "warmup": 1, "measured": 4});
    let tasks = [queued, own, request_task("native", 2, 50)];
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([step(&tasks, &[0, 1, 2])]);
    let mut running = HashMap::new();
    let ended: Arc<Mutex<Vec<TaskClientId>>> = Arc::default();
    let (endings, mut warmups) = (Arc::clone(&ended), 0);
    let finished = race(&plan, move |bridge, event| match event {
        PythonEvent::PrepareStep { .. } => {
            while bridge.enqueue(CLIENT, &search("/s"), None).unwrap() {}
            prepared(bridge, event);
        }
        PythonEvent::RunOperation { query_id, measured, .. } => {
            warmups += usize::from(!measured);
            let request_id = bridge.request(Some(*query_id), "default", get("/own")).unwrap();
            running.insert(request_id, *query_id);
        }
        PythonEvent::ResponseReceived(RunnerResponse { request_id, .. }) => {
            bridge.complete(running[request_id], success(1, false)).unwrap();
        }
        PythonEvent::ClientEnded { client } => endings.lock().unwrap().push(*client),
        PythonEvent::StepEnded { step: 0 } => assert_eq!(warmups, 2),
        other => panic!("{other:?}"),
    });
    let counted = |name: &str| {
        let result = finished.task(name);
        (result.operation_totals.warmup, result.operation_totals.measured, result.ended_by)
    };
    assert_eq!(counted("queued"), (2, 6, EndedBy::Iterations));
    assert_eq!(counted("own"), (2, 8, EndedBy::Iterations));
    assert_eq!(counted("native"), (0, 100, EndedBy::Iterations));
    let mut ended = ended.lock().unwrap().clone();
    ended.sort_unstable();
    assert_eq!(
        ended,
        [
            CLIENT,
            TaskClientId { task_index: 1, client_number: 0 },
            TaskClientId { task_index: 1, client_number: 1 }
        ]
    );
    assert_eq!(finished.summary.samples, 118);
}

#[test]
fn a_task_ends_on_time_although_its_source_is_slow() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut task = queued_task("search", 4);
    task["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": 0.3});
    let finished = race(&plan(server.port, &[task]), |bridge, event| {
        if let PythonEvent::PrepareStep { .. } = event {
            bridge.enqueue(CLIENT, &search("/only"), None).unwrap();
            prepared(bridge, event);
        }
    });
    let result = finished.task("search");
    assert_eq!((result.operation_totals.begun, result.ended_by, result.underruns), (1, EndedBy::Time, 1));
}

#[test]
fn a_plan_without_python_has_no_bridge() {
    let server = Server::start(|_, _| Some(success_response()));
    run_with(&plan(server.port, &[request_task("native", 1, 1)]), |race| assert!(race.bridge().is_none()));
}
