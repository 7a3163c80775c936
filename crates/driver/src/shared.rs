//! What all threads of a race share. Touched per request only through [`Shared::stop_level`], one relaxed load.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pacenote_record::{TaskProgress, TaskResult};
use tokio::sync::Notify;

use crate::summary::Summary;

/// How urgently the race is to end.
///
/// | level | new operations | operations under way |
/// | --- | --- | --- |
/// | run | begin | end by themselves |
/// | finish | do not begin | end by themselves; a runner in Python has as long as a request |
/// | abandon | do not begin | are dropped, counted as unanswered |
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopLevel {
    /// The race goes on.
    Run = 0,
    /// What is under way may end.
    Finish = 1,
    /// Everything ends now.
    Abandon = 2,
}

/// What happened, for the caller.
#[derive(Debug)]
pub enum Event {
    /// A task has ended.
    TaskFinished(Box<TaskResult>),
    /// The race has ended; nothing follows.
    Finished(Box<Summary>),
}

/// Progress of the present step.
#[derive(Debug, Clone, Default)]
pub struct StepProgress {
    /// From 1.
    pub step: usize,
    /// All steps.
    pub steps: usize,
    /// Its running tasks.
    pub tasks: Vec<TaskProgress>,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Shared {
    level: AtomicU8,
    /// Why an error ended the race; the first one stands.
    aborted: Mutex<Option<String>>,
    /// One per worker and one for the lane: wakes its clients when something other than time ends their waiting.
    wakers: Vec<Arc<Notify>>,
    events: Mutex<VecDeque<Event>>,
    news: Condvar,
    progress: Mutex<StepProgress>,
    /// When the race's first step began; all its times count from here.
    pub began: Mutex<Option<Instant>>,
}

impl Shared {
    /// For so many workers.
    pub fn new(workers: usize) -> Self {
        Self {
            level: AtomicU8::new(StopLevel::Run as u8),
            aborted: Mutex::default(),
            wakers: (0..=workers).map(|_| Arc::default()).collect(),
            events: Mutex::default(),
            news: Condvar::new(),
            progress: Mutex::default(),
            began: Mutex::default(),
        }
    }

    /// How urgently the race is to end.
    pub fn stop_level(&self) -> StopLevel {
        match self.level.load(Ordering::Relaxed) {
            0 => StopLevel::Run,
            1 => StopLevel::Finish,
            _ => StopLevel::Abandon,
        }
    }

    /// Ends the race, at least with this urgency.
    pub fn stop(&self, level: StopLevel) {
        self.level.fetch_max(level as u8, Ordering::Relaxed);
        self.wake_all();
    }

    /// Ends the race because of an error.
    pub fn abort(&self, reason: String) {
        lock(&self.aborted).get_or_insert(reason);
        self.stop(StopLevel::Finish);
    }

    /// Why an error ended the race.
    pub fn aborted(&self) -> Option<String> {
        lock(&self.aborted).clone()
    }

    /// Wakes every client that waits, to look around.
    pub fn wake_all(&self) {
        for waker in &self.wakers {
            waker.notify_waiters();
        }
    }

    /// What wakes the operations that Python had carried out.
    pub fn lane_waker(&self) -> Arc<Notify> {
        Arc::clone(&self.wakers[self.wakers.len() - 1])
    }

    /// What wakes the clients of a worker.
    pub fn waker(&self, worker: usize) -> Arc<Notify> {
        Arc::clone(&self.wakers[worker])
    }

    /// Hands an event to the caller.
    pub fn publish(&self, event: Event) {
        lock(&self.events).push_back(event);
        self.news.notify_all();
    }

    /// Waits for events; returns none when `patience` is over.
    pub fn wait(&self, patience: Duration) -> Vec<Event> {
        let waiting = self.news.wait_timeout_while(lock(&self.events), patience, |events| events.is_empty());
        let (mut events, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        events.drain(..).collect()
    }

    /// The progress, to read or to write.
    pub fn progress(&self) -> MutexGuard<'_, StepProgress> {
        lock(&self.progress)
    }

    /// Nanoseconds since the race's first step began.
    pub fn elapsed_ns(&self, now: Instant) -> u64 {
        let began = *lock(&self.began);
        began.map_or(0, |began| nanos(now.saturating_duration_since(began)))
    }
}

/// Locks; what a thread that died left behind is still whole, since every change is a single step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A duration in nanoseconds; 292 years are enough.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
