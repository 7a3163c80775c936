//! The plan of a race, as types that reject unknown fields. Python computes it once, and the driver executes it.
//!
//! A [`Plan`] is versioned plain data that Python passes as JSON. An unknown field is an error that contains its name
//! and location, so the driver never runs a plan that it supports only in part. This crate reads no clock, file or
//! socket.
//!
//! The types have the same names in `python/pacenote/{plan/document,model/work}.py`, where the variants of an enum are
//! classes. Keys and tags of the document are older than some names; where they differ, the field or variant has a
//! `rename`.
//!
//! # Layout
//!
//! | file | contains |
//! | --- | --- |
//! | `plan.rs` | [`Plan`], [`Target`], [`PlannedTask`]; when a task ends and when its operations are due |
//! | `step.rs` | the allocation matrix: [`Step`], [`ClientAllocation`], [`TaskAllocation`] |
//! | `work.rs` | the work of every operation of a task: [`TaskWork`] |
//! | `bulk.rs` | the documents to post: [`BulkWork`], [`BulkFile`], [`ConflictSettings`] |
//! | `call.rs` | calls and their responses: [`Call`], [`Request`], [`PagedRequest`], [`Composite`], [`Check`] |
//! | `supply.rs` | operations that are supplied while a race runs: [`SuppliedOperation`] |
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

pub use bulk::{BulkFile, BulkWork, ConflictSettings, IdOrder, IngestLimit, OnConflict, PlannedActionLines};
pub use call::{
    Assertion, Call, CallSequence, Capture, Check, Comparison, Composite, CompositeItem, DetailsKind,
    HealthStatus, NextPage, PagedRequest, Placeholder, PollPolicy, Request, RetryPolicy,
};
pub use error::PlanError;
pub use plan::{
    DriverScheduling, DriverSettings, NamedTarget, OnError, Plan, PlannedTask, SampleRetention, Scheme,
    Target, TargetHost, TargetProxy, TaskBound, TaskPacing, TlsOptions, VERSION,
};
pub use step::{ClientAllocation, CompletedBy, Step, TaskAllocation};
pub use supply::{SuppliedBulk, SuppliedOperation};
pub use work::TaskWork;
