//! The tests of recorders, of the collector and of the files of races. They are one program, because each further
//! program takes about a second of CPU time to compile and to link; `../memory.rs` depends on the process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

mod collect;
mod details;
mod disks;
mod engine_backlog;
mod intervals;
mod latency;
mod limits;
mod merged;
mod recover;
mod telemetry;
mod timeline;
mod windows;
