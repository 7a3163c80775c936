//! Details of responses that are kept with samples, assertions on them, and headers of single clients.

use serde_json::{Value, json};

use crate::support::calls::{
    calls_task, composite, hits, operation, paged, path_of, search_response, with_body,
};
use crate::support::{Server, json_response, plan, request, request_task, run, success_response};

#[test]
fn details_of_responses_are_kept_with_the_samples_that_ask_for_them() {
    let server = Server::start(|seen, _| match path_of(seen) {
        "/missing" => Some(json_response(404, &json!({"error": {"reason": "no such index"}}))),
        _ => Some(search_response(&json!({"hits": hits(&[json!([1])])}))),
    });
    let detailed = |path: &str| {
        let mut request = with_body("POST", path, &json!({}));
        request["details"] = "search".into();
        request
    };
    let tasks = [
        calls_task("detailed", 3, &[detailed("/a")]),
        calls_task("plain", 3, &[request("GET", "/a")]),
        calls_task("missing", 1, &[detailed("/missing")]),
        calls_task("paged", 1, &[paged(detailed("/a"), json!({"kind": "search_after"}), 2, Value::Null)]),
        calls_task("composite", 1, &[composite(&[operation("inner", &[detailed("/a")])], Value::Null)]),
    ];
    let race = run(&plan(server.port, &tasks));
    let expected = json!({"hits": 10_000, "hits_relation": "gte", "timed_out": false, "took": 3,
        "shards": {"total": 0, "successful": 0, "skipped": 0, "failed": 0}});
    for sample in &race.samples {
        let has_details = match sample.task.as_str() {
            "detailed" | "paged" => true,
            "composite" => sample.part,
            _ => false,
        };
        assert_eq!(sample.details, has_details.then(|| expected.clone()), "{sample:?}");
    }
    assert_eq!(race.samples.len(), 10);
    assert!(race.tasks.iter().all(|task| task.samples.details_lost == 0));
}

#[test]
fn the_figures_of_a_profile_can_be_asserted() {
    let profile = json!({"drivers": [{"description": "data", "took_nanos": 4_000_000, "cpu_nanos": 0}]});
    let server = Server::start(move |_, _| {
        Some(json_response(200, &json!({"took": 1, "columns": [], "values": [], "profile": profile})))
    });
    let task = |name: &str, most: u64| {
        let mut request = with_body("POST", "/_query", &json!({}));
        request["check"] = json!({"kind": "esql"});
        request["details"] = "esql_profile".into();
        request["assertions"] = json!([{"property": "data.took_ms", "paths": ["data.took_ms"],
            "condition": "<=", "value": most, "in_details": true}]);
        calls_task(name, 1, &[request])
    };
    let race = run(&plan(server.port, &[task("fast", 4), task("slow", 3)]));
    let reason = race.summary.aborted.as_deref().unwrap();
    assert_eq!(reason, "task slow: data.took_ms is 4, but the track asserts <= 3");
    assert_eq!(race.samples[0].details.as_ref().unwrap()["data.number"], 1);
    assert_eq!(race.samples[1].error_class, "assertion");
}

#[test]
fn each_client_of_the_race_sends_its_own_header() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut task = request_task("search", 3, 2);
    task["work"]["calls"] = json!([request("GET", "/a")]);
    let mut plan = plan(server.port, &[task]);
    plan["target"]["headers"] = json!([["authorization", "Basic all"], ["x-test", "yes"]]);
    let key = |client| json!(["authorization", format!("ApiKey {client}")]);
    plan["target"]["client_headers"] = json!([key(0), key(1)]);
    run(&plan);
    let mut sent: Vec<String> = server
        .requests()
        .iter()
        .flat_map(|seen| seen.headers.iter().filter(|header| header.starts_with("authorization")).cloned())
        .collect();
    sent.sort();
    let expected = ["ApiKey 0", "ApiKey 0", "ApiKey 1", "ApiKey 1", "Basic all", "Basic all"];
    assert_eq!(sent, expected.map(|value| format!("authorization: {value}")));
}
