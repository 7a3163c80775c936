//! The two system calls that read and set how the kernel schedules a thread.
//!
//! They are the only unsafe code of the workspace: no maintained crate has safe functions for them
//! (`docs/decisions/019-real-time-scheduling.md`).
#![expect(
    unsafe_code,
    reason = "rustix, nix and libc's C library have no safe wrapper of these system calls"
)]

use std::io;
use std::mem::size_of;

use rustix::thread::Pid;

/// Flag of [`RawAttributes`]: threads and processes that the thread starts are scheduled normally.
const RESET_ON_FORK: u64 = 1;

/// Policies of the kernel.
const SCHED_OTHER: u32 = 0;
const SCHED_FIFO: u32 = 1;
const SCHED_RR: u32 = 2;

/// `struct sched_attr` of the kernel in its first version, whose size never changes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct RawAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Size of [`RawAttributes`] in bytes.
const SIZE: u32 = 48;
const _: () = assert!(size_of::<RawAttributes>() == SIZE as usize);

/// How the kernel schedules a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadPolicy {
    /// Before all threads that are scheduled normally, until it waits (`SCHED_FIFO`), or until others with the same
    /// priority have their turn (`SCHED_RR`, which only a user sets).
    Realtime {
        /// The priority among such threads, from 1 to 99.
        priority: u32,
    },
    /// A fair share of a core (`SCHED_OTHER`).
    Fair {
        /// The nice value.
        nice: i32,
        /// The time for which it runs before another thread has its turn, in nanoseconds. A thread with a shorter one
        /// has its turn sooner. 0 is the kernel's default; a kernel before 6.12 has only this one.
        slice_ns: u64,
    },
    /// Another policy, which is not changed.
    Other,
}

/// Returns how a thread is scheduled.
///
/// # Errors
///
/// If the thread has ended.
pub fn policy_of(thread: Pid) -> io::Result<ThreadPolicy> {
    let mut raw = RawAttributes::default();
    // SAFETY: the kernel writes at most `SIZE` bytes to `raw`, which has this size and lives until the call returns.
    // Any bytes are valid values of its fields.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_getattr, thread.as_raw_pid(), &raw mut raw, SIZE, 0_u32) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(match raw.policy {
        SCHED_FIFO | SCHED_RR => ThreadPolicy::Realtime { priority: raw.priority },
        SCHED_OTHER => ThreadPolicy::Fair { nice: raw.nice, slice_ns: raw.runtime_ns },
        _ => ThreadPolicy::Other,
    })
}

/// Changes how a thread is scheduled. What it starts is scheduled normally.
///
/// # Errors
///
/// If the process may not do this, or the thread has ended.
pub fn set_policy(thread: Pid, policy: ThreadPolicy) -> io::Result<()> {
    let mut raw = RawAttributes { size: SIZE, flags: RESET_ON_FORK, ..RawAttributes::default() };
    match policy {
        ThreadPolicy::Realtime { priority } => (raw.policy, raw.priority) = (SCHED_FIFO, priority),
        ThreadPolicy::Fair { nice, slice_ns } => {
            (raw.policy, raw.nice, raw.runtime_ns) = (SCHED_OTHER, nice, slice_ns);
        }
        ThreadPolicy::Other => return Ok(()),
    }
    // SAFETY: the kernel reads `SIZE` bytes from `raw`, which has this size and lives until the call returns.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setattr, thread.as_raw_pid(), &raw const raw, 0_u32) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;

    use rustix::thread::gettid;

    use super::*;
    use crate::scheduling::permission::realtime_refusal;

    /// Returns the scheduling policy of a process or thread from its line in `/proc`.
    fn policy_number(stat: &str) -> u32 {
        let mut fields = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace();
        fields.nth(38).unwrap().parse().unwrap()
    }

    #[test]
    #[allow(clippy::print_stderr, reason = "a test says that it was skipped")]
    fn a_thread_with_either_policy_of_real_time_has_real_time_priority() {
        if let Some(reason) = realtime_refusal() {
            eprintln!("real-time priority cannot be tested: {reason}");
            return;
        }
        for policy in [SCHED_FIFO, SCHED_RR] {
            let thread = thread::spawn(move || {
                let raw = RawAttributes { size: SIZE, policy, priority: 1, ..RawAttributes::default() };
                // SAFETY: the kernel reads `SIZE` bytes from `raw`, which has this size and lives until the call
                // returns.
                let result = unsafe {
                    libc::syscall(libc::SYS_sched_setattr, gettid().as_raw_pid(), &raw const raw, 0_u32)
                };
                (result, policy_of(gettid()).unwrap())
            });
            assert_eq!(thread.join().unwrap(), (0, ThreadPolicy::Realtime { priority: 1 }), "{policy}");
        }
    }

    #[test]
    #[allow(clippy::print_stderr, reason = "a test says that it was skipped")]
    fn a_policy_is_set_and_what_the_thread_starts_does_not_inherit_it() {
        let realtime = ThreadPolicy::Realtime { priority: 1 };
        let fair = |slice_ns| ThreadPolicy::Fair { nice: 0, slice_ns };
        for policy in [realtime, fair(100_000)] {
            if policy == realtime
                && let Some(reason) = realtime_refusal()
            {
                eprintln!("real-time priority cannot be tested: {reason}");
                continue;
            }
            let thread = thread::spawn(move || {
                set_policy(gettid(), policy).unwrap();
                let own = policy_of(gettid()).unwrap();
                let of_thread = thread::spawn(|| policy_of(gettid()).unwrap()).join().unwrap();
                let child = Command::new("cat").arg("/proc/self/stat").output().unwrap();
                (own, of_thread, policy_number(std::str::from_utf8(&child.stdout).unwrap()))
            });
            let (own, of_thread, of_process) = thread.join().unwrap();
            // A kernel before 6.12 has no slices.
            assert!(own == policy || own == fair(0), "{own:?}");
            assert!(
                matches!(of_thread, ThreadPolicy::Fair { slice_ns, .. } if slice_ns != 100_000),
                "{of_thread:?}"
            );
            assert_eq!(of_process, SCHED_OTHER);
        }
    }

    #[test]
    fn a_thread_that_has_ended_cannot_be_changed() {
        let ended = thread::spawn(gettid).join().unwrap();
        // The id of a joined thread is not used again until all others have been.
        assert!(policy_of(ended).is_err());
        assert!(set_policy(ended, ThreadPolicy::Fair { nice: 0, slice_ns: 0 }).is_err());
    }
}
