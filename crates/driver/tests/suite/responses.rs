//! Responses that engines send with a successful status, in every format and for every kind of check.

use std::sync::Barrier;
use std::time::Duration;

use pacenote_driver::ResponseMemory;
use serde_json::{Value, json};

use crate::support::server::{Answer, response_with};
use crate::support::{Server, plan, request, request_task, run, run_with_memory};

/// Runs a race with one request to this path, which has a check and headers; the response has this status and body.
/// Returns the class of its failure, or an empty text for a success.
fn class_of(path: &str, check: &str, headers: &Value, response: (u16, &'static str)) -> String {
    let (status, body) = response;
    let server = Server::start(move |_, _| Some(response_with(status, "", body.as_bytes())));
    let mut sent = request("POST", path);
    sent["check"] = json!({"kind": check});
    sent["headers"] = headers.clone();
    let mut task = request_task("one", 1, 1);
    task["work"]["calls"] = json!([sent]);
    let race = run(&plan(server.port, &[task]));
    assert_eq!(race.summary.error, None);
    race.task("one").errors.first().map_or_else(String::new, |error| error.error_class.clone())
}

#[test]
fn formats_other_than_json_are_judged_by_their_status() {
    let csv = (200, "a,b\n1,2\n");
    let accept = |types: &str| json!([["accept", types]]);
    for (path, headers) in [
        ("/_query?format=csv", json!([])),
        ("/_query?pretty&format=yaml", json!([])),
        ("/_query", accept("text/csv")),
        ("/_query", accept("application/vnd.apache.arrow.stream")),
    ] {
        assert_eq!(class_of(path, "esql", &headers, csv), "", "{path} {headers}");
        assert_eq!(class_of(path, "esql", &headers, (200, "")), "", "an empty table, {path} {headers}");
        assert_eq!(class_of(path, "esql", &headers, (500, "no")), "http-status", "{path} {headers}");
    }
    assert_eq!(
        class_of("/x?format=yaml", "acknowledged", &json!([]), (200, "---\nacknowledged: true\n")),
        ""
    );
    // A response in JSON is judged, whether or not the request names the format.
    let partial = (200, r#"{"took":1,"is_partial":true,"columns":[],"values":[]}"#);
    for (path, headers) in [
        ("/_query", json!([])),
        ("/_query?format=json", json!([])),
        ("/_query?format=json", accept("text/csv")),
        ("/_query", accept("application/json")),
    ] {
        assert_eq!(class_of(path, "esql", &headers, partial), "partial", "{path} {headers}");
        assert_eq!(class_of(path, "esql", &headers, csv), "protocol", "{path} {headers}");
    }
    // Nothing would be known of a search.
    let yaml = (200, "---\ntook: 1\ntimed_out: false\n");
    assert_eq!(class_of("/_search?format=yaml", "search", &json!([]), yaml), "protocol");
}

#[test]
fn responses_that_only_their_status_judges_may_have_any_body() {
    for response in [(200, ""), (200, "green open books"), (200, "{"), (204, ""), (206, "[]"), (299, "")] {
        assert_eq!(class_of("/_cat/indices", "status", &json!([]), response), "", "{response:?}");
    }
    for status in [300, 304, 400, 404, 429, 503] {
        assert_eq!(class_of("/_cat/indices", "status", &json!([]), (status, "")), "http-status", "{status}");
    }
}

#[test]
fn an_empty_response_is_not_that_of_a_check_that_reads_it() {
    for check in ["search", "esql", "acknowledged", "task"] {
        assert_eq!(class_of("/x", check, &json!([]), (200, "")), "protocol", "{check}");
    }
}

#[test]
fn a_duration_that_is_missing_or_cannot_be_stored_is_unknown() {
    for (took, stored) in [
        (r#""took":7,"#, 7),
        (r#""took":-1,"#, -1),
        ("", -1),
        (r#""took":9223372036854775807,"#, i64::MAX),
        (r#""took":9223372036854775808,"#, -1),
    ] {
        let shards = r#"{"total":1,"successful":1,"skipped":0,"failed":0}"#;
        let body = format!(r#"{{{took}"timed_out":false,"_shards":{shards},"hits":{{}}}}"#);
        let server = Server::start(move |_, _| Some(response_with(200, "", body.as_bytes())));
        let mut sent = request("GET", "/_search");
        sent["check"] = json!({"kind": "search"});
        let mut task = request_task("one", 1, 1);
        task["work"]["calls"] = json!([sent]);
        let race = run(&plan(server.port, &[task]));
        assert_eq!(race.samples[0].took, stored, "{took} {:?}", race.task("one").errors);
        assert_eq!(race.samples[0].error_class, "", "{took}");
    }
}

#[test]
fn responses_that_exceed_the_memory_of_the_race_together_fail_and_the_race_goes_on() {
    const CLIENTS: u32 = 4;
    let shards = r#"{"total":1,"successful":1,"skipped":0,"failed":0}"#;
    let text = "x".repeat(640 << 10);
    let body = format!(r#"{{"took":1,"timed_out":false,"_shards":{shards},"hits":{{"text":"{text}"}}}}"#);
    let answer = Answer::from(response_with(200, "", body.as_bytes())).trickled(8, Duration::from_millis(50));
    let together = Barrier::new(CLIENTS as usize);
    let server = Server::start(move |_, before| {
        if before < CLIENTS as usize {
            together.wait();
        }
        answer.clone()
    });
    // Each of the responses fits, but two do not.
    let memory = ResponseMemory::new(1 << 20);
    let tasks = [request_task("many", CLIENTS, 3), request_task("alone", 1, 2)];
    let race = run_with_memory(&plan(server.port, &tasks), memory);
    assert_eq!((race.summary.error.as_deref(), race.summary.aborted.as_deref()), (None, None));
    let many = race.task("many");
    let failed: u64 = many.errors.iter().map(|error| error.count).sum();
    assert!(failed > 0, "{many:?}");
    for error in &many.errors {
        assert_eq!(error.error_class, "protocol", "{error:?}");
        assert!(error.reason.contains("the responses of all clients together exceed 1 MiB"), "{error:?}");
    }
    let totals = &many.operation_totals;
    assert_eq!((totals.begun, totals.failed), (u64::from(CLIENTS) * 3, failed), "{totals:?}");
    assert!(totals.succeeded > 0 && totals.succeeded + failed == totals.begun, "{totals:?}");
    assert_eq!(race.task("alone").errors, [], "the memory was given back");
}
