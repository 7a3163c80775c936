//! The memory that reading a response takes: hardly more than its body, whatever it contains. The tests are in a
//! program of their own, because the kernel knows only the peak of a whole process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

#[path = "suite/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "these tests use a small part of it")]
mod support;

use std::fs;

use serde_json::{Value, json};
use support::calls::calls_task;
use support::server::response_with;
use support::{Finished, Server, plan, request, run};

/// Memory, in KiB, that a response of 3 MB may take, with its copies in the server and in the driver.
const MAX_KIB: u64 = 60 << 10;

/// Returns the peak of the memory of this process since it was last reset, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Runs a race of one request, and checks the memory that the response takes.
fn race(case: &str, planned: Value, body: String) -> Finished {
    let server = Server::start(move |_, _| Some(response_with(200, "", body.as_bytes())));
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = peak_kib();
    let mut plan = plan(server.port, &[calls_task("one", 1, &[planned])]);
    plan["target"]["timeout_ms"] = 60_000.into();
    let race = run(&plan);
    let taken = peak_kib().saturating_sub(before);
    assert!(taken < MAX_KIB, "{case}: the response takes {taken} KiB");
    assert_eq!(race.summary.error, None, "{case}");
    race
}

fn reason(race: &Finished) -> &str {
    race.task("one").errors.first().map_or("", |error| error.reason.as_str())
}

/// Returns the request of a check, and what else it has.
fn checked(check: Value, field: &str, value: Value) -> Value {
    let mut request = request("GET", "/_search");
    request["check"] = check;
    request[field] = value;
    request
}

#[test]
fn reading_a_response_takes_hardly_more_memory_than_its_body() {
    // One after the other: the memory is that of the process.
    values_of_responses_are_not_parsed_whole();
    a_long_name_is_not_repeated_for_each_figure();
    long_texts_are_not_copied();
}

fn long_texts_are_not_copied() {
    // The server and the driver have the body; each further copy takes at least as much, and an error of the parser
    // that quotes it six times as much.
    let text = "\x7f".repeat(11 << 20);
    let health = || {
        checked(
            json!({"kind": "health", "status": "green", "no_relocating_shards": false}),
            "weight",
            json!(1),
        )
    };
    let search = || request("GET", "/_search");
    for (case, planned, body, expected) in [
        ("error", search(), format!(r#"{{"error":"{text}"}}"#), "the engine reports an error: \x7f"),
        (
            "reason",
            search(),
            format!(r#"{{"error":{{"reason":"{text}"}}}}"#),
            "the engine reports an error: \x7f",
        ),
        (
            "took",
            search(),
            format!(r#"{{"took":"{text}"}}"#),
            "the response has invalid JSON or a value of the",
        ),
        ("status", health(), format!(r#"{{"status":"{text}"}}"#), "health is \x7f"),
    ] {
        let race = race(case, planned, body);
        assert!(reason(&race).starts_with(expected), "{case}: {}", reason(&race));
    }
}

fn values_of_responses_are_not_parsed_whole() {
    // Parsed, each of these values takes a hundred times its length.
    let nested = format!("[{}{{}}]", r#"{"":0},"#.repeat(400_000));
    let search = |shards: &str, rest: &str| {
        format!(r#"{{"took":1,"timed_out":false,"_shards":{{{shards}}}{rest},"hits":{{"hits":[]}}}}"#)
    };
    let whole = r#""total":1,"successful":1,"skipped":0,"failed":0"#;

    let failures = format!(r#""total":1,"successful":0,"failed":1,"failures":[{{"reason":{nested}}}]"#);
    let failed = race("shards", request("GET", "/_search"), search(&failures, ""));
    assert_eq!(reason(&failed), "1 shards failed: ");
    let cause = format!(r#"{{"root_cause":{nested},"type":"t","reason":"r"}}"#);
    let failures = format!(r#""total":1,"successful":0,"failed":1,"failures":[{{"reason":{cause}}}]"#);
    let failed = race("cause", request("GET", "/_search"), search(&failures, ""));
    assert_eq!(reason(&failed), "t: 1 shards failed: r");

    let value = format!(r#","value":{nested}"#);
    let assertion =
        json!([{"property": "v", "paths": ["value"], "condition": "==", "value": 1, "in_details": false}]);
    let asserted = checked(json!({"kind": "search"}), "assertions", assertion);
    let failed = race("assertion", asserted, search(whole, &value));
    let shown = failed.summary.aborted.clone().unwrap_or_else(|| reason(&failed).to_owned());
    assert!(shown.contains(r#"v is [{"":0},{"":0}"#), "{shown}");
    let condition = json!({"kind": "condition", "path": "value", "expected": "done"});
    let failed = race("condition", checked(condition, "weight", json!(1)), search(whole, &value));
    assert!(reason(&failed).starts_with(r#"value is [{"":0},{"":0}"#), "{}", reason(&failed));

    let detailed = || checked(json!({"kind": "search"}), "details", json!("search"));
    let clusters = format!(r#","_clusters":{{"total":1,"successful":1,"details":{{"a":{{"x":{nested}}}}}}}"#);
    for (case, body) in [
        ("clusters", search(whole, &clusters)),
        ("failures", search(&format!(r#"{whole},"failures":{nested}"#), "")),
    ] {
        let race = race(case, detailed(), body);
        assert_eq!(race.samples[0].details.as_ref().unwrap()["shards"]["total"], 1, "{case}");
    }
    let wrong = search(whole, "").replace("\"hits\":[]", &format!(r#""total":{nested}"#));
    assert_eq!(race("hits", detailed(), wrong).samples[0].details, None);
}

fn a_long_name_is_not_repeated_for_each_figure() {
    let operators = |count: usize| {
        let operator = |number| format!(r#"{{"operator":"{number}","status":{{"process_nanos":5}}}}"#);
        (0..count).map(operator).collect::<Vec<_>>().join(",")
    };
    let profile = format!(
        r#"{{"drivers":[{{"description":"{}","took_nanos":1,"cpu_nanos":1,"operators":[{}]}}]}}"#,
        "d".repeat(300_000),
        operators(5_000)
    );
    let body = format!(r#"{{"took":1,"columns":[],"values":[],"profile":{profile}}}"#);
    let profiled = checked(json!({"kind": "esql"}), "details", json!("esql_profile"));
    let race = race("profile", profiled, body);
    assert_eq!(race.samples[0].details.as_ref().unwrap().as_object().unwrap().len(), 2000);
}
