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
//! | `work.rs` | what one operation does: [`Work`] |
//! | `bulk.rs` | the bulk source: [`Bulk`], [`BulkFile`], [`Conflicts`] |
//! | `call.rs` | calls and their replies: [`Call`], [`Request`], [`Pages`], [`Composite`], [`Check`], [`Retry`] |
//! | `supply.rs` | operations handed over while a race runs: [`Supply`] |
//! | `validate.rs` | rules that types cannot express |
//! | `error.rs` | [`PlanError`] |

mod bulk;
mod call;
mod error;
mod plan;
mod step;
mod supply;
mod validate;
mod work;

pub use bulk::{Action, Bulk, BulkFile, Conflicts, IdOrder, Limit, OnConflict};
pub use call::{
    Assertion, Call, Check, Comparison, Composite, HealthStatus, Item, Next, Pages, Poll, Recall, Remember,
    Request, Retry,
};
pub use error::PlanError;
pub use plan::{
    Bound, DriverSettings, Host, NamedTarget, OnError, Pace, Plan, Proxy, Samples, Scheme, Target, Task, Tls,
    VERSION,
};
pub use step::{Allocation, CompletedBy, Slot, Step};
pub use supply::Supply;
pub use work::Work;
