//! The state shared by all threads of a race. An operation that begins reads [`RaceState::stop_level`], one relaxed
//! load; one that has to wait reads it again and registers for the stop notification.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pacenote_record::{TaskProgress, TaskResult};
use serde::Serialize;
use tokio::sync::Notify;

use crate::health::core_waits::CoreWaitMonitor;
use crate::late_joins::LateJoins;
use crate::scheduling::monitor::SchedulingMonitor;
use crate::summary::RaceSummary;
use crate::units::{nanos, nanos_since};

/// The stop level of a race.
///
/// | level | new operations | operations in progress |
/// | --- | --- | --- |
/// | run | begin | continue to their end |
/// | finish | do not begin | continue for up to two seconds, then the level is raised |
/// | abandon | do not begin | are dropped and counted as unanswered |
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopLevel {
    /// The race continues.
    Run = 0,
    /// No new operations begin; those in progress may end.
    Finish = 1,
    /// Operations in progress are dropped.
    Abandon = 2,
}

/// An event for the caller of a race.
#[derive(Debug)]
pub enum RaceEvent {
    /// A task has ended.
    TaskFinished(Box<TaskResult>),
    /// The race has ended; no event follows.
    Finished(Box<RaceSummary>),
}

/// Progress of the steps of a race, with that of its running tasks.
#[derive(Debug, Clone, Default)]
pub struct StepsProgress {
    /// Number of steps that have ended.
    pub completed_steps: usize,
    /// Number of steps in the plan.
    pub total_steps: usize,
    /// Progress of the running tasks.
    pub running_tasks: Vec<TaskProgress>,
}

/// An operation that is retried until it succeeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RetryWait {
    /// The name of its task.
    pub task: String,
    /// Why its last attempt failed.
    pub reason: String,
    /// Number of attempts so far.
    pub attempts: u32,
    /// Seconds from the start of the first attempt to the end of the last one.
    pub waited_s: f64,
    /// Seconds after the start of the first attempt from which on no attempt is made.
    pub limit_s: f64,
}

/// Shows why one operation is retried, until it is dropped: the operation has ended then, or was dropped itself, like
/// those of a composite of which another one failed.
#[derive(Debug)]
pub struct ShownRetryWait<'a> {
    race_state: &'a RaceState,
    id: u64,
}

/// A wait that is shown, with the id of what shows it.
#[derive(Debug)]
struct ListedRetryWait {
    id: u64,
    wait: RetryWait,
}

/// Counts how many times a task has begun or ended, so that what is observed meanwhile can be told apart by tasks.
#[derive(Debug, Default)]
pub struct TaskChanges(AtomicU32);

impl TaskChanges {
    /// Counts a task that begins or ends.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many times a task has begun or ended.
    pub fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// When the first step of a race started.
#[derive(Debug, Clone, Copy)]
struct RaceStart {
    instant: Instant,
    /// The same by the wall clock, in nanoseconds since 1970.
    unix_ns: u64,
}

/// The state shared by all threads of a race.
#[derive(Debug)]
pub struct RaceState {
    level: AtomicU8,
    /// When the level was raised for the first time.
    stopped_at: OnceLock<Instant>,
    /// The first error that ended the race.
    abort_reason: Mutex<Option<String>>,
    /// The first error because of which the driver cannot continue.
    driver_error: Mutex<Option<String>>,
    /// Notifiers that wake clients and requests whose wait may have to end early: one per worker, then one for the
    /// bridge to Python.
    stop_notifies: Vec<Arc<Notify>>,
    events: Mutex<VecDeque<RaceEvent>>,
    event_published: Condvar,
    progress: Mutex<StepsProgress>,
    /// Operations that are retried until they succeed.
    retry_waits: Mutex<Vec<ListedRetryWait>>,
    /// Number of operations that have been retried until they succeed.
    retry_wait_count: AtomicU64,
    /// When the first step started; all times of the race are relative to this.
    started: Mutex<Option<RaceStart>>,
    /// Beginnings and ends of tasks.
    pub task_changes: Arc<TaskChanges>,
    /// Waits of the threads that send requests for a core.
    pub core_waits: CoreWaitMonitor,
    /// Clients that joined a task late.
    pub late_joins: LateJoins,
    /// How the kernel schedules the threads.
    pub scheduling: SchedulingMonitor,
}

impl RaceState {
    /// Creates the state of a race of `step_count` steps on `worker_count` workers that has not started, and whose
    /// threads are scheduled by `scheduling`.
    pub fn new(worker_count: usize, step_count: usize, scheduling: SchedulingMonitor) -> Self {
        Self {
            level: AtomicU8::new(StopLevel::Run as u8),
            stopped_at: OnceLock::new(),
            abort_reason: Mutex::default(),
            driver_error: Mutex::default(),
            stop_notifies: (0..=worker_count).map(|_| Arc::default()).collect(),
            events: Mutex::default(),
            event_published: Condvar::new(),
            progress: Mutex::new(StepsProgress { total_steps: step_count, ..StepsProgress::default() }),
            retry_waits: Mutex::default(),
            retry_wait_count: AtomicU64::new(0),
            started: Mutex::default(),
            task_changes: Arc::default(),
            core_waits: CoreWaitMonitor::default(),
            late_joins: LateJoins::default(),
            scheduling,
        }
    }

    /// Returns the stop level of a race.
    pub fn stop_level(&self) -> StopLevel {
        match self.level.load(Ordering::Relaxed) {
            0 => StopLevel::Run,
            1 => StopLevel::Finish,
            _ => StopLevel::Abandon,
        }
    }

    /// Raises the stop level to at least this one.
    pub fn stop(&self, level: StopLevel) {
        self.stop_at(level, Instant::now());
    }

    /// Raises the stop level to at least this one, at `now`.
    pub fn stop_at(&self, level: StopLevel, now: Instant) {
        self.stopped_at.get_or_init(|| now);
        self.level.fetch_max(level as u8, Ordering::Relaxed);
        self.wake_all();
    }

    /// Returns when the race was stopped or aborted, or `None` if it was not.
    pub fn stopped_at(&self) -> Option<Instant> {
        self.stopped_at.get().copied()
    }

    /// Ends the race because of an error.
    pub fn abort(&self, reason: String) {
        self.abort_at(reason, Instant::now());
    }

    /// Ends the race because of an error that was found at `now`.
    pub fn abort_at(&self, reason: String, now: Instant) {
        lock(&self.abort_reason).get_or_insert(reason);
        self.stop_at(StopLevel::Finish, now);
    }

    /// Returns the error that ended the race, if there was one.
    pub fn abort_reason(&self) -> Option<String> {
        lock(&self.abort_reason).clone()
    }

    /// Ends the race at once, because the driver cannot continue.
    pub fn fail(&self, reason: String) {
        lock(&self.driver_error).get_or_insert_with(|| reason.clone());
        self.abort(reason);
        self.stop(StopLevel::Abandon);
    }

    /// Returns the error because of which the driver could not continue, if there was one.
    pub fn driver_error(&self) -> Option<String> {
        lock(&self.driver_error).clone()
    }

    /// Wakes all waiting clients, so that they check whether to continue.
    pub fn wake_all(&self) {
        for stop_notify in &self.stop_notifies {
            stop_notify.notify_waiters();
        }
    }

    /// Returns the notifier for operations that the driver executes for Python, which is notified when they may have to
    /// stop.
    pub fn bridge_stop_notify(&self) -> Arc<Notify> {
        Arc::clone(&self.stop_notifies[self.stop_notifies.len() - 1])
    }

    /// Returns the notifier for the clients of a worker, which is notified when they may have to stop.
    pub fn stop_notify(&self, worker_index: usize) -> Arc<Notify> {
        Arc::clone(&self.stop_notifies[worker_index])
    }

    /// Queues an event for the caller.
    pub fn publish(&self, event: RaceEvent) {
        lock(&self.events).push_back(event);
        self.event_published.notify_all();
    }

    /// Waits for events for at most `timeout`. Removes and returns all queued events.
    pub fn wait_for_events(&self, timeout: Duration) -> Vec<RaceEvent> {
        let waited =
            self.event_published.wait_timeout_while(lock(&self.events), timeout, |events| events.is_empty());
        let (mut events, _) = waited.unwrap_or_else(PoisonError::into_inner);
        events.drain(..).collect()
    }

    /// Returns the progress for reading or updating.
    pub fn progress(&self) -> MutexGuard<'_, StepsProgress> {
        lock(&self.progress)
    }

    /// Returns what shows why an operation is retried; it shows nothing yet.
    pub fn show_retry_wait(&self) -> ShownRetryWait<'_> {
        ShownRetryWait { race_state: self, id: self.retry_wait_count.fetch_add(1, Ordering::Relaxed) }
    }

    /// Returns the operations that are retried until they succeed, of each task the one that has been for the longest
    /// time.
    pub fn retry_waits(&self) -> Vec<RetryWait> {
        let mut waits: Vec<RetryWait> = Vec::new();
        for ListedRetryWait { wait, .. } in lock(&self.retry_waits).iter() {
            match waits.iter_mut().find(|other| other.task == wait.task) {
                Some(other) if other.waited_s < wait.waited_s => *other = wait.clone(),
                Some(_) => {}
                None => waits.push(wait.clone()),
            }
        }
        waits
    }

    /// Starts the race's clock unless it is already running.
    pub fn start_clock(&self, now: Instant) {
        lock(&self.started).get_or_insert_with(|| {
            let since_now = now.elapsed();
            let wall_clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            RaceStart { instant: now, unix_ns: nanos(wall_clock.saturating_sub(since_now)) }
        });
    }

    /// Returns when the first step started by the wall clock, in nanoseconds since 1970, or `None` if it has not
    /// started.
    pub fn started_unix_ns(&self) -> Option<u64> {
        lock(&self.started).map(|started| started.unix_ns)
    }

    /// Returns `instant` as nanoseconds since the first step started, or 0 if it has not started.
    pub fn race_time_ns(&self, instant: Instant) -> u64 {
        let started = *lock(&self.started);
        started.map_or(0, |started| nanos_since(started.instant, instant))
    }
}

impl ShownRetryWait<'_> {
    /// Shows this, instead of what it has shown before.
    pub fn update(&self, wait: RetryWait) {
        let mut waits = lock(&self.race_state.retry_waits);
        match waits.iter_mut().find(|listed| listed.id == self.id) {
            Some(listed) => listed.wait = wait,
            None => waits.push(ListedRetryWait { id: self.id, wait }),
        }
    }
}

impl Drop for ShownRetryWait<'_> {
    fn drop(&mut self) {
        lock(&self.race_state.retry_waits).retain(|listed| listed.id != self.id);
    }
}

/// Locks a mutex. Data that a panicking thread had locked is consistent, because every change is a single step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
