//! Compressed responses in races and in requests from Python runners.

use std::sync::{Arc, Mutex};

use pacenote_driver::{PythonEvent, RunnerResponse};
use serde_json::{Value, json};

use crate::support::python::{get, prepared, race, runner_task, success};
use crate::support::server::{Answer, Server, chunked, gzipped, response_with, success_response};
use crate::support::{plan, request, request_task, run, step};

const GZIP: &str = "content-encoding: gzip\r\n";

/// Returns the body of a failed search.
fn failed_search() -> Vec<u8> {
    json!({"took": 7, "timed_out": false, "_shards": {"failed": 1, "failures": [{"reason": {"type": "t", "reason": "why"}}]}})
        .to_string()
        .into_bytes()
}

/// Returns the body of a successful response.
fn success_body() -> Vec<u8> {
    let response = success_response();
    let head = response.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    response[head..].to_vec()
}

fn task_accepting_gzip(path: &str) -> Value {
    let mut search = request("GET", path);
    search["headers"] = json!([["Accept-Encoding", "gzip, deflate"]]);
    let mut task = request_task("search", 1, 1);
    task["work"]["calls"] = json!([search]);
    task
}

#[test]
fn responses_are_checked_after_decompression() {
    let server = Server::start(|seen, number| {
        assert!(seen.headers.contains(&"accept-encoding: gzip".to_owned()), "{:?}", seen.headers);
        let body = if number % 2 == 0 { failed_search() } else { success_body() };
        Answer::from(if number < 2 {
            response_with(200, GZIP, &gzipped(&body))
        } else {
            chunked(200, GZIP, &gzipped(&body), 7)
        })
    });
    let mut task = task_accepting_gzip("/_search");
    task["bound"]["measured"] = 4.into();
    let finished = run(&plan(server.port, &[task]));
    let result = finished.task("search");
    assert_eq!((result.operation_totals.succeeded, result.operation_totals.failed), (2, 2));
    assert_eq!((result.errors[0].error_class.as_str(), result.errors[0].count), ("shard-failure", 2));
    // Compressed and decompressed bytes are counted separately.
    assert_eq!(result.content_in, 2 * (failed_search().len() + success_body().len()) as u64);
    let written: usize = server.requests().iter().map(|seen| seen.response_bytes).sum();
    assert_eq!(result.bytes_in, written as u64);
}

#[test]
fn a_body_that_cannot_be_decompressed_is_a_protocol_error() {
    let mut damaged = gzipped(&failed_search());
    damaged.truncate(40);
    let replies = [
        response_with(200, GZIP, &damaged),
        response_with(200, "content-encoding: br\r\n", b"{}"),
        response_with(200, GZIP, b""),
        response_with(200, GZIP, &gzipped(&success_response()[success_response().len() - 69..])),
    ];
    let server = Server::start(move |_, number| Answer::from(replies[number].clone()));
    let mut task = task_accepting_gzip("/_search");
    task["bound"]["measured"] = 4.into();
    task["work"]["calls"][0]["check"] = json!({"kind": "status"});
    let finished = run(&plan(server.port, &[task]));
    let result = finished.task("search");
    assert_eq!((result.operation_totals.succeeded, result.operation_totals.failed), (2, 2));
    assert!(result.errors.iter().all(|error| error.error_class == "protocol"), "{:?}", result.errors);
    assert!(finished.samples.iter().all(|sample| sample.status == 200), "a status that arrived is missing");
    let written: usize = server.requests().iter().map(|seen| seen.response_bytes).sum();
    assert_eq!(result.bytes_in, written as u64, "some responses were not received completely");
    assert!(server.requests().iter().map(|seen| seen.connection).is_sorted());
}

#[test]
fn decompression_is_not_part_of_the_service_time() {
    let body = gzipped(&vec![b' '; 4 << 20]);
    let server = Server::start(move |_, _| Answer::from(response_with(200, GZIP, &body)));
    let mut task = task_accepting_gzip("/");
    task["work"]["calls"][0]["check"] = json!({"kind": "status"});
    let finished = run(&plan(server.port, &[task]));
    let result = finished.task("search");
    assert_eq!(result.content_in, 4 << 20);
    let [service, processing] =
        [&result.service_time, &result.processing_time].map(|times| times.as_ref().unwrap().min_ms);
    // The difference is the time for decompressing 4 MiB, as the body is not used otherwise.
    assert!(processing > service + 0.2, "{service} {processing}");
}

#[test]
fn other_clients_of_a_thread_are_served_while_a_long_response_is_decompressed() {
    // 100 members of 1 MiB: 1,600 slices.
    let body = gzipped(&vec![b' '; 1 << 20]).repeat(100);
    let reply = response_with(200, GZIP, &body);
    let server = Server::start(move |seen, _| {
        let is_long = seen.line.starts_with("GET /long");
        Answer::from(if is_long { reply.clone() } else { success_response() })
    });
    let mut long = task_accepting_gzip("/long");
    (long["name"], long["work"]["calls"][0]["check"]) = ("long".into(), json!({"kind": "status"}));
    let mut other = request_task("other", 1, 1);
    other["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": null});
    let tasks = [long, other];
    let mut plan = plan(server.port, &tasks);
    plan["driver"]["threads"] = 1.into();
    plan["steps"] = json!([step(&tasks, &[0, 1])]);
    plan["steps"][0]["completed_by"] = json!({"kind": "task", "task": 0});
    let finished = run(&plan);
    assert_eq!(finished.task("long").content_in, 100 << 20);
    // The step ends when the response has been decompressed.
    let samples = |task: &'static str| finished.samples.iter().filter(move |sample| sample.task == task);
    let received = samples("long").next().unwrap().done;
    let meanwhile = samples("other").filter(|sample| sample.sent > received).count();
    assert!(meanwhile > 100, "{meanwhile} requests");
}

#[test]
fn a_runner_in_python_receives_the_decompressed_body() {
    let server = Server::start(|seen, _| {
        assert!(seen.headers.contains(&"accept-encoding: gzip".to_owned()), "{:?}", seen.headers);
        Answer::from(response_with(200, GZIP, &gzipped(&failed_search())))
    });
    let mut running = 0;
    let received = Arc::new(Mutex::new(None));
    let replies = Arc::clone(&received);
    race(&plan(server.port, &[runner_task("own")]), move |bridge, event| match event {
        PythonEvent::RunOperation { query_id, .. } => {
            running = *query_id;
            let mut request = get("/");
            request.headers.push(("accept-encoding".into(), "gzip".into()));
            bridge.request(Some(running), "default", request).unwrap();
        }
        PythonEvent::ResponseReceived(RunnerResponse { body, .. }) => {
            *replies.lock().unwrap() = Some(body.clone());
            bridge.complete(running, success(1, true)).unwrap();
        }
        other => prepared(bridge, other),
    });
    assert_eq!(received.lock().unwrap().take().unwrap(), failed_search());
}
