//! When operations are due, when a task ends, and waking up at a given instant.
//!
//! `step_schedules` creates the schedules of a worker's clients. A schedule has a `pacer`, or with `open_loop` a
//! `shared_schedule` of several pacers, and a `budget`; all of these are pure: they neither read a clock nor wait.
//! `timer` is the `clock` of a race, `paused_clock` that of tests. This module does not send operations. Only `worker`
//! may use it.

pub mod budget;
pub mod clock;
pub mod pacer;
#[cfg(test)]
pub mod paused_clock;
pub mod shared_schedule;
pub mod step_schedules;
pub mod timer;
