//! When operations are due, when a task ends, and waking up at an instant.

pub mod limiter;
pub mod open_loop;
pub mod pacer;
pub mod timer;
