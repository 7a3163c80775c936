//! Evaluation of responses: whether a response is a success, how much work it confirms, and the values that later
//! requests need.
//!
//! [`check`] decides by status and body, [`bulk`] by the items of a bulk as well; [`outcome`] is the result,
//! [`json_scan`] reads single fields of a body. Called by `operation`, and by `worker` and `python` for the result.
//! Works on bytes only: uses no connection and sends nothing.

pub mod bulk;
pub mod check;
pub mod json_scan;
pub mod outcome;
