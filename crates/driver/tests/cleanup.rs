//! Requests that undo what an operation changed, even if the operation fails.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "JSON documents are built from JSON values")]

mod support;

use pacenote_record::TaskResult;
use serde_json::{Value, json};
use support::{LoggedRequest, Server, json_response, plan, request, request_task, run, success_response};

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
    read["remember"] = json!({"name": "prior", "path": "transient.a.name"});
    let mut restore = setting(Value::Null);
    restore["recall"] = json!({"name": "prior", "marker": "null", "optional": true});
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
