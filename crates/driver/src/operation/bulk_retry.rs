//! Documents of a bulk that the engine had no room for, to be sent again alone.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pacenote_record::ErrorClass;
use serde::Deserialize;

use crate::operation::outcome::Outcome;
use crate::response::outcome::ReplyOutcome;

/// The status of a document that the engine had no room for.
const TOO_MANY: u16 = 429;

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow)]
    items: Vec<BTreeMap<Cow<'a, str>, Item>>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    status: u16,
}

/// Positions, in the request, of the documents rejected with status 429. None unless the reply has one item for each
/// document: then nobody can say which one an item is about.
pub fn no_room(reply: &[u8], documents: u64) -> Vec<usize> {
    let Ok(reply) = serde_json::from_slice::<Reply>(reply) else { return Vec::new() };
    if reply.items.len() as u64 != documents {
        return Vec::new();
    }
    let status = |item: &BTreeMap<_, Item>| item.values().next().map(|item| item.status);
    let items = reply.items.iter().enumerate();
    items.filter(|(_, item)| status(item) == Some(TOO_MANY)).map(|(position, _)| position).collect()
}

/// The documents at these positions, which ascend, with their action lines: two lines each.
pub fn pick(body: &[u8], positions: &[usize]) -> Vec<u8> {
    let mut picked = Vec::new();
    let mut wanted = positions.iter().copied().peekable();
    let ends = memchr::memchr_iter(b'\n', body).skip(1).step_by(2).map(|newline| newline + 1);
    let mut start = 0;
    for (position, end) in ends.enumerate() {
        if wanted.next_if_eq(&position).is_some() {
            picked.extend_from_slice(&body[start..end]);
        }
        start = end;
    }
    picked
}

/// An operation whose `again` documents are sent once more: what is known without them.
pub fn without(mut before: Outcome, again: u64) -> Outcome {
    let result = &mut before.result;
    result.rejected = result.rejected.saturating_sub(again);
    result.failures.retain(|failure| failure.status != TOO_MANY);
    // Reasons beyond the most that are kept are counted with the last one, whatever their status.
    let named: u64 = result.failures.iter().map(|failure| failure.count).sum();
    if let Some(last) = result.failures.last_mut() {
        last.count = (last.count + result.rejected).saturating_sub(named);
    }
    before
}

/// The operation with its next attempt, which was about the documents that [`without`] left out. Its time is that of
/// all attempts, since its work is, too.
pub fn join(before: Outcome, after: Outcome) -> Outcome {
    let (first, last) = (before.result, after.result);
    let took_ms = match (first.took_ms, last.took_ms) {
        (first, last) if first >= 0 && last >= 0 => first + last,
        (first, last) => first.max(last),
    };
    let class = if last.class == ErrorClass::None && first.rejected > 0 { first.class } else { last.class };
    let result = ReplyOutcome {
        class,
        accepted: first.accepted + last.accepted,
        rejected: first.rejected + last.rejected,
        took_ms,
        failures: first.failures.into_iter().chain(last.failures).collect(),
    };
    Outcome {
        first_sent: before.first_sent,
        sent: before.sent,
        result,
        retries: before.retries + 1,
        traffic: before.traffic + after.traffic,
        ..after
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::outcome::Failure;

    #[test]
    fn only_documents_without_room_are_picked_and_only_if_every_item_is_there() {
        let reply = br#"{"took": 1, "errors": true, "items": [
            {"index": {"status": 429, "error": {"type": "full", "reason": "x"}}}, {"update": {"status": 201}},
            {"index": {"status": 400, "error": {"type": "bad"}}}, {"create": {"status": 429}}]}"#;
        assert_eq!(no_room(reply, 4), [0, 3]);
        assert!(no_room(reply, 5).is_empty());
        assert!(no_room(b"{}", 0).is_empty());
        let body = b"a0\nd0\na1\nd1\na2\nd2\na3\nd3\n";
        assert_eq!(pick(body, &[0, 3]), b"a0\nd0\na3\nd3\n");
        assert!(pick(body, &[]).is_empty());
    }

    #[test]
    fn reasons_of_documents_that_are_sent_again_are_taken_back() {
        let failure = |status, count| Failure { status, kind: "k".into(), reason: "r".into(), count };
        let failures = vec![failure(429, 5), failure(400, 1), failure(400, 3)];
        let result =
            ReplyOutcome { class: ErrorClass::BulkItem, accepted: 1, rejected: 9, took_ms: 2, failures };
        // Two of the last kind were in truth without room: there were too many reasons to tell them apart.
        let left = without(Outcome { result, ..Outcome::nothing() }, 7).result;
        assert_eq!((left.accepted, left.rejected), (1, 2));
        assert_eq!(left.failures.iter().map(|failure| failure.count).collect::<Vec<_>>(), [1, 1]);
    }
}
