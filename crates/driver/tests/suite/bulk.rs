//! Requests of bulk tasks: limits, the order of files, conflicting ids, and rejected documents that are sent again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use pacenote_record::FailureUnit;
use serde_json::{Value, json};

use crate::support::server::response_with;
use crate::support::{LoggedRequest, Server, bulk_task, json_response, plan, run, success_response};

/// Gives the task one file per element of `files`, which contains the number of documents and the corpus of the file.
/// Document 3 of file 1 is `{"f":1,"n":3}`.
fn with_files(folder: &Path, task: &mut Value, files: &[(u64, u32)]) {
    let file = |(number, (documents, corpus)): (usize, &(u64, u32))| {
        let path = folder.join(format!("{number}.json"));
        let lines: Vec<String> = (0..*documents).map(|n| format!("{{\"f\":{number},\"n\":{n}}}")).collect();
        fs::write(&path, lines.join("\n")).unwrap();
        let action = json!({"kind": "line", "line": "{}"});
        json!({"path": path, "documents": documents, "action": action, "corpus": corpus})
    };
    task["work"]["files"] = files.iter().enumerate().map(file).collect();
}

/// The file and number of a document that was sent.
struct SentDocument {
    action: Value,
    source: Value,
}

/// Returns the documents in a request.
fn documents(seen: &LoggedRequest) -> Vec<SentDocument> {
    let parse = |line: &str| serde_json::from_str(line).unwrap();
    let body = std::str::from_utf8(&seen.body).unwrap();
    let lines: Vec<Value> = body.lines().map(parse).collect();
    lines.chunks(2).map(|pair| SentDocument { action: pair[0].clone(), source: pair[1].clone() }).collect()
}

/// Returns the file and number of the first document in every request, grouped by connection.
fn first_documents(server: &Server) -> BTreeMap<usize, Vec<(u64, u64)>> {
    let mut first: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
    for seen in server.requests() {
        let document = &documents(&seen)[0].source;
        let key = (document["f"].as_u64().unwrap(), document["n"].as_u64().unwrap());
        first.entry(seen.connection).or_default().push(key);
    }
    first
}

#[test]
fn clients_start_with_different_corpora_and_a_share_is_the_beginning_of_their_bulks() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, _| Some(success_response()));
    let mut task = bulk_task("index", 2, Path::new(""), 0);
    with_files(folder.path(), &mut task, &[(20, 0), (20, 0), (30, 1)]);
    task["work"]["bulk_size"] = 10.into();
    let race = run(&plan(server.port, &[task.clone()]));
    let sent: BTreeSet<Vec<(u64, u64)>> = first_documents(&server).into_values().collect();
    let whole = [vec![(0, 0), (2, 0), (2, 10), (1, 0)], vec![(2, 15), (2, 25), (0, 10), (1, 10)]];
    assert_eq!(sent, BTreeSet::from(whole));
    assert_eq!(race.task("index").work.weight, 70);
    // Each client sends two of its four bulks; the second bulk of client 1 is short.
    let server = Server::start(|_, _| Some(success_response()));
    task["work"]["limit"] = json!({"kind": "share", "share": 0.5});
    let race = run(&plan(server.port, &[task]));
    let sent: BTreeSet<Vec<(u64, u64)>> = first_documents(&server).into_values().collect();
    assert_eq!(sent, BTreeSet::from([vec![(0, 0), (2, 0)], vec![(2, 15), (2, 25)]]));
    assert_eq!(race.task("index").work.weight, 35);
}

#[test]
fn details_of_bulks_are_kept_and_can_be_asserted() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, before| {
        let created = json!({"index": {"status": 201, "result": "created", "_shards":
            {"total": 1, "successful": 1, "failed": 0}}});
        let rejected = json!({"index": {"status": 400, "error": {"type": "mapping", "reason": "no"}}});
        let last = if before == 0 { &created } else { &rejected };
        Some(json_response(200, &json!({"took": 3, "errors": before > 0, "items": [created, created, last]})))
    });
    let mut task = bulk_task("index", 1, Path::new(""), 0);
    with_files(folder.path(), &mut task, &[(9, 0)]);
    task["work"]["bulk_size"] = 3.into();
    task["work"]["detailed_results"] = true.into();
    task["work"]["assertions"] = json!([
        {"property": "error-count", "paths": ["error-count"], "condition": "<", "value": 1, "in_details": true},
        {"property": "ops.index.created", "paths": ["ops.index.created"], "condition": ">", "value": 1,
         "in_details": true}
    ]);
    let race = run(&plan(server.port, &[task]));
    assert_eq!(
        race.summary.aborted.as_deref(),
        Some("task index: error-count is 1, but the track asserts < 1")
    );
    let [first, second] = &race.samples[..] else { panic!("{:?}", race.samples) };
    let first = first.details.as_ref().unwrap();
    assert_eq!((&first["success-count"], &first["ops"]["index"]["created"]), (&json!(3), &json!(3)));
    // Each document is `{}` and `{"f":0,"n":0}`.
    assert_eq!(
        (&first["bulk-request-size-bytes"], &first["total-document-size-bytes"]),
        (&json!(45), &json!(39))
    );
    assert_eq!(second.details.as_ref().unwrap()["max-doc-status"], 400);
    assert_eq!((second.error_class.as_str(), second.weight), ("assertion", 2));
    assert_eq!((race.task("index").work.weight, race.task("index").work.failed_weight), (5, 1));
}

#[test]
fn the_bulks_of_each_client_keep_its_rate_in_documents_whatever_their_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, _| Some(success_response()));
    let mut task = bulk_task("index", 2, Path::new(""), 0);
    // Each client sends bulks of 4, 4, 10, 10, 5 and 2 documents: 35 in 175 ms of its half of the rate.
    with_files(folder.path(), &mut task, &[(8, 0), (8, 0), (50, 0), (4, 0)]);
    task["work"]["bulk_size"] = 10.into();
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 0.01});
    task["documents_per_operation"] = 4.0.into();
    let race = run(&plan(server.port, &[task]));
    let due = |client: i64| {
        let mut due: Vec<i64> =
            race.samples.iter().filter(|sample| sample.client == client).map(|sample| sample.due).collect();
        due.sort_unstable();
        due.iter().map(|due| due / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(due(0), [0, 20, 40, 90, 140, 165]);
    assert_eq!(due(1), [10, 30, 65, 115, 152, 170]);
    assert_eq!(race.task("index").work.weight, 70);
    // The data begins again: 35 documents of each client in 175 ms.
    let mut looped = bulk_task("index", 2, Path::new(""), 0);
    with_files(folder.path(), &mut looped, &[(8, 0), (8, 0), (50, 0), (4, 0)]);
    looped["work"]["bulk_size"] = 10.into();
    looped["work"]["looped"] = true.into();
    looped["pacing"] = json!({"kind": "deterministic", "interval_s": 0.01});
    looped["documents_per_operation"] = 4.0.into();
    looped["bound"] = json!({"kind": "iterations", "warmup": 0, "measured": 8});
    let race = run(&plan(server.port, &[looped]));
    let mut due: Vec<i64> = race
        .samples
        .iter()
        .filter(|sample| sample.client == 1)
        .map(|sample| sample.due / 1_000_000)
        .collect();
    due.sort_unstable();
    assert_eq!(due, [10, 30, 65, 115, 152, 170, 185, 205]);
}

#[test]
fn exactly_the_given_number_of_documents_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, _| Some(success_response()));
    let mut task = bulk_task("index", 2, Path::new(""), 0);
    with_files(folder.path(), &mut task, &[(15, 0), (100, 0)]);
    task["work"]["bulk_size"] = 10.into();
    task["work"]["limit"] = json!({"kind": "documents", "documents": 40});
    let race = run(&plan(server.port, &[task]));
    // The bulks at the end of a file are short, but the limit must still be reached exactly.
    assert_eq!((race.task("index").work.weight, server.requests().len()), (40, 6));
}

#[test]
fn ids_repeat_within_a_client_and_never_across_clients_or_files() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, _| Some(success_response()));
    let mut task = bulk_task("index", 3, Path::new(""), 0);
    with_files(folder.path(), &mut task, &[(300, 0), (600, 0), (200, 0)]);
    for (file, index) in [(0, "a\"b"), (1, "a\"b"), (2, "c")] {
        task["work"]["files"][file]["action"] = json!({"kind": "with_id", "index": index});
    }
    task["work"]["conflicts"] =
        json!({"ids": "random", "probability": 0.5, "on_conflict": "update", "recency": 0.1});
    run(&plan(server.port, &[task]));
    let mut owners: BTreeMap<(String, String), (usize, u64)> = BTreeMap::new();
    let (mut new, mut repeated) = (0_u32, 0_u32);
    for seen in server.requests() {
        for SentDocument { action, source } in documents(&seen) {
            let update = action.get("update").is_some();
            let document = if update { &source["doc"] } else { &source };
            let target = &action[if update { "update" } else { "index" }];
            let id = target["_id"].as_str().unwrap();
            let key = (target["_index"].as_str().unwrap().to_owned(), id.to_owned());
            let owner = (seen.connection, document["f"].as_u64().unwrap());
            assert_eq!(owners.contains_key(&key), update, "{key:?}");
            assert_eq!(*owners.entry(key).or_insert(owner), owner);
            *(if update { &mut repeated } else { &mut new }) += 1;
        }
    }
    assert_eq!(new + repeated, 1100);
    assert!((500..600).contains(&repeated), "{repeated}");
    let indices: BTreeSet<&str> = owners.keys().map(|(index, _)| index.as_str()).collect();
    assert_eq!(indices, BTreeSet::from(["a\"b", "c"]));
    assert!(owners.keys().filter(|(index, _)| index == "c").all(|(_, id)| id.as_str() < "0000000200"));
}

/// Builds the response to a bulk whose documents have these statuses.
fn bulk_response(statuses: &[u16]) -> Vec<u8> {
    let item = |status: &u16| match status {
        201 => json!({"index": {"status": 201}}),
        status => {
            json!({"index": {"status": status, "error": {"type": format!("t{status}"), "reason": "r"}}})
        }
    };
    let errors = statuses.iter().any(|status| *status > 299);
    json_response(
        200,
        &json!({"took": 2, "errors": errors, "items": statuses.iter().map(item).collect::<Vec<_>>()}),
    )
}

/// Builds a task that sends one bulk of five documents.
fn five_documents(folder: &Path, retries: u32) -> Value {
    let mut task = bulk_task("index", 1, Path::new(""), 0);
    with_files(folder, &mut task, &[(5, 0)]);
    task["work"]["retries_on_429"] = retries.into();
    task
}

fn numbers(seen: &LoggedRequest) -> Vec<u64> {
    documents(seen).iter().map(|document| document.source["n"].as_u64().unwrap()).collect()
}

#[test]
fn documents_rejected_with_429_are_sent_again_without_the_others_in_the_same_operation() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, before| {
        Some(match before {
            0 => bulk_response(&[429, 201, 400, 429, 429]),
            1 => bulk_response(&[201, 429, 201]),
            _ => bulk_response(&[201]),
        })
    });
    let race = run(&plan(server.port, &[five_documents(folder.path(), 5)]));
    let sent: Vec<Vec<u64>> = server.requests().iter().map(numbers).collect();
    assert_eq!(sent, [vec![0, 1, 2, 3, 4], vec![0, 3, 4], vec![3]]);
    let result = race.task("index");
    let accounting = result.operation_totals;
    assert_eq!((accounting.begun, accounting.requests, accounting.retried), (1, 3, 2));
    assert_eq!((accounting.failed, result.work.weight, result.work.failed_weight), (1, 4, 1));
    let errors: Vec<_> = result.errors.iter().map(|error| (error.status, error.count)).collect();
    assert_eq!(errors, [(Some(400), 1)], "documents that eventually succeed must not count as errors");
}

#[test]
fn documents_with_status_429_after_the_last_retry_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, before| {
        Some(if before == 0 { bulk_response(&[201, 429, 429, 201, 201]) } else { bulk_response(&[429, 201]) })
    });
    let race = run(&plan(server.port, &[five_documents(folder.path(), 1)]));
    assert_eq!(server.requests().iter().map(numbers).collect::<Vec<_>>(), [vec![0, 1, 2, 3, 4], vec![1, 2]]);
    let result = race.task("index");
    assert_eq!((result.operation_totals.failed, result.work.weight, result.work.failed_weight), (1, 4, 1));
    assert_eq!(result.errors[0].status, Some(429));
    // All documents eventually succeed, so the operation is a success with one retry.
    let server = Server::start(|_, before| {
        Some(if before == 0 { bulk_response(&[201, 429, 201, 201, 201]) } else { bulk_response(&[201]) })
    });
    let race = run(&plan(server.port, &[five_documents(folder.path(), 1)]));
    let accounting = race.task("index").operation_totals;
    assert_eq!((accounting.failed, accounting.retried, race.task("index").work.weight), (0, 1, 5));
    // Without retries.
    let server = Server::start(|_, _| Some(bulk_response(&[201, 429, 201, 201, 201])));
    let race = run(&plan(server.port, &[five_documents(folder.path(), 0)]));
    assert_eq!((server.requests().len(), race.task("index").work.failed_weight), (1, 1));
}

#[test]
fn a_retry_without_a_response_keeps_the_documents_accepted_before() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, before| (before == 0).then(|| bulk_response(&[201, 429, 400, 201, 201])));
    let mut task = five_documents(folder.path(), 3);
    task["work"]["timeout_ms"] = 500.into();
    let race = run(&plan(server.port, &[task]));
    let result = race.task("index");
    assert_eq!((server.requests().len(), result.work.weight, result.work.failed_weight), (2, 3, 2));
    let errors: BTreeSet<_> =
        result.errors.iter().map(|error| (error.error_class.as_str(), error.status, error.count)).collect();
    assert_eq!(errors, BTreeSet::from([("bulk-item", Some(400), 1), ("timeout", None, 1)]));
    assert!(result.errors.iter().all(|error| error.unit == FailureUnit::Documents));
    assert_eq!(race.samples[0].error_class, "timeout");
}

#[test]
fn a_document_with_status_429_but_no_error_is_a_rejected_one() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, before| {
        let error = json!({"type": "bad", "reason": "r"});
        let items = json!([
            {"index": {"status": 429, "error": {"type": "full", "reason": "r"}}}, {"index": {"status": 201}},
            {"index": {"status": 400, "error": error}}, {"index": {"status": 429}}, {"index": {"status": 201}}
        ]);
        let rejected = json_response(200, &json!({"took": 2, "errors": true, "items": items}));
        Some(if before == 0 { rejected } else { bulk_response(&[201, 201]) })
    });
    let race = run(&plan(server.port, &[five_documents(folder.path(), 1)]));
    assert_eq!(server.requests().iter().map(numbers).collect::<Vec<_>>(), [vec![0, 1, 2, 3, 4], vec![0, 3]]);
    let result = race.task("index");
    assert_eq!((result.operation_totals.failed, result.work.weight, result.work.failed_weight), (1, 4, 1));
    assert_eq!((result.errors.len(), result.errors[0].status, result.errors[0].count), (1, Some(400), 1));
}

/// Runs a race that sends one bulk of five documents to this path; the response has this body. Returns the class of
/// each error with its count, and the documents that count and those that do not.
fn one_bulk(path: &str, body: &'static str) -> (Vec<(String, u64)>, u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(move |_, _| Some(response_with(200, "", body.as_bytes())));
    let mut task = five_documents(folder.path(), 0);
    task["work"]["path"] = path.into();
    let race = run(&plan(server.port, &[task]));
    let result = race.task("index");
    let in_groups: u64 = result.errors.iter().map(|error| error.count).sum();
    assert_eq!(in_groups, result.work.failed_weight, "the groups count the documents that failed");
    assert!(result.errors.iter().all(|error| error.unit == FailureUnit::Documents));
    let errors = result.errors.iter().map(|error| (error.error_class.clone(), error.count)).collect();
    (errors, result.work.weight, result.work.failed_weight)
}

#[test]
fn no_document_counts_whose_result_is_unknown() {
    for body in [
        // The engine reports errors, but no item has one.
        r#"{"took":1,"errors":true,"items":[{"index":{}},{"index":{}},{"index":{}},{"index":{}},{"index":{}}]}"#,
        // Items for two of five documents.
        r#"{"took":1,"errors":true,"items":[{"index":{"status":201}},{"index":{"status":400}}]}"#,
        r#"{"took":1,"errors":false,"items":[]}"#,
        r#"{"took":1,"errors":false}"#,
        r#"{"took":1e400,"errors":false,"items":[{"index":{"status":201}}]}"#,
        r#"{"took":NaN,"errors":false,"items":[{"index":{"status":201}}]}"#,
        r#"{"took":1,"errors":true,"items":[1}"#,
    ] {
        assert_eq!(one_bulk("/_bulk", body), (vec![("protocol".into(), 5)], 0, 5), "{body}");
    }
}

#[test]
fn fields_that_the_request_filters_out_are_not_missed() {
    let by_status = r#"{"errors":true,"items":[{"index":{"status":400}},{"index":{"status":201}},{"index":{"status":201}},{"index":{"status":201}},{"index":{"status":503}}]}"#;
    let path = "/_bulk?filter_path=errors,items.*.status";
    assert_eq!(one_bulk(path, by_status), (vec![("bulk-item".into(), 1), ("bulk-item".into(), 1)], 3, 2));
    let only_errors = r#"{"errors":true,"items":[{"index":{"error":{"type":"t","reason":"r"}}}]}"#;
    let path = "/_bulk?filter_path=errors,items.*.error";
    assert_eq!(one_bulk(path, only_errors), (vec![("bulk-item".into(), 1)], 4, 1));
    assert_eq!(one_bulk("/_bulk?filter_path=errors", r#"{"errors":false}"#), (vec![], 5, 0));
    assert_eq!(one_bulk("/_bulk?filter_path=errors", r#"{"errors":false,"items":[]}"#), (vec![], 5, 0));
}
