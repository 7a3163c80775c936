//! A time-out that costs nothing as long as replies come.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Instant;

use tokio::time::{Sleep, sleep_until};

/// The timer of a connection. It is kept from request to request: to set one that runs already to later is one store,
/// where a new one would be put into the runtime's timer wheel and taken out again.
#[derive(Debug, Default)]
pub struct Timeout {
    timer: Option<Pin<Box<Sleep>>>,
}

impl Timeout {
    /// Waits for a future until `deadline`; `None` when that is over first.
    pub async fn until<F: Future>(&mut self, deadline: Instant, future: F) -> Option<F::Output> {
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
    fn one_timer_serves_request_after_request() {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let mut timeout = Timeout::default();
            let soon = || Instant::now() + Duration::from_millis(5);
            let later = || Instant::now() + Duration::from_mins(1);
            let never = std::future::pending::<()>;
            assert_eq!(timeout.until(later(), async { 1 }).await, Some(1));
            let short = tokio::time::sleep(Duration::from_millis(1));
            assert_eq!(timeout.until(later(), short).await, Some(()));
            // Earlier than it was set to, then later again, past the moment at which it rang.
            assert_eq!(timeout.until(soon(), never()).await, None);
            let longer = tokio::time::sleep(Duration::from_millis(20));
            assert_eq!(timeout.until(later(), longer).await, Some(()));
            let deadline = soon();
            assert_eq!(timeout.until(deadline, never()).await, None);
            assert!(Instant::now() >= deadline);
        });
    }
}
