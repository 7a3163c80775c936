//! Checks the responses to searches and ES|QL queries.

use pacenote_record::ErrorClass;

use crate::response::body::{
    CheckResult, REQUEST_FAILED, ends_object, excerpt, parse_took, reported_error, string, text_of_field,
};
use crate::response::json_scan::{
    Fields, InvalidJson, parse_scalar, scalar, skip_digits, split_integer, value_at_path_in_slices,
};
use crate::response::outcome::WorkOutcome;
use crate::slices::Slices;

/// How many shards, or how many clusters, a request should have reached and has reached.
#[derive(Debug, Default, Clone, Copy)]
struct Reached {
    total: Option<i64>,
    /// Includes shards that were skipped because none of their documents could match.
    successful: Option<i64>,
    failed: Option<i64>,
}

/// The fields of a search response that determine whether it is a success.
#[derive(Debug, Default)]
struct SearchFields<'a> {
    took_ms: Option<u64>,
    timed_out: Option<bool>,
    shards: Reached,
    /// The field `_shards` and what follows it.
    shards_text: Option<&'a [u8]>,
    clusters: Reached,
    /// The failure that the engine reports in place of a result.
    error: Option<WorkOutcome>,
    /// Whether the response was read to its closing bracket.
    is_closed: bool,
}

/// Returns the duration, in milliseconds, of a search without failures whose response starts exactly as engines write
/// it. A few comparisons are enough to recognize nearly all responses. `None` means that the response must be scanned.
pub fn fast_path_search(body: &[u8]) -> Option<u64> {
    let (took_ms, rest) = split_integer(body.strip_prefix(br#"{"took":"#)?)?;
    let total = rest.strip_prefix(br#","timed_out":false,"_shards":{"total":"#)?;
    let rest = skip_digits(total)?;
    let total = &total[..total.len() - rest.len()];
    let rest = rest.strip_prefix(br#","successful":"#)?.strip_prefix(total)?;
    let rest = skip_digits(rest.strip_prefix(br#","skipped":"#)?)?;
    // Clusters would follow the shards of a search in several of them.
    (rest.starts_with(br#","failed":0},"hits":"#) && total != b"0" && ends_object(rest)).then_some(took_ms)
}

/// Scans the response to a search. A response without the fields for shards, timeout and duration is not a response to
/// a search, unless the request filters these fields out, in which case `is_filtered` is set.
pub async fn check_search(body: &[u8], is_filtered: bool) -> CheckResult {
    let mut slices = Slices::default();
    let found = SearchFields::read(body, &mut slices).await?;
    let failure = match found.failure(&mut slices).await {
        Some(failure) => failure,
        None if found.is_empty() && !is_filtered => {
            let reason = format!("the response is not the response to a search: {}", excerpt(body));
            WorkOutcome::failure(ErrorClass::Protocol, reason)
        }
        // Where a field was not found, the response was read to its end.
        None if found.is_complete() && ends_object(body) || found.is_closed => return Ok(Ok(found.took_ms)),
        None => return Err(InvalidJson),
    };
    Ok(Err(failure.with_took(found.took_ms)))
}

impl<'a> SearchFields<'a> {
    async fn read(body: &'a [u8], slices: &mut Slices) -> Result<Self, InvalidJson> {
        let mut found = Self::default();
        let mut fields = Fields::new(body);
        while let Some((key, value)) = fields.next_in_slices(slices).await {
            match key {
                b"took" => found.took_ms = parse_took(value)?,
                b"timed_out" => found.timed_out = Some(parse_scalar(value)?),
                b"_shards" => {
                    found.shards = Reached::read(value, slices).await?;
                    found.shards_text = Some(value);
                }
                b"error" => found.error = reported_error(value, REQUEST_FAILED, slices).await?,
                b"_clusters" => found.clusters = Reached::read(value, slices).await?,
                // Clusters precede the hits.
                _ if found.is_complete() => return Ok(found),
                _ => {}
            }
        }
        found.is_closed = fields.is_closed();
        Ok(found)
    }

    fn is_complete(&self) -> bool {
        self.took_ms.is_some() && self.timed_out.is_some() && self.shards.failed.is_some()
    }

    fn is_empty(&self) -> bool {
        self.took_ms.is_none() && self.timed_out.is_none() && self.shards.failed.is_none()
    }

    async fn failure(&self, slices: &mut Slices) -> Option<WorkOutcome> {
        if self.error.is_some() {
            return self.error.clone();
        }
        let Reached { total, failed, .. } = self.shards;
        if let Some((failed, shards)) = failed.zip(self.shards_text).filter(|(failed, _)| *failed > 0) {
            return Some(shard_failure(shards, failed, slices).await);
        }
        if self.timed_out == Some(true) {
            let after = self.took_ms.map_or_else(String::new, |took_ms| format!(" after {took_ms} ms"));
            let reason = format!("the search timed out in the engine{after}: its hits are incomplete");
            return Some(WorkOutcome::failure(ErrorClass::SearchTimeout, reason));
        }
        let incomplete = |reason: String| Some(WorkOutcome::failure(ErrorClass::ShardFailure, reason));
        // Engines do not report shards without a copy that can be searched as failed.
        if let Some((missing, total)) = self.shards.missing() {
            return incomplete(format!("{missing} of {total} shards are not available"));
        }
        if total == Some(0) {
            let reason = "no index matches the request, so no shard was searched".into();
            return Some(WorkOutcome::failure(ErrorClass::Condition, reason));
        }
        let (missing, total) = self.clusters.missing()?;
        incomplete(format!("{missing} of {total} clusters were not searched completely"))
    }
}

impl Reached {
    /// Reads the counts of an object.
    async fn read(text: &[u8], slices: &mut Slices) -> Result<Self, InvalidJson> {
        let mut found = Self::default();
        let mut fields = Fields::new(text);
        while let Some((key, value)) = fields.next_in_slices(slices).await {
            match key {
                b"total" => found.total = Some(parse_scalar(value)?),
                b"successful" => found.successful = Some(parse_scalar(value)?),
                b"failed" => found.failed = Some(parse_scalar(value)?),
                _ => {}
            }
            if found.total.is_some() && found.successful.is_some() && found.failed.is_some() {
                return Ok(found);
            }
        }
        if fields.is_closed() { Ok(found) } else { Err(InvalidJson) }
    }

    /// Returns how many were not reached, and how many there are, or `None` if all were.
    fn missing(self) -> Option<(i64, i64)> {
        let (total, successful) = self.total.zip(self.successful)?;
        (successful < total).then(|| (total.saturating_sub(successful), total))
    }
}

/// Returns the failure of a request by its object with the counts of shards.
pub async fn shard_failure(shards: &[u8], failed: i64, slices: &mut Slices) -> WorkOutcome {
    let path = ["failures", "0", "reason"].into_iter();
    let cause = value_at_path_in_slices(shards, path, slices).await.ok().flatten();
    let (error_type, reason) = match cause {
        Some(cause) if cause.starts_with(b"{") => {
            (text_of_field(cause, "type", slices).await, text_of_field(cause, "reason", slices).await)
        }
        cause => (String::new(), string(cause.and_then(|text| scalar(text).ok()).as_ref())),
    };
    WorkOutcome::failure(ErrorClass::ShardFailure, format!("{failed} shards failed: {reason}"))
        .with_error_type(&error_type)
}

/// Checks the response to an ES|QL query in JSON. A response without any of its fields is not such a response, unless
/// the request filters them out, in which case `is_filtered` is set.
pub async fn check_esql(body: &[u8], is_filtered: bool) -> CheckResult {
    let mut slices = Slices::default();
    let (mut took_ms, mut partial, mut known, mut has_columns) = (None, false, false, false);
    let mut fields = Fields::new(body);
    while let Some((key, value)) = fields.next_in_slices(&mut slices).await {
        match key {
            b"took" => took_ms = parse_took(value)?,
            b"is_partial" => partial = parse_scalar(value)?,
            b"columns" => has_columns = true,
            b"error" => match reported_error(value, REQUEST_FAILED, &mut slices).await? {
                Some(failure) => return Ok(Err(failure.with_took(took_ms))),
                None => continue,
            },
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
    } else if known && !fields.is_closed() && !(has_columns && ends_object(body)) {
        return Err(InvalidJson);
    } else if known || is_filtered {
        return Ok(Ok(took_ms));
    } else {
        let reason = format!("the response is not the response to an ES|QL query: {}", excerpt(body));
        WorkOutcome::failure(ErrorClass::Protocol, reason)
    };
    Ok(Err(failure.with_took(took_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_path_recognizes_successful_searches_only() {
        let successful = r#"{"took":17,"timed_out":false,"_shards":{"total":5,"successful":5,"skipped":0,"failed":0},"hits":{}}"#;
        assert_eq!(fast_path_search(successful.as_bytes()), Some(17));
        for (part, other) in [
            ("false", "true"),
            (r#""successful":5"#, r#""successful":4"#),
            (r#""successful":5"#, r#""successful":50"#),
            (r#""total":5,"successful":5"#, r#""total":0,"successful":0"#),
            (r#"},"hits":{}}"#, r#"},"_clusters":{"total":2,"successful":1},"hits":{}}"#),
            (r#""failed":0"#, r#""failed":1"#),
            (r#""failed":0"#, r#""failed":01"#),
            (r#""skipped":0,"#, ""),
            (":17", ": 17"),
            (r#"":17"#, r#"":"17""#),
        ] {
            let text = successful.replace(part, other);
            assert_eq!(fast_path_search(text.as_bytes()), None, "{text}");
        }
        assert_eq!(fast_path_search(format!("{successful}\n").as_bytes()), Some(17));
        assert_eq!(fast_path_search(format!("{successful}HTTP").as_bytes()), None);
        for end in 0..successful.find("{}}").unwrap() {
            assert_eq!(fast_path_search(&successful.as_bytes()[..end]), None, "{end}");
        }
    }
}
