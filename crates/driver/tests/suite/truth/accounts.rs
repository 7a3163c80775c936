//! Checks that no operation is lost when connections break or races end: sent = succeeded + failed + unanswered, and
//! every planned operation is either sent or counted as unsent.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use pacenote_driver::StopLevel;
use pacenote_record::EndedBy;
use serde_json::{Value, json};

use super::{counted, paced};
use crate::support::samples::beginning;
use crate::support::server::{Answer, End, response_with, response_with_took};
use crate::support::{Finished, LoggedRequest, Server, plan, request_task, run, run_with};

fn long() -> Duration {
    Duration::from_mins(1)
}

/// Asserts that every operation has a sample or is unanswered, and that every sample is a success or a failure.
fn check_accounting(race: &Finished, task: &str) {
    let accounting = race.task(task).operation_totals;
    assert_eq!(accounting.begun, accounting.succeeded + accounting.failed + accounting.unanswered);
    assert_eq!(accounting.warmup + accounting.measured, accounting.succeeded + accounting.failed);
    let of_task = || race.samples.iter().filter(|sample| sample.task == task);
    assert_eq!(of_task().count() as u64, accounting.succeeded + accounting.failed);
    assert_eq!(of_task().filter(|sample| sample.success).count() as u64, accounting.succeeded);
    let counted: u64 = race.task(task).errors.iter().map(|error| error.count).sum();
    assert_eq!(counted, accounting.failed, "some failures have no reason");
}

fn classes(race: &Finished) -> BTreeSet<&str> {
    race.samples.iter().filter(|sample| !sample.success).map(|sample| sample.error_class.as_str()).collect()
}

/// 300/s for half a second over 3 clients, with responses after 20 ms: of the 150 planned operations, each client can
/// send about 25. The others are counted as unsent.
#[test]
fn planned_operations_are_sent_or_counted_as_unsent() {
    let server =
        Server::start(|_, before| Answer::from(response_with_took(before)).after(Duration::from_millis(20)));
    let race = run(&plan(server.port, &[paced("search", 3, 300.0, (0.1, 0.4))]));
    let accounting = race.task("search").operation_totals;
    assert_eq!(accounting.begun + accounting.unsent, 150, "{accounting:?}");
    assert_eq!(accounting.begun, server.requests().len() as u64);
    // A client sends again only after a response: it sends at most 25 in half a second, and one more that is in flight
    // at the end.
    assert!(accounting.begun <= 3 * 26, "{accounting:?}");
    check_accounting(&race, "search");
    beginning(&race.samples, &server.requests());
}

/// The server resets connections with odd numbers at their first request: there are as many failures as requests on
/// these connections, and no request is sent twice.
#[test]
fn every_operation_is_accounted_for_if_half_of_the_connections_are_reset() {
    let server = Server::start(|seen, before| match seen.connection % 2 {
        0 => Answer::from(response_with_took(before)),
        _ => Answer::silence().then(End::Reset),
    });
    let race = run(&plan(server.port, &[request_task("search", 4, 25)]));
    let (accounting, seen) = (race.task("search").operation_totals, server.requests());
    let reset = seen.iter().filter(|seen| seen.connection % 2 == 1).count() as u64;
    assert_eq!((seen.len(), accounting.begun, accounting.requests), (100, 100, 100));
    assert!(reset >= 2, "fewer than half of the first four connections were reset");
    assert_eq!((accounting.failed, accounting.retried), (reset, 0));
    assert_eq!(classes(&race), BTreeSet::from(["reset"]));
    check_accounting(&race, "search");
    beginning(&race.samples, &seen);
}

/// The server closes the connection for a third of the requests, sends half a response to another third, and answers
/// the rest correctly. Each request is one operation.
#[test]
fn closed_and_half_closed_connections_lose_nothing_and_repeat_nothing() {
    let half = |before| {
        let whole = response_with_took(before);
        whole[..whole.len() - 5].to_vec()
    };
    let server = Server::start(move |seen, before| match (seen.line.contains("/half"), before % 3) {
        (_, 0) => Answer::from(response_with_took(before)),
        (false, 1) => Answer::silence().then(End::Close),
        (false, _) => Answer::from(half(before)).then(End::Close),
        (true, 1) => Answer::silence().then(End::HalfClose),
        (true, _) => Answer::from(half(before)).then(End::HalfClose),
    });
    let mut second = request_task("second", 3, 20);
    second["work"]["calls"][0]["path"] = "/half".into();
    let race = run(&plan(server.port, &[request_task("first", 3, 20), second]));
    let seen = server.requests();
    assert_eq!(seen.len(), 120);
    for name in ["first", "second"] {
        let accounting = race.task(name).operation_totals;
        assert_eq!((accounting.begun, accounting.requests, accounting.failed), (60, 60, 40), "{name}");
        check_accounting(&race, name);
    }
    assert_eq!(classes(&race), BTreeSet::from(["reset"]));
}

/// A server that closes the connection after a complete response without announcing it. Either the client detects this
/// and reconnects, or its next request is lost: requests that arrived are successes, the others are failures.
#[test]
fn a_connection_that_closes_without_notice_loses_at_most_the_requests_sent_on_it() {
    let server = Server::start(|_, before| Answer::from(response_with_took(before)).then(End::Close));
    let race = run(&plan(server.port, &[counted("search", 2, 200.0, 20)]));
    let (accounting, seen) = (race.task("search").operation_totals, server.requests());
    assert_eq!(accounting.begun, 40);
    assert_eq!(accounting.succeeded, seen.len() as u64);
    assert!(classes(&race).is_subset(&BTreeSet::from(["reset"])));
    check_accounting(&race, "search");
}

/// Returns the number of requests without a response.
fn held(seen: &[LoggedRequest]) -> usize {
    seen.iter().filter(|seen| seen.responded.is_none()).count()
}

/// 100/s over 4 clients, and an engine that stops responding after 0.2 s. The race is stopped once all 4 clients wait:
/// their operations are unanswered, and earlier results are kept.
#[test]
fn a_race_that_is_stopped_keeps_its_results_and_counts_operations_in_flight() {
    let server =
        Server::stalling(&[Duration::from_millis(200)..long()], |_, before| response_with_took(before));
    let race = run_with(&plan(server.port, &[paced("search", 4, 100.0, (0.0, 60.0))]), |race| {
        while held(&server.requests()) < 4 {
            thread::sleep(Duration::from_millis(5));
        }
        race.stop(StopLevel::Finish);
        race.stop(StopLevel::Abandon);
    });
    let (result, seen) = (race.task("search"), server.requests());
    let accounting = result.operation_totals;
    assert_eq!((accounting.begun as usize, accounting.unanswered), (seen.len(), 4));
    assert_eq!(accounting.succeeded as usize, seen.len() - 4);
    assert_eq!((result.ended_by, race.summary.stopped), (EndedBy::Stopped, true));
    check_accounting(&race, "search");
    let whole = result.service_time.as_ref().map_or(0, |service| service.count);
    assert_eq!(whole, accounting.succeeded);
}

/// The race is asked to end while the server holds 3 requests for 0.3 s: they are still answered.
#[test]
fn a_race_that_may_finish_waits_for_operations_in_flight() {
    let server =
        Server::start(|_, before| Answer::from(response_with_took(before)).after(Duration::from_millis(300)));
    let race = run_with(&plan(server.port, &[request_task("search", 3, 1000)]), |race| {
        while server.requests().len() < 3 {
            thread::sleep(Duration::from_millis(5));
        }
        race.stop(StopLevel::Finish);
    });
    let accounting = race.task("search").operation_totals;
    assert_eq!(accounting.begun, server.requests().len() as u64);
    assert_eq!((accounting.unanswered, accounting.failed, accounting.succeeded), (0, 0, accounting.begun));
    check_accounting(&race, "search");
}

/// The engine is killed during a race of 4 clients: the race ends with a message that contains the engine's address,
/// and every request is either answered or recorded as a failure with its reason.
#[test]
fn an_engine_that_is_killed_ends_the_race_and_no_operation_is_lost() {
    let server =
        Server::start(|_, before| Answer::from(response_with_took(before)).after(Duration::from_millis(5)));
    let mut task = request_task("search", 4, 1);
    task["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": 60.0});
    let race = run_with(&plan(server.port, &[task, request_task("never", 1, 1)]), |_| {
        while server.requests().len() < 40 {
            thread::sleep(Duration::from_millis(5));
        }
        server.kill();
    });
    let aborted = race.summary.aborted.as_ref().expect("the race was aborted");
    assert!(aborted.contains(&format!("127.0.0.1:{}", server.port)), "{aborted}");
    assert_eq!((race.tasks.len(), race.task("search").ended_by), (1, EndedBy::Aborted));
    let accounting = race.task("search").operation_totals;
    assert!(accounting.succeeded >= 36 && accounting.failed >= 1, "{accounting:?}");
    check_accounting(&race, "search");
}

/// For operations with several requests, some of which fail, the counts of requests add up to the number that the
/// server received.
#[test]
fn requests_of_a_sequence_are_counted_one_by_one() {
    let server = Server::start(|seen, before| {
        let refused = seen.line.contains("/second") && before % 2 == 1;
        if refused { response_with(500, "", b"{}") } else { response_with_took(before) }
    });
    let mut task = request_task("both", 3, 10);
    let calls: Vec<Value> = ["/first", "/second", "/third"]
        .map(|path| {
            let mut call = task["work"]["calls"][0].clone();
            call["path"] = path.into();
            call
        })
        .into();
    task["work"]["calls"] = calls.into();
    let race = run(&plan(server.port, &[task]));
    let (accounting, seen) = (race.task("both").operation_totals, server.requests());
    let third = seen.iter().filter(|seen| seen.line.contains("/third")).count() as u64;
    assert_eq!(accounting.requests, seen.len() as u64);
    assert_eq!((accounting.begun, accounting.succeeded), (30, third));
    check_accounting(&race, "both");
}
