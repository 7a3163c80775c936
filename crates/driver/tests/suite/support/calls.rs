//! Calls of operations, and responses to them.
#![allow(clippy::needless_pass_by_value, reason = "JSON documents are built from JSON values")]

use serde_json::{Value, json};

use super::{LoggedRequest, json_response, request, request_task};

/// Builds a task that makes these calls in every iteration.
pub fn calls_task(name: &str, iterations: u64, calls: &[Value]) -> Value {
    let mut task = request_task(name, 1, iterations);
    task["work"]["calls"] = calls.into();
    task
}

/// Builds paging that begins with the request `first`.
pub fn paged(mut first: Value, next: Value, pages: impl Into<Value>, page_size: impl Into<Value>) -> Value {
    first.as_object_mut().unwrap().remove("kind");
    json!({"kind": "pages", "first": first, "next": next, "pages": pages.into(), "page_size": page_size.into(),
           "strict": false})
}

/// Builds a request with a body.
pub fn with_body(method: &str, path: &str, body: &Value) -> Value {
    let mut request = request(method, path);
    request["body"] = body.to_string().into();
    request
}

/// Builds a sub-operation that makes these calls.
pub fn operation(name: &str, calls: &[Value]) -> Value {
    json!({"kind": "operation", "name": name, "operation_type": "search", "calls": calls,
           "retry": {"retries": 0, "until_success": false, "limit_s": 600.0, "wait_s": 0.01, "on_timeout": true,
                     "on_unsuccess": false}})
}

/// Builds a composite operation.
pub fn composite(items: &[Value], max_connections: impl Into<Value>) -> Value {
    json!({"kind": "composite", "items": items, "max_connections": max_connections.into()})
}

/// Builds the response to a search, with additional fields.
pub fn search_response(extra: &Value) -> Vec<u8> {
    let mut body = json!({"took": 3, "timed_out": false, "_shards": {"failed": 0}});
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json_response(200, &body)
}

/// Builds hits with these sort values.
pub fn hits(sorts: &[Value]) -> Value {
    let hits: Vec<Value> = sorts.iter().map(|sort| json!({"_id": "x", "sort": sort})).collect();
    json!({"total": {"value": 10_000, "relation": "gte"}, "hits": hits})
}

/// Returns the path of a request.
pub fn path_of(seen: &LoggedRequest) -> &str {
    seen.line.split(' ').nth(1).unwrap()
}
