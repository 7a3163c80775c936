//! Checks whether a response is a success, by its status and by the results that the engine reports in its body. This
//! is done after the request has been timed.

use std::cmp::Ordering;

use pacenote_plan::{Assertion, Check, Comparison, HealthStatus, Request};
use pacenote_record::ErrorClass;
use serde_json::Value;

use crate::response::json_scan::{
    Fields, first_value, parse_bool, parse_integer, split_integer, value_at_path,
};
use crate::response::outcome::WorkOutcome;

/// The duration that the engine reports in a successful response, in milliseconds, or the failure.
type CheckResult = Result<Option<u64>, WorkOutcome>;

/// Checks the response to a request.
pub fn check_response(request: &Request, status: u16, body: &[u8]) -> WorkOutcome {
    if request.ignore.contains(&status) {
        return WorkOutcome::success(request.ignored_weight);
    }
    if !is_2xx(status) {
        return http_error(status, body);
    }
    let checked = match &request.check {
        Check::Status {} => Ok(None),
        Check::Search {} => check_search(body, request),
        Check::Health { status, no_relocating_shards } => check_health(body, *status, *no_relocating_shards),
        Check::Condition { path, expected } => check_condition(body, path, expected),
        Check::Esql {} => check_esql(body),
        Check::Empty { path } => check_empty(body, path),
    };
    match checked {
        Ok(took_ms) => WorkOutcome::success(request.weight).with_took(took_ms),
        Err(failure) => failure.with_status(status),
    }
}

/// Returns the failure of the first of the track's assertions that does not hold for a response, or `None` if all of
/// them hold.
pub fn failed_assertion(assertions: &[Assertion], body: &[u8]) -> Option<WorkOutcome> {
    let failed = assertions.iter().find_map(|assertion| {
        let text = assertion.paths.iter().find_map(|path| value_at_path(body, path));
        let value = text.and_then(|text| serde_json::from_slice::<Value>(first_value(text)).ok());
        let holds = value.as_ref().is_some_and(|value| holds(value, assertion));
        (!holds).then_some((assertion, value))
    });
    failed.map(|(assertion, value)| {
        let Assertion { property, condition, value: expected, .. } = assertion;
        let operator = match condition {
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Equal => "==",
            Comparison::GreaterOrEqual => ">=",
            Comparison::Greater => ">",
        };
        let actual = value.map_or_else(|| "absent".to_owned(), |value| to_text(&value));
        let reason =
            format!("{property} is {actual}, but the track asserts {operator} {}", to_text(expected));
        WorkOutcome::failure(ErrorClass::Assertion, reason)
    })
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

/// Returns whether a status indicates success.
pub fn is_2xx(status: u16) -> bool {
    (200..300).contains(&status)
}

/// Returns the failure of a response with an error status, with the error type and reason that the engine reports.
pub fn http_error(status: u16, body: &[u8]) -> WorkOutcome {
    let (error_type, reason) = match serde_json::from_slice::<Value>(body) {
        Ok(response) => match &response["error"] {
            Value::String(reason) => (String::new(), reason.clone()),
            Value::Object(error) => {
                // The root cause is more specific than "all shards failed".
                let cause = error.get("root_cause").map_or(&Value::Null, |causes| &causes[0]);
                let most_specific = |key| cause.get(key).or_else(|| error.get(key));
                (string(most_specific("type")), string(most_specific("reason")))
            }
            _ => (String::new(), excerpt(body)),
        },
        Err(_) => (String::new(), excerpt(body)),
    };
    WorkOutcome::failure(ErrorClass::HttpStatus, reason).with_status(status).with_error_type(&error_type)
}

fn string(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn excerpt(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned()
}

/// Checks the response to a search. A response without the fields for shards, timeout and duration is not a response to
/// a search, unless the request filters these fields out.
fn check_search(body: &[u8], request: &Request) -> CheckResult {
    if let Some(took_ms) = fast_path_search(body) {
        return Ok(Some(took_ms));
    }
    let (mut took_ms, mut timed_out, mut failed) = (None, None, None);
    for (key, value) in Fields::new(body) {
        match key {
            b"took" => took_ms = parse_took(value),
            b"timed_out" => timed_out = parse_bool(value),
            b"_shards" => {
                let mut shards = Fields::new(value);
                failed =
                    shards.find(|(key, _)| *key == b"failed").and_then(|(_, value)| parse_integer(value));
            }
            _ => {}
        }
        if took_ms.is_some() && timed_out.is_some() && failed.is_some() {
            break;
        }
    }
    let failure = match (failed, timed_out) {
        (Some(failed), _) if failed > 0 => shard_failure(body, failed),
        (_, Some(true)) => {
            let after = took_ms.map_or_else(String::new, |took_ms| format!(" after {took_ms} ms"));
            let reason = format!("the search timed out in the engine{after}: its hits are incomplete");
            WorkOutcome::failure(ErrorClass::SearchTimeout, reason)
        }
        (None, None) if took_ms.is_none() && !request.path.contains("filter_path=") => {
            let reason = format!("the response is not the response to a search: {}", excerpt(body));
            WorkOutcome::failure(ErrorClass::Protocol, reason)
        }
        _ => return Ok(took_ms),
    };
    Err(failure.with_took(took_ms))
}

/// Parses the duration in the `took` field of a response, in milliseconds.
pub fn parse_took(value: &[u8]) -> Option<u64> {
    parse_integer(value).and_then(|took_ms| u64::try_from(took_ms).ok())
}

/// Returns the duration, in milliseconds, of a search without failures whose response starts exactly as engines write
/// it. A few comparisons are enough to recognize nearly all responses. `None` means that the response must be scanned.
fn fast_path_search(body: &[u8]) -> Option<u64> {
    let (took_ms, rest) = split_integer(body.strip_prefix(br#"{"took":"#)?)?;
    let (_, rest) = split_integer(rest.strip_prefix(br#","timed_out":false,"_shards":{"total":"#)?)?;
    let (_, rest) = split_integer(rest.strip_prefix(br#","successful":"#)?)?;
    let (_, rest) = split_integer(rest.strip_prefix(br#","skipped":"#)?)?;
    let (failed, _) = split_integer(rest.strip_prefix(br#","failed":"#)?)?;
    if failed == 0 { u64::try_from(took_ms).ok() } else { None }
}

fn check_esql(body: &[u8]) -> CheckResult {
    let (mut took_ms, mut partial) = (None, false);
    for (key, value) in Fields::new(body) {
        match key {
            b"took" => took_ms = parse_took(value),
            b"is_partial" => partial = parse_bool(value) == Some(true),
            _ => {}
        }
        // Both fields precede the columns and values.
        if key == b"columns" || partial {
            break;
        }
    }
    if !partial {
        return Ok(took_ms);
    }
    let reason = "the response is partial".into();
    Err(WorkOutcome::failure(ErrorClass::Partial, reason).with_took(took_ms))
}

fn shard_failure(body: &[u8], failed: i64) -> WorkOutcome {
    let response: Value = serde_json::from_slice(body).unwrap_or_default();
    let cause = &response["_shards"]["failures"][0]["reason"];
    let reason = format!("{failed} shards failed: {}", string(cause.get("reason")));
    WorkOutcome::failure(ErrorClass::ShardFailure, reason).with_error_type(&string(cause.get("type")))
}

fn check_health(body: &[u8], wanted: Option<HealthStatus>, no_relocating_shards: bool) -> CheckResult {
    let response: Value = serde_json::from_slice(body).unwrap_or_default();
    let status = serde_json::from_value::<HealthStatus>(response["status"].clone()).ok();
    let relocating = response["relocating_shards"].as_u64().unwrap_or(0);
    let reached = wanted.is_none_or(|wanted| status.is_some_and(|status| status >= wanted));
    if reached && !(no_relocating_shards && relocating > 0) {
        return Ok(None);
    }
    let reason =
        format!("health is {}, and {relocating} shards are relocating", to_text(&response["status"]));
    Err(WorkOutcome::failure(ErrorClass::Condition, reason))
}

fn check_condition(body: &[u8], path: &str, expected: &str) -> CheckResult {
    let response: Value = serde_json::from_slice(body).unwrap_or_default();
    let actual = to_text(parsed_value_at(&response, path));
    if actual == expected {
        return Ok(None);
    }
    Err(WorkOutcome::failure(ErrorClass::Condition, format!("{path} is {actual}, not {expected}")))
}

fn check_empty(body: &[u8], path: &str) -> CheckResult {
    let response: Value = serde_json::from_slice(body).unwrap_or_default();
    let is_empty = match parsed_value_at(&response, path) {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        other => other.is_null(),
    };
    if is_empty {
        return Ok(None);
    }
    Err(WorkOutcome::failure(ErrorClass::Condition, format!("{path} is not empty yet")))
}

/// Returns the value at a path of keys joined by dots, where the key of an array is an index.
fn parsed_value_at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, key| match key.parse::<usize>() {
        Ok(index) if value.is_array() => &value[index],
        _ => &value[key],
    })
}

/// Returns a value as text: strings without quotes, everything else as JSON.
fn to_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        }
    }

    fn class(check: Check, body: &str) -> ErrorClass {
        check_response(&request(check), 200, body.as_bytes()).error_class
    }

    #[test]
    fn an_error_status_fails_unless_the_request_ignores_it() {
        let status = request(Check::Status {});
        assert_eq!(check_response(&status, 201, b""), WorkOutcome::success(5));
        assert_eq!(check_response(&status, 404, b""), WorkOutcome::success(2));
        let body = br#"{"error": {"type": "rejected", "reason": "queue is full"}, "status": 429}"#;
        let result = check_response(&status, 429, body);
        assert_eq!((result.error_class, result.weight), (ErrorClass::HttpStatus, 0));
        assert_eq!((result.failures[0].error_type.as_str(), result.failures[0].status), ("rejected", 429));
        assert_eq!(
            check_response(&status, 502, b"<html>Bad Gateway").failures[0].reason,
            "<html>Bad Gateway"
        );
        let body = br#"{"error": {"root_cause": [{"type": "shape", "reason": "no such relation"}],
            "type": "search_phase_execution_exception", "reason": "all shards failed"}, "status": 400}"#;
        assert_eq!(check_response(&status, 400, body).failures[0].reason, "no such relation");
    }

    #[test]
    fn the_fast_path_recognizes_successful_searches_only() {
        let successful = r#"{"took":17,"timed_out":false,"_shards":{"total":5,"successful":5,"skipped":0,"failed":0},"hits":{}}"#;
        assert_eq!(fast_path_search(successful.as_bytes()), Some(17));
        for (part, other) in [
            ("false", "true"),
            (r#""failed":0"#, r#""failed":1"#),
            (r#""failed":0"#, r#""failed":01"#),
            (r#""skipped":0,"#, ""),
            (":17", ": 17"),
            (r#"":17"#, r#"":"17""#),
        ] {
            let text = successful.replace(part, other);
            assert_eq!(fast_path_search(text.as_bytes()), None, "{text}");
        }
        for end in 0..successful.find(r#"},"hits"#).unwrap() {
            assert_eq!(fast_path_search(&successful.as_bytes()[..end]), None, "{end}");
        }
        // A response that is formatted differently has the same result.
        let pretty = successful.replace(':', ": ");
        let result = check_response(&request(Check::Search {}), 200, pretty.as_bytes());
        assert_eq!(result, check_response(&request(Check::Search {}), 200, successful.as_bytes()));
        assert_eq!((result.took_ms, result.weight), (Some(17), 5));
    }

    #[test]
    fn a_search_fails_with_failed_shards_or_a_timeout() {
        let good = r#"{"took": 7, "timed_out": false, "_shards": {"total": 2, "failed": 0}, "hits": {"#;
        let result = check_response(&request(Check::Search {}), 200, good.as_bytes());
        assert_eq!(result, WorkOutcome::success(5).with_took(Some(7)));
        let failed = r#"{"took": 7, "timed_out": false, "_shards": {"total": 2, "failed": 1,
            "failures": [{"reason": {"type": "script_exception", "reason": "runtime error"}}]}, "hits": {}}"#;
        let result = check_response(&request(Check::Search {}), 200, failed.as_bytes());
        assert_eq!((result.error_class, result.took_ms), (ErrorClass::ShardFailure, Some(7)));
        assert_eq!(result.failures[0].error_type, "script_exception");
        let late = r#"{"took": 7, "timed_out": true, "_shards": {"failed": 0}}"#;
        assert_eq!(class(Check::Search {}, late), ErrorClass::SearchTimeout);
        assert_eq!(class(Check::Search {}, "<html>please log in</html>"), ErrorClass::Protocol);
        assert_eq!(class(Check::Search {}, r#"{"hits": {}}"#), ErrorClass::Protocol);
        let filtered = Request { path: "/_search?filter_path=hits".into(), ..request(Check::Search {}) };
        assert_eq!(check_response(&filtered, 200, br#"{"hits": {}}"#).error_class, ErrorClass::None);
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
            let assertion = Assertion { property: "hits".into(), paths, condition, value };
            failed_assertion(&[assertion], body).map(|result| result.failures[0].reason.clone())
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
    }
}
