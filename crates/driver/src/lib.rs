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
//! | file or folder | holds |
//! | --- | --- |
//! | `race.rs` | [`Race`]: start, wait, stop |
//! | `summary.rs` | [`Summary`]: what a race returns |
//! | `shared.rs`, `step.rs` | what threads share over the whole race, and while a step runs |
//! | `cancel.rs` | when a client stops |
//! | `coordinator/` | the thread that moves the workers from step to step, and the collector |
//! | `worker/` | one thread and its clients; the measured loop of one client; what it sends |
//! | `schedule/` | when operations are due, when a task ends, waking up |
//! | `python/` | parameter sources, runners and schedulers in Python |
//! | `operation/` | carrying out operations: requests, bulks, pages, composites |
//! | `response/` | is a reply a success |
//! | `transport/` | connections, TLS, HTTP/1.1 |
//! | `health/` | can the driver's figures be trusted: its threads, the clocks, the host |
//! | `error.rs` | [`DriveError`] |

mod cancel;
mod coordinator;
mod error;
mod health;
mod operation;
mod python;
mod race;
mod response;
mod schedule;
mod shared;
mod step;
mod summary;
pub mod transport;
mod worker;

pub use error::DriveError;
pub use pacenote_record::{TaskResult, recover_series};
pub use python::{After, Lane, LaneEvent, LaneRequest};
pub use race::{Progress, Race};
pub use shared::Event;
pub use summary::{Summary, ThreadSummary};
