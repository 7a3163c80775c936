//! Evaluates responses: whether a response is a success, how much work it confirms, and which values later requests
//! need.
//!
//! [`check`] evaluates status and body, and [`bulk`] also the items of a bulk; [`outcome`] is the result, and
//! [`json_scan`] reads single fields of a body. `operation` calls this module; `worker` and `python` use the result. It
//! works on bytes only: it uses no connection and sends nothing.

pub mod bulk;
pub mod check;
pub mod json_scan;
pub mod outcome;
