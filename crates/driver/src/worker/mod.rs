//! The workers: threads that run client loops, each on a runtime of its own and with one recorder.
//!
//! `thread` prepares a step and runs its clients, `client_loop` is the measured loop of one client, `source` is what a
//! client sends, seen by the loop through `operations`. When operations are due is decided in `schedule`, how they are executed in `operation`, and what Python
//! contributes in `python`; no request is written here. Only `coordinator` may use this module.

pub mod client_loop;
pub mod operations;
pub mod source;
pub mod thread;
