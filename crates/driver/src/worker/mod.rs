//! The workers: threads that run client loops, each with its own runtime and recorder.
//!
//! `thread` prepares a step, `assigned_task` runs the tasks of a client one after another, `client_loop` is the
//! measured loop, and `source` prepares and executes the operations of a client, which the loop uses through the
//! interface in `operations`; `operation_recorder` records their outcomes, and `waits` has the waits of the loop.
//! `schedule` determines when operations are due, `operation` executes them, and `python` connects them to Python; this
//! module does not create requests. Only `coordinator` and `race.rs` may use this module.

pub mod assigned_task;
pub mod client_loop;
mod operation_recorder;
pub mod operations;
pub mod source;
pub mod thread;
mod waits;

#[cfg(test)]
mod paused_tests;
