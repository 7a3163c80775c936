//! Complete races over real sockets: the requests that are sent, and the results that are recorded.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::sleep;
use std::time::Duration;

use pacenote_driver::StopLevel;
use pacenote_record::EndedBy;
use serde_json::{Value, json};

use crate::support::calls::{calls_task, composite, operation, path_of};
use crate::support::server::ClosedPort;
use crate::support::{
    Server, bulk_task, json_response, plan, request, request_task, run, run_with, step, success_response,
};

#[test]
fn every_document_is_posted_exactly_once_by_any_number_of_clients() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("docs.json");
    let lines: Vec<String> = (0..1003).map(|number| format!("{{\"n\": {number}}}")).collect();
    fs::write(&file, lines.join("\n")).unwrap();
    let server = Server::start(|_, _| Some(success_response()));
    let race = run(&plan(server.port, &[bulk_task("index", 5, &file, 1003)]));
    let mut posted = BTreeSet::new();
    for seen in server.requests() {
        assert_eq!(seen.line, "POST /_bulk HTTP/1.1");
        assert!(seen.headers.contains(&"x-test: yes".to_owned()));
        let text = String::from_utf8(seen.body).unwrap();
        let all: Vec<&str> = text.lines().collect();
        for pair in all.chunks(2) {
            assert_eq!(pair[0], r#"{"index":{"_index":"logs"}}"#);
            assert!(posted.insert(pair[1].to_owned()), "{} was posted twice", pair[1]);
        }
    }
    assert_eq!(posted, lines.into_iter().collect());
    let result = race.task("index");
    assert_eq!((result.work.weight, result.error_rate, result.ended_by), (1003, Some(0.0), EndedBy::Source));
    assert_eq!(result.operation_totals.begun, server.requests().len() as u64);
    assert_eq!(race.summary.samples, result.operation_totals.begun);
    assert_eq!((race.summary.aborted, race.summary.error, race.summary.stopped), (None, None, false));
}

#[test]
fn a_client_keeps_its_connection_from_task_to_task() {
    let server = Server::start(|_, _| Some(success_response()));
    let race = run(&plan(server.port, &[request_task("one", 3, 5), request_task("two", 2, 5)]));
    let connections: BTreeSet<usize> = server.requests().iter().map(|seen| seen.connection).collect();
    assert_eq!((server.requests().len(), connections.len()), (25, 3));
    assert_eq!(race.tasks.iter().map(|task| task.task.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert!(race.task("one").latency.is_none());
    assert!((race.task("one").service_time.as_ref().unwrap().count - 15) == 0);
}

#[test]
fn a_server_that_closes_after_each_response_is_not_an_error_and_nothing_is_sent_twice() {
    let server = Server::start(|_, _| {
        Some(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 11\r\n\r\n{\"took\": 1}".to_vec())
    });
    let race = run(&plan(server.port, &[request_task("search", 1, 9)]));
    assert_eq!(server.requests().len(), 9);
    assert_eq!(race.task("search").operation_totals.succeeded, 9);
}

#[test]
fn failures_are_counted_and_kept_out_of_the_service_times_of_successes() {
    let server = Server::start(|_, before| {
        let full = json!({"error": {"type": "rejected", "reason": "queue is full"}, "status": 429});
        Some(if before % 3 == 2 { json_response(429, &full) } else { success_response() })
    });
    let race = run(&plan(server.port, &[request_task("search", 1, 30)]));
    let result = race.task("search");
    // The driver records every request and never retries one on its own.
    assert_eq!(server.requests().len(), 30);
    assert_eq!((result.operation_totals.begun, result.operation_totals.failed), (30, 10));
    assert_eq!(result.error_rate, Some(1.0 / 3.0));
    assert_eq!(result.service_time.as_ref().unwrap().count, 20);
    assert_eq!(result.failed_service_time.as_ref().unwrap().count, 10);
    let error = &result.errors[0];
    assert_eq!((error.error_class.as_str(), error.status, error.count), ("http-status", Some(429), 10));
    assert_eq!(error.reason, "rejected: queue is full");
    assert_eq!(result.work.weight, 20);
}

#[test]
fn a_schedule_sends_every_operation_that_is_due() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut task = request_task("search", 2, 1);
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 0.01});
    task["bound"] = json!({"kind": "time", "warmup_s": 0.2, "measured_s": 0.3});
    let race = run(&plan(server.port, &[task]));
    let result = race.task("search");
    // On a busy machine, the last operations may not be sent.
    let (warmup, normal, unsent) =
        (result.operation_totals.warmup, result.operation_totals.measured, result.operation_totals.unsent);
    assert_eq!((warmup, normal + unsent), (20, 30));
    assert_eq!((server.requests().len() as u64, result.ended_by), (warmup + normal, EndedBy::Time));
    assert_eq!(result.lateness.as_ref().unwrap().count, normal);
    assert!(result.latency.is_some());
}

#[test]
fn a_schedule_that_exceeds_the_capacity_of_the_engine_ends_on_time_and_counts_unsent_operations() {
    let server = Server::start(|_, _| {
        std::thread::sleep(Duration::from_millis(50));
        Some(success_response())
    });
    let mut task = request_task("search", 1, 1);
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 0.01});
    task["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": 0.5});
    let result = run(&plan(server.port, &[task])).task("search").clone();
    let accounting = result.operation_totals;
    assert_eq!(accounting.begun + accounting.unsent, 50, "{accounting:?}");
    assert_eq!(accounting.begun, server.requests().len() as u64);
    assert!(accounting.unsent >= 39, "{accounting:?}");
    // Time spent waiting for the engine is part of the latency, but not of the driver's lateness.
    assert!(result.latency.unwrap().max_ms > 300.0);
    assert!(result.lateness.unwrap().percentiles[0].ms < 20.0);
}

#[test]
fn a_bulk_without_a_response_has_indexed_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("docs.json");
    fs::write(&file, "{}\n".repeat(10)).unwrap();
    let server = Server::start(|_, before| (before > 0).then(success_response));
    let mut bulk = bulk_task("index", 1, &file, 10);
    bulk["work"]["timeout_ms"] = 500.into();
    let race = run(&plan(server.port, &[bulk]));
    assert_eq!((race.task("index").work.weight, race.task("index").work.failed_weight), (3, 7));
}

#[test]
fn a_looped_bulk_runs_until_another_task_completes_the_step() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("docs.json");
    fs::write(&file, "{}\n".repeat(10)).unwrap();
    let server = Server::start(|_, _| Some(success_response()));
    let mut bulk = bulk_task("index", 1, &file, 10);
    bulk["work"]["looped"] = true.into();
    let tasks = [bulk, request_task("search", 1, 200)];
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([step(&tasks, &[0, 1])]);
    plan["steps"][0]["completed_by"] = json!({"kind": "task", "task": 1});
    let race = run(&plan);
    assert_eq!(race.task("search").operation_totals.measured, 200);
    assert_eq!(race.task("index").ended_by, EndedBy::CompletedBy);
    assert!(race.task("index").work.weight > 10);
}

#[test]
fn an_operation_that_a_completed_step_cancels_has_not_failed() {
    let server = Server::start(|seen, _| {
        std::thread::sleep(Duration::from_millis(5));
        let busy = json!({"nodes": {"a": 1}});
        Some(if seen.line.contains("/_tasks") { json_response(200, &busy) } else { success_response() })
    });
    let mut nap = request_task("nap", 1, 1);
    nap["work"] = json!({"kind": "sleep", "seconds": 60.0});
    let mut poll = request_task("poll", 1, 1);
    poll["work"]["calls"][0]["path"] = "/_tasks".into();
    poll["work"]["calls"][0]["check"] = json!({"kind": "empty", "path": "nodes"});
    poll["work"]["calls"][0]["poll"] = json!({"every_s": 60.0});
    let tasks = [nap, poll, request_task("search", 1, 20)];
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([step(&tasks, &[0, 1, 2])]);
    plan["steps"][0]["completed_by"] = json!({"kind": "task", "task": 2});
    let race = run(&plan);
    for name in ["nap", "poll"] {
        let result = race.task(name);
        let accounting = result.operation_totals;
        assert_eq!((accounting.begun, accounting.failed, accounting.unanswered), (1, 0, 1), "{name}");
        assert_eq!((result.error_rate, result.ended_by), (None, EndedBy::CompletedBy), "{name}");
    }
}

#[test]
fn a_client_that_comes_from_another_task_does_not_catch_up() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut long = request_task("long", 1, 1);
    long["work"] = json!({"kind": "sleep", "seconds": 0.5});
    let mut paced = request_task("paced", 2, 20);
    paced["pacing"] = json!({"kind": "deterministic", "interval_s": 0.01});
    let tasks = [long, paced];
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([{"name": "both", "completed_by": null, "client_allocations": [
        {"client": 0, "allocations": [{"task": 1, "client": 0}]},
        {"client": 1, "allocations": [{"task": 0, "client": 0}, {"task": 1, "client": 1}]}]}]);
    let race = run(&plan);
    assert_eq!(race.task("paced").operation_totals.measured, 40);
    let due = |client| race.samples.iter().filter(move |one| one.task == "paced" && one.client == client);
    // Operations of a client that enters on time are due at 10, 30, … ms. A late client keeps this schedule from its
    // entry on.
    let late: Vec<i64> = due(1).map(|one| one.due / 1_000_000).collect();
    assert!(late[0] >= 490 && late[0] % 20 == 10, "the late client sent a backlog: {late:?}");
    assert!(late.windows(2).all(|pair| pair[1] == pair[0] + 20), "{late:?}");
    assert_eq!(due(0).map(|one| one.due).min(), Some(0));
}

#[test]
fn only_the_retries_of_the_plan_are_sent_and_they_are_counted() {
    let server = Server::start(|_, before| Some(health(if before < 4 { "yellow" } else { "green" })));
    let race = run(&plan(server.port, &[health_task()]));
    let accounting = race.task("health").operation_totals;
    assert_eq!((accounting.begun, accounting.failed, accounting.retried, accounting.requests), (1, 0, 4, 5));
}

/// Builds a task that waits until the cluster is green.
fn health_task() -> Value {
    let mut task = request_task("health", 1, 1);
    let check = json!({"kind": "health", "status": "green", "no_relocating_shards": true});
    task["work"]["calls"][0]["check"] = check;
    task["work"]["retry"]["until_success"] = true.into();
    task
}

fn health(status: &str) -> Vec<u8> {
    json_response(200, &json!({"status": status, "relocating_shards": 0}))
}

#[test]
fn retries_until_success_end_at_their_limit_with_the_last_reason() {
    let server = Server::start(|_, _| Some(health("red")));
    let mut task = health_task();
    task["work"]["retry"]["limit_s"] = 0.3.into();
    let race = run(&plan(server.port, &[task]));
    let result = race.task("health");
    assert_eq!((result.operation_totals.begun, result.operation_totals.failed), (1, 1));
    let attempts = result.operation_totals.requests;
    assert!(attempts > 1, "{attempts}");
    let reason = &result.errors[0].reason;
    assert!(reason.contains(&format!("(given up after {attempts} attempts in ")), "{reason}");
    assert!(race.summary.aborted.is_none());
}

#[test]
fn the_progress_shows_what_a_retry_until_success_waits_for() {
    let seen = Arc::new(AtomicBool::new(false));
    let was_seen = Arc::clone(&seen);
    let server = Server::start(move |_, _| Some(health(if was_seen.load(SeqCst) { "green" } else { "red" })));
    let mut shown = Vec::new();
    let mut after = Vec::new();
    let last = request_task("last", 1, 1);
    run_with(&plan(server.port, &[health_task(), last]), |race| {
        while shown.is_empty() {
            sleep(Duration::from_millis(1));
            shown = race.progress().waits;
        }
        seen.store(true, SeqCst);
        while race.progress().step < 2 {
            sleep(Duration::from_millis(1));
        }
        after = race.progress().waits;
    });
    assert_eq!((shown[0].task.as_str(), shown[0].limit_s), ("health", 600.0));
    assert!(shown[0].attempts > 0 && shown[0].reason.contains("red"), "{shown:?}");
    assert!(after.is_empty(), "{after:?}");
}

#[test]
fn the_progress_shows_no_retries_of_a_stream_that_ended_because_another_one_failed() {
    let seen = Arc::new(AtomicBool::new(false));
    let was_seen = Arc::clone(&seen);
    let server = Server::start(move |request, _| match path_of(request) {
        "/health" => Some(health("red")),
        "/fails" => {
            while !was_seen.load(SeqCst) {
                sleep(Duration::from_millis(1));
            }
            Some(json_response(400, &json!({})))
        }
        _ => Some(success_response()),
    });
    let mut endless = operation("endless", &[request("GET", "/health")]);
    endless["calls"][0]["check"] = json!({"kind": "health", "status": "green", "no_relocating_shards": true});
    endless["retry"]["until_success"] = true.into();
    let fails = operation("fails", &[request("GET", "/fails")]);
    let streams = [endless, fails].map(|one| json!({"kind": "stream", "items": [one]}));
    let both = calls_task("both", 1, &[composite(&streams, Value::Null)]);
    let mut after = None;
    let race = run_with(&plan(server.port, &[both, request_task("last", 1, 1)]), |race| {
        while race.progress().waits.is_empty() {
            sleep(Duration::from_millis(1));
        }
        seen.store(true, SeqCst);
        while race.progress().step < 2 {
            sleep(Duration::from_millis(1));
        }
        after = Some(race.progress().waits);
    });
    assert_eq!(race.task("both").operation_totals.failed, 1);
    assert_eq!(after, Some(vec![]));
}

#[test]
fn a_failure_of_a_task_that_must_succeed_ends_the_race_with_the_reason_of_the_engine() {
    let server = Server::start(|_, _| {
        let error = json!({"type": "mapper_parsing_exception", "reason": "analyzer [english] not found"});
        Some(json_response(400, &json!({"error": error, "status": 400})))
    });
    let mut needed = request_task("create-index", 1, 1);
    needed["must_succeed"] = true.into();
    let race = run(&plan(server.port, &[request_task("search", 1, 2), needed, request_task("never", 1, 1)]));
    assert_eq!((race.task("search").operation_totals.failed, race.tasks.len()), (2, 2));
    assert_eq!(
        race.summary.aborted.unwrap(),
        "task create-index failed: mapper_parsing_exception: analyzer [english] not found (HTTP status 400); later \
         tasks depend on it (--on-error=continue runs them)"
    );
}

#[test]
fn a_sequence_ends_with_its_first_failure_and_an_ignored_status_is_not_a_failure() {
    let server = Server::start(|seen, _| {
        Some(if seen.line.contains("/gone") {
            json_response(404, &json!({}))
        } else {
            json_response(500, &json!({}))
        })
    });
    let mut task = request_task("delete", 1, 1);
    let mut gone = request("DELETE", "/gone");
    gone["ignore"] = json!([404]);
    task["work"]["calls"] = json!([gone, request("DELETE", "/bad"), request("DELETE", "/never")]);
    let race = run(&plan(server.port, &[task]));
    let lines: Vec<String> = server.requests().into_iter().map(|seen| seen.line).collect();
    assert_eq!(lines, ["DELETE /gone HTTP/1.1", "DELETE /bad HTTP/1.1"]);
    assert_eq!(race.task("delete").operation_totals.failed, 1);
}

#[test]
fn a_host_that_refuses_connections_ends_the_race_with_a_one_line_message() {
    let closed = ClosedPort::bind();
    let port = closed.port;
    let race = run(&plan(port, &[request_task("search", 2, 5)]));
    let error = race.summary.error.unwrap();
    assert!(error.starts_with(&format!("cannot connect to 127.0.0.1:{port}")), "{error}");
    let mut stubborn = plan(port, &[request_task("search", 1, 2)]);
    stubborn["driver"]["on_error"] = "continue-on-network".into();
    let race = run(&stubborn);
    assert_eq!((race.summary.error.clone(), race.task("search").operation_totals.failed), (None, 2));
    assert_eq!(race.task("search").errors[0].error_class, "connect");
}

#[test]
fn abort_ends_the_race_at_the_first_failure_unless_the_task_tolerates_it() {
    let server = Server::start(|_, _| Some(json_response(500, &json!({}))));
    let mut tolerant = request_task("tolerant", 1, 3);
    tolerant["tolerates_errors"] = true.into();
    let mut plan = plan(server.port, &[tolerant, request_task("strict", 1, 3), request_task("never", 1, 3)]);
    plan["driver"]["on_error"] = "abort".into();
    let race = run(&plan);
    assert_eq!(race.task("tolerant").operation_totals.failed, 3);
    assert_eq!(
        (race.task("strict").operation_totals.failed, race.task("strict").ended_by),
        (1, EndedBy::Aborted)
    );
    assert_eq!(race.tasks.len(), 2);
    assert_eq!(race.summary.aborted.unwrap(), "task strict failed (http-status)");
}

#[test]
fn unanswered_operations_are_counted_when_the_race_is_stopped() {
    let server = Server::start(|_, before| (before < 4).then(success_response));
    let race = run_with(&plan(server.port, &[request_task("search", 2, 1000)]), |race| {
        while server.requests().len() < 6 {
            std::thread::sleep(Duration::from_millis(5));
        }
        race.stop(StopLevel::Finish);
        race.stop(StopLevel::Abandon);
    });
    let result = race.task("search");
    let accounting = result.operation_totals;
    assert_eq!((accounting.begun, accounting.succeeded, accounting.unanswered), (6, 4, 2));
    assert_eq!((result.ended_by, race.summary.stopped), (EndedBy::Stopped, true));
}

#[test]
fn a_response_that_takes_too_long_is_a_timeout() {
    let server = Server::start(|_, before| (before > 0).then(success_response));
    let mut task = request_task("search", 1, 2);
    task["work"]["calls"][0]["timeout_ms"] = 500.into();
    let race = run(&plan(server.port, &[task]));
    let result = race.task("search");
    assert_eq!((result.operation_totals.failed, result.operation_totals.succeeded), (1, 1));
    assert_eq!(result.errors[0].error_class, "timeout");
}

#[test]
fn one_client_runs_its_tasks_one_after_another() {
    let server = Server::start(|_, _| Some(success_response()));
    let tasks = [request_task("one", 1, 4), request_task("two", 1, 6)];
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([{"name": "both", "completed_by": null, "client_allocations": [
        {"client": 0, "allocations": [{"task": 0, "client": 0}, {"task": 1, "client": 0}]}]}]);
    let race = run(&plan);
    assert_eq!(
        (race.task("one").operation_totals.measured, race.task("two").operation_totals.measured),
        (4, 6)
    );
    assert!(race.task("two").started_s > race.task("one").started_s);
}

#[test]
fn a_file_with_a_different_number_of_documents_is_rejected_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("docs.json");
    fs::write(&file, "{}\n".repeat(10)).unwrap();
    let server = Server::start(|_, _| Some(success_response()));
    let race = run(&plan(server.port, &[bulk_task("index", 1, &file, 11)]));
    let error = race.summary.error.unwrap();
    assert!(error.contains("docs.json has 10 lines, but the 11 documents of the plan need 11; "), "{error}");
    assert!(server.requests().is_empty());
}
