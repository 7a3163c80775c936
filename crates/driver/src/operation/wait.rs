//! Sleeps within an operation, which end early if the race or the step ends.

use std::time::{Duration, Instant};

use super::outcome::OperationOutcome;
use crate::cancel::Cancellation;
use crate::response::outcome::WorkOutcome;

/// Sleeps between two requests. Returns `None` if the race or the step ends first.
pub async fn sleep_or_cancel(duration: Duration, cancellation: &Cancellation<'_>) -> Option<()> {
    cancellation.run_until_cancelled(tokio::time::sleep(duration)).await
}

/// Sleeps before an operation is tried again, but not beyond `end`. Returns whether it is to be tried again, or `None` if
/// the race or the step ends first.
pub async fn sleep_before_retry(
    duration: Duration,
    end: Option<Instant>,
    cancellation: &Cancellation<'_>,
) -> Option<bool> {
    let left = end.map(|end| end.saturating_duration_since(Instant::now()));
    sleep_or_cancel(left.map_or(duration, |left| left.min(duration)), cancellation).await?;
    Some(left.is_none_or(|left| duration < left))
}

/// Executes an operation that only sleeps and does `weight` units of work. Returns `None` if the race or the step ends
/// meanwhile.
pub async fn execute_sleep(
    duration: Duration,
    weight: u64,
    cancellation: &Cancellation<'_>,
) -> Option<OperationOutcome> {
    let started = Instant::now();
    sleep_or_cancel(duration, cancellation).await?;
    Some(OperationOutcome {
        first_sent: started,
        service_start: started,
        result: WorkOutcome::success(weight),
        ..OperationOutcome::nothing()
    })
}
