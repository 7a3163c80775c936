//! The tests that read, unpack and generate files. They are one program, because each further program takes about a
//! second of CPU time to compile and to link.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

mod anchors;
mod bulk;
mod generators;
mod http_logs;
mod ids;
mod line_file;
mod read_ahead;
mod unpack;
