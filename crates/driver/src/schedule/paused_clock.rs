//! A clock for tests of the measured loop. It stands still while any client is active, and then advances to the next
//! instant until which a client sleeps. Tests take almost no real time, and all times are exact.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use crate::schedule::clock::Clock;
use crate::units::nanos_since;

/// A handle to a clock, which is shared by all clones.
#[derive(Debug, Clone)]
pub struct PausedClock {
    state: Rc<ClockState>,
}

#[derive(Debug)]
struct ClockState {
    start: Instant,
    now: Cell<Instant>,
    /// The instants until which futures sleep, by the number of the sleep.
    sleeps: RefCell<BTreeMap<u64, Instant>>,
    next_sleep: Cell<u64>,
    refuses: Cell<bool>,
}

/// Removes a sleep that has ended or was cancelled.
struct SleepGuard<'a> {
    state: &'a ClockState,
    number: u64,
}

impl Drop for SleepGuard<'_> {
    fn drop(&mut self) {
        self.state.sleeps.borrow_mut().remove(&self.number);
    }
}

impl PausedClock {
    /// Creates a clock that shows 0.
    pub fn new() -> Self {
        let start = Instant::now();
        let state = ClockState {
            start,
            now: Cell::new(start),
            sleeps: RefCell::default(),
            next_sleep: Cell::new(0),
            refuses: Cell::new(false),
        };
        Self { state: Rc::new(state) }
    }

    /// Returns the instant at which the clock shows `ns` nanoseconds.
    pub fn at(&self, ns: u64) -> Instant {
        self.state.start + Duration::from_nanos(ns)
    }

    /// Returns the time on the clock, in nanoseconds.
    pub fn elapsed_ns(&self) -> u64 {
        nanos_since(self.state.start, self.state.now.get())
    }

    /// Makes all later timers fail, as on a system without free file descriptors.
    pub fn refuse_timers(&self) {
        self.state.refuses.set(true);
    }

    /// Sleeps until `instant`.
    pub async fn sleep(&self, instant: Instant) {
        let state = &*self.state;
        let number = state.next_sleep.replace(state.next_sleep.get() + 1);
        state.sleeps.borrow_mut().insert(number, instant);
        let _guard = SleepGuard { state, number };
        poll_fn(|_| if state.now.get() >= instant { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Runs all futures to completion. Futures are polled in order, so that a run can be repeated exactly.
    pub fn run(&self, futures: Vec<Pin<Box<dyn Future<Output = ()> + '_>>>) {
        self.run_until(u64::MAX, futures);
    }

    /// Runs all futures until they have completed or the clock shows `end_ns`; the remaining futures are then dropped.
    pub fn run_until(&self, end_ns: u64, futures: Vec<Pin<Box<dyn Future<Output = ()> + '_>>>) {
        let mut futures: Vec<_> = futures.into_iter().map(Some).collect();
        let woken = Arc::new(WokenFlag::default());
        let waker = Waker::from(Arc::clone(&woken));
        while futures.iter().any(Option::is_some) {
            woken.0.store(false, Ordering::Relaxed);
            for slot in &mut futures {
                let mut context = Context::from_waker(&waker);
                if slot.as_mut().is_some_and(|future| future.as_mut().poll(&mut context).is_ready()) {
                    *slot = None;
                }
            }
            if !woken.0.load(Ordering::Relaxed) && !self.advance(end_ns) {
                assert!(
                    end_ns < u64::MAX || futures.iter().all(Option::is_none),
                    "no future can make progress"
                );
                return;
            }
        }
    }

    /// Advances to the next instant until which a future sleeps. Returns `false` if that is `end_ns` or later.
    fn advance(&self, end_ns: u64) -> bool {
        let Some(next) = self.state.sleeps.borrow().values().min().copied() else {
            // Every future has ended or waits for an event that will never occur.
            return false;
        };
        if nanos_since(self.state.start, next) >= end_ns {
            self.state.now.set(self.at(end_ns));
            return false;
        }
        self.state.now.set(next.max(self.state.now.get()));
        true
    }
}

impl Clock for PausedClock {
    fn now(&self) -> Instant {
        self.state.now.get()
    }

    async fn sleep_until(&mut self, instant: Instant) -> io::Result<()> {
        if self.state.refuses.get() {
            return Err(io::Error::other("no timers left"));
        }
        self.sleep(instant).await;
        Ok(())
    }

    async fn sleep_coarse(&self, duration: Duration) {
        self.sleep(self.now() + duration).await;
    }

    fn mark_begun(&self) {}

    fn mark_ended(&self) {}
}

/// Whether a future was woken since the last poll.
#[derive(Debug, Default)]
struct WokenFlag(AtomicBool);

impl Wake for WokenFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn the_clock_advances_only_when_all_futures_sleep_and_skips_cancelled_sleeps() {
    let clock = PausedClock::new();
    let log = RefCell::new(Vec::new());
    let sleeper = async {
        tokio::select! {
            biased;
            () = clock.sleep(clock.at(7)) => log.borrow_mut().push((clock.elapsed_ns(), "slept")),
            () = clock.sleep(clock.at(100)) => log.borrow_mut().push((clock.elapsed_ns(), "too late")),
        }
    };
    let busy = async {
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        log.borrow_mut().push((clock.elapsed_ns(), "busy"));
    };
    clock.run(vec![Box::pin(sleeper), Box::pin(busy)]);
    assert_eq!(*log.borrow(), [(0, "busy"), (7, "slept")]);
    clock.run_until(50, vec![Box::pin(clock.sleep(clock.at(60)))]);
    assert_eq!(clock.elapsed_ns(), 50);
}
