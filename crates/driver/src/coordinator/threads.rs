//! Starts and joins the threads of a race.

use std::num::NonZeroU64;
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

use tokio::runtime;
use tokio::task::LocalSet;

use crate::error::DriveError;
use crate::health::cpu::PeakLoad;
use crate::health::reply_waits::{after_sleep, before_sleep};
use crate::summary::ThreadSummary;

/// Prefix of the names of all threads.
const NAME_PREFIX: &str = "pacenote-";

/// A thread that returns its summary.
pub type DriverThread = JoinHandle<Result<ThreadSummary, DriveError>>;

/// Starts a thread. Its name is prefixed with the name of the program.
///
/// # Errors
///
/// If the operating system cannot start a thread.
pub fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, DriveError> {
    let builder = Builder::new().name(format!("{NAME_PREFIX}{name}"));
    builder.spawn(body).map_err(|source| DriveError::System { what: "a thread", source })
}

/// Runs `work` to completion on a runtime on the calling thread.
///
/// # Errors
///
/// If the operating system cannot create a runtime.
pub fn run_thread(
    name: &str,
    work: impl Future<Output = PeakLoad> + 'static,
) -> Result<ThreadSummary, DriveError> {
    let started = Instant::now();
    // The kernel may delay timers by the thread's timer slack, 50 µs by default. If this call fails, only precision is
    // lost.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let mut runtime = runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().on_thread_park(before_sleep).on_thread_unpark(after_sleep).build();
    let runtime = runtime.map_err(|source| DriveError::System { what: "a runtime", source })?;
    let tasks = LocalSet::new();
    // The root future of a runtime is polled whenever any task is woken, that is, for every response. As a task, `work`
    // is polled only when it is woken itself.
    let work = tasks.spawn_local(work);
    let peak_load =
        tasks.block_on(&runtime, work).unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    Ok(ThreadSummary::of_current_thread(name, started, peak_load))
}

/// Waits for a thread to end.
///
/// # Errors
///
/// The message of its panic, if it panicked.
pub fn join<T>(thread: JoinHandle<T>) -> Result<T, DriveError> {
    let name =
        thread.thread().name().map_or("a thread", |name| name.trim_start_matches(NAME_PREFIX)).to_owned();
    thread.join().map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        DriveError::ThreadDied(format!("{name} panicked: {}", text.unwrap_or("without a message")))
    })
}
