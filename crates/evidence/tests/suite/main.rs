//! The tests of whole GC logs. They are one program, because each further program takes about a second of CPU time to
//! compile and to link.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod hotspot;
mod hotspot_damaged;
mod lossy;
mod openj9;
