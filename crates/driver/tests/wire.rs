//! What crosses the wire: bytes, compressed bodies, proxies, addresses, connections opened again.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

#[path = "support/proxy.rs"]
mod proxy;
mod support;
#[path = "support/tls.rs"]
mod tls;

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use pacenote_driver::LaneEvent;
use pacenote_driver::transport::Endpoint;
use pacenote_record::TaskResult;
use proxy::Proxy;
use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};
use support::lane::{get, lane_task, prepared, race, success, supplied_task};
use support::server::{Answer, End, framed};
use support::{Seen, Server, bulk_task, good, plan, request, request_task, run};
use tls::{Asks, Authority, TlsServer, config, text};

const TUNNEL: &str = "HTTP/1.1 200 Connection established\r\nx-proxy: yes\r\n\r\n";

/// The body of a request, decompressed if it says that it is compressed.
fn content(seen: &Seen) -> Vec<u8> {
    if !seen.headers.contains(&"content-encoding: gzip".to_owned()) {
        return seen.body.clone();
    }
    let mut body = Vec::new();
    GzDecoder::new(seen.body.as_slice()).read_to_end(&mut body).unwrap();
    body
}

/// A file of documents that compress as documents do.
fn documents(folder: &Path, count: u64) -> std::path::PathBuf {
    let path = folder.join("docs.json");
    let line =
        |n: u64| format!("{{\"n\": {n}, \"name\": \"document number {n}\", \"tags\": [\"a\", \"b\"]}}\n");
    fs::write(&path, (0..count).map(line).collect::<String>()).unwrap();
    path
}

/// Every document once, each behind its action line.
fn assert_whole(requests: &[Seen], count: usize) {
    let bodies: Vec<u8> = requests.iter().flat_map(content).collect();
    let lines: Vec<&str> = std::str::from_utf8(&bodies).unwrap().lines().collect();
    assert!(lines.iter().step_by(2).all(|line| *line == r#"{"index":{"_index":"logs"}}"#));
    let posted: BTreeSet<&str> = lines.iter().skip(1).step_by(2).copied().collect();
    assert_eq!((lines.len(), posted.len()), (2 * count, count));
}

#[test]
fn recorded_bytes_are_those_that_crossed_the_socket() {
    let folder = tempfile::tempdir().unwrap();
    let file = documents(folder.path(), 5000);
    let authority = Authority::new("ours");
    let vouched = authority.server(&["127.0.0.1"]);
    let mut tasks = [bulk_task("index", 3, &file, 5000)];
    tasks[0]["work"]["bulk_size"] = 1500.into();
    let race = |port: u16, scheme: &str, compress: bool| -> TaskResult {
        let mut plan = plan(port, &tasks);
        plan["target"]["compress"] = compress.into();
        plan["target"]["hosts"][0]["scheme"] = scheme.into();
        plan["target"]["tls"]["ca_file"] = text(&authority.file()).into();
        run(&plan).task("index").clone()
    };
    let mut out = Vec::new();
    for compress in [false, true] {
        let server = Server::start(|_, _| Some(good()));
        let result = race(server.port, "http", compress);
        let seen = server.seen();
        let (came, went): (usize, usize) =
            (seen.iter().map(|one| one.bytes).sum(), seen.iter().map(|one| one.bytes_back).sum());
        assert_wire(&result, (came as u64, went as u64), &seen);
        out.push(result.bytes_out);
        for version in [&TLS12, &TLS13] {
            let server = TlsServer::start(config(&vouched, &[version], Asks::Nothing));
            let result = race(server.port, "https", compress);
            let log = server.log();
            assert_wire(&result, (log.bytes_in, log.bytes_out), &log.seen);
            out.push(result.bytes_out);
        }
    }
    let [plain, plain_12, plain_13, packed, packed_12, packed_13] = out[..] else { panic!("{out:?}") };
    // Records of TLS are a matter of some per mille, compressing is one of factors; in this order both pay.
    assert!(plain < plain_12.min(plain_13) && plain_12.max(plain_13) < plain + plain / 50, "{out:?}");
    assert!(packed < packed_12.min(packed_13) && packed_12.max(packed_13) < plain / 3, "{out:?}");
}

/// A bulk task is what the server saw: bytes in and out, bodies, documents.
fn assert_wire(result: &TaskResult, wire: (u64, u64), seen: &[Seen]) {
    assert_whole(seen, 5000);
    assert_eq!((result.work.done, result.accounting.requests), (5000, seen.len() as u64));
    assert_eq!((result.bytes_out, result.bytes_in), wire);
    let sent: usize = seen.iter().map(|one| content(one).len()).sum();
    assert_eq!(result.content_out, sent as u64);
    let reply = good().len() - good().windows(4).position(|end| end == b"\r\n\r\n").unwrap() - 4;
    assert_eq!(result.content_in, (seen.len() * reply) as u64);
}

#[test]
fn documents_that_are_sent_again_are_compressed_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = documents(folder.path(), 4);
    let server = Server::start(|seen, before| {
        let full = json!({"index": {"status": 429, "error": {"type": "full", "reason": "no room"}}});
        let item = |n: usize| {
            if before == 0 && n.is_multiple_of(2) { full.clone() } else { json!({"index": {"status": 201}}) }
        };
        let documents = String::from_utf8(content(seen)).unwrap().lines().count() / 2;
        let items: Vec<Value> = (0..documents).map(item).collect();
        Some(support::reply(200, &json!({"took": 1, "errors": before == 0, "items": items})))
    });
    let mut task = bulk_task("index", 1, &file, 4);
    task["work"]["retries_on_429"] = 1.into();
    let mut plan = plan(server.port, &[task]);
    plan["target"]["compress"] = true.into();
    let result = run(&plan).task("index").clone();
    assert_eq!((result.work.done, result.work.failed, result.accounting.requests), (4, 0, 2));
    let seen = server.seen();
    let numbers = |seen: &Seen| -> Vec<u64> {
        let body = content(seen);
        let lines = std::str::from_utf8(&body).unwrap().lines().skip(1).step_by(2);
        lines.map(|line| serde_json::from_str::<Value>(line).unwrap()["n"].as_u64().unwrap()).collect()
    };
    assert_eq!([numbers(&seen[0]), numbers(&seen[1])], [vec![0, 1, 2, 3], vec![0, 2]]);
    let sent: usize = seen.iter().map(|one| content(one).len()).sum();
    assert_eq!(result.content_out, sent as u64);
}

#[test]
fn every_body_is_compressed_whoever_made_it_and_none_that_is_not_there() {
    let server = Server::start(|seen, before| {
        let last = seen.line.contains("scroll") && before > 2;
        let hits: Vec<Value> = if last { vec![] } else { vec![json!({"_id": "x"})] };
        Some(support::reply(200, &json!({"_scroll_id": "next/id", "took": 1, "hits": {"hits": hits}})))
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
    let seen = server.seen();
    let query = "{\"query\":{\"match_all\":{}}}";
    let expected =
        ["", query, query, "{\"scroll\":\"1m\",\"scroll_id\":\"next/id\"}", "{\"scroll_id\":[\"next/id\"]}"];
    let bodies: Vec<String> = seen.iter().map(|one| String::from_utf8(content(one)).unwrap()).collect();
    assert_eq!(bodies, expected);
    let packed = |one: &Seen| one.headers.contains(&"content-encoding: gzip".to_owned());
    assert_eq!(seen.iter().map(packed).collect::<Vec<_>>(), [false, true, true, true, true]);
    let (sent, whole): (usize, usize) =
        (bodies.iter().map(String::len).sum(), seen.iter().map(|one| one.bytes).sum());
    assert_eq!((result.content_out, result.bytes_out), (sent as u64, whole as u64));
    assert_eq!((result.accounting.failed, result.accounting.requests), (0, 5));
}

#[test]
fn what_python_sends_is_compressed_unless_it_says_how_it_is_coded() {
    let server = Server::start(|_, _| Some(good()));
    let supply = json!({"kind": "bulk", "path": "/_bulk", "headers": [["content-type", "application/x-ndjson"]],
                        "documents": 1, "timeout_ms": null});
    let mut plan = plan(server.port, &[supplied_task("bulk", 4), lane_task("own")]);
    plan["target"]["compress"] = true.into();
    let (mut token_of_run, mut replies) = (0, 0);
    let finished = race(&plan, move |lane, event| match event {
        LaneEvent::Prepare { step: 0 } => {
            lane.supply((0, 0), &supply.to_string(), Some(b"{\"index\":{}}\n{\"n\":1}\n".to_vec())).unwrap();
            lane.end((0, 0), None).unwrap();
            lane.prepared(0, None);
        }
        LaneEvent::Run { token, .. } => {
            token_of_run = *token;
            let request = |target: &str, coding: &[(&str, &str)], body: &[u8]| {
                let headers = coding.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
                let request =
                    pacenote_driver::LaneRequest { headers, body: Some(body.to_vec()), ..get(target) };
                lane.request(Some((1, 0)), "default", request).unwrap();
            };
            request("/plain", &[], b"some text");
            request("/own", &[("Content-Encoding", "identity")], b"own text");
        }
        LaneEvent::Reply { .. } => {
            replies += 1;
            if replies == 2 {
                lane.done(token_of_run, &success(1, true)).unwrap();
            }
        }
        other => prepared(lane, other),
    });
    let seen = server.seen();
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

/// A plan whose host nobody can look up but a proxy.
fn through(proxy: (&str, u16), host: (&str, u16), ca: &str) -> Value {
    let mut plan = plan(host.1, &[request_task("search", 1, 3)]);
    let host_of = &mut plan["target"]["hosts"][0];
    host_of["scheme"] = host.0.into();
    host_of["host"] = "es.invalid".into();
    let authorization = "Basic cGFjZTpub3Rl";
    host_of["proxy"] =
        json!({"scheme": proxy.0, "host": "127.0.0.1", "port": proxy.1, "authorization": authorization});
    plan["target"]["tls"]["ca_file"] = ca.into();
    plan
}

#[test]
fn a_proxy_is_handed_plain_requests_whole_over_tls_too() {
    let authority = Authority::new("ours");
    let plain = Server::start(|_, _| Some(good()));
    let tls = TlsServer::start(config(&authority.server(&["127.0.0.1"]), &[&TLS13], Asks::Nothing));
    for (scheme, port) in [("http", plain.port), ("https", tls.port)] {
        let race = run(&through((scheme, port), ("http", 9200), &text(&authority.file())));
        assert_eq!((race.task("search").accounting.succeeded, &race.summary.error), (3, &None));
    }
    for seen in plain.seen().iter().chain(&tls.log().seen) {
        assert_eq!(seen.line, "GET http://es.invalid:9200/_search HTTP/1.1");
        for header in ["host: es.invalid:9200", "proxy-authorization: Basic cGFjZTpub3Rl", "x-test: yes"] {
            assert!(seen.headers.iter().any(|one| one == header), "{header}: {:?}", seen.headers);
        }
    }
}

#[test]
fn tls_goes_through_a_tunnel_in_which_no_request_tells_the_proxy_anything() {
    let authority = Authority::new("ours");
    let ca = text(&authority.file());
    let server =
        TlsServer::start(config(&authority.server(&["es.invalid"]), &[&TLS12, &TLS13], Asks::Nothing));
    let own = config(&authority.server(&["127.0.0.1"]), &[&TLS13], Asks::Nothing);
    let proxies = [
        ("http", Proxy::start(TUNNEL, server.port, None)),
        ("https", Proxy::start(TUNNEL, server.port, Some(own))),
    ];
    for (scheme, proxy) in &proxies {
        let race = run(&through((scheme, proxy.port), ("https", 9200), &ca));
        assert_eq!((race.task("search").accounting.succeeded, &race.summary.error), (3, &None), "{scheme}");
        let asked = proxy.asked();
        assert_eq!(asked.len(), 1);
        assert!(
            asked[0].starts_with("CONNECT es.invalid:9200 HTTP/1.1\r\nhost: es.invalid:9200\r\n"),
            "{asked:?}"
        );
        assert!(asked[0].contains("\r\nproxy-authorization: Basic cGFjZTpub3Rl\r\n"), "{asked:?}");
    }
    let log = server.log();
    assert_eq!(log.greeted, [(Some("es.invalid".into()), false), (Some("es.invalid".into()), false)]);
    for seen in &log.seen {
        assert_eq!(seen.line, "GET /_search HTTP/1.1");
        assert!(!seen.headers.iter().any(|header| header.starts_with("proxy")), "{:?}", seen.headers);
    }
}

#[test]
fn a_proxy_that_leads_nowhere_is_named_and_its_secret_is_not() {
    let authority = Authority::new("ours");
    let ca = text(&authority.file());
    let answers = [
        ("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n", "status 407"),
        ("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy", "status 503"),
        ("SSH-2.0-x\r\n\r\n", "its response to CONNECT is not HTTP/1.1"),
        ("HTTP/1.1 200 OK\r\n\r\nand more", "its response to CONNECT is not HTTP/1.1"),
        ("", "it closed the connection instead of opening a tunnel"),
    ];
    let mut cases: Vec<(u16, &str)> =
        answers.iter().map(|(answer, said)| (Proxy::start(answer, 1, None).port, *said)).collect();
    cases.push((1, "Connection refused"));
    for (port, said) in cases {
        let mut plan = through(("http", port), ("https", 9200), &ca);
        plan["driver"]["on_error"] = "continue-on-network".into();
        plan["tasks"][0]["bound"]["measured"] = 1.into();
        let race = run(&plan);
        let error = &race.task("search").errors[0];
        assert_eq!((error.error_class.as_str(), error.count), ("connect", 1), "{error:?}");
        assert!(error.reason.starts_with(&format!("proxy 127.0.0.1:{port}: ")), "{}", error.reason);
        assert!(error.reason.contains(said) && !error.reason.contains("cGFjZ"), "{}", error.reason);
    }
}

#[test]
fn clients_take_the_addresses_of_a_host_in_turn_and_the_next_where_one_refuses() {
    let listeners: Vec<TcpListener> =
        (1..=3).map(|last| TcpListener::bind(format!("127.0.0.{last}:0")).unwrap()).collect();
    let addresses: Vec<_> = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dialed = |addresses: &[std::net::SocketAddr], client: usize| {
        let endpoint = Endpoint::plain(addresses.to_vec());
        let deadline = Instant::now() + Duration::from_mins(1);
        runtime.block_on(endpoint.connect(client, deadline)).map(drop)
    };
    for client in 0..6 {
        dialed(&addresses, client).unwrap();
        // Whoever was not asked would wait here for ever.
        listeners[client % 3].accept().unwrap();
    }
    let mut listeners = listeners;
    drop(listeners.remove(1));
    dialed(&addresses, 1).unwrap();
    listeners[1].accept().unwrap();
    drop(listeners);
    let error = dialed(&addresses, 2).unwrap_err().to_string();
    assert!(error.starts_with("Connection refused"), "{error}");
}

#[test]
fn connections_are_opened_again_before_a_request_and_never_for_one_that_broke() {
    // Closed without a word between requests that are far apart: most are found closed before anything is sent.
    let server = Server::start(|_, _| Answer::from(framed(200, "", b"{\"took\": 1}")).then(End::Close));
    let mut task = request_task("search", 1, 20);
    task["pace"] = json!({"kind": "deterministic", "interval_s": 0.02});
    let result = run(&plan(server.port, &[task])).task("search").clone();
    let accounting = result.accounting;
    assert_eq!(server.seen().len() as u64, accounting.succeeded);
    assert_eq!(accounting.reconnects + 1, server.accepted().len() as u64);
    assert!(accounting.reconnects >= 10, "{accounting:?}");
    assert!(result.errors.iter().all(|error| error.error_class == "reset"), "{:?}", result.errors);

    // Torn down while a request waits for its reply: an error each, and a new connection for the next request.
    let server = Server::start(|_, before| match before % 3 {
        2 => Answer::silence().then(End::Reset),
        _ => Answer::from(good()),
    });
    let result = run(&plan(server.port, &[request_task("search", 1, 9)])).task("search").clone();
    let accounting = result.accounting;
    assert_eq!((accounting.succeeded, accounting.failed, accounting.reconnects), (6, 3, 2));
    assert_eq!((server.seen().len(), server.accepted().len()), (9, 3));
    assert_eq!((result.errors.len(), result.errors[0].error_class.as_str()), (1, "reset"));

    // Connections of the step before are looked after before its clock starts, and are no task's.
    let server = Server::start(|_, _| Answer::from(good()).then(End::Close));
    let race = run(&plan(server.port, &[request_task("one", 2, 1), request_task("two", 2, 1)]));
    assert_eq!((race.task("one").accounting.reconnects, race.task("one").accounting.failed), (0, 0));
}

#[test]
fn what_leaves_of_a_request_that_breaks_is_counted() {
    let server =
        Server::start(|_, _| Answer::from(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec()).then(End::Close));
    let result = run(&plan(server.port, &[request_task("search", 1, 1)])).task("search").clone();
    let seen = &server.seen()[0];
    assert_eq!((result.bytes_out, result.bytes_in), (seen.bytes as u64, 27));
    assert_eq!((result.content_in, result.errors[0].error_class.as_str()), (0, "reset"));
}
