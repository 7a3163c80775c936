//! Checks whether a response is a success, by its status and by the results that the engine reports in its body. This
//! is done after the request has been timed.

use std::cmp::Ordering;

use pacenote_plan::{Assertion, Check, Comparison, Request};
use pacenote_record::ErrorClass;
use serde_json::Value;

use crate::response::administration::{
    check_acknowledged, check_empty, check_health, check_shards, check_task,
};
use crate::response::async_search::{
    check_ended_search, check_submitted_search, check_unavailable_search, has_ended,
};
use crate::response::body::{
    CheckResult, ComparedValue, check_no_error, excerpt, http_error, invalid_json, is_2xx, to_text,
};
use crate::response::json_scan::{InvalidJson, value_at_path_in_slices};
use crate::response::outcome::WorkOutcome;
use crate::response::search::{check_esql, check_search, fast_path_search};
use crate::response::selection::filters_fields;
use crate::slices::Slices;

/// Checks the response to a request. Reads a long body in slices, between which the thread serves its other clients.
pub async fn check_response(request: &Request, status: u16, body: &[u8]) -> WorkOutcome {
    if !is_2xx(status) {
        if request.ignore.contains(&status) {
            return WorkOutcome::success(request.ignored_weight);
        }
        let failure = http_error(status, body).await;
        // Elasticsearch reports the failure of a search also in the status.
        let is_final = matches!(request.check, Check::AsyncSearch { .. }) && has_ended(body).await;
        return if is_final { failure.into_final() } else { failure };
    }
    let checked = match &request.check {
        Check::Status {} => Ok(Ok(None)),
        Check::NoError {} => check_no_error(body).await,
        Check::Search {} => match fast_path_search(body) {
            Some(took_ms) => Ok(Ok(Some(took_ms))),
            None => check_search(body, filters_fields(&request.path)).await,
        },
        Check::Health { status, no_relocating_shards } => {
            check_health(body, *status, *no_relocating_shards).await
        }
        Check::Condition { path, expected } => check_condition(body, path, expected).await,
        Check::Esql {} => check_esql(body, filters_fields(&request.path)).await,
        Check::Empty { path } => check_empty(body, path).await,
        Check::AsyncSearch { path, expected } => match check_condition(body, path, expected).await {
            Ok(Ok(_)) => check_ended_search(body).await,
            Ok(Err(unmet)) => check_unavailable_search(body, unmet).await,
            Err(InvalidJson) => Err(InvalidJson),
        },
        Check::SubmittedSearch {} => check_submitted_search(body).await,
        Check::Acknowledged {} => check_acknowledged(body).await,
        Check::Shards { path } => check_shards(body, path).await,
        Check::Task {} => check_task(body).await,
    };
    match checked {
        Ok(Ok(took_ms)) => WorkOutcome::success(request.weight).with_took(took_ms),
        Ok(Err(failure)) => failure.with_status(status),
        Err(InvalidJson) => invalid_json(status, body),
    }
}

/// Returns the failure of the first of the track's assertions about a response that does not hold, or `None` if all of
/// them hold. Reads a long body in slices.
pub async fn failed_assertion(assertions: &[Assertion], body: &[u8]) -> Option<WorkOutcome> {
    for assertion in assertions.iter().filter(|assertion| !assertion.in_details) {
        let Ok(value) = asserted_value(assertion, body).await else { return Some(invalid_json(0, body)) };
        let is_met = matches!(&value, Some(ComparedValue::Parsed(value)) if holds(value, assertion));
        if !is_met {
            return Some(assertion_failure(assertion, value.map(ComparedValue::into_text)));
        }
    }
    None
}

/// Returns the failure of the first of the track's assertions about the details of an operation that does not hold.
pub fn failed_assertion_of_details(assertions: &[Assertion], details: &Value) -> Option<WorkOutcome> {
    assertions.iter().filter(|assertion| assertion.in_details).find_map(|assertion| {
        let value = assertion.paths.iter().find_map(|path| detail(details, path));
        let is_met = value.is_some_and(|value| holds(value, assertion));
        (!is_met).then(|| assertion_failure(assertion, value.map(to_text)))
    })
}

/// Returns the value of a detail: that of the key `path`, or at its keys joined by dots.
fn detail<'a>(details: &'a Value, path: &str) -> Option<&'a Value> {
    details.get(path).or_else(|| path.split('.').try_fold(details, |value, key| value.get(key)))
}

/// Returns the value that an assertion refers to: that of the first of its paths which the response contains.
async fn asserted_value(assertion: &Assertion, body: &[u8]) -> Result<Option<ComparedValue>, InvalidJson> {
    let mut slices = Slices::default();
    for path in &assertion.paths {
        if let Some(text) = value_at_path_in_slices(body, path.split('.'), &mut slices).await? {
            return ComparedValue::read(text, &mut slices).await.map(Some);
        }
    }
    Ok(None)
}

fn assertion_failure(assertion: &Assertion, actual: Option<String>) -> WorkOutcome {
    let Assertion { property, condition, value: expected, .. } = assertion;
    let operator = match condition {
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Equal => "==",
        Comparison::GreaterOrEqual => ">=",
        Comparison::Greater => ">",
    };
    let actual = actual.map_or_else(|| "absent".to_owned(), |text| excerpt(text.as_bytes()));
    let reason = format!("{property} is {actual}, but the track asserts {operator} {}", to_text(expected));
    WorkOutcome::failure(ErrorClass::Assertion, reason)
}

/// Returns whether an assertion holds for a value. It never holds if the types of the values differ.
fn holds(actual: &Value, assertion: &Assertion) -> bool {
    let order = match (actual, &assertion.value) {
        (Value::Number(actual), Value::Number(expected)) => match (actual.as_i64(), expected.as_i64()) {
            (Some(actual), Some(expected)) => Some(actual.cmp(&expected)),
            _ => actual
                .as_f64()
                .zip(expected.as_f64())
                .and_then(|(actual, expected)| actual.partial_cmp(&expected)),
        },
        (Value::String(actual), Value::String(expected)) => Some(actual.cmp(expected)),
        (Value::Bool(actual), Value::Bool(expected)) => Some(actual.cmp(expected)),
        _ => None,
    };
    order.is_some_and(|order| match assertion.condition {
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Equal => order == Ordering::Equal,
        Comparison::GreaterOrEqual => order != Ordering::Less,
        Comparison::Greater => order == Ordering::Greater,
    })
}

async fn check_condition(body: &[u8], path: &str, expected: &str) -> CheckResult {
    let mut slices = Slices::default();
    let found = value_at_path_in_slices(body, path.split('.'), &mut slices).await?;
    let actual = match found {
        Some(text) => ComparedValue::read(text, &mut slices).await?.into_text(),
        None => to_text(&Value::Null),
    };
    if actual == expected {
        return Ok(Ok(None));
    }
    if found.is_none()
        && let Err(failure) = check_no_error(body).await?
    {
        return Ok(Err(failure));
    }
    let reason = format!("{path} is {}, not {expected}", excerpt(actual.as_bytes()));
    Ok(Err(WorkOutcome::failure(ErrorClass::Condition, reason)))
}

#[cfg(test)]
mod tests {
    use pacenote_plan::HealthStatus;

    use super::*;
    use crate::response::{count_pauses, poll_once};

    fn request(check: Check) -> Request {
        Request {
            method: "GET".into(),
            path: "/".into(),
            headers: vec![],
            body: None,
            check,
            ignore: vec![404],
            weight: 5,
            ignored_weight: 2,
            timeout_ms: None,
            poll: None,
            assertions: Vec::new(),
            capture: None,
            placeholder: None,
            cleanup: false,
            details: None,
        }
    }

    fn checked(request: &Request, status: u16, body: &[u8]) -> WorkOutcome {
        poll_once(check_response(request, status, body))
    }

    fn class(check: Check, body: &str) -> ErrorClass {
        checked(&request(check), 200, body.as_bytes()).error_class
    }

    #[test]
    fn an_error_status_fails_unless_the_request_ignores_it() {
        let status = request(Check::Status {});
        assert_eq!(checked(&status, 201, b""), WorkOutcome::success(5));
        assert_eq!(checked(&status, 404, b""), WorkOutcome::success(2));
        let body = br#"{"error": {"type": "rejected", "reason": "queue is full"}, "status": 429}"#;
        let result = checked(&status, 429, body);
        assert_eq!((result.error_class, result.weight), (ErrorClass::HttpStatus, 0));
        assert_eq!((result.failures[0].error_type.as_str(), result.failures[0].status), ("rejected", 429));
        assert_eq!(checked(&status, 502, b"<html>Bad Gateway").failures[0].reason, "<html>Bad Gateway");
        let body = br#"{"error": {"root_cause": [{"type": "shape", "reason": "no such relation"}],
            "type": "search_phase_execution_exception", "reason": "all shards failed"}, "status": 400}"#;
        assert_eq!(checked(&status, 400, body).failures[0].reason, "no such relation");
    }

    #[test]
    fn an_ignored_status_of_2xx_is_checked_nevertheless() {
        let ignoring = Request { ignore: vec![200, 404], ..request(Check::Search {}) };
        let late = br#"{"took":7,"timed_out":true,"_shards":{"failed":0}}"#;
        assert_eq!(checked(&ignoring, 200, late).error_class, ErrorClass::SearchTimeout);
        assert_eq!(checked(&ignoring, 404, b""), WorkOutcome::success(2));
    }

    #[test]
    fn a_response_that_is_formatted_differently_has_the_same_result() {
        let compact = r#"{"took":17,"timed_out":false,"_shards":{"total":5,"successful":5,"skipped":0,"failed":0},"hits":{}}"#;
        let pretty = compact.replace(':', ": ");
        let result = checked(&request(Check::Search {}), 200, pretty.as_bytes());
        assert_eq!(result, checked(&request(Check::Search {}), 200, compact.as_bytes()));
        assert_eq!((result.took_ms, result.weight), (Some(17), 5));
    }

    #[test]
    fn a_search_fails_if_shards_or_clusters_are_missing() {
        let body = |shards: &str, clusters: &str| {
            format!(r#"{{"took":1,"timed_out":false,"_shards":{{{shards}}}{clusters},"hits":{{"hits":[]}}}}"#)
        };
        let all = r#""total":3,"successful":3,"skipped":1,"failed":0"#;
        for (shards, clusters) in [
            (all, ""),
            (all, r#","terminated_early":true,"num_reduce_phases":2"#),
            (
                all,
                r#","_clusters":{"total":2,"successful":2,"skipped":0,"running":0,"partial":0,"failed":0}"#,
            ),
            (r#""failed":0"#, ""),
        ] {
            assert_eq!(
                class(Check::Search {}, &body(shards, clusters)),
                ErrorClass::None,
                "{shards} {clusters}"
            );
        }
        for (shards, clusters, reason) in [
            // No copy of a shard was available; those that were skipped count as successful.
            (r#""total":3,"successful":2,"skipped":1,"failed":0"#, "", "1 of 3 shards are not available"),
            (all, r#","_clusters":{"total":2,"successful":1,"skipped":1}"#, "1 of 2 clusters"),
            (all, r#","_clusters":{"total":3,"successful":1}"#, "2 of 3 clusters"),
        ] {
            let body = body(shards, clusters);
            let result = checked(&request(Check::Search {}), 200, body.as_bytes());
            assert_eq!((result.error_class, result.took_ms), (ErrorClass::ShardFailure, Some(1)), "{body}");
            assert!(result.failures[0].reason.starts_with(reason), "{result:?}");
        }
        let body = body(r#""total":0,"successful":0,"skipped":0,"failed":0"#, "");
        let result = checked(&request(Check::Search {}), 200, body.as_bytes());
        assert_eq!((result.error_class, result.took_ms), (ErrorClass::Condition, Some(1)));
        assert_eq!(result.failures[0].reason, "no index matches the request, so no shard was searched");
    }

    #[test]
    fn an_asynchronous_search_fails_as_its_search_would() {
        let check = || Check::AsyncSearch { path: "is_running".into(), expected: "false".into() };
        let response = r#"{"took":5,"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0},"hits":{}}"#;
        let ended =
            |fields: &str| format!(r#"{{"id":"x",{fields},"is_running":false,"response":{response}}}"#);
        let result = checked(&request(check()), 200, ended(r#""is_partial":false"#).as_bytes());
        assert_eq!(result, WorkOutcome::success(5).with_took(Some(5)));
        let running = r#"{"is_partial":true,"is_running":true,"response":{"_shards":{"total":9,"successful":0,"failed":0}}}"#;
        let running = checked(&request(check()), 200, running.as_bytes());
        assert_eq!((running.error_class, running.is_final), (ErrorClass::Condition, false));
        for (body, expected) in [
            (ended(r#""is_partial":true"#), ErrorClass::Partial),
            (
                ended(r#""is_partial":false"#).replace(r#""failed":0"#, r#""failed":1"#),
                ErrorClass::ShardFailure,
            ),
            (
                ended(r#""is_partial":false"#).replace(r#""successful":1"#, r#""successful":0"#),
                ErrorClass::ShardFailure,
            ),
            (
                ended(r#""is_partial":false"#).replace(r#""timed_out":false"#, r#""timed_out":true"#),
                ErrorClass::SearchTimeout,
            ),
            (
                r#"{"is_running":false,"error":{"type":"t","reason":"all shards failed"}}"#.into(),
                ErrorClass::Condition,
            ),
            (
                ended(r#""is_partial":false"#)
                    .replace(r#""total":1,"successful":1"#, r#""total":0,"successful":0"#),
                ErrorClass::Condition,
            ),
            (r#"{"is_running":false,"error":"boom"}"#.into(), ErrorClass::Condition),
            (r#"{"is_running":false,"is_partial":falsehood}"#.into(), ErrorClass::Protocol),
        ] {
            let result = checked(&request(check()), 200, body.as_bytes());
            let is_final = expected != ErrorClass::Protocol;
            assert_eq!((result.error_class, result.is_final), (expected, is_final), "{body}");
        }
    }

    #[test]
    fn a_change_fails_unless_the_nodes_have_applied_it_and_its_shards_are_ready() {
        for body in [
            r#"{"acknowledged":true,"shards_acknowledged":true,"index":"x"}"#,
            r#"{"acknowledged":true}"#,
            // Some changes have other responses.
            r#"{"job_id":"x"}"#,
        ] {
            assert_eq!(class(Check::Acknowledged {}, body), ErrorClass::None, "{body}");
        }
        for body in [
            r#"{"acknowledged":false}"#,
            r#"{"acknowledged":false,"shards_acknowledged":false,"index":"x"}"#,
            r#"{"acknowledged":true,"shards_acknowledged":false,"index":"x"}"#,
        ] {
            let result = checked(&request(Check::Acknowledged {}), 200, body.as_bytes());
            assert_eq!((result.error_class, result.weight), (ErrorClass::Condition, 0), "{body}");
        }
        for body in ["<html>", "", r#"{"acknowledged":"false"}"#, r#"{"acknowledged":true"#] {
            assert_eq!(class(Check::Acknowledged {}, body), ErrorClass::Protocol, "{body}");
        }
    }

    #[test]
    fn failed_shards_are_failures_of_requests_that_are_not_searches() {
        let refresh = || Check::Shards { path: "_shards".into() };
        // Replicas that are not assigned are not refreshed, which is not a failure.
        let good = r#"{"_shards":{"total":2,"successful":1,"failed":0}}"#;
        assert_eq!(class(refresh(), good), ErrorClass::None);
        assert_eq!(class(refresh(), "{}"), ErrorClass::None);
        assert_eq!(class(refresh(), ""), ErrorClass::Protocol);
        let failed = r#"{"_shards":{"total":2,"successful":1,"failed":1,
            "failures":[{"reason":{"type":"io","reason":"disk is full"}}]}}"#;
        let result = checked(&request(refresh()), 200, failed.as_bytes());
        assert_eq!(
            (result.error_class, result.failures[0].error_type.as_str()),
            (ErrorClass::ShardFailure, "io")
        );
        assert_eq!(result.failures[0].reason, "1 shards failed: disk is full");
        let snapshot = Check::Shards { path: "snapshot.shards".into() };
        assert_eq!(class(snapshot.clone(), r#"{"accepted":true}"#), ErrorClass::None);
        let partial = r#"{"snapshot":{"state":"PARTIAL","failures":[],"shards":{"total":5,"failed":2}}}"#;
        assert_eq!(class(snapshot, partial), ErrorClass::ShardFailure);
    }

    #[test]
    fn a_task_fails_if_it_ended_with_an_error_or_a_failed_shard() {
        for (body, expected) in [
            (
                r#"{"completed":true,"task":{"node":"a"},"response":{"_shards":{"total":1,"failed":0}}}"#,
                ErrorClass::None,
            ),
            (r#"{"completed":true,"task":{}}"#, ErrorClass::None),
            (r#"{"completed":false,"task":{}}"#, ErrorClass::Condition),
            (r#"{"completed":true,"task":{},"error":{"type":"t","reason":"r"}}"#, ErrorClass::Condition),
            (r#"{"completed":true,"error":"boom"}"#, ErrorClass::Condition),
            (r#"{"completed":true,"error":null}"#, ErrorClass::None),
            (r#"{"completed":true,"response":{"_shards":{"total":1,"failed":1}}}"#, ErrorClass::ShardFailure),
            (r#"{"completed":true"#, ErrorClass::Protocol),
            ("", ErrorClass::Protocol),
            (r#"{"completed":false,"task":{"cancelled":true}}"#, ErrorClass::Condition),
            (r#"{"completed":true,"task":{"cancelled":false},"response":{}}"#, ErrorClass::None),
        ] {
            assert_eq!(class(Check::Task {}, body), expected, "{body}");
        }
        for (body, reason) in [
            (r#"{"completed":true,"task":{"id":1,"cancelled":true}}"#, "the engine cancelled the task"),
            (
                r#"{"completed":true,"task":{"cancelled":true},"response":{"canceled":"by user request"}}"#,
                "the engine cancelled the task: by user request",
            ),
        ] {
            let result = checked(&request(Check::Task {}), 200, body.as_bytes());
            assert_eq!((result.error_class, result.is_final), (ErrorClass::Condition, true), "{body}");
            assert_eq!(result.failures[0].reason, reason);
        }
        let failed = r#"{"completed":true,"error":{"type":"t","reason":"r"}}"#;
        let running = r#"{"completed":false}"#;
        let is_final = |body: &str| checked(&request(Check::Task {}), 200, body.as_bytes()).is_final;
        assert_eq!((is_final(failed), is_final(running)), (true, false));
    }

    #[test]
    fn an_error_that_the_engine_reports_with_a_successful_status_is_a_failure() {
        let error = r#"{"error":{"type":"t","reason":"no such column"},"status":200}"#;
        let checks = || {
            [
                Check::NoError {},
                Check::Search {},
                Check::Esql {},
                Check::Health { status: None, no_relocating_shards: false },
                Check::Condition { path: "state".into(), expected: "stopped".into() },
                Check::Empty { path: "nodes".into() },
                Check::AsyncSearch { path: "is_running".into(), expected: "false".into() },
                Check::SubmittedSearch {},
                Check::Acknowledged {},
                Check::Shards { path: "_shards".into() },
                Check::Task {},
            ]
        };
        for check in checks() {
            let path = "/x?filter_path=error,took".into();
            let result = checked(&Request { path, ..request(check.clone()) }, 200, error.as_bytes());
            assert_eq!(result.error_class, ErrorClass::Condition, "{check:?}");
            let [failure] = result.failures.as_slice() else { panic!("{check:?}") };
            assert!(failure.reason.ends_with("no such column"), "{check:?} {failure:?}");
            assert_eq!((failure.error_type.as_str(), failure.status), ("t", 200), "{check:?}");
        }
        assert_eq!(class(Check::Status {}, error), ErrorClass::None);
        for (body, expected) in [
            (r#"{"columns":[{"name":"error"}],"rows":[["error"]],"cursor":"x"}"#, ErrorClass::None),
            (r#"{"rows":[],"error":null}"#, ErrorClass::None),
            (r#"{"error":null}"#, ErrorClass::None),
            (r#"{"error":"boom"}"#, ErrorClass::Condition),
            (r#"{"columns":[],"rows":[[1],"#, ErrorClass::Protocol),
            ("<html>please log in</html>", ErrorClass::Protocol),
        ] {
            assert_eq!(class(Check::NoError {}, body), expected, "{body}");
        }
    }

    #[test]
    fn an_asynchronous_search_that_ended_with_an_error_status_is_not_polled_again() {
        let check = || Check::AsyncSearch { path: "is_running".into(), expected: "false".into() };
        let is_final = |body: &str| checked(&request(check()), 503, body.as_bytes()).is_final;
        assert!(is_final(r#"{"id":"x","is_running":false,"error":{"type":"t","reason":"r"}}"#));
        assert!(!is_final(r#"{"error":{"type":"t","reason":"r"},"status":503}"#));
        assert!(!is_final("upstream is down"));
    }

    #[test]
    fn a_search_fails_with_failed_shards_or_a_timeout() {
        let good = r#"{"took": 7, "timed_out": false, "_shards": {"total": 2, "failed": 0}, "hits": {}}"#;
        let result = checked(&request(Check::Search {}), 200, good.as_bytes());
        assert_eq!(result, WorkOutcome::success(5).with_took(Some(7)));
        let failed = r#"{"took": 7, "timed_out": false, "_shards": {"total": 2, "failed": 1,
            "failures": [{"reason": {"type": "script_exception", "reason": "runtime error"}}]}, "hits": {}}"#;
        let result = checked(&request(Check::Search {}), 200, failed.as_bytes());
        assert_eq!((result.error_class, result.took_ms), (ErrorClass::ShardFailure, Some(7)));
        assert_eq!(result.failures[0].error_type, "script_exception");
        let late = r#"{"took": 7, "timed_out": true, "_shards": {"failed": 0}}"#;
        assert_eq!(class(Check::Search {}, late), ErrorClass::SearchTimeout);
        assert_eq!(class(Check::Search {}, "<html>please log in</html>"), ErrorClass::Protocol);
        assert_eq!(class(Check::Search {}, r#"{"hits": {}}"#), ErrorClass::Protocol);
        let filtered = Request { path: "/_search?filter_path=hits".into(), ..request(Check::Search {}) };
        assert_eq!(checked(&filtered, 200, br#"{"hits": {}}"#).error_class, ErrorClass::None);
    }

    #[test]
    fn conditions_are_compared_as_text() {
        let check = |expected: &str| Check::Condition {
            path: "_all.total.merges.current".into(),
            expected: expected.into(),
        };
        let body = r#"{"_all": {"total": {"merges": {"current": 0}}}}"#;
        assert_eq!(class(check("0"), body), ErrorClass::None);
        assert_eq!(class(check("1"), body), ErrorClass::Condition);
        let first = Check::Condition { path: "transforms.0.state".into(), expected: "stopped".into() };
        let body = r#"{"transforms": [{"state": "stopped"}, {"state": "failed"}]}"#;
        assert_eq!(class(first.clone(), body), ErrorClass::None);
        assert_eq!(class(first, r#"{"transforms": []}"#), ErrorClass::Condition);
        let idle = Check::Empty { path: "nodes".into() };
        assert_eq!(class(idle.clone(), r#"{"nodes": {}}"#), ErrorClass::None);
        assert_eq!(class(idle.clone(), "{}"), ErrorClass::None);
        assert_eq!(class(idle, r#"{"nodes": {"a": 1}}"#), ErrorClass::Condition);
    }

    #[test]
    fn assertions_compare_values_of_one_type_at_the_first_path_that_exists() {
        let body =
            br#"{"hits": {"total": {"value": 17, "relation": "eq"}}, "timed_out": false, "took": 1.5}"#;
        let check = |path: &str, condition, value: Value| {
            let paths = vec!["hits.count".into(), path.into()];
            let assertion = Assertion { property: "hits".into(), paths, in_details: false, condition, value };
            poll_once(failed_assertion(&[assertion], body)).map(|result| result.failures[0].reason.clone())
        };
        let total = |condition, value: i64| check("hits.total.value", condition, value.into());
        assert_eq!(total(Comparison::Equal, 17), None);
        assert_eq!(total(Comparison::Equal, 20).unwrap(), "hits is 17, but the track asserts == 20");
        for (condition, failing) in [
            (Comparison::Less, [17, 16]),
            (Comparison::LessOrEqual, [16, 15]),
            (Comparison::GreaterOrEqual, [18, 19]),
            (Comparison::Greater, [17, 18]),
        ] {
            assert!(failing.iter().all(|value| total(condition, *value).is_some()), "{condition:?}");
            let holds = [17 + 17 - failing[0], 17 + 17 - failing[1]];
            assert!(holds.iter().any(|value| total(condition, *value).is_none()), "{condition:?} {holds:?}");
        }
        assert_eq!(check("took", Comparison::Less, 2.into()), None);
        assert_eq!(check("hits.total.relation", Comparison::Equal, "eq".into()), None);
        assert_eq!(check("timed_out", Comparison::Equal, false.into()), None);
        assert!(check("hits.total.value", Comparison::Equal, "17".into()).is_some());
        assert_eq!(
            check("nowhere", Comparison::Greater, 0.into()).unwrap(),
            "hits is absent, but the track asserts > 0"
        );
    }

    #[test]
    fn a_better_health_than_the_expected_one_is_a_success() {
        let check = |status| Check::Health { status, no_relocating_shards: true };
        let body = r#"{"status": "yellow", "relocating_shards": 0}"#;
        assert_eq!(class(check(Some(HealthStatus::Yellow)), body), ErrorClass::None);
        assert_eq!(class(check(Some(HealthStatus::Green)), body), ErrorClass::Condition);
        assert_eq!(class(check(None), r#"{"status": "red", "relocating_shards": 2}"#), ErrorClass::Condition);
        // The request waited for something else, such as a number of nodes.
        let late = r#"{"status":"green","timed_out":true,"relocating_shards":0}"#;
        assert_eq!(class(check(None), late), ErrorClass::Condition);
        assert_eq!(class(check(None), &late.replace("true", "false")), ErrorClass::None);
    }

    #[test]
    fn what_is_read_of_a_response_must_be_valid_json() {
        let condition = || Check::Condition { path: "completed".into(), expected: "true".into() };
        let health = || Check::Health { status: None, no_relocating_shards: false };
        let empty = || Check::Empty { path: "nodes".into() };
        let cases: [(Check, &[&str]); 5] = [
            (
                Check::Search {},
                &[
                    r#"{"took":1e400,"timed_out":false,"_shards":{"failed":0}}"#,
                    r#"{"took":NaN,"timed_out":false,"_shards":{"failed":0}}"#,
                    r#"{"took":1,"timed_out":falsehood,"_shards":{"failed":0}}"#,
                    r#"{"took":1,"timed_out":false,"_shards":{"failed":00}}"#,
                    r#"{"took":1,"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0e999}}"#,
                    r#"{"took":1,"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0"#,
                    r#"{"took":1,"timed_out":false,"#,
                    r#"{"took":1,"timed_out":false]"#,
                ],
            ),
            (
                Check::Esql {},
                &["<html>", "", r#"{"took":1,"is_partial":falsehood}"#, r#"{"took":1,"is_partial":false,"#],
            ),
            (
                health(),
                &["<html>", "", r#"{"status":"green""#, r#"{"status":"green","#, r#"{"status":green}"#],
            ),
            (
                condition(),
                &["<html>", "", r#"{"completed":true"#, r#"{"completed":truely}"#, r#"{"done":1]"#],
            ),
            (
                empty(),
                &["<html>", "", "[", r#"{"nodes":{"#, r#"{"nodes":[}}"#, r#"{"nodes":null"#, r#"{"tasks":1"#],
            ),
        ];
        for (check, bodies) in cases {
            for body in bodies {
                assert_eq!(class(check.clone(), body), ErrorClass::Protocol, "{check:?} {body}");
            }
        }
        for (check, body) in [
            (empty(), r#"{"nodes":{}}"#),
            (empty(), r#"{"nodes": [ ] }"#),
            (empty(), r#"{"tasks":1}"#),
            (condition(), r#"{"completed":true}"#),
            (health(), r#"{"status":"red"}"#),
            (Check::Esql {}, r#"{"columns":[],"values":[]}"#),
        ] {
            assert_eq!(class(check, body), ErrorClass::None, "{body}");
        }
        let invalid = b"{\"completed\":\"\xfftrue\"}";
        assert_eq!(checked(&request(condition()), 200, invalid).error_class, ErrorClass::Protocol);
    }

    #[test]
    fn a_long_response_is_read_in_slices() {
        let hits = format!(r#"{{"hits":[{{"a":"{}"}}]"#, r#"x","b":"y"#.repeat(100_000));
        let body = format!(r#"{hits},"took":7,"timed_out":false,"_shards":{{"failed":0}}}}"#);
        let request = request(Check::Search {});
        let (result, pauses) = count_pauses(check_response(&request, 200, body.as_bytes()));
        assert_eq!((result.error_class, result.took_ms), (ErrorClass::None, Some(7)));
        assert!(pauses >= body.len() / crate::slices::SLICE - 1, "{pauses}");
    }
}
