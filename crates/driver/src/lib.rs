//! Runs a plan: sends its requests on time, checks the responses, and records the results.
//!
//! [`Race::start`] takes a [`pacenote_plan::Plan`] and a folder and runs the race in its own threads. The caller waits
//! for [`RaceEvent`]s, reads the [`RaceProgress`] and may stop the race. None of the caller's code runs between two
//! requests.
//!
//! # Threads
//!
//! | thread | purpose |
//! | --- | --- |
//! | workers, one per core | each runs its clients on its own runtime; a client keeps its connection for the whole race |
//! | coordinator | moves the workers from step to step; a step starts when all clients are ready and ends with its last client |
//! | bridge, only if the plan needs Python | sends the requests of Python runners |
//! | read-ahead, only while a step sends documents | reads data files before the workers need them |
//! | collector | merges the recordings of the workers, publishes results and progress |
//! | writer | writes the race folder |
//!
//! # Layout
//!
//! | file or folder | contains |
//! | --- | --- |
//! | `race.rs` | [`Race`]: start, wait, stop |
//! | `summary.rs` | [`RaceSummary`]: how a race ended, and the resources it used |
//! | `coordinator/` | starting threads, moving workers from step to step, the collector |
//! | `worker/` | one thread and its clients; the measured loop of one client; the sources of its operations |
//! | `schedule/` | when operations are due, when a task ends, and the clock |
//! | `python/` | the bridge to parameter sources, runners and schedulers in Python |
//! | `operation/` | execution of operations: requests, bulks, paging, composites |
//! | `response/` | checks of responses |
//! | `transport/` | connections, TLS, HTTP/1.1 |
//! | `scheduling/` | how the kernel schedules the driver's threads |
//! | `health/` | checks of whether the driver's figures can be trusted: its threads, the clocks, the host |
//! | `race_state.rs`, `step_state.rs` | the state shared by threads during a race, and during a step |
//! | `late_joins.rs` | clients that join a task late |
//! | `plan_to_record.rs` | conversion of a plan to the values that recorders and the collector need |
//! | `cancel.rs` | cancellation of clients |
//! | `slices.rs` | division of long work into slices, between which a thread serves its other clients |
//! | `task_client_id.rs`, `units.rs`, `error.rs` | [`TaskClientId`], nanoseconds, [`DriveError`] |
//!
//! Dependencies run from `race` through `coordinator` and `worker` to `schedule` and `python`, then `operation`, then
//! `response` and `transport`, never back. `plan_to_record` is above `operation`; only `race` and `worker` use it. The
//! state shared by threads is below all of them.

mod cancel;
mod coordinator;
mod error;
mod health;
mod late_joins;
mod operation;
mod plan_to_record;
mod python;
mod race;
mod race_state;
mod response;
mod schedule;
mod scheduling;
mod slices;
mod step_state;
mod summary;
mod task_client_id;
pub mod transport;
mod units;
mod worker;

pub use error::DriveError;
pub use pacenote_record::{SERIES_READER, TaskResult, UnsentOperations, merged_percentiles, recover_files};
pub use python::{
    ExecutionResult, OperationEnded, PythonBridge, PythonEvent, ReadEvent, RunnerFailure, RunnerRequest,
    RunnerResponse, RunnerResult,
};
pub use race::{Race, RaceProgress};
pub use race_state::{RaceEvent, RetryWait, StopLevel};
pub use response::json_scan;
pub use scheduling::demotion::DemotedTask;
pub use scheduling::monitor::{Scheduling, SchedulingSummary};
pub use scheduling::permission::realtime_refusal;
pub use slices::Slices;
pub use summary::{HostSummary, RaceSummary, StepOutsideRequests, ThreadSummary};
pub use task_client_id::TaskClientId;
pub use transport::http::ResponseMemory;
