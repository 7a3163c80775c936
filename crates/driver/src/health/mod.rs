//! Measurements that show whether the driver's figures can be trusted: the CPU time of its threads, their waits for the
//! disk, the clocks, the load of its host, and the quota of its control group.
//!
//! Each file reads counters of the operating system at the beginning and end of a step or many times per second, never
//! per request, and converts them to a serializable record. The records are evaluated in Python. Any module of the
//! driver may use this one.

pub mod clocks;
pub mod core_waits;
pub mod cpu;
pub mod cpu_quota;
pub mod data_waits;
pub mod gaps;
pub mod host;
pub mod pauses;
pub mod race_spans;
pub mod reply_waits;
pub mod run_queue;
