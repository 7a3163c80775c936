//! Checks the response to a bulk: which documents the engine rejected, and why.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pacenote_record::{ErrorClass, Failure};
use serde::Deserialize;

use crate::response::check::{http_error, is_2xx, parse_took};
use crate::response::json_scan::{Fields, parse_bool};
use crate::response::outcome::WorkOutcome;

/// Maximum number of failures per bulk that are told apart. Two more count all other documents: one those that were
/// rejected with status 429, which may be sent again, and one those that failed for other reasons.
const MAX_FAILURES: usize = 6;

/// The error type of the failures beyond the limit.
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

/// Checks the response to a bulk of `document_count` documents. Stores in `throttled` the positions, in the request, of the
/// documents that were rejected with status 429. If the response does not have one item for each document, stores
/// nothing, because it is unknown which document an item belongs to.
pub fn check_bulk_response(
    status: u16,
    body: &[u8],
    document_count: u64,
    throttled: Option<&mut Vec<usize>>,
) -> WorkOutcome {
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
        Some(false) => WorkOutcome::success(document_count).with_took(took_ms),
        Some(true) => {
            let response = serde_json::from_slice::<BulkResponse>(body);
            let outcome = response.map_or_else(
                |_| {
                    let reason =
                        "the response to a bulk reports errors, but its items cannot be parsed".into();
                    WorkOutcome::failure(ErrorClass::Protocol, reason).with_status(status)
                },
                |response| {
                    if let Some(throttled) = throttled {
                        *throttled = response.throttled_positions(document_count);
                    }
                    response.outcome(document_count)
                },
            );
            outcome.with_took(took_ms)
        }
        None => {
            let reason = "the response to a bulk has no field `errors`".into();
            WorkOutcome::failure(ErrorClass::Protocol, reason).with_status(status)
        }
    }
}

impl BulkItem<'_> {
    /// Returns whether the engine rejected the document because it is overloaded. Such a document also counts as failed
    /// if the response states no error for it.
    fn is_throttled(&self) -> bool {
        self.status == TOO_MANY_REQUESTS
    }

    fn is_failed(&self) -> bool {
        self.error.is_some() || self.is_throttled()
    }

    /// Returns whether this is one of the documents that `failure` counts.
    fn belongs_to(&self, failure: &Failure) -> bool {
        failure.status == self.status && failure.error_type == self.error_type()
    }

    fn error_type(&self) -> &str {
        self.error.as_ref().map_or("", |error| &error.error_type)
    }

    /// Creates the failure of this document, which counts no documents yet; `error_type` is that of the failure.
    fn failure(&self, status: u16, error_type: &str) -> Failure {
        let reason = self.error.as_ref().and_then(|error| error.reason.as_deref()).unwrap_or_default();
        Failure {
            error_class: ErrorClass::BulkItem,
            status,
            error_type: error_type.to_owned(),
            reason: reason.to_owned(),
            count: 0,
        }
    }
}

impl BulkResponse<'_> {
    /// Returns the positions of the documents that were rejected with status 429; see [`check_bulk_response`].
    fn throttled_positions(&self, document_count: u64) -> Vec<usize> {
        if self.items.len() as u64 != document_count {
            return Vec::new();
        }
        let is_throttled =
            |item: &BTreeMap<_, BulkItem>| item.values().next().is_some_and(BulkItem::is_throttled);
        let items = self.items.iter().enumerate();
        items.filter(|(_, item)| is_throttled(item)).map(|(position, _)| position).collect()
    }

    /// Counts the failed documents by status and error type.
    fn outcome(&self, document_count: u64) -> WorkOutcome {
        let mut failures: Vec<Failure> = Vec::new();
        let mut failed_weight = 0;
        // The failures beyond the limit: those with status 429, and all others.
        let mut others: [Option<Failure>; 2] = [None, None];
        for item in self.items.iter().flat_map(BTreeMap::values).filter(|item| item.is_failed()) {
            failed_weight += 1;
            let failure = match failures.iter().position(|known| item.belongs_to(known)) {
                Some(position) => &mut failures[position],
                None if failures.len() < MAX_FAILURES => {
                    failures.push_mut(item.failure(item.status, item.error_type()))
                }
                None if item.is_throttled() => {
                    others[0].get_or_insert_with(|| item.failure(TOO_MANY_REQUESTS, OTHER))
                }
                None => others[1].get_or_insert_with(|| item.failure(0, OTHER)),
            };
            failure.count += 1;
        }
        failures.extend(others.into_iter().flatten());
        WorkOutcome {
            error_class: ErrorClass::BulkItem,
            weight: document_count.saturating_sub(failed_weight),
            failed_weight,
            took_ms: None,
            failures,
        }
    }
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
        let result = check_bulk_response(200, body.as_bytes(), 4, None);
        assert_eq!((result.error_class, result.weight, result.failed_weight), (ErrorClass::BulkItem, 1, 3));
        assert_eq!(result.took_ms, Some(3));
        let counts: Vec<_> =
            result.failures.iter().map(|failure| (failure.error_type.as_str(), failure.count)).collect();
        assert_eq!(counts, [("rejected", 2), ("conflict", 1)]);
        assert_eq!(
            check_bulk_response(200, br#"{"took":1,"errors":false,"items":["#, 9, None),
            WorkOutcome::success(9).with_took(Some(1))
        );
        assert_eq!(check_bulk_response(413, b"", 9, None).error_class, ErrorClass::HttpStatus);
        assert_eq!(check_bulk_response(200, b"{}", 9, None).error_class, ErrorClass::Protocol);
    }

    #[test]
    fn failures_of_one_bulk_are_limited_and_count_every_document() {
        let item = |n: usize| {
            format!(r#"{{"index": {{"status": 400, "error": {{"type": "t{n}", "reason": "r"}}}}}}"#)
        };
        let items: Vec<_> = (0..50).map(item).collect();
        let body = format!(r#"{{"took": 1, "errors": true, "items": [{}]}}"#, items.join(","));
        let result = check_bulk_response(200, body.as_bytes(), 50, None);
        assert_eq!(result.failures.len(), MAX_FAILURES + 1);
        assert_eq!(result.failures.iter().map(|failure| failure.count).sum::<u64>(), 50);
    }

    #[test]
    fn rejected_documents_beyond_the_limit_of_failures_are_counted_apart() {
        let item = |n: usize| {
            let status = if n % 5 == 2 { 429 } else { 400 };
            format!(r#"{{"index": {{"status": {status}, "error": {{"type": "t{n}", "reason": "r"}}}}}}"#)
        };
        let items: Vec<_> = (0..50).map(item).collect();
        let body = format!(r#"{{"took": 1, "errors": true, "items": [{}]}}"#, items.join(","));
        let result = check_bulk_response(200, body.as_bytes(), 50, None);
        let counted = |status: u16| -> u64 {
            let of_status = result.failures.iter().filter(|failure| failure.status == status);
            of_status.map(|failure| failure.count).sum()
        };
        assert_eq!((counted(429), counted(400) + counted(0)), (10, 40));
    }

    fn throttled_positions(body: &[u8], document_count: u64) -> Vec<usize> {
        let mut rejected = Vec::new();
        check_bulk_response(200, body, document_count, Some(&mut rejected));
        rejected
    }

    #[test]
    fn documents_with_status_429_are_found_only_if_the_response_is_complete() {
        let response = br#"{"took": 1, "errors": true, "items": [
            {"index": {"status": 429, "error": {"type": "full", "reason": "x"}}}, {"update": {"status": 201}},
            {"index": {"status": 400, "error": {"type": "bad"}}}, {"create": {"status": 429}}]}"#;
        assert_eq!(throttled_positions(response, 4), [0, 3]);
        // Exactly these documents are also counted as failed with status 429.
        let result = check_bulk_response(200, response, 4, None);
        assert_eq!((result.weight, result.failed_weight), (1, 3));
        let statuses: Vec<_> =
            result.failures.iter().map(|failure| (failure.status, failure.count)).collect();
        assert_eq!(statuses, [(429, 1), (400, 1), (429, 1)]);
        assert!(throttled_positions(response, 5).is_empty());
        assert!(throttled_positions(b"{}", 0).is_empty());
    }
}
