//! Checks whether a response is a success, by its status and by the results that the engine reports in its body. This
//! is done after the request has been timed.

use std::cmp::Ordering;

use pacenote_plan::{Assertion, Check, Comparison, HealthStatus, Request};
use pacenote_record::ErrorClass;
use serde_json::Value;

use crate::response::json_scan::{
    Elements, Fields, InvalidJson, field_in_slices, parse_first, parse_scalar, scalar, skip_digits,
    split_integer, value_at_path_in_slices,
};
use crate::response::outcome::WorkOutcome;
use crate::slices::Slices;

/// The duration that the engine reports in a successful response, in milliseconds, or the failure. What was read of the
/// body may also be invalid.
type CheckResult = Result<Result<Option<u64>, WorkOutcome>, InvalidJson>;

/// Checks the response to a request. Reads a long body in slices, between which the thread serves its other clients.
pub async fn check_response(request: &Request, status: u16, body: &[u8]) -> WorkOutcome {
    if request.ignore.contains(&status) {
        return WorkOutcome::success(request.ignored_weight);
    }
    if !is_2xx(status) {
        return http_error(status, body).await;
    }
    let checked = match &request.check {
        Check::Status {} => Ok(Ok(None)),
        Check::Search {} => match fast_path_search(body) {
            Some(took_ms) => Ok(Ok(Some(took_ms))),
            None => check_search(body, request).await,
        },
        Check::Health { status, no_relocating_shards } => {
            check_health(body, *status, *no_relocating_shards).await
        }
        Check::Condition { path, expected } => check_condition(body, path, expected).await,
        Check::Esql {} => check_esql(body, request).await,
        Check::Empty { path } => check_empty(body, path).await,
    };
    match checked {
        Ok(Ok(took_ms)) => WorkOutcome::success(request.weight).with_took(took_ms),
        Ok(Err(failure)) => failure.with_status(status),
        Err(InvalidJson) => invalid_json(status, body),
    }
}

/// Returns the failure of a response that is not valid JSON where it had to be read, or has a value of the wrong type
/// there.
pub fn invalid_json(status: u16, body: &[u8]) -> WorkOutcome {
    let reason = format!("the response has invalid JSON or a value of the wrong type: {}", excerpt(body));
    WorkOutcome::failure(ErrorClass::Protocol, reason).with_status(status)
}

/// Returns the failure of the first of the track's assertions that does not hold for a response, or `None` if all of
/// them hold. Reads a long body in slices.
pub async fn failed_assertion(assertions: &[Assertion], body: &[u8]) -> Option<WorkOutcome> {
    for assertion in assertions {
        let Ok(value) = asserted_value(assertion, body).await else { return Some(invalid_json(0, body)) };
        if !value.as_ref().is_some_and(|value| holds(value, assertion)) {
            return Some(assertion_failure(assertion, value.as_ref()));
        }
    }
    None
}

/// Returns the value that an assertion refers to: that of the first of its paths which the response contains.
async fn asserted_value(assertion: &Assertion, body: &[u8]) -> Result<Option<Value>, InvalidJson> {
    let mut slices = Slices::default();
    for path in &assertion.paths {
        if let Some(text) = value_at_path_in_slices(body, path.split('.'), &mut slices).await? {
            return parse_first(text).map(Some);
        }
    }
    Ok(None)
}

fn assertion_failure(assertion: &Assertion, actual: Option<&Value>) -> WorkOutcome {
    let Assertion { property, condition, value: expected, .. } = assertion;
    let operator = match condition {
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Equal => "==",
        Comparison::GreaterOrEqual => ">=",
        Comparison::Greater => ">",
    };
    let actual = actual.map_or_else(|| "absent".to_owned(), to_text);
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

/// Returns whether a status indicates success.
pub fn is_2xx(status: u16) -> bool {
    (200..300).contains(&status)
}

/// Returns the failure of a response with an error status, with the error type and reason that the engine reports.
/// Reads a long body in slices.
pub async fn http_error(status: u16, body: &[u8]) -> WorkOutcome {
    let mut slices = Slices::default();
    let (error_type, reason) = match field_in_slices(body, "error", &mut slices).await {
        Ok(Some(error)) if error.first() == Some(&b'{') => (
            most_specific(error, "type", &mut slices).await,
            most_specific(error, "reason", &mut slices).await,
        ),
        Ok(Some(error)) if error.first() == Some(&b'"') => {
            (String::new(), string(scalar(error).ok().as_ref()))
        }
        _ => (String::new(), excerpt(body)),
    };
    WorkOutcome::failure(ErrorClass::HttpStatus, reason).with_status(status).with_error_type(&error_type)
}

/// Returns a field of an engine's error, or of its first root cause, which is more specific than "all shards failed".
async fn most_specific(error: &[u8], key: &str, slices: &mut Slices) -> String {
    let path = ["root_cause", "0", key].into_iter();
    let found = match value_at_path_in_slices(error, path, slices).await {
        Ok(Some(value)) => Some(value),
        _ => field_in_slices(error, key, slices).await.ok().flatten(),
    };
    string(found.and_then(|text| scalar(text).ok()).as_ref())
}

fn string(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns the beginning of a response, for messages.
pub fn excerpt(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned()
}

/// Checks the response to a search. A response without the fields for shards, timeout and duration is not a response to
/// a search, unless the request filters these fields out.
async fn check_search(body: &[u8], request: &Request) -> CheckResult {
    let mut slices = Slices::default();
    let (mut took_ms, mut timed_out, mut failed, mut shards) = (None, None, None, None);
    let mut fields = Fields::new(body);
    while let Some((key, value)) = fields.next_in_slices(&mut slices).await {
        match key {
            b"took" => took_ms = parse_took(value)?,
            b"timed_out" => timed_out = Some(parse_scalar(value)?),
            b"_shards" => {
                let text = field_in_slices(value, "failed", &mut slices).await?;
                failed = text.map(parse_scalar).transpose()?;
                shards = Some(value);
            }
            _ => {}
        }
        if took_ms.is_some() && timed_out.is_some() && failed.is_some() {
            break;
        }
    }
    let failure = match (failed.zip(shards), timed_out) {
        (Some((failed, shards)), _) if failed > 0 => shard_failure(shards, failed, &mut slices).await,
        (_, Some(true)) => {
            let after = took_ms.map_or_else(String::new, |took_ms| format!(" after {took_ms} ms"));
            let reason = format!("the search timed out in the engine{after}: its hits are incomplete");
            WorkOutcome::failure(ErrorClass::SearchTimeout, reason)
        }
        (None, None) if took_ms.is_none() && !filters_fields(&request.path) => {
            let reason = format!("the response is not the response to a search: {}", excerpt(body));
            WorkOutcome::failure(ErrorClass::Protocol, reason)
        }
        // Where a field was not found, the response was read to its end.
        _ if took_ms.is_some() && timed_out.is_some() && failed.is_some() || fields.is_closed() => {
            return Ok(Ok(took_ms));
        }
        _ => return Err(InvalidJson),
    };
    Ok(Err(failure.with_took(took_ms)))
}

/// Returns whether a request selects the fields of its response.
pub fn filters_fields(path: &str) -> bool {
    path.contains("filter_path=")
}

/// Parses the duration in the `took` field of a response, in milliseconds. Returns `None` if it is negative.
///
/// # Errors
///
/// [`InvalidJson`] if the value is not an integer.
pub fn parse_took(value: &[u8]) -> Result<Option<u64>, InvalidJson> {
    parse_scalar::<i64>(value).map(|took_ms| u64::try_from(took_ms).ok())
}

/// Returns the duration, in milliseconds, of a search without failures whose response starts exactly as engines write
/// it. A few comparisons are enough to recognize nearly all responses. `None` means that the response must be scanned.
fn fast_path_search(body: &[u8]) -> Option<u64> {
    let (took_ms, rest) = split_integer(body.strip_prefix(br#"{"took":"#)?)?;
    let rest = skip_digits(rest.strip_prefix(br#","timed_out":false,"_shards":{"total":"#)?)?;
    let rest = skip_digits(rest.strip_prefix(br#","successful":"#)?)?;
    let rest = skip_digits(rest.strip_prefix(br#","skipped":"#)?)?;
    let rest = rest.strip_prefix(br#","failed":0"#)?;
    // Anything else would continue the number.
    matches!(rest.first(), Some(b'}' | b',')).then_some(took_ms)
}

/// Checks the response to an ES|QL query. A response without any of its fields is not such a response, unless the
/// request filters them out or asks for a format other than JSON.
async fn check_esql(body: &[u8], request: &Request) -> CheckResult {
    let mut slices = Slices::default();
    let (mut took_ms, mut partial, mut known, mut has_columns) = (None, false, false, false);
    let mut fields = Fields::new(body);
    while let Some((key, value)) = fields.next_in_slices(&mut slices).await {
        match key {
            b"took" => took_ms = parse_took(value)?,
            b"is_partial" => partial = parse_scalar(value)?,
            b"columns" => has_columns = true,
            _ => continue,
        }
        known = true;
        // Both fields precede the columns and values.
        if has_columns || partial {
            break;
        }
    }
    let failure = if partial {
        WorkOutcome::failure(ErrorClass::Partial, "the response is partial".into())
    } else if known && !has_columns && !fields.is_closed() {
        return Err(InvalidJson);
    } else if known || filters_fields(&request.path) || request.path.contains("format=") {
        return Ok(Ok(took_ms));
    } else {
        let reason = format!("the response is not the response to an ES|QL query: {}", excerpt(body));
        WorkOutcome::failure(ErrorClass::Protocol, reason)
    };
    Ok(Err(failure.with_took(took_ms)))
}

/// Returns the failure of a search by its field `_shards`.
async fn shard_failure(shards: &[u8], failed: i64, slices: &mut Slices) -> WorkOutcome {
    let path = ["failures", "0", "reason"].into_iter();
    let cause = value_at_path_in_slices(shards, path, slices).await.ok().flatten();
    let cause: Value = cause.and_then(|text| parse_first(text).ok()).unwrap_or_default();
    let reason = format!("{failed} shards failed: {}", string(cause.get("reason")));
    WorkOutcome::failure(ErrorClass::ShardFailure, reason).with_error_type(&string(cause.get("type")))
}

async fn check_health(body: &[u8], wanted: Option<HealthStatus>, no_relocating_shards: bool) -> CheckResult {
    let mut slices = Slices::default();
    let (mut status, mut relocating) = (None, None);
    let mut fields = Fields::new(body);
    while let Some((key, value)) = fields.next_in_slices(&mut slices).await {
        match key {
            b"status" => status = Some(scalar(value)?),
            b"relocating_shards" => relocating = Some(parse_scalar(value)?),
            _ => {}
        }
        if status.is_some() && relocating.is_some() {
            break;
        }
    }
    if (status.is_none() || relocating.is_none()) && !fields.is_closed() {
        return Err(InvalidJson);
    }
    let (status, relocating) = (status.unwrap_or_default(), relocating.unwrap_or(0));
    let known = serde_json::from_value::<HealthStatus>(status.clone()).ok();
    let reached = wanted.is_none_or(|wanted| known.is_some_and(|status| status >= wanted));
    if reached && !(no_relocating_shards && relocating > 0) {
        return Ok(Ok(None));
    }
    let reason = format!("health is {}, and {relocating} shards are relocating", to_text(&status));
    Ok(Err(WorkOutcome::failure(ErrorClass::Condition, reason)))
}

async fn check_condition(body: &[u8], path: &str, expected: &str) -> CheckResult {
    let found = value_at_path_in_slices(body, path.split('.'), &mut Slices::default()).await?;
    let actual = to_text(&found.map_or(Ok(Value::Null), parse_first)?);
    if actual == expected {
        return Ok(Ok(None));
    }
    Ok(Err(WorkOutcome::failure(ErrorClass::Condition, format!("{path} is {actual}, not {expected}"))))
}

async fn check_empty(body: &[u8], path: &str) -> CheckResult {
    let found = value_at_path_in_slices(body, path.split('.'), &mut Slices::default()).await?;
    let is_empty = match found {
        Some(text) if text.starts_with(b"{") => is_empty(Fields::new(text), Fields::is_closed)?,
        Some(text) if text.starts_with(b"[") => is_empty(Elements::new(text), Elements::is_closed)?,
        Some(text) => scalar(text)?.is_null(),
        None => true,
    };
    if is_empty {
        return Ok(Ok(None));
    }
    Ok(Err(WorkOutcome::failure(ErrorClass::Condition, format!("{path} is not empty yet"))))
}

/// Returns whether an object or array has no members.
fn is_empty<I: Iterator>(mut members: I, is_closed: impl Fn(&I) -> bool) -> Result<bool, InvalidJson> {
    match members.next() {
        Some(_) => Ok(false),
        None if is_closed(&members) => Ok(true),
        None => Err(InvalidJson),
    }
}

/// Returns a value as text: strings without quotes, everything else as JSON.
fn to_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
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
        let result = checked(&request(Check::Search {}), 200, pretty.as_bytes());
        assert_eq!(result, checked(&request(Check::Search {}), 200, successful.as_bytes()));
        assert_eq!((result.took_ms, result.weight), (Some(17), 5));
    }

    #[test]
    fn a_search_fails_with_failed_shards_or_a_timeout() {
        let good = r#"{"took": 7, "timed_out": false, "_shards": {"total": 2, "failed": 0}, "hits": {"#;
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
            let assertion = Assertion { property: "hits".into(), paths, condition, value };
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
