//! Checks that every request is recorded with its bytes, even if the response arrives in pieces.

use std::collections::BTreeSet;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::MS;
use crate::support::samples::beginning;
use crate::support::server::{Answer, End, Options, chunked, gzipped, response_with, response_with_took};
use crate::support::{Finished, LoggedRequest, Server, json_response, plan, request_task, run, step};

/// Returns the bytes of all requests to a path and of their responses, as counted by the server.
fn bytes(seen: &[LoggedRequest], path: &str) -> (u64, u64) {
    let of = || seen.iter().filter(|seen| seen.line.split(' ').nth(1) == Some(path));
    (of().map(|seen| seen.bytes as u64).sum(), of().map(|seen| seen.response_bytes as u64).sum())
}

/// [4] 3 clients send 30 requests each. Two thirds are answered with 429, 502, 503 or 504, which HTTP clients often
/// retry: 90 requests, 90 samples, 60 of them failures.
#[test]
fn ninety_requests_are_ninety_samples() {
    let server = Server::start(|_, before| match before % 6 {
        0 | 3 => response_with_took(before),
        refused => json_response([0, 429, 502, 0, 503, 504][refused], &json!({})),
    });
    let race = run(&plan(server.port, &[request_task("search", 3, 30)]));
    let (result, seen) = (race.task("search"), server.requests());
    let accounting = result.operation_totals;
    assert_eq!((seen.len(), race.samples.len(), accounting.requests, race.summary.samples), (90, 90, 90, 90));
    assert_eq!((accounting.succeeded, accounting.failed, accounting.retried), (30, 60, 0));
    let failed = race.samples.iter().filter(|one| !one.success);
    let statuses: BTreeSet<(i64, &str)> = failed.map(|one| (one.status, one.error_class.as_str())).collect();
    assert_eq!(statuses, BTreeSet::from([429, 502, 503, 504].map(|status| (status, "http-status"))));
    assert_eq!(result.errors.iter().map(|error| error.count).collect::<Vec<_>>(), [15; 4]);
    assert_eq!((result.bytes_out, result.bytes_in), bytes(&seen, "/_search"));
    beginning(&race.samples, &seen);
}

/// [4] Retries configured in the operation: 4 operations that each fail twice with 408 before they succeed make 12
/// requests. Service time is that of the last attempt, and no retry begins before its wait has passed.
#[test]
fn configured_retries_are_sent_and_counted() {
    let server = Server::start(|_, before| {
        if before % 3 == 2 { response_with_took(before) } else { json_response(408, &json!({})) }
    });
    let mut task = request_task("search", 1, 4);
    task["work"]["retry"]["retries"] = 5.into();
    task["work"]["retry"]["wait_s"] = 0.03.into();
    let race = run(&plan(server.port, &[task]));
    let (accounting, seen) = (race.task("search").operation_totals, server.requests());
    assert_eq!((seen.len(), accounting.requests, accounting.retried), (12, 12, 8));
    assert_eq!((accounting.begun, accounting.failed, race.samples.len()), (4, 0, 4));
    for attempts in seen.chunks(3).flat_map(|operation| operation.windows(2)) {
        assert!(attempts[1].arrived >= attempts[0].responded.unwrap() + 30_000_000);
    }
    beginning(&race.samples, &seen);
}

/// [7] 5 clients send 20 requests each: all 100 have every header, and each of the 6 that get no response fails after
/// its operation's timeout of 40 ms, not after the race's timeout of 5 s.
#[test]
fn every_request_has_the_headers_and_the_timeout_of_its_operation() {
    let server = Server::start(|seen, before| {
        if seen.line.contains("/mute") { Answer::silence() } else { response_with_took(before).into() }
    });
    let mut task = request_task("search", 5, 20);
    let request = &mut task["work"]["calls"][0];
    request["headers"] = json!([["x-opaque-id", "me"], ["x-tag", "a b"]]);
    request["timeout_ms"] = 4000.into();
    let mut mute = request_task("mute", 2, 3);
    mute["work"]["calls"][0]["path"] = "/mute".into();
    mute["work"]["calls"][0]["timeout_ms"] = 40.into();
    mute["work"]["calls"][0]["headers"] = json!([["x-opaque-id", "me"], ["x-tag", "a b"]]);
    let race = run(&plan(server.port, &[task, mute]));
    let seen = server.requests();
    assert_eq!(seen.len(), 106);
    for header in ["x-opaque-id: me", "x-tag: a b", "x-test: yes"] {
        assert!(seen.iter().all(|seen| seen.headers.iter().any(|line| line == header)), "{header}");
    }
    let result = race.task("mute");
    assert_eq!((result.operation_totals.failed, result.errors[0].error_class.as_str()), (6, "timeout"));
    assert!(result.failed_service_time.as_ref().unwrap().max_ms < 4000.0);
    assert_eq!(race.task("search").operation_totals.succeeded, 100);
}

/// Opens a server 300 ms after a race against it has begun. Returns the race and when the server was opened.
fn opened_late(server: &Server, task: &Value, shut: impl FnOnce()) -> (Finished, i64) {
    thread::scope(|scope| {
        let race = scope.spawn(|| run(&plan(server.port, std::slice::from_ref(task))));
        shut();
        thread::sleep(Duration::from_millis(300));
        let opened = server.now().cast_signed();
        server.open();
        (race.join().unwrap(), opened)
    })
}

fn every_millisecond(iterations: u64) -> Value {
    let mut task = request_task("search", 1, iterations);
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 0.001});
    task
}

/// [13] The server's accept queue is full when the client connects, so the kernel retries after a second. All of this
/// happens before the task begins.
#[test]
fn opening_a_connection_is_not_part_of_a_sample() {
    let server =
        Server::bind(Options { backlog: 0, ..Options::default() }, |_, before| response_with_took(before));
    let plug = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let (race, opened) = opened_late(&server, &every_millisecond(5), || ());
    drop(plug);
    let seen = server.requests();
    assert_eq!((seen.len(), race.task("search").operation_totals.succeeded), (5, 5));
    assert!(
        *beginning(&race.samples, &seen).end() >= opened,
        "the task started before the connection was open"
    );
}

/// [13] Reconnecting in the middle of a task: the server closes the connection after the second response, and accepts
/// no other for at least 300 ms. The third operation is sent late, and its latency includes the delay; its service time
/// starts when it is sent, after the connection has been opened.
#[test]
fn reconnecting_is_part_of_latency_and_not_of_service_time() {
    let server = Server::bind(Options { backlog: 0, ..Options::default() }, |_, before| {
        if before != 1 {
            return Answer::from(response_with_took(before));
        }
        let body = br#"{"took":1,"timed_out":false,"_shards":{"failed":0}}"#;
        Answer::from(response_with(200, "connection: close\r\n", body)).then(End::Shut)
    });
    server.open();
    let answered = || {
        while server.requests().len() < 2 {
            thread::sleep(Duration::from_millis(1));
        }
    };
    let (race, opened) = opened_late(&server, &every_millisecond(6), answered);
    let (seen, accounting) = (server.requests(), race.task("search").operation_totals);
    assert_eq!((seen.len(), accounting.succeeded, accounting.reconnects), (6, 6, 1));
    let third = race.samples.iter().find(|sample| sample.took == 2).unwrap();
    let begin = beginning(&race.samples, &seen);
    assert!(third.sent >= opened - begin.end(), "{third:?}");
    assert!(third.latency() >= third.service() + 250 * MS, "{third:?}");
}

/// Responses compressed with gzip, sent whole, in chunks and in pieces: bytes on the wire and bytes of content are
/// counted separately.
#[test]
fn compressed_responses_are_counted_as_transferred() {
    let body = |before: usize| {
        let hits = "a hit like any other ".repeat(200);
        json!({"hits": hits, "timed_out": false, "took": before, "_shards": {"failed": 0}}).to_string()
    };
    let server = Server::start(move |_, before| {
        let coding = "content-encoding: gzip\r\n";
        let packed = gzipped(body(before).as_bytes());
        match before % 3 {
            0 => response_with(200, coding, &packed).into(),
            1 => chunked(200, coding, &packed, 16).into(),
            _ => Answer::from(chunked(200, coding, &packed, 7)).trickled(9, Duration::from_millis(9)),
        }
    });
    let race = run(&plan(server.port, &[request_task("search", 2, 6)]));
    let (result, seen) = (race.task("search"), server.requests());
    assert_eq!((result.operation_totals.succeeded, seen.len()), (12, 12));
    assert_eq!((result.bytes_out, result.bytes_in), bytes(&seen, "/_search"));
    let unpacked: usize = (0..12).map(|before| body(before).len()).sum();
    assert_eq!(result.content_in as usize, unpacked);
    assert!(result.bytes_in < result.content_in / 4);
    beginning(&race.samples, &seen);
}

/// Responses in pieces: a body of 2 kB in chunks of 100 bytes with extensions and a trailer, a response in 20 writes
/// over 120 ms, and one whose last byte arrives 150 ms after the rest. `done` is when the last byte arrived, and every
/// byte of the framing is counted.
#[test]
fn a_response_is_complete_with_its_last_byte() {
    let filler = "x".repeat(2000);
    let server = Server::start(move |seen, before| {
        let body =
            json!({"took": before, "timed_out": false, "_shards": {"failed": 0}, "hits": filler}).to_string();
        let plain = json_response(200, &serde_json::from_str(&body).unwrap());
        match seen.line.split(' ').nth(1).unwrap() {
            "/chunked" => chunked(200, "", body.as_bytes(), 100).into(),
            "/trickled" => Answer::from(plain).trickled(20, Duration::from_millis(120)),
            "/chunks" => {
                Answer::from(chunked(200, "", body.as_bytes(), 64)).trickled(50, Duration::from_millis(120))
            }
            _ => Answer::from(plain).trickled(2, Duration::from_millis(150)),
        }
    });
    let names = ["chunked", "trickled", "chunks", "halves"];
    let task = |name: &&str| {
        let mut task = request_task(name, 1, 2);
        task["work"]["calls"][0]["path"] = format!("/{name}").into();
        task
    };
    let tasks: Vec<Value> = names.iter().map(task).collect();
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([step(&tasks, &[0, 1, 2, 3])]);
    let race = run(&plan);
    let seen = server.requests();
    for (name, least_ms) in names.iter().zip([0.0, 120.0, 120.0, 150.0]) {
        let result = race.task(name);
        assert_eq!((result.operation_totals.succeeded, result.operation_totals.requests), (2, 2), "{name}");
        assert!(result.service_time.as_ref().unwrap().min_ms >= least_ms, "{name}");
        assert_eq!((result.bytes_out, result.bytes_in), bytes(&seen, &format!("/{name}")), "{name}");
        let of_task: Vec<_> = race.samples.iter().filter(|one| one.task == **name).cloned().collect();
        beginning(&of_task, &seen);
    }
    for sample in &race.samples {
        let request = &seen[usize::try_from(sample.took).unwrap()];
        assert_eq!(
            (sample.bytes_out as usize, sample.bytes_in as usize),
            (request.bytes, request.response_bytes)
        );
    }
}
