//! Whether threads of this process may have real-time priority.

use std::io;
use std::thread;

use rustix::process::{Resource, getrlimit};
use rustix::thread::gettid;

use super::budget::MAX_CPU_TIME;
use super::kernel::{ThreadPolicy, set_policy};

/// Priority of the threads that send requests: the lowest that precedes all threads that are scheduled normally.
pub const WORKER_PRIORITY: u32 = 1;

/// Priority of the thread that watches them. It has to precede them: a thread that never waits keeps those of its own
/// priority from running.
pub const HEALTH_PRIORITY: u32 = 2;

/// Returns why this process cannot give its threads real-time priority, or `None` if it can. It is tried on a thread
/// that ends at once.
#[must_use]
pub fn realtime_refusal() -> Option<String> {
    let limit = getrlimit(Resource::Rttime).current;
    let least_us = u64::try_from(2 * MAX_CPU_TIME.as_micros()).unwrap_or(u64::MAX);
    if let Some(limit_us) = limit
        && limit_us < least_us
    {
        return Some(format!(
            "RLIMIT_RTTIME is {limit_us} µs, and the kernel would end a process with a thread that runs for longer"
        ));
    }
    let attempt = || set_policy(gettid(), ThreadPolicy::Realtime { priority: HEALTH_PRIORITY });
    let attempted = thread::Builder::new().spawn(attempt).map(thread::JoinHandle::join);
    match attempted {
        Ok(Ok(Ok(()))) => None,
        Ok(Ok(Err(error))) => Some(reason(&error)),
        Ok(Err(_)) => Some("the attempt failed".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

fn reason(error: &io::Error) -> String {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return error.to_string();
    }
    let limit = getrlimit(Resource::Rtprio).current.map_or("unlimited".to_owned(), |limit| limit.to_string());
    format!("it needs CAP_SYS_NICE, or RLIMIT_RTPRIO of {HEALTH_PRIORITY} or more (it is {limit})")
}
