//! A small HTTP server on a real socket, and plans in a few words.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]
#![allow(dead_code, reason = "each test uses its part")]

pub mod lane;

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pacenote_driver::{Event, Race, Summary};
use pacenote_plan::Plan;
use pacenote_record::TaskResult;
use serde_json::{Value, json};

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub line: String,
    pub headers: Vec<String>,
    pub body: Vec<u8>,
    pub connection: usize,
}

/// What the server does with a request: the whole reply, or nothing at all.
pub type Answer = dyn Fn(&Seen, usize) -> Option<Vec<u8>> + Send + Sync;

/// A server that runs until the test's process ends.
pub struct Server {
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Answers every request with what `answer` makes of it and of the number of requests before it.
    pub fn start(answer: impl Fn(&Seen, usize) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (log, answer): (_, Arc<Answer>) = (Arc::clone(&seen), Arc::new(answer));
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                thread::spawn(move || serve(&stream.unwrap(), connection, &log, &*answer));
            }
        });
        Self { port, seen }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(stream: &TcpStream, connection: usize, log: &Mutex<Vec<Seen>>, answer: &Answer) {
    let mut reader = BufReader::new(stream);
    while let Some(seen) = read_request(&mut reader, connection) {
        let before = {
            let mut log = log.lock().unwrap();
            log.push(seen.clone());
            log.len() - 1
        };
        match answer(&seen, before) {
            Some(reply) => {
                let mut stream = stream;
                if stream.write_all(&reply).is_err()
                    || reply.windows(17).any(|part| part == b"connection: close")
                {
                    return;
                }
            }
            None => thread::sleep(Duration::from_mins(10)),
        }
    }
}

fn read_request(reader: &mut impl BufRead, connection: usize) -> Option<Seen> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let length =
        lines.iter().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let line = lines.remove(0);
    Some(Seen { line, headers: lines, body, connection })
}

/// A reply with a JSON body.
pub fn reply(status: u16, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A good reply to anything.
pub fn good() -> Vec<u8> {
    reply(200, &json!({"took": 3, "errors": false, "timed_out": false, "_shards": {"failed": 0}}))
}

/// A plan for `tasks`, each run in its own step by all its clients.
pub fn plan(port: u16, tasks: &[Value]) -> Value {
    let steps: Vec<Value> = (0..tasks.len()).map(|index| step(tasks, &[index])).collect();
    json!({
        "version": 3, "race_id": "test", "seed": 1,
        "target": {"hosts": [{"scheme": "http", "host": "127.0.0.1", "port": port, "path": "", "proxy": null}],
                   "headers": [["x-test", "yes"]], "timeout_ms": 5000, "compress": false,
                   "tls": {"ca_file": null, "client_cert": null, "client_key": null, "verify": true,
                           "verify_host": true, "server_name": null}},
        "others": [],
        "driver": {"threads": 2, "on_error": "continue", "spin_us": 0, "samples": "all"},
        "tasks": tasks, "steps": steps
    })
}

/// A step that runs some tasks in parallel.
pub fn step(tasks: &[Value], members: &[usize]) -> Value {
    let mut slots = Vec::new();
    for task in members {
        for client in 0..tasks[*task]["clients"].as_u64().unwrap() {
            let row = slots.len();
            slots.push(json!({"client": row, "allocations": [{"task": task, "client": client}]}));
        }
    }
    json!({"name": "step", "slots": slots, "completed_by": null})
}

/// A task of one prepared request.
pub fn request_task(name: &str, clients: u32, iterations: u64) -> Value {
    json!({
        "name": name, "operation": name, "operation_type": "search", "clients": clients,
        "pace": {"kind": "unpaced"}, "open_loop": false, "bound": {"kind": "iterations", "warmup": 0, "measured": iterations},
        "ramp_up_s": 0.0, "unit": "ops", "tolerates_errors": false,
        "work": {"kind": "calls", "calls": [request("GET", "/_search")],
                 "retry": {"retries": 0, "until_success": false, "wait_s": 0.01, "on_timeout": true,
                           "on_unsuccess": false}}
    })
}

pub fn request(method: &str, path: &str) -> Value {
    json!({"kind": "request", "method": method, "path": path, "headers": [], "body": null, "check": {"kind": "search"}, "ignore": [],
           "weight": 1, "ignored_weight": 0, "timeout_ms": null, "poll": null,
           "assertions": [], "remember": null, "recall": null})
}

/// A task that posts a file.
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

/// Everything a race came to.
pub struct Finished {
    pub tasks: Vec<TaskResult>,
    pub summary: Summary,
}

impl Finished {
    pub fn task(&self, name: &str) -> &TaskResult {
        self.tasks.iter().find(|task| task.task == name).expect("no such task")
    }
}

/// Runs a plan to its end in a folder of its own.
pub fn run(plan: &Value) -> Finished {
    run_with(plan, |_| ())
}

/// The same, with something to do once the race runs.
pub fn run_with(plan: &Value, meanwhile: impl FnOnce(&Race)) -> Finished {
    let folder = tempfile::tempdir().unwrap();
    let race = Race::start(Plan::from_json(&plan.to_string()).unwrap(), folder.path()).unwrap();
    meanwhile(&race);
    let mut tasks = Vec::new();
    for _ in 0..600 {
        for event in race.wait(Duration::from_millis(100)) {
            match event {
                Event::TaskFinished(result) => tasks.push(*result),
                Event::Finished(summary) => return Finished { tasks, summary: *summary },
            }
        }
    }
    panic!("the race did not end within a minute");
}
