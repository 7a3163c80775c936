//! Whether the figures of the driver can be trusted: CPU time of its threads, the clocks, the host it runs on.
//!
//! Each file reads counters of the system at the edges of a step or a few times a second, never per request, and turns
//! them into a serializable record. What follows from a record is judged in Python, not here. Any module of the driver
//! may use this one.

pub mod clocks;
pub mod cpu;
pub mod host;
