//! Pure functions from the text of a file of the kernel to readings.

pub mod control_group;
pub mod cpu;
pub mod disks;
pub mod memory;
pub mod network;
pub mod pressure;
pub mod process;
