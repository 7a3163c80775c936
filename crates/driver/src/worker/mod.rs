//! The workers: threads that run client loops, each on a runtime of its own and with one recorder.
//!
//! `thread` prepares a step, `client_task` runs the tasks of a client one after another, `client_loop` is the measured
//! loop, and `source` is what a client sends, which the loop sees through `operations`. When operations are due is
//! decided in `schedule`, how they are executed in `operation`, and what Python contributes in `python`; no request is
//! written here. Only `coordinator` may use this module.

pub mod client_loop;
pub mod client_task;
pub mod operations;
pub mod source;
pub mod thread;

#[cfg(test)]
mod paused_tests;
