//! Checks the response to a bulk: which documents the engine rejected, and why.

use std::borrow::Cow;

use pacenote_record::{ErrorClass, Failure, FailureUnit};
use serde::Deserialize;

use crate::response::body::{ends_object, excerpt, http_error, invalid_json, is_2xx, parse_took, validate};
use crate::response::brief::{fields_of, optional, optional_long_text, optional_object};
use crate::response::json_scan::{
    Elements, Fields, InvalidJson, followed_value, parse_scalar, split_integer,
};
use crate::response::json_text::MAX_SCALAR_BYTES;
use crate::response::outcome::WorkOutcome;
use crate::slices::Slices;

/// Maximum number of failures per bulk that are told apart. Two more count all other documents: one those that were
/// rejected with status 429, which may be sent again, and one those that failed for other reasons.
const MAX_FAILURES: usize = 6;

/// The error type of the failures beyond the limit.
const OTHER: &str = "other";

/// The status of a document that was rejected because the engine is overloaded.
pub const TOO_MANY_REQUESTS: u16 = 429;

/// The highest status of a document that was not rejected, as in Rally.
const LAST_SUCCESSFUL_STATUS: u16 = 299;

/// What is known about a bulk before its response arrives.
#[derive(Debug, Clone, Copy)]
pub struct SentBulk {
    /// Number of documents.
    pub documents: u64,
    /// Whether the request selects the fields of its response (`filter_path`), so that items may be missing.
    pub filters_fields: bool,
}

impl SentBulk {
    /// Returns whether a response without errors lacks the results of documents. Only the first item is read.
    fn lacks_items(self, items: Option<&[u8]>) -> bool {
        let has_item = || Elements::new(items?).next().filter(|first| first.starts_with(b"{"));
        self.documents > 0 && !self.filters_fields && has_item().is_none()
    }
}

/// The result of one document.
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

/// The fields of a response that determine how its items are read.
#[derive(Default)]
struct BulkFields<'a> {
    took_ms: Option<u64>,
    errors: Option<bool>,
    /// The items and what follows them.
    items: Option<&'a [u8]>,
}

/// Checks the response to a bulk. Stores in `throttled` the positions, in the request, of the documents that were
/// rejected with status 429. If the response does not have one item for each document, stores nothing, because it is
/// unknown which document an item belongs to. Reads a long body in slices, between which the thread serves its other
/// clients.
pub async fn check_bulk_response(
    status: u16,
    body: &[u8],
    sent: SentBulk,
    throttled: Option<&mut Vec<usize>>,
) -> WorkOutcome {
    if !is_2xx(status) {
        return http_error(status, body).await;
    }
    if let Some(took_ms) = fast_path_bulk(body) {
        return WorkOutcome::success(sent.documents).with_took(Some(took_ms));
    }
    let mut slices = Slices::default();
    let fields = match BulkFields::read(body, &mut slices).await {
        Ok(fields) => fields,
        Err(InvalidJson) => return invalid_json(status, body),
    };
    let protocol = |reason: &str| {
        let reason = format!("{reason}: {}", excerpt(body));
        WorkOutcome::failure(ErrorClass::Protocol, reason).with_status(status)
    };
    let outcome = match (fields.errors, fields.items) {
        (None, _) if sent.filters_fields => {
            protocol("the response to a bulk has no field `errors`: add it to `filter_path`")
        }
        (None, _) => protocol("the response to a bulk has no field `errors`"),
        (Some(false), items) if sent.lacks_items(items) => protocol("the response to a bulk has no items"),
        (Some(false), _) if !ends_object(body) => protocol("the response to a bulk is incomplete"),
        (Some(false), _) => WorkOutcome::success(sent.documents),
        (Some(true), None) => protocol("the response to a bulk reports errors, but has no items"),
        (Some(true), Some(items)) => match BulkTally::read(items, &mut slices).await {
            Ok(tally) => tally.outcome(sent, throttled).unwrap_or_else(|reason| protocol(&reason)),
            Err(InvalidJson) => {
                protocol("the response to a bulk reports errors, but its items cannot be parsed")
            }
        },
    };
    outcome.with_took(fields.took_ms)
}

/// Returns the duration, in milliseconds, of a bulk without failures whose response starts exactly as engines write it,
/// up to its first item. `None` means that the response must be scanned.
fn fast_path_bulk(body: &[u8]) -> Option<u64> {
    let (took_ms, rest) = match body.strip_prefix(br#"{"took":"#) {
        Some(rest) => {
            let (took_ms, rest) = split_integer(rest)?;
            (took_ms, rest.strip_prefix(br#","errors":false"#)?)
        }
        None => split_integer(body.strip_prefix(br#"{"errors":false,"took":"#)?)?,
    };
    (rest.starts_with(br#","items":[{"#) && ends_object(rest)).then_some(took_ms)
}

impl<'a> BulkFields<'a> {
    /// Reads the fields; reading stops as soon as all have been found.
    async fn read(body: &'a [u8], slices: &mut Slices) -> Result<Self, InvalidJson> {
        let mut found = Self::default();
        let mut fields = Fields::new(body);
        while let Some((key, value)) = fields.next_in_slices(slices).await {
            match key {
                b"took" => found.took_ms = parse_took(value)?,
                b"errors" => found.errors = Some(parse_scalar(value)?),
                b"items" => found.items = Some(value),
                _ => {}
            }
            if found.took_ms.is_some() && found.errors.is_some() && found.items.is_some() {
                return Ok(found);
            }
        }
        if fields.is_closed() { Ok(found) } else { Err(InvalidJson) }
    }
}

impl<'a> BulkItem<'a> {
    /// Reads the result that `text` starts with.
    fn read(text: &'a [u8]) -> Result<Self, InvalidJson> {
        let result = followed_value(text)?;
        if result.len() <= MAX_SCALAR_BYTES {
            return serde_json::from_slice(result).map_err(|_| InvalidJson);
        }
        // The parser would copy texts of any length, into its error if they are in the place of a number.
        validate(result)?;
        let [status, error] = fields_of(text, ["status", "error"])?;
        let error = optional_object(error)?.map(|error| {
            let [error_type, reason] = fields_of(error, ["type", "reason"])?;
            let error_type = optional_long_text(error_type)?.unwrap_or_default().into();
            Ok(BulkItemError { error_type, reason: optional_long_text(reason)?.map(Cow::Owned) })
        });
        Ok(Self { status: optional(status)?.unwrap_or_default(), error: error.transpose()? })
    }
}

impl BulkItem<'_> {
    /// Returns whether the engine rejected the document because it is overloaded. Such a document also counts as failed
    /// if the response states no error for it.
    fn is_throttled(&self) -> bool {
        self.status == TOO_MANY_REQUESTS
    }

    /// Returns whether the document failed. A request may select only the status or only the error.
    fn is_failed(&self) -> bool {
        self.error.is_some() || self.status > LAST_SUCCESSFUL_STATUS
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
            unit: FailureUnit::Documents,
            count: 0,
        }
    }
}

/// The items of a response, counted by status and error type.
#[derive(Default)]
struct BulkTally {
    items: u64,
    failed: u64,
    failures: Vec<Failure>,
    /// The failures beyond the limit: those with status 429, and all others.
    others: [Option<Failure>; 2],
    /// Positions of the items with status 429.
    throttled: Vec<usize>,
}

impl BulkTally {
    /// Counts all items. Each is an object with one field: the action, with the result of the document.
    async fn read(items: &[u8], slices: &mut Slices) -> Result<Self, InvalidJson> {
        let mut tally = Self::default();
        let mut elements = Elements::new(items);
        while let Some(element) = elements.next_in_slices(slices).await {
            let mut actions = Fields::new(element);
            let (_, result) = actions.next().ok_or(InvalidJson)?;
            tally.add(&BulkItem::read(result)?);
            if actions.next().is_some() || !actions.is_closed() {
                return Err(InvalidJson);
            }
        }
        if elements.is_closed() { Ok(tally) } else { Err(InvalidJson) }
    }

    fn add(&mut self, item: &BulkItem<'_>) {
        if item.is_throttled() {
            self.throttled.extend(usize::try_from(self.items));
        }
        self.items += 1;
        if !item.is_failed() {
            return;
        }
        self.failed += 1;
        let failure = match self.failures.iter().position(|known| item.belongs_to(known)) {
            Some(position) => &mut self.failures[position],
            None if self.failures.len() < MAX_FAILURES => {
                self.failures.push_mut(item.failure(item.status, item.error_type()))
            }
            None if item.is_throttled() => {
                self.others[0].get_or_insert_with(|| item.failure(TOO_MANY_REQUESTS, OTHER))
            }
            None => self.others[1].get_or_insert_with(|| item.failure(0, OTHER)),
        };
        failure.count += 1;
    }

    /// Returns the outcome of a bulk whose response reports errors.
    ///
    /// # Errors
    ///
    /// A reason if the items contradict that, or are not those of the documents that were sent.
    fn outcome(self, sent: SentBulk, throttled: Option<&mut Vec<usize>>) -> Result<WorkOutcome, String> {
        let Self { items, failed, mut failures, others, throttled: positions } = self;
        // A response whose fields are selected may contain only the items with an error.
        if items > sent.documents || items < sent.documents && !sent.filters_fields {
            return Err(format!("the response to a bulk of {} documents has {items} items", sent.documents));
        }
        if failed == 0 {
            return Err("the response to a bulk reports errors, but none of its items has one".into());
        }
        if let Some(throttled) = throttled.filter(|_| items == sent.documents) {
            *throttled = positions;
        }
        failures.extend(others.into_iter().flatten());
        Ok(WorkOutcome {
            error_class: ErrorClass::BulkItem,
            weight: sent.documents - failed,
            failed_weight: failed,
            took_ms: None,
            failures,
            is_final: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::{count_pauses, poll_once};

    fn check(body: &str, documents: u64) -> WorkOutcome {
        let sent = SentBulk { documents, filters_fields: false };
        poll_once(check_bulk_response(200, body.as_bytes(), sent, None))
    }

    fn check_filtered(body: &str, documents: u64) -> WorkOutcome {
        let sent = SentBulk { documents, filters_fields: true };
        poll_once(check_bulk_response(200, body.as_bytes(), sent, None))
    }

    #[test]
    fn rejected_documents_are_counted_by_status_and_error_type() {
        let body = r#"{"errors": true, "took": 3, "items": [
            {"index": {"status": 201}},
            {"index": {"status": 429, "error": {"type": "rejected", "reason": "full"}}},
            {"create": {"status": 409, "error": {"type": "conflict", "reason": null}}},
            {"index": {"status": 429, "error": {"type": "rejected", "reason": "very full"}}}]}"#;
        let result = check(body, 4);
        assert_eq!((result.error_class, result.weight, result.failed_weight), (ErrorClass::BulkItem, 1, 3));
        assert_eq!(result.took_ms, Some(3));
        let counts: Vec<_> =
            result.failures.iter().map(|failure| (failure.error_type.as_str(), failure.count)).collect();
        assert_eq!(counts, [("rejected", 2), ("conflict", 1)]);
    }

    #[test]
    fn a_long_item_is_read_like_a_short_one() {
        let check_long = |body: &str| {
            let sent = SentBulk { documents: 1, filters_fields: false };
            count_pauses(check_bulk_response(200, body.as_bytes(), sent, None)).0
        };
        let item = |text: &str| {
            format!(
                r#"{{"errors":true,"items":[{{"index":{{"status":409,"x":["{text}"],
                "error":{{"type":"conflict","reason":"because {text}"}}}}}}]}}"#
            )
        };
        for length in [10, MAX_SCALAR_BYTES, 1 << 20] {
            let result = check_long(&item(&"é".repeat(length)));
            let failure = &result.failures[0];
            assert_eq!((failure.status, failure.error_type.as_str(), failure.count), (409, "conflict", 1));
            assert!(failure.reason.starts_with("because éé"), "{length}");
            assert!(failure.reason.len() <= MAX_SCALAR_BYTES + 3, "{length}");
        }
        for damaged in [
            item(&"x".repeat(1 << 20)).replacen("409", r#""409""#, 1),
            item(&format!("{}\u{1}", "x".repeat(1 << 20))),
        ] {
            assert_eq!(check_long(&damaged).error_class, ErrorClass::Protocol);
        }
    }

    #[test]
    fn a_response_without_errors_is_read_up_to_its_first_item() {
        for body in [
            r#"{"took":1,"errors":false,"items":[{not read}"#,
            r#"{"errors":false,"took":1,"items":[{not read}"#,
            r#"{"took":1,"ingest_took":9,"errors":false,"items":[{not read}"#,
            r#"{ "errors" : false, "took" : 1, "items" : [ {} ] }"#,
        ] {
            assert_eq!(check(body, 9), WorkOutcome::success(9).with_took(Some(1)), "{body}");
        }
        assert_eq!(check(r#"{"errors":false,"items":[{}]}"#, 9), WorkOutcome::success(9));
        let negative = r#"{"took":-1,"errors":false,"items":[{}]}"#;
        assert_eq!(check(negative, 9), WorkOutcome::success(9), "its duration is unknown");
    }

    #[test]
    fn no_document_counts_if_the_response_is_cut_off_or_followed_by_something_else() {
        let whole = r#"{"took":1,"errors":false,"items":[{"index":{"status":201}}]}"#;
        assert_eq!(check(whole, 1), WorkOutcome::success(1).with_took(Some(1)));
        assert_eq!(check(&format!("{whole}\n"), 1), WorkOutcome::success(1).with_took(Some(1)));
        for body in [&whole[..whole.len() - 1], &whole[..50], &format!("{whole}HTTP/1.1 200 OK")] {
            assert_eq!(check(body, 1).error_class, ErrorClass::Protocol, "{body}");
        }
    }

    #[test]
    fn items_may_be_missing_only_if_the_request_selects_fields_or_sends_no_document() {
        for body in [
            r#"{"took":1,"errors":false}"#,
            r#"{"took":1,"errors":false,"items":[]}"#,
            r#"{"errors":false,"took":1,"items":null}"#,
        ] {
            assert_eq!(check(body, 9).error_class, ErrorClass::Protocol, "{body}");
            assert_eq!(check_filtered(body, 9), WorkOutcome::success(9).with_took(Some(1)), "{body}");
            assert_eq!(check(body, 0), WorkOutcome::success(0).with_took(Some(1)), "{body}");
        }
        // Without the field `errors`, or without the items that have an error, the documents are unknown.
        for body in [r#"{"took":1}"#, "{}", r#"{"took":1,"errors":true}"#, r#"{"errors":true,"items":[]}"#] {
            let result = check_filtered(body, 9);
            assert_eq!((result.error_class, result.weight), (ErrorClass::Protocol, 0), "{body}");
        }
    }

    #[test]
    fn no_document_counts_if_the_response_is_not_that_to_the_bulk() {
        let status =
            poll_once(check_bulk_response(413, b"", SentBulk { documents: 9, filters_fields: false }, None));
        assert_eq!(status.error_class, ErrorClass::HttpStatus);
        for body in [
            "{}",
            r#"{"took":1,"errors":false,"items":[]}"#,
            r#"{"took":1,"errors":false,"items":[ ]}"#,
            r#"{"errors":false,"took":1,"items":null}"#,
            r#"{"errors":false,"took":1,"items":{"index":{}}}"#,
            r#"{"errors":false,"took":1,"items":[1]}"#,
            r#"{"errors":false,"took":1,"items":"two"}"#,
            r#"{"took":1,"errors":false}"#,
            r#"{"took":1,"errors":"false","items":[{}]}"#,
            r#"{"took":1,"errors":null,"items":[{}]}"#,
            r#"{"took":"1","errors":false,"items":[{}]}"#,
            r#"{"took":1,"errors":true}"#,
            r#"{"took":1,"errors":true,"items":[]}"#,
            // None of the items failed, or there are too few or too many of them.
            r#"{"took":1,"errors":true,"items":[{"index":{"status":201}},{"index":{"status":201}}]}"#,
            r#"{"took":1,"errors":true,"items":[{"index":{"status":400}}]}"#,
            r#"{"took":1,"errors":true,"items":[{"index":{"status":400}},{"index":{}},{"index":{}}]}"#,
            // Items that are not those of one document each.
            r#"{"took":1,"errors":true,"items":[{"index":{"status":400},"create":{}},{"index":{}}]}"#,
            r#"{"took":1,"errors":true,"items":[{"index":{"status":400}},{}]}"#,
            r#"{"took":1,"errors":true,"items":[{"index":{"status":400}},{"index":{}}}"#,
        ] {
            let result = check(body, 2);
            assert_eq!((result.error_class, result.weight), (ErrorClass::Protocol, 0), "{body}");
        }
    }

    #[test]
    fn what_is_read_of_a_response_must_be_valid_json() {
        for body in [
            r#"{"took":1e400,"errors":false,"items":[{}]}"#,
            r#"{"took":NaN,"errors":false,"items":[{}]}"#,
            r#"{"took":01,"errors":false,"items":[{}]}"#,
            r#"{"took":1,"errors":falsehood,"items":[{}]}"#,
            r#"{"took":1 "errors":false,"items":[{}]}"#,
            r#"{"took":1,"errors":false"#,
            r#"{"took":1,"errors":false,"#,
            r#"{"took":1,"errors":false]"#,
            r#"{"took":1,"errors":true,"items":[{"index":{"status":1e400}}]}"#,
        ] {
            assert_eq!(check(body, 1).error_class, ErrorClass::Protocol, "{body}");
        }
        let sent = SentBulk { documents: 1, filters_fields: false };
        let reason = b"{\"took\":1,\"errors\":true,\"items\":[{\"index\":{\"status\":400,\"error\":{\"reason\":\"\xff\"}}}]}";
        let result = poll_once(check_bulk_response(200, reason, sent, None));
        assert_eq!(result.error_class, ErrorClass::Protocol);
    }

    #[test]
    fn documents_are_counted_by_status_if_the_request_does_not_select_their_errors() {
        let body = r#"{"errors":true,"items":[{"index":{"status":400}},{"index":{"status":201}},{"index":{"status":503}}]}"#;
        let result = check_filtered(body, 3);
        assert_eq!((result.error_class, result.weight, result.failed_weight), (ErrorClass::BulkItem, 1, 2));
        let statuses: Vec<_> = result.failures.iter().map(|failure| failure.status).collect();
        assert_eq!(statuses, [400, 503]);
        // Items without a selected field are missing.
        let body = r#"{"errors":true,"items":[{"index":{"error":{"type":"t","reason":"r"}}}]}"#;
        let result = check_filtered(body, 3);
        assert_eq!((result.error_class, result.weight, result.failed_weight), (ErrorClass::BulkItem, 2, 1));
        assert_eq!(check_filtered(r#"{"errors":true}"#, 3).error_class, ErrorClass::Protocol);
    }

    #[test]
    fn failures_of_one_bulk_are_limited_and_count_every_document() {
        let item = |n: usize| {
            format!(r#"{{"index": {{"status": 400, "error": {{"type": "t{n}", "reason": "r"}}}}}}"#)
        };
        let items: Vec<_> = (0..50).map(item).collect();
        let body = format!(r#"{{"took": 1, "errors": true, "items": [{}]}}"#, items.join(","));
        let result = check(&body, 50);
        assert_eq!(result.failures.len(), MAX_FAILURES + 1);
        assert_eq!(result.failures.iter().map(|failure| failure.count).sum::<u64>(), 50);
    }

    #[test]
    fn many_items_are_read_in_slices() {
        let item = r#"{"index":{"status":400,"error":{"type":"t","reason":"r"}}}"#;
        let body = format!(r#"{{"took":1,"errors":true,"items":[{}]}}"#, vec![item; 5000].join(","));
        let sent = SentBulk { documents: 5000, filters_fields: false };
        let (result, pauses) = count_pauses(check_bulk_response(200, body.as_bytes(), sent, None));
        assert_eq!(result.failed_weight, 5000);
        assert!(pauses >= body.len() / crate::slices::SLICE - 1, "{pauses}");
    }

    #[test]
    fn rejected_documents_beyond_the_limit_of_failures_are_counted_apart() {
        let item = |n: usize| {
            let status = if n % 5 == 2 { 429 } else { 400 };
            format!(r#"{{"index": {{"status": {status}, "error": {{"type": "t{n}", "reason": "r"}}}}}}"#)
        };
        let items: Vec<_> = (0..50).map(item).collect();
        let body = format!(r#"{{"took": 1, "errors": true, "items": [{}]}}"#, items.join(","));
        let result = check(&body, 50);
        let counted = |status: u16| -> u64 {
            let of_status = result.failures.iter().filter(|failure| failure.status == status);
            of_status.map(|failure| failure.count).sum()
        };
        assert_eq!((counted(429), counted(400) + counted(0)), (10, 40));
    }

    fn throttled_positions(body: &[u8], document_count: u64) -> Vec<usize> {
        let mut rejected = Vec::new();
        let sent = SentBulk { documents: document_count, filters_fields: false };
        poll_once(check_bulk_response(200, body, sent, Some(&mut rejected)));
        rejected
    }

    #[test]
    fn documents_with_status_429_are_found_only_if_the_response_is_complete() {
        let response = r#"{"took": 1, "errors": true, "items": [
            {"index": {"status": 429, "error": {"type": "full", "reason": "x"}}}, {"update": {"status": 201}},
            {"index": {"status": 400, "error": {"type": "bad"}}}, {"create": {"status": 429}}]}"#;
        assert_eq!(throttled_positions(response.as_bytes(), 4), [0, 3]);
        // Exactly these documents are also counted as failed with status 429.
        let result = check(response, 4);
        assert_eq!((result.weight, result.failed_weight), (1, 3));
        let statuses: Vec<_> =
            result.failures.iter().map(|failure| (failure.status, failure.count)).collect();
        assert_eq!(statuses, [(429, 1), (400, 1), (429, 1)]);
        assert!(throttled_positions(response.as_bytes(), 5).is_empty());
        assert!(throttled_positions(b"{}", 0).is_empty());
    }
}
