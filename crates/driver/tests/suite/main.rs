//! The tests of the driver over real sockets. They are one program, because each further program takes about a second
//! of CPU time to compile and to link. Tests run at the same time, so those that depend on the process (its memory, the
//! names of its threads) are programs of their own, beside this folder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

mod broken_hosts;
mod bulk;
mod cleanup;
mod data_files;
mod details;
mod endings;
mod json_scan;
mod long_values;
mod open_loop;
mod operations;
mod python_bridge;
mod python_shutdown;
mod races;
mod responses;
mod several_hosts;
mod thread_load;
mod transport;
mod truth;
mod unfinished_work;
