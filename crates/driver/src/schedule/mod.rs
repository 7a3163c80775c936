//! When operations are due, when a task ends, and waking up at a given instant.
//!
//! `pacer`, `shared_schedule` and `budget` are pure: they neither read a clock nor wait. `timer` is the real
//! `clock`. Sending operations does not belong here. Only `worker` may use this module.

pub mod budget;
pub mod clock;
pub mod pacer;
#[cfg(test)]
pub mod paused_clock;
pub mod shared_schedule;
pub mod step_schedules;
pub mod timer;
