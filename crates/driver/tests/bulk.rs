//! What bulk tasks send: limits, the order of files, ids that come again, documents sent again.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use support::{Seen, Server, bulk_task, good, plan, reply, run};

/// Files of so many documents each, in corpora: document 3 of file 1 is `{"f":1,"n":3}`.
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

/// (action, document) of every document of a request.
fn documents(seen: &Seen) -> Vec<(Value, Value)> {
    let parse = |line: &str| serde_json::from_str(line).unwrap();
    let body = std::str::from_utf8(&seen.body).unwrap();
    let lines: Vec<Value> = body.lines().map(parse).collect();
    lines.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// (file, number) of the first document of every request, by connection.
fn firsts(server: &Server) -> BTreeMap<usize, Vec<(u64, u64)>> {
    let mut firsts: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
    for seen in server.seen() {
        let (_, document) = &documents(&seen)[0];
        let place = (document["f"].as_u64().unwrap(), document["n"].as_u64().unwrap());
        firsts.entry(seen.connection).or_default().push(place);
    }
    firsts
}

#[test]
fn clients_start_with_different_corpora_and_a_share_is_cut_off_behind() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, _| Some(good()));
    let mut task = bulk_task("index", 2, Path::new(""), 0);
    with_files(folder.path(), &mut task, &[(20, 0), (20, 0), (30, 1)]);
    task["work"]["bulk_size"] = 10.into();
    let race = run(&plan(server.port, &[task.clone()]));
    let sent: BTreeSet<Vec<(u64, u64)>> = firsts(&server).into_values().collect();
    let whole = [vec![(0, 0), (2, 0), (2, 10), (1, 0)], vec![(2, 15), (2, 25), (0, 10), (1, 10)]];
    assert_eq!(sent, BTreeSet::from(whole));
    assert_eq!(race.task("index").work.done, 70);
    // Two of four bulks each: the second one of client 1 is a short one.
    let server = Server::start(|_, _| Some(good()));
    task["work"]["limit"] = json!({"kind": "share", "share": 0.5});
    let race = run(&plan(server.port, &[task]));
    let sent: BTreeSet<Vec<(u64, u64)>> = firsts(&server).into_values().collect();
    assert_eq!(sent, BTreeSet::from([vec![(0, 0), (2, 0)], vec![(2, 15), (2, 25)]]));
    assert_eq!(race.task("index").work.done, 35);
}

#[test]
fn a_number_of_documents_is_sent_to_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, _| Some(good()));
    let mut task = bulk_task("index", 2, Path::new(""), 0);
    with_files(folder.path(), &mut task, &[(15, 0), (100, 0)]);
    task["work"]["bulk_size"] = 10.into();
    task["work"]["limit"] = json!({"kind": "documents", "documents": 40});
    let race = run(&plan(server.port, &[task]));
    // Files end with short bulks, which must not make it fewer documents.
    assert_eq!((race.task("index").work.done, server.seen().len()), (40, 6));
}

#[test]
fn ids_come_again_within_a_client_and_never_in_two_or_for_two_files() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, _| Some(good()));
    let mut task = bulk_task("index", 3, Path::new(""), 0);
    with_files(folder.path(), &mut task, &[(300, 0), (600, 0), (200, 0)]);
    for (file, index) in [(0, "a\"b"), (1, "a\"b"), (2, "c")] {
        task["work"]["files"][file]["action"] = json!({"kind": "with_id", "index": index});
    }
    task["work"]["conflicts"] =
        json!({"ids": "random", "probability": 0.5, "on_conflict": "update", "recency": 0.1});
    run(&plan(server.port, &[task]));
    let mut owners: BTreeMap<(String, String), (usize, u64)> = BTreeMap::new();
    let (mut new, mut again) = (0_u32, 0_u32);
    for seen in server.seen() {
        for (action, document) in documents(&seen) {
            let update = action.get("update").is_some();
            let document = if update { &document["doc"] } else { &document };
            let target = &action[if update { "update" } else { "index" }];
            let id = target["_id"].as_str().unwrap();
            let key = (target["_index"].as_str().unwrap().to_owned(), id.to_owned());
            let owner = (seen.connection, document["f"].as_u64().unwrap());
            assert_eq!(owners.contains_key(&key), update, "{key:?}");
            assert_eq!(*owners.entry(key).or_insert(owner), owner);
            *(if update { &mut again } else { &mut new }) += 1;
        }
    }
    assert_eq!(new + again, 1100);
    assert!((500..600).contains(&again), "{again}");
    let indices: BTreeSet<&str> = owners.keys().map(|(index, _)| index.as_str()).collect();
    assert_eq!(indices, BTreeSet::from(["a\"b", "c"]));
    assert!(owners.keys().filter(|(index, _)| index == "c").all(|(_, id)| id.as_str() < "0000000200"));
}

/// A reply with one status per document.
fn items(statuses: &[u16]) -> Vec<u8> {
    let item = |status: &u16| match status {
        201 => json!({"index": {"status": 201}}),
        status => {
            json!({"index": {"status": status, "error": {"type": format!("t{status}"), "reason": "r"}}})
        }
    };
    let errors = statuses.iter().any(|status| *status > 299);
    reply(200, &json!({"took": 2, "errors": errors, "items": statuses.iter().map(item).collect::<Vec<_>>()}))
}

/// A task of one bulk of five documents, with so many retries.
fn five(folder: &Path, retries: u32) -> Value {
    let mut task = bulk_task("index", 1, Path::new(""), 0);
    with_files(folder, &mut task, &[(5, 0)]);
    task["work"]["retries_on_429"] = retries.into();
    task
}

fn numbers(seen: &Seen) -> Vec<u64> {
    documents(seen).iter().map(|(_, document)| document["n"].as_u64().unwrap()).collect()
}

#[test]
fn documents_without_room_are_sent_again_alone_within_one_operation() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, before| {
        Some(match before {
            0 => items(&[429, 201, 400, 429, 429]),
            1 => items(&[201, 429, 201]),
            _ => items(&[201]),
        })
    });
    let race = run(&plan(server.port, &[five(folder.path(), 5)]));
    let sent: Vec<Vec<u64>> = server.seen().iter().map(numbers).collect();
    assert_eq!(sent, [vec![0, 1, 2, 3, 4], vec![0, 3, 4], vec![3]]);
    let result = race.task("index");
    let accounting = result.accounting;
    assert_eq!((accounting.operations, accounting.requests, accounting.retried), (1, 3, 2));
    assert_eq!((accounting.failed, result.work.done, result.work.failed), (1, 4, 1));
    let errors: Vec<_> = result.errors.iter().map(|error| (error.status, error.count)).collect();
    assert_eq!(errors, [(Some(400), 1)], "what came through in the end is no error");
}

#[test]
fn what_still_has_no_room_after_the_last_retry_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, before| {
        Some(if before == 0 { items(&[201, 429, 429, 201, 201]) } else { items(&[429, 201]) })
    });
    let race = run(&plan(server.port, &[five(folder.path(), 1)]));
    assert_eq!(server.seen().iter().map(numbers).collect::<Vec<_>>(), [vec![0, 1, 2, 3, 4], vec![1, 2]]);
    let result = race.task("index");
    assert_eq!((result.accounting.failed, result.work.done, result.work.failed), (1, 4, 1));
    assert_eq!(result.errors[0].status, Some(429));
    // All came through: a success, with one retry to be seen.
    let server = Server::start(|_, before| {
        Some(if before == 0 { items(&[201, 429, 201, 201, 201]) } else { items(&[201]) })
    });
    let race = run(&plan(server.port, &[five(folder.path(), 1)]));
    let accounting = race.task("index").accounting;
    assert_eq!((accounting.failed, accounting.retried, race.task("index").work.done), (0, 1, 5));
    // Nobody asked for retries.
    let server = Server::start(|_, _| Some(items(&[201, 429, 201, 201, 201])));
    let race = run(&plan(server.port, &[five(folder.path(), 0)]));
    assert_eq!((server.seen().len(), race.task("index").work.failed), (1, 1));
}

#[test]
fn a_retry_without_an_answer_keeps_what_was_accepted_before() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, before| (before == 0).then(|| items(&[201, 429, 400, 201, 201])));
    let mut task = five(folder.path(), 3);
    task["work"]["timeout_ms"] = 500.into();
    let race = run(&plan(server.port, &[task]));
    let result = race.task("index");
    assert_eq!((server.seen().len(), result.work.done, result.work.failed), (2, 3, 2));
    let classes: BTreeSet<&str> = result.errors.iter().map(|error| error.error_class.as_str()).collect();
    assert_eq!(classes, BTreeSet::from(["timeout"]));
}
