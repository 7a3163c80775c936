//! Determines when operations are due and when a task ends, and sleeps until a given instant.
//!
//! A `client_schedule` has a `budget` and a `pacer` or, with `open_loop`, the `shared_schedule` of its task; none of
//! these reads a clock or waits. `timer` is the `clock` in a race, and `paused_clock` is the one in tests. This module
//! does not send operations. Only `worker` may use it, and `step_state`, which holds the shared schedules of a step.

pub mod budget;
pub mod client_schedule;
pub mod clock;
pub mod pacer;
#[cfg(test)]
pub mod paused_clock;
pub mod shared_schedule;
pub mod timer;
pub mod warmup_backlog;
pub mod warmup_drain;
