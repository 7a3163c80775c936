//! Checks the responses to requests that submit an asynchronous search or fetch its result.

use pacenote_record::ErrorClass;

use crate::response::body::{CheckResult, check_no_error, reported_error, to_text};
use crate::response::json_scan::{Fields, InvalidJson, parse_scalar, scalar};
use crate::response::outcome::WorkOutcome;
use crate::response::search::check_search;
use crate::slices::Slices;

/// The states of a search in `OpenSearch` that has not ended.
const RUNNING_STATES: [&str; 2] = ["INIT", "RUNNING"];

/// The states of a search in `OpenSearch` whose result will never be available.
const FAILED_STATES: [&str; 3] = ["FAILED", "PERSIST_FAILED", "CLOSED"];

/// The fields of a response that say whether its search has ended: the first in Elasticsearch, the second in `OpenSearch`.
#[derive(Debug, Default)]
struct Progress {
    is_running: Option<bool>,
    state: Option<String>,
}

/// Checks the response to a request that submits a search. If the search has ended, the response contains its result.
pub async fn check_submitted_search(body: &[u8]) -> CheckResult {
    let progress = Progress::read(body).await?;
    if progress.is_unknown() {
        return check_no_error(body).await;
    }
    if !progress.has_ended() {
        return Ok(Ok(None));
    }
    match (check_ended_search(body).await?, progress.state) {
        (Ok(_), Some(state)) if state == "FAILED" => Ok(Err(failed_search(&state))),
        (checked, _) => Ok(checked),
    }
}

/// Checks a response that lacks the result of a search: returns `unmet`, or the failure of the search if its result will
/// never be available, which is final.
pub async fn check_unavailable_search(body: &[u8], unmet: WorkOutcome) -> CheckResult {
    let progress = Progress::read(body).await?;
    if progress.is_unknown() {
        return Ok(check_no_error(body).await?.map_err(WorkOutcome::into_final).and(Err(unmet)));
    }
    let Some(state) = progress.state.filter(|state| FAILED_STATES.contains(&state.as_str())) else {
        return Ok(Err(unmet));
    };
    let reported = check_ended_search(body).await?.err();
    Ok(Err(reported.unwrap_or_else(|| failed_search(&state))))
}

/// Returns whether a response says that its search has ended.
pub async fn has_ended(body: &[u8]) -> bool {
    Progress::read(body).await.is_ok_and(|progress| progress.has_ended())
}

/// Checks the result of a search that has ended: the response of the search in it, which is a failure as it would be for
/// a search. The failure is final.
pub async fn check_ended_search(body: &[u8]) -> CheckResult {
    Ok(check_result(body).await?.map_err(WorkOutcome::into_final))
}

async fn check_result(body: &[u8]) -> CheckResult {
    let mut slices = Slices::default();
    let (mut partial, mut took_ms) = (false, None);
    let mut fields = Fields::new(body);
    while let Some((key, value)) = fields.next_in_slices(&mut slices).await {
        match key {
            b"is_partial" => partial = parse_scalar(value)?,
            b"error" => {
                if let Some(failure) = reported_error(value, "the search failed", &mut slices).await? {
                    return Ok(Err(failure));
                }
            }
            b"response" if value.starts_with(b"{") => match check_search(value, true).await? {
                Ok(took) => took_ms = took,
                Err(failure) => return Ok(Err(failure)),
            },
            _ => {}
        }
    }
    if partial {
        // It is set after the end of the search if some of its shards failed.
        let failure = WorkOutcome::failure(ErrorClass::Partial, "the result of the search is partial".into());
        return Ok(Err(failure.with_took(took_ms)));
    }
    if fields.is_closed() { Ok(Ok(took_ms)) } else { Err(InvalidJson) }
}

/// Returns the final failure of a search that ended in this state.
fn failed_search(state: &str) -> WorkOutcome {
    WorkOutcome::failure(ErrorClass::Condition, format!("the search ended in state {state}")).into_final()
}

impl Progress {
    async fn read(body: &[u8]) -> Result<Self, InvalidJson> {
        let (mut found, mut slices) = (Self::default(), Slices::default());
        let mut fields = Fields::new(body);
        while let Some((key, value)) = fields.next_in_slices(&mut slices).await {
            match key {
                b"is_running" => found.is_running = Some(parse_scalar(value)?),
                b"state" => found.state = Some(to_text(&scalar(value)?)),
                _ => {}
            }
        }
        if fields.is_closed() { Ok(found) } else { Err(InvalidJson) }
    }

    /// Returns whether the response does not say whether the search has ended.
    fn is_unknown(&self) -> bool {
        self.is_running.is_none() && self.state.is_none()
    }

    /// Returns whether the search has ended; not if the request filters out the fields that say so.
    fn has_ended(&self) -> bool {
        match &self.state {
            Some(state) => !RUNNING_STATES.contains(&state.as_str()),
            None => self.is_running == Some(false),
        }
    }
}
