//! Runs a plan: requests on the wire, judged and recorded.
//!
//! [`Race::start`] takes a [`pacenote_plan::Plan`] and a folder and runs by itself; the caller waits for [`Event`]s,
//! asks for [`Progress`] and may stop it. Nothing of the caller lies between two requests.
//!
//! # Threads
//!
//! | thread | does |
//! | --- | --- |
//! | workers, one per core | each runs its clients on a runtime of its own; a client keeps its connection for the whole race |
//! | control | sends the workers from step to step; a step begins when every client is ready, and ends with its last |
//! | lane | only if the plan needs Python: sends the requests of runners |
//! | collector | merges what the workers recorded, writes the race folder, hands over results and progress |
//!
//! # Layout
//!
//! | file | holds |
//! | --- | --- |
//! | `race.rs` | [`Race`]: start, wait, stop |
//! | `control.rs` | the schedule, step by step |
//! | `collect.rs` | the collector's thread |
//! | `worker.rs` | one thread and its clients |
//! | `meter.rs`, `clock.rs`, `machine.rs` | can the driver's figures be trusted: its threads, the clocks, the machine |
//! | `link.rs` | a client's connections, and one request on one of them |
//! | `calls/` | carrying out calls: requests, pages, composites |
//! | `pack.rs` | request bodies compressed ahead of the clock |
//! | `book.rs` | what a thread takes down |
//! | `drive.rs` | the measured loop of one client |
//! | `pacer.rs`, `alarm.rs` | when operations are due, and waking up then |
//! | `timeout.rs` | a time-out that is no work as long as replies come |
//! | `bound.rs` | when a task ends |
//! | `source/` | what an operation sends: bulks of a corpus, prepared calls, nothing |
//! | `lane/` | parameter sources, runners and schedulers in Python |
//! | `http/` | HTTP/1.1 |
//! | `judge.rs`, `scan.rs` | is this reply a success |
//! | `step.rs`, `shared.rs` | what threads share while a step runs, and over the whole race |
//! | `error.rs` | [`DriveError`] |

mod alarm;
mod book;
mod bound;
mod calls;
mod clock;
mod collect;
mod control;
mod drive;
mod error;
pub mod http;
mod judge;
mod lane;
mod link;
mod machine;
mod meter;
mod open_loop;
mod outcome;
mod pacer;
mod pack;
mod race;
mod scan;
mod shared;
mod source;
mod step;
mod timeout;
mod worker;

pub use error::DriveError;
pub use lane::{After, Lane, LaneEvent, LaneRequest};
pub use pacenote_record::{TaskResult, recover_series};
pub use race::{Progress, Race, Summary, ThreadSummary};
pub use shared::Event;
