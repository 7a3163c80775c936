//! Runs a plan: sends its requests on time, checks the responses and records them.
//!
//! [`Race::start`] takes a [`pacenote_plan::Plan`] and a folder and runs the race in its own threads. The caller waits
//! for [`RaceEvent`]s, reads the [`RaceProgress`] and may stop the race. No code of the caller runs between two
//! requests.
//!
//! # Threads
//!
//! | thread | does |
//! | --- | --- |
//! | workers, one per core | each runs its clients on its own runtime; a client keeps its connection for the whole race |
//! | coordinator | moves the workers from step to step; a step begins when all clients are ready and ends when the last of them has ended |
//! | bridge, only if the plan needs Python | sends the requests of runners in Python |
//! | collector | merges what the workers record, publishes results and progress |
//! | writer | writes the race folder |
//!
//! # Layout
//!
//! | file or folder | contains |
//! | --- | --- |
//! | `race.rs` | [`Race`]: start, wait, stop |
//! | `summary.rs` | [`RaceSummary`]: what a race returns |
//! | `coordinator/` | the threads, the steps of the workers, the collector |
//! | `worker/` | one thread and its clients; the measured loop of one client; what it sends |
//! | `schedule/` | when operations are due, when a task ends, the clock |
//! | `python/` | the bridge to parameter sources, runners and schedulers in Python |
//! | `operation/` | execution of operations: requests, bulks, paging, composites |
//! | `response/` | whether a response is a success |
//! | `transport/` | connections, TLS, HTTP/1.1 |
//! | `health/` | whether the driver's figures can be trusted: its threads, the clocks, the host |
//! | `race_state.rs`, `step_state.rs` | the state that threads share during a race, and during a step |
//! | `plan_to_record.rs` | what the recorders and the collector need to know of a plan |
//! | `cancel.rs` | cancellation of clients |
//! | `task_client_id.rs`, `units.rs`, `error.rs` | [`TaskClientId`], nanoseconds, [`DriveError`] |
//!
//! Dependencies run from `race` through `coordinator` and `worker` to `schedule` and `python`, then `operation`, then
//! `response` and `transport`, never back. `plan_to_record` is above `operation`; only `race` and `worker` use it.
//! State that threads share is below all of them.

mod cancel;
mod coordinator;
mod error;
mod health;
mod operation;
mod plan_to_record;
mod python;
mod race;
mod race_state;
mod response;
mod schedule;
mod step_state;
mod summary;
mod task_client_id;
pub mod transport;
mod units;
mod worker;

pub use error::DriveError;
pub use pacenote_record::{TaskResult, recover_series};
pub use python::{
    ExecutionResult, OperationEnded, PythonBridge, PythonEvent, RunnerFailure, RunnerRequest, RunnerResponse,
    RunnerResult,
};
pub use race::{Race, RaceProgress};
pub use race_state::{RaceEvent, StopLevel};
pub use summary::{RaceSummary, ThreadSummary};
pub use task_client_id::TaskClientId;
