//! Is this reply a success? Decided after the clock has stopped.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use pacenote_plan::{Assertion, Check, Comparison, HealthStatus, Request};
use pacenote_record::ErrorClass;
use serde::Deserialize;
use serde_json::Value;

use crate::response::json_scan::{Fields, find, number, number_and_rest, truth, whole};
use crate::response::outcome::{Failure, ReplyOutcome};

/// Different reasons kept of one bulk; documents beyond them are counted with the last.
const MOST_REASONS: usize = 8;

/// Judges the reply to a prepared request.
pub fn judge(request: &Request, status: u16, body: &[u8]) -> ReplyOutcome {
    if request.ignore.contains(&status) {
        return ReplyOutcome::success(request.ignored_weight, -1);
    }
    if !is_good(status) {
        return refused(status, body);
    }
    let result = match &request.check {
        Check::Status {} => ReplyOutcome::success(request.weight, -1),
        Check::Search {} => search(body, request),
        Check::Health { status, no_relocating_shards } => health(body, *status, *no_relocating_shards),
        Check::Condition { path, expected } => condition(body, path, expected),
        Check::Esql {} => esql(body),
        Check::Empty { path } => empty(body, path),
    };
    // Conditions do not know what they are worth.
    if result.is_success() { ReplyOutcome { accepted: request.weight, ..result } } else { result }
}

/// Judges the reply to a bulk of so many documents.
pub fn judge_bulk(status: u16, body: &[u8], documents: u64) -> ReplyOutcome {
    if is_good(status) { bulk(body, documents) } else { refused(status, body) }
}

/// What the track asserts of a reply and does not hold; `None` when all of it holds.
pub fn broken_assertion(assertions: &[Assertion], body: &[u8]) -> Option<ReplyOutcome> {
    let broken = assertions.iter().find_map(|assertion| {
        let found = assertion.paths.iter().find_map(|path| find(body, path));
        let value = found.and_then(|text| serde_json::from_slice::<Value>(whole(text)).ok());
        let holds = value.as_ref().is_some_and(|value| compares(value, assertion));
        (!holds).then_some((assertion, value))
    });
    broken.map(|(assertion, value)| {
        let Assertion { property, condition, value: expected, .. } = assertion;
        let sign = match condition {
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Equal => "==",
            Comparison::GreaterOrEqual => ">=",
            Comparison::Greater => ">",
        };
        let found = value.map_or_else(|| "absent".to_owned(), |value| scalar(&value));
        let reason = format!("{property} is {found}, the track asserts {sign} {}", scalar(expected));
        ReplyOutcome::failure(ErrorClass::Assertion, 200, "", reason)
    })
}

/// Values of different types do not compare.
fn compares(found: &Value, assertion: &Assertion) -> bool {
    let order = match (found, &assertion.value) {
        (Value::Number(found), Value::Number(expected)) => match (found.as_i64(), expected.as_i64()) {
            (Some(found), Some(expected)) => Some(found.cmp(&expected)),
            _ => found
                .as_f64()
                .zip(expected.as_f64())
                .and_then(|(found, expected)| found.partial_cmp(&expected)),
        },
        (Value::String(found), Value::String(expected)) => Some(found.cmp(expected)),
        (Value::Bool(found), Value::Bool(expected)) => Some(found.cmp(expected)),
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

/// Whether a status says that the request was carried out.
pub fn is_good(status: u16) -> bool {
    (200..300).contains(&status)
}

/// An HTTP status that is no success, with what the engine says about it.
fn refused(status: u16, body: &[u8]) -> ReplyOutcome {
    let (kind, reason) = match serde_json::from_slice::<Value>(body) {
        Ok(reply) => match &reply["error"] {
            Value::String(reason) => (String::new(), reason.clone()),
            Value::Object(error) => {
                // "All shards failed" says less than what the first of them said.
                let cause = error.get("root_cause").map_or(&Value::Null, |causes| &causes[0]);
                let of = |key| cause.get(key).or_else(|| error.get(key));
                (text(of("type")), text(of("reason")))
            }
            _ => (String::new(), shorten(body)),
        },
        Err(_) => (String::new(), shorten(body)),
    };
    ReplyOutcome::failure(ErrorClass::HttpStatus, status, &kind, reason)
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn shorten(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned()
}

/// A reply that says nothing of shards, time-out or duration is no search's, unless the request filtered them out.
fn search(body: &[u8], request: &Request) -> ReplyOutcome {
    if let Some(took_ms) = flawless(body) {
        return ReplyOutcome::success(request.weight, took_ms);
    }
    let (mut took_ms, mut timed_out, mut failed) = (-1, None, None);
    for (key, value) in Fields::of(body) {
        match key {
            b"took" => took_ms = number(value).unwrap_or(-1),
            b"timed_out" => timed_out = truth(value),
            b"_shards" => {
                failed =
                    Fields::of(value).find(|(key, _)| *key == b"failed").and_then(|(_, value)| number(value));
            }
            _ => {}
        }
        if took_ms >= 0 && timed_out.is_some() && failed.is_some() {
            break;
        }
    }
    let result = match (failed, timed_out) {
        (Some(failed), _) if failed > 0 => shard_failure(body, failed),
        (_, Some(true)) => {
            let reason =
                format!("the search timed out in the engine after {took_ms} ms, its hits are incomplete");
            ReplyOutcome::failure(ErrorClass::SearchTimeout, 200, "", reason)
        }
        (None, None) if took_ms < 0 && !request.path.contains("filter_path=") => {
            let reason = format!("the reply is not a search's: {}", shorten(body));
            ReplyOutcome::failure(ErrorClass::Protocol, 200, "", reason)
        }
        _ => ReplyOutcome::success(request.weight, took_ms),
    };
    ReplyOutcome { took_ms, ..result }
}

/// What a search took, by a reply that begins just as engines write a flawless one: it takes a few comparisons to know
/// nearly every reply. `None` says nothing.
fn flawless(body: &[u8]) -> Option<i64> {
    let (took_ms, rest) = number_and_rest(body.strip_prefix(br#"{"took":"#)?)?;
    let (_, rest) = number_and_rest(rest.strip_prefix(br#","timed_out":false,"_shards":{"total":"#)?)?;
    let (_, rest) = number_and_rest(rest.strip_prefix(br#","successful":"#)?)?;
    let (_, rest) = number_and_rest(rest.strip_prefix(br#","skipped":"#)?)?;
    let (failed, _) = number_and_rest(rest.strip_prefix(br#","failed":"#)?)?;
    (failed == 0).then_some(took_ms)
}

fn esql(body: &[u8]) -> ReplyOutcome {
    let (mut took_ms, mut partial) = (-1, false);
    for (key, value) in Fields::of(body) {
        match key {
            b"took" => took_ms = number(value).unwrap_or(-1),
            b"is_partial" => partial = truth(value) == Some(true),
            _ => {}
        }
        // What decides comes before the columns and values.
        if key == b"columns" || partial {
            break;
        }
    }
    if !partial {
        return ReplyOutcome::success(1, took_ms);
    }
    ReplyOutcome {
        took_ms,
        ..ReplyOutcome::failure(ErrorClass::Partial, 200, "", "the reply is partial".into())
    }
}

fn shard_failure(body: &[u8], failed: i64) -> ReplyOutcome {
    let reply: Value = serde_json::from_slice(body).unwrap_or_default();
    let cause = &reply["_shards"]["failures"][0]["reason"];
    let reason = format!("{failed} shards failed: {}", text(cause.get("reason")));
    ReplyOutcome::failure(ErrorClass::ShardFailure, 200, &text(cause.get("type")), reason)
}

fn bulk(body: &[u8], documents: u64) -> ReplyOutcome {
    let (mut took_ms, mut errors) = (-1, None);
    for (key, value) in Fields::of(body) {
        match key {
            b"took" => took_ms = number(value).unwrap_or(-1),
            b"errors" => errors = truth(value),
            _ => {}
        }
        if took_ms >= 0 && errors.is_some() {
            break;
        }
    }
    match errors {
        Some(false) => ReplyOutcome::success(documents, took_ms),
        Some(true) => ReplyOutcome { took_ms, ..rejections(body, documents) },
        None => ReplyOutcome::failure(
            ErrorClass::Protocol,
            200,
            "",
            "the reply to a bulk does not say `errors`".into(),
        ),
    }
}

#[derive(Deserialize)]
struct BulkReply<'a> {
    #[serde(borrow)]
    items: Vec<BTreeMap<Cow<'a, str>, Item<'a>>>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(default)]
    status: u16,
    #[serde(borrow)]
    error: Option<ItemError<'a>>,
}

#[derive(Deserialize)]
struct ItemError<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    reason: Option<Cow<'a, str>>,
}

/// Counts the rejected documents of a bulk and groups them by their reasons.
fn rejections(body: &[u8], documents: u64) -> ReplyOutcome {
    let Ok(reply) = serde_json::from_slice::<BulkReply>(body) else {
        let reason = "the reply to a bulk says `errors` but its items are not understood".into();
        return ReplyOutcome::failure(ErrorClass::Protocol, 200, "", reason);
    };
    let mut failures: Vec<Failure> = Vec::new();
    let mut rejected = 0;
    let items = reply.items.iter().flat_map(BTreeMap::values);
    for (item, error) in items.filter_map(|item| item.error.as_ref().map(|error| (item, error))) {
        rejected += 1;
        let known = failures.iter().position(|known| known.status == item.status && known.kind == error.kind);
        let position = known.unwrap_or_else(|| {
            if failures.len() < MOST_REASONS {
                failures.push(first_of_kind(item.status, error, failures.len() + 1 == MOST_REASONS));
            }
            failures.len() - 1
        });
        failures[position].count += 1;
    }
    ReplyOutcome {
        class: ErrorClass::BulkItem,
        accepted: documents.saturating_sub(rejected),
        rejected,
        took_ms: -1,
        failures,
    }
}

/// A reason that no document has been counted for yet. The last one that is kept stands for all others.
fn first_of_kind(status: u16, error: &ItemError, last: bool) -> Failure {
    let kind = if last { "other" } else { &error.kind };
    let reason = error.reason.as_deref().unwrap_or_default();
    Failure { status, kind: kind.to_owned(), reason: reason.to_owned(), count: 0 }
}

fn health(body: &[u8], wanted: Option<HealthStatus>, no_relocating_shards: bool) -> ReplyOutcome {
    let reply: Value = serde_json::from_slice(body).unwrap_or_default();
    let status = serde_json::from_value::<HealthStatus>(reply["status"].clone()).ok();
    let relocating = reply["relocating_shards"].as_u64().unwrap_or(0);
    let reached = wanted.is_none_or(|wanted| status.is_some_and(|status| status >= wanted));
    if reached && !(no_relocating_shards && relocating > 0) {
        return ReplyOutcome::success(1, -1);
    }
    let reason = format!("health is {}, {relocating} shards are relocating", scalar(&reply["status"]));
    ReplyOutcome::failure(ErrorClass::Condition, 200, "", reason)
}

fn condition(body: &[u8], path: &str, expected: &str) -> ReplyOutcome {
    let reply: Value = serde_json::from_slice(body).unwrap_or_default();
    let actual = scalar(at(&reply, path));
    if actual == expected {
        return ReplyOutcome::success(1, -1);
    }
    ReplyOutcome::failure(ErrorClass::Condition, 200, "", format!("{path} is {actual}, not {expected}"))
}

fn empty(body: &[u8], path: &str) -> ReplyOutcome {
    let reply: Value = serde_json::from_slice(body).unwrap_or_default();
    let is_empty = match at(&reply, path) {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        other => other.is_null(),
    };
    if is_empty {
        return ReplyOutcome::success(1, -1);
    }
    ReplyOutcome::failure(ErrorClass::Condition, 200, "", format!("{path} is not empty yet"))
}

/// The value at keys joined by dots; in a list a key is a position.
fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, key| match key.parse::<usize>() {
        Ok(position) if value.is_array() => &value[position],
        _ => &value[key],
    })
}

/// A value as text: strings without quotes, everything else as in JSON.
fn scalar(value: &Value) -> String {
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
        }
    }

    fn class(check: Check, body: &str) -> ErrorClass {
        judge(&request(check), 200, body.as_bytes()).class
    }

    #[test]
    fn the_status_decides_first() {
        let status = request(Check::Status {});
        assert_eq!(judge(&status, 201, b""), ReplyOutcome::success(5, -1));
        assert_eq!(judge(&status, 404, b""), ReplyOutcome::success(2, -1));
        let body = br#"{"error": {"type": "rejected", "reason": "queue is full"}, "status": 429}"#;
        let result = judge(&status, 429, body);
        assert_eq!((result.class, result.accepted), (ErrorClass::HttpStatus, 0));
        assert_eq!((result.failures[0].kind.as_str(), result.failures[0].status), ("rejected", 429));
        assert_eq!(judge(&status, 502, b"<html>Bad Gateway").failures[0].reason, "<html>Bad Gateway");
        let body = br#"{"error": {"root_cause": [{"type": "shape", "reason": "no such relation"}],
            "type": "search_phase_execution_exception", "reason": "all shards failed"}, "status": 400}"#;
        assert_eq!(judge(&status, 400, body).failures[0].reason, "no such relation");
    }

    #[test]
    fn a_flawless_reply_is_known_by_its_beginning_and_no_other_is() {
        let flawless_one = r#"{"took":17,"timed_out":false,"_shards":{"total":5,"successful":5,"skipped":0,"failed":0},"hits":{}}"#;
        assert_eq!(flawless(flawless_one.as_bytes()), Some(17));
        for (part, other) in [
            ("false", "true"),
            (r#""failed":0"#, r#""failed":1"#),
            (r#""failed":0"#, r#""failed":01"#),
            (r#""skipped":0,"#, ""),
            (":17", ": 17"),
            (r#"":17"#, r#"":"17""#),
        ] {
            let text = flawless_one.replace(part, other);
            assert_eq!(flawless(text.as_bytes()), None, "{text}");
        }
        for end in 0..flawless_one.find(r#"},"hits"#).unwrap() {
            assert_eq!(flawless(&flawless_one.as_bytes()[..end]), None, "{end}");
        }
        // What begins otherwise is judged all the same.
        let pretty = flawless_one.replace(':', ": ");
        let result = judge(&request(Check::Search {}), 200, pretty.as_bytes());
        assert_eq!(result, judge(&request(Check::Search {}), 200, flawless_one.as_bytes()));
        assert_eq!((result.took_ms, result.accepted), (17, 5));
    }

    #[test]
    fn a_search_fails_with_its_shards_and_its_time() {
        let good = r#"{"took": 7, "timed_out": false, "_shards": {"total": 2, "failed": 0}, "hits": {"#;
        let result = judge(&request(Check::Search {}), 200, good.as_bytes());
        assert_eq!(result, ReplyOutcome::success(5, 7));
        let failed = r#"{"took": 7, "timed_out": false, "_shards": {"total": 2, "failed": 1,
            "failures": [{"reason": {"type": "script_exception", "reason": "runtime error"}}]}, "hits": {}}"#;
        let result = judge(&request(Check::Search {}), 200, failed.as_bytes());
        assert_eq!((result.class, result.took_ms), (ErrorClass::ShardFailure, 7));
        assert_eq!(result.failures[0].kind, "script_exception");
        let late = r#"{"took": 7, "timed_out": true, "_shards": {"failed": 0}}"#;
        assert_eq!(class(Check::Search {}, late), ErrorClass::SearchTimeout);
        assert_eq!(class(Check::Search {}, "<html>please log in</html>"), ErrorClass::Protocol);
        assert_eq!(class(Check::Search {}, r#"{"hits": {}}"#), ErrorClass::Protocol);
        let filtered = Request { path: "/_search?filter_path=hits".into(), ..request(Check::Search {}) };
        assert_eq!(judge(&filtered, 200, br#"{"hits": {}}"#).class, ErrorClass::None);
    }

    #[test]
    fn rejected_documents_are_counted_by_reason() {
        let body = r#"{"errors": true, "took": 3, "items": [
            {"index": {"status": 201}},
            {"index": {"status": 429, "error": {"type": "rejected", "reason": "full"}}},
            {"create": {"status": 409, "error": {"type": "conflict", "reason": null}}},
            {"index": {"status": 429, "error": {"type": "rejected", "reason": "very full"}}}]}"#;
        let result = judge_bulk(200, body.as_bytes(), 4);
        assert_eq!((result.class, result.accepted, result.rejected), (ErrorClass::BulkItem, 1, 3));
        assert_eq!(result.took_ms, 3);
        let counts: Vec<_> =
            result.failures.iter().map(|failure| (failure.kind.as_str(), failure.count)).collect();
        assert_eq!(counts, [("rejected", 2), ("conflict", 1)]);
        assert_eq!(judge_bulk(200, br#"{"took":1,"errors":false,"items":["#, 9), ReplyOutcome::success(9, 1));
        assert_eq!(judge_bulk(413, b"", 9).class, ErrorClass::HttpStatus);
        assert_eq!(judge_bulk(200, b"{}", 9).class, ErrorClass::Protocol);
    }

    #[test]
    fn reasons_of_one_bulk_are_bounded_and_none_is_lost() {
        let item = |n: usize| {
            format!(r#"{{"index": {{"status": 400, "error": {{"type": "t{n}", "reason": "r"}}}}}}"#)
        };
        let items: Vec<_> = (0..50).map(item).collect();
        let body = format!(r#"{{"took": 1, "errors": true, "items": [{}]}}"#, items.join(","));
        let result = judge_bulk(200, body.as_bytes(), 50);
        assert_eq!(result.failures.len(), MOST_REASONS);
        assert_eq!(result.failures.iter().map(|failure| failure.count).sum::<u64>(), 50);
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
    fn assertions_compare_by_type_at_the_first_path_there_is() {
        let body =
            br#"{"hits": {"total": {"value": 17, "relation": "eq"}}, "timed_out": false, "took": 1.5}"#;
        let check = |path: &str, condition, value: Value| {
            let paths = vec!["hits.count".into(), path.into()];
            let assertion = Assertion { property: "hits".into(), paths, condition, value };
            broken_assertion(&[assertion], body).map(|result| result.failures[0].reason.clone())
        };
        let total = |condition, value: i64| check("hits.total.value", condition, value.into());
        assert_eq!(total(Comparison::Equal, 17), None);
        assert_eq!(total(Comparison::Equal, 20).unwrap(), "hits is 17, the track asserts == 20");
        for (condition, broken) in [
            (Comparison::Less, [17, 16]),
            (Comparison::LessOrEqual, [16, 15]),
            (Comparison::GreaterOrEqual, [18, 19]),
            (Comparison::Greater, [17, 18]),
        ] {
            assert!(broken.iter().all(|value| total(condition, *value).is_some()), "{condition:?}");
            let holds = [17 + 17 - broken[0], 17 + 17 - broken[1]];
            assert!(holds.iter().any(|value| total(condition, *value).is_none()), "{condition:?} {holds:?}");
        }
        assert_eq!(check("took", Comparison::Less, 2.into()), None);
        assert_eq!(check("hits.total.relation", Comparison::Equal, "eq".into()), None);
        assert_eq!(check("timed_out", Comparison::Equal, false.into()), None);
        assert!(check("hits.total.value", Comparison::Equal, "17".into()).is_some());
        assert_eq!(
            check("nowhere", Comparison::Greater, 0.into()).unwrap(),
            "hits is absent, the track asserts > 0"
        );
    }

    #[test]
    fn health_is_reached_from_below() {
        let check = |status| Check::Health { status, no_relocating_shards: true };
        let body = r#"{"status": "yellow", "relocating_shards": 0}"#;
        assert_eq!(class(check(Some(HealthStatus::Yellow)), body), ErrorClass::None);
        assert_eq!(class(check(Some(HealthStatus::Green)), body), ErrorClass::Condition);
        assert_eq!(class(check(None), r#"{"status": "red", "relocating_shards": 2}"#), ErrorClass::Condition);
    }
}
