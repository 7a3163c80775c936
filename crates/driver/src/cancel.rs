//! When a client stops: the stop level of the race, and a step that another task has completed.

use pacenote_record::EndedBy;
use tokio::sync::Notify;

use crate::shared::{Shared, StopLevel};
use crate::step::StepRun;

/// What a client looks at while it works.
#[derive(Debug, Clone, Copy)]
pub struct Desk<'a> {
    /// The step.
    pub step: &'a StepRun,
    /// The race.
    pub shared: &'a Shared,
    /// Wakes the client when it waits and something has changed.
    pub waker: &'a Notify,
}

impl Desk<'_> {
    /// Why no new operation may begin.
    pub fn stopped(&self) -> Option<EndedBy> {
        if self.shared.stop_level() != StopLevel::Run {
            let aborted = self.shared.aborted().is_some();
            return Some(if aborted { EndedBy::Aborted } else { EndedBy::Stopped });
        }
        self.step.is_completed().then_some(EndedBy::CompletedBy)
    }
}

/// Waits for a future unless `stopped` says otherwise, before or whenever `waker` asks. `None` when it was
/// stopped.
pub async fn unless_stopped<F: Future>(
    wait: F,
    waker: &Notify,
    stopped: impl Fn() -> bool,
) -> Option<F::Output> {
    let mut wait = std::pin::pin!(wait);
    loop {
        let mut woken = std::pin::pin!(waker.notified());
        // Listening first and looking then: a wake-up between the two is not missed.
        woken.as_mut().enable();
        if stopped() {
            return None;
        }
        tokio::select! {
            biased;
            output = &mut wait => return Some(output),
            () = woken => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn a_wait_ends_when_it_is_stopped() {
        runtime().block_on(async {
            let (waker, stopped) = (Notify::new(), std::cell::Cell::new(false));
            let long = tokio::time::sleep(Duration::from_mins(1));
            let stop = async {
                tokio::task::yield_now().await;
                waker.notify_waiters();
                tokio::task::yield_now().await;
                stopped.set(true);
                waker.notify_waiters();
            };
            let (ended, ()) = tokio::join!(unless_stopped(long, &waker, || stopped.get()), stop);
            assert!(ended.is_none());
            assert_eq!(unless_stopped(async { 7 }, &waker, || false).await, Some(7));
        });
    }
}
