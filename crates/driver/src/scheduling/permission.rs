//! Whether threads of this process may have real-time priority.

use std::fs::{self, File};
use std::io;
use std::thread;

use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities, gettid};

use super::budget::MAX_CPU_TIME;
use super::kernel::{ThreadPolicy, set_policy};
use crate::health::run_queue::read_cpu_ns;

/// Priority of the threads that send requests: the lowest that precedes all threads that are scheduled normally.
pub const WORKER_PRIORITY: u32 = 1;

/// Priority of the thread that watches them. It has to precede them: a thread that never waits keeps those of its own
/// priority from running.
pub const HEALTH_PRIORITY: u32 = 2;

/// The counters of the calling thread, with the CPU time that its budget limits.
pub const SCHEDSTAT: &str = "/proc/thread-self/schedstat";

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
    match thread::Builder::new().spawn(attempt).map(thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => None,
        Ok(Ok(Err(reason))) => Some(reason),
        Ok(Err(_)) => Some("the attempt failed".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// Gives the calling thread real-time priority. The error says why it cannot have it, or why its budget cannot be
/// watched.
fn attempt() -> Result<(), String> {
    set_policy(gettid(), ThreadPolicy::Realtime { priority: HEALTH_PRIORITY })
        .map_err(|error| reason(&error))?;
    match File::open(SCHEDSTAT).map(|file| read_cpu_ns(&file)) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(format!("the kernel does not count the CPU time of threads in {SCHEDSTAT}")),
        Err(error) => Err(format!("the CPU time of threads cannot be read from {SCHEDSTAT}: {error}")),
    }
}

fn reason(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::PermissionDenied {
        Permissions::of_current_thread().reason()
    } else {
        error.to_string()
    }
}

/// What a thread may do about its priority.
#[derive(Debug, Clone, Copy)]
struct Permissions {
    /// Whether it has `CAP_SYS_NICE`.
    has_sys_nice: bool,
    /// Whether its capabilities are those of a user namespace, with which it may not raise its priority.
    in_user_namespace: bool,
    /// `RLIMIT_RTPRIO`; `None` is unlimited.
    max_priority: Option<u64>,
}

impl Permissions {
    fn of_current_thread() -> Self {
        // In the first user namespace, all ids stand for themselves.
        let ids = fs::read_to_string("/proc/thread-self/uid_map");
        Self {
            has_sys_nice: capabilities(None)
                .is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE)),
            in_user_namespace: ids
                .is_ok_and(|ids| !ids.split_ascii_whitespace().eq(["0", "0", "4294967295"])),
            max_priority: getrlimit(Resource::Rtprio).current,
        }
    }

    /// Returns why a thread with these permissions may not have real-time priority.
    fn reason(self) -> String {
        let is_limited = self.max_priority.is_some_and(|priority| priority < u64::from(HEALTH_PRIORITY));
        if !is_limited || (self.has_sys_nice && !self.in_user_namespace) {
            return "its control group has no real-time budget (cpu.rt_runtime_us), or a filter of system calls \
                    forbids it: the process has the permission"
                .to_owned();
        }
        let limit = self.max_priority.map_or("unlimited".to_owned(), |limit| limit.to_string());
        let outside = if self.has_sys_nice { " outside its user namespace" } else { "" };
        format!(
            "it needs CAP_SYS_NICE{outside}, or RLIMIT_RTPRIO of {HEALTH_PRIORITY} or more (it is {limit})"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_with_the_permission_is_refused_by_its_control_group() {
        let reason = |has_sys_nice, in_user_namespace, max_priority| {
            Permissions { has_sys_nice, in_user_namespace, max_priority }.reason()
        };
        assert_eq!(
            reason(false, false, Some(1)),
            "it needs CAP_SYS_NICE, or RLIMIT_RTPRIO of 2 or more (it is 1)"
        );
        assert_eq!(
            reason(true, true, Some(0)),
            "it needs CAP_SYS_NICE outside its user namespace, or RLIMIT_RTPRIO of 2 or more (it is 0)"
        );
        for permitted in
            [reason(true, false, Some(0)), reason(false, false, Some(2)), reason(false, true, None)]
        {
            assert!(permitted.starts_with("its control group has no real-time budget"), "{permitted}");
        }
    }

    #[test]
    fn other_errors_are_named() {
        assert!(reason(&io::Error::from_raw_os_error(libc::ENOSYS)).starts_with("Function not implemented"));
    }
}
