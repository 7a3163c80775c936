//! Request timeouts.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Poll, ready};
use std::time::Instant;

use tokio::task::yield_now;
use tokio::time::{Sleep, sleep_until};

/// A timer that is reused for every request. Moving a running timer to a later deadline takes one store, while a new
/// timer for each request, as created by `tokio::time::timeout_at`, has to be inserted into the runtime's timer wheel
/// and removed again.
#[derive(Debug, Default)]
pub struct RequestTimer {
    timer: Option<Pin<Box<Sleep>>>,
}

impl RequestTimer {
    /// Waits for a future, which is pinned by the caller because moving it would copy it. Returns `None` if it is not
    /// ready at `deadline`.
    ///
    /// If this process did not run for a while, the timer may fire before the runtime has noticed what arrived at the
    /// sockets meanwhile. The future is therefore tried once more after the runtime has looked at them.
    pub async fn timeout_at<F: Future>(
        &mut self,
        deadline: Instant,
        mut future: Pin<&mut F>,
    ) -> Option<F::Output> {
        let mut sockets_read = pin!(yield_now());
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
            ready!(timer.as_mut().poll(context));
            sockets_read.as_mut().poll(context).map(|()| None)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// As after the process was stopped: the time of the timer has passed, and the reply has arrived, but the runtime
    /// has not looked at the socket yet.
    #[test]
    fn what_has_arrived_when_the_timer_fires_is_received() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_nonblocking(true).unwrap();
        let mut server = listener.accept().unwrap().0;
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let past = Instant::now();
            tokio::time::sleep(Duration::from_millis(5)).await;
            server.write_all(b"x").unwrap();
            let mut client = tokio::net::TcpStream::from_std(client).unwrap();
            let mut timer = RequestTimer::default();
            assert_eq!(timer.timeout_at(past, pin!(client.read_u8())).await.map(Result::unwrap), Some(b'x'));
            assert!(timer.timeout_at(past, pin!(client.read_u8())).await.is_none());
        });
    }

    #[test]
    fn a_timer_is_reused_for_earlier_and_later_deadlines() {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let mut timer = RequestTimer::default();
            let soon = || Instant::now() + Duration::from_millis(5);
            let later = || Instant::now() + Duration::from_mins(1);
            let never = std::future::pending::<()>;
            assert_eq!(timer.timeout_at(later(), pin!(async { 1 })).await, Some(1));
            let short = tokio::time::sleep(Duration::from_millis(1));
            assert_eq!(timer.timeout_at(later(), pin!(short)).await, Some(()));
            // A deadline earlier than the last one, then a later one, after the timer has fired.
            assert_eq!(timer.timeout_at(soon(), pin!(never())).await, None);
            let longer = tokio::time::sleep(Duration::from_millis(20));
            assert_eq!(timer.timeout_at(later(), pin!(longer)).await, Some(()));
            let deadline = soon();
            assert_eq!(timer.timeout_at(deadline, pin!(never())).await, None);
            assert!(Instant::now() >= deadline);
        });
    }
}
