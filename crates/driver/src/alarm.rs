//! Waking up at an instant.
//!
//! The runtime's own timer counts in milliseconds and is late by one at the median. A `timerfd` with the thread's
//! timer slack at 1 ns wakes some 30 µs after the instant.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

/// One client's alarm.
#[derive(Debug)]
pub struct Alarm {
    /// Made when it is first needed: most clients never wait.
    timer: Option<AsyncFd<OwnedFd>>,
}

impl Alarm {
    /// An alarm that is not set.
    pub fn new() -> Self {
        Self { timer: None }
    }

    fn timer() -> io::Result<AsyncFd<OwnedFd>> {
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        // Its successor is unsafe because a type could hand out different descriptors; an `OwnedFd` cannot.
        #[allow(
            deprecated,
            reason = "sound for an owned descriptor, and the successor would need unsafe code"
        )]
        AsyncFd::new(timer)
    }

    /// Waits for an instant.
    ///
    /// # Errors
    ///
    /// When the system has no timer left, or refuses to set it.
    pub async fn until(&mut self, instant: Instant) -> io::Result<()> {
        let left = instant.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        if self.timer.is_none() {
            self.timer = Some(Self::timer()?);
        }
        let Some(timer) = &self.timer else { return Ok(()) };
        // Setting the timer forgets an expiry that nobody waited for.
        timerfd_settime(timer.get_ref(), TimerfdTimerFlags::empty(), &once(left))?;
        loop {
            let mut ready = timer.readable().await?;
            if Instant::now() >= instant {
                ready.clear_ready();
                let _ = rustix::io::read(timer.get_ref(), &mut [0; 8]);
                return Ok(());
            }
            ready.clear_ready();
        }
    }
}

fn once(left: Duration) -> Itimerspec {
    let seconds = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
    Itimerspec {
        it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
        it_value: Timespec { tv_sec: seconds, tv_nsec: i64::from(left.subsec_nanos()) },
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
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn an_alarm_never_rings_early_and_can_be_used_again() {
        runtime().block_on(async {
            let mut alarm = Alarm::new();
            for _ in 0..5 {
                let instant = Instant::now() + Duration::from_millis(3);
                alarm.until(instant).await.unwrap();
                assert!(Instant::now() >= instant);
            }
            alarm.until(Instant::now()).await.unwrap();
        });
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
