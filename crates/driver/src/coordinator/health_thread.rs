//! The thread that reads the clocks, and the waits and the CPU time of the sending threads fifty times per second, the
//! host's counters once a second, and the CPU quotas before the race and after the workers have ended.
//!
//! It does nothing else: a thread that also merges recordings or waits for a disk would read the clocks late, which
//! would look as if the driver had not run.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use crate::coordinator::threads::{join, spawn};
use crate::error::DriveError;
use crate::health::clocks::{ClockHealth, ClockMonitor, ClockReading};
use crate::health::cpu::PeakLoad;
use crate::health::cpu_quota::{QuotaCounters, Throttling};
use crate::health::host::{HostMonitor, HostUsage, online_cores};
use crate::race_state::RaceState;
use crate::summary::ThreadSummary;

/// The running thread.
#[derive(Debug)]
pub struct HealthThread {
    stop: Sender<()>,
    thread: JoinHandle<HealthSummary>,
}

/// What the thread has read during a race.
#[derive(Debug)]
pub struct HealthSummary {
    /// The clocks.
    pub clock: ClockHealth,
    /// Load of the host.
    pub host: HostUsage,
    /// Effect of CPU quotas, or `None` if the operating system does not report it.
    pub throttling: Option<Throttling>,
    /// The thread itself.
    pub thread: ThreadSummary,
}

impl HealthThread {
    /// Starts the thread, which relates its readings to the race of `race_state`.
    ///
    /// # Errors
    ///
    /// If the operating system cannot start a thread.
    pub fn start(race_state: Arc<RaceState>) -> Result<Self, DriveError> {
        let (stop, stopped) = channel::<()>();
        let started = Instant::now();
        let (mut clocks, mut host, quota) =
            (ClockMonitor::start(), HostMonitor::start(), QuotaCounters::read());
        let thread = spawn("health", move || {
            race_state.scheduling.schedule_health_thread();
            let record = |clocks: &mut ClockMonitor| {
                let reading = ClockReading::read_with_waits();
                let changes = race_state.task_changes.count();
                clocks.record(reading, race_state.race_time_ns(Instant::now()), changes);
            };
            while stopped.recv_timeout(clocks.next_interval()) == Err(RecvTimeoutError::Timeout) {
                record(&mut clocks);
                race_state.core_waits.read();
                race_state.scheduling.check_budget(Instant::now());
                if host.read_when_due(started.elapsed()) {
                    clocks.end_second(host.stolen());
                }
            }
            record(&mut clocks);
            host.read(started.elapsed());
            clocks.end_second(host.stolen());
            let quota = QuotaCounters::read().zip(quota);
            HealthSummary {
                clock: clocks.end(),
                host: host.end(started.elapsed()),
                throttling: quota
                    .map(|(now, then)| now.since(&then, started.elapsed().as_secs_f64(), online_cores())),
                thread: ThreadSummary::of_current_thread("health", started, PeakLoad::default()),
            }
        })?;
        Ok(Self { stop, thread })
    }

    /// Ends the thread.
    ///
    /// # Errors
    ///
    /// The message of its panic, if it panicked.
    pub fn end(self) -> Result<HealthSummary, DriveError> {
        drop(self.stop);
        join(self.thread)
    }
}
