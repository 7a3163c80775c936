//! Determines when operations are due and when a task ends, and sleeps until a given instant.
//!
//! `step_schedules` creates the schedules of a worker's clients. A schedule has a `budget` and a `pacer` or, with
//! `open_loop`, a `shared_schedule` of several pacers; none of these reads a clock or waits. `timer` is the `clock` in
//! a race, and `paused_clock` is the one in tests. This module does not send operations. Only `worker` may use it.

pub mod budget;
pub mod clock;
pub mod pacer;
#[cfg(test)]
pub mod paused_clock;
pub mod shared_schedule;
pub mod step_schedules;
pub mod timer;
