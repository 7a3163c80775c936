//! Whether the driver's own figures can be trusted: CPU of its threads, the clocks, the host it runs on.

pub mod clocks;
pub mod cpu;
pub mod host;
