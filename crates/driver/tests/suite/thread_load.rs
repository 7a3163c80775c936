//! The load of the driver's threads, as recorded with a race.
#![allow(clippy::print_stderr, reason = "a test says that it was skipped")]

use std::fs::{self, File};
use std::io::IoSliceMut;
use std::thread;
use std::time::Duration;

use pacenote_driver::{PythonEvent, RaceSummary, RunnerResponse, ThreadSummary};
use rustix::fs::{Advice, fadvise};
use rustix::io::{ReadWriteFlags, preadv2};

use crate::support::python::{get, prepared, race, runner_task, success};
use crate::support::{Server, bulk_task, plan, request_task, run, success_response};

/// A server that takes 12 ms, so that a hundred requests take more than a second.
fn slow_server() -> Server {
    Server::start(|_, _| {
        thread::sleep(Duration::from_millis(12));
        Some(success_response())
    })
}

fn summary_of<'a>(summary: &'a RaceSummary, name: &str) -> &'a ThreadSummary {
    summary.threads.iter().find(|thread| thread.name == name).unwrap()
}

/// Checks the load of a thread that has received a hundred replies in one step.
fn check(thread: &ThreadSummary, task: &str) {
    let busiest = thread.busiest.as_ref().unwrap();
    assert!((0.0..1.0).contains(&busiest.share) && busiest.from_s.abs() < f64::EPSILON, "{busiest:?}");
    // The kernel may not count waits for a core.
    if thread.run_queue_s.is_some() {
        let delayed = thread.delayed.as_ref().unwrap();
        assert_eq!(delayed.task, task);
        assert!(delayed.service_ms >= 12.0 && delayed.wait_ms > 0.0, "{delayed:?}");
    }
    assert!(thread.major_faults.is_some());
}

#[test]
fn the_waits_of_a_worker_are_compared_with_the_service_times_of_its_replies() {
    let race = run(&plan(slow_server().port, &[request_task("search", 1, 100)]));
    check(summary_of(&race.summary, "drive-0"), "search");
}

#[test]
fn the_waits_of_the_thread_that_sends_the_requests_of_runners_are_judged_too() {
    let (mut running, mut answered) = (0, 0);
    let finished = race(&plan(slow_server().port, &[runner_task("own")]), move |bridge, event| match event {
        PythonEvent::RunOperation { query_id, .. } => {
            running = *query_id;
            bridge.request(Some(running), "default", get("/_cat")).unwrap();
        }
        PythonEvent::ResponseReceived(RunnerResponse { .. }) => {
            answered += 1;
            bridge.complete(running, success(1, answered == 100)).unwrap();
        }
        other => prepared(bridge, other),
    });
    check(summary_of(&finished.summary, "lane"), "own");
}

#[test]
fn the_work_of_the_driver_and_the_service_time_add_up_to_the_processing_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("docs.json");
    let line = |n: u64| format!("{{\"n\":{n},\"pad\":\"{}\"}}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    fs::write(&file, (0..8_000).map(line).collect::<String>()).unwrap();
    let mut task = bulk_task("index", 1, &file, 8_000);
    task["work"]["bulk_size"] = 800.into();
    let server = Server::start(|_, _| Some(success_response()));
    let mut plan = plan(server.port, &[task]);
    plan["target"]["compress"] = true.into();
    let race = run(&plan);
    let result = race.task("index");
    let (driver, service) = (result.driver_time.unwrap(), result.service_time.as_ref().unwrap());
    assert_eq!(driver.operations, 10);
    assert!((driver.service_ms - service.mean_ms).abs() < 1e-6, "{driver:?}");
    let processing_ms = result.processing_time.as_ref().unwrap().mean_ms;
    assert!((driver.mean_ms + driver.service_ms - processing_ms).abs() < 1e-3, "{driver:?} {processing_ms}");
    assert!(driver.mean_ms > 0.0 && (driver.share * driver.service_ms - driver.mean_ms).abs() < 1e-9);
}

#[test]
fn waits_for_data_that_is_not_in_the_page_cache_are_those_of_the_thread() {
    // The folder of the tests is not in memory, whereas `/tmp` may be.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("docs.json");
    fs::write(&path, format!("{{\"pad\":\"{}\"}}\n", "x".repeat(1000)).repeat(11_000)).unwrap();
    let file = File::open(&path).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    let mut byte = [0];
    if preadv2(&file, &mut [IoSliceMut::new(&mut byte)], 0, ReadWriteFlags::NOWAIT).is_ok() {
        eprintln!("waits for the disk cannot be tested: {} stays in memory", path.display());
        return;
    }
    let server = Server::start(move |_, _| {
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        thread::sleep(Duration::from_millis(12));
        Some(success_response())
    });
    let mut task = bulk_task("index", 1, &path, 11_000);
    task["work"]["bulk_size"] = 100.into();
    let race = run(&plan(server.port, &[task, request_task("search", 1, 100)]));
    let [waits] = &summary_of(&race.summary, "drive-0").data_waits[..] else { panic!("{:?}", race.summary) };
    assert_eq!((waits.step.as_str(), waits.file.as_str()), ("step", "docs.json"));
    assert!(waits.waits > 10 && (0.0..1.0).contains(&waits.share) && waits.waited_s > 0.0, "{waits:?}");
}

#[test]
fn operations_that_open_a_connection_do_not_count_as_work_of_the_driver() {
    let server = Server::start(|_, _| {
        Some(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 11\r\n\r\n{\"took\": 1}".to_vec())
    });
    let race = run(&plan(server.port, &[request_task("search", 1, 9)]));
    assert_eq!(race.task("search").driver_time.unwrap().operations, 1);
}
