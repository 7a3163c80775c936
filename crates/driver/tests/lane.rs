//! Races in which Python has a hand: a thread of the test plays Python.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::collections::{BTreeSet, HashMap};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use pacenote_driver::{After, LaneEvent, LaneRequest};
use pacenote_record::EndedBy;
use serde_json::{Value, json};
use support::lane::{
    failure, get, lane_task, listen, prepared, python_task, race, search, success, supplied_task,
    wait_for_events,
};
use support::{Finished, Server, good, plan, reply, request_task, run_with, step};

#[test]
fn what_is_supplied_is_sent_in_order_and_the_end_of_the_source_is_the_end() {
    let server = Server::start(|_, _| Some(good()));
    let finished = race(&plan(server.port, &[supplied_task("search", 32)]), |lane, event| {
        if let LaneEvent::Prepare { .. } = event {
            assert_eq!(lane.room((0, 0)).unwrap(), 32);
            for number in 0..20 {
                assert!(lane.supply((0, 0), &search(&format!("/{number}")), None).unwrap());
            }
            assert_eq!(lane.room((0, 0)).unwrap(), 12);
            lane.end((0, 0), None).unwrap();
            assert!(lane.supply((0, 0), &search("/late"), None).is_err());
            prepared(lane, event);
        }
    });
    let lines: Vec<String> = server.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(lines, (0..20).map(|number| format!("GET /{number} HTTP/1.1")).collect::<Vec<_>>());
    let result = finished.task("search");
    assert_eq!((result.accounting.succeeded, result.accounting.operations), (20, 20));
    assert_eq!((result.ended_by, result.underruns), (EndedBy::Source, 0));
    assert!(result.underrun_s.abs() < f64::EPSILON);
}

#[test]
fn a_source_that_does_not_keep_up_is_counted_and_what_it_waited_is_in_no_service_time() {
    let server = Server::start(|_, _| Some(good()));
    let finished = race(&plan(server.port, &[supplied_task("search", 2)]), |lane, event| {
        if let LaneEvent::Prepare { .. } = event {
            lane.supply((0, 0), &search("/0"), None).unwrap();
            prepared(lane, event);
            for number in 1..=3 {
                thread::sleep(Duration::from_millis(30));
                lane.supply((0, 0), &search(&format!("/{number}")), None).unwrap();
            }
            lane.end((0, 0), None).unwrap();
        }
    });
    let result = finished.task("search");
    assert_eq!((result.accounting.succeeded, result.underruns), (4, 3));
    assert!(result.underrun_s > 0.06, "{}", result.underrun_s);
    // One client does one after another: what it waited is not counted twice.
    let service_s = result.service_time.as_ref().unwrap().mean_ms * 4.0 / 1e3;
    assert!(service_s + result.underrun_s <= result.duration_s, "{service_s} {result:?}");
}

#[test]
fn a_bulk_is_supplied_with_its_body() {
    let server = Server::start(|_, _| Some(good()));
    let bulk = json!({"kind": "bulk", "path": "/_bulk", "headers": [["content-type", "application/x-ndjson"]],
        "documents": 2, "timeout_ms": null});
    let finished = race(&plan(server.port, &[supplied_task("index", 4)]), move |lane, event| {
        if let LaneEvent::Prepare { .. } = event {
            let body = b"{\"index\":{}}\n{}\n{\"index\":{}}\n{}\n".to_vec();
            let refused = lane.supply((0, 0), &bulk.to_string(), None).unwrap_err().to_string();
            assert!(refused.contains("task index: a bulk needs a body"), "{refused}");
            assert!(lane.supply((0, 0), "{\"kind\": \"tea\"}", None).is_err());
            lane.supply((0, 0), &bulk.to_string(), Some(body)).unwrap();
            lane.end((0, 0), None).unwrap();
            prepared(lane, event);
        }
    });
    assert_eq!(finished.task("index").work.done, 2);
    assert_eq!(server.seen()[0].body.len(), 32);
    assert!(server.seen()[0].headers.contains(&"content-type: application/x-ndjson".to_owned()));
}

#[test]
fn a_source_that_raises_ends_its_share_with_one_failure_that_says_why() {
    let server = Server::start(|_, _| Some(good()));
    let tasks = [supplied_task("broken", 4), request_task("native", 1, 5)];
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([step(&tasks, &[0, 1])]);
    let finished = race(&plan, |lane, event| {
        if let LaneEvent::Prepare { .. } = event {
            lane.supply((0, 0), &search("/one"), None).unwrap();
            lane.end((0, 0), Some("track.py:7 KeyError: 'size'".into())).unwrap();
            prepared(lane, event);
        }
    });
    let broken = finished.task("broken");
    let accounting = broken.accounting;
    assert_eq!((accounting.operations, accounting.succeeded, accounting.failed), (2, 1, 1));
    assert_eq!((accounting.requests, broken.underruns, broken.ended_by), (1, 0, EndedBy::Source));
    let error = &broken.errors[0];
    assert_eq!(
        (error.error_class.as_str(), error.reason.as_str()),
        ("plugin", "track.py:7 KeyError: 'size'")
    );
    assert_eq!(finished.task("native").accounting.succeeded, 5);
    assert_eq!(finished.summary.aborted, None);
}

#[test]
fn a_scheduler_says_when_and_hears_what_came_of_it() {
    let server = Server::start(|_, before| Some(if before == 1 { reply(500, &json!({})) } else { good() }));
    let mut task = request_task("search", 1, 1);
    task["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": null});
    task["pace"] = json!({"kind": "scheduled"});
    let heard: Arc<Mutex<Vec<After>>> = Arc::default();
    let (notes, mut asked) = (Arc::clone(&heard), 0);
    let finished = race(&plan(server.port, &[task]), move |lane, event| match event {
        LaneEvent::Next { token, task: 0, client: 0 } => {
            assert_eq!(notes.lock().unwrap().len(), asked);
            let offset = (asked < 3).then(|| Duration::from_millis(40 * asked as u64));
            asked += 1;
            lane.due(*token, offset).unwrap();
        }
        LaneEvent::After(after) => {
            assert_eq!((after.task, after.client, after.unit.as_str()), (0, 0, "ops"));
            notes.lock().unwrap().push(after.clone());
        }
        other => prepared(lane, other),
    });
    let heard = heard.lock().unwrap();
    let said: Vec<_> = heard.iter().map(|after| (after.weight, after.success)).collect();
    assert_eq!(said, [(1, true), (0, false), (1, true)]);
    assert!(heard[1].error.starts_with("http-status: "), "{}", heard[1].error);
    // Never early; how late is lateness.
    assert!(
        heard.iter().zip([0.0, 0.04, 0.08]).all(|(after, due)| after.seconds_since_start >= due),
        "{heard:?}"
    );
    let result = finished.task("search");
    assert_eq!((result.accounting.operations, result.accounting.unsent), (3, 0));
    assert_eq!((result.ended_by, result.paced), (EndedBy::Source, true));
    assert!(result.latency.is_some() && result.lateness.is_some());
}

#[test]
fn times_of_a_runner_are_those_of_its_requests() {
    let server = Server::start(|_, _| {
        thread::sleep(Duration::from_millis(50));
        Some(good())
    });
    let mut token_of_run = 0;
    let finished = race(&plan(server.port, &[lane_task("own")]), move |lane, event| match event {
        LaneEvent::Run { token, task: 0, client: 0, measured: true } => {
            token_of_run = *token;
            lane.request(Some((0, 0)), "default", get("/_cat")).unwrap();
        }
        LaneEvent::Reply { status, headers, body, .. } => {
            assert_eq!((*status, body.as_slice()), (200, &good()[good().len() - body.len()..]));
            assert_eq!(headers[0], ("content-length".to_owned(), body.len().to_string()));
            thread::sleep(Duration::from_millis(20));
            let done = success(7, true).replace("ops", "docs");
            lane.done(token_of_run, &done).unwrap();
        }
        other => prepared(lane, other),
    });
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "GET /_cat HTTP/1.1");
    assert!(
        seen.headers.contains(&"x-test: yes".to_owned()) && seen.headers.contains(&"x-own: 1".to_owned())
    );
    let result = finished.task("own");
    let (service, processing) =
        (result.service_time.as_ref().unwrap(), result.processing_time.as_ref().unwrap());
    assert!(service.min_ms >= 50.0, "{}", service.min_ms);
    assert!(processing.min_ms >= service.min_ms + 20.0, "{} {}", service.min_ms, processing.min_ms);
    assert_eq!((result.unit.as_str(), result.work.done, result.accounting.requests), ("docs", 7, 1));
    assert_eq!((result.ended_by, result.accounting.operations), (EndedBy::Source, 1));
    assert!(result.bytes_out > 0 && result.bytes_in > 0);
    // One connection of the worker's client, one of the runner's, both opened before the clock started.
    assert!(seen.connection < 2);
}

#[test]
fn a_runner_may_have_several_requests_under_way_and_talk_to_another_cluster() {
    let together = Arc::new((Mutex::new(0), Condvar::new()));
    let server = Server::start(move |_, _| {
        let (count, changed) = &*together;
        let mut here = count.lock().unwrap();
        *here += 1;
        changed.notify_all();
        // Answered only when three are here at once.
        let patience = Duration::from_secs(10);
        let (_here, waited) = changed.wait_timeout_while(here, patience, |here| *here < 3).unwrap();
        (!waited.timed_out()).then(good)
    });
    let other = Server::start(|_, _| Some(reply(404, &json!({}))));
    let mut plan = plan(server.port, &[lane_task("own")]);
    let mut target = plan["target"].clone();
    (target["hosts"][0]["port"], target["headers"]) = (other.port.into(), json!([]));
    plan["others"] = json!([{"name": "second", "target": target}]);
    let (mut running, mut statuses) = (0, Vec::new());
    let finished = race(&plan, move |lane, event| match event {
        LaneEvent::Run { token, .. } => {
            running = *token;
            for _ in 0..3 {
                lane.request(Some((0, 0)), "default", get("/")).unwrap();
            }
            lane.request(Some((0, 0)), "second", get("/")).unwrap();
            assert!(lane.request(Some((0, 0)), "third", get("/")).is_err());
            assert!(lane.request(Some((0, 0)), "default", get("/a b")).is_err());
        }
        LaneEvent::Reply { status, .. } => {
            statuses.push(*status);
            if statuses.len() == 4 {
                statuses.sort_unstable();
                assert_eq!(statuses, [200, 200, 200, 404]);
                lane.done(running, &success(1, true)).unwrap();
            }
        }
        other => prepared(lane, other),
    });
    let connections: BTreeSet<usize> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!((server.seen().len(), connections.len(), other.seen().len()), (3, 3, 1));
    assert!(!other.seen()[0].headers.contains(&"x-test: yes".to_owned()));
    assert_eq!(finished.task("own").accounting.requests, 4);
}

#[test]
fn a_request_without_reply_is_told_and_its_operation_fails_by_the_name_the_runner_gives() {
    let server = Server::start(|_, _| None);
    let mut running = 0;
    let finished = race(&plan(server.port, &[lane_task("own")]), move |lane, event| match event {
        LaneEvent::Run { token, .. } => {
            running = *token;
            let patience = Some(Duration::from_millis(40));
            lane.request(Some((0, 0)), "default", LaneRequest { timeout: patience, ..get("/") }).unwrap();
        }
        LaneEvent::Failed { kind, reason, .. } => {
            assert_eq!((*kind, reason.as_str()), ("timeout", "no complete response within 0.04 s"));
            lane.done(running, &failure("timeout")).unwrap();
        }
        other => prepared(lane, other),
    });
    let result = finished.task("own");
    assert_eq!((result.accounting.failed, result.accounting.requests, result.work.failed), (1, 1, 2));
    assert_eq!(
        (result.errors[0].error_class.as_str(), result.errors[0].reason.as_str()),
        ("timeout", "Oops: it broke")
    );
    assert!(result.failed_service_time.as_ref().unwrap().min_ms >= 40.0);
}

#[test]
fn a_runner_that_fails_by_itself_is_not_called_again() {
    let server = Server::start(|_, _| Some(good()));
    let finished = race(&plan(server.port, &[lane_task("own")]), |lane, event| match event {
        LaneEvent::Run { token, .. } => {
            assert!(lane.done(*token, "{}").is_err());
            lane.done(*token, &failure("plugin").replace("true", "false")).unwrap();
            // Too late, and of no consequence.
            lane.done(*token, &success(9, false)).unwrap();
        }
        other => prepared(lane, other),
    });
    let result = finished.task("own");
    assert_eq!((result.accounting.operations, result.accounting.failed, result.work.done), (1, 1, 0));
    assert_eq!((result.errors[0].error_class.as_str(), result.ended_by), ("plugin", EndedBy::Source));
}

#[test]
fn a_runner_without_operations_has_begun_none() {
    let server = Server::start(|_, _| Some(good()));
    let mut runs = 0;
    let finished = race(&plan(server.port, &[lane_task("own")]), move |lane, event| match event {
        LaneEvent::Run { token, .. } if runs == 0 => {
            runs += 1;
            lane.done(*token, &success(1, false)).unwrap();
        }
        LaneEvent::Run { .. } => lane.end((0, 0), None).unwrap(),
        other => prepared(lane, other),
    });
    let result = finished.task("own");
    assert_eq!((result.accounting.operations, result.accounting.unanswered), (1, 0));
    assert_eq!(result.ended_by, EndedBy::Source);
    // Without a request the whole operation is the service.
    assert_eq!(result.service_time.as_ref().unwrap().count, 1);
}

#[test]
fn errors_of_python_abort_a_race_that_is_to_be_aborted() {
    let server = Server::start(|_, _| Some(good()));
    let mut plan = plan(server.port, &[lane_task("own"), request_task("never", 1, 1)]);
    plan["driver"]["on_error"] = "abort".into();
    let finished = race(&plan, |lane, event| match event {
        LaneEvent::Run { token, .. } => lane.done(*token, &failure("timeout")).unwrap(),
        other => prepared(lane, other),
    });
    assert_eq!(finished.summary.aborted.as_deref(), Some("task own failed (timeout)"));
    assert_eq!(finished.tasks.len(), 1);
}

#[test]
fn what_python_has_carried_out_natively_is_judged_and_counted() {
    let server = Server::start(|seen, _| {
        Some(if seen.line.contains("/bad") { reply(503, &json!({"error": "busy"})) } else { good() })
    });
    let (mut running, mut outcomes) = (0, HashMap::new());
    let finished = race(&plan(server.port, &[lane_task("own")]), move |lane, event| match event {
        LaneEvent::Run { token, .. } => {
            running = *token;
            let ticket = lane.execute(Some((0, 0)), "default", (&search("/good"), None)).unwrap();
            outcomes.insert(ticket, true);
            assert!(lane.execute(Some((0, 0)), "default", ("{}", None)).is_err());
        }
        LaneEvent::Outcome { ticket, json } => {
            let outcome: Value = serde_json::from_str(json).unwrap();
            assert_eq!(outcome["success"], outcomes[ticket], "{outcome}");
            if outcomes[ticket] {
                assert_eq!((&outcome["weight"], &outcome["took_ms"]), (&json!(1), &json!(3)));
                let body: Value = serde_json::from_str(outcome["body"].as_str().unwrap()).unwrap();
                assert_eq!(body["took"], 3);
                let ticket = lane.execute(Some((0, 0)), "default", (&search("/bad"), None)).unwrap();
                outcomes.insert(ticket, false);
            } else {
                assert_eq!(
                    (&outcome["error"]["class"], &outcome["status"]),
                    (&json!("http-status"), &json!(503))
                );
                lane.done(running, &success(1, true)).unwrap();
            }
        }
        other => prepared(lane, other),
    });
    let result = finished.task("own");
    assert_eq!((result.accounting.requests, result.accounting.operations), (2, 1));
}

/// Plays nobody until the race has been stopped: tells of every event, answers only `prepare`, and that only if told so.
fn hung(plan: &Value, answers: bool) -> (Finished, Receiver<LaneEvent>) {
    let (heard, events): (Sender<LaneEvent>, _) = channel();
    let finished = run_with(plan, |race| {
        let lane = Arc::clone(race.lane().unwrap());
        let prepare = wait_for_events(&lane);
        assert_eq!(prepare, [LaneEvent::Prepare { step: 0 }]);
        if answers {
            prepared(&lane, &prepare[0]);
            heard.send(wait_for_events(&lane).remove(0)).unwrap();
        }
        race.stop(false);
        if answers {
            race.stop(true);
        }
        thread::spawn(move || {
            let tell = |event: &LaneEvent| heard.send(event.clone());
            listen(&lane, |_, event| drop(tell(event)));
            let _ = tell(&LaneEvent::Quit);
        });
    });
    (finished, events)
}

#[test]
fn a_runner_that_hangs_is_left_behind_when_the_race_is_stopped() {
    let server = Server::start(|_, _| Some(good()));
    let (finished, events) = hung(&plan(server.port, &[lane_task("own")]), true);
    let accounting = finished.task("own").accounting;
    assert_eq!((accounting.operations, accounting.unanswered, accounting.failed), (1, 1, 0));
    assert!(finished.summary.stopped);
    let events: Vec<LaneEvent> = events.iter().collect();
    assert!(matches!(events[0], LaneEvent::Run { .. }), "{events:?}");
    assert_eq!(events.last(), Some(&LaneEvent::Quit));
}

#[test]
fn a_race_that_is_stopped_waits_neither_for_preparation_nor_for_sources() {
    let server = Server::start(|_, _| Some(good()));
    let (finished, events) = hung(&plan(server.port, &[lane_task("own")]), false);
    assert_eq!(
        (finished.tasks.len(), finished.summary.error.clone(), finished.summary.stopped),
        (0, None, true)
    );
    assert_eq!(events.iter().collect::<Vec<_>>(), [LaneEvent::Quit]);
    let mut scheduled = request_task("scheduled", 1, 1);
    scheduled["pace"] = json!({"kind": "scheduled"});
    let tasks = [supplied_task("dry", 1), scheduled];
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([step(&tasks, &[0, 1])]);
    let (go, stop) = channel();
    let finished = run_with(&plan, |race| {
        let lane = Arc::clone(race.lane().unwrap());
        let player = thread::spawn(move || {
            for event in wait_for_events(&lane) {
                prepared(&lane, &event);
            }
            go.send(wait_for_events(&lane)).unwrap();
        });
        assert!(matches!(stop.recv().unwrap()[0], LaneEvent::Next { .. }));
        race.stop(false);
        player.join().unwrap();
    });
    for task in ["dry", "scheduled"] {
        let result = finished.task(task);
        assert_eq!((result.accounting.operations, result.ended_by), (0, EndedBy::Stopped), "{task}");
    }
}

#[test]
fn a_preparation_that_fails_ends_the_race_with_its_reason() {
    let server = Server::start(|_, _| Some(good()));
    let finished = race(&plan(server.port, &[lane_task("own")]), |lane, event| {
        if let LaneEvent::Prepare { step } = event {
            lane.prepared(step + 1, None);
            lane.prepared(*step, Some("track.py:3 there is no runner".into()));
        }
    });
    assert_eq!(finished.summary.error.as_deref(), Some("track.py:3 there is no runner"));
    assert!(finished.tasks.is_empty());
}

#[test]
fn native_supplied_and_python_tasks_run_beside_one_another() {
    let server = Server::start(|_, _| Some(good()));
    let mut supplied = supplied_task("supplied", 8);
    supplied["bound"] = json!({"kind": "iterations", "warmup": 2, "measured": 6});
    let mut own = python_task("own", 2, json!({"kind": "lane"}));
    own["bound"] = json!({"kind": "iterations", "warmup": 1, "measured": 4});
    let tasks = [supplied, own, request_task("native", 2, 50)];
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([step(&tasks, &[0, 1, 2])]);
    let mut running = HashMap::new();
    let ended: Arc<Mutex<Vec<(u32, u32)>>> = Arc::default();
    let (endings, mut warmups) = (Arc::clone(&ended), 0);
    let finished = race(&plan, move |lane, event| match event {
        LaneEvent::Prepare { .. } => {
            while lane.supply((0, 0), &search("/s"), None).unwrap() {}
            prepared(lane, event);
        }
        LaneEvent::Run { token, task, client, measured } => {
            warmups += usize::from(!measured);
            let ticket = lane.request(Some((*task, *client)), "default", get("/own")).unwrap();
            running.insert(ticket, *token);
        }
        LaneEvent::Reply { ticket, .. } => lane.done(running[ticket], &success(1, false)).unwrap(),
        LaneEvent::Ended { task, client } => endings.lock().unwrap().push((*task, *client)),
        LaneEvent::Finish { step: 0 } => assert_eq!(warmups, 2),
        other => panic!("{other:?}"),
    });
    let counted = |name: &str| {
        let result = finished.task(name);
        (result.accounting.warmup, result.accounting.normal, result.ended_by)
    };
    assert_eq!(counted("supplied"), (2, 6, EndedBy::Iterations));
    assert_eq!(counted("own"), (2, 8, EndedBy::Iterations));
    assert_eq!(counted("native"), (0, 100, EndedBy::Iterations));
    let mut ended = ended.lock().unwrap().clone();
    ended.sort_unstable();
    assert_eq!(ended, [(0, 0), (1, 0), (1, 1)]);
    assert_eq!(finished.summary.samples, 118);
}

#[test]
fn a_source_that_dries_up_does_not_keep_a_task_beyond_its_time() {
    let server = Server::start(|_, _| Some(good()));
    let mut task = supplied_task("search", 4);
    task["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": 0.05});
    let finished = race(&plan(server.port, &[task]), |lane, event| {
        if let LaneEvent::Prepare { .. } = event {
            lane.supply((0, 0), &search("/only"), None).unwrap();
            prepared(lane, event);
        }
    });
    let result = finished.task("search");
    assert_eq!((result.accounting.operations, result.ended_by, result.underruns), (1, EndedBy::Time, 1));
}

#[test]
fn a_plan_without_python_has_no_lane() {
    let server = Server::start(|_, _| Some(good()));
    run_with(&plan(server.port, &[request_task("native", 1, 1)]), |race| assert!(race.lane().is_none()));
}
