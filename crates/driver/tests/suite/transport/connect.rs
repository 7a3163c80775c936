//! Connecting: proxies, hosts with several addresses, and closed connections.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use pacenote_driver::transport::Endpoint;
use pacenote_driver::{PythonBridge, PythonEvent};
use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};

use super::certificates::{Authority, ClientAuth, path_text, server_config};
use super::proxy::Proxy;
use super::runtime;
use crate::support::python::{get, prepared, race, runner_task, success};
use crate::support::server::{Answer, End, Handshake, response_with};
use crate::support::{Server, plan, request_task, run, success_response};

const TUNNEL: &str = "HTTP/1.1 200 Connection established\r\nx-proxy: yes\r\n\r\n";

/// Builds a plan whose host has a name that only its proxy can resolve.
fn plan_with_proxy(proxy_scheme: &str, proxy_port: u16, host_scheme: &str, ca: &str) -> Value {
    let mut plan = plan(9200, &[request_task("search", 1, 3)]);
    let host = &mut plan["target"]["hosts"][0];
    host["scheme"] = host_scheme.into();
    host["host"] = "es.invalid".into();
    let authorization = "Basic cGFjZTpub3Rl";
    host["proxy"] = json!({"scheme": proxy_scheme, "host": "127.0.0.1", "port": proxy_port,
                           "authorization": authorization});
    plan["target"]["tls"]["ca_file"] = ca.into();
    plan
}

#[test]
fn a_proxy_receives_plain_requests_in_absolute_form_with_and_without_tls() {
    let authority = Authority::new("ours");
    let plain = Server::start(|_, _| Some(success_response()));
    let config = server_config(&authority.server(&["127.0.0.1"]), &[&TLS13], ClientAuth::None);
    let tls = Server::start_tls(config);
    for (scheme, port) in [("http", plain.port), ("https", tls.port)] {
        let race = run(&plan_with_proxy(scheme, port, "http", &path_text(&authority.file())));
        assert_eq!((race.task("search").operation_totals.succeeded, &race.summary.error), (3, &None));
    }
    for seen in plain.requests().iter().chain(&tls.requests()) {
        assert_eq!(seen.line, "GET http://es.invalid:9200/_search HTTP/1.1");
        for header in ["host: es.invalid:9200", "proxy-authorization: Basic cGFjZTpub3Rl", "x-test: yes"] {
            assert!(seen.headers.iter().any(|one| one == header), "{header}: {:?}", seen.headers);
        }
    }
}

#[test]
fn requests_in_a_tls_tunnel_have_no_headers_for_the_proxy() {
    let authority = Authority::new("ours");
    let ca = path_text(&authority.file());
    let issued = authority.server(&["es.invalid"]);
    let server = Server::start_tls(server_config(&issued, &[&TLS12, &TLS13], ClientAuth::None));
    let proxy_config = server_config(&authority.server(&["127.0.0.1"]), &[&TLS13], ClientAuth::None);
    let proxies = [
        ("http", Proxy::start(TUNNEL, server.port, None)),
        ("https", Proxy::start(TUNNEL, server.port, Some(proxy_config))),
    ];
    for (scheme, proxy) in &proxies {
        let race = run(&plan_with_proxy(scheme, proxy.port, "https", &ca));
        assert_eq!(
            (race.task("search").operation_totals.succeeded, &race.summary.error),
            (3, &None),
            "{scheme}"
        );
        let requests = proxy.requests();
        assert_eq!(requests.len(), 1);
        let start = "CONNECT es.invalid:9200 HTTP/1.1\r\nhost: es.invalid:9200\r\n";
        assert!(requests[0].starts_with(start), "{requests:?}");
        assert!(requests[0].contains("\r\nproxy-authorization: Basic cGFjZTpub3Rl\r\n"), "{requests:?}");
    }
    let expected = Handshake { server_name: Some("es.invalid".into()), has_client_certificate: false };
    assert_eq!(server.handshakes(), [expected.clone(), expected]);
    for seen in &server.requests() {
        assert_eq!(seen.line, "GET /_search HTTP/1.1");
        assert!(!seen.headers.iter().any(|header| header.starts_with("proxy")), "{:?}", seen.headers);
    }
}

#[test]
fn an_error_from_a_proxy_contains_its_address_and_no_secret() {
    let authority = Authority::new("ours");
    let ca = path_text(&authority.file());
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
        let mut plan = plan_with_proxy("http", port, "https", &ca);
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
fn clients_are_spread_over_the_addresses_of_a_host_and_skip_those_that_refuse_connections() {
    let listeners: Vec<TcpListener> =
        (1..=3).map(|last| TcpListener::bind(format!("127.0.0.{last}:0")).unwrap()).collect();
    let addresses: Vec<_> = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
    let runtime = runtime();
    let connect = |addresses: &[std::net::SocketAddr], client: usize| {
        let endpoint = Endpoint::plain(addresses.to_vec());
        let deadline = Instant::now() + Duration::from_mins(1);
        runtime.block_on(endpoint.connect(client, deadline)).map(drop)
    };
    for client in 0..6 {
        connect(&addresses, client).unwrap();
        // This blocks forever if the client has connected to a different address.
        listeners[client % 3].accept().unwrap();
    }
    let mut listeners = listeners;
    drop(listeners.remove(1));
    connect(&addresses, 1).unwrap();
    listeners[1].accept().unwrap();
    drop(listeners);
    let error = connect(&addresses, 2).unwrap_err().to_string();
    assert!(error.starts_with("Connection refused"), "{error}");
}

#[test]
fn a_closed_connection_is_reopened_but_a_failed_request_is_not_repeated() {
    // The server closes the connection after each response, and requests are far apart, so most closes are detected
    // before the next request.
    let server =
        Server::start(|_, _| Answer::from(response_with(200, "", b"{\"took\": 1}")).then(End::Close));
    let mut task = request_task("search", 1, 20);
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 0.02});
    let result = run(&plan(server.port, &[task])).task("search").clone();
    let accounting = result.operation_totals;
    assert_eq!(server.requests().len() as u64, accounting.succeeded);
    assert_eq!(accounting.reconnects + 1, server.accepted().len() as u64);
    assert!(accounting.reconnects >= 10, "{accounting:?}");
    assert!(result.errors.iter().all(|error| error.error_class == "reset"), "{:?}", result.errors);

    // A reset while a request waits for its response is an error, and the next request opens a new connection.
    let server = Server::start(|_, before| match before % 3 {
        2 => Answer::silence().then(End::Reset),
        _ => Answer::from(success_response()),
    });
    let result = run(&plan(server.port, &[request_task("search", 1, 9)])).task("search").clone();
    let accounting = result.operation_totals;
    assert_eq!((accounting.succeeded, accounting.failed, accounting.reconnects), (6, 3, 2));
    assert_eq!((server.requests().len(), server.accepted().len()), (9, 3));
    assert_eq!((result.errors.len(), result.errors[0].error_class.as_str()), (1, "reset"));

    // Connections that were closed in the previous step are reopened before the clock starts, and no task counts them
    // as reconnects.
    let server = Server::start(|_, _| Answer::from(success_response()).then(End::Close));
    let race = run(&plan(server.port, &[request_task("one", 2, 1), request_task("two", 2, 1)]));
    assert_eq!(
        (race.task("one").operation_totals.reconnects, race.task("one").operation_totals.failed),
        (0, 0)
    );
}

#[test]
fn the_time_in_which_requests_wait_for_a_connection_is_added_up() {
    let waited = |headers: &'static str| {
        let server = Server::start(move |_, _| response_with(200, headers, b"{\"took\": 1}"));
        let result = run(&plan(server.port, &[request_task("search", 2, 20)])).task("search").clone();
        assert_eq!(result.operation_totals.succeeded, 40);
        let connecting_s = result.connecting_s;
        assert!(connecting_s < 2.0 * result.duration_s, "{connecting_s} s in {} s", result.duration_s);
        connecting_s > 0.0
    };
    assert_eq!((waited("connection: close\r\n"), waited("")), (true, false));
}

#[test]
fn requests_of_a_runner_that_wait_for_a_connection_are_included() {
    let server = Server::start(|_, _| response_with(200, "connection: close\r\n", b"{\"took\": 1}"));
    let (mut query, mut requests_left) = (0, 2);
    let send = |bridge: &PythonBridge, query| {
        assert!(bridge.request(Some(query), "default", get("/_search")).is_ok());
    };
    let finished = race(&plan(server.port, &[runner_task("run")]), move |bridge, event| match event {
        PythonEvent::RunOperation { query_id, .. } => {
            query = *query_id;
            send(bridge, query);
        }
        PythonEvent::ResponseReceived(_) => {
            requests_left -= 1;
            if requests_left == 0 {
                bridge.complete(query, success(1, true)).unwrap();
            } else {
                send(bridge, query);
            }
        }
        other => prepared(bridge, other),
    });
    let result = finished.task("run");
    assert_eq!((result.operation_totals.requests, result.operation_totals.reconnects), (2, 1));
    assert!(result.connecting_s > 0.0);
}

#[test]
fn an_address_that_does_not_respond_leaves_time_for_the_next() {
    let connected = runtime().block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let full = socket.listen(1).unwrap();
        let silent = full.local_addr().unwrap();
        // Connections that are never accepted fill the backlog; later attempts get no response.
        let mut waiting = Vec::new();
        while let Ok(stream) =
            tokio::time::timeout(Duration::from_millis(300), tokio::net::TcpStream::connect(silent)).await
        {
            waiting.push(stream.unwrap());
            assert!(waiting.len() < 64);
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::plain(vec![silent, listener.local_addr().unwrap()]);
        let deadline = Instant::now() + Duration::from_secs(1);
        endpoint.connect(0, deadline).await.map(drop)
    });
    connected.unwrap();
}
