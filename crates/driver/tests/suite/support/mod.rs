//! Helpers shared by the driver's tests: a scripted server, functions that build plans, and the results of a race.

pub mod calls;
pub mod python;
pub mod samples;
pub mod server;

use std::path::Path;
use std::time::Duration;

use pacenote_driver::{Race, RaceEvent, RaceSummary, ResponseMemory};
use pacenote_plan::Plan;
use pacenote_record::TaskResult;
use serde_json::{Value, json};

pub use samples::Sample;
pub use server::{LoggedRequest, Server, json_response, success_response};

/// Builds a plan that runs each of `tasks` in its own step, with all of the task's clients.
pub fn plan(port: u16, tasks: &[Value]) -> Value {
    let steps: Vec<Value> = (0..tasks.len()).map(|index| step(tasks, &[index])).collect();
    json!({
        "version": 6, "race_id": "test", "seed": 1,
        "target": {"hosts": [{"scheme": "http", "host": "127.0.0.1", "port": port, "path": "", "proxy": null}],
                   "headers": [["x-test", "yes"]], "timeout_ms": 5000, "compress": false,
                   "tls": {"ca_file": null, "client_cert": null, "client_key": null, "verify": true,
                           "verify_host": true, "server_name": null}},
        "others": [],
        "driver": {"threads": 2, "on_error": "continue", "samples": "all", "scheduling": "normal"},
        "tasks": tasks, "steps": steps
    })
}

/// Builds a step that runs the tasks at these indices in parallel.
pub fn step(tasks: &[Value], members: &[usize]) -> Value {
    let mut client_allocations = Vec::new();
    for task in members {
        for client in 0..tasks[*task]["clients"].as_u64().unwrap() {
            let row = client_allocations.len();
            client_allocations
                .push(json!({"client": row, "allocations": [{"task": task, "client": client}]}));
        }
    }
    json!({"name": "step", "client_allocations": client_allocations, "completed_by": null})
}

/// Builds an unpaced task whose operation is one search request.
pub fn request_task(name: &str, clients: u32, iterations: u64) -> Value {
    json!({
        "name": name, "operation": name, "operation_type": "search", "clients": clients,
        "pacing": {"kind": "unpaced"}, "open_loop": false, "bound": {"kind": "iterations", "warmup": 0, "measured": iterations},
        "ramp_up_s": 0.0, "unit": "ops", "tolerates_errors": false, "must_succeed": false,
        "work": {"kind": "calls", "calls": [request("GET", "/_search")],
                 "retry": {"retries": 0, "until_success": false, "limit_s": 600.0, "wait_s": 0.01, "on_timeout": true,
                           "on_unsuccess": false}}
    })
}

pub fn request(method: &str, path: &str) -> Value {
    json!({"kind": "request", "method": method, "path": path, "headers": [], "body": null, "check": {"kind": "search"}, "ignore": [],
           "weight": 1, "ignored_weight": 0, "timeout_ms": null, "poll": null,
           "assertions": [], "capture": null, "placeholder": null, "cleanup": false})
}

/// Builds a task that indexes a file.
pub fn bulk_task(name: &str, clients: u32, file: &Path, documents: u64) -> Value {
    let mut task = request_task(name, clients, 1);
    task["operation_type"] = "bulk".into();
    task["unit"] = "docs".into();
    task["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": null});
    task["work"] = json!({"kind": "bulk", "path": "/_bulk", "headers": [["content-type", "application/x-ndjson"]],
        "files": [{"path": file, "documents": documents, 
                   "action": {"kind": "line", "line": "{\"index\":{\"_index\":\"logs\"}}"}, "corpus": 0}],
        "bulk_size": 7, "limit": {"kind": "share", "share": 1.0}, "looped": false, "conflicts": null,
        "retries_on_429": 0, "timeout_ms": null});
    task
}

/// The results of a race.
pub struct Finished {
    pub tasks: Vec<TaskResult>,
    pub summary: RaceSummary,
    /// The rows of `samples.parquet`.
    pub samples: Vec<Sample>,
}

impl Finished {
    pub fn task(&self, name: &str) -> &TaskResult {
        self.tasks.iter().find(|task| task.task == name).expect("the race has no task with this name")
    }
}

/// Runs a plan to completion in a temporary folder.
pub fn run(plan: &Value) -> Finished {
    run_with(plan, |_| ())
}

/// Runs a plan to completion, and calls `meanwhile` as soon as the race has started.
pub fn run_with(plan: &Value, meanwhile: impl FnOnce(&Race)) -> Finished {
    finish(plan, ResponseMemory::of_process(), meanwhile)
}

/// Runs a plan to completion, with a limit on the memory that responses occupy.
pub fn run_with_memory(plan: &Value, memory: ResponseMemory) -> Finished {
    finish(plan, memory, |_| ())
}

fn finish(plan: &Value, memory: ResponseMemory, meanwhile: impl FnOnce(&Race)) -> Finished {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan::from_json(&plan.to_string()).unwrap();
    let race = Race::start(plan, folder.path(), memory).unwrap();
    meanwhile(&race);
    let mut tasks = Vec::new();
    for _ in 0..600 {
        for event in race.wait(Duration::from_millis(100)) {
            match event {
                RaceEvent::TaskFinished(result) => tasks.push(*result),
                RaceEvent::Finished(summary) => {
                    let samples = samples::read(folder.path());
                    assert_eq!(
                        summary.contradictions,
                        [] as [String; 0],
                        "the driver's counts do not add up"
                    );
                    return Finished { tasks, summary: *summary, samples };
                }
            }
        }
    }
    panic!("the race did not end within a minute");
}
