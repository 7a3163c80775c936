//! Sleeps until a given instant.
//!
//! Tokio's timers have a resolution of one millisecond and a median lateness of about one millisecond. A `timerfd`,
//! with the thread's timer slack set to 1 ns, wakes the thread about 30 µs after the instant. For higher precision,
//! [`SpinWait`] takes over shortly before the instant and reads the clock in a loop.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;

use crate::health::cpu::thread_cpu_ns;
use crate::health::reply_waits::{count_reply, count_request, work_count};
use crate::schedule::clock::Clock;

/// Longest turn of the runtime, in nanoseconds of CPU time, in which a thread may have been idle. A turn only polls the
/// clients that spin, and the sockets. In a longer one, the thread worked, for example built a body.
const MAX_IDLE_TURN_NS: u64 = 20_000;

/// The spin wait shared by the clients of a thread, and the CPU time it uses.
#[derive(Debug)]
pub struct SpinWait {
    /// How long before an instant spinning takes over from sleeping, or 0 for never.
    lead: Duration,
    /// CPU time in which the thread was spinning and otherwise idle, in nanoseconds.
    idle_spin_ns: Cell<u64>,
    /// The thread's CPU time up to which `idle_spin_ns` has been counted, so that the same time is not counted once for
    /// each spinning client.
    counted_ns: Cell<u64>,
}

impl SpinWait {
    /// Creates a spin wait that spins for `lead` before each instant. If `lead` is 0, it never spins.
    pub fn new(lead: Duration) -> Self {
        Self { lead, idle_spin_ns: Cell::new(0), counted_ns: Cell::new(0) }
    }

    /// Returns the CPU time in which the thread was spinning and otherwise idle, in nanoseconds.
    pub fn idle_spin_ns(&self) -> u64 {
        self.idle_spin_ns.get()
    }

    /// Spins until `instant`. Between two reads of the clock, the runtime runs other clients.
    async fn spin_until(&self, instant: Instant) {
        let mut began_ns = thread_cpu_ns();
        while Instant::now() < instant {
            let worked = work_count();
            tokio::task::yield_now().await;
            let now_ns = thread_cpu_ns();
            if work_count() == worked && now_ns.saturating_sub(began_ns) <= MAX_IDLE_TURN_NS {
                let from_ns = began_ns.max(self.counted_ns.get());
                self.idle_spin_ns.set(self.idle_spin_ns.get() + now_ns.saturating_sub(from_ns));
                self.counted_ns.set(now_ns);
            }
            began_ns = now_ns;
        }
    }
}

/// The timer of one client.
#[derive(Debug)]
pub struct Timer {
    /// Created on first use, since most clients never sleep.
    descriptor: Option<AsyncFd<OwnedFd>>,
    spin_wait: Rc<SpinWait>,
}

impl Timer {
    /// Creates a timer that is not set.
    pub fn new(spin_wait: Rc<SpinWait>) -> Self {
        Self { descriptor: None, spin_wait }
    }

    fn create() -> io::Result<AsyncFd<OwnedFd>> {
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        // `AsyncFd::new` is deprecated in favor of an unsafe function, because a type could return a different
        // descriptor at each call. An `OwnedFd` always returns its own.
        #[allow(deprecated, reason = "sound for an owned descriptor, and the alternative is unsafe code")]
        AsyncFd::new(timer)
    }

    async fn sleep_on_descriptor(&mut self, instant: Instant) -> io::Result<()> {
        let left = instant.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        if self.descriptor.is_none() {
            self.descriptor = Some(Self::create()?);
        }
        let Some(timer) = &self.descriptor else { return Ok(()) };
        // Setting the timer discards earlier expirations, so they need not be read; each new expiration triggers a new
        // event.
        timerfd_settime(timer.get_ref(), TimerfdTimerFlags::empty(), &once(left))?;
        while Instant::now() < instant {
            timer.readable().await?.clear_ready();
        }
        Ok(())
    }
}

impl Clock for Timer {
    fn now(&self) -> Instant {
        Instant::now()
    }

    async fn sleep_until(&mut self, instant: Instant) -> io::Result<()> {
        let lead = self.spin_wait.lead;
        if lead.is_zero() {
            return self.sleep_on_descriptor(instant).await;
        }
        if let Some(spin_start) = instant.checked_sub(lead) {
            self.sleep_on_descriptor(spin_start).await?;
        }
        self.spin_wait.spin_until(instant).await;
        Ok(())
    }

    async fn sleep_coarse(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn mark_begun(&self) {
        count_request();
    }

    fn mark_ended(&self) {
        count_reply();
    }
}

/// Returns the setting for a timer that expires once.
fn once(left: Duration) -> Itimerspec {
    let seconds = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
    Itimerspec {
        it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
        it_value: Timespec { tv_sec: seconds, tv_nsec: i64::from(left.subsec_nanos()) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::reply_waits::count_arrival;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn a_timer_never_expires_early_and_can_be_used_again() {
        runtime().block_on(async {
            let mut timer = Timer::new(Rc::new(SpinWait::new(Duration::ZERO)));
            for _ in 0..5 {
                let instant = Instant::now() + Duration::from_millis(3);
                timer.sleep_until(instant).await.unwrap();
                assert!(Instant::now() >= instant);
            }
            timer.sleep_until(Instant::now()).await.unwrap();
        });
    }

    /// Spins until the thread's other clients have taken `turns` turns. Returns the idle time and the CPU time of the
    /// thread, in nanoseconds. The instant to wait for is never reached, so the load of the machine does not matter.
    fn spin_beside(turns: u32, take_turn: impl Fn(&Timer)) -> (u64, u64) {
        let spin_wait = Rc::new(SpinWait::new(Duration::from_hours(2)));
        let (mut timer, other) = (Timer::new(Rc::clone(&spin_wait)), Timer::new(Rc::clone(&spin_wait)));
        let before_ns = thread_cpu_ns();
        runtime().block_on(async {
            let others = async {
                for _ in 0..turns {
                    take_turn(&other);
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                () = others => {}
                _ = timer.sleep_until(Instant::now() + Duration::from_hours(1)) => panic!("an hour has passed"),
            }
        });
        (spin_wait.idle_spin_ns(), thread_cpu_ns() - before_ns)
    }

    #[test]
    fn a_spin_wait_is_never_early() {
        let spin_wait = Rc::new(SpinWait::new(Duration::from_millis(2)));
        runtime().block_on(async {
            let mut timer = Timer::new(Rc::clone(&spin_wait));
            let instant = Instant::now() + Duration::from_millis(4);
            timer.sleep_until(instant).await.unwrap();
            assert!(Instant::now() >= instant);
            let idle_spin_ns = spin_wait.idle_spin_ns();
            timer.sleep_until(Instant::now()).await.unwrap();
            assert_eq!(spin_wait.idle_spin_ns(), idle_spin_ns);
        });
    }

    #[test]
    fn a_spin_wait_lets_other_tasks_run_and_is_counted() {
        let (idle_spin_ns, cpu_ns) = spin_beside(100, |_| ());
        assert!(0 < idle_spin_ns && idle_spin_ns < cpu_ns, "{idle_spin_ns} of {cpu_ns} ns");
    }

    #[test]
    fn a_thread_that_works_during_a_spin_wait_is_not_idle() {
        assert_eq!(spin_beside(100, Timer::mark_begun).0, 0);
        assert_eq!(spin_beside(100, |_| count_arrival(&mut 0)).0, 0);
        let build_body = |_: &Timer| {
            let before_ns = thread_cpu_ns();
            while thread_cpu_ns() - before_ns <= MAX_IDLE_TURN_NS {}
        };
        assert_eq!(spin_beside(100, build_body).0, 0);
    }
}
