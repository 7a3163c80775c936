//! Evidence of whether the figures of the driver can be trusted: CPU time of its threads, the clocks, the host on which
//! it runs.
//!
//! Each file reads counters of the system at the beginning and end of a step or a few times a second, never per
//! request, and turns them into a serializable record. Python evaluates the records. Any module of the driver may use
//! this one.

pub mod clocks;
pub mod cpu;
pub mod host;
