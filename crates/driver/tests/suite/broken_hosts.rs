//! Hosts that go down and connections that break: the race continues or ends in an orderly way, and reports what
//! happened.

use std::fs;
use std::time::{Duration, Instant};

use pacenote_driver::{Race, StopLevel};
use pacenote_record::{DurationSummary, EndedBy};
use serde_json::{Value, json};

use crate::support::server::{Answer, End, Options, response_with};
use crate::support::{
    Finished, Server, bulk_task, json_response, plan, request_task, run, run_with, success_response,
};

/// How long a race takes if it does not detect that a host is down, in seconds: far longer than any test.
const LONG_S: f64 = 600.0;

fn sleep_task(name: &str, seconds: f64) -> Value {
    let mut task = request_task(name, 1, 1);
    task["work"] = json!({"kind": "sleep", "seconds": seconds});
    task
}

/// Kills the server once it has received `requests` requests.
fn kill_after_requests(server: &Server, requests: usize) {
    while server.requests().len() < requests {
        std::thread::sleep(Duration::from_millis(2));
    }
    server.kill();
}

#[test]
fn a_host_that_is_killed_under_load_ends_the_race_and_its_results_are_kept() {
    let server = Server::start(|_, _| success_response());
    let tasks = [request_task("first", 2, 20), request_task("second", 2, 100_000_000)];
    let race = run_with(&plan(server.port, &tasks), |_| kill_after_requests(&server, 100));
    let why = race.summary.aborted.as_ref().unwrap();
    assert!(
        why.starts_with(&format!("127.0.0.1:{} cannot be reached in task second: ", server.port)),
        "{why}"
    );
    assert_eq!(race.task("first").operation_totals.succeeded, 40);
    let second = race.task("second");
    assert_eq!(second.ended_by, EndedBy::Aborted);
    // A client sends its next request when it has the reply to the one before, so each may lack one reply.
    let received = server.requests().len() as u64;
    let answered = 40 + second.operation_totals.succeeded;
    assert!(received >= 100 && (answered..=answered + 2).contains(&received), "{received} {second:?}");
    assert_eq!(
        race.samples.len() as u64,
        40 + second.operation_totals.succeeded + second.operation_totals.failed
    );
    assert_eq!(race.summary.samples, race.samples.len() as u64);
    assert!(second.errors.iter().all(|error| ["reset", "connect"].contains(&error.error_class.as_str())));
}

/// Runs a race whose host goes down while its second task sleeps or waits for a due time. Returns the race and how long
/// it took after that.
fn run_and_kill_host(task: &Value, change: impl Fn(&mut Value)) -> (Finished, Duration) {
    let server = Server::start(|_, _| success_response());
    let mut plan = plan(server.port, &[request_task("before", 1, 3), task.clone()]);
    change(&mut plan);
    let mut killed = Instant::now();
    let name = task["name"].as_str().unwrap();
    let race = run_with(&plan, |race| {
        while !race.progress().tasks.iter().any(|task| task.task == name) {
            std::thread::sleep(Duration::from_millis(2));
        }
        server.kill();
        killed = Instant::now();
    });
    (race, killed.elapsed())
}

#[test]
fn a_host_that_is_killed_while_no_request_is_in_flight_is_detected() {
    let mut seldom = request_task("seldom", 1, 2);
    seldom["pacing"] = json!({"kind": "deterministic", "interval_s": LONG_S});
    seldom["ramp_up_s"] = LONG_S.into();
    for task in [sleep_task("nap", LONG_S), seldom] {
        let (race, took) = run_and_kill_host(&task, |_| ());
        assert!(took.as_secs_f64() < LONG_S / 10.0, "{took:?}");
        let why = race.summary.aborted.unwrap();
        assert!(why.starts_with("127.0.0.1:") && why.contains("refused"), "{why}");
        assert_eq!(
            race.tasks.iter().find(|task| task.task == "before").unwrap().operation_totals.succeeded,
            3
        );
    }
}

#[test]
fn a_race_that_continues_on_network_errors_continues_after_its_host_is_killed() {
    let (race, _) = run_and_kill_host(&sleep_task("nap", 0.8), |plan| {
        plan["driver"]["on_error"] = "continue-on-network".into();
    });
    assert_eq!((race.summary.aborted.clone(), race.summary.error.clone()), (None, None));
    assert_eq!(race.task("nap").ended_by, EndedBy::Iterations);
}

#[test]
fn a_task_that_tolerates_errors_continues_after_its_host_is_killed_while_it_is_idle() {
    let mut nap = sleep_task("nap", 0.8);
    nap["tolerates_errors"] = true.into();
    let (race, _) = run_and_kill_host(&nap, |plan| plan["driver"]["on_error"] = "abort".into());
    assert_eq!((race.summary.aborted.clone(), race.summary.error.clone()), (None, None));
    assert_eq!(race.task("nap").ended_by, EndedBy::Iterations);
}

#[test]
fn each_reset_connection_is_one_failure_and_the_race_continues() {
    let server = Server::start(|_, before| match before % 2 {
        0 => Answer::from(success_response()),
        _ => Answer::silence().then(End::Reset),
    });
    let race = run(&plan(server.port, &[request_task("search", 4, 50)]));
    let result = race.task("search");
    assert_eq!((race.summary.aborted.clone(), race.summary.error.clone()), (None, None));
    // No request is sent twice, and every next request finds an open connection.
    assert_eq!((server.requests().len(), result.operation_totals.begun), (200, 200));
    assert_eq!((result.operation_totals.succeeded, result.operation_totals.failed), (100, 100));
    assert_eq!(result.failed_service_time.as_ref().unwrap().count, 100);
    assert_eq!(result.errors.iter().map(|error| error.count).sum::<u64>(), 100);
    assert!(result.errors.iter().all(|error| error.error_class == "reset"), "{:?}", result.errors);
    assert!(server.accepted().len() > 50);
}

/// Starts a server that fails in a different way for each path.
fn failing() -> Server {
    let shards = json!({"took": 1, "timed_out": false, "_shards": {"failed": 2, "failures":
        [{"reason": {"type": "script_exception", "reason": "no such field"}}]}});
    let items: Vec<Value> = (0..7)
        .map(|_| json!({"index": {"status": 400, "error": {"type": "mapping", "reason": "no date"}}}))
        .collect();
    Server::start(move |seen, _| {
        let path = seen.line.split(' ').nth(1).unwrap();
        match path {
            "/status" => {
                json_response(503, &json!({"error": {"type": "unavailable", "reason": "no master"}})).into()
            }
            "/shards" => json_response(200, &shards).into(),
            "/late" => {
                json_response(200, &json!({"took": 9, "timed_out": true, "_shards": {"failed": 0}})).into()
            }
            "/partial" => response_with(200, "", br#"{"took": 1, "is_partial": true, "columns": []}"#).into(),
            "/garbage" => Answer::from(b"SSH-2.0-x\r\n\r\n".to_vec()),
            "/reset" => Answer::silence().then(End::Reset),
            "/never" => Answer::silence(),
            "/_bulk" => json_response(200, &json!({"took": 1, "errors": true, "items": items})).into(),
            _ => Answer::from(success_response()),
        }
    })
}

#[test]
fn failures_are_reported_by_class_with_time_count_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("docs.json");
    fs::write(&file, "{}\n".repeat(7)).unwrap();
    let server = failing();
    let check = |kind: &str| json!({"kind": kind});
    let of = |name: &str, check: Value| {
        let mut task = request_task(name, 1, 2);
        task["work"]["calls"][0]["path"] = format!("/{name}").into();
        task["work"]["calls"][0]["check"] = check;
        task["work"]["calls"][0]["timeout_ms"] = if name == "never" { 50 } else { 5000 }.into();
        task
    };
    let condition = json!({"kind": "condition", "path": "state", "expected": "done"});
    let tasks = [
        of("status", check("status")),
        of("shards", check("search")),
        of("late", check("search")),
        of("partial", check("esql")),
        of("state", condition),
        of("garbage", check("status")),
        of("reset", check("status")),
        of("never", check("status")),
        bulk_task("items", 1, &file, 7),
    ];
    let race = run(&plan(server.port, &tasks));
    let expected = [
        ("status", "http-status", Some(503), 2, "unavailable: no master"),
        ("shards", "shard-failure", Some(200), 2, "script_exception: 2 shards failed: no such field"),
        ("late", "search-timeout", Some(200), 2, "the search timed out in the engine after 9 ms"),
        ("partial", "partial", Some(200), 2, "the response is partial"),
        ("state", "condition", Some(200), 2, "state is null, not done"),
        ("garbage", "protocol", None, 2, ""),
        ("reset", "reset", None, 2, ""),
        ("never", "timeout", None, 2, "no complete response within 0.05 s"),
        ("items", "bulk-item", Some(400), 7, "mapping: no date"),
    ];
    for (task, class, status, count, reason) in expected {
        let result = race.task(task);
        let [error] = &result.errors[..] else { panic!("{task}: {:?}", result.errors) };
        assert_eq!((error.error_class.as_str(), error.status, error.count), (class, status, count), "{task}");
        assert!(error.reason.starts_with(reason) && !error.reason.is_empty(), "{task}: {}", error.reason);
        assert!(error.first_s <= error.last_s && error.last_s <= result.duration_s, "{task}: {error:?}");
    }
}

#[test]
fn the_summary_reports_threads_cpu_time_and_clocks() {
    let server = Server::start(|_, _| success_response());
    let race = run(&plan(server.port, &[request_task("search", 2, 50)]));
    let summary = race.summary;
    let names: Vec<&str> = summary.threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!(names, ["drive-0", "drive-1", "collect", "health", "control"]);
    let used: f64 = summary.threads.iter().map(|thread| thread.cpu_s).sum();
    assert!(0.0 < used && used <= summary.process_cpu_s + 1.0, "{used} of {}", summary.process_cpu_s);
    let counted = fs::read_to_string("/proc/thread-self/schedstat").is_ok();
    assert!(summary.threads.iter().all(|thread| thread.run_queue_s.is_some() == counted));
    // The only step is too short to be reported as the busiest one.
    assert!(summary.threads.iter().all(|thread| thread.busiest.is_none() && thread.delayed.is_none()));
    assert!(summary.clock.read_ns > 0.0 && summary.clock.backward == 0, "{:?}", summary.clock);
}

#[test]
fn a_race_that_is_stopped_twice_drops_operations_and_counts_them_as_unanswered() {
    let server =
        Server::start(
            |_, before| if before < 10 { Answer::from(success_response()) } else { Answer::silence() },
        );
    let stop = |race: &Race| {
        while server.requests().len() < 12 {
            std::thread::sleep(Duration::from_millis(2));
        }
        race.stop(StopLevel::Finish);
        race.stop(StopLevel::Abandon);
    };
    let race =
        run_with(&plan(server.port, &[request_task("search", 2, 1000), sleep_task("after", 1.0)]), stop);
    let accounting = race.task("search").operation_totals;
    assert_eq!((accounting.succeeded, accounting.failed, accounting.unanswered), (10, 0, 2));
    assert_eq!((race.tasks.len(), race.samples.len()), (1, 10));
    assert!(race.summary.stopped && race.summary.aborted.is_none());
}

#[test]
fn the_wait_for_a_connection_that_fails_is_not_lateness_of_the_retry_that_succeeds() {
    let server = Server::bind(Options { backlog: 0, ..Options::default() }, |_, before| {
        let body = br#"{"took":1,"timed_out":false,"_shards":{"failed":0}}"#;
        if before > 0 {
            return Answer::from(response_with(200, "", body));
        }
        Answer::from(response_with(200, "connection: close\r\n", body)).then(End::Shut)
    });
    server.open();
    let mut task = request_task("retried", 1, 2);
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 0.01});
    task["work"]["retry"] = json!({"retries": 99, "until_success": true, "limit_s": 600.0, "wait_s": 0.0, "on_timeout": true, "on_unsuccess": true});
    let mut plan = plan(server.port, &[task]);
    plan["target"]["timeout_ms"] = 300.into();
    let race = run_with(&plan, |_| {
        while server.requests().is_empty() {
            std::thread::sleep(Duration::from_millis(2));
        }
        // The first attempt of the second operation waits for its connection meanwhile.
        std::thread::sleep(Duration::from_millis(600));
        server.open();
    });
    let result = race.task("retried");
    let totals = result.operation_totals;
    assert_eq!((totals.succeeded, totals.failed), (2, 0));
    assert!(totals.retried > 0, "{totals:?}");
    let longest = |summary: &Option<DurationSummary>| summary.as_ref().unwrap().max_ms;
    assert!(longest(&result.latency) >= 300.0, "{result:?}");
    assert!(longest(&result.lateness) < 250.0, "the timeout must not count as lateness: {result:?}");
}
