//! Tests the measured loop on a clock that stands still while a client is active, with scripted operations instead of
//! sockets: every due, sent and done time is known to the nanosecond in advance.
//!
//! | file | contains |
//! | --- | --- |
//! | `simulation.rs` | runs a step on a paused clock and returns everything recorded |
//! | `pacing.rs` | closed loop, stalls, end of warm-up, ramp-up, late clients, throughput |
//! | `absence.rs` | clients that are done long before others |
//! | `documents.rs` | schedules that follow from the documents of the operations |
//! | `open_loop.rs` | shared schedules |
//! | `ending.rs` | completed-by, stop levels, timer errors |
//! | `failures.rs` | timeouts, unreachable hosts, failure policies |
//! | `supply.rs` | operations that Python supplies late |
//! | `warmup_backlog.rs` | measured operations that wait for the warm-up |
//! | `warmup_drain.rs` | windows that wait until the backlog of the warm-up is gone |

mod absence;
mod documents;
mod ending;
mod failures;
mod open_loop;
mod pacing;
mod simulation;
mod supply;
mod warmup_backlog;
mod warmup_drain;
