//! Clusters with several hosts: clients send their requests to the hosts in turn, and a host that fails is set aside
//! and tried again.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use pacenote_driver::{HostSummary, PythonEvent, StopLevel};
use pacenote_record::{EndedBy, TaskResult};
use serde_json::{Value, json};

use crate::support::python::{get, prepared, race, runner_task, success};
use crate::support::server::{ClosedPort, Options};
use crate::support::{Finished, Server, plan, request, request_task, run, run_with, success_response};

/// Builds a plan for a cluster with a host on each of these ports.
fn plan_for(ports: &[u16], tasks: &[Value]) -> Value {
    let mut plan = plan(ports[0], tasks);
    let host = plan["target"]["hosts"][0].clone();
    plan["target"]["hosts"] = ports
        .iter()
        .map(|port| {
            let mut host = host.clone();
            host["port"] = (*port).into();
            host
        })
        .collect();
    plan
}

fn servers(number: usize) -> Vec<Server> {
    (0..number).map(|_| Server::start(|_, _| success_response())).collect()
}

fn ports(servers: &[Server]) -> Vec<u16> {
    servers.iter().map(|server| server.port).collect()
}

fn summary_of(race: &Finished, port: u16) -> &HostSummary {
    let host = format!("127.0.0.1:{port}");
    race.summary.hosts.iter().find(|summary| summary.host == host).expect("the host is in the summary")
}

fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn one_client_sends_its_requests_to_all_hosts_in_turn() {
    let servers = servers(3);
    let race = run(&plan_for(&ports(&servers), &[request_task("search", 1, 30)]));
    for server in &servers {
        assert_eq!(server.requests().len(), 10);
        let summary = summary_of(&race, server.port);
        assert_eq!((summary.cluster.as_str(), summary.requests), ("default", 10));
        assert_eq!((summary.connection_failures, summary.set_aside), (0, 0));
    }
}

#[test]
fn all_requests_of_an_operation_take_their_turn() {
    let servers = servers(2);
    let mut task = request_task("pair", 1, 5);
    task["work"]["calls"] = json!([request("GET", "/first"), request("GET", "/second")]);
    run(&plan_for(&ports(&servers), &[task]));
    let lines = |server: &Server| server.requests().iter().map(|one| one.line.clone()).collect::<Vec<_>>();
    assert_eq!(lines(&servers[0]), ["GET /first HTTP/1.1"; 5]);
    assert_eq!(lines(&servers[1]), ["GET /second HTTP/1.1"; 5]);
}

#[test]
fn each_client_has_a_connection_to_each_host_before_it_needs_one() {
    let servers = servers(2);
    // Each client sends one request, so it uses only one of its connections.
    run(&plan_for(&ports(&servers), &[request_task("search", 4, 1)]));
    for server in &servers {
        assert_eq!(server.requests().len(), 2);
        wait_until(|| server.accepted().len() == 4);
    }
}

#[test]
fn a_host_that_is_down_from_the_beginning_is_left_out() {
    let (server, closed) = (Server::start(|_, _| success_response()), ClosedPort::bind());
    let race = run(&plan_for(&[closed.port, server.port], &[request_task("search", 2, 20)]));
    assert_eq!((race.summary.aborted.as_ref(), race.summary.error.as_ref()), (None, None));
    let totals = &race.task("search").operation_totals;
    assert_eq!((totals.succeeded, totals.failed, server.requests().len()), (40, 0, 40));
    let summary = summary_of(&race, closed.port);
    assert_eq!((summary.requests, summary.set_aside), (0, 2));
    assert!(summary.connection_failures >= 2, "{summary:?}");
}

#[test]
fn a_host_that_is_killed_is_left_out_until_it_is_back() {
    let servers = servers(2);
    let (kept, ports) = (&servers[0], ports(&servers));
    let mut task = request_task("search", 2, 1);
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 0.005});
    task["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": 600.0});
    let race = run_with(&plan_for(&ports, &[task]), |race| {
        wait_until(|| servers[1].requests().len() > 3);
        servers[1].kill();
        let before = kept.requests().len();
        wait_until(|| kept.requests().len() > before + 10);
        let options = Options { port: ports[1], ..Options::default() };
        let back = Server::bind(options, |_, _| success_response());
        back.open();
        wait_until(|| back.requests().len() > 3);
        race.stop(StopLevel::Finish);
    });
    assert_eq!((race.summary.aborted.as_ref(), race.summary.stopped), (None, true));
    let result = race.task("search");
    assert!((1..=4).contains(&result.operation_totals.failed), "{:?}", result.errors);
    let killed = summary_of(&race, ports[1]);
    assert!(killed.set_aside >= 2 && killed.requests > 3, "{killed:?}");
    assert_eq!(summary_of(&race, ports[0]).set_aside, 0);
}

#[test]
fn a_race_ends_when_no_host_is_left() {
    let servers = servers(2);
    let ports = ports(&servers);
    let race = run_with(&plan_for(&ports, &[request_task("search", 2, 100_000_000)]), |_| {
        wait_until(|| servers[0].requests().len() > 10);
        servers.iter().for_each(Server::kill);
    });
    let why = race.summary.aborted.clone().unwrap();
    let hosts = format!("127.0.0.1:{}, 127.0.0.1:{} ", ports[0], ports[1]);
    assert!(why.starts_with(&hosts), "{why}");
    assert_eq!(race.task("search").ended_by, EndedBy::Aborted);
}

#[test]
fn a_race_whose_hosts_are_all_down_does_not_start() {
    let closed = [ClosedPort::bind(), ClosedPort::bind()];
    let race = run(&plan_for(&closed.each_ref().map(|closed| closed.port), &[request_task("search", 2, 20)]));
    let why = race.summary.error.unwrap();
    assert!(why.starts_with("cannot connect to 127.0.0.1:"), "{why}");
    assert!(closed.iter().all(|closed| why.contains(&closed.port.to_string())), "{why}");
}

#[test]
fn the_requests_of_a_runner_take_their_turn_and_leave_out_a_host_that_is_down() {
    let (server, closed) = (Server::start(|_, _| success_response()), ClosedPort::bind());
    let mut requests_left = 8;
    let finished =
        race(&plan_for(&[server.port, closed.port], &[runner_task("run")]), move |bridge, event| {
            prepared(bridge, event);
            match event {
                PythonEvent::RunOperation { query_id, .. } => {
                    assert!(bridge.request(Some(*query_id), "default", get("/_search")).is_ok());
                    requests_left -= 1;
                    bridge.complete(*query_id, success(1, requests_left == 0)).unwrap();
                }
                PythonEvent::RequestFailed { reason, .. } => panic!("{reason}"),
                _ => {}
            }
        });
    assert_eq!((finished.summary.aborted.as_ref(), finished.summary.error.as_ref()), (None, None));
    assert_eq!(finished.task("run").operation_totals.succeeded, 8);
    assert!(summary_of(&finished, closed.port).connection_failures >= 1);
}

/// Runs two operations that send one request to each of two hosts. Before the second host responds, the first one sends
/// `data` that no request asked for.
fn with_unsolicited(data: &'static [u8]) -> TaskResult {
    let first = Arc::new(Server::start(|_, _| success_response()));
    let sender = Arc::clone(&first);
    let second = Server::start(move |_, _| {
        let mut socket = &*sender.socket(sender.accepted().len() - 1);
        socket.write_all(data).unwrap();
        success_response()
    });
    let mut task = request_task("search", 1, 2);
    task["work"]["calls"] = json!([request("GET", "/_search"), request("GET", "/_search")]);
    let race = run(&plan_for(&[first.port, second.port], &[task]));
    let result = race.task("search").clone();
    assert_eq!((result.operation_totals.succeeded, result.operation_totals.requests), (2, 4));
    assert_eq!(result.operation_totals.reconnects, 1);
    result
}

#[test]
fn data_that_no_request_asked_for_is_counted_also_after_the_last_request() {
    let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    let counted = with_unsolicited(reply).unsolicited;
    assert_eq!((counted.arrivals, counted.bytes), (2, 2 * reply.len() as u64));
    assert_eq!(with_unsolicited(b"x").unsolicited.bytes, 2);
    // With this status, a server announces that it closes an idle connection.
    let counted = with_unsolicited(b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n").unsolicited;
    assert_eq!((counted.arrivals, counted.bytes), (0, 0));
}
