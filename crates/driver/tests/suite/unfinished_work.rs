//! Work that goes on in the engine after the request that began it: waiting for it, and cleaning up after it.
#![allow(clippy::needless_pass_by_value, reason = "JSON documents are built from JSON values")]

use std::sync::Barrier;

use pacenote_record::{EndedBy, TaskResult};
use serde_json::{Value, json};

use crate::support::{LoggedRequest, Server, json_response, plan, request, request_task, run, step};

/// Returns a request that is judged by its status.
fn plain(method: &str, path: &str) -> Value {
    let mut request = request(method, path);
    request["check"] = json!({"kind": "status"});
    request
}

/// Returns a request for the value that an earlier one captured.
fn about(method: &str, path: &str, optional: bool) -> Value {
    let mut request = plain(method, path);
    request["placeholder"] = json!({"name": "work", "marker": "@ID@", "optional": optional});
    request
}

/// Returns an operation of a composite.
fn operation(name: &str, call: Value) -> Value {
    json!({"kind": "operation", "name": name, "operation_type": "search", "calls": [call],
           "retry": {"retries": 0, "until_success": false, "limit_s": 600.0, "wait_s": 0.0, "on_timeout": false,
                     "on_unsuccess": false}})
}

/// Returns a composite that submits an asynchronous search, polls it every 10 ms and deletes its result.
fn async_search() -> Value {
    let mut submit = request("POST", "/submit");
    submit["check"] = json!({"kind": "submitted_search"});
    submit["capture"] = json!({"name": "work", "path": "id"});
    let mut get = about("GET", "/get/@ID@", true);
    get["check"] = json!({"kind": "async_search", "path": "state", "expected": "STORE_RESIDENT"});
    get["poll"] = json!({"every_s": 0.01});
    let mut delete = about("DELETE", "/get/@ID@", true);
    delete["cleanup"] = true.into();
    composite(&[operation("submit", submit), operation("get", get), operation("delete", delete)])
}

fn composite(items: &[Value]) -> Value {
    json!({"kind": "composite", "items": items, "max_connections": null})
}

fn calls_task(calls: &[Value], measured_s: Option<f64>) -> Value {
    let mut task = request_task("task", 1, 1);
    task["work"]["calls"] = calls.into();
    if let Some(measured_s) = measured_s {
        task["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": measured_s});
    }
    task
}

/// Runs a task against a server that answers the nth request, from 0, with these statuses and bodies.
/// Returns its result, and the methods and paths of its requests.
fn run_task(
    task: Value,
    timeout_ms: u64,
    answer: impl Fn(&str, usize) -> (u16, Value) + Send + Sync + 'static,
) -> (TaskResult, Vec<String>) {
    let line = |seen: &LoggedRequest| seen.line.trim_end_matches(" HTTP/1.1").to_owned();
    let server = Server::start(move |seen, before| {
        let (status, body) = answer(&line(seen), before);
        Some(json_response(status, &body))
    });
    let mut plan = plan(server.port, &[task]);
    plan["target"]["timeout_ms"] = timeout_ms.into();
    let race = run(&plan);
    (race.task("task").clone(), server.requests().iter().map(line).collect())
}

fn reasons(result: &TaskResult) -> Vec<(&str, &str)> {
    result.errors.iter().map(|error| (error.error_class.as_str(), error.reason.as_str())).collect()
}

#[test]
fn an_operation_is_not_retried_after_the_end_of_its_task() {
    let mut health = request("GET", "/_cluster/health");
    health["check"] = json!({"kind": "health", "status": "green", "no_relocating_shards": false});
    let mut task = calls_task(&[health], Some(0.1));
    task["work"]["retry"]["until_success"] = true.into();
    let (result, requests) = run_task(task, 60_000, |_, _| (200, json!({"status": "yellow"})));
    let totals = result.operation_totals;
    assert_eq!((totals.begun, totals.failed, result.ended_by), (1, 1, EndedBy::Time));
    assert_eq!((totals.retried, totals.requests), (requests.len() as u64 - 1, requests.len() as u64));
    assert_eq!(reasons(&result), [("condition", "health is yellow, and 0 shards are relocating")]);
}

#[test]
fn work_that_began_in_time_is_polled_after_the_end_of_its_task_for_as_long_as_a_request_may_take() {
    let answer = |last: usize| {
        move |line: &str, before: usize| {
            let state = if before < last { "RUNNING" } else { "STORE_RESIDENT" };
            (
                200,
                if line.contains("submit") {
                    json!({"id": "1", "state": "RUNNING"})
                } else {
                    json!({"state": state})
                },
            )
        }
    };
    let (result, requests) = run_task(calls_task(&[async_search()], Some(0.15)), 60_000, answer(30));
    assert_eq!((result.operation_totals.failed, result.ended_by), (0, EndedBy::Time));
    assert_eq!((requests.len(), requests[31].as_str()), (32, "DELETE /get/1"));
    let part = result.sub_operations.iter().find(|part| part.operation == "get").unwrap();
    assert!(
        part.service_time.as_ref().unwrap().min_ms >= 290.0,
        "from the first request to the last response"
    );

    let (result, requests) = run_task(calls_task(&[async_search()], Some(0.15)), 200, answer(usize::MAX));
    assert_eq!((result.operation_totals.failed, result.ended_by), (1, EndedBy::Time));
    assert_eq!(reasons(&result), [("condition", "state is RUNNING, not STORE_RESIDENT")]);
    assert_eq!(requests.last().unwrap(), "DELETE /get/1");
}

#[test]
fn a_search_that_ends_while_it_is_submitted_is_judged_by_the_response_to_that() {
    let search =
        |failed: u32| json!({"took": 2, "_shards": {"total": 5, "successful": 5 - failed, "failed": failed}});
    let ended = |failed: u32, state: &str| json!({"state": state, "response": search(failed)});
    for (body, expected) in [
        (ended(0, "SUCCEEDED"), vec![]),
        (ended(4, "SUCCEEDED"), vec![("shard-failure", "4 shards failed: ")]),
        (ended(0, "FAILED"), vec![("condition", "the search ended in state FAILED")]),
        (json!({"state": "FAILED", "error": "boom"}), vec![("condition", "the search failed: boom")]),
    ] {
        let (result, requests) =
            run_task(calls_task(&[async_search()], None), 60_000, move |_, _| (200, body.clone()));
        assert_eq!(reasons(&result), expected);
        // There is no result to get or delete, so nothing is recorded for operations that would do so.
        assert_eq!((requests, result.sub_operations.len()), (vec!["POST /submit".to_owned()], 1));
    }
}

#[test]
fn a_search_whose_result_will_never_be_available_is_not_polled_again() {
    let answer = |line: &str, before: usize| {
        let state = if before < 2 { "PERSISTING" } else { "PERSIST_FAILED" };
        (
            200,
            if line.contains("submit") {
                json!({"id": "1", "state": "RUNNING"})
            } else {
                json!({"state": state})
            },
        )
    };
    let (result, requests) = run_task(calls_task(&[async_search()], None), 60_000, answer);
    assert_eq!(reasons(&result), [("condition", "the search ended in state PERSIST_FAILED")]);
    assert_eq!(requests, ["POST /submit", "GET /get/1", "GET /get/1", "DELETE /get/1"]);
}

/// Returns a request that starts a force merge, and one that polls its task.
fn polled_merge() -> [Value; 2] {
    let mut start = plain("POST", "/_forcemerge");
    start["capture"] = json!({"name": "work", "path": "task"});
    let mut poll = about("GET", "/_tasks/@ID@", false);
    poll["check"] = json!({"kind": "task"});
    poll["poll"] = json!({"every_s": 0.001});
    [start, poll]
}

/// Answers the requests of [`polled_merge`]: polls with these statuses, and with the end of the task after them.
fn merge_answer(statuses: Vec<u16>) -> impl Fn(&str, usize) -> (u16, Value) + Send + Sync + 'static {
    move |_, before| match (before, statuses.get(before.wrapping_sub(1))) {
        (0, _) => (200, json!({"task": "a:1"})),
        (_, Some(200)) => (200, json!({"completed": false})),
        (_, Some(status)) => (*status, json!({"error": {"type": "busy", "reason": "try again"}})),
        (_, None) => (200, json!({"completed": true})),
    }
}

#[test]
fn polling_goes_on_after_ten_busy_replies_in_a_row() {
    let calls = polled_merge();
    let ten = [[429, 502, 503, 504, 503].as_slice(); 2].concat();
    let statuses = [ten.as_slice(), &[200], &ten].concat();
    let (result, requests) = run_task(calls_task(&calls, None), 60_000, merge_answer(statuses));
    assert_eq!((reasons(&result), requests.len()), (vec![], 23));
    assert_eq!(result.operation_totals.retried, 0);

    let (result, requests) = run_task(calls_task(&calls, None), 60_000, merge_answer(vec![503; 12]));
    assert_eq!((reasons(&result), requests.len()), (vec![("http-status", "busy: try again")], 12));
    let (result, requests) = run_task(calls_task(&calls, None), 60_000, merge_answer(vec![503, 500]));
    assert_eq!((reasons(&result), requests.len()), (vec![("http-status", "busy: try again")], 3));
}

#[test]
fn an_operation_that_is_retried_until_it_succeeds_ignores_ten_busy_replies_in_a_row() {
    let busy = |_: &str, before: usize| (if before < 10 { 503 } else { 200 }, json!({"status": "green"}));
    let health = |until_success: bool| {
        let mut health = request("GET", "/_cluster/health");
        health["check"] = json!({"kind": "health", "status": "green", "no_relocating_shards": false});
        let mut task = calls_task(&[health], None);
        task["work"]["retry"]["until_success"] = until_success.into();
        task["work"]["retry"]["wait_s"] = 0.001.into();
        task
    };
    let (result, requests) = run_task(health(true), 60_000, busy);
    assert_eq!((reasons(&result), requests.len(), result.operation_totals.retried), (vec![], 11, 10));
    let always = |_: &str, _| (503, json!({"error": "down"}));
    let (result, requests) = run_task(health(true), 60_000, always);
    assert_eq!((reasons(&result), requests.len()), (vec![("http-status", "down")], 11));
    let (result, requests) = run_task(health(false), 60_000, busy);
    assert_eq!((result.operation_totals.failed, requests.len()), (1, 1));

    // A request that polls has been repeated already.
    let [start, poll] = polled_merge();
    let mut task = calls_task(&[start, poll], None);
    task["work"]["retry"]["until_success"] = true.into();
    let (result, requests) = run_task(task, 60_000, merge_answer(vec![503; 99]));
    assert_eq!((result.operation_totals.failed, requests.len()), (1, 12));
}

#[test]
fn a_task_that_cannot_be_polled_is_a_failure() {
    let mut start = plain("POST", "/_forcemerge");
    start["capture"] = json!({"name": "work", "path": "task"});
    let calls = [start, about("GET", "/_tasks/@ID@", false)];
    let (result, requests) =
        run_task(calls_task(&calls, None), 60_000, |_, _| (200, json!({"acknowledged": true})));
    assert_eq!(reasons(&result), [("protocol", "the response had no id for work")]);
    assert_eq!(requests, ["POST /_forcemerge"]);
}

#[test]
fn a_point_in_time_is_closed_once_even_if_the_composite_fails() {
    let mut open = plain("POST", "/open");
    open["capture"] = json!({"name": "work", "path": "id"});
    let mut close = about("DELETE", "/close", false);
    close["body"] = json!({"id": "@ID@"}).to_string().into();
    close["cleanup"] = true.into();
    let items = [
        operation("open", open),
        json!({"kind": "stream", "items": [operation("search", plain("GET", "/search")), operation("close", close)]}),
        operation("after", plain("GET", "/after")),
    ];
    for (fails, expected) in [
        ("GET /search", vec!["POST /open", "GET /search", "DELETE /close"]),
        ("GET /after", vec!["POST /open", "GET /search", "DELETE /close", "GET /after"]),
        ("DELETE /close", vec!["POST /open", "GET /search", "DELETE /close"]),
        ("POST /open", vec!["POST /open"]),
    ] {
        let answer = move |line: &str, _| (if line == fails { 500 } else { 200 }, json!({"id": "1"}));
        let (result, requests) = run_task(calls_task(&[composite(&items)], None), 60_000, answer);
        assert_eq!(requests, expected, "{fails}");
        let totals = result.operation_totals;
        assert_eq!((totals.begun, totals.failed, totals.requests), (1, 1, expected.len() as u64), "{fails}");
        // After a failure, it is not an operation of its own.
        let closed = result.sub_operations.iter().any(|part| part.operation == "close");
        assert_eq!(closed, fails.ends_with("after") || fails.ends_with("close"), "{fails}");
    }
}

/// Returns a scroll over all pages of a server whose pages never end.
fn endless_scroll() -> Value {
    let mut first = request("GET", "/_search?scroll=1m");
    first.as_object_mut().unwrap().remove("kind");
    json!({"kind": "pages", "first": first, "next": {"kind": "scroll", "keep_alive": "1m"}, "pages": null,
           "page_size": null, "strict": false})
}

fn page() -> Value {
    json!({"_scroll_id": "id", "took": 1, "hits": {"hits": [{"_id": "x"}]}})
}

#[test]
fn pages_are_fetched_after_the_end_of_their_task_for_as_long_as_a_request_may_take() {
    let (result, requests) = run_task(calls_task(&[endless_scroll()], Some(0.15)), 100, |_, _| (200, page()));
    assert_eq!((result.operation_totals.failed, result.ended_by), (1, EndedBy::Time));
    let pages = requests.iter().filter(|line| !line.starts_with("DELETE")).count();
    let reason = format!(
        "the task ended more than the timeout of a request before the last page: {pages} pages were fetched"
    );
    assert_eq!(reasons(&result), [("condition", reason.as_str())]);
    assert_eq!(requests.last().unwrap(), "DELETE /_search/scroll");
}

#[test]
fn pages_end_after_another_task_has_completed_the_step() {
    // The other task completes the step when the first page has been requested, not before.
    let both = Barrier::new(2);
    let server = Server::start(move |seen, _| {
        if ["/_search?", "/other"].iter().any(|path| seen.line.contains(path)) {
            both.wait();
        }
        Some(json_response(200, &if seen.line.contains("scroll") { page() } else { json!({"took": 1}) }))
    });
    let mut other = request_task("other", 1, 1);
    other["work"]["calls"] = json!([plain("GET", "/other")]);
    let tasks = [calls_task(&[endless_scroll()], None), other];
    let mut plan = plan(server.port, &tasks);
    let mut both = step(&tasks, &[0, 1]);
    both["completed_by"] = json!({"kind": "task", "task": 1});
    plan["steps"] = json!([both]);
    plan["target"]["timeout_ms"] = 500.into();
    let race = run(&plan);
    let result = race.task("task");
    assert_eq!((result.operation_totals.failed, result.errors[0].error_class.as_str()), (1, "condition"));
}
