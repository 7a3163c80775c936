//! Selection of the documents of a bulk that the engine rejected because it was overloaded, to send only them again.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pacenote_record::ErrorClass;
use serde::Deserialize;

use crate::operation::outcome::OperationOutcome;
use crate::response::outcome::ResponseOutcome;

/// The status of a document that was rejected because the engine is overloaded.
const TOO_MANY_REQUESTS: u16 = 429;

#[derive(Deserialize)]
struct BulkReply<'a> {
    #[serde(borrow)]
    items: Vec<BTreeMap<Cow<'a, str>, BulkReplyItem>>,
}

#[derive(Deserialize)]
struct BulkReplyItem {
    #[serde(default)]
    status: u16,
}

/// Returns the positions, in the request, of the documents that were rejected with status 429. Returns none if the
/// reply does not have one item for each document: it is then unknown which document an item describes.
pub fn rejected_positions(reply: &[u8], documents: u64) -> Vec<usize> {
    let Ok(reply) = serde_json::from_slice::<BulkReply>(reply) else { return Vec::new() };
    if reply.items.len() as u64 != documents {
        return Vec::new();
    }
    let status = |item: &BTreeMap<_, BulkReplyItem>| item.values().next().map(|item| item.status);
    let items = reply.items.iter().enumerate();
    items.filter(|(_, item)| status(item) == Some(TOO_MANY_REQUESTS)).map(|(position, _)| position).collect()
}

/// Returns the documents at these ascending positions, with their action lines: two lines each.
pub fn select_documents(body: &[u8], positions: &[usize]) -> Vec<u8> {
    let mut selected = Vec::new();
    let mut wanted = positions.iter().copied().peekable();
    let ends = memchr::memchr_iter(b'\n', body).skip(1).step_by(2).map(|newline| newline + 1);
    let mut start = 0;
    for (position, end) in ends.enumerate() {
        if wanted.next_if_eq(&position).is_some() {
            selected.extend_from_slice(&body[start..end]);
        }
        start = end;
    }
    selected
}

/// The outcome without `retried` rejected documents, which are sent again.
pub fn without_retried(mut before: OperationOutcome, retried: u64) -> OperationOutcome {
    let response = &mut before.response;
    response.failed_weight = response.failed_weight.saturating_sub(retried);
    response.failures.retain(|failure| failure.status != TOO_MANY_REQUESTS);
    // The last failure also counts those beyond the limit, regardless of their status.
    let counted: u64 = response.failures.iter().map(|failure| failure.count).sum();
    if let Some(last) = response.failures.last_mut() {
        last.count = (last.count + response.failed_weight).saturating_sub(counted);
    }
    before
}

/// The outcome together with that of the next attempt, which sent the documents that [`without_retried`] left out. Its
/// time and its work are those of all attempts.
pub fn with_retry(before: OperationOutcome, after: OperationOutcome) -> OperationOutcome {
    let (first, last) = (before.response, after.response);
    let took_ms = match (first.took_ms, last.took_ms) {
        (first, last) if first >= 0 && last >= 0 => first + last,
        (first, last) => first.max(last),
    };
    let error_class = if last.error_class == ErrorClass::None && first.failed_weight > 0 {
        first.error_class
    } else {
        last.error_class
    };
    let response = ResponseOutcome {
        error_class,
        weight: first.weight + last.weight,
        failed_weight: first.failed_weight + last.failed_weight,
        took_ms,
        failures: first.failures.into_iter().chain(last.failures).collect(),
    };
    OperationOutcome {
        first_sent: before.first_sent,
        sent: before.sent,
        response,
        retries: before.retries + 1,
        traffic: before.traffic + after.traffic,
        ..after
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pacenote_record::Failure;

    #[test]
    fn only_documents_with_status_429_are_sent_again_and_only_if_the_reply_is_complete() {
        let reply = br#"{"took": 1, "errors": true, "items": [
            {"index": {"status": 429, "error": {"type": "full", "reason": "x"}}}, {"update": {"status": 201}},
            {"index": {"status": 400, "error": {"type": "bad"}}}, {"create": {"status": 429}}]}"#;
        assert_eq!(rejected_positions(reply, 4), [0, 3]);
        assert!(rejected_positions(reply, 5).is_empty());
        assert!(rejected_positions(b"{}", 0).is_empty());
        let body = b"a0\nd0\na1\nd1\na2\nd2\na3\nd3\n";
        assert_eq!(select_documents(body, &[0, 3]), b"a0\nd0\na3\nd3\n");
        assert!(select_documents(body, &[]).is_empty());
    }

    #[test]
    fn reasons_of_documents_that_are_sent_again_are_not_counted() {
        let failure = |status, count| Failure { status, kind: "k".into(), reason: "r".into(), count };
        let failures = vec![failure(429, 5), failure(400, 1), failure(400, 3)];
        let response = ResponseOutcome {
            error_class: ErrorClass::BulkItem,
            weight: 1,
            failed_weight: 9,
            took_ms: 2,
            failures,
        };
        // Two of the last kind had status 429: there were too many reasons to tell them apart.
        let left = without_retried(OperationOutcome { response, ..OperationOutcome::nothing() }, 7).response;
        assert_eq!((left.weight, left.failed_weight), (1, 2));
        assert_eq!(left.failures.iter().map(|failure| failure.count).collect::<Vec<_>>(), [1, 1]);
    }
}
