//! The threads that send requests: each runs client loops on a runtime of its own, with one recorder.

pub mod book;
pub mod client;
pub mod source;
pub mod thread;
