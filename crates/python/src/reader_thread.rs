//! Reads evidence on a thread of its own, so that nothing in a file can end the process.
//!
//! The readers limit how deep they call themselves and how much memory they use. This is the second line of defence: the
//! size of the stack does not depend on the caller's, and a panic becomes the exception of the core.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::core_error;

/// Name of the thread.
const NAME: &str = "pacenote-evidence";

/// Size of its stack in bytes.
const STACK: usize = 8 << 20;

/// How often Ctrl-C is handled.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

thread_local! {
    /// Where the thread panicked, and why.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What readers call from time to time to learn whether they go on.
pub type Proceed<'a> = dyn FnMut() -> ControlFlow<()> + 'a;

/// Returns what `read` returns. Handles Ctrl-C meanwhile.
pub fn on_reader_thread<T: Send, E: Display>(
    py: Python<'_>,
    read: impl FnOnce(&mut Proceed<'_>) -> Result<T, E> + Send,
) -> PyResult<T> {
    let is_stopped = AtomicBool::new(false);
    py.detach(|| {
        let (sender, ended) = mpsc::sync_channel::<()>(0);
        let body = || {
            let _ends_with_the_thread = sender;
            read_until(&is_stopped, read)
        };
        thread::scope(|scope| {
            let builder = thread::Builder::new().name(NAME.to_owned()).stack_size(STACK);
            let reader = builder.spawn_scoped(scope, body).map_err(core_error)?;
            let mut raised = None;
            while ended.recv_timeout(SIGNAL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = Python::attach(check_signals) {
                    is_stopped.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
            }
            let result = reader.join().unwrap_or_else(|_| Err("the reader of evidence failed".to_owned()));
            raised.map_or_else(|| result.map_err(core_error), Err)
        })
    })
}

/// Handles Ctrl-C.
fn check_signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

/// Returns what `read` returns, or why it failed or panicked.
fn read_until<T, E: Display>(
    is_stopped: &AtomicBool,
    read: impl FnOnce(&mut Proceed<'_>) -> Result<T, E>,
) -> Result<T, String> {
    let mut proceed = || {
        if is_stopped.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    match catch_unwind(AssertUnwindSafe(|| read(&mut proceed))) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err(PANIC.take()),
    }
}

/// Keeps a panic of the thread for its error, instead of printing it. Returns whether it was one.
pub fn keep_panic(panic: &PanicHookInfo<'_>) -> bool {
    if thread::current().name() != Some(NAME) {
        return false;
    }
    let reason = panic.payload_as_str().unwrap_or("without a message").replace('\n', " ");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    PANIC.set(format!(
        "the reader of evidence failed at {place}: {reason}; this is a defect of Pacenote: report it with the file"
    ));
    true
}
