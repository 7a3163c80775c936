//! Waits of a client that end when the race or the step does.

use std::time::Instant;

use pacenote_record::EndedBy;

use crate::cancel::Cancellation;
use crate::schedule::clock::Clock;

/// Sleeps until `instant`. Returns `false` if the race or the step ends first.
pub async fn sleep_until<C: Clock>(clock: &mut C, cancellation: &Cancellation<'_>, instant: Instant) -> bool {
    if clock.now() >= instant {
        return true;
    }
    let slept = cancellation.run_until_cancelled(clock.sleep_until(instant)).await;
    if let Some(Err(error)) = &slept {
        // Without a timer, the client would send requests too early and record a false schedule.
        cancellation.race_state.abort_at(format!("the system refused a timer: {error}"), clock.now());
    }
    matches!(slept, Some(Ok(())))
}

/// Waits for a future. Returns `None` if `deadline` passes first.
///
/// # Errors
///
/// The reason why the race or the step has ended, if that happens first.
pub async fn timeout_at<C: Clock, F: Future>(
    clock: &mut C,
    cancellation: &Cancellation<'_>,
    deadline: Option<Instant>,
    future: F,
) -> Result<Option<F::Output>, EndedBy> {
    let deadline_has_passed = async {
        match deadline {
            Some(deadline) => drop(sleep_until(clock, cancellation, deadline).await),
            None => std::future::pending().await,
        }
    };
    let either = async {
        tokio::select! {
            biased;
            output = future => Some(output),
            () = deadline_has_passed => None,
        }
    };
    let waited = cancellation.run_until_cancelled(either).await;
    waited.ok_or_else(|| cancellation.stop_reason().unwrap_or(EndedBy::Stopped))
}
