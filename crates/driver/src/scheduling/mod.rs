//! How the kernel schedules the driver's threads.
//!
//! A worker that waits for a core reads replies late. Where the process may do it, workers and the health thread
//! therefore have real-time priority: they run as soon as there is something to do. Elsewhere they have a short slice,
//! which needs no permission: among threads with a fair share, the one with the shorter slice has its turn sooner. All
//! other threads are scheduled normally, and so is what any of them starts.
//!
//! Real-time priority must not take cores from an engine that shares them. The health thread reads the CPU time of each
//! worker at each of its readings; a worker that exceeds its budget (`budget.rs`) has a short slice until the step ends.
//! It is not promoted within a step, so that a task is measured with at most one change. Spin waits count as CPU time.
//!
//! | file | contains |
//! | --- | --- |
//! | `kernel.rs` | the system calls |
//! | `permission.rs` | whether the process may have real-time priority |
//! | `budget.rs` | the CPU time of a thread within a second, and its limit |
//! | `demotion.rs` | the loss of real-time priority, and which tasks it concerned |
//! | `monitor.rs` | the threads of a race, their demotion, and what is recorded of it |

pub mod budget;
pub mod demotion;
pub mod kernel;
pub mod monitor;
pub mod permission;
