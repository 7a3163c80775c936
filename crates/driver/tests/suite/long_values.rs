//! Values of responses that are too long for the requests that would send them.

use serde_json::{Value, json};

use crate::support::calls::{calls_task, composite, operation, paged, path_of, with_body};
use crate::support::server::response_with;
use crate::support::{Server, plan, request, run};

#[test]
fn an_operation_fails_if_a_value_for_a_later_request_is_too_long() {
    let id = "i".repeat((16 << 20) - 1);
    let server = Server::start(move |seen, _| {
        let name =
            ["id", "pit_id", "_scroll_id"].into_iter().find(|name| path_of(seen) == format!("/{name}"));
        let hits = r#""hits":{"hits":[{"sort":[1]}]}"#;
        let body = format!(r#"{{"took":3,"timed_out":false,"{}":"{id}",{hits}}}"#, name.unwrap_or("none"));
        Some(response_with(200, "", body.as_bytes()))
    });
    let mut capturing = request("POST", "/id");
    capturing["check"] = json!({"kind": "status"});
    capturing["capture"] = json!({"name": "a", "path": "id"});
    let mut get = request("GET", "/a/@ID@");
    get["placeholder"] = json!({"name": "a", "marker": "@ID@", "optional": true});
    let items = [operation("a", &[capturing]), operation("get", &[get])];
    let pages = |path: &str, kind: Value| {
        paged(with_body("GET", path, &json!({"pit": {"id": "x"}})), kind, 2, Value::Null)
    };
    for (call, what) in [
        (composite(&items, Value::Null), "id"),
        (pages("/pit_id", json!({"kind": "search_after"})), "its point in time"),
        (pages("/_scroll_id", json!({"kind": "scroll", "keep_alive": "1m"})), "its scroll id"),
    ] {
        let before = server.requests().len();
        let mut plan = plan(server.port, &[calls_task("long", 1, &[call])]);
        plan["target"]["timeout_ms"] = 60_000.into();
        let race = run(&plan);
        let expected = "has 16777217 bytes; a value that later requests send may have at most 16777216";
        assert_eq!(race.task("long").errors[0].reason, format!("{what} {expected}"));
        assert_eq!((race.task("long").operation_totals.failed, server.requests().len() - before), (1, 1));
    }
}
