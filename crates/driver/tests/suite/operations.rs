//! Operations that are more than one plain request: paging, composites, captures, assertions, retries.
#![allow(clippy::needless_pass_by_value, reason = "JSON documents are built from JSON values")]

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::calls::{
    calls_task, composite, hits, operation, paged, path_of, search_response, with_body,
};
use crate::support::server::response_with;
use crate::support::{Server, json_response, plan, request, request_task, run, step, success_response};

fn simple(name: &str) -> Value {
    operation(name, &[request("GET", &format!("/{name}"))])
}

fn stream(items: &[Value]) -> Value {
    json!({"kind": "stream", "items": items})
}

fn request_lines(server: &Server) -> Vec<String> {
    server.requests().iter().map(|seen| seen.line.trim_end_matches(" HTTP/1.1").to_owned()).collect()
}

fn request_bodies(server: &Server) -> Vec<Value> {
    server.requests().iter().map(|seen| serde_json::from_slice(&seen.body).unwrap_or_default()).collect()
}

#[test]
fn a_search_continues_after_the_sort_values_of_its_last_hit_until_a_page_is_short() {
    let server = Server::start(|_, before| {
        let page = match before % 3 {
            0 => vec![json!([1, "a"]), json!([2, "b]\"}"])],
            1 => vec![json!([3, "c"]), json!([4, null])],
            _ => vec![json!([5, "e"])],
        };
        // The total is higher than the number of hits, so paging must not rely on it.
        Some(search_response(&json!({"hits": hits(&page)})))
    });
    let first = with_body("POST", "/logs/_search", &json!({"size": 2, "sort": [{"n": "asc"}]}));
    let call = paged(first, json!({"kind": "search_after"}), Value::Null, 2);
    let race = run(&plan(server.port, &[calls_task("paged", 2, &[call])]));
    let after: Vec<Value> = request_bodies(&server).iter().map(|body| body["search_after"].clone()).collect();
    let one = [Value::Null, json!([2, "b]\"}"]), json!([4, null])];
    assert_eq!(after, [&one[..], &one[..]].concat());
    assert!(request_bodies(&server).iter().all(|body| body["sort"][0]["n"] == "asc" && body["size"] == 2));
    let result = race.task("paged");
    assert_eq!(
        (result.work.weight, result.operation_totals.begun, result.operation_totals.requests),
        (6, 2, 6)
    );
    assert!(result.sub_operations.is_empty());
}

#[test]
fn paging_ends_at_the_given_number_of_pages_or_after_an_empty_page() {
    let server = Server::start(|seen, before| {
        let empty = path_of(seen) == "/few" && before >= 5;
        let page = if empty { vec![] } else { vec![json!([before])] };
        Some(search_response(&json!({"hits": hits(&page)})))
    });
    let call = |path: &str, most: Value| {
        paged(with_body("GET", path, &json!({})), json!({"kind": "search_after"}), most, Value::Null)
    };
    let mut strict = call("/few", 2.into());
    strict["strict"] = true.into();
    let tasks = [
        calls_task("three", 1, &[call("/many", 3.into())]),
        calls_task("all", 1, &[call("/few", Value::Null)]),
        calls_task("strict", 1, &[strict]),
    ];
    let race = run(&plan(server.port, &tasks));
    assert_eq!((race.task("three").work.weight, race.task("all").work.weight), (3, 3));
    let strict = race.task("strict");
    assert_eq!(
        (strict.work.weight, strict.operation_totals.failed, strict.operation_totals.requests),
        (0, 1, 1)
    );
    assert_eq!(strict.errors[0].error_class, "condition");
    assert_eq!(strict.errors[0].reason, "1 of 2 pages were fetched; the result has no further page");
}

#[test]
fn pages_that_repeat_end_the_operation() {
    // The sort values repeat after 3, 4, 5, 3, 4, 5 … pages; those of the other operation are all different.
    let server = Server::start(|seen, before| {
        let key = if path_of(seen) == "/cycle" { before.min(2 + before % 3) } else { before };
        let last = if path_of(seen) == "/cycle" { 2000 } else { 200 };
        let page = if before > last { vec![] } else { vec![json!([key])] };
        Some(search_response(&json!({"hits": hits(&page)})))
    });
    let call =
        |path: &str, next: Value| paged(with_body("GET", path, &json!({})), next, Value::Null, Value::Null);
    let next = json!({"kind": "search_after"});
    let counted = paged(with_body("GET", "/cycle", &json!({})), next, 9, Value::Null);
    let tasks = [
        calls_task("long", 1, &[call("/long", json!({"kind": "search_after"}))]),
        calls_task("cycle", 2, &[call("/cycle", json!({"kind": "search_after"}))]),
        calls_task("counted", 1, &[counted]),
    ];
    let race = run(&plan(server.port, &tasks));
    assert_eq!(race.task("long").operation_totals.failed, 0);
    let counted = race.task("counted");
    assert_eq!((counted.work.weight, counted.operation_totals.failed), (9, 0));
    let cycle = race.task("cycle");
    assert_eq!((cycle.work.weight, cycle.operation_totals.failed), (0, 2));
    assert!(cycle.operation_totals.requests < 40, "{}", cycle.operation_totals.requests);
    assert_eq!(cycle.errors[0].error_class, "condition");
    let reason = &cycle.errors[0].reason;
    assert!(reason.starts_with("the sort value of its last hit is that of an earlier page"), "{reason}");
    assert!(reason.ends_with(" pages were fetched"), "{reason}");
}

#[test]
fn a_failed_page_fails_the_operation_and_ends_it() {
    let server = Server::start(|_, before| {
        let late = json!({"timed_out": true, "hits": hits(&[json!([1])])});
        Some(if before == 1 {
            search_response(&late)
        } else {
            search_response(&json!({"hits": hits(&[json!([1])])}))
        })
    });
    let call =
        paged(with_body("GET", "/_search", &json!({})), json!({"kind": "search_after"}), 5, Value::Null);
    let race = run(&plan(server.port, &[calls_task("paged", 1, &[call])]));
    let result = race.task("paged");
    assert_eq!((result.work.weight, result.operation_totals.failed, server.requests().len()), (0, 1, 2));
    assert_eq!(result.errors[0].error_class, "search-timeout");
}

#[test]
fn a_damaged_page_fails_the_operation() {
    for body in [
        r#"{"took":1,"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0},"_scroll_id":"a","hits":{"hits":[1}"#,
        r#"{"_scroll_id":"a","took":1,"timed_out":false,"_shards":{"failed":0},"hits":{"hits":[{},{}"#,
        r#"{"_scroll_id":"a\x","took":1,"timed_out":false,"_shards":{"failed":0},"hits":{"hits":[{},{}]}}"#,
        r#"{"took":1,"timed_out":false,"_shards":{"failed":0},"hits":{"hits":[{},{}]},"#,
    ] {
        let server = Server::start(move |_, _| Some(response_with(200, "", body.as_bytes())));
        let first = request("GET", "/logs/_search?scroll=10s&size=2");
        let call = paged(first, json!({"kind": "scroll", "keep_alive": "10s"}), 3, 2);
        let race = run(&plan(server.port, &[calls_task("scroll", 1, &[call])]));
        let errors: Vec<_> = race
            .task("scroll")
            .errors
            .iter()
            .map(|error| (error.error_class.as_str(), error.status))
            .collect();
        assert_eq!(errors, [("protocol", Some(200))], "{body}");
    }
}

#[test]
fn a_scroll_continues_with_its_latest_id_and_clearing_it_is_not_measured() {
    let server = Server::start(|seen, before| {
        Some(match path_of(seen) {
            // Clearing the scroll takes longer than any measured request.
            "/_search/scroll" if seen.line.starts_with("DELETE") => {
                thread::sleep(Duration::from_millis(80));
                json_response(404, &json!({}))
            }
            _ if before == 0 => {
                search_response(&json!({"_scroll_id": "one", "hits": hits(&[json!([1]), json!([1])])}))
            }
            _ if before == 1 => {
                search_response(&json!({"_scroll_id": "two", "hits": hits(&[json!([1]), json!([1])])}))
            }
            _ => search_response(&json!({"hits": hits(&[])})),
        })
    });
    let first = request("GET", "/logs/_search?scroll=10s&size=2");
    let call = paged(first, json!({"kind": "scroll", "keep_alive": "10s"}), Value::Null, 2);
    let race = run(&plan(server.port, &[calls_task("scroll", 1, &[call])]));
    assert_eq!(
        request_lines(&server),
        [
            "GET /logs/_search?scroll=10s&size=2",
            "POST /_search/scroll",
            "POST /_search/scroll",
            "DELETE /_search/scroll"
        ]
    );
    let expected = [
        Value::Null,
        json!({"scroll": "10s", "scroll_id": "one"}),
        json!({"scroll": "10s", "scroll_id": "two"}),
        json!({"scroll_id": ["two"]}),
    ];
    assert_eq!(request_bodies(&server), expected);
    assert!(server.requests()[1..].iter().all(|seen| seen.headers.contains(&"x-test: yes".into())));
    let json_type = "content-type: application/json".to_owned();
    assert!(server.requests()[1..].iter().all(|seen| seen.headers.contains(&json_type)));
    let result = race.task("scroll");
    assert_eq!(
        (result.work.weight, result.operation_totals.requests, result.operation_totals.failed),
        (3, 4, 0)
    );
    let (service, processing) =
        (result.service_time.as_ref().unwrap(), result.processing_time.as_ref().unwrap());
    assert!(
        processing.max_ms - service.max_ms >= 80.0,
        "clearing must not count towards service time: {service:?}"
    );
}

#[test]
fn clearing_a_scroll_does_not_count_as_lateness() {
    let server = Server::start(|seen, _| {
        if seen.line.starts_with("DELETE") {
            thread::sleep(Duration::from_millis(50));
        }
        Some(search_response(&json!({"_scroll_id": "one", "hits": hits(&[json!([1])])})))
    });
    let first = request("GET", "/logs/_search?scroll=10s");
    let call = paged(first, json!({"kind": "scroll", "keep_alive": "10s"}), 1, Value::Null);
    let mut task = calls_task("scroll", 6, &[call]);
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 0.001});
    let result = run(&plan(server.port, &[task])).task("scroll").clone();
    assert_eq!(result.operation_totals.requests, 12);
    assert!(result.latency.unwrap().max_ms >= 200.0, "the next operations must wait for the clearing");
    assert!(result.lateness.unwrap().percentiles[0].ms < 50.0);
}

#[test]
fn a_composite_aggregation_continues_after_its_key() {
    let server = Server::start(|_, before| {
        let aggregation = match before {
            0 => json!({"after_key": {"k": "b"}, "buckets": [{"key": {"k": "a"}}, {"key": {"k": "b"}}]}),
            1 => json!({"after_key": {"k": "d"}, "buckets": [{"key": {"k": "c"}}, {"key": {"k": "d"}}]}),
            _ => json!({"buckets": []}),
        };
        Some(search_response(
            &json!({"hits": hits(&[]), "aggregations": {"outer": {"doc_count": 9, "inner": aggregation}}}),
        ))
    });
    let body = json!({"size": 0, "aggs": {"outer": {"filter": {"match_all": {}}, "aggregations": {"inner": {
        "composite": {"size": 2, "sources": [{"k": {"terms": {"field": "k"}}}]}}}}}});
    let path = json!(["outer", "inner"]);
    let call = paged(
        with_body("POST", "/_search", &body),
        json!({"kind": "after_key", "path": path}),
        Value::Null,
        Value::Null,
    );
    let race = run(&plan(server.port, &[calls_task("agg", 1, &[call])]));
    let pointer = "/aggs/outer/aggregations/inner/composite/after";
    let after: Vec<Option<Value>> =
        request_bodies(&server).iter().map(|body| body.pointer(pointer).cloned()).collect();
    assert_eq!(after, [None, Some(json!({"k": "b"})), Some(json!({"k": "d"}))]);
    assert_eq!(race.task("agg").work.weight, 3);
}

#[test]
fn an_sql_cursor_is_followed_and_closed_if_pages_remain() {
    let server = Server::start(|seen, before| {
        Some(match path_of(seen) {
            "/_sql/close" => json_response(200, &json!({"succeeded": true})),
            _ if before < 4 => json_response(
                200,
                &json!({"columns": [], "rows": [["cursor"]], "cursor": format!("c{before}")}),
            ),
            _ => json_response(200, &json!({"rows": [["x"]]})),
        })
    });
    let mut first = with_body("POST", "/_sql?format=json", &json!({"query": "SELECT 1"}));
    first["check"] = json!({"kind": "status"});
    let call = |most: u32| {
        let mut call = paged(first.clone(), json!({"kind": "cursor"}), most, Value::Null);
        call["strict"] = true.into();
        call
    };
    let race =
        run(&plan(server.port, &[calls_task("two", 1, &[call(2)]), calls_task("nine", 1, &[call(9)])]));
    let sent: Vec<(String, Value)> =
        request_lines(&server).into_iter().zip(request_bodies(&server)).collect();
    let query = json!({"query": "SELECT 1"});
    let expected = [
        ("POST /_sql?format=json", query.clone()),
        ("POST /_sql?format=json", json!({"cursor": "c0"})),
        ("POST /_sql/close", json!({"cursor": "c1"})),
        ("POST /_sql?format=json", query),
        ("POST /_sql?format=json", json!({"cursor": "c3"})),
    ];
    assert_eq!(sent, expected.map(|(line, body)| (line.to_owned(), body)));
    assert_eq!((race.task("two").work.weight, race.task("two").operation_totals.requests), (2, 3));
    let nine = race.task("nine");
    assert_eq!(
        (nine.work.weight, nine.errors[0].reason.as_str()),
        (0, "2 of 9 pages were fetched; the result has no further page")
    );
    assert!(race.samples.iter().all(|sample| sample.took == -1), "the pages contain no duration");
}

#[test]
fn captured_values_fill_the_path_and_body_of_later_requests_and_are_renewed() {
    let server = Server::start(|seen, before| {
        Some(match path_of(seen) {
            "/logs/_pit" => json_response(200, &json!({"id": "pit/1=="})),
            "/_search" => search_response(
                &json!({"pit_id": format!("pit\"{before}"), "hits": hits(&[json!([before])])}),
            ),
            "/_async_search" => json_response(200, &json!({"is_running": false})),
            _ => json_response(200, &json!({})),
        })
    });
    let capturing = |line: (&str, &str), name: &str| {
        let mut one = request(line.0, line.1);
        one["check"] = json!({"kind": "status"});
        one["capture"] = json!({"name": name, "path": "id"});
        one
    };
    let filled = |mut one: Value, name: &str| {
        one["placeholder"] = json!({"name": name, "marker": "@ID@", "optional": false});
        one
    };
    let plain = |mut one: Value| {
        one["check"] = json!({"kind": "status"});
        one
    };
    let search = with_body("GET", "/_search", &json!({"pit": {"id": "@ID@", "keep_alive": "1m"}}));
    let mut get = filled(plain(request("GET", "/_async_search/@ID@")), "submit");
    get["placeholder"]["optional"] = true.into();
    let items = [
        operation("open", &[capturing(("POST", "/logs/_pit"), "open")]),
        operation("inspect", &[filled(plain(request("GET", "/pit/@ID@")), "open")]),
        operation("pages", &[paged(filled(search, "open"), json!({"kind": "search_after"}), 2, Value::Null)]),
        operation("close", &[filled(plain(with_body("DELETE", "/_pit", &json!({"id": "@ID@"}))), "open")]),
        operation("submit", &[capturing(("POST", "/_async_search"), "submit")]),
        // The search completed immediately and returned no id, so there is no result to get.
        operation("get", &[get]),
    ];
    let race = run(&plan(server.port, &[calls_task("pit", 1, &[composite(&items, Value::Null)])]));
    assert_eq!(
        request_lines(&server),
        [
            "POST /logs/_pit",
            "GET /pit/pit%2F1%3D%3D",
            "GET /_search",
            "GET /_search",
            "DELETE /_pit",
            "POST /_async_search"
        ]
    );
    let bodies = request_bodies(&server);
    assert_eq!((&bodies[2]["pit"]["id"], &bodies[3]["pit"]["id"]), (&json!("pit/1=="), &json!("pit\"2")));
    assert_eq!((&bodies[3]["search_after"], &bodies[4]), (&json!([2]), &json!({"id": "pit\"3"})));
    let result = race.task("pit");
    assert_eq!(
        (result.operation_totals.failed, result.operation_totals.requests, result.work.weight),
        (0, 6, 1)
    );
    assert!(!result.sub_operations.iter().any(|part| part.operation == "get"));
}

#[test]
fn values_captured_by_a_different_operation_are_not_available() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut get = request("GET", "/_async_search/@ID@");
    get["placeholder"] = json!({"name": "submit", "marker": "@ID@", "optional": false});
    let items = [operation("get", &[get])];
    let race = run(&plan(server.port, &[calls_task("async", 1, &[composite(&items, Value::Null)])]));
    let result = race.task("async");
    assert_eq!((result.operation_totals.failed, server.requests().len()), (1, 0));
    assert_eq!(result.errors[0].reason, "no earlier request of this operation captures submit");
}

#[test]
fn streams_run_concurrently_and_an_operation_waits_for_those_before_it() {
    let both = Barrier::new(2);
    let server = Server::start(move |seen, _| {
        // The server answers only when both requests have arrived: sent one after the other, they would time out.
        if ["/left", "/right"].contains(&path_of(seen)) {
            both.wait();
        }
        Some(success_response())
    });
    let items = [
        simple("first"),
        stream(&[simple("left"), simple("more")]),
        stream(&[simple("right")]),
        simple("last"),
    ];
    let race = run(&plan(server.port, &[calls_task("mixed", 3, &[composite(&items, Value::Null)])]));
    let lines = request_lines(&server);
    for operation in lines.chunks(5) {
        assert_eq!((operation[0].as_str(), operation[4].as_str()), ("GET /first", "GET /last"));
        let position = |line: &str| operation.iter().position(|seen| seen == line).unwrap();
        assert!(position("GET /left") < position("GET /more"));
    }
    // The second connection is opened once and kept open.
    let connections: BTreeSet<usize> = server.requests().iter().map(|seen| seen.connection).collect();
    assert_eq!((lines.len(), connections.len()), (15, 2));
    let result = race.task("mixed");
    let accounting = result.operation_totals;
    assert_eq!((accounting.begun, accounting.failed, accounting.requests), (3, 0, 15));
    assert_eq!((result.work.weight, result.unit.as_str(), race.summary.samples), (3, "ops", 18));
    let mut parts: Vec<_> =
        result.sub_operations.iter().map(|part| (part.operation.as_str(), part.ended)).collect();
    parts.sort_unstable();
    assert_eq!(parts, [("first", 3), ("last", 3), ("left", 3), ("more", 3), ("right", 3)]);
    let whole = result.service_time.as_ref().unwrap();
    for part in &result.sub_operations {
        let inner = part.service_time.as_ref().unwrap();
        assert_eq!((inner.count, part.requests, part.operation_type.as_str()), (3, 3, "search"));
        assert!(inner.max_ms <= whole.max_ms);
    }
}

#[test]
fn nested_composites_share_the_connection_limit_of_the_outermost() {
    static IN_FLIGHT: AtomicUsize = AtomicUsize::new(0);
    static PEAK: AtomicUsize = AtomicUsize::new(0);
    let server = Server::start(|_, _| {
        let now = IN_FLIGHT.fetch_add(1, Ordering::SeqCst) + 1;
        PEAK.fetch_max(now, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(2));
        IN_FLIGHT.fetch_sub(1, Ordering::SeqCst);
        Some(success_response())
    });
    let streams = |name: &str| -> Vec<Value> {
        (0..5).map(|number| stream(&[simple(&format!("{name}{number}")), simple(name)])).collect()
    };
    let nested = operation("nested", &[composite(&streams("inner"), 5)]);
    let mut items = streams("outer");
    items.push(stream(&[nested]));
    let race = run(&plan(server.port, &[calls_task("limited", 4, &[composite(&items, 2)])]));
    assert_eq!((race.task("limited").operation_totals.failed, server.requests().len()), (0, 80));
    assert_eq!(PEAK.load(Ordering::SeqCst), 2);
    let connections: BTreeSet<usize> = server.requests().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections.len(), 2);
    // Of a nested composite, only the sub-operations are recorded.
    assert!(!race.task("limited").sub_operations.iter().any(|part| part.operation == "nested"));
}

#[test]
fn a_failed_sub_operation_fails_the_composite_and_stops_the_other_streams() {
    let server = Server::start(|seen, _| match path_of(seen) {
        "/bad" => Some(json_response(500, &json!({"error": {"type": "boom", "reason": "it broke"}}))),
        // This request is never answered: waiting for it would take until the timeout.
        "/slow" => None,
        _ => Some(success_response()),
    });
    let items = [
        simple("before"),
        stream(&[simple("slow"), simple("never")]),
        stream(&[operation("pause", &[json!({"kind": "wait", "seconds": 0.02})]), simple("bad")]),
        simple("after"),
    ];
    let race = run(&plan(server.port, &[calls_task("mixed", 2, &[composite(&items, Value::Null)])]));
    let result = race.task("mixed");
    let accounting = result.operation_totals;
    assert_eq!((accounting.begun, accounting.failed, result.work.weight), (2, 2, 0));
    // The requests of dropped streams were sent, so they are counted, and so are their bytes.
    let wire = server.wire_bytes();
    assert_eq!((accounting.requests, server.requests().len()), (6, 6));
    assert_eq!((result.bytes_out, result.bytes_in), (wire.received, wire.sent));
    let error = &result.errors[0];
    assert_eq!(
        (error.error_class.as_str(), error.status, error.reason.as_str()),
        ("http-status", Some(500), "boom: it broke")
    );
    let part = |name: &str| result.sub_operations.iter().find(|part| part.operation == name).unwrap();
    assert_eq!((part("bad").failed, part("before").failed, part("before").ended), (2, 0, 2));
    assert_eq!(
        (part("bad").errors[0].reason.as_str(), part("bad").error_rate),
        ("boom: it broke", Some(1.0))
    );
    // A pause is also a sub-operation: it sends no request, but takes time.
    assert_eq!((part("pause").ended, part("pause").requests), (2, 0));
    assert!(part("pause").service_time.as_ref().unwrap().min_ms >= 20.0);
    assert!(
        !result
            .sub_operations
            .iter()
            .any(|part| ["slow", "never", "after"].contains(&part.operation.as_str()))
    );
}

#[test]
fn a_sub_operation_is_retried_by_its_own_policy() {
    let server = Server::start(|seen, before| {
        Some(if path_of(seen) == "/get" {
            json_response(200, &json!({"is_running": before < 3}))
        } else {
            success_response()
        })
    });
    let mut get = request("GET", "/get");
    get["check"] = json!({"kind": "condition", "path": "is_running", "expected": "false"});
    let mut retried = operation("get", &[get]);
    retried["retry"]["until_success"] = true.into();
    let items = [simple("submit"), retried, simple("delete")];
    let race = run(&plan(server.port, &[calls_task("async", 1, &[composite(&items, Value::Null)])]));
    assert_eq!(request_lines(&server), ["GET /submit", "GET /get", "GET /get", "GET /get", "GET /delete"]);
    let result = race.task("async");
    assert_eq!(
        (result.operation_totals.failed, result.operation_totals.requests, result.operation_totals.retried),
        (0, 5, 2)
    );
    let part = result.sub_operations.iter().find(|part| part.operation == "get").unwrap();
    assert_eq!((part.ended, part.failed, part.retried, part.requests), (1, 0, 2, 3));
}

#[test]
fn a_retry_of_a_paged_search_starts_with_the_first_page() {
    let server = Server::start(|_, before| {
        let page = if before == 1 { vec![] } else { vec![json!([before])] };
        Some(search_response(&json!({"hits": hits(&page)})))
    });
    let mut call = paged(
        with_body("GET", "/_search", &json!({"size": 1})),
        json!({"kind": "search_after"}),
        3,
        Value::Null,
    );
    call["strict"] = true.into();
    let mut task = calls_task("paged", 1, &[call]);
    task["work"]["retry"] = json!({"retries": 1, "until_success": false, "limit_s": 600.0, "wait_s": 0.001, "on_timeout": true, "on_unsuccess": true});
    let race = run(&plan(server.port, &[task]));
    let after: Vec<Value> = request_bodies(&server).iter().map(|body| body["search_after"].clone()).collect();
    assert_eq!(after, [Value::Null, json!([0]), Value::Null, json!([2]), json!([3])]);
    let result = race.task("paged");
    assert_eq!(
        (result.operation_totals.failed, result.operation_totals.retried, result.work.weight),
        (0, 1, 3)
    );
}

#[test]
fn a_failed_assertion_ends_the_race_even_if_errors_are_tolerated() {
    let server = Server::start(|_, _| Some(search_response(&json!({"hits": hits(&[])}))));
    let mut asserted = request("GET", "/_search");
    let assertion = |condition: &str| {
        json!([{"property": "hits", "paths": ["hits.total.value", "hits.total"], "condition": condition,
                "value": 10_001}])
    };
    asserted["assertions"] = assertion("<");
    let holds = calls_task("holds", 3, &[asserted.clone()]);
    asserted["assertions"] = assertion("==");
    let breaks = calls_task("breaks", 3, &[asserted]);
    let race = run(&plan(server.port, &[holds, breaks, calls_task("never", 1, &[request("GET", "/x")])]));
    assert_eq!(
        (race.task("holds").operation_totals.succeeded, race.task("breaks").operation_totals.failed),
        (3, 1)
    );
    let error = &race.task("breaks").errors[0];
    let reason = "hits is 10000, but the track asserts == 10001";
    assert_eq!((error.error_class.as_str(), error.reason.as_str()), ("assertion", reason));
    assert_eq!(race.summary.aborted.unwrap(), format!("task breaks: {reason}"));
    assert_eq!(race.tasks.len(), 2);
}

#[test]
fn a_waiting_composite_ends_when_its_step_is_completed() {
    // The server answers neither task before both have started.
    let both = Barrier::new(2);
    let server = Server::start(move |_, _| {
        both.wait();
        Some(success_response())
    });
    let items =
        [stream(&[operation("nap", &[json!({"kind": "wait", "seconds": 60.0})])]), stream(&[simple("one")])];
    let tasks = [calls_task("long", 1, &[composite(&items, Value::Null)]), request_task("short", 1, 1)];
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([step(&tasks, &[0, 1])]);
    plan["steps"][0]["completed_by"] = json!({"kind": "task", "task": 1});
    let accounting = run(&plan).task("long").operation_totals;
    assert_eq!((accounting.begun, accounting.failed, accounting.unanswered), (1, 0, 1));
}

#[test]
fn a_body_that_cannot_be_paged_is_rejected_before_anything_is_sent() {
    let server = Server::start(|_, _| Some(success_response()));
    let mut first = request("GET", "/_search");
    first["body"] = "[]".into();
    let call = paged(first, json!({"kind": "search_after"}), 3, Value::Null);
    let race = run(&plan(server.port, &[calls_task("paged", 1, &[call])]));
    let expected = "task paged: the next page can only be requested if the body is a JSON object";
    assert_eq!(race.summary.error.unwrap(), expected);
    assert!(server.requests().is_empty());
}
