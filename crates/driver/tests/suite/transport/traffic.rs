//! Counts of bytes on the wire: with and without TLS, with compressed bodies, and of failed requests.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use pacenote_driver::{PythonEvent, RunnerRequest};
use pacenote_record::TaskResult;
use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};

use super::certificates::{Authority, ClientAuth, path_text, server_config};
use crate::support::python::{CLIENT, get, prepared, queued_task, race, runner_task, success};
use crate::support::server::{Answer, End, WireBytes};
use crate::support::{
    self, LoggedRequest, Server, bulk_task, plan, request, request_task, run, success_response,
};

/// Returns the body of a request, decompressed if its headers declare compression.
fn content(seen: &LoggedRequest) -> Vec<u8> {
    if !seen.headers.contains(&"content-encoding: gzip".to_owned()) {
        return seen.body.clone();
    }
    let mut body = Vec::new();
    GzDecoder::new(seen.body.as_slice()).read_to_end(&mut body).unwrap();
    body
}

/// Writes a file of documents that compress about as well as real ones.
fn documents(folder: &Path, count: u64) -> std::path::PathBuf {
    let path = folder.join("docs.json");
    let line =
        |n: u64| format!("{{\"n\": {n}, \"name\": \"document number {n}\", \"tags\": [\"a\", \"b\"]}}\n");
    fs::write(&path, (0..count).map(line).collect::<String>()).unwrap();
    path
}

/// Asserts that every document was sent once, after its action line.
fn assert_all_documents(requests: &[LoggedRequest], count: usize) {
    let bodies: Vec<u8> = requests.iter().flat_map(content).collect();
    let lines: Vec<&str> = std::str::from_utf8(&bodies).unwrap().lines().collect();
    assert!(lines.iter().step_by(2).all(|line| *line == r#"{"index":{"_index":"logs"}}"#));
    let posted: BTreeSet<&str> = lines.iter().skip(1).step_by(2).copied().collect();
    assert_eq!((lines.len(), posted.len()), (2 * count, count));
}

#[test]
fn recorded_bytes_match_the_wire_with_and_without_tls() {
    let folder = tempfile::tempdir().unwrap();
    let file = documents(folder.path(), 5000);
    let authority = Authority::new("ours");
    let issued = authority.server(&["127.0.0.1"]);
    let mut tasks = [bulk_task("index", 3, &file, 5000)];
    tasks[0]["work"]["bulk_size"] = 1500.into();
    let race = |port: u16, scheme: &str, compress: bool| -> TaskResult {
        let mut plan = plan(port, &tasks);
        plan["target"]["compress"] = compress.into();
        plan["target"]["hosts"][0]["scheme"] = scheme.into();
        plan["target"]["tls"]["ca_file"] = path_text(&authority.file()).into();
        run(&plan).task("index").clone()
    };
    let mut out = Vec::new();
    for compress in [false, true] {
        let server = Server::start(|_, _| Some(success_response()));
        let result = race(server.port, "http", compress);
        assert_wire(&result, &server);
        out.push(result.bytes_out);
        for version in [&TLS12, &TLS13] {
            let server = Server::start_tls(server_config(&issued, &[version], ClientAuth::None));
            let result = race(server.port, "https", compress);
            assert_wire(&result, &server);
            out.push(result.bytes_out);
        }
    }
    let [plain, plain_12, plain_13, packed, packed_12, packed_13] = out[..] else { panic!("{out:?}") };
    // TLS adds less than 2 %, and compression saves more than two thirds, also with TLS.
    assert!(plain < plain_12.min(plain_13) && plain_12.max(plain_13) < plain + plain / 50, "{out:?}");
    assert!(packed < packed_12.min(packed_13) && packed_12.max(packed_13) < plain / 3, "{out:?}");
}

/// Asserts that the result of a bulk task agrees with the server: bytes in and out, bodies, documents.
fn assert_wire(result: &TaskResult, server: &Server) {
    let seen = &server.requests();
    assert_all_documents(seen, 5000);
    assert_eq!((result.work.weight, result.operation_totals.requests), (5000, seen.len() as u64));
    let recorded = WireBytes { received: result.bytes_out, sent: result.bytes_in };
    assert_eq!(recorded, server.wire_bytes());
    let sent: usize = seen.iter().map(|one| content(one).len()).sum();
    assert_eq!(result.content_out, sent as u64);
    let reply = success_response().len()
        - success_response().windows(4).position(|end| end == b"\r\n\r\n").unwrap()
        - 4;
    assert_eq!(result.content_in, (seen.len() * reply) as u64);
}

#[test]
fn retried_documents_are_compressed_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = documents(folder.path(), 4);
    let server = Server::start(|seen, before| {
        let full = json!({"index": {"status": 429, "error": {"type": "full", "reason": "no room"}}});
        let item = |n: usize| {
            if before == 0 && n.is_multiple_of(2) { full.clone() } else { json!({"index": {"status": 201}}) }
        };
        let documents = String::from_utf8(content(seen)).unwrap().lines().count() / 2;
        let items: Vec<Value> = (0..documents).map(item).collect();
        Some(support::json_response(200, &json!({"took": 1, "errors": before == 0, "items": items})))
    });
    let mut task = bulk_task("index", 1, &file, 4);
    task["work"]["retries_on_429"] = 1.into();
    let mut plan = plan(server.port, &[task]);
    plan["target"]["compress"] = true.into();
    let result = run(&plan).task("index").clone();
    assert_eq!((result.work.weight, result.work.failed_weight, result.operation_totals.requests), (4, 0, 2));
    let seen = server.requests();
    let numbers = |seen: &LoggedRequest| -> Vec<u64> {
        let body = content(seen);
        let lines = std::str::from_utf8(&body).unwrap().lines().skip(1).step_by(2);
        lines.map(|line| serde_json::from_str::<Value>(line).unwrap()["n"].as_u64().unwrap()).collect()
    };
    assert_eq!([numbers(&seen[0]), numbers(&seen[1])], [vec![0, 1, 2, 3], vec![0, 2]]);
    let sent: usize = seen.iter().map(|one| content(one).len()).sum();
    assert_eq!(result.content_out, sent as u64);
}

#[test]
fn bodies_of_all_kinds_of_requests_are_compressed_and_empty_ones_are_not() {
    let server = Server::start(|seen, before| {
        let last = seen.line.contains("scroll") && before > 2;
        let hits: Vec<Value> = if last { vec![] } else { vec![json!({"_id": "x"})] };
        Some(support::json_response(
            200,
            &json!({"_scroll_id": "next/id", "took": 1, "hits": {"hits": hits}}),
        ))
    });
    let mut search = request("POST", "/_search");
    search["body"] = "{\"query\":{\"match_all\":{}}}".into();
    let mut first = search.clone();
    first.as_object_mut().unwrap().remove("kind");
    let scroll = json!({"kind": "pages", "first": first, "next": {"kind": "scroll", "keep_alive": "1m"},
                        "pages": null, "page_size": null, "strict": false});
    let mut task = request_task("search", 1, 1);
    task["work"]["calls"] = json!([request("GET", "/_cat"), search, scroll]);
    let mut plan = plan(server.port, &[task]);
    plan["target"]["compress"] = true.into();
    let result = run(&plan).task("search").clone();
    let seen = server.requests();
    let query = "{\"query\":{\"match_all\":{}}}";
    let expected =
        ["", query, query, "{\"scroll\":\"1m\",\"scroll_id\":\"next/id\"}", "{\"scroll_id\":[\"next/id\"]}"];
    let bodies: Vec<String> = seen.iter().map(|one| String::from_utf8(content(one)).unwrap()).collect();
    assert_eq!(bodies, expected);
    let packed = |one: &LoggedRequest| one.headers.contains(&"content-encoding: gzip".to_owned());
    assert_eq!(seen.iter().map(packed).collect::<Vec<_>>(), [false, true, true, true, true]);
    let (sent, whole): (usize, usize) =
        (bodies.iter().map(String::len).sum(), seen.iter().map(|one| one.bytes).sum());
    assert_eq!((result.content_out, result.bytes_out), (sent as u64, whole as u64));
    assert_eq!((result.operation_totals.failed, result.operation_totals.requests), (0, 5));
}

#[test]
fn bodies_from_python_are_compressed_unless_they_have_a_content_encoding() {
    let server = Server::start(|_, _| Some(success_response()));
    let supply = json!({"kind": "bulk", "path": "/_bulk", "headers": [["content-type", "application/x-ndjson"]],
                        "documents": 1, "timeout_ms": null});
    let mut plan = plan(server.port, &[queued_task("bulk", 4), runner_task("own")]);
    plan["target"]["compress"] = true.into();
    let (mut running, mut replies) = (0, 0);
    let finished = race(&plan, move |bridge, event| match event {
        PythonEvent::PrepareStep { step: 0 } => {
            bridge
                .enqueue(CLIENT, &supply.to_string(), Some(b"{\"index\":{}}\n{\"n\":1}\n".to_vec()))
                .unwrap();
            bridge.finish(CLIENT, None).unwrap();
            bridge.prepared(0, None);
        }
        PythonEvent::RunOperation { query_id, .. } => {
            running = *query_id;
            let request = |target: &str, coding: &[(&str, &str)], body: &[u8]| {
                let headers = coding.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
                let request = RunnerRequest { headers, body: Some(body.to_vec()), ..get(target) };
                bridge.request(Some(running), "default", request).unwrap();
            };
            request("/plain", &[], b"some text");
            request("/own", &[("Content-Encoding", "identity")], b"own text");
        }
        PythonEvent::ResponseReceived(_) => {
            replies += 1;
            if replies == 2 {
                bridge.complete(running, success(1, true)).unwrap();
            }
        }
        other => prepared(bridge, other),
    });
    let seen = server.requests();
    let find = |path: &str| seen.iter().find(|one| one.line.contains(path)).unwrap();
    assert_eq!(content(find("/_bulk")), b"{\"index\":{}}\n{\"n\":1}\n");
    assert_eq!(
        (content(find("/plain")).as_slice(), find("/own").body.as_slice()),
        (&b"some text"[..], &b"own text"[..])
    );
    assert!(find("/_bulk").body.starts_with(&[0x1f, 0x8b]) && find("/plain").body.starts_with(&[0x1f, 0x8b]));
    assert_eq!(finished.task("bulk").content_out, 21);
    assert_eq!(finished.task("own").content_out, 17);
}

#[test]
fn bytes_after_a_response_fail_the_request_and_are_counted() {
    let server = Server::start(|_, _| [success_response(), b"{}".to_vec()].concat());
    let result = run(&plan(server.port, &[request_task("search", 1, 3)])).task("search").clone();
    let groups: Vec<_> = result.errors.iter().map(|group| (&group.error_class[..], group.count)).collect();
    assert_eq!(groups, [("protocol", 3)]);
    assert_eq!((result.unsolicited.arrivals, result.unsolicited.bytes), (3, 6));
}

#[test]
fn bytes_of_a_failed_request_are_counted() {
    let server =
        Server::start(|_, _| Answer::from(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec()).then(End::Close));
    let result = run(&plan(server.port, &[request_task("search", 1, 1)])).task("search").clone();
    let seen = &server.requests()[0];
    assert_eq!((result.bytes_out, result.bytes_in), (seen.bytes as u64, 27));
    assert_eq!((result.content_in, result.errors[0].error_class.as_str()), (0, "reset"));
}
