//! Checks the responses to administrative requests, which an engine may refuse, or execute in part, under status 200.

use pacenote_plan::HealthStatus;
use pacenote_record::ErrorClass;

use crate::response::body::{CheckResult, REQUEST_FAILED, check_no_error, reported_error, to_text};
use crate::response::json_scan::{
    Elements, Fields, InvalidJson, field_in_slices, parse_scalar, scalar, value_at_path_in_slices,
};
use crate::response::outcome::WorkOutcome;
use crate::response::search::shard_failure;
use crate::slices::Slices;

/// Checks the response to a change: whether all nodes have applied it, and whether new shards are ready, within the
/// engine's timeout.
pub async fn check_acknowledged(body: &[u8]) -> CheckResult {
    let mut slices = Slices::default();
    let mut fields = Fields::new(body);
    while let Some((key, value)) = fields.next_in_slices(&mut slices).await {
        let reason = match key {
            b"error" => match reported_error(value, REQUEST_FAILED, &mut slices).await? {
                Some(failure) => return Ok(Err(failure)),
                None => continue,
            },
            b"acknowledged" => "the nodes did not acknowledge the change within the engine's timeout",
            b"shards_acknowledged" => "the shards were not ready within the engine's timeout",
            _ => continue,
        };
        if !parse_scalar::<bool>(value)? {
            return Ok(Err(WorkOutcome::failure(ErrorClass::Condition, reason.into())));
        }
    }
    if fields.is_closed() { Ok(Ok(None)) } else { Err(InvalidJson) }
}

/// Checks that the object with the counts of shards at a path of the response, if there is one, has no failed shard.
pub async fn check_shards(body: &[u8], path: &str) -> CheckResult {
    let mut slices = Slices::default();
    let Some(shards) = value_at_path_in_slices(body, path.split('.'), &mut slices).await? else {
        return check_no_error(body).await;
    };
    let failed = value_at_path_in_slices(shards, ["failed"].into_iter(), &mut slices).await?;
    match failed.map(parse_scalar).transpose()? {
        Some(failed) if failed > 0 => Ok(Err(shard_failure(shards, failed, &mut slices).await)),
        _ => Ok(Ok(None)),
    }
}

/// Checks whether a task of the engine has ended, and did so without an error, a cancellation or a failed shard.
pub async fn check_task(body: &[u8]) -> CheckResult {
    let mut slices = Slices::default();
    let (mut completed, mut cancelled) = (false, None::<String>);
    let mut fields = Fields::new(body);
    while let Some((key, value)) = fields.next_in_slices(&mut slices).await {
        match key {
            b"completed" => completed = parse_scalar(value)?,
            b"error" => {
                let what = "the task failed in the engine";
                if let Some(failure) = reported_error(value, what, &mut slices).await? {
                    return Ok(Err(failure.into_final()));
                }
            }
            b"task" if value.starts_with(b"{") => {
                let is_cancelled = field_in_slices(value, "cancelled", &mut slices).await?;
                if is_cancelled.map(parse_scalar).transpose()? == Some(true) {
                    cancelled.get_or_insert_default();
                }
            }
            b"response" if value.starts_with(b"{") => {
                if let Some(reason) = field_in_slices(value, "canceled", &mut slices).await? {
                    cancelled = Some(to_text(&scalar(reason)?));
                }
                let checked = check_shards(value, "_shards").await?;
                if checked.is_err() {
                    return Ok(checked);
                }
            }
            _ => {}
        }
    }
    match (completed, fields.is_closed()) {
        (_, false) => Err(InvalidJson),
        (true, true) => Ok(cancelled.map_or(Ok(None), |reason| Err(cancelled_task(&reason)))),
        (false, true) => {
            let reason = "the task has not ended".into();
            Ok(Err(WorkOutcome::failure(ErrorClass::Condition, reason)))
        }
    }
}

/// Returns the final failure of a task that was cancelled for this reason, which may be empty.
fn cancelled_task(reason: &str) -> WorkOutcome {
    let separator = if reason.is_empty() { "" } else { ": " };
    let reason = format!("the engine cancelled the task{separator}{reason}");
    WorkOutcome::failure(ErrorClass::Condition, reason).into_final()
}

/// Checks the health of a cluster.
pub async fn check_health(
    body: &[u8],
    wanted: Option<HealthStatus>,
    no_relocating_shards: bool,
) -> CheckResult {
    let mut slices = Slices::default();
    let (mut status, mut relocating, mut timed_out) = (None, None, false);
    let mut fields = Fields::new(body);
    while let Some((key, value)) = fields.next_in_slices(&mut slices).await {
        match key {
            b"error" => {
                if let Some(failure) = reported_error(value, REQUEST_FAILED, &mut slices).await? {
                    return Ok(Err(failure));
                }
            }
            b"status" => status = Some(scalar(value)?),
            b"timed_out" => timed_out = parse_scalar(value)?,
            b"relocating_shards" => relocating = Some(parse_scalar(value)?),
            _ => {}
        }
        if status.is_some() && relocating.is_some() {
            break;
        }
    }
    if (status.is_none() || relocating.is_none()) && !fields.is_closed() {
        return Err(InvalidJson);
    }
    let (status, relocating) = (status.unwrap_or_default(), relocating.unwrap_or(0));
    let known = serde_json::from_value::<HealthStatus>(status.clone()).ok();
    let reached = wanted.is_none_or(|wanted| known.is_some_and(|status| status >= wanted));
    if reached && !timed_out && !(no_relocating_shards && relocating > 0) {
        return Ok(Ok(None));
    }
    let after = if timed_out { " after the engine's timeout" } else { "" };
    let reason = format!("health is {}, and {relocating} shards are relocating{after}", to_text(&status));
    Ok(Err(WorkOutcome::failure(ErrorClass::Condition, reason)))
}

/// Fields of the reply to a request that lists tasks or nodes: what it does not list because a node did not answer.
const UNLISTED: [&str; 2] = ["node_failures", "task_failures"];

/// Checks that the object or list at a path is empty or absent, and that the response does not lack what some nodes
/// would have listed there.
pub async fn check_empty(body: &[u8], path: &str) -> CheckResult {
    let mut slices = Slices::default();
    match value_at_path_in_slices(body, path.split('.'), &mut slices).await? {
        Some(value) if !is_empty(value)? => {
            let reason = format!("{path} is not empty yet");
            return Ok(Err(WorkOutcome::failure(ErrorClass::Condition, reason)));
        }
        Some(_) => {}
        None => {
            if let Err(failure) = check_no_error(body).await? {
                return Ok(Err(failure));
            }
        }
    }
    for name in UNLISTED {
        let Some(failures) = field_in_slices(body, name, &mut slices).await? else { continue };
        if !is_empty(failures)? {
            let reason = format!("{path} is not known of every node: the response has {name}");
            return Ok(Err(WorkOutcome::failure(ErrorClass::Condition, reason)));
        }
    }
    Ok(Ok(None))
}

/// Returns whether a value is an object or array without members, or null.
fn is_empty(value: &[u8]) -> Result<bool, InvalidJson> {
    match value.first() {
        Some(b'{') => has_no_member(Fields::new(value), Fields::is_closed),
        Some(b'[') => has_no_member(Elements::new(value), Elements::is_closed),
        _ => Ok(scalar(value)?.is_null()),
    }
}

fn has_no_member<I: Iterator>(mut members: I, is_closed: impl Fn(&I) -> bool) -> Result<bool, InvalidJson> {
    match members.next() {
        Some(_) => Ok(false),
        None if is_closed(&members) => Ok(true),
        None => Err(InvalidJson),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::poll_once;

    #[test]
    fn a_list_without_the_answers_of_all_nodes_is_not_known_to_be_empty() {
        let reason = |body: &str| {
            let checked = poll_once(check_empty(body.as_bytes(), "nodes")).ok().unwrap();
            checked.err().map(|failure| (failure.error_class, failure.failures[0].reason.clone()))
        };
        let failure = r#"[{"type":"failed_node_exception","reason":"Failed node [x]"}]"#;
        for name in UNLISTED {
            for rest in [r#""nodes":{}"#, r#""took":1"#] {
                for body in
                    [format!(r#"{{"{name}":{failure},{rest}}}"#), format!(r#"{{{rest},"{name}":{failure}}}"#)]
                {
                    let (class, reason) = reason(&body).unwrap();
                    assert_eq!(class, ErrorClass::Condition, "{body}");
                    assert!(reason.ends_with(name), "{reason}");
                }
            }
            assert_eq!(reason(&format!(r#"{{"{name}":[],"nodes":{{}}}}"#)), None);
        }
        let running = format!(r#"{{"node_failures":{failure},"nodes":{{"n":{{}}}}}}"#);
        assert_eq!(reason(&running).unwrap().1, "nodes is not empty yet");
    }
}
