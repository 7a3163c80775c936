//! Waking up at an instant.
//!
//! The runtime's own timer counts in milliseconds and is late by one at the median. A `timerfd` with the thread's
//! timer slack at 1 ns wakes some 30 µs after the instant. Who wants less than that sleeps until shortly before the
//! instant and watches the clock from then on.

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

/// How the clients of a thread watch the clock, and what that costs it.
#[derive(Debug)]
pub struct Watch {
    /// How long before an instant watching takes the place of sleeping; 0: never.
    lead: Duration,
    /// Counts what the thread's clients did beside it.
    deeds: Cell<u64>,
    /// CPU time of the thread that went into watching alone.
    idle_ns: Cell<u64>,
    /// CPU time of the thread up to which that is counted, so that nothing is counted for two clients.
    counted_ns: Cell<u64>,
}

impl Watch {
    /// Watches so long before each instant.
    pub fn new(lead: Duration) -> Self {
        Self { lead, deeds: Cell::new(0), idle_ns: Cell::new(0), counted_ns: Cell::new(0) }
    }

    /// CPU time, in nanoseconds, in which the thread watched the clock and had nothing else to do.
    pub fn idle_ns(&self) -> u64 {
        self.idle_ns.get()
    }

    /// Lets the runtime serve the other clients, turn by turn, until it is time.
    async fn until(&self, instant: Instant) {
        let mut began_ns = thread_cpu_ns();
        while Instant::now() < instant {
            let deeds = self.deeds.get();
            tokio::task::yield_now().await;
            let now_ns = thread_cpu_ns();
            if self.deeds.get() == deeds {
                let from_ns = began_ns.max(self.counted_ns.get());
                self.idle_ns.set(self.idle_ns.get() + now_ns.saturating_sub(from_ns));
                self.counted_ns.set(now_ns);
            }
            began_ns = now_ns;
        }
    }
}

/// One client's alarm.
#[derive(Debug)]
pub struct Alarm {
    /// Made when it is first needed: most clients never wait.
    timer: Option<AsyncFd<OwnedFd>>,
    watch: Rc<Watch>,
}

impl Alarm {
    /// An alarm that is not set.
    pub fn new(watch: Rc<Watch>) -> Self {
        Self { timer: None, watch }
    }

    /// The client has begun or ended something: its thread does not only watch the clock.
    pub fn stir(&self) {
        self.watch.deeds.set(self.watch.deeds.get().wrapping_add(1));
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
        let lead = self.watch.lead;
        if lead.is_zero() {
            return self.sleep(instant).await;
        }
        if let Some(watching) = instant.checked_sub(lead) {
            self.sleep(watching).await?;
        }
        self.watch.until(instant).await;
        Ok(())
    }

    async fn sleep(&mut self, instant: Instant) -> io::Result<()> {
        let left = instant.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        if self.timer.is_none() {
            self.timer = Some(Self::timer()?);
        }
        let Some(timer) = &self.timer else { return Ok(()) };
        // Setting the timer forgets expiries, so that nobody has to read them; every one is an event of its own.
        timerfd_settime(timer.get_ref(), TimerfdTimerFlags::empty(), &once(left))?;
        while Instant::now() < instant {
            timer.readable().await?.clear_ready();
        }
        Ok(())
    }
}

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

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn an_alarm_never_rings_early_and_can_be_used_again() {
        runtime().block_on(async {
            let mut alarm = Alarm::new(Rc::new(Watch::new(Duration::ZERO)));
            for _ in 0..5 {
                let instant = Instant::now() + Duration::from_millis(3);
                alarm.until(instant).await.unwrap();
                assert!(Instant::now() >= instant);
            }
            alarm.until(Instant::now()).await.unwrap();
        });
    }

    #[test]
    fn watching_the_clock_is_never_early_lets_others_work_and_is_counted() {
        let watch = Rc::new(Watch::new(Duration::from_millis(20)));
        runtime().block_on(async {
            let mut alarm = Alarm::new(Rc::clone(&watch));
            let instant = Instant::now() + Duration::from_millis(30);
            let turns = Cell::new(0_u32);
            let others = async {
                loop {
                    turns.set(turns.get() + 1);
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                () = others => {}
                rung = alarm.until(instant) => rung.unwrap(),
            }
            assert!(Instant::now() >= instant);
            assert!(turns.get() > 2, "{turns:?}");
            let idle_ns = watch.idle_ns();
            assert!(0 < idle_ns && idle_ns < 60_000_000, "{idle_ns}");
            alarm.until(Instant::now()).await.unwrap();
            assert_eq!(watch.idle_ns(), idle_ns);
        });
    }

    #[test]
    fn a_thread_that_works_while_it_watches_is_not_idle() {
        let watch = Rc::new(Watch::new(Duration::from_secs(1)));
        runtime().block_on(async {
            let (mut alarm, busy) = (Alarm::new(Rc::clone(&watch)), Alarm::new(Rc::clone(&watch)));
            let others = async {
                loop {
                    busy.stir();
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                () = others => {}
                rung = alarm.until(Instant::now() + Duration::from_millis(5)) => rung.unwrap(),
            }
        });
        assert_eq!(watch.idle_ns(), 0);
    }
}
