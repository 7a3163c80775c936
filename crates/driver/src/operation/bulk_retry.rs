//! Resending of rejected documents of a bulk: selects the documents, and combines the outcomes of all attempts.

use pacenote_record::ErrorClass;

use crate::operation::outcome::OperationOutcome;
use crate::response::bulk::TOO_MANY_REQUESTS;
use crate::response::outcome::WorkOutcome;

/// Replaces `selected` with the documents at these ascending positions, with their action lines: two lines each.
pub fn select_documents(body: &[u8], positions: &[usize], selected: &mut Vec<u8>) {
    selected.clear();
    let mut wanted = positions.iter().copied().peekable();
    let ends = memchr::memchr_iter(b'\n', body).skip(1).step_by(2).map(|newline| newline + 1);
    let mut start = 0;
    for (position, end) in ends.enumerate() {
        if wanted.next_if_eq(&position).is_some() {
            selected.extend_from_slice(&body[start..end]);
        }
        start = end;
    }
}

/// Returns the outcome of an attempt without `resent` rejected documents, which the next attempt sends again.
pub fn subtract_resent(mut outcome: OperationOutcome, resent: u64) -> OperationOutcome {
    let result = &mut outcome.result;
    result.failed_weight = result.failed_weight.saturating_sub(resent);
    result.failures.retain(|failure| failure.status != TOO_MANY_REQUESTS);
    outcome
}

/// Returns the combined outcome of a bulk and a resend: `earlier`, from which [`subtract_resent`] has subtracted the
/// documents that were sent again, and `resend`. Adds up weights, failures, traffic and the durations that the engine
/// reports. The service time begins with the first sending, because its other documents belong to the operation as
/// well, and ends with the last one that was sent.
pub fn add_resend(earlier: OperationOutcome, resend: OperationOutcome) -> OperationOutcome {
    let (before, last) = (earlier.result, resend.result);
    let took_ms = match (before.took_ms, last.took_ms) {
        (Some(before), Some(last)) => Some(before.saturating_add(last)),
        (before, last) => before.or(last),
    };
    let error_class = if last.error_class == ErrorClass::None && before.failed_weight > 0 {
        before.error_class
    } else {
        last.error_class
    };
    let result = WorkOutcome {
        error_class,
        weight: before.weight + last.weight,
        failed_weight: before.failed_weight + last.failed_weight,
        took_ms,
        failures: before.failures.into_iter().chain(last.failures).collect(),
        is_final: false,
    };
    if resend.traffic.requests == 0 {
        // Nothing was sent, so this is not a retry, and the operation was done with the last byte of the previous
        // response. The client was busy until the resend failed.
        let traffic = earlier.traffic + resend.traffic;
        return OperationOutcome { result, traffic, freed: resend.freed, ..earlier };
    }
    OperationOutcome {
        first_sent: earlier.first_sent,
        service_start: earlier.service_start,
        result,
        retries: earlier.retries + 1,
        traffic: earlier.traffic + resend.traffic,
        ..resend
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use pacenote_record::{Failure, FailureUnit, Traffic};

    #[test]
    fn only_the_documents_at_the_given_positions_are_selected() {
        let body = b"a0\nd0\na1\nd1\na2\nd2\na3\nd3\n";
        let mut selected = b"old".to_vec();
        select_documents(body, &[0, 3], &mut selected);
        assert_eq!(selected, b"a0\nd0\na3\nd3\n");
        select_documents(body, &[], &mut selected);
        assert!(selected.is_empty());
    }

    #[test]
    fn reasons_of_documents_that_are_sent_again_are_not_counted() {
        let failure = |status, count| Failure {
            error_class: ErrorClass::BulkItem,
            status,
            error_type: "t".into(),
            reason: "r".into(),
            unit: FailureUnit::Documents,
            count,
        };
        let failures = vec![failure(429, 5), failure(400, 1), failure(429, 2), failure(0, 1)];
        let result = WorkOutcome {
            error_class: ErrorClass::BulkItem,
            weight: 1,
            failed_weight: 9,
            took_ms: Some(2),
            failures,
            is_final: false,
        };
        let left = subtract_resent(OperationOutcome { result, ..OperationOutcome::nothing() }, 7).result;
        assert_eq!((left.weight, left.failed_weight), (1, 2));
        assert_eq!(left.failures.iter().map(|failure| failure.count).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn the_service_time_of_a_bulk_sent_again_counts_from_its_first_attempt() {
        let first = OperationOutcome::nothing();
        let (sent, later) = (first.service_start, first.service_start + Duration::from_secs(1));
        let second = |requests| OperationOutcome {
            first_sent: later,
            service_start: later,
            done: later,
            traffic: Traffic { requests, ..Traffic::default() },
            ..OperationOutcome::nothing()
        };
        let both = add_resend(first, second(1));
        assert_eq!((both.first_sent, both.service_start, both.done, both.retries), (sent, sent, later, 1));
    }

    #[test]
    fn a_second_attempt_that_is_not_sent_does_not_lengthen_the_service_time() {
        let traffic = Traffic { requests: 1, ..Traffic::default() };
        let first = OperationOutcome { traffic, status: 200, ..OperationOutcome::nothing() };
        let (done, freed) = (first.done, first.freed + Duration::from_secs(1));
        let unsent = OperationOutcome { done: freed, freed, ..OperationOutcome::unsendable("no".into()) };
        let both = add_resend(first, unsent);
        // The time until the resend failed is that of this operation, not lateness of the next one.
        assert_eq!((both.done, both.freed, both.status, both.traffic), (done, freed, 200, traffic));
        assert_eq!(both.retries, 0, "what was not sent was not sent again");
        assert_eq!(both.result.error_class, ErrorClass::Protocol);
    }
}
