//! Cancellation of clients: by the stop level of the race, or by a step that another task has completed.

use std::time::Instant;

use pacenote_record::EndedBy;
use tokio::sync::Notify;

use crate::race_state::{RaceState, StopLevel};
use crate::step_state::StepState;

/// The cancellation state of a client loop and its operations: they check it before they continue, and are woken when
/// it changes.
#[derive(Debug, Clone, Copy)]
pub struct Cancellation<'a> {
    /// The step, which may be completed by another of its tasks.
    pub step: &'a StepState,
    /// The race, which may be stopped by the caller or aborted by a failure.
    pub race_state: &'a RaceState,
    /// Notified when something other than the clock may end a wait.
    pub stop_notify: &'a Notify,
    /// When the time of the client's task is over, after which no operation is tried again; `None` if it is not limited
    /// by time.
    pub task_end: Option<Instant>,
}

impl Cancellation<'_> {
    /// Returns the reason why no new operation may begin, or `None` while the step continues.
    pub fn stop_reason(&self) -> Option<EndedBy> {
        if self.race_state.stop_level() != StopLevel::Run {
            let aborted = self.race_state.abort_reason().is_some();
            return Some(if aborted { EndedBy::Aborted } else { EndedBy::Stopped });
        }
        self.step.is_completed().then_some(EndedBy::CompletedBy)
    }

    /// Returns when the race was stopped or the step was completed, whichever was first, or `None` while the step
    /// continues.
    pub fn stopped_at(&self) -> Option<Instant> {
        [self.race_state.stopped_at(), self.step.completed_at()].into_iter().flatten().min()
    }

    /// Waits for a future. Returns `None` if the race or the step ends first.
    pub fn run_until_cancelled<F: Future>(&self, future: F) -> impl Future<Output = Option<F::Output>> {
        run_until_cancelled(future, self.stop_notify, || self.stop_reason().is_some())
    }
}

/// Waits for a future. Returns `None` if `is_cancelled` returns `true` first. `is_cancelled` is called before the wait
/// and after each notification of `stop_notify`.
pub async fn run_until_cancelled<F: Future>(
    future: F,
    stop_notify: &Notify,
    is_cancelled: impl Fn() -> bool,
) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    loop {
        let mut woken = std::pin::pin!(stop_notify.notified());
        // The waiter is registered before the check, so that a notification in between is not missed.
        woken.as_mut().enable();
        if is_cancelled() {
            return None;
        }
        tokio::select! {
            biased;
            output = &mut future => return Some(output),
            () = woken => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn a_wait_ends_when_it_is_cancelled() {
        runtime().block_on(async {
            let (stop_notify, cancelled) = (Notify::new(), Cell::new(false));
            let long = tokio::time::sleep(Duration::from_mins(1));
            let cancel = async {
                tokio::task::yield_now().await;
                stop_notify.notify_waiters();
                tokio::task::yield_now().await;
                cancelled.set(true);
                stop_notify.notify_waiters();
            };
            let (ended, ()) =
                tokio::join!(run_until_cancelled(long, &stop_notify, || cancelled.get()), cancel);
            assert!(ended.is_none());
            // A notification just after the check, before anything waits for it, is not missed.
            let checked = Cell::new(false);
            let cancelled_after_the_check = || {
                let was_checked = checked.replace(true);
                stop_notify.notify_waiters();
                was_checked
            };
            let long = tokio::time::sleep(Duration::from_mins(1));
            assert!(run_until_cancelled(long, &stop_notify, cancelled_after_the_check).await.is_none());
            assert_eq!(run_until_cancelled(async { 7 }, &stop_notify, || false).await, Some(7));
        });
    }
}
