//! Parameter sources, runners and schedulers in Python.
//!
//! Python code runs on its own threads. The driver puts events into a queue with a file descriptor
//! ([`PythonBridge::fileno`]), and Python answers with non-blocking calls. The measured loop waits for Python only
//! where the track requires it: for an operation that a parameter source has not supplied yet, for a runner that
//! executes an operation, and for a scheduler that determines when the next operation is due. Stopping the race ends
//! every such wait.
//!
//! `worker/` and `coordinator/` call this module; it calls `operation/` and `transport/`. `crates/python` converts
//! values to and from Python objects.
//!
//! # Layout
//!
//! | file | contains |
//! | --- | --- |
//! | `bridge.rs` | [`PythonBridge`]: the calls available to Python |
//! | `events.rs` | [`PythonEvent`], and the queue of events |
//! | `protocol.rs` | values passed between Python and the driver: requests, results, failures |
//! | `channel.rs` | state that one client shares with Python: queue, queries, answers |
//! | `handle.rs` | [`ClientHandle`]: the interface between the measured loop and Python |
//! | `queued_operation.rs`, `queued_source.rs` | operations from a parameter source, ready to be executed |
//! | `runner.rs` | operations that a runner executes |
//! | `requests.rs` | the thread that sends the requests of runners |
//! | `outside_requests.rs` | counts of requests that are not part of an operation |
//! | `clusters.rs` | the clusters to which runners can send requests |
//! | `preparation.rs` | waiting until Python has prepared a step |

mod bridge;
mod channel;
mod clusters;
mod events;
mod handle;
mod outside_requests;
mod preparation;
mod protocol;
mod queued_operation;
mod queued_source;
mod requests;
mod runner;

pub use bridge::PythonBridge;
pub use events::{OperationEnded, PythonEvent, ReadEvent, RunnerResponse};
pub use protocol::{ExecutionResult, RunnerFailure, RunnerRequest, RunnerResult};

pub(crate) use handle::ClientHandle;
pub(crate) use queued_source::QueuedSource;
pub(crate) use requests::RequestThread;
pub(crate) use runner::RunnerSource;
