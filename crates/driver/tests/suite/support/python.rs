//! A thread of the test that plays the role of Python.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pacenote_driver::{PythonBridge, PythonEvent, RunnerFailure, RunnerRequest, RunnerResult, TaskClientId};
use serde_json::{Value, json};

use super::{Finished, request, request_task, run_with};

/// The only client of the first task.
pub const CLIENT: TaskClientId = TaskClientId { task_index: 0, client_number: 0 };

/// Builds a task without a bound whose operations come from Python.
pub fn python_task(name: &str, clients: u32, work: Value) -> Value {
    let mut task = request_task(name, clients, 1);
    task["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": null});
    task["work"] = work;
    task
}

/// Builds a task with one client whose operations Python queues.
pub fn queued_task(name: &str, ahead: u32) -> Value {
    python_task(name, 1, json!({"kind": "supplied", "ahead": ahead}))
}

/// Builds a task with one client whose operations are executed by a runner.
pub fn runner_task(name: &str) -> Value {
    python_task(name, 1, json!({"kind": "python_runner"}))
}

/// Builds a `SuppliedOperation` document with one search.
pub fn search(path: &str) -> String {
    let task = request_task("t", 1, 1);
    json!({"kind": "calls", "calls": [request("GET", path)], "retry": task["work"]["retry"]}).to_string()
}

/// Builds the result of a successful operation.
pub fn success(weight: u64, last: bool) -> RunnerResult {
    RunnerResult {
        weight,
        failed_weight: 0,
        unit: "ops".into(),
        success: true,
        last,
        failure: None,
        source_wait: Duration::ZERO,
        details: None,
    }
}

/// Builds the result of a failed operation, the last one of its client.
pub fn failure(class: &str) -> RunnerResult {
    let class = RunnerFailure::class_of(class).unwrap();
    let failure = RunnerFailure { class, error_type: "Oops".into(), status: None, reason: "it broke".into() };
    RunnerResult {
        weight: 0,
        failed_weight: 2,
        unit: "ops".into(),
        success: false,
        last: true,
        failure: Some(failure),
        source_wait: Duration::ZERO,
        details: None,
    }
}

/// Builds a runner's request.
pub fn get(target: &str) -> RunnerRequest {
    let headers = vec![("x-own".into(), "1".into()), ("Connection".into(), "keep-alive".into())];
    RunnerRequest { method: "GET".into(), target: target.into(), headers, body: None, timeout: None }
}

/// Waits until at least one event is queued, and returns all queued events.
pub fn wait_for_events(bridge: &PythonBridge) -> Vec<PythonEvent> {
    loop {
        let events: Vec<_> = bridge.events().into_iter().map(|read| read.event).collect();
        if !events.is_empty() {
            return events;
        }
        // The Python tests wait on the file descriptor instead.
        thread::sleep(Duration::from_millis(1));
    }
}

/// Passes every event to `handler` until the race is over.
pub fn serve_events(bridge: &PythonBridge, mut handler: impl FnMut(&PythonBridge, &PythonEvent)) {
    loop {
        let events = wait_for_events(bridge);
        for event in events.iter().filter(|event| **event != PythonEvent::RaceEnded) {
            handler(bridge, event);
        }
        if events.contains(&PythonEvent::RaceEnded) {
            return;
        }
    }
}

/// Runs a plan and calls `handler` with every event until the race is over.
pub fn race(plan: &Value, handler: impl FnMut(&PythonBridge, &PythonEvent) + Send + 'static) -> Finished {
    let mut player = None;
    let finished = run_with(plan, |race| {
        let bridge = Arc::clone(race.bridge().expect("the plan needs Python"));
        player = Some(thread::spawn(move || serve_events(&bridge, handler)));
    });
    player.unwrap().join().unwrap();
    finished
}

/// Answers `PrepareStep`, and ignores other events.
pub fn prepared(bridge: &PythonBridge, event: &PythonEvent) {
    if let PythonEvent::PrepareStep { step } = event {
        bridge.prepared(*step, None);
    }
}
