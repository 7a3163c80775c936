//! Request timeouts.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Instant;

use tokio::time::{Sleep, sleep_until};

/// A timer that is reused for every request. Moving a running timer to a later deadline takes one store, while a new
/// timer for each request, as created by `tokio::time::timeout_at`, has to be inserted into the runtime's timer wheel
/// and removed again.
#[derive(Debug, Default)]
pub struct RequestTimer {
    timer: Option<Pin<Box<Sleep>>>,
}

impl RequestTimer {
    /// Waits for a future. Returns `None` if it is not ready at `deadline`.
    pub async fn timeout_at<F: Future>(&mut self, deadline: Instant, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut is_set = false;
        poll_fn(|context| {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline.into())));
            if !is_set {
                timer.as_mut().reset(deadline.into());
                is_set = true;
            }
            timer.as_mut().poll(context).map(|()| None)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_timer_is_reused_for_earlier_and_later_deadlines() {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let mut timer = RequestTimer::default();
            let soon = || Instant::now() + Duration::from_millis(5);
            let later = || Instant::now() + Duration::from_mins(1);
            let never = std::future::pending::<()>;
            assert_eq!(timer.timeout_at(later(), async { 1 }).await, Some(1));
            let short = tokio::time::sleep(Duration::from_millis(1));
            assert_eq!(timer.timeout_at(later(), short).await, Some(()));
            // A deadline earlier than the last one, then a later one, after the timer has fired.
            assert_eq!(timer.timeout_at(soon(), never()).await, None);
            let longer = tokio::time::sleep(Duration::from_millis(20));
            assert_eq!(timer.timeout_at(later(), longer).await, Some(()));
            let deadline = soon();
            assert_eq!(timer.timeout_at(deadline, never()).await, None);
            assert!(Instant::now() >= deadline);
        });
    }
}
