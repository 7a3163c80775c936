//! The plan of a race as closed types: what Python computes once and the driver executes.
//!
//! A [`Plan`] is plain data with a version. It crosses from Python as JSON; a field that this crate does not know is
//! refused by name and place, so that a plan made by a newer front never runs half-understood. Nothing here touches a
//! clock, a file or a socket.
//!
//! # Layout
//!
//! | file | holds |
//! | --- | --- |
//! | `plan.rs` | [`Plan`], [`Target`], [`Task`] and how a task is bounded and paced |
//! | `step.rs` | the allocation matrix: [`Step`], [`Slot`], [`Allocation`] |
//! | `work.rs` | what one operation does: [`Work`], [`Request`], [`Bulk`], [`Check`], [`Retry`] |
//! | `validate.rs` | rules that types cannot express |
//! | `error.rs` | [`PlanError`] |

mod error;
mod plan;
mod step;
mod validate;
mod work;

pub use error::PlanError;
pub use plan::{Bound, DriverSettings, Host, OnError, Pace, Plan, Scheme, Target, Task, VERSION};
pub use step::{Allocation, CompletedBy, Slot, Step};
pub use work::{Bulk, BulkFile, Check, HealthStatus, Poll, Request, Retry, Work};
