//! Evaluates responses: whether a response is a success, how much work it confirms, and which values later requests
//! need.
//!
//! [`check`] evaluates the status and body of a response, with the rules in [`search`], [`async_search`] and
//! [`administration`], and [`bulk`] the items of a bulk; [`selection`] determines what the request has selected of them.
//! [`outcome`] contains the result, [`details`] and [`profile`] what is kept of a response besides, whose size [`brief`]
//! limits, [`json_scan`] reads single fields of a body, and [`json_text`] their texts. `operation` calls this module; `worker` and `python` use the
//! result. This module works only on bytes: it uses no connection and sends nothing.

#[cfg(test)]
use std::task::{Context, Poll, Waker};

mod administration;
mod async_search;
pub mod body;
mod brief;
pub mod bulk;
pub mod check;
pub mod details;
pub mod json_scan;
mod json_text;
pub mod outcome;
mod profile;
mod search;
pub mod selection;

/// Returns the result of a check that is short enough not to yield.
#[cfg(test)]
fn poll_once<T>(check: impl Future<Output = T>) -> T {
    let (result, pauses) = count_pauses(check);
    assert_eq!(pauses, 0);
    result
}

/// Returns the result of a check, and how often it yields.
#[cfg(test)]
fn count_pauses<T>(check: impl Future<Output = T>) -> (T, usize) {
    let mut check = std::pin::pin!(check);
    let mut pauses = 0;
    loop {
        match check.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => return (result, pauses),
            Poll::Pending => pauses += 1,
        }
    }
}
