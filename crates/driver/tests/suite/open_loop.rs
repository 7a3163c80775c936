//! Schedules shared by several clients.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pacenote_driver::{PythonEvent, StopLevel, TaskClientId};
use pacenote_record::EndedBy;
use serde_json::{Value, json};

use crate::support::python::{CLIENT, prepared, queued_task, race, runner_task, search, success};
use crate::support::server::{Answer, ClosedPort};
use crate::support::{
    Finished, Sample, Server, bulk_task, json_response, plan, request_task, run, run_with, step,
    success_response,
};

/// The second client of the first task.
const SECOND: TaskClientId = TaskClientId { task_index: 0, client_number: 1 };

const MS: i64 = 1_000_000;

/// Builds a task whose `clients` clients share a schedule of `rate` operations per second, with `each` operations per
/// client.
fn open(name: &str, clients: u32, rate: f64, each: u64) -> Value {
    let mut task = request_task(name, clients, each);
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 1.0 / rate});
    task["open_loop"] = true.into();
    task
}

/// Numbers of driver threads with which every promise of an open loop is tested.
const THREADS: [u32; 3] = [1, 4, 8];

/// Builds a plan whose clients run on this number of driver threads.
fn on_threads(threads: u32, server: &Server, task: Value) -> Value {
    let mut plan = plan(server.port, &[task]);
    plan["driver"]["threads"] = threads.into();
    plan
}

/// Returns the number of operations that were due before their client's previous operation had ended.
fn waited(samples: &[Sample]) -> u64 {
    let mut of_client: BTreeMap<i64, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        of_client.entry(sample.client).or_default().push(sample);
    }
    let late = |own: &mut Vec<&Sample>| {
        own.sort_by_key(|sample| sample.sent);
        own.windows(2).filter(|pair| pair[1].due < pair[0].done).count()
    };
    of_client.values_mut().map(late).sum::<usize>() as u64
}

#[test]
fn a_slow_client_does_not_delay_other_clients() {
    for threads in THREADS {
        let slow: Arc<Mutex<Option<usize>>> = Arc::default();
        let of_server = Arc::clone(&slow);
        let server = Server::start(move |seen, _| {
            let is_slow = *of_server.lock().unwrap().get_or_insert(seen.connection) == seen.connection;
            Answer::from(success_response()).after(Duration::from_millis(if is_slow { 400 } else { 0 }))
        });
        let finished = run(&on_threads(threads, &server, open("search", 4, 250.0, 50)));
        let slow = slow.lock().unwrap().unwrap();
        let by_slow = server.requests().iter().filter(|seen| seen.connection == slow).count();
        // The slow client has time for two requests in 0.8 s; if it had its own schedule, it would have to send 50.
        assert!((1..=10).contains(&by_slow), "{by_slow}");
        assert_eq!((server.requests().len(), finished.task("search").operation_totals.succeeded), (200, 200));
        let mut due: Vec<i64> = finished.samples.iter().map(|sample| sample.due).collect();
        due.sort_unstable();
        assert_eq!(due, (0..200).map(|number| number * 4 * MS).collect::<Vec<_>>());
        assert!(finished.samples.iter().all(|sample| sample.sent >= sample.due), "early");
    }
}

/// Runs a race at 100/s with two clients and no response for 0.3 s: each client has one operation in flight, and the
/// other 28 operations wait.
fn stalled(open_loop: bool, threads: u32) -> Finished {
    let stall = Duration::ZERO..Duration::from_millis(300);
    let server = Server::stalling(&[stall], |_, _| success_response());
    let mut task = open("search", 2, 100.0, 20);
    task["open_loop"] = open_loop.into();
    run(&on_threads(threads, &server, task))
}

#[test]
fn operations_that_wait_for_a_free_client_are_counted_and_are_not_late() {
    for (open_loop, threads) in [(true, 1), (true, 4), (true, 8), (false, 1)] {
        let finished = stalled(open_loop, threads);
        let result = finished.task("search");
        let accounting = result.operation_totals;
        assert_eq!((accounting.succeeded, accounting.unsent), (40, 0));
        assert_eq!(accounting.waited, waited(&finished.samples), "{open_loop}");
        assert!((28..=40).contains(&accounting.waited), "{open_loop} {accounting:?}");
        // Operations that waited were due at 20, 30, … ms and are sent after 300 ms.
        assert!(result.latency.as_ref().unwrap().max_ms >= 275.0);
        assert!(
            result.lateness.as_ref().unwrap().percentiles[0].ms < 100.0,
            "the stall must not count as the driver's lateness"
        );
    }
}

#[test]
fn in_a_task_without_a_schedule_no_operation_waits() {
    let server = Server::start(|_, _| success_response());
    assert_eq!(
        run(&plan(server.port, &[request_task("search", 2, 20)])).task("search").operation_totals.waited,
        0
    );
}

#[test]
fn operations_that_exceed_the_capacity_of_the_clients_are_counted_as_unsent() {
    let server = Server::start(|_, _| Answer::from(success_response()).after(Duration::from_millis(100)));
    for threads in THREADS {
        let mut task = open("search", 4, 100.0, 1);
        task["bound"] = json!({"kind": "time", "warmup_s": 0.1, "measured_s": 0.4});
        let result = run(&on_threads(threads, &server, task)).task("search").clone();
        let accounting = result.operation_totals;
        assert_eq!(accounting.begun + accounting.unsent, 50, "{accounting:?}");
        assert!((4..=20).contains(&accounting.begun), "{accounting:?}");
        assert_eq!(result.ended_by, EndedBy::Time);
    }
}

#[test]
fn clients_share_their_iterations_and_warm_up_is_what_is_due_first() {
    let server = Server::start(|_, _| success_response());
    for threads in THREADS {
        let mut task = open("search", 4, 1000.0, 1);
        task["bound"] = json!({"kind": "iterations", "warmup": 5, "measured": 10});
        let finished = run(&on_threads(threads, &server, task));
        let accounting = finished.task("search").operation_totals;
        assert_eq!((accounting.warmup, accounting.measured), (20, 40));
        let (warmup, measured): (Vec<&Sample>, Vec<&Sample>) =
            finished.samples.iter().partition(|sample| sample.warmup);
        let last = warmup.iter().map(|sample| sample.due).max();
        assert!(last < measured.iter().map(|sample| sample.due).min());
        assert_eq!(finished.task("search").ended_by, EndedBy::Iterations);
    }
}

#[test]
fn clients_that_wait_for_a_due_time_can_be_stopped_aborted_and_completed() {
    let slow = |name| open(name, 3, 0.01, 5);
    for threads in THREADS {
        let server = Server::start(|_, _| success_response());
        let race = run_with(&on_threads(threads, &server, slow("search")), |race| {
            while server.requests().is_empty() {
                thread::sleep(Duration::from_millis(2));
            }
            race.stop(StopLevel::Finish);
        });
        let (result, totals) = (race.task("search"), race.task("search").operation_totals);
        assert_eq!((totals.succeeded, totals.unanswered, totals.unsent), (1, 0, 0));
        assert_eq!((result.ended_by, race.summary.stopped), (EndedBy::Stopped, true));

        let failing = Server::start(|_, _| json_response(500, &json!({})));
        let mut strict = on_threads(threads, &failing, slow("search"));
        strict["driver"]["on_error"] = "abort".into();
        let race = run(&strict);
        assert_eq!(
            (race.task("search").operation_totals.failed, race.task("search").ended_by),
            (1, EndedBy::Aborted)
        );

        // The other task lasts long enough for the clients of the first one to enter it.
        let patient = Server::start(|_, _| Answer::from(success_response()).after(Duration::from_millis(20)));
        let tasks = [slow("search"), request_task("other", 1, 10)];
        let mut both = plan(patient.port, &tasks);
        both["driver"]["threads"] = threads.into();
        both["steps"] = json!([step(&tasks, &[0, 1])]);
        both["steps"][0]["completed_by"] = json!({"kind": "task", "task": 1});
        let race = run(&both);
        let totals = race.task("search").operation_totals;
        assert_eq!(race.task("search").ended_by, EndedBy::CompletedBy);
        // The first operation is due when the task starts; the host may run its clients later than the other task.
        assert_eq!(totals.begun + totals.unsent, 1, "{totals:?}");
    }
}

#[test]
fn failures_do_not_change_the_schedule() {
    let unused = ClosedPort::bind();
    let failing = Server::start(|_, _| json_response(429, &json!({})));
    for (port, threads) in
        THREADS.into_iter().flat_map(|threads| [(unused.port, threads), (failing.port, threads)])
    {
        let mut plan = plan(port, &[open("search", 2, 200.0, 20)]);
        plan["driver"]["threads"] = threads.into();
        plan["driver"]["on_error"] = "continue-on-network".into();
        let race = run(&plan);
        assert_eq!((race.task("search").operation_totals.failed, race.samples.len()), (40, 40));
        let mut due: Vec<i64> = race.samples.iter().map(|sample| sample.due).collect();
        due.sort_unstable();
        assert_eq!(due, (0..40).map(|number| number * 5 * MS).collect::<Vec<_>>());
        assert!(race.samples.iter().all(|sample| sample.sent >= sample.due), "a failure caused a burst");
    }
}

#[test]
fn clients_that_share_a_schedule_post_every_document_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("docs.json");
    let lines: Vec<String> = (0..700).map(|number| format!("{{\"n\": {number}}}")).collect();
    fs::write(&file, lines.join("\n")).unwrap();
    let server = Server::start(|seen, _| {
        Answer::from(success_response()).after(Duration::from_millis(if seen.connection == 0 {
            10
        } else {
            0
        }))
    });
    let mut task = bulk_task("index", 3, &file, 700);
    task["pacing"] = json!({"kind": "uniform", "interval_s": 0.002});
    task["open_loop"] = true.into();
    for threads in THREADS {
        let before = server.requests().len();
        let finished = run(&on_threads(threads, &server, task.clone()));
        let bodies: Vec<u8> = server.requests().into_iter().skip(before).flat_map(|seen| seen.body).collect();
        let posted: Vec<String> =
            String::from_utf8(bodies).unwrap().lines().skip(1).step_by(2).map(str::to_owned).collect();
        assert_eq!(posted.len(), 700);
        assert_eq!(
            posted.into_iter().collect::<BTreeSet<_>>(),
            lines.iter().cloned().collect::<BTreeSet<_>>()
        );
        let result = finished.task("index");
        assert_eq!(
            (result.work.weight, result.ended_by, result.operation_totals.unsent),
            (700, EndedBy::Source, 0)
        );
    }
}

#[test]
fn a_client_that_waits_for_its_source_takes_no_operation_from_other_clients() {
    let server = Server::start(|_, _| success_response());
    let mut task = queued_task("search", 32);
    task["clients"] = 2.into();
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 0.005});
    task["open_loop"] = true.into();
    for threads in THREADS {
        let finished = race(&on_threads(threads, &server, task.clone()), |bridge, event| match event {
            PythonEvent::PrepareStep { .. } => {
                for number in 0..20 {
                    bridge.enqueue(CLIENT, &search(&format!("/{number}")), None).unwrap();
                }
                bridge.finish(CLIENT, None).unwrap();
                prepared(bridge, event);
            }
            PythonEvent::ClientEnded { client: CLIENT } => {
                bridge.enqueue(SECOND, &search("/last"), None).unwrap();
                bridge.finish(SECOND, None).unwrap();
            }
            _ => {}
        });
        let result = finished.task("search");
        assert_eq!((result.operation_totals.succeeded, result.operation_totals.begun), (21, 21));
        let mut due: Vec<i64> = finished.samples.iter().map(|sample| sample.due).collect();
        due.sort_unstable();
        assert_eq!(due, (0..21).map(|number| number * 5 * MS).collect::<Vec<_>>());
    }
}

#[test]
fn operations_of_ended_runners_are_executed_by_another_runner_and_counted_once() {
    let server = Server::start(|_, _| success_response());
    let mut task = runner_task("own");
    task["clients"] = 3.into();
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 0.005});
    task["open_loop"] = true.into();
    task["bound"] = json!({"kind": "iterations", "warmup": 0, "measured": 5});
    for threads in THREADS {
        let finished = race(&on_threads(threads, &server, task.clone()), |bridge, event| match event {
            // Two runners end without having executed an operation.
            PythonEvent::RunOperation { client: CLIENT | SECOND, .. } => {
                bridge.finish(CLIENT, None).unwrap();
                bridge.finish(SECOND, None).unwrap();
            }
            PythonEvent::RunOperation { query_id, .. } => {
                bridge.complete(*query_id, success(1, false)).unwrap();
            }
            _ => prepared(bridge, event),
        });
        let accounting = finished.task("own").operation_totals;
        assert_eq!((accounting.begun, accounting.succeeded, accounting.unsent), (15, 15, 0));
    }
}

/// Two clients share two operations and take one each. The first runner executes its operation and finds no further
/// one; the second ends without its operation after the first has left, so that no client can take it: it is unsent.
#[test]
fn an_operation_that_its_runner_returns_after_the_others_have_left_is_unsent() {
    let server = Server::start(|_, _| success_response());
    let mut task = runner_task("own");
    task["clients"] = 2.into();
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 0.005});
    task["open_loop"] = true.into();
    task["bound"] = json!({"kind": "iterations", "warmup": 0, "measured": 1});
    for threads in THREADS {
        let mut first = None;
        let mut taken = 0;
        let finished = race(&on_threads(threads, &server, task.clone()), move |bridge, event| match event {
            PythonEvent::RunOperation { client, query_id, .. } => {
                taken += 1;
                first = first.or((*client == CLIENT).then_some(*query_id));
                if let (2, Some(first)) = (taken, first) {
                    bridge.complete(first, success(1, false)).unwrap();
                }
            }
            PythonEvent::ClientEnded { client: CLIENT } => bridge.finish(SECOND, None).unwrap(),
            _ => prepared(bridge, event),
        });
        let accounting = finished.task("own").operation_totals;
        assert_eq!((accounting.begun, accounting.succeeded, accounting.unsent), (1, 1, 1), "{threads}");
    }
}

#[test]
fn a_client_that_enters_a_task_late_serves_the_same_schedule() {
    let server = Server::start(|_, _| success_response());
    let mut first = request_task("first", 1, 1);
    first["work"] = json!({"kind": "sleep", "seconds": 0.1});
    let tasks = [first, open("second", 2, 100.0, 30)];
    for threads in THREADS {
        let mut plan = plan(server.port, &tasks);
        plan["driver"]["threads"] = threads.into();
        plan["steps"] = json!([{"name": "both", "completed_by": null, "client_allocations": [
            {"client": 0, "allocations": [{"task": 1, "client": 0}]},
            {"client": 1, "allocations": [{"task": 0, "client": 0}, {"task": 1, "client": 1}]}]}]);
        let finished = run(&plan);
        let second: Vec<Sample> =
            finished.samples.iter().filter(|sample| sample.task == "second").cloned().collect();
        let mut due: Vec<i64> = second.iter().map(|sample| sample.due).collect();
        due.sort_unstable();
        assert_eq!(due, (0..60).map(|number| number * 10 * MS).collect::<Vec<_>>());
        assert!(second.iter().any(|sample| sample.client == 1), "the late client took no operation");
    }
}

#[test]
fn a_spin_wait_sends_nothing_early_and_lets_other_clients_run() {
    let server = Server::start(|_, _| Answer::from(success_response()).after(Duration::from_millis(2)));
    for open_loop in [true, false] {
        let mut task = open("search", 3, 300.0, 20);
        task["open_loop"] = open_loop.into();
        let mut plan = on_threads(1, &server, task);
        plan["driver"]["spin_us"] = 3000.into();
        let finished = run(&plan);
        assert_eq!(finished.task("search").operation_totals.succeeded, 60);
        assert!(finished.samples.iter().all(|sample| sample.sent >= sample.due), "early");
    }
}
