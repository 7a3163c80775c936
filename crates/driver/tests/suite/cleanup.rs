//! Requests that undo what an operation changed, even if the operation fails.
#![allow(clippy::needless_pass_by_value, reason = "JSON documents are built from JSON values")]

use pacenote_record::{CleanUpSummary, TaskResult};
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::server::Answer;
use crate::support::{
    LoggedRequest, Server, json_response, plan, request, request_task, run, success_response,
};

/// Runs an operation that reads a setting, changes it, deletes something and restores the setting. Returns the methods
/// of the requests, with the value that the setting gets, and the result of the task.
fn change_setting(
    settings: Value,
    answer: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> (Vec<String>, TaskResult) {
    let server = Server::start(move |seen, _| match seen.line.split(' ').next().unwrap() {
        "GET" => answer("GET").or_else(|| Some(json_response(200, &settings))),
        method => answer(method).or_else(|| Some(success_response())),
    });
    let setting = |value: Value| {
        let mut request = request("PUT", "/_cluster/settings");
        request["body"] = json!({"transient": {"a.name": value}}).to_string().into();
        request
    };
    let mut read = request("GET", "/_cluster/settings");
    read["capture"] = json!({"name": "prior", "path": "transient.a.name"});
    let mut restore = setting(Value::Null);
    restore["placeholder"] = json!({"name": "prior", "marker": "null", "optional": true});
    restore["cleanup"] = true.into();
    let calls = [read, setting(false.into()), request("DELETE", "/logs-*"), restore];
    let mut task = request_task("delete", 1, 1);
    task["work"]["calls"] = calls.as_slice().into();
    for call in task["work"]["calls"].as_array_mut().unwrap() {
        call["check"] = json!({"kind": "status"});
    }
    let race = run(&plan(server.port, &[task]));
    let seen = |seen: &LoggedRequest| {
        let method = seen.line.split(' ').next().unwrap();
        let body: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
        if method == "PUT" { format!("PUT {}", body["transient"]["a.name"]) } else { method.to_owned() }
    };
    (server.requests().iter().map(seen).collect(), race.task("delete").clone())
}

#[test]
fn a_setting_is_restored_to_its_value_even_if_the_operation_fails() {
    let rejected = json_response(400, &json!({"error": {"type": "t", "reason": "r"}, "status": 400}));
    let prior = json!({"transient": {"a": {"name": "true"}}});
    for fails in ["", "DELETE"] {
        let rejected = rejected.clone();
        let answer = move |method: &str| (method == fails).then(|| rejected.clone());
        let (requests, result) = change_setting(prior.clone(), answer.clone());
        assert_eq!(requests, ["GET", "PUT false", "DELETE", "PUT true"], "{fails}");
        let failed = u64::from(fails == "DELETE");
        assert_eq!((result.operation_totals.failed, result.operation_totals.requests), (failed, 4));
        let reasons: Vec<_> = result.errors.iter().map(|group| (group.status, &group.reason[..])).collect();
        assert_eq!(reasons, if failed == 1 { vec![(Some(400), "t: r")] } else { vec![] });
        // A setting without a value is removed again.
        let (requests, _) = change_setting(json!({}), answer);
        assert_eq!(requests, ["GET", "PUT false", "DELETE", "PUT null"], "{fails}");
    }
    // Nothing was changed if the value could not be read.
    let (requests, result) = change_setting(prior, move |method| (method == "GET").then(|| rejected.clone()));
    assert_eq!((requests, result.operation_totals.failed), (vec!["GET".to_owned()], 1));
}

/// Runs a task that scrolls and clears its scroll twice. Returns what it records about clearing.
fn clear_scrolls(timeout_ms: u64, answer: impl Fn() -> Answer + Send + Sync + 'static) -> CleanUpSummary {
    let server = Server::start(move |seen, _| {
        let page = json!({"_scroll_id": "id", "took": 1, "hits": {"hits": [{"_id": "x"}]}});
        if seen.line.starts_with("DELETE") { answer() } else { json_response(200, &page).into() }
    });
    let mut first = request("GET", "/logs/_search?scroll=1m");
    first.as_object_mut().unwrap().remove("kind");
    let mut task = request_task("scroll", 1, 2);
    task["work"]["calls"] = json!([{"kind": "pages", "first": first, "next": {"kind": "scroll", "keep_alive": "1m"},
        "pages": 1, "page_size": null, "strict": false}]);
    let mut plan = plan(server.port, &[task]);
    plan["target"]["timeout_ms"] = timeout_ms.into();
    let result = run(&plan).task("scroll").clone();
    assert_eq!((result.operation_totals.succeeded, result.operation_totals.failed), (2, 0));
    result.clean_ups
}

#[test]
fn requests_that_clear_a_scroll_are_counted_with_their_outcomes() {
    let number_of = |status: u16| move || Answer::from(json_response(status, &json!({})));
    let none = BTreeMap::new();
    let counted = |summary: CleanUpSummary| (summary.requests, summary.failed);
    assert_eq!(counted(clear_scrolls(5000, number_of(200))), (2, none.clone()));
    // A scroll that does not exist any more needs no clearing.
    assert_eq!(counted(clear_scrolls(5000, number_of(404))), (2, none));
    assert_eq!(counted(clear_scrolls(5000, number_of(429))), (2, BTreeMap::from([("http-status", 2)])));
    // The pages are answered, which takes longer than usual on a busy machine.
    let silent = clear_scrolls(500, Answer::silence);
    assert!(silent.duration_s >= 1.0, "the client waited for both: {silent:?}");
    assert_eq!(counted(silent), (2, BTreeMap::from([("timeout", 2)])));
}

#[test]
fn a_request_that_cleans_up_after_a_failure_is_counted_with_its_outcome() {
    let rejected = |status: u16| json_response(status, &json!({"error": {"type": "t", "reason": "r"}}));
    let (_, result) = change_setting(json!({}), move |method| match method {
        "DELETE" => Some(rejected(400)),
        _ => None,
    });
    assert_eq!((result.clean_ups.requests, result.clean_ups.failed.len()), (1, 0));
    // After a success, the request decides with the others whether the operation failed.
    let (_, result) = change_setting(json!({}), |_| None);
    assert_eq!(result.clean_ups, CleanUpSummary::default());
}
