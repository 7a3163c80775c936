//! Plans with a single task, which sends one kind of request.

use std::error::Error;
use std::path::Path;

use pacenote_plan::{Plan, VERSION};
use serde_json::{Value, json};

/// Number of documents in the data file, which is indexed repeatedly.
const DOCUMENTS: u64 = 4_000;
/// Number of documents in a bulk; the request must fit into a socket's send buffer before the server reads it.
const BULK_SIZE: u64 = 100;
/// A document as long as a typical log line.
const DOCUMENT: &str = r#"{"@timestamp": 897484581, "clientip": "211.11.9.0", "request": "GET /images/hm_bg.jpg HTTP/1.0", "status": 200, "size": 24736}"#;

/// A kind of request, its clients and their rate.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    name: &'static str,
    /// Number of clients that send it.
    pub clients: u32,
    /// Seconds between two operations; `None` if each operation begins when the previous one has ended.
    interval_s: Option<f64>,
    bulk: bool,
}

/// All kinds. The rate of the paced kind is low enough that operations are not late while instructions are counted.
const KINDS: [Kind; 4] = [
    Kind { name: "search", clients: 1, interval_s: None, bulk: false },
    Kind { name: "search-16-clients", clients: 16, interval_s: None, bulk: false },
    Kind { name: "search-paced", clients: 1, interval_s: Some(0.01), bulk: false },
    Kind { name: "bulk-100", clients: 1, interval_s: None, bulk: true },
];

impl Kind {
    /// Returns the kind with this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        KINDS.into_iter().find(|kind| kind.name == name)
    }
}

/// Returns a plan in which every client executes `operations` operations, and writes the data file to `folder`.
pub fn plan(port: u16, kind: Kind, operations: u64, folder: &Path) -> Result<Plan, Box<dyn Error>> {
    let row = |client: u32| json!({"client": client, "allocations": [{"task": 0, "client": client}]});
    let rows: Vec<Value> = (0..kind.clients).map(row).collect();
    let pacing = match kind.interval_s {
        None => json!({"kind": "unpaced"}),
        Some(interval_s) => json!({"kind": "deterministic", "interval_s": interval_s}),
    };
    let (operation_type, unit, work) =
        if kind.bulk { ("bulk", "docs", bulk(folder)?) } else { ("search", "ops", search()) };
    let plan = json!({
        "version": VERSION, "race_id": "instructions", "seed": 1,
        "target": {
            "hosts": [{"scheme": "http", "host": "127.0.0.1", "port": port, "path": "", "proxy": null}],
            "headers": [], "timeout_ms": 60_000, "compress": false,
            "tls": {"ca_file": null, "client_cert": null, "client_key": null, "verify": true,
                    "verify_host": true, "server_name": null},
        },
        "others": [],
        "driver": {"threads": 1, "on_error": "abort", "samples": "all", "scheduling": "normal"},
        "tasks": [{
            "name": kind.name, "operation": kind.name, "operation_type": operation_type,
            "clients": kind.clients, "pacing": pacing, "open_loop": false,
            "bound": {"kind": "iterations", "warmup": 0, "measured": operations},
            "ramp_up_s": 0.0, "unit": unit, "tolerates_errors": false, "must_succeed": false, "work": work,
        }],
        "steps": [{"name": kind.name, "client_allocations": rows, "completed_by": null}],
    });
    Ok(Plan::from_json(&plan.to_string())?)
}

fn search() -> Value {
    let request = json!({
        "kind": "request", "method": "POST", "path": "/logs/_search",
        "headers": [["content-type", "application/json"]], "body": "{\"query\":{\"match\":{\"a\":\"b\"}}}",
        "check": {"kind": "search"}, "ignore": [], "weight": 1, "ignored_weight": 0, "timeout_ms": null,
        "poll": null, "assertions": [], "capture": null, "placeholder": null, "cleanup": false,
    });
    let retry = json!({"retries": 0, "until_success": false, "limit_s": 600.0, "wait_s": 0.5, "on_timeout": true, "on_unsuccess": false});
    json!({"kind": "calls", "calls": [request], "retry": retry})
}

fn bulk(folder: &Path) -> std::io::Result<Value> {
    let path = folder.join("documents.json");
    std::fs::write(&path, format!("{DOCUMENT}\n").repeat(usize::try_from(DOCUMENTS).unwrap_or(0)))?;
    Ok(json!({
        "kind": "bulk", "path": "/_bulk", "headers": [["content-type", "application/x-ndjson"]],
        "files": [{"path": path, "documents": DOCUMENTS, "corpus": 0,
                   "action": {"kind": "line", "line": "{\"index\":{\"_index\":\"logs\"}}"}}],
        "bulk_size": BULK_SIZE, "limit": {"kind": "share", "share": 1.0}, "looped": true, "conflicts": null,
        "retries_on_429": 0, "timeout_ms": null,
    }))
}
