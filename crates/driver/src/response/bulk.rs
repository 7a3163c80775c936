//! Checks the response to a bulk: which documents the engine rejected, and why.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pacenote_record::{ErrorClass, Failure};
use serde::Deserialize;

use crate::response::check::{http_error, is_2xx, parse_took};
use crate::response::json_scan::{Fields, parse_bool};
use crate::response::outcome::ResponseOutcome;

/// Maximum number of failures kept per bulk. The last one counts all documents that are not counted by the others.
const MAX_FAILURES: usize = 8;

/// The error type of the last failure.
const OTHER: &str = "other";

/// The status of a document that was rejected because the engine is overloaded.
pub const TOO_MANY_REQUESTS: u16 = 429;

#[derive(Deserialize)]
struct BulkResponse<'a> {
    /// One map for each document, from its action to the result.
    #[serde(borrow)]
    items: Vec<BTreeMap<Cow<'a, str>, BulkItem<'a>>>,
}

#[derive(Deserialize)]
struct BulkItem<'a> {
    #[serde(default)]
    status: u16,
    #[serde(borrow)]
    error: Option<BulkItemError<'a>>,
}

#[derive(Deserialize)]
struct BulkItemError<'a> {
    #[serde(borrow, rename = "type", default)]
    error_type: Cow<'a, str>,
    #[serde(borrow, default)]
    reason: Option<Cow<'a, str>>,
}

/// Checks the response to a bulk of `documents` documents.
pub fn check_bulk_response(status: u16, body: &[u8], documents: u64) -> ResponseOutcome {
    if !is_2xx(status) {
        return http_error(status, body);
    }
    let (mut took_ms, mut errors) = (None, None);
    for (key, value) in Fields::new(body) {
        match key {
            b"took" => took_ms = parse_took(value),
            b"errors" => errors = parse_bool(value),
            _ => {}
        }
        if took_ms.is_some() && errors.is_some() {
            break;
        }
    }
    match errors {
        Some(false) => ResponseOutcome::success(documents).with_took(took_ms),
        Some(true) => {
            let response = serde_json::from_slice::<BulkResponse>(body);
            let outcome = response.map_or_else(
                |_| {
                    let reason =
                        "the response to a bulk reports errors, but its items cannot be parsed".into();
                    ResponseOutcome::failure(ErrorClass::Protocol, reason).with_status(status)
                },
                |response| response.outcome(documents),
            );
            outcome.with_took(took_ms)
        }
        None => {
            let reason = "the response to a bulk has no field `errors`".into();
            ResponseOutcome::failure(ErrorClass::Protocol, reason).with_status(status)
        }
    }
}

/// Returns the positions, in the request, of the documents that were rejected with status 429. If the response does not
/// have one item for each document, returns an empty list, because it is unknown which document an item belongs to.
pub fn rejected_positions(body: &[u8], documents: u64) -> Vec<usize> {
    let Ok(response) = serde_json::from_slice::<BulkResponse>(body) else { return Vec::new() };
    if response.items.len() as u64 != documents {
        return Vec::new();
    }
    let is_rejected = |item: &BTreeMap<_, BulkItem>| {
        item.values().next().is_some_and(|item| item.status == TOO_MANY_REQUESTS)
    };
    let items = response.items.iter().enumerate();
    items.filter(|(_, item)| is_rejected(item)).map(|(position, _)| position).collect()
}

impl BulkResponse<'_> {
    /// Counts the rejected documents by status and error type.
    fn outcome(&self, documents: u64) -> ResponseOutcome {
        let mut failures: Vec<Failure> = Vec::new();
        let mut failed_weight = 0;
        let items = self.items.iter().flat_map(BTreeMap::values);
        for (item, error) in items.filter_map(|item| item.error.as_ref().map(|error| (item, error))) {
            failed_weight += 1;
            let known = failures
                .iter()
                .position(|known| known.status == item.status && known.error_type == error.error_type);
            let position = known.unwrap_or_else(|| {
                if failures.len() < MAX_FAILURES {
                    failures.push(new_failure(item.status, error, failures.len()));
                }
                failures.len() - 1
            });
            failures[position].count += 1;
        }
        ResponseOutcome {
            error_class: ErrorClass::BulkItem,
            weight: documents.saturating_sub(failed_weight),
            failed_weight,
            took_ms: None,
            failures,
        }
    }
}

/// Creates a failure that counts no documents yet, after `earlier` others. The last failure that is kept represents all
/// other error types.
fn new_failure(status: u16, error: &BulkItemError, earlier: usize) -> Failure {
    let error_type = if earlier + 1 < MAX_FAILURES { &error.error_type } else { OTHER };
    let reason = error.reason.as_deref().unwrap_or_default();
    Failure { status, error_type: error_type.to_owned(), reason: reason.to_owned(), count: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_documents_are_counted_by_status_and_error_type() {
        let body = r#"{"errors": true, "took": 3, "items": [
            {"index": {"status": 201}},
            {"index": {"status": 429, "error": {"type": "rejected", "reason": "full"}}},
            {"create": {"status": 409, "error": {"type": "conflict", "reason": null}}},
            {"index": {"status": 429, "error": {"type": "rejected", "reason": "very full"}}}]}"#;
        let result = check_bulk_response(200, body.as_bytes(), 4);
        assert_eq!((result.error_class, result.weight, result.failed_weight), (ErrorClass::BulkItem, 1, 3));
        assert_eq!(result.took_ms, Some(3));
        let counts: Vec<_> =
            result.failures.iter().map(|failure| (failure.error_type.as_str(), failure.count)).collect();
        assert_eq!(counts, [("rejected", 2), ("conflict", 1)]);
        assert_eq!(
            check_bulk_response(200, br#"{"took":1,"errors":false,"items":["#, 9),
            ResponseOutcome::success(9).with_took(Some(1))
        );
        assert_eq!(check_bulk_response(413, b"", 9).error_class, ErrorClass::HttpStatus);
        assert_eq!(check_bulk_response(200, b"{}", 9).error_class, ErrorClass::Protocol);
    }

    #[test]
    fn failures_of_one_bulk_are_limited_and_count_every_document() {
        let item = |n: usize| {
            format!(r#"{{"index": {{"status": 400, "error": {{"type": "t{n}", "reason": "r"}}}}}}"#)
        };
        let items: Vec<_> = (0..50).map(item).collect();
        let body = format!(r#"{{"took": 1, "errors": true, "items": [{}]}}"#, items.join(","));
        let result = check_bulk_response(200, body.as_bytes(), 50);
        assert_eq!(result.failures.len(), MAX_FAILURES);
        assert_eq!(result.failures.iter().map(|failure| failure.count).sum::<u64>(), 50);
    }

    #[test]
    fn documents_with_status_429_are_found_only_if_the_response_is_complete() {
        let response = br#"{"took": 1, "errors": true, "items": [
            {"index": {"status": 429, "error": {"type": "full", "reason": "x"}}}, {"update": {"status": 201}},
            {"index": {"status": 400, "error": {"type": "bad"}}}, {"create": {"status": 429}}]}"#;
        assert_eq!(rejected_positions(response, 4), [0, 3]);
        assert!(rejected_positions(response, 5).is_empty());
        assert!(rejected_positions(b"{}", 0).is_empty());
    }
}
