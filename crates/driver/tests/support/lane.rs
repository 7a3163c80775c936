//! A thread of the test that plays Python.
#![allow(dead_code, reason = "each test uses its part")]

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pacenote_driver::{Lane, LaneEvent, LaneRequest};
use serde_json::{Value, json};

use super::{Finished, request, request_task, run_with};

/// A task without any bound of its own whose operations come from Python.
pub fn python_task(name: &str, clients: u32, work: Value) -> Value {
    let mut task = request_task(name, clients, 1);
    task["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": null});
    task["work"] = work;
    task
}

/// A task whose operations Python supplies.
pub fn supplied_task(name: &str, ahead: u32) -> Value {
    python_task(name, 1, json!({"kind": "supplied", "ahead": ahead}))
}

/// A task whose operations a runner carries out.
pub fn lane_task(name: &str) -> Value {
    python_task(name, 1, json!({"kind": "lane"}))
}

/// A `Supply` document of one search.
pub fn search(path: &str) -> String {
    let task = request_task("t", 1, 1);
    json!({"kind": "calls", "calls": [request("GET", path)], "retry": task["work"]["retry"]}).to_string()
}

/// What a runner says of a success.
pub fn success(weight: u64, last: bool) -> String {
    json!({"weight": weight, "unit": "ops", "success": true, "last": last, "error": null}).to_string()
}

/// What a runner says of a failure, its last operation.
pub fn failure(class: &str) -> String {
    let error = json!({"class": class, "kind": "Oops", "status": null, "reason": "it broke"});
    json!({"weight": 2, "unit": "ops", "success": false, "last": true, "error": error}).to_string()
}

/// A request of a runner.
pub fn get(target: &str) -> LaneRequest {
    let headers = vec![("x-own".into(), "1".into()), ("Connection".into(), "keep-alive".into())];
    LaneRequest { method: "GET".into(), target: target.into(), headers, body: None, timeout: None }
}

/// Waits until the lane has events.
pub fn wait_for_events(lane: &Lane) -> Vec<LaneEvent> {
    loop {
        let events = lane.events();
        if !events.is_empty() {
            return events;
        }
        // Waiting at the descriptor is what the test in Python does.
        thread::sleep(Duration::from_millis(1));
    }
}

/// Lets `hear` have every event until the race is over.
pub fn listen(lane: &Lane, mut hear: impl FnMut(&Lane, &LaneEvent)) {
    loop {
        let events = wait_for_events(lane);
        for event in events.iter().filter(|event| **event != LaneEvent::Quit) {
            hear(lane, event);
        }
        if events.contains(&LaneEvent::Quit) {
            return;
        }
    }
}

/// Runs a plan while `hear` has every event until the race is over.
pub fn race(plan: &Value, hear: impl FnMut(&Lane, &LaneEvent) + Send + 'static) -> Finished {
    let mut player = None;
    let finished = run_with(plan, |race| {
        let lane = Arc::clone(race.lane().expect("the plan needs Python"));
        player = Some(thread::spawn(move || listen(&lane, hear)));
    });
    player.unwrap().join().unwrap();
    finished
}

/// Answers `prepare`.
pub fn prepared(lane: &Lane, event: &LaneEvent) {
    if let LaneEvent::Prepare { step } = event {
        lane.prepared(*step, None);
    }
}
