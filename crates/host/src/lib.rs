//! Samples the counters of the operating system while a race runs: CPU, memory, disks, network, pressure, and those of
//! the processes of the engine and of the driver.
//!
//! [`HostSampler::start`] starts a thread that reads the files of `/proc`, `/sys` and control groups once a second, and
//! appends their values to the [`TelemetryFile`](pacenote_record::TelemetryFile) of the race. It keeps the files open
//! and reads them with `pread`. What a kernel does not have is not in the file, and [`SamplerReport`] says why.
//!
//! | file or folder | contains |
//! | --- | --- |
//! | `parse/` | pure functions from the text of a file of the kernel to [`Reading`](reading::Reading)s |
//! | `reading.rs` | one value of such a file |
//! | `kernel_file.rs` | a file that is kept open, with the numbers of its series |
//! | `threads.rs` | CPU time, waits and migrations of the threads of a process |
//! | `child_processes.rs` | CPU time of the processes that a process has started |
//! | `process_stat.rs` | the processes of the machine, and the times of one |
//! | `file_system.rs` | the space on the file systems of data paths |
//! | `control_groups.rs` | where the files of a process's control groups are |
//! | `cpu_frequency.rs` | which files have the frequencies of CPUs |
//! | `host_files.rs` | which files are read |
//! | `sweep.rs` | one reading of all files |
//! | `sampler.rs` | the thread |
//! | `clock.rs` | the time of samples |

mod child_processes;
mod clock;
mod control_groups;
mod cpu_frequency;
mod file_system;
mod host_files;
mod kernel_file;
mod parse;
mod process_stat;
mod reading;
mod sampler;
mod sweep;
mod threads;

pub use clock::TelemetryClock;
pub use file_system::DataPath;
pub use host_files::ObservedProcess;
pub use sampler::{HostSampler, SamplerReport, SamplerSettings};
