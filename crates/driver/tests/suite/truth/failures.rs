//! Checks what counts as a failure, and that failures do not improve figures.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::MS;
use super::percentile;
use crate::support::server::{Answer, response_with, response_with_took};
use crate::support::{
    Finished, Server, bulk_task, json_response, plan, request, request_task, run, success_response,
};

/// Builds the response to a bulk of 10 documents, the first `rejected` of which are rejected with 429.
fn rejecting(rejected: u64) -> Vec<u8> {
    let item = |number: u64| match number {
        number if number < rejected => {
            json!({"index": {"status": 429, "error": {"type": "es_rejected", "reason": "queue is full"}}})
        }
        _ => json!({"index": {"status": 201}}),
    };
    let items: Vec<Value> = (0..10).map(item).collect();
    json_response(200, &json!({"took": 1, "errors": rejected > 0, "items": items}))
}

/// [3, 22] 20 bulks of 10 documents, with 4 rejected documents in every second bulk: 200 sent, 40 rejected, a
/// throughput of
/// 160. Half of the requests failed, and their times are in a separate histogram.
#[test]
fn rejected_documents_are_not_throughput() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("docs.json");
    fs::write(&file, "{}\n".repeat(200)).unwrap();
    let server = Server::start(|_, before| rejecting(if before % 2 == 0 { 4 } else { 0 }));
    let mut task = bulk_task("index", 2, &file, 200);
    task["work"]["bulk_size"] = 10.into();
    let race = run(&plan(server.port, &[task]));
    let result = race.task("index");
    assert_eq!((server.requests().len(), result.work.weight, result.work.failed_weight), (20, 160, 40));
    assert_eq!(result.error_rate, Some(0.5));
    let all = result.throughput.unwrap().mean * result.window_s;
    assert!((all - 160.0).abs() < 1e-6, "{all}");
    assert_eq!(result.service_time.as_ref().unwrap().count, 10);
    assert_eq!(result.failed_service_time.as_ref().unwrap().count, 10);
    let error = &result.errors[0];
    assert_eq!((error.error_class.as_str(), error.status, error.count), ("bulk-item", Some(429), 40));
    assert_eq!(error.reason, "es_rejected: queue is full");
    assert!(error.first_s <= error.last_s);
}

/// [3] Every document of every bulk is rejected: 100 documents sent, an error rate of 1, and a throughput of 0.
#[test]
fn an_index_that_rejects_every_document_has_no_throughput() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("docs.json");
    fs::write(&file, "{}\n".repeat(100)).unwrap();
    let server = Server::start(|_, _| rejecting(10));
    let mut task = bulk_task("index", 1, &file, 100);
    task["work"]["bulk_size"] = 10.into();
    let race = run(&plan(server.port, &[task]));
    let result = race.task("index");
    assert_eq!((result.work.weight, result.work.failed_weight, result.operation_totals.failed), (0, 100, 10));
    assert!(result.throughput.unwrap().max.abs() < f64::EPSILON && result.error_rate == Some(1.0));
}

/// [5] Every second request fails after 1 ms; the others succeed after 50 ms. The median of the successes is 50 ms;
/// with the failures included, it would be 1 ms.
#[test]
fn fast_failures_do_not_improve_percentiles() {
    let server = Server::start(|_, before| {
        if before % 2 == 0 {
            return Answer::from(json_response(503, &json!({}))).after(Duration::from_millis(1));
        }
        Answer::from(response_with_took(before)).after(Duration::from_millis(50))
    });
    let race = run(&plan(server.port, &[request_task("search", 4, 10)]));
    let result = race.task("search");
    let (good, bad) = (result.service_time.as_ref().unwrap(), result.failed_service_time.as_ref().unwrap());
    assert_eq!((good.count, bad.count), (20, 20));
    assert!(good.min_ms >= 50.0 && good.percentiles[0].ms >= 50.0, "{good:?}");
    assert_eq!(result.processing_time.as_ref().unwrap().count, 20);
    // The median of each histogram is that of its samples, to three digits.
    for (success, median) in [(true, good.percentiles[0].ms), (false, bad.percentiles[0].ms)] {
        let of = race.samples.iter().filter(|one| one.success == success);
        let exact = percentile(of.map(|one| one.done - one.sent), 50) as f64 / MS as f64;
        assert!((median - exact).abs() <= exact / 500.0, "{median} {exact}");
    }
}

/// [6, 22] Responses with status 200 that are nevertheless failures, each with its reason.
#[test]
fn a_response_with_status_200_can_be_a_failure() {
    let server = Server::start(|seen, _| {
        let shards = json!({"failed": 2, "failures": [{"reason": {"type": "oom", "reason": "no heap"}}]});
        match seen.line.split(' ').nth(1).unwrap() {
            "/shards" => json_response(200, &json!({"took": 1, "timed_out": false, "_shards": shards})),
            "/late" => json_response(200, &json!({"took": 1, "timed_out": true, "_shards": {"failed": 0}})),
            // The body is written as text to preserve the order of keys: the engine writes `is_partial` before the
            // columns.
            "/partial" => response_with(200, "", br#"{"took":1,"is_partial":true,"columns":[],"values":[]}"#),
            _ => success_response(),
        }
    });
    let task = |name: &str, check: &str| {
        let mut task = request_task(name, 1, 5);
        task["work"]["calls"] = json!([request("GET", &format!("/{name}"))]);
        task["work"]["calls"][0]["check"] = json!({"kind": check});
        task
    };
    let tasks =
        [task("shards", "search"), task("late", "search"), task("partial", "esql"), task("fine", "search")];
    let race = run(&plan(server.port, &tasks));
    let counts_and_failure = |name: &str| {
        let result = race.task(name);
        let error = result.errors.first().map(|error| (error.error_class.clone(), error.reason.clone()));
        (result.operation_totals.failed, result.work.weight, error.unwrap_or_default())
    };
    let failure = |class: &str, reason: &str| (class.to_owned(), reason.to_owned());
    assert_eq!(
        counts_and_failure("shards"),
        (5, 0, failure("shard-failure", "oom: 2 shards failed: no heap"))
    );
    assert_eq!(counts_and_failure("partial"), (5, 0, failure("partial", "the response is partial")));
    let (failed, done, (class, reason)) = counts_and_failure("late");
    assert_eq!((failed, done, class.as_str()), (5, 0, "search-timeout"));
    assert!(reason.contains("timed out in the engine"), "{reason}");
    assert_eq!(counts_and_failure("fine"), (0, 5, Default::default()));
    assert!(race.task("late").service_time.is_none() && race.task("late").failed_service_time.is_some());
}

/// Builds a task that polls every 20 ms until the value at `path` is `expected`.
fn until(path: &str, expected: &str) -> Value {
    let mut task = request_task("until", 1, 1);
    task["work"]["calls"][0]["check"] = json!({"kind": "condition", "path": path, "expected": expected});
    task["work"]["calls"][0]["poll"] = json!({"every_s": 0.02});
    task
}

fn polled(task: Value, script: impl Fn(usize) -> Value + Send + Sync + 'static) -> (Finished, Server) {
    let server = Server::start(move |_, before| json_response(200, &script(before)));
    (run(&plan(server.port, &[task])), server)
}

/// [29] One value is first missing, then 3, then 0; the other changes from true to false. The polls end, so 0 and false
/// are not treated as missing, and at least the configured 20 ms pass between a response and the next request.
#[test]
fn a_condition_is_polled_at_its_interval_and_zero_and_false_are_values() {
    let zero = |before: usize| match before {
        0 => json!({}),
        1 => json!({"merges": {"current": 3}}),
        _ => json!({"merges": {"current": 0}}),
    };
    let boolean = |before: usize| json!({"merges": {"current": before < 2}});
    for (race, server) in
        [polled(until("merges.current", "0"), zero), polled(until("merges.current", "false"), boolean)]
    {
        let (result, seen) = (race.task("until"), server.requests());
        assert_eq!((seen.len(), result.operation_totals.requests, result.operation_totals.failed), (3, 3, 0));
        for pair in seen.windows(2) {
            assert!(pair[1].arrived >= pair[0].responded.unwrap() + 20_000_000);
        }
    }
}

/// An engine's task that failed, and an asynchronous search of no index: they are neither polled nor tried again.
#[test]
fn what_has_ended_with_a_failure_is_not_requested_again() {
    let mut task = until("completed", "true");
    task["work"]["calls"][0]["check"] = json!({"kind": "task"});
    let error = json!({"type": "boom", "reason": "it broke"});
    let failed = move |_| json!({"completed": true, "error": error});
    let mut search = request_task("until", 1, 1);
    search["work"]["calls"][0]["check"] =
        json!({"kind": "async_search", "path": "is_running", "expected": "false"});
    search["work"]["retry"]["until_success"] = true.into();
    let empty = |_| json!({"is_running": false, "response": {"_shards": {"total": 0, "failed": 0}}});
    for ((race, server), reason) in [
        (polled(task, failed), "boom: the task failed in the engine: it broke"),
        (polled(search, empty), "no index matches the request, so no shard was searched"),
    ] {
        let errors = &race.task("until").errors;
        assert_eq!((errors[0].error_class.as_str(), errors[0].reason.as_str()), ("condition", reason));
        assert_eq!(server.requests().len(), 1);
    }
}
